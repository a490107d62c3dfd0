"""The graphs of servers for programs of asyncio."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from .commits import Commit
from .cypher import QueryResult, Row
from .errors import ConflictError, ParameterError
from .pipeline import Pipeline
from .progress import ProgressArgument
from .property import PATIENCE, Batch, Changes, Transaction
from .queries import Queries, Search, Tao
from .remote import RemoteGraph, connect
from .result import Result

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["AsyncRemoteGraph", "AsyncTransaction", "connect_async"]

Blocking = TypeVar("Blocking")
Given = ParamSpec("Given")
Returned = TypeVar("Returned")


class _Twin(Generic[Blocking]):
    """An object whose methods run those of another one in a thread."""

    def __init__(self, blocking: Blocking, threads: ThreadPoolExecutor) -> None:
        self._blocking = blocking
        self._threads = threads

    async def _aside(self, call: Callable[[], Returned]) -> Returned:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def __repr__(self) -> str:
        return f"<asynchronous {self._blocking!r}>"


def _twin(
    method: Callable[Concatenate[Any, Given], Returned],
) -> Callable[Concatenate[Any, Given], Coroutine[Any, Any, Returned]]:
    """A method that does in a thread what another one does."""

    @wraps(method)
    async def call(self: _Twin[Any], /, *args: Given.args, **kwargs: Given.kwargs) -> Returned:
        return await self._aside(partial(method, self._blocking, *args, **kwargs))

    return call


class AsyncTao(_Twin[Tao]):
    """The operations of TAO."""

    obj_get = _twin(Tao.obj_get)
    assoc_count = _twin(Tao.assoc_count)
    assoc_range = _twin(Tao.assoc_range)
    assoc_get = _twin(Tao.assoc_get)
    assoc_time_range = _twin(Tao.assoc_time_range)
    obj_add = _twin(Tao.obj_add)
    obj_update = _twin(Tao.obj_update)
    obj_delete = _twin(Tao.obj_delete)
    assoc_add = _twin(Tao.assoc_add)
    assoc_delete = _twin(Tao.assoc_delete)
    assoc_change_type = _twin(Tao.assoc_change_type)


class AsyncSearch(_Twin[Search]):
    """The queries of Graph Search."""

    friends = _twin(Search.friends)
    friends_with = _twin(Search.friends_with)
    find = _twin(Search.find)
    friends_by = _twin(Search.friends_by)
    friends_data = _twin(Search.friends_data)


class AsyncQueryResult(_Twin[QueryResult]):
    """The rows of a query in Cypher, by ``async for`` or as a table; see :class:`nakshi.QueryResult`."""

    to_arrow = _twin(QueryResult.to_arrow)
    to_polars = _twin(QueryResult.to_polars)
    to_pandas = _twin(QueryResult.to_pandas)
    single = _twin(QueryResult.single)
    write = _twin(QueryResult.write)

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self._blocking.columns

    @property
    def summary(self) -> dict[str, Any]:
        """Type, plan and counts of changes; see :attr:`nakshi.QueryResult.summary`."""
        return self._blocking.summary

    def __aiter__(self) -> AsyncQueryResult:
        return self

    async def __anext__(self) -> Row:
        if not self._blocking._rows and not await self._aside(self._blocking._more):
            raise StopAsyncIteration
        return next(self._blocking)


class _Asks(_Twin[Blocking]):
    """The queries and single changes of a graph or a transaction."""

    get_node_property = _twin(Queries.get_node_property)
    get_node_properties = _twin(Queries.get_node_properties)
    read_node_property = _twin(Queries.read_node_property)
    get_node_ids = _twin(Queries.get_node_ids)
    count = _twin(Queries.count)
    get_neighbor_ids = _twin(Queries.get_neighbor_ids)
    expand = _twin(Queries.expand)
    get_edge_record = _twin(Queries.get_edge_record)
    get_incoming_edges = _twin(Queries.get_incoming_edges)
    get_edge_range = _twin(Queries.get_edge_range)
    get_edge_data = _twin(Queries.get_edge_data)
    get_edge = _twin(Queries.get_edge)
    find_edges = _twin(Queries.find_edges)
    count_edges = _twin(Queries.count_edges)
    append_node = _twin(Changes.append_node)
    update_node = _twin(Changes.update_node)
    delete_node = _twin(Changes.delete_node)
    append_edge = _twin(Changes.append_edge)
    create_edge = _twin(Changes.create_edge)
    update_edge = _twin(Changes.update_edge)
    remove_edge = _twin(Changes.remove_edge)
    add_labels = _twin(Changes.add_labels)
    remove_labels = _twin(Changes.remove_labels)
    delete_edge = _twin(Changes.delete_edge)
    change_type = _twin(Changes.change_type)
    set_inverse = _twin(Changes.set_inverse)

    async def query(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        /,
        *,
        timeout: float | None = None,
        memory: int | str | None = None,
        csv_folder: str | os.PathLike[str] | None = None,
        **named: Any,
    ) -> AsyncQueryResult:
        """Run a query in openCypher; see :meth:`nakshi.Graph.query`."""
        asked = partial(
            self._blocking.query,  # type: ignore[attr-defined]
            text,
            parameters,
            timeout=timeout,
            memory=memory,
            csv_folder=csv_folder,
            **named,
        )
        return AsyncQueryResult(await self._aside(asked), self._threads)

    @property
    def tao(self) -> AsyncTao:
        """The operations of TAO."""
        return AsyncTao(self._blocking.tao, self._threads)  # type: ignore[attr-defined]

    @property
    def search(self) -> AsyncSearch:
        """The queries of Graph Search."""
        return AsyncSearch(self._blocking.search, self._threads)  # type: ignore[attr-defined]


class AsyncBatch(Batch):
    """Changes that become one commit; see :meth:`AsyncRemoteGraph.batch`."""

    def __init__(
        self, written: Callable[[Callable[[Any], Any]], Any], threads: ThreadPoolExecutor
    ) -> None:
        super().__init__(written)
        self._threads = threads

    async def commit_async(self) -> Commit:  # type: ignore[override]
        """Commit the changes so far; see :meth:`nakshi.property.Batch.commit_async`.

        ``commit = await batch.commit_async()`` returns when the server has made the commit, and
        ``await commit`` when it is durable.
        """
        # The changes of now: other tasks may go on with the batch.
        changes, self._changes = self._changes, []
        asked = partial(self._written, lambda core: core.commit_async(changes))
        return Commit(await asyncio.get_running_loop().run_in_executor(self._threads, asked))


class AsyncTransaction(_Asks[Transaction]):
    """Queries and changes that commit only if nothing they rest on has changed; see
    :meth:`AsyncRemoteGraph.transaction`."""

    commit_async = _twin(Transaction.commit_async)

    @property
    def commit(self) -> int | None:
        """Number of the commit, or of the state that was read if nothing was changed; ``None`` before the
        end."""
        return self._blocking.commit


class AsyncRemoteGraph(_Asks[RemoteGraph]):
    """A graph with properties on a server, for programs of asyncio; see :func:`nakshi.connect_async`.

    It has the methods of :class:`nakshi.RemoteGraph`, with the same parameters and exceptions, to be
    awaited. Each runs in one of the connection's threads. A task that is cancelled does not take back a
    change that was sent. The edges of an edge record are read by :meth:`get_edge_range` and
    :meth:`get_edge_data` without blocking the loop, and by the record itself with it.
    """

    write_back = _twin(RemoteGraph.write_back)
    schema = _twin(RemoteGraph.schema)
    status = _twin(RemoteGraph.status)
    backup = _twin(RemoteGraph.backup)
    shares = _twin(RemoteGraph.shares)
    bucket_of = _twin(RemoteGraph.bucket_of)
    move_buckets = _twin(RemoteGraph.move_buckets)

    async def run(
        self,
        algorithm: str,
        *,
        workers: int | None = None,
        memory: int | str | None = None,
        progress: ProgressArgument = None,
        **parameters: Any,
    ) -> Result:
        """Run an algorithm where the graph is served; see :meth:`nakshi.RemoteGraph.run`."""
        asked = partial(
            self._blocking.run,
            algorithm,
            workers=workers,
            memory=memory,
            progress=progress,
            **parameters,
        )
        return await self._aside(asked)

    @asynccontextmanager
    async def batch(self) -> AsyncIterator[AsyncBatch]:
        """Collect changes in an ``async with`` block, and make them as one commit at its end.

        The methods of the batch are not awaited, but for ``commit_async``: they only collect.
        ``create_edge`` may block the loop for a moment, as it asks the server for numbers.
        """
        batch = AsyncBatch(self._blocking.batch()._written, self._threads)
        # Nothing is sent if the block raises.
        yield batch
        await self._aside(partial(batch.__exit__, None, None, None))

    def transaction(self) -> AbstractAsyncContextManager[AsyncTransaction]:
        """Read and write in an ``async with`` block, and commit at its end if nothing has changed meanwhile;
        see :meth:`nakshi.Graph.transaction`."""
        return self._transaction(alone=False)

    @asynccontextmanager
    async def pipeline(self) -> AsyncIterator[Pipeline]:
        """Send many queries at once, and wait for the server once; see :meth:`nakshi.RemoteGraph.pipeline`.
        ``result()`` of the answers does not wait after the block."""
        with self._blocking.pipeline() as asked:
            yield asked
            await self._aside(asked.send)

    @asynccontextmanager
    async def _transaction(self, *, alone: bool) -> AsyncIterator[AsyncTransaction]:
        begun = await self._aside(partial(self._blocking._transaction, alone=alone))
        try:
            yield AsyncTransaction(begun, self._threads)
        except BaseException as error:
            await self._aside(partial(begun.__exit__, type(error)))
            raise
        await self._aside(partial(begun.__exit__, None))

    async def transact(
        self, function: Callable[[AsyncTransaction], Awaitable[Returned]], *, attempts: int = 100
    ) -> Returned:
        """Await a function of a transaction and commit; after a conflict call it again; see
        :meth:`nakshi.Graph.transact`."""
        if attempts < 1:
            raise ParameterError(f"attempts must be at least 1, not {attempts}")
        attempt = 0
        while True:
            attempt += 1
            try:
                async with self._transaction(alone=attempt > PATIENCE) as transaction:
                    return await function(transaction)
            except ConflictError:
                if attempt >= attempts:
                    raise

    async def close(self) -> None:
        """End the connection; every later call raises :class:`nakshi.StoreError`."""
        # The threads end with the last reference to them, so that later calls can raise that.
        await self._aside(self._blocking.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


async def connect_async(
    address: str,
    *,
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    timeout: float | None = None,
    linearizable: bool = False,
    threads: int = 32,
) -> AsyncRemoteGraph:
    """Connect to a graph with properties that ``nakshi serve`` serves, from a program of asyncio.

    >>> async with await nakshi.connect_async("nakshi://127.0.0.1:7480") as graph:  # doctest: +SKIP
    ...     await graph.get_node_property("ann", "city")

    Args:
        address, token, ca, timeout, linearizable: as for :func:`nakshi.connect`.
        threads: calls that can wait for the server at the same time; further ones wait for them.

    Raises:
        UnavailableError, DeniedError, ParameterError: as :func:`nakshi.connect`.
    """
    if threads < 1:
        raise ParameterError(f"threads={threads!r} cannot work; give at least 1")
    pool = ThreadPoolExecutor(threads, thread_name_prefix="nakshi-client")
    asked = partial(
        connect, address, token=token, ca=ca, timeout=timeout, linearizable=linearizable
    )
    try:
        graph = await asyncio.get_running_loop().run_in_executor(pool, asked)
    except BaseException:
        pool.shutdown(wait=False)
        raise
    return AsyncRemoteGraph(graph, pool)
