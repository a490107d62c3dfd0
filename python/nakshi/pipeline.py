"""Queries of a server that are sent together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from .errors import NakshiError
from .queries import Queries, Search, Tao

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._core import Remote

__all__ = ["Pending", "Pipeline"]


class _Asked(Queries):
    """The queries of a pipeline, which are only written down when they are asked first."""

    def __init__(self, core: Remote) -> None:
        self._core = core

    @property
    def _queries(self) -> Remote:
        return self._core


class Pending:
    """The answer to a query of a pipeline."""

    def __init__(self, core: Remote, number: int, query: Callable[[], Any]) -> None:
        self._core = core
        self._numbers = [number]
        self._query: Callable[[], Any] | None = query
        self._answer: Any = None
        self._error: NakshiError | None = None

    def result(self) -> Any:
        """Return what the method of the graph would return; sends the pipeline if it was not sent.

        Raises:
            UnknownVertexError, ParameterError, ...: as the method of the graph.
        """
        while self._query is not None:
            self._core.send()
            self._core.choose(self._numbers)
            asked = self._core.asked()
            try:
                self._answer = self._query()
            except NakshiError as error:
                if self._core.asked() > asked:
                    # With the first answer, it asks something else.
                    self._numbers.append(asked)
                    continue
                self._error = error
            self._query = None
        if self._error is not None:
            raise self._error
        return self._answer


class _Part:
    """The methods of an object, which return the answers to come."""

    def __init__(self, core: Remote, asks: Queries | Tao | Search) -> None:
        self._core = core
        self._asks = asks

    def __getattr__(self, name: str) -> Callable[..., Pending]:
        if name.startswith("_") or not callable(getattr(type(self._asks), name, None)):
            raise AttributeError(f"a pipeline has no query {name!r}")
        return partial(self._ask, getattr(self._asks, name))

    def __dir__(self) -> list[str]:
        queries = [name for name in dir(self._asks) if not name.startswith("_")]
        return [*object.__dir__(self), *queries]

    def _ask(self, method: Callable[..., Any], *arguments: Any, **named: Any) -> Pending:
        number, query = self._core.asked(), partial(method, *arguments, **named)
        self._core.choose([])
        try:
            query()
        except NakshiError:
            # A query that was written down has no answer yet; any other one cannot be asked.
            if self._core.asked() == number:
                raise
        return Pending(self._core, number, query)


class Pipeline(_Part):
    """Queries that are sent together; see :meth:`nakshi.RemoteGraph.pipeline`.

    It has the queries of :class:`nakshi.RemoteGraph`, ``tao`` and ``search`` among them, except those of edge
    records. Each returns a :class:`Pending`. It is for one thread.
    """

    def __init__(self, core: Remote) -> None:
        super().__init__(core, _Asked(core))

    @property
    def tao(self) -> _Part:
        """The queries of TAO."""
        return _Part(self._core, Tao(self._core))

    @property
    def search(self) -> _Part:
        """The queries of Graph Search."""
        return _Part(self._core, Search(self._core))

    def send(self) -> None:
        """Send the queries so far, and wait for their answers. The end of the block does it, too."""
        self._core.send()

    def __len__(self) -> int:
        return self._core.asked()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.send()
