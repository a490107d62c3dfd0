"""The source of a user's functions: found, shipped as text, and made functions again."""

from __future__ import annotations

import ast
import inspect
import linecache
import math
import textwrap
import types
from collections.abc import Callable
from typing import Any

from .errors import ProgramError

__all__ = ["made", "node_of", "shipped"]

#: Modules that a function may use on a server.
_MODULES = ("math", "numpy", "numba", "cmath")


def node_of(function: Callable[..., Any]) -> tuple[ast.FunctionDef | ast.Lambda, list[str]] | None:
    """The part of the source that defines a function, and the lines of its file; ``None`` without a source."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        return None
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        return None
    found = [node for node in ast.walk(tree) if _defines(node, code)]
    if len(found) > 1:
        found = [node for node in found if _same(node, code)]
    return (found[0], lines) if found else None  # type: ignore[return-value]


def _defines(node: ast.AST, code: types.CodeType) -> bool:
    """Return true if a node can be the source of some code, by its place and its parameters."""
    if isinstance(node, ast.Lambda):
        places, named = [node.lineno], code.co_name == "<lambda>"
    elif isinstance(node, ast.FunctionDef):
        # Code begins at the first decorator, unless these were left out.
        places = [node.lineno, *(decorator.lineno for decorator in node.decorator_list)]
        named = code.co_name == node.name
    else:
        return False
    taken = tuple(each.arg for each in (*node.args.posonlyargs, *node.args.args))
    return named and code.co_firstlineno in places and taken == code.co_varnames[: code.co_argcount]


def _same(node: ast.AST, code: types.CodeType) -> bool:
    """Return true if a lambda compiles to this code."""
    assert isinstance(node, ast.Lambda)
    compiled = compile(ast.Expression(node), code.co_filename, "eval")
    inner = next(each for each in compiled.co_consts if isinstance(each, types.CodeType))
    same = ("co_code", "co_consts", "co_names")
    return all(getattr(inner, name) == getattr(code, name) for name in same)


def shipped(functions: dict[str, Callable[..., Any]]) -> list[dict[str, Any]]:
    """The sources of functions by name, and of what they use, each after what it uses."""
    parts: list[dict[str, Any]] = []
    seen: dict[str, Any] = {}
    for name, function in functions.items():
        _ship(name, function, parts, seen)
    return parts


def _ship(
    name: str, function: Callable[..., Any], parts: list[dict[str, Any]], seen: dict[str, Any]
) -> None:
    # Numba's functions keep the one that they were made of.
    function = getattr(function, "py_func", function)
    if name in seen:
        if seen[name] is not function:
            raise ProgramError(f"two functions of the program are called {name}; rename one")
        return
    seen[name] = function
    found = node_of(function)
    if found is None:
        raise ProgramError(
            f"{name} has no source that could be sent to servers; define it in a file or a notebook"
        )
    node, lines = found
    known = inspect.getclosurevars(function)
    for used, value in {**known.globals, **known.nonlocals}.items():
        _ship_used(name, used, value, parts, seen)
    text = ast.get_source_segment("".join(lines), node) or ""
    if isinstance(node, ast.Lambda):
        text = f"{name} = ({text})"
    else:
        # Further lines are indented as those of the file are.
        text = textwrap.dedent(" " * node.col_offset + text)
    path = function.__code__.co_filename
    parts.append({"name": name, "text": text, "file": path, "line": node.lineno})


def _ship_used(
    name: str, used: str, value: Any, parts: list[dict[str, Any]], seen: dict[str, Any]
) -> None:
    """Add what a function uses."""
    if isinstance(value, types.ModuleType):
        if value.__name__.split(".")[0] not in _MODULES:
            known = ", ".join(_MODULES)
            raise ProgramError(
                f"{name} uses the module {value.__name__}; on servers a program may use {known}"
            )
        parts.append({"name": used, "module": value.__name__})
    elif isinstance(value, bool | int | float):
        number = float(value) if isinstance(value, float) else int(value)
        text = repr(number) if math.isfinite(number) else f"float({str(number)!r})"
        parts.append({"name": used, "text": f"{used} = {text}", "file": "<constant>", "line": 1})
    elif isinstance(value, types.FunctionType) or hasattr(value, "py_func"):
        if (getattr(value, "__module__", None) or "").split(".")[0] in _MODULES:
            parts.append({"name": used, "module": value.__module__, "of": value.__name__})
        else:
            _ship(used, value, parts, seen)
    elif isinstance(value, types.BuiltinFunctionType) and value.__module__ in _MODULES:
        parts.append({"name": used, "module": value.__module__, "of": value.__name__})
    else:
        raise ProgramError(
            f"{name} uses {used}, which is of type {type(value).__name__} and cannot be sent to servers; "
            "use numbers, functions, math and numpy"
        )


def made(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Functions by name, made of the parts of :func:`shipped`; their lines are those of the user's file."""
    import importlib

    space: dict[str, Any] = {}
    for part in parts:
        if "module" in part:
            if part["module"].split(".")[0] not in _MODULES:
                raise ProgramError(f"a program may not use the module {part['module']}")
            module = importlib.import_module(part["module"])
            space[part["name"]] = getattr(module, part["of"]) if "of" in part else module
            continue
        name, lines = part["file"], "\n" * (part["line"] - 1) + part["text"]
        if not linecache.getlines(name):
            # Numba and tracebacks look lines up.
            linecache.cache[name] = (len(lines), None, lines.splitlines(keepends=True), name)
        exec(compile(lines, name, "exec"), space)
    return space
