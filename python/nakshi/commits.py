"""Commits that may not be durable yet."""

from __future__ import annotations

import weakref
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from ._core import RemoteTicket, Ticket

__all__ = ["Commit"]


class Commit:
    """A commit that becomes durable soon; see :meth:`nakshi.property.Batch.commit_async`.

    ``commit.wait()`` returns when it is durable, and so does ``await commit`` in a coroutine.
    """

    def __init__(self, ticket: Ticket | RemoteTicket) -> None:
        self._ticket = ticket

    @property
    def number(self) -> int:
        """Number of the commit, counted from the import on.

        A commit whose server was lost before it was durable is made again, with another number.
        """
        return self._ticket.commit

    @property
    def changed(self) -> int | None:
        """Number of its changes that changed something; ``None`` of several if their server was lost after it had made
        them."""
        return self._ticket.changed

    @property
    def durable(self) -> bool:
        """Whether it survives a kill and a power cut."""
        return self._ticket.durable()

    def wait(self) -> int | None:
        """Return :attr:`changed` when the commit is durable.

        Raises:
            StorePoisonedError: writing failed, for this commit or before it.
            UnavailableError: the server is away, and the commit may have been made or not.
            DeadlineError: the server has not told yet; the commit can be waited for again.
            ConflictError: the server was lost before the transaction was durable; it changed nothing.
        """
        self._ticket.wait()
        return self.changed

    def __await__(self) -> Generator[Any, None, int | None]:
        if not self.durable:
            # Who waits so has it. At the top it would take 7 MB of every run, for TLS.
            import asyncio

            yield from _waiting(asyncio.get_running_loop()).add(self._ticket).__await__()
        return self.changed

    def __repr__(self) -> str:
        state = "durable" if self.durable else "not durable yet"
        return f"<nakshi.Commit {self.number}: {self.changed} changes, {state}>"


class _Waiting:
    """The commits that the coroutines of an event loop wait for.

    One thread of the loop's executor waits for all of them: one wake-up for a group of commits, not
    one for each.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pending: list[tuple[Ticket | RemoteTicket, asyncio.Future[None]]] = []
        self._running = False

    def add(self, ticket: Ticket | RemoteTicket) -> asyncio.Future[None]:
        future = self._loop.create_future()
        self._pending.append((ticket, future))
        if not self._running:
            self._running = True
            # Coroutines that are ready now make their commits first.
            self._loop.call_soon(self._start)
        return future

    def _start(self) -> None:
        pending, self._pending = self._pending, []
        if not pending:
            self._running = False
            return
        waiting = self._loop.run_in_executor(None, _wait_for, [ticket for ticket, _ in pending])
        waiting.add_done_callback(lambda done: self._tell(pending, done))

    def _tell(
        self,
        pending: list[tuple[Ticket | RemoteTicket, asyncio.Future[None]]],
        done: asyncio.Future[list[Exception | None]],
    ) -> None:
        errors = [done.exception()] * len(pending) if done.exception() else done.result()
        for (_, future), error in zip(pending, errors):
            if future.done():
                continue
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)
        # The coroutines that are told now make their next commits before the next wait.
        self._loop.call_soon(self._start)


def _wait_for(tickets: list[Ticket | RemoteTicket]) -> list[Exception | None]:
    errors: list[Exception | None] = []
    for ticket in tickets:
        try:
            ticket.wait()
            errors.append(None)
        except Exception as error:
            errors.append(error)
    return errors


_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = weakref.WeakKeyDictionary()


def _waiting(loop: asyncio.AbstractEventLoop) -> _Waiting:
    if loop not in _loops:
        _loops[loop] = _Waiting(loop)
    return _loops[loop]
