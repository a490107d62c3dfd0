"""A run that a client has asked a server for, in a process of its own.

The server starts ``python -m nakshi.served_run`` and writes the order to its standard input, as one line of JSON.
What comes back on standard output is described in ``crates/nakshi-server/src/runs.rs``.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from . import errors
from .cluster import run
from .processes import end_with_input
from .result import Result

#: Seconds between two lines while the run goes on.
_WORD = 0.4
#: Kinds of the exceptions, as the interface of servers names them.
_KINDS: dict[type[errors.NakshiError], str] = {
    errors.UnknownVertexError: "unknown_node",
    errors.ParameterError: "parameter",
    errors.BudgetError: "budget",
    errors.CorruptError: "corrupt",
    errors.UnsupportedError: "unsupported",
    errors.DeadlineError: "deadline",
}


def _tell(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class _Reporter:
    """Tells how far the run is, at least so often that the server knows whether its client still listens."""

    def __init__(self) -> None:
        self._last: list[Any] = ["topology", 0, None, ""]
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._report, daemon=True)

    def _report(self) -> None:
        while not self._over.wait(_WORD):
            _tell({"progress": self._last})

    def sink(self, *position: Any) -> None:
        """Take note of a position, as the sinks of :mod:`nakshi.progress` do."""
        self._last = list(position)

    def __enter__(self) -> _Reporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def _ran(order: dict[str, Any]) -> Result:
    parameters = json.loads(order["parameters"])
    with _Reporter() as reporter:
        return run(
            order["store"],
            order["algorithm"],
            local=order["workers"] or len(os.sched_getaffinity(0)),
            memory=order["memory"] or None,
            progress=reporter.sink,
            **parameters,
        )


def main() -> None:
    order = json.loads(sys.stdin.readline())
    end_with_input()
    try:
        result = _ran(order)
    except (errors.NakshiError, TypeError, ValueError) as error:
        kinds = [kind for known, kind in _KINDS.items() if isinstance(error, known)]
        wrong = "storage" if isinstance(error, errors.NakshiError) else "parameter"
        _tell({"failed": [kinds[0] if kinds else wrong, str(error)]})
        return
    vertices = [vertex for _, vertex, _ in result._core.columns()]
    _tell({"outcome": {"summary": result.summary, "stats": result.stats, "vertices": vertices}})
    if result.columns:
        result.write("-", format="arrow")


if __name__ == "__main__":
    main()
