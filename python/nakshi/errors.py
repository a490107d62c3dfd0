"""The exceptions of nakshi: one small tree under :class:`NakshiError`.

Every message is one line that says what happened, where, and what to do about it.
Most classes also derive from the built-in exception that a caller would expect,
so ``except OSError`` or ``except MemoryError`` keep working.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "NakshiError",
    "StoreError",
    "StoreNotFoundError",
    "StoreExistsError",
    "StoreLockedError",
    "StorePoisonedError",
    "ConflictError",
    "ConstraintError",
    "CorruptError",
    "IncompatibleError",
    "InputError",
    "UnknownVertexError",
    "ParameterError",
    "BudgetError",
    "StorageError",
    "ProgramError",
    "QueryError",
    "UnsupportedError",
    "DeadlineError",
    "ClusterError",
    "UnavailableError",
    "OverloadedError",
    "DeniedError",
    "StateExpiredError",
    "InternalError",
    "InputWarning",
]


class NakshiError(Exception):
    """Base class of all exceptions of nakshi."""


class StoreError(NakshiError):
    """An error about a store as a whole."""


class StoreNotFoundError(StoreError, FileNotFoundError):
    """There is no store at the given path."""

    def __str__(self) -> str:
        return _message(self)


class StoreExistsError(StoreError, FileExistsError):
    """The destination exists already; choose another path or remove it first."""

    def __str__(self) -> str:
        return _message(self)


class StoreLockedError(StoreError):
    """Another process is writing this store; wait until it has finished."""


class StorePoisonedError(StoreError):
    """An earlier write failed, so this graph refuses further changes.

    Close the graph and open it again; it then has the commits that reached the disk.
    """


class ConflictError(StoreError):
    """A transaction has read or written what another commit has changed since it began.

    It changed nothing; run it again. :meth:`nakshi.Graph.transact` does that.
    """


class CorruptError(StoreError):
    """A page failed its checksum or a file contradicts the manifest.

    Restore the store from a copy or import it again; ``nakshi check`` lists all damage.
    """


class IncompatibleError(StoreError):
    """The store was written in a newer format than this release reads; upgrade nakshi."""


class InputError(NakshiError, ValueError):
    """Edges that cannot be imported; the message names file and line."""


class UnknownVertexError(NakshiError, LookupError):
    """A vertex id that is not in the graph."""


class ParameterError(NakshiError, ValueError):
    """An argument has a value that cannot work."""


class ConstraintError(ParameterError):
    """A change would break a constraint of the graph; nothing was changed.

    The message names the node or the edge, and the constraint.
    """


class BudgetError(NakshiError, MemoryError):
    """``memory=`` is too small; the message names the smallest budget that works."""


class StorageError(NakshiError, OSError):
    """The operating system refused a read or write (message has file and reason)."""

    def __str__(self) -> str:
        return _message(self)


class ProgramError(NakshiError):
    """A program of the user's has failed, or cannot be compiled; the message names its line."""


class QueryError(NakshiError, ValueError):
    """A query in Cypher that is wrong, or cannot do what it asks for.

    Attributes:
        code: status code of Neo4j for the error.
        position: line and column in the query, both counted from 1; ``None`` where they are not known.
    """

    def __init__(
        self, message: str, code: str = "", position: tuple[int, int] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.position = position

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.code, self.position)


class UnsupportedError(NakshiError):
    """A limit of this release, such as 2**32 vertices."""


class DeadlineError(NakshiError, TimeoutError):
    """The call did not finish before its ``timeout=``."""

    def __str__(self) -> str:
        return _message(self)


class ClusterError(NakshiError):
    """A server of a cluster cannot be reached, has ended, hangs, or failed.

    Attributes:
        lost: number of the server if it cannot be reached, has ended, or hangs; ``None`` for other errors.
    """

    def __init__(self, message: str, lost: int | None = None) -> None:
        super().__init__(message)
        self.lost = lost


class UnavailableError(NakshiError, ConnectionError):
    """A server of a graph cannot be reached, or ends.

    A commit that fails so may have been made or not.
    """

    def __str__(self) -> str:
        return _message(self)


class OverloadedError(NakshiError):
    """A server has too much to do, or a call asks it for too much; nothing was changed."""


class DeniedError(NakshiError, PermissionError):
    """A server does not know the token, or the token does not permit the call."""

    def __str__(self) -> str:
        return _message(self)


class StateExpiredError(NakshiError):
    """A server no longer keeps the state of an earlier commit; read again from the newest state."""


class InternalError(NakshiError):
    """A bug in nakshi: please report it with the message. The process is still usable."""


class InputWarning(UserWarning):
    """Rows or nodes that an import skipped, replaced or created, as its options say."""


#: Advice in errors when the system starts no more threads or processes.
MORE_PROCESSES = "raise the limit on processes (pids.max of the cgroup, ulimit -u)"


def is_thread_refused(error: RuntimeError) -> bool:
    """Returns True for the error of :mod:`threading` when the system starts no more threads."""
    return "can't start new thread" in str(error)


def _message(error: Exception) -> str:
    """The message, which OSError would format from its arguments."""
    return str(error.args[0]) if error.args else ""
