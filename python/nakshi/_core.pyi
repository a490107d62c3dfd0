"""The compiled half of the package; kept by hand, checked by mypy's stubtest in the tests."""

import pathlib
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from .progress import Sink

_Path = str | pathlib.Path

__all__ = [
    "Batches",
    "Outcome",
    "Store",
    "__version__",
    "algorithms",
    "build",
    "check",
    "export",
    "generate",
]

__version__: str

@final
class Batches:
    @staticmethod
    def from_stream(table: Any) -> Batches: ...
    @staticmethod
    def from_arrays(columns: Sequence[tuple[str, Any]]) -> Batches: ...

@final
class Outcome:
    @property
    def algorithm(self) -> str: ...
    @property
    def rows(self) -> int: ...
    def columns(self) -> list[tuple[str, bool, bool]]: ...
    def summary(self) -> str: ...
    def stats(self) -> str: ...
    def numpy(self, name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]: ...
    def top(self, count: int) -> tuple[list[str], list[tuple[Any, ...]]]: ...
    def write(self, path: _Path, *, progress: Sink | None = None) -> None: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Store:
    def __new__(cls, path: _Path) -> Store: ...
    @property
    def path(self) -> pathlib.Path: ...
    @property
    def num_vertices(self) -> int: ...
    @property
    def num_edges(self) -> int: ...
    @property
    def directed(self) -> bool: ...
    @property
    def columns(self) -> list[str]: ...
    def info(self) -> str: ...
    def close(self) -> None: ...
    def run(
        self,
        algorithm: str,
        parameters: str,
        *,
        engine: str = "auto",
        memory: int | None = None,
        threads: int | None = None,
        timeout: float | None = None,
        progress: Sink | None = None,
    ) -> Outcome: ...
    def estimate(
        self, algorithm: str, parameters: str, *, threads: int | None = None
    ) -> str: ...

def algorithms() -> list[tuple[str, str]]: ...
def build(
    path: _Path,
    paths: Sequence[_Path],
    options: str,
    *,
    batches: Batches | None = None,
    csr: tuple[Any, Any, Any | None] | None = None,
    progress: Sink | None = None,
) -> str: ...
def generate(
    path: _Path, recipe: str, *, threads: int | None = None, progress: Sink | None = None
) -> int: ...
def check(path: _Path, *, progress: Sink | None = None) -> str: ...
def export(
    store: _Path,
    path: _Path,
    *,
    format: str = "auto",
    weight: str | None = None,
    nodes: _Path | None = None,
    progress: Sink | None = None,
) -> int: ...
