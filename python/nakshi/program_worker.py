"""Programs of front-ends, compiled by a worker."""

from __future__ import annotations

import json
from threading import Lock
from typing import Any

from .program_source import made, shipped
from .programs import Program

__all__ = ["ProgramCompiler", "packed", "unpacked"]


def packed(program: Program) -> str:
    """A program as text that a worker can make it of again."""
    functions = {
        "function": program.function,
        "init": program.init,
        "send": program.send,
        "wants": program.wants,
    }
    names = {
        role: f"_{role}" if function.__name__ == "<lambda>" else function.__name__
        for role, function in functions.items()
        if function is not None
    }
    parts = shipped({name: functions[role] for role, name in names.items()})  # type: ignore[misc]
    return json.dumps(
        {
            "name": program.name,
            "parts": parts,
            "functions": names,
            "kinds": program.kinds,
            "adds": program.adds,
            "combine": program.combine,
            "message": program.message,
            "links": program.links,
            "eager": program.eager,
        }
    )


def unpacked(text: str) -> Program:
    """The program of some text."""
    told: dict[str, Any] = json.loads(text)
    space = made(told["parts"])
    names = told["functions"]
    return Program(
        space[names["function"]],
        told["kinds"],
        init=space[names["init"]],
        adds=told["adds"],
        send=space.get(names.get("send")),
        combine=told["combine"],
        message=told["message"],
        wants=space.get(names.get("wants")),
        links=told["links"],
        eager=told["eager"],
    )


class ProgramCompiler:
    """Compiles programs, and keeps them for as long as the process runs."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._programs: dict[str, Program] = {}

    def _program(self, source: str) -> Program:
        with self._lock:
            if source not in self._programs:
                self._programs[source] = unpacked(source)
            return self._programs[source]

    def functions(self, source: str) -> list[int]:
        """The addresses of the functions of a program."""
        return self._program(source).compiled.addresses

    def explained(self, source: str, failed: tuple[Any, ...]) -> str:
        """Explain a call of the program that has failed."""
        return str(self._program(source).explained(failed))
