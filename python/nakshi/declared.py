"""The algorithms as the engine declares them: names, parameters, defaults, help, outputs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import _core


@dataclass(frozen=True)
class Parameter:
    """A parameter of an algorithm; the fields are those of ``Parameter`` in Rust."""

    name: str
    help: str
    kind: str
    choices: list[dict[str, str]] | None
    range: str
    least: float | None
    greatest: float | None
    unit: str | None
    required: bool
    default: Any
    pulls: bool
    flag: str | None
    implies: tuple[str, float] | None
    command_line: bool

    @property
    def shown_default(self) -> str:
        """The default as text; empty if there is none or help says what it means."""
        if self.kind == "flag" or self.default in (None, []):
            return ""
        if self.kind == "integer" and self.default == 0 and self.name != "seed":
            return ""
        if isinstance(self.default, float):
            return f"{self.default:g}".replace("e-0", "e-")
        if isinstance(self.default, list):
            return ",".join(f"{number:g}" for number in self.default)
        return str(self.default)

    @property
    def brief(self) -> str:
        """The first sentence of the help."""
        return self.help.split(". ")[0].rstrip(".")


@dataclass(frozen=True)
class Output:
    """A column or a field of the summary; ``*`` in a name stands for a number."""

    name: str
    kind: str
    help: str
    when: str
    alone: bool


@dataclass(frozen=True)
class Declaration:
    """All that users are told about an algorithm."""

    name: str
    method: str
    about: str
    details: str
    citation: str
    parameters: tuple[Parameter, ...]
    outside: tuple[Parameter, ...]
    columns: tuple[Output, ...]
    summary: tuple[Output, ...]
    raises: str
    memory: dict[str, float]
    pulls: bool

    @property
    def on_servers(self) -> list[Parameter]:
        """Parameters of a run on several servers."""
        return [parameter for parameter in self.everything if parameter.pulls]

    @property
    def everything(self) -> list[Parameter]:
        """Parameters of the engine, then those that Python or the command line turn into others."""
        return [*self.parameters, *self.outside]


def _declaration(fields: dict[str, Any]) -> Declaration:
    for name in ("parameters", "outside"):
        fields[name] = tuple(Parameter(**parameter) for parameter in fields[name])
    for name in ("columns", "summary"):
        fields[name] = tuple(Output(**output) for output in fields[name])
    return Declaration(**fields)


#: All algorithms by name.
DECLARATIONS = {fields["name"]: _declaration(fields) for fields in json.loads(_core.declarations())}
#: Other names that the command line takes, such as those of Python's methods.
ALIASES = {
    declared.method: name for name, declared in DECLARATIONS.items() if declared.method != name
}


def with_implied(algorithm: str, given: dict[str, Any]) -> dict[str, Any]:
    """Arguments that are not ``None``, and the values that they imply."""
    given = {name: value for name, value in given.items() if value is not None}
    declared = DECLARATIONS.get(algorithm)
    for parameter in declared.parameters if declared else ():
        if parameter.implies is not None and parameter.name in given:
            other, value = parameter.implies
            given.setdefault(other, value)
    return given
