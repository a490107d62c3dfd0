"""The asynchronous client does what the other one does."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import nakshi
import pytest
from nakshi.aio import AsyncSearch, AsyncTao, AsyncTransaction
from nakshi.property import Transaction
from nakshi.queries import Search, Tao

from .servers import serving
from .test_server import build


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return build(tmp_path / "graph.nakshi")


@pytest.mark.parametrize(
    ("twin", "other"),
    [
        (nakshi.AsyncRemoteGraph, nakshi.RemoteGraph),
        (AsyncTransaction, Transaction),
        (AsyncTao, Tao),
        (AsyncSearch, Search),
    ],
)
def test_all_methods_are_there(twin: type, other: type) -> None:
    names = {name for name in dir(other) if not name.startswith("_")}
    assert names <= set(dir(twin))
    for name in names & set(dir(twin)):
        mine, method = getattr(twin, name), getattr(other, name)
        if name in ("batch", "pipeline", "transaction", "transact") or not callable(method):
            continue
        assert inspect.signature(mine).parameters == inspect.signature(method).parameters, name
        assert inspect.iscoroutinefunction(mine) and mine.__doc__, name


def asked(store: Path, use: Callable[[nakshi.AsyncRemoteGraph], Awaitable[Any]]) -> Any:
    async def ask(address: str) -> Any:
        async with await nakshi.connect_async(address) as graph:
            return await use(graph)

    with serving(store) as server:
        return asyncio.run(ask(server.address))


def test_it_answers_and_raises_as_the_other_one(store: Path) -> None:
    with nakshi.open(store) as graph:
        wanted = [
            graph.get_node_property(1),
            graph.get_neighbor_ids(1, "knows"),
            graph.count({"age": nakshi.gt(3)}, by="name"),
            graph.tao.assoc_range(1, "knows", 0, 3),
            graph.search.friends(2),
            graph.schema().to_dict(),
        ]

    async def use(graph: nakshi.AsyncRemoteGraph) -> list[Any]:
        with pytest.raises(nakshi.UnknownVertexError, match="99"):
            await graph.get_node_property(99, "age")
        found = await asyncio.gather(
            graph.get_node_property(1),
            graph.get_neighbor_ids(1, "knows"),
            graph.count({"age": nakshi.gt(3)}, by="name"),
            graph.tao.assoc_range(1, "knows", 0, 3),
            graph.search.friends(2),
            graph.schema(),
        )
        return [*found[:-1], found[-1].to_dict()]

    assert asked(store, use) == wanted


def test_batches_and_transactions(store: Path) -> None:
    async def add(t: AsyncTransaction) -> int:
        age = 1 + await t.get_node_property(1000, "age")
        await t.update_node(1000, {"age": age})
        return age

    async def use(graph: nakshi.AsyncRemoteGraph) -> None:
        async with graph.batch() as batch:
            batch.append_node(1000, {"age": 0})
            batch.append_edge(1000, "knows", 1)
        assert batch.changed == 2
        with pytest.raises(ZeroDivisionError):
            async with graph.batch() as batch:
                batch.append_node(1001)
                raise ZeroDivisionError
        with pytest.raises(ZeroDivisionError):
            async with graph.transaction() as t:
                await t.append_node(1001)
                raise ZeroDivisionError
        assert await graph.count() == 61
        assert (await graph.status())["commit"] == 1
        ages = await asyncio.gather(*(graph.transact(add) for _ in range(20)))
        assert sorted(ages) == list(range(1, 21))
        async with graph.transaction() as first:
            async with graph.transaction() as other:
                await other.update_node(1000, {"age": 50})
            with pytest.raises(nakshi.ConflictError):
                async with graph.transaction() as late:
                    await late.get_node_property(1000, "age")
                    await graph.update_node(1000, {"age": 51})
                    await late.update_node(1000, {"age": 52})
            # It reads the state of its beginning.
            assert await first.get_node_property(1000, "age") == 20 and first.commit is None
        assert first.commit is not None

    asked(store, use)


def test_many_calls_wait_for_few_threads(store: Path) -> None:
    async def ask(address: str) -> None:
        async with await nakshi.connect_async(address, threads=2) as graph:
            calls = [graph.get_node_property(id % 60, "name") for id in range(200)]
            assert await asyncio.gather(*calls) == [f"n{id % 60 % 17}" for id in range(200)]
        with pytest.raises(nakshi.StoreError, match="closed"):
            await graph.count()
        with pytest.raises(nakshi.ParameterError, match="threads"):
            await nakshi.connect_async(address, threads=0)
        with pytest.raises(nakshi.UnavailableError):
            await nakshi.connect_async("127.0.0.1:1", timeout=1)

    with serving(store) as server:
        asyncio.run(ask(server.address))
