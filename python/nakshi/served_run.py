"""A run that a client has asked a server for, in a process of its own.

The server starts ``python -m nakshi.served_run`` and writes the order to its standard input, as one line of JSON.
What comes back on standard output is described in ``crates/nakshi-server/src/runs.rs``.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
from typing import Any

from . import _core, errors
from .cluster import run
from .declared import DECLARATIONS
from .graph import Graph
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


def _kind(error: Exception) -> str:
    """The kind of an error; a client repeats a run that has lost a server."""
    if isinstance(error, errors.ClusterError) and error.lost is not None:
        return "unavailable"
    for known, kind in _KINDS.items():
        if isinstance(error, known):
            return kind
    return "storage" if isinstance(error, errors.NakshiError) else "parameter"


def _tell(line: dict[str, Any]) -> None:
    # In one call: lines of two threads do not mix.
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


class _NoWorkers(Exception):
    """The servers could not begin the workers; it has the kind and the message of the error."""


#: A result, its summary and its statistics.
_Ran = tuple[Result, dict[str, Any], dict[str, Any]]


def _run_here(order: dict[str, Any], parameters: dict[str, Any], reporter: _Reporter) -> _Ran:
    """Run on this machine."""
    end_with_input()
    result = run(
        order["store"],
        order["algorithm"],
        local=order["workers"] or _cores(),
        memory=order["memory"] or None,
        progress=reporter.sink,
        **parameters,
    )
    return result, result.summary, result.stats


def _run_on_shares(order: dict[str, Any], parameters: dict[str, Any], reporter: _Reporter) -> _Ran:
    """Run on the servers of all shares, which begin the workers."""
    missing = parameters.pop("missing_weight", None)
    graph, algorithm = Graph(order["store"]), order["algorithm"]
    given, weight, weighs = graph._arguments(algorithm, parameters, missing)
    token = secrets.token_hex(32)
    wanted = {"weight": weight, "weighs": weighs, "missing": missing, "token": token}
    declared = DECLARATIONS.get(algorithm)
    vertices = [one.name for one in declared.parameters if one.kind == "vertex"] if declared else []
    wanted["nodes"] = [given[name] for name in vertices if name in given]
    _tell({"workers": wanted})
    found = json.loads(sys.stdin.readline() or "null")
    end_with_input()
    if found is None or "failed" in found:
        raise _NoWorkers(*(found or {"failed": ["unavailable", "the server has ended"]})["failed"])
    if found["weight"] is not None:
        given["weight"] = found["weight"]
    core = _core.run_on_servers(
        None,
        algorithm,
        json.dumps(given),
        found["workers"],
        token=token.encode(),
        memory=order["memory"] or None,
        threads=_cores(),
        restarts=0,
        progress=reporter.sink,
    )
    result = Result(core)
    summary, stats = result.summary, result.stats
    if found["unused"] and summary.get("lengths") == "unit":
        summary = summary | {"unused_weights": found["unused"]}
    topology = {"at": "last_commit", "commit": found["commit"], "stale": False, "seconds": 0.0}
    topology |= {"weight": found["weight"], "missing_weights": found["unweighted"]}
    return result, summary, stats | {"topology": topology}


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def main() -> None:
    order = json.loads(sys.stdin.readline())
    runs = _run_on_shares if order["shares"] else _run_here
    try:
        with _Reporter() as reporter:
            result, summary, stats = runs(order, json.loads(order["parameters"]), reporter)
    except _NoWorkers as error:
        _tell({"failed": list(error.args)})
        return
    except (errors.NakshiError, TypeError, ValueError) as error:
        _tell({"failed": [_kind(error), str(error)]})
        return
    vertices = [vertex for _, vertex, _ in result._core.columns()]
    _tell({"outcome": {"summary": summary, "stats": stats, "vertices": vertices}})
    if result.columns:
        result.write("-", format="arrow")


if __name__ == "__main__":
    main()
