"""Programs of users: what each vertex does, in Python, compiled by Numba and run by the engines."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from .errors import ParameterError, ProgramError, UnsupportedError
from .progress import ProgressArgument, reporting
from .result import Result
from .units import parse_size

if TYPE_CHECKING:
    import numpy as np

    from . import _core
    from .graph import At, Engine, Graph
    from .program_arguments import Role
    from .program_compiler import Compiled

__all__ = ["Program", "program", "run_on"]

#: Types of values, and of messages.
KINDS = ("u1", "u4", "u8", "i8", "f4", "f8")
MESSAGES = ("u8", "i8", "f8")

#: What the functions of a program may name, besides values and parameters: where they read values of all
#: vertices, where they see one value, where they compute a message, and before the first step.
_READS = ("v", "n", "step", "neighbors", "weights", "out_degree", "totals", "source")
_RECEIVES = ("v", "n", "step", "message", "out_degree", "source")
_SENDS = ("n", "step", "weight", "out_degree")
_BEGINS = ("v", "n", "out_degree", "source")


def program(
    *,
    value: str | Mapping[str, str],
    init: Callable[..., Any] | None = None,
    adds: bool = False,
    given: Sequence[str] = (),
    send: Callable[..., Any] | None = None,
    combine: Literal["min", "max", "sum", "any"] = "min",
    message: str | None = None,
    wants: Callable[..., Any] | None = None,
    links: Literal["out", "both"] = "out",
    eager: bool = False,
) -> Callable[[Callable[..., Any]], Program]:
    """Make a program of a function that computes the next value of a vertex.

    >>> @nakshi.program(value="f8", init=lambda v, n: 1 / n)      # doctest: +SKIP
    ... def rank(v, neighbors, values, out_degree, n):
    ...     total = 0.0
    ...     for u in neighbors:
    ...         total += values[u] / out_degree[u]
    ...     return 0.15 / n + 0.85 * total
    >>> g.run(rank, iterations=20)                                # doctest: +SKIP

    Without `send`, the function runs for every vertex in each step, and its values are seen in the next
    step. It takes what its parameters name:

    - ``v``: the vertex, a number from 0 to ``n - 1`` that is no id of the user's;
    - ``neighbors``: array of the vertices from which edges lead to ``v``; ``weights``: of these edges;
    - ``values``: array of the values of all vertices; of several, an array each, by its name;
    - ``out_degree``: array of the numbers of edges from each vertex;
    - ``n``: number of vertices; ``step``: number of the step, from 1;
    - ``totals``: count, sum, least and greatest of what all vertices added in the step before;
    - ``source``: whether the run names the vertex among its ``sources``;
    - arrays that are `given` to the run, of all vertices, by their names;
    - any other name with a default, a number, which becomes an argument of the run.

    With `send`, vertices whose values have changed send messages along their edges, and the function runs
    for those that receive one. It takes ``v``, ``n``, ``step``, ``source``, ``message``, and of the vertex
    ``value`` (of several, each by its name), ``out_degree`` and what is `given`.

    Args:
        value: type of the value of a vertex, ``"u1"``, ``"u4"``, ``"u8"``, ``"i8"``, ``"f4"`` or ``"f8"``; or
            the types of several values by name, of which the function returns a tuple.
        init: the value before the first step, a function of ``v``, ``n``, ``out_degree`` (of the vertex),
            ``source`` and what is `given`, as it names them; 0 by default.
        adds: the function returns one number more, last, which is added to the totals, and `init` may;
            without `send` only.
        given: names of arrays of numbers that a run is given, such as a property or the result of another
            algorithm; they do not change.
        send: the message along an edge, a function of the sender's ``value``, ``out_degree`` and what is
            `given`, and of the ``weight`` of the edge.
        combine: how messages to one vertex become one. ``"any"``: all that it gets in a step are equal.
        message: type of a message, ``"u8"``, ``"i8"`` or ``"f8"``; by default that of the first value.
        wants: whether messages can still change a vertex, a function of its value. Lists of those that want
            none are not read.
        links: messages go along out-edges, or along edges of both directions.
        eager: the last values are the same in whatever order messages come, and if some come twice, as of a
            least label. Messages along edges in memory then go first, and few lists are left to be read.

    Raises:
        ParameterError: a type or a parameter is unknown.
    """

    def make(function: Callable[..., Any]) -> Program:
        name = "value" if send is not None else "values"
        kinds = {name: value} if isinstance(value, str) else dict(value)
        return Program(
            function,
            kinds,
            init=init or _zero,
            adds=adds,
            given=tuple(given),
            send=send,
            combine=combine,
            message=message,
            wants=wants,
            links=links,
            eager=eager,
        )

    return make


def _zero(v: int) -> int:
    return 0


class Program:
    """A program for :meth:`nakshi.Graph.run` and :func:`nakshi.cluster.run`; see :func:`nakshi.program`."""

    def __init__(
        self,
        function: Callable[..., Any],
        kinds: dict[str, str],
        *,
        init: Callable[..., Any],
        adds: bool = False,
        given: tuple[str, ...] = (),
        send: Callable[..., Any] | None = None,
        combine: str = "min",
        message: str | None = None,
        wants: Callable[..., Any] | None = None,
        links: str = "out",
        eager: bool = False,
    ) -> None:
        self.function = function
        self.init = init
        self.kinds = kinds
        self.adds = adds
        self.given = given
        self.send = send
        self.combine = combine
        self.message = message or _message_of(kinds)
        self.wants = wants
        self.links = links
        self.eager = eager
        self.name = getattr(function, "__name__", "program")
        #: Arguments of a run, with their defaults.
        self.parameters: dict[str, int | float] = {}
        self._check()

    def _check(self) -> None:
        for name, kind in self.kinds.items():
            self._one_of(f"the type of {name}", kind, KINDS)
        self._one_of("message", self.message, MESSAGES)
        self._one_of("combine", self.combine, ("min", "max", "sum", "any"))
        self._one_of("links", self.links, ("out", "both"))
        if not self.kinds:
            raise ParameterError(
                f"{self.name}: value has no names; give a vertex at least one value"
            )
        if self.send is None and (self.wants is not None or self.links == "both" or self.eager):
            raise ParameterError(
                f"{self.name}: wants, links and eager belong to messages; give send, too"
            )
        if self.eager and self.combine == "sum":
            raise ParameterError(
                f"{self.name}: sums change if messages come twice; leave out eager"
            )
        if self.send is not None and self.adds:
            raise ParameterError(f"{self.name}: adds is for programs without send")
        for function, names in self.roles.values():
            self._check_names(function, names)

    def _one_of(self, what: str, found: str, known: Sequence[str]) -> None:
        if found not in known:
            raise ParameterError(
                f"{self.name}: {what} is {found!r}; take one of {', '.join(known)}"
            )

    @property
    def roles(self) -> dict[Role, tuple[Callable[..., Any], tuple[str, ...]]]:
        """The functions, and the names that each may take."""
        own = (*self.kinds, *self.given)
        if self.send is None:
            steps: dict[Role, tuple[Callable[..., Any], tuple[str, ...]]] = {
                "step": (self.function, (*_READS, *own))
            }
        else:
            steps = {
                "step": (self.function, (*_RECEIVES, *own)),
                "send": (self.send, (*_SENDS, *own)),
            }
        if self.wants is not None:
            steps["wants"] = (self.wants, tuple(self.kinds))
        return {"init": (self.init, (*_BEGINS, *self.given)), **steps}

    def _check_names(self, function: Callable[..., Any], known: Sequence[str]) -> None:
        for name, parameter in inspect.signature(function).parameters.items():
            if name in known:
                continue
            default = parameter.default
            if not isinstance(default, int | float):
                raise ParameterError(
                    f"{self.name}: no parameter {name!r} is known; take some of {', '.join(known)}, or "
                    "give it a number as its default, and it becomes an argument of the run"
                )
            if self.parameters.setdefault(name, default) != default:
                raise ParameterError(f"{self.name}: the parameter {name!r} has two defaults")

    def reads(self, name: str) -> bool:
        """Return true if any of its functions takes a parameter of this name."""
        functions = (function for function, _ in self.roles.values())
        return any(name in inspect.signature(function).parameters for function in functions)

    @property
    def weighted(self) -> bool:
        """True if it reads weights."""
        return self.reads("weights") or self.reads("weight")

    def described(
        self,
        *,
        sources: Sequence[Any] | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        weight: str | None = None,
        **parameters: int | float,
    ) -> str:
        """The description of a run for the engine, as JSON."""
        if unknown := sorted(set(parameters) - set(self.parameters)):
            known = ", ".join(self.parameters) or "none"
            raise ParameterError(f"{self.name} has no parameter {unknown[0]!r}; it has: {known}")
        if self.reads("source") and sources is None:
            raise ParameterError(
                f"{self.name} asks for sources; give a run sources=[...], ids of vertices"
            )
        if tolerance is not None and self.send is not None:
            raise ParameterError(f"{self.name} ends when no value changes; leave out tolerance")
        numbers = self.parameters | parameters
        for name, number in numbers.items():
            if not isinstance(number, int | float):
                raise ParameterError(f"{self.name}: {name} is {number!r}, and no number")
            if isinstance(self.parameters[name], int) and number != int(number):
                raise ParameterError(
                    f"{self.name}: {name} is {number!r}; its default is a whole number"
                )
        sending = None
        if self.send is not None:
            sending = {
                "both": self.links == "both",
                "selects": self.wants is not None,
                "message": self.message,
                "combine": self.combine,
                "eager": self.eager,
            }
        column = "value" if list(self.kinds) == ["values"] else None
        return json.dumps(
            {
                "name": self.name,
                "values": [(column or name, kind) for name, kind in self.kinds.items()],
                "degrees": self.reads("out_degree"),
                "weighted": self.weighted,
                "named": self.reads("source"),
                "sending": sending,
                "sources": None if sources is None else list(sources),
                "numbers": [float(number) for number in numbers.values()],
                "given": len(self.given),
                "column": weight,
                "iterations": iterations,
                "tolerance": tolerance,
            }
        )

    def _run(
        self,
        core: _core.Store,
        described: str,
        *,
        jit: bool,
        arrays: Mapping[str, np.ndarray],
        **options: Any,
    ) -> Result:
        """Run the program on edge lists."""
        from ._core import run_program
        from .program_arguments import interpreted

        missing = sorted(set(self.given) ^ set(arrays))
        if missing:
            raise ParameterError(
                f"{self.name} is given {', '.join(self.given) or 'no array'}; the run names "
                f"{', '.join(arrays) or 'none'}"
            )
        errors: list[BaseException] = []
        kept = None if jit else interpreted(self, errors)
        addresses = self.compiled.addresses if kept is None else kept.addresses
        given = [arrays[name].tobytes() for name in self.given]
        ran, failed = run_program(core, described, addresses, given, **options)
        if errors:
            raise errors[0]
        if failed is not None:
            raise self.explained(failed)
        assert ran is not None
        return Result(ran)

    def explained(self, failed: tuple[Any, ...]) -> ProgramError:
        """The exception of a call that failed, found by calling it again in Python."""
        from .program_arguments import Arguments

        function, returned, step, first, n, arrays, values, given = failed
        what = "before the first step" if step == 0 else f"in step {step}"
        if returned == 2:
            return ProgramError(
                f"{self.name} has returned a number {what}, at a vertex from {first} on, that its value "
                f"({', '.join(self.kinds.values())}) cannot hold"
            )
        again = Arguments.of_bytes(self, step, n, dict(arrays), values, given)
        role: Role = ("init", "step", "gather", "send")[function]
        try:
            again.run(role)
        except Exception as error:
            trace, line = error.__traceback__, ""
            while trace is not None:
                code = trace.tb_frame.f_code
                if code.co_filename not in (__file__, Arguments.FILE):
                    line = f' (File "{code.co_filename}", line {trace.tb_lineno})'
                trace = trace.tb_next
            told = ProgramError(
                f"{self.name} failed {what}, at vertex {again.vertex}: {type(error).__name__}: {error}{line}"
            )
            told.__cause__ = error
            return told
        return ProgramError(
            f"{self.name} failed {what}, at a vertex from {first} on, and does not in Python; run it with "
            "jit=False to see where"
        )

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    def __repr__(self) -> str:
        return f"<nakshi.Program {self.name}>"

    @cached_property
    def compiled(self) -> Compiled:
        """The functions of a block, compiled by Numba."""
        try:
            import numba  # noqa: F401
        except ImportError:
            raise UnsupportedError(
                "programs are compiled by Numba, which is not installed: pip install 'nakshi[programs]'; "
                "or run this one with jit=False, slowly"
            ) from None
        from .program_compiler import Compiled

        return Compiled(self)


def _message_of(kinds: Mapping[str, str]) -> str:
    """The type of messages that goes with the first value."""
    first = next(iter(kinds.values()), "f8")
    return f"{first[0]}8"


def run_on(
    graph: Graph,
    program: Program,
    memory: int | str | None,
    progress: ProgressArgument,
    *,
    at: At,
    missing: float | None,
    engine: Engine,
    threads: int | None,
    timeout: float | None,
    weight: str | None = None,
    jit: bool = True,
    **given: Any,
) -> Result:
    """Run a program on a graph."""
    cap = parse_size(memory)
    found = {name: given.pop(name) for name in program.given if name in given}
    arrays = {name: array_of(graph, name, each) for name, each in found.items()}
    with reporting(progress, program.name) as sink:
        core, described = graph._prepared_program(
            program, given, weight, at=at, missing=missing, memory=cap, threads=threads, sink=sink
        )
        return program._run(
            core,
            described,
            jit=jit,
            arrays=arrays,
            engine=engine,
            memory=cap,
            threads=threads,
            timeout=timeout,
            progress=sink,
        )


def array_of(graph: Graph, name: str, given: Any) -> np.ndarray:
    """Numbers of all vertices, ascending by id: of a property, a result, or an array."""
    import numpy as np

    ids = graph.degrees(progress=False).to_numpy()[0]
    if isinstance(given, str):
        found = graph.get_node_properties(ids.tolist(), given)
        given = [float("nan") if number is None else number for number in found]
    elif isinstance(given, Result):
        given = given.to_numpy()[1]
    try:
        numbers = np.ascontiguousarray(given, "f8")
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{name} is given what are no numbers: {error}") from None
    if numbers.shape != ids.shape:
        raise ParameterError(
            f"{name} is given an array of shape {numbers.shape}; give a number for each of the "
            f"{len(ids):,} vertices, ascending by id"
        )
    return numbers
