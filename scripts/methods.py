"""Writes the methods of ``Graph`` in python/nakshi/methods.py from the engine's declarations.

`make methods` runs it after `make build`; a test fails while the file is another one.
"""

from __future__ import annotations

import inspect
import sys
import textwrap
from pathlib import Path

from nakshi.declared import DECLARATIONS, Declaration, Output, Parameter
from nakshi.graph import Graph

FILE = Path(__file__).parents[1] / "python" / "nakshi" / "methods.py"
WIDTH = 100

#: The last line of the file that is kept; the methods follow it.
MARK = "    # Written by `make methods` from the engine's declarations; do not edit.\n"

TYPES = {
    "vertex": "Id",
    "vertices": "Sequence[Id]",
    "integer": "int",
    "number": "float",
    "numbers": "Sequence[float]",
    "flag": "bool",
    "column": "str",
}


def run_options() -> list[inspect.Parameter]:
    """The keyword arguments that every algorithm takes: those of `Graph.run`."""
    known = inspect.signature(Graph.run).parameters.values()
    return [parameter for parameter in known if parameter.kind is parameter.KEYWORD_ONLY]


#: Arguments of every algorithm.
RUN = run_options()


def arguments(declared: Declaration) -> list[Parameter]:
    """The parameters of the method; required ones first."""
    known = [parameter for parameter in declared.everything if not parameter.command_line]
    return sorted(
        known, key=lambda parameter: (not parameter.required, parameter.name == "variant")
    )


def signature(parameter: Parameter) -> str:
    """A parameter with its type and default; `None` leaves the default to the engine."""
    if parameter.choices is not None:
        kind = f"Literal[{', '.join(repr(c['name']) for c in parameter.choices)}]".replace("'", '"')
    else:
        kind = TYPES[parameter.kind]
    if parameter.required:
        return f"{parameter.name}: {kind}"
    if parameter.kind == "flag":
        return f"{parameter.name}: {kind} = {parameter.default}"
    return f"{parameter.name}: {kind} | None = None"


def default(parameter: inspect.Parameter) -> str:
    return (
        f'"{parameter.default}"' if isinstance(parameter.default, str) else str(parameter.default)
    )


def meaning(parameter: Parameter) -> str:
    """Help, range, unit and default in one paragraph."""
    plain = parameter.kind == "integer" and parameter.greatest is None
    notes = [] if plain else [parameter.range]
    if parameter.unit:
        notes.append(f"in units of {parameter.unit}")
    if parameter.shown_default and parameter.choices is None:
        notes.append(f"default {parameter.shown_default}")
    text = parameter.help[:1].lower() + parameter.help[1:]
    if parameter.implies is not None:
        other, value = parameter.implies
        notes.append(f"given alone, it sets ``{other}`` to {value:g}")
    noted = "; ".join(note for note in notes if note)
    if noted:
        text = f"{text} {noted[:1].upper()}{noted[1:]}."
    for choice in parameter.choices or ():
        default = " (default)" if choice["name"] == parameter.default else ""
        text += f' ``"{choice["name"]}"``{default}: {choice["help"]};'
    return text.removesuffix(";") + ("." if parameter.choices else "")


def output(one: Output) -> str:
    kind = "" if one.kind in ("vertex", "list", "text") else f" (``{one.kind}``)"
    condition = f", with ``{one.when}``" if one.when and not one.when.startswith("not ") else ""
    if one.when.startswith("not "):
        condition = f", with ``{one.when.removeprefix('not ')}=False``"
    return f"``{one.name}``{kind}{condition}: {one.help}."


def paragraph(text: str, indent: int, hanging: int = 0) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_long_words=False,
        break_on_hyphens=False,
    )


def docstring(declared: Declaration) -> str:
    lines = [paragraph(f'"""{declared.about}', 8)]
    if declared.details:
        lines += ["", paragraph(declared.details, 8)]
    known = arguments(declared)
    lines += ["", "        Args:"]
    lines += [paragraph(f"{one.name}: {meaning(one)}", 12, 4) for one in known]
    names = ", ".join(one.name for one in RUN)
    lines.append(paragraph(f"{names}: as for :meth:`nakshi.Graph.run`.", 12, 4))
    lines += ["", "        Returns:"]
    lines += [paragraph(output(one), 12, 4) for one in declared.columns]
    if declared.summary:
        lines.append("            Summary:")
        lines += [paragraph(output(one), 16, 4) for one in declared.summary]
    if declared.raises:
        lines += ["", "        Raises:", paragraph(f"ParameterError: {declared.raises}", 12, 4)]
    lines += ["", paragraph(f"{declared.citation}.", 8), '        """']
    return "\n".join(lines)


def method(declared: Declaration) -> str:
    known = arguments(declared)
    lines = [f"    def {declared.method}("]
    lines += ["        self,"]
    lines += [f"        {signature(one)}," for one in known if one.required]
    lines += ["        *,"]
    lines += [f"        {signature(one)}," for one in known if not one.required]
    lines += [f"        {one.name}: {one.annotation} = {default(one)}," for one in RUN]
    lines += ["    ) -> Result:", docstring(declared)]
    lines += ["        return self.run(", f'            "{declared.name}",']
    lines += [f"            {one.name}={one.name}," for one in [*known, *RUN]]
    lines += ["        )"]
    return "\n".join(lines)


def source() -> str:
    """The text of the module."""
    methods = [method(declared) for declared in DECLARATIONS.values()]
    head, mark, _ = FILE.read_text().partition(MARK)
    return head + mark + "\n" + "\n\n".join(methods) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if FILE.read_text() == source() else f"{FILE} is another: run make methods")
    FILE.write_text(source())
