"""Sizes as text (``"1GiB"``, ``"512MiB"``, ``"1.5GB"``) and in bytes; also shares, times and numbers."""

from __future__ import annotations

import re

from .errors import ParameterError

_UNITS = {
    "": 1,
    "b": 1,
    "k": 1 << 10,
    "kb": 10**3,
    "kib": 1 << 10,
    "m": 1 << 20,
    "mb": 10**6,
    "mib": 1 << 20,
    "g": 1 << 30,
    "gb": 10**9,
    "gib": 1 << 30,
    "t": 1 << 40,
    "tb": 10**12,
    "tib": 1 << 40,
}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([A-Za-z]*)\s*")


def parse_size(size: int | str | None) -> int | None:
    """Turn a size into bytes.

    ``int`` is bytes already. A string is a number with an optional unit: ``KiB``, ``MiB``,
    ``GiB``, ``TiB`` (and ``K``, ``M``, ``G``, ``T``) count in powers of 1024; ``KB``, ``MB``,
    ``GB``, ``TB`` in powers of 1000. Upper and lower case are the same. ``None`` stays ``None``.

    Raises:
        ParameterError: not a size, negative, or zero.
    """
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, (int, str)):
        raise ParameterError(
            f"{size!r} is not a size; give bytes as an int or a string such as '512MiB' or '1GiB'"
        )
    if isinstance(size, int):
        number = size
    else:
        match = _SIZE.fullmatch(size)
        unit = _UNITS.get(match[2].lower()) if match else None
        if match is None or unit is None:
            raise ParameterError(f"{size!r} is not a size; write for example 512MiB, 1GiB or 1.5GB")
        number = int(match[1]) * unit if match[1].isdigit() else int(float(match[1]) * unit)
    if not 0 < number < 1 << 63:
        raise ParameterError(f"{size!r} is not a usable size; it must be at least one byte")
    return number


def parse_share(share: float | str) -> float:
    """Turn ``"20%"`` or ``0.2`` into 0.2.

    Raises:
        ParameterError: not a share above 0 and at most 1.
    """
    number = None
    if isinstance(share, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*%\s*", share)
        number = float(match[1]) / 100 if match else None
    elif isinstance(share, (int, float)) and not isinstance(share, bool):
        number = float(share)
    if number is None or not 0 < number <= 1:
        raise ParameterError(
            f"{share!r} is not a share; give more than 0 % and at most 100 %, such as '20%' or 0.2"
        )
    return number


def format_size(size: int | float) -> str:
    """A size as readable text: ``format_size(1536)`` is ``'1.5 KiB'``."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def parse_seconds(time: float | str) -> float:
    """Turn ``"30s"``, ``"1.5m"``, ``"2h"`` or a number of seconds into seconds.

    Raises:
        ParameterError: not a time, or not above zero.
    """
    number = None
    if isinstance(time, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(s|m|min|h)?\s*", time)
        if match:
            number = float(match[1]) * {"m": 60, "min": 60, "h": 3600}.get(match[2] or "s", 1)
    elif isinstance(time, (int, float)) and not isinstance(time, bool):
        number = float(time)
    if number is None or not 0 < number < float("inf"):
        raise ParameterError(f"{time!r} is not a time; write it like '30s', '2m' or '1h'")
    return number


def readable(value: object) -> str:
    """A value as readable text: 1,234 and 0.00123; bytes as escaped text."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value)
