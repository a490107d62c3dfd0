"""Temporary stores: for an import in an order that needs the whole graph, and for an export."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .errors import StorageError, StoreExistsError
from .graph import Graph
from .progress import ProgressArgument

#: Orders that an import computes itself.
IMPORTED = ("auto", "degree", "original", "random")
#: Options of an import that also apply to the change of the order.
PASSED_ON = ("page_size", "encoding", "stripes", "seed", "memory", "threads")


def import_in_order(
    path: str | os.PathLike[str],
    options: dict[str, Any],
    progress: ProgressArgument,
    run: Callable[[str, dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Import by `run` into a temporary store, then write `path` in the order of ``options``."""
    with aside(Path(path), "unordered", "import of") as first:
        report = run(str(first), {**options, "layout": "original", "seed": None, "stripes": None})
        chosen = {name: options.get(name) for name in PASSED_ON}
        done = Graph(first)._relayout(path, {"order": options["layout"], **chosen}, progress)
        return {**report, **{name: done[name] for name in report.keys() & done.keys()}}


@contextlib.contextmanager
def in_order(
    store: Graph, path: Path, order: dict[str, Any], progress: ProgressArgument
) -> Iterator[Graph]:
    """A temporary store in another order, for the files at `path`, which must not exist."""
    with aside(path, "ordered", "export to") as ordered:
        store._relayout(ordered, order, progress)
        with Graph(ordered) as graph:
            yield graph


@contextlib.contextmanager
def aside(path: Path, suffix: str, work: str) -> Iterator[Path]:
    """A folder for a temporary store, removed afterwards; the next run removes that of a killed one."""
    if path.exists():
        raise StoreExistsError(f"{path} exists already; choose another name or remove it first")
    first = path.parent / f".{path.name}.{suffix}"
    lock = path.parent / f".{path.name}.{suffix}.lock"
    try:
        held = lock.open("w")
    except OSError as error:
        raise StorageError(f"cannot write to {path.parent}: {error.strerror}") from error
    with held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Since the file was opened, another run may have ended and removed it.
            if not lock.exists() or not os.path.samestat(os.fstat(held.fileno()), lock.stat()):
                raise BlockingIOError
        except BlockingIOError:
            raise StorageError(f"another {work} {path} is running; wait for it") from None
        try:
            _remove(first)
            yield first
        finally:
            _remove(first)
            lock.unlink(missing_ok=True)


def _remove(first: Path) -> None:
    shutil.rmtree(first, ignore_errors=True)
    for left in first.parent.glob(f".{first.name}.importing*"):
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
