"""Limits that every long call takes."""

from __future__ import annotations

from .errors import ParameterError

__all__ = ["check_limits", "check_shards"]


def check_limits(engine: str, threads: int | None, timeout: float | None) -> None:
    """Refuse limits that cannot work.

    Raises:
        ParameterError: an unknown engine, a number of threads or seconds out of range.
    """
    if engine not in ("auto", "memory", "ssd"):
        raise ParameterError(f"engine={engine!r} is not known; choose 'auto', 'memory' or 'ssd'")
    if threads is not None and not (isinstance(threads, int) and 1 <= threads <= 1024):
        raise ParameterError(f"threads={threads!r} cannot work; give a number from 1 to 1024")
    if timeout is not None and not timeout > 0:
        raise ParameterError(f"timeout={timeout!r} cannot work; give seconds above 0")


def check_shards(shards: int | None) -> int | None:
    """Refuse a number of shards that no store has; return the others, and None for the default.

    Raises:
        ParameterError: not an integer from 1 to 1024.
    """
    if shards is None:
        return None
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= 1024:
        raise ParameterError(f"shards={shards!r} cannot work; give a number from 1 to 1024")
    return shards
