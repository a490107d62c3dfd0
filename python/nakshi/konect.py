"""Networks of KONECT: archives with a file of edges, whose first line says what they are."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from .errors import InputError

__all__ = ["edge_files"]

#: Endings of the archives.
_ARCHIVES = (".tar.bz2", ".tbz2")
#: Bytes that are copied at once.
_PIECE = 1 << 20


@contextmanager
def edge_files(
    paths: Sequence[str], options: dict[str, Any], beside: str | os.PathLike[str]
) -> Iterator[tuple[list[str], list[str]]]:
    """Paths of edge files, where archives of KONECT are unpacked into temporary files, and notes.

    The header of an archive sets ``directed`` in the options. The vertices on the two sides of a
    bipartite network, which are both numbered from 1, become ``u1`` and ``v1``.

    Args:
        paths: edge files and archives.
        options: options of the import.
        beside: the store; temporary files are in ``options["scratch"]``, or else there.
    """
    folder = options.get("scratch") or Path(beside).absolute().parent
    found, notes = [], []
    with ExitStack() as stack:
        for path in paths:
            if not path.endswith(_ARCHIVES):
                found.append(path)
                continue
            file = stack.enter_context(tempfile.NamedTemporaryFile(suffix=".tsv", dir=folder))
            kind = _unpack(path, file)
            options["directed"] = kind != "sym"
            how = {"sym": "undirected", "bip": "bipartite: u1 is no vertex of the side of v1"}
            notes.append(f"{path} is {how.get(kind, 'directed')}, as its header says")
            found.append(file.name)
        yield found, notes


def _unpack(path: str, file: IO[bytes]) -> str:
    """Copy the edges of an archive and return their format: ``sym``, ``asym`` or ``bip``."""
    try:
        with tarfile.open(path, "r|bz2") as archive:
            for member in archive:
                name = member.name.rsplit("/", 1)[-1]
                if member.isfile() and name.startswith("out."):
                    edges = archive.extractfile(member)
                    assert edges is not None
                    return _copy(path, edges, file)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (tarfile.TarError, EOFError, OSError) as error:
        # An input that bzip2 cannot read has no number.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{path}: the archive is damaged ({error}); load it again") from None
    raise InputError(f"{path}: the archive has no file out.*, so it is none of KONECT; unpack it")


def _copy(path: str, edges: IO[bytes], file: IO[bytes]) -> str:
    first = edges.readline(_PIECE)
    words = first.lstrip(b"%").split()
    kind = words[0].decode("ascii", "replace") if words else ""
    if not first.startswith(b"%") or kind not in ("sym", "asym", "bip"):
        raise InputError(
            f"{path}: line 1 is no header of KONECT ('% sym', '% asym' or '% bip'); unpack it"
        )
    file.write(first)
    if kind == "bip":
        for line in edges:
            ends = line.split(None, 2)
            if line.startswith(b"%") or len(ends) < 2:
                file.write(line)
            else:
                file.write(b"\t".join([b"u" + ends[0], b"v" + ends[1], *ends[2:]]).rstrip() + b"\n")
    else:
        shutil.copyfileobj(edges, file, _PIECE)
    file.flush()
    return kind
