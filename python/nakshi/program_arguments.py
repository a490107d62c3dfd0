"""The arguments of a function over a block as arrays, and programs run by the Python interpreter."""

from __future__ import annotations

import ctypes
import functools
import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from .programs import Program

__all__ = ["Arguments", "Interpreted", "Role", "arguments", "identity", "interpreted"]

Role = Literal["init", "step", "gather", "send", "wants"]

#: Types of the arguments that are arrays.
_KINDS = {
    "vertices": "u4",
    "offsets": "u4",
    "entries": "u4",
    "weights": "f8",
    "degrees": "u4",
    "totals": "f8",
    "adds": "f8",
    "named": "u1",
    "numbers": "f8",
    "active": "u8",
    "messages": "u8",
    "got": "u1",
    "wants": "u1",
}


def arguments() -> list[str]:
    """Names of the arguments of a function over a block, in their order."""
    from ._core import block_arguments

    return block_arguments()


class Arguments:
    """The arguments of one call."""

    #: The name of this file, which is left out where an exception is explained.
    FILE = __file__

    def __init__(self, program: Program, step: int, n: int) -> None:
        self.program = program
        self.step = step
        self.n = n
        self.arrays: dict[str, np.ndarray] = {}
        self.old: list[np.ndarray] = []
        self.new: list[np.ndarray] = []
        self.given: list[np.ndarray] = []
        #: The vertex that runs.
        self.vertex = 0

    @classmethod
    def of_addresses(cls, program: Program, role: Role, a: Any) -> Arguments:
        """Arrays at the addresses of a call."""
        names = arguments()
        place = {name: i for i, name in enumerate(names)}
        count, n = a[place["count"]], a[place["n"]]
        found = cls(program, a[place["step"]], n)
        lengths = {
            "vertices": count,
            "offsets": count + 1,
            "degrees": n,
            "totals": 4,
            "adds": count,
            "named": n,
            "numbers": len(program.parameters),
            "active": (n + 63) // 64,
            "got": count,
            "wants": count,
        }

        def array(address: int, length: int, kind: str) -> np.ndarray:
            if not length or not address:
                return np.empty(0, kind)
            memory = (ctypes.c_char * (length * np.dtype(kind).itemsize)).from_address(address)
            return np.frombuffer(memoryview(memory), kind)

        if not program.reads("out_degree"):
            lengths["degrees"] = 0
        if not program.reads("source"):
            lengths["named"] = 0
        for name, length in lengths.items():
            found.arrays[name] = array(a[place[name]], length, _KINDS[name])
        entries = int(found.arrays["offsets"][-1]) if count else 0
        found.arrays["entries"] = array(a[place["entries"]], entries, "u4")
        weighted = entries if program.weighted else 0
        found.arrays["weights"] = array(a[place["weights"]], weighted, "f8")
        messages = entries if role == "send" else count
        found.arrays["messages"] = array(a[place["messages"]], messages, program.message)
        # A vertex that receives a message sees its own values only.
        present = count if program.send is not None and role == "step" else n
        at = len(names)
        for kind in program.kinds.values():
            found.old.append(array(a[at], present, kind))
            found.new.append(array(a[at + 1], count, kind))
            at += 2
        found.given = [array(a[at + i], n, "f8") for i in range(len(program.given))]
        written = ("adds", "messages", "got", "wants")
        fixed = [each for name, each in found.arrays.items() if name not in written]
        for each in (*fixed, *found.old, *found.given):
            each.flags.writeable = False
        return found

    @classmethod
    def of_bytes(
        cls,
        program: Program,
        step: int,
        n: int,
        arrays: dict[str, bytes],
        values: list[bytes],
        given: list[bytes],
    ) -> Arguments:
        """Copies of the arrays of a call that failed."""
        kinds = _KINDS | {"messages": program.message}
        old = [
            np.frombuffer(a, kind) for a, kind in zip(values, program.kinds.values(), strict=False)
        ]
        found = cls(program, step, n)
        found.arrays = {name: np.frombuffer(array, kinds[name]) for name, array in arrays.items()}
        count = len(found.arrays["vertices"])
        found.old = old
        found.given = [np.frombuffer(array, "f8") for array in given]
        found.new = [np.empty(count, kind) for kind in program.kinds.values()]
        found.arrays["adds"] = np.empty(count, "f8")
        found.arrays["got"] = np.zeros(count, "u1")
        found.arrays["wants"] = np.ones(count, "u1")
        if not len(found.arrays["messages"]):
            size = max(count, len(found.arrays["entries"]))
            found.arrays["messages"] = np.zeros(size, program.message)
        return found

    def run(self, role: Role) -> None:
        """Do what a function over a block does, one vertex after the other."""
        try:
            # NumPy's numbers only warn, compiled functions do not go on.
            with np.errstate(divide="raise"):
                if role == "gather":
                    self._gather()
                elif role == "send":
                    self._send()
                else:
                    self._each(role)
        except FloatingPointError as error:
            raise ZeroDivisionError(str(error)).with_traceback(error.__traceback__) from None

    def _each(self, role: Role) -> None:
        function, _ = self.program.roles[role]
        for i, v in enumerate(self.arrays["vertices"]):
            self.vertex = int(v)
            returned = self._call(function, role, i)
            numbers = returned if isinstance(returned, tuple) else (returned,)
            outs = self.new
            # Before the first step it may add nothing.
            if self.program.adds and (role == "step" or len(numbers) > len(outs)):
                outs = [*outs, self.arrays["adds"]]
            for out, number in zip(outs, numbers, strict=True):
                if out.dtype.kind in "iu" and isinstance(number, float | np.floating):
                    raise TypeError(
                        f"it returns {number!r} for a value of type {out.dtype.str[1:]}"
                    )
                out[i] = number
            if self.program.wants is not None:
                own = dict(zip(self.program.kinds, (new[i] for new in self.new), strict=True))
                self.arrays["wants"][i] = bool(self._wants(own))

    def _wants(self, values: dict[str, Any]) -> Any:
        assert self.program.wants is not None
        names = _names(self.program.wants)
        return self.program.wants(
            **{name: values[name] if name in values else self._parameter(name) for name in names}
        )

    def _gather(self) -> None:
        combine, active = self.program.combine, self.arrays["active"]
        for i, v in enumerate(self.arrays["vertices"]):
            self.vertex = int(v)
            message: Any = identity(combine, self.program.message)
            for e in range(*self._extent(i)):
                u = int(self.arrays["entries"][e])
                if not int(active[u >> 6]) >> (u & 63) & 1:
                    continue
                one = self._message(u, e)
                self.arrays["got"][i] = 1
                if combine == "any":
                    message = one
                    break
                message = _COMBINE[combine](message, one)
            self.arrays["messages"][i] = message

    def _send(self) -> None:
        for i, v in enumerate(self.arrays["vertices"]):
            self.vertex = int(v)
            for e in range(*self._extent(i)):
                self.arrays["messages"][e] = self._message(int(v), e)

    def _extent(self, i: int) -> tuple[int, int]:
        return int(self.arrays["offsets"][i]), int(self.arrays["offsets"][i + 1])

    def _message(self, u: int, e: int) -> Any:
        """The message of a vertex along an entry."""
        assert self.program.send is not None
        found: dict[str, Any] = {}
        for name in _names(self.program.send):
            match name:
                case "n" | "step":
                    found[name] = getattr(self, name)
                case "weight":
                    found[name] = self.arrays["weights"][e]
                case "out_degree":
                    found[name] = self.arrays["degrees"][u]
                case _:
                    found[name] = self._value(name, u)
        return self.program.send(**found)

    def _call(self, function: Callable[..., Any], role: Role, i: int) -> Any:
        return function(**{name: self._argument(name, role, i) for name in _names(function)})

    def _argument(self, name: str, role: Role, i: int) -> Any:
        """The argument of this name for the vertex at a place of the block."""
        v, reads = self.vertex, self.program.send is None and role == "step"
        match name:
            case "v":
                return v
            case "n" | "step":
                return getattr(self, name)
            case "source":
                return bool(self.arrays["named"][v])
            case "message":
                return self.arrays["messages"][i]
            case "neighbors":
                return self.arrays["entries"][slice(*self._extent(i))]
            case "weights":
                return self.arrays["weights"][slice(*self._extent(i))]
            case "totals":
                return self.arrays["totals"]
            case "out_degree":
                return self.arrays["degrees"] if reads else self.arrays["degrees"][v]
        if reads and name in self.program.kinds:
            return self.old[list(self.program.kinds).index(name)]
        if reads and name in self.program.given:
            return self.given[self.program.given.index(name)]
        return self._value(name, i if name in self.program.kinds else v)

    def _value(self, name: str, at: int) -> Any:
        """One value, a number of an array that the run is given, or a parameter."""
        if name in self.program.kinds:
            return self.old[list(self.program.kinds).index(name)][at]
        if name in self.program.given:
            return self.given[self.program.given.index(name)][at]
        return self._parameter(name)

    def _parameter(self, name: str) -> int | float:
        place = list(self.program.parameters).index(name)
        number = self.arrays["numbers"][place]
        return int(number) if isinstance(self.program.parameters[name], int) else float(number)


@functools.cache
def _names(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the parameters of a function."""
    return tuple(inspect.signature(function).parameters)


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "min": min,
    "max": max,
    "sum": lambda one, other: one + other,
}


def identity(combine: str, message: str) -> Any:
    """The message that changes no other one."""
    kind = np.dtype(message)
    if combine in ("sum", "any"):
        return kind.type(0)
    if kind.kind == "f":
        return math.inf if combine == "min" else -math.inf
    limits = np.iinfo(kind)
    return limits.max if combine == "min" else limits.min


class Interpreted:
    """Functions over blocks that call the interpreter."""

    def __init__(self, functions: list[Any]) -> None:
        #: Kept for as long as the engine may call them.
        self.functions = functions
        self.addresses = [ctypes.cast(one, ctypes.c_void_p).value or 0 for one in functions]


def interpreted(program: Program, errors: list[BaseException]) -> Interpreted:
    """The functions of a program without Numba; an exception ends the run, and is kept."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(ctypes.c_int64))

    def of(role: Role) -> Any:
        def block(a: Any) -> int:
            try:
                Arguments.of_addresses(program, role, a).run(role)
            except BaseException as error:
                errors.append(error)
                return 1
            return 0

        return kind(block)

    roles: tuple[Role, ...] = ("init", "step")
    if program.send is not None:
        roles = ("init", "step", "gather", "send")
    return Interpreted([of(role) for role in roles])
