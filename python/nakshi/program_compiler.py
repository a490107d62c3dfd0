"""Programs compiled by Numba: functions over blocks that call the user's functions."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import types
from numba.core import cgutils, errors
from numba.extending import intrinsic
from numba.np.numpy_support import carray

from .errors import ProgramError
from .program_arguments import Role, arguments, identity
from .program_source import node_of

if TYPE_CHECKING:
    from .programs import Program

__all__ = ["Compiled"]

_NAMES = {
    "u1": types.uint8,
    "u4": types.uint32,
    "u8": types.uint64,
    "i8": types.int64,
    "f4": types.float32,
    "f8": types.float64,
}


@intrinsic
def _at(context: Any, address: Any) -> Any:
    """The pointer at an address."""

    def make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], cgutils.voidptr_t)

    return types.voidptr(address), make


@intrinsic
def _fixed(context: Any, array: Any) -> Any:
    """An array that the user's functions cannot write to."""

    def make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return values[0]

    return array.copy(readonly=True)(array), make


@intrinsic
def _now(context: Any, address: Any) -> Any:
    """The number at an address that another thread may change."""

    def make(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        place = builder.inttoptr(values[0], cgutils.intp_t.as_pointer())
        return builder.load_atomic(place, "monotonic", 8)

    return types.int64(address), make


class _Stops(ast.NodeTransformer):
    """Has loops that may never end look whether they should end."""

    NAME = "_nakshi_stop"

    def __init__(self) -> None:
        self.found = False

    def visit_While(self, node: ast.While) -> ast.While:
        self.generic_visit(node)
        self.found = True
        check = ast.parse(f"if _nakshi_now({self.NAME}) != 0:\n    raise RuntimeError").body
        for part in (each for statement in check for each in ast.walk(statement)):
            ast.copy_location(part, node)
        node.body = check + node.body
        return node


def _stoppable(function: Callable[..., Any]) -> tuple[Callable[..., Any], bool]:
    """A function whose loops by `while` end when they should, and whether it has any: it then takes the
    address of a flag, last."""
    found = node_of(function)
    if found is None or not isinstance(found[0], ast.FunctionDef):
        # A lambda has no loops by `while`.
        return function, False
    defined, stops = copy.deepcopy(found[0]), _Stops()
    stops.visit(defined)
    if not stops.found:
        return function, False
    defined.decorator_list = []
    defined.args.args.append(ast.arg(_Stops.NAME))
    defined.args.defaults = []
    defined.returns = None
    tree = ast.fix_missing_locations(ast.Module([defined], []))
    code = compile(tree, inspect.getfile(function), "exec")
    known = inspect.getclosurevars(function)
    space = {**function.__globals__, **known.nonlocals, "_nakshi_now": _now}
    exec(code, space)
    return space[defined.name], True


def _parts(returned: Any) -> list[Any]:
    """The types of what a function returns."""
    parts: Any = returned
    return list(parts) if isinstance(returned, types.BaseTuple) else [parts]


class Compiled:
    """The functions of a program, compiled."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._dispatchers: dict[Role, tuple[Any, list[str], Any]] = {}
        for role in program.roles:
            self._dispatchers[role] = self._typed(role)
        roles: tuple[Role, ...] = ("init", "step")
        if program.send is not None:
            roles = ("init", "step", "gather", "send")
        try:
            #: Kept for as long as the engine may call them.
            self.functions = [self._block(role) for role in roles]
        except errors.NumbaError as error:
            raise self._refused(error, program.function) from error
        self.addresses = [function.address for function in self.functions]

    def _refused(self, error: Exception, function: Callable[..., Any]) -> ProgramError:
        """The exception for a function that Numba cannot compile."""
        place = getattr(error, "loc", None)
        where = f'File "{inspect.getfile(function)}", line {function.__code__.co_firstlineno}'
        if place is not None and place.filename == inspect.getfile(function):
            where = f'File "{place.filename}", line {place.line}'
        lines = [line.strip() for line in str(getattr(error, "msg", error)).splitlines()]
        why = "; ".join([line for line in lines if line and not line.startswith("File")][:3])
        return ProgramError(f"{self.program.name}: Numba cannot compile it ({where}): {why}")

    def _typed(self, role: Role) -> tuple[Any, list[str], Any]:
        """A function compiled for the types of its arguments, the names of these, and what it returns."""
        function, _ = self.program.roles[role]
        names = list(inspect.signature(function).parameters)
        stoppable, stops = _stoppable(function)
        if stops:
            names.append(_Stops.NAME)
        dispatcher = numba.njit(stoppable, boundscheck=True)
        try:
            dispatcher.compile(tuple(self._type(name, role) for name in names))
        except errors.NumbaError as error:
            raise self._refused(error, function) from error
        returned = dispatcher.nopython_signatures[0].return_type
        self._check_returned(role, returned)
        return dispatcher, names, returned

    def _reads(self, role: Role) -> bool:
        return role == "step" and self.program.send is None

    def _type(self, name: str, role: Role) -> Any:
        """The type of an argument."""

        def array(kind: Any) -> Any:
            return types.Array(kind, 1, "C", readonly=True)

        match name:
            case "v" | "n" | "step" | _Stops.NAME:
                return types.int64
            case "source":
                return types.boolean
            case "message":
                return _NAMES[self.program.message]
            case "neighbors":
                return array(types.uint32)
            case "weights" | "totals":
                return array(types.float64)
            case "weight":
                return types.float64
            case "out_degree":
                return array(types.uint32) if self._reads(role) else types.uint32
        if name in self.program.parameters:
            return types.int64 if isinstance(self.program.parameters[name], int) else types.float64
        kind = _NAMES[self.program.kinds[name]] if name in self.program.kinds else types.float64
        return array(kind) if self._reads(role) else kind

    def _outs(self, role: Role, returned: Any) -> list[tuple[str, Any]]:
        """Names of what a function has to return, and their types."""
        match role:
            case "send":
                return [("the message", _NAMES[self.program.message])]
            case "wants":
                return [("wants", types.boolean)]
        outs = [(name, _NAMES[kind]) for name, kind in self.program.kinds.items()]
        # Before the first step it may add nothing.
        if self.program.adds and (role == "step" or len(_parts(returned)) > len(outs)):
            outs.append(("what it adds", types.float64))
        return outs

    def _check_returned(self, role: Role, returned: Any) -> None:
        """Fails if a function returns what its values cannot hold."""
        function, _ = self.program.roles[role]
        outs, parts = self._outs(role, returned), _parts(returned)
        where = f'File "{inspect.getfile(function)}", line {function.__code__.co_firstlineno}'
        if len(parts) != len(outs):
            wanted = ", ".join(name for name, _ in outs)
            raise ProgramError(
                f"{self.program.name}: {function.__name__} returns {returned}, not {wanted} ({where})"
            )
        for (name, kind), part in zip(outs, parts, strict=True):
            whole = isinstance(kind, types.Integer)
            fits = isinstance(part, types.Integer | types.Boolean) or (
                isinstance(part, types.Float) and not whole
            )
            if not fits:
                raise ProgramError(
                    f"{self.program.name}: {function.__name__} returns {part} for {name}, which is "
                    f"{kind} ({where})"
                )

    def _call(self, role: Role, where: dict[str, str]) -> str:
        """A call of the user's function, whose arguments are expressions."""
        _, names, _ = self._dispatchers[role]
        return f"{role}({', '.join(self._expression(name, where) for name in names)})"

    def _expression(self, name: str, where: dict[str, str]) -> str:
        if name in where:
            return where[name]
        place = list(self.program.parameters).index(name)
        number = f"numbers[{place}]"
        return f"int64({number})" if isinstance(self.program.parameters[name], int) else number

    def _stores(self, role: Role) -> list[str]:
        """Lines that store what a function has returned, after a look whether the values can hold it."""
        returned = self._dispatchers[role][2]
        outs, parts = self._outs(role, returned), _parts(returned)
        lines = []
        for i, ((_, kind), part) in enumerate(zip(outs, parts, strict=True)):
            value = f"r[{i}]" if len(outs) > 1 else "r"
            if isinstance(kind, types.Integer) and isinstance(part, types.Integer):
                low, high = int(kind.minval), int(kind.maxval)
                tests = [f"{value} < {low}"] if part.minval < low else []
                tests += [f"{value} > {high}"] if part.maxval > high else []
                if tests:
                    lines += [f"if {' or '.join(tests)}:", "    return 2"]
            place = f"new{i}[i]" if i < len(self.program.kinds) else "adds[i]"
            lines.append(f"{place} = {value}")
        if self.program.wants is not None:
            _, names, _ = self._dispatchers["wants"]
            own = {name: f"new{i}[i]" for i, name in enumerate(self.program.kinds)}
            own[_Stops.NAME] = "stop"
            lines.append(f"wants_[i] = {self._call('wants', own)}")
        return lines

    def _loop(self, role: Role) -> list[str]:
        """The lines of a function over a block for one vertex."""
        kinds, given = list(self.program.kinds), list(self.program.given)
        where = {
            "n": "n",
            "step": "step_",
            "source": "named[v] != 0",
            "v": "v",
            _Stops.NAME: "stop",
        }
        where |= {"message": "messages[i]", "totals": "totals"}
        if self._reads(role):
            where |= {"neighbors": "entries[offsets[i]:offsets[i + 1]]"}
            where |= {"weights": "entry_weights[offsets[i]:offsets[i + 1]]"}
            where |= {"out_degree": "degrees"}
            where |= {name: f"old{i}" for i, name in enumerate(kinds)}
            where |= {name: f"given{i}" for i, name in enumerate(given)}
            return [f"r = {self._call('step', where)}", *self._stores("step")]
        if role in ("init", "step"):
            where |= {"out_degree": "degrees[v]"}
            where |= {name: f"old{i}[i]" for i, name in enumerate(kinds)}
            where |= {name: f"given{i}[v]" for i, name in enumerate(given)}
            return [f"r = {self._call(role, where)}", *self._stores(role)]
        sender = "u" if role == "gather" else "v"
        where |= {"weight": "entry_weights[e]", "out_degree": f"degrees[{sender}]"}
        where |= {name: f"old{i}[{sender}]" for i, name in enumerate(kinds)}
        where |= {name: f"given{i}[{sender}]" for i, name in enumerate(given)}
        message = f"kind({self._call('send', where)})"
        entries = "for e in range(offsets[i], offsets[i + 1]):"
        if role == "send":
            return [entries, f"    messages[e] = {message}"]
        combined = {
            "min": "min(m, x)",
            "max": "max(m, x)",
            "sum": "m + x",
            "any": "x",
        }[self.program.combine]
        lines = [
            "m = identity",
            entries,
            "    u = entries[e]",
            "    if (active[u >> six] >> (uint64(u) & sixty_three)) & one:",
            f"        x = {message}",
            f"        m = kind({combined})",
            "        got[i] = 1",
        ]
        if self.program.combine == "any":
            lines.append("        break")
        return [*lines, "messages[i] = m"]

    def _block(self, role: Role) -> Any:
        """The function over a block."""
        kinds, given = self.program.kinds, self.program.given
        olds = [f"old{i}" for i in range(len(kinds))] + [f"given{i}" for i in range(len(given))]
        news = [f"new{i}" for i in range(len(kinds))]
        arrays = "offsets entries entry_weights degrees totals adds named numbers active messages got wants_"
        taken = f"count n step_ stop vertices {arrays}".split() + olds + news
        body = [f"def body({', '.join(taken)}):", "    for i in range(count):"]
        body += ["        v = int64(vertices[i])"]
        body += [f"        {line}" for line in self._loop(role)]
        body += ["    return 0"]
        message = np.dtype(self.program.message)
        space: dict[str, Any] = {"int64": types.int64, "uint64": types.uint64}
        space |= {each: found[0] for each, found in self._dispatchers.items()}
        space |= {"kind": _NAMES[self.program.message]}
        space["identity"] = message.type(identity(self.program.combine, self.program.message))
        space |= {"six": np.uint32(6), "sixty_three": np.uint64(63), "one": np.uint64(1)}
        exec("\n".join(body), space)
        outer = {
            "body": numba.njit(space["body"]),
            "carray": carray,
            "at": _at,
            "fixed": _fixed,
        }
        outer |= {f"as_{kind}": np.dtype(kind) for kind in _NAMES}
        exec("\n".join(self._unpacking(role, taken)), outer)
        return numba.cfunc("int64(CPointer(int64))")(outer["block"])

    def _unpacking(self, role: Role, taken: list[str]) -> list[str]:
        """The lines of a function that makes arrays of its arguments, and calls another one."""
        program = self.program
        place = {name: i for i, name in enumerate(arguments())}
        degrees = "n" if program.reads("out_degree") else "0"
        weights = "edges" if program.weighted and role not in ("init",) else "0"
        named = "n" if program.reads("source") else "0"
        receives = program.send is not None and role == "step"
        messages = "edges" if role == "send" else "count" if role in ("gather", "step") else "0"
        shapes = [
            ("vertices", "vertices", "count", "u4", True),
            ("entries", "entries", "edges", "u4", True),
            ("entry_weights", "weights", weights, "f8", True),
            ("degrees", "degrees", degrees, "u4", True),
            ("totals", "totals", "4", "f8", True),
            ("adds", "adds", "count" if program.adds else "0", "f8", False),
            ("named", "named", named, "u1", True),
            ("numbers", "numbers", str(len(program.parameters)), "f8", True),
            ("active", "active", "(n + 63) // 64" if role == "gather" else "0", "u8", True),
            ("messages", "messages", messages, program.message, False),
            ("got", "got", "count" if role == "gather" else "0", "u1", False),
            ("wants_", "wants", "count" if program.wants is not None else "0", "u1", False),
        ]
        lines = ["def block(a):"]
        for name, argument in (("count", "count"), ("n", "n"), ("step_", "step"), ("stop", "stop")):
            lines.append(f"    {name} = a[{place[argument]}]")
        lines.append(f"    offsets = fixed(carray(at(a[{place['offsets']}]), (count + 1,), as_u4))")
        lines.append("    edges = offsets[count]")
        for name, argument, length, kind, fixed in shapes:
            array = f"carray(at(a[{place[argument]}]), ({length},), as_{kind})"
            lines.append(f"    {name} = fixed({array})" if fixed else f"    {name} = {array}")
        at = len(place)
        for i, kind in enumerate(program.kinds.values()):
            old = "0" if role == "init" else "count" if receives else "n"
            new = "count" if role in ("init", "step") else "0"
            lines.append(f"    old{i} = fixed(carray(at(a[{at}]), ({old},), as_{kind}))")
            lines.append(f"    new{i} = carray(at(a[{at + 1}]), ({new},), as_{kind})")
            at += 2
        for i in range(len(program.given)):
            lines.append(f"    given{i} = fixed(carray(at(a[{at + i}]), (n,), as_f8))")
        lines += ["    try:", f"        return body({', '.join(taken)})"]
        lines += ["    except Exception:", "        return 1", "    return 0"]
        return lines
