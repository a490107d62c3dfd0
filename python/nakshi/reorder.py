"""A store aside: for an import in an order that has to see the whole graph, and an export in another order."""

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

#: Orders that an import finds out itself.
IMPORTED = ("auto", "degree", "original", "random")
#: Options of an import that its layout takes as well.
PASSED_ON = ("page_size", "encoding", "stripes", "seed", "memory", "threads")


def import_in_order(
    path: str | os.PathLike[str],
    options: dict[str, Any],
    progress: ProgressArgument,
    run: Callable[[str, dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """Imports by `run` into a store aside, then writes `path` in the order of ``options``."""
    with aside(Path(path), "unordered", "import of") as first:
        report = run(str(first), {**options, "layout": "original", "seed": None, "stripes": None})
        chosen = {name: options.get(name) for name in PASSED_ON}
        done = Graph(first)._relayout(path, {"order": options["layout"], **chosen}, progress)
        return {**report, **{name: done[name] for name in report.keys() & done.keys()}}


@contextlib.contextmanager
def in_order(
    store: Graph, path: Path, order: dict[str, Any], progress: ProgressArgument
) -> Iterator[Graph]:
    """A temporary store in another order, from which the files at `path`, which must not exist, are made."""
    with aside(path, "ordered", "export to") as ordered:
        store._relayout(ordered, order, progress)
        with Graph(ordered) as graph:
            yield graph


@contextlib.contextmanager
def aside(path: Path, suffix: str, work: str) -> Iterator[Path]:
    """A folder for a temporary store; it is removed afterwards, and also after a killed run."""
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
            # Another run may have ended, and removed the file, since it was opened.
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
