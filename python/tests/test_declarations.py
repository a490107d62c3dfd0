"""Every surface lists the same algorithms, parameters and defaults as the engine declares."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import nakshi
import pytest
from nakshi import _core, cluster
from nakshi.cli.algorithms import estimate, run
from nakshi.cli.clusters import run_ as on_servers
from nakshi.cli.similarities import commands as similarities
from nakshi.cli.walks import node2vec, random_walks

ROOT = Path(__file__).parents[2]
DECLARED: list[dict[str, Any]] = json.loads(_core.declarations())


def parameters(declared: dict[str, Any]) -> list[dict[str, Any]]:
    return [*declared["parameters"], *declared["outside"]]


#: Arguments of every run.
RUN = {
    name
    for name, one in inspect.signature(nakshi.Graph.run).parameters.items()
    if one.kind is inspect.Parameter.KEYWORD_ONLY
}

#: Subcommands of ``run`` that answer pairs of vertices or walk: look-ups, which no engine declares.
LOOK_UPS = {one.name for one in (*similarities(), random_walks, node2vec)}


def shown(value: Any) -> str:
    return f"{value:g}".replace("e-0", "e-") if isinstance(value, float) else str(value)


def differences(declarations: list[dict[str, Any]]) -> list[str]:
    """The differences between the engine's declarations and the surfaces of users."""
    found = []
    names = {declared["name"] for declared in declarations}
    for where, known in (
        ("algorithms()", set(nakshi.algorithms())),
        ("run", set(run.commands) - LOOK_UPS),
        ("estimate", set(estimate.commands) - {"import", "layout", "properties"}),
    ):
        if known != names:
            found.append(f"{where}: {known ^ names}")
    if set(cluster.ALGORITHMS) != {d["name"] for d in declarations if d["pulls"]}:
        found.append("cluster.ALGORITHMS")
    for declared in declarations:
        found += [f"{declared['name']}: {what}" for what in _differences(declared)]
    return found


def _differences(declared: dict[str, Any]) -> list[str]:
    found = []
    method = getattr(nakshi.Graph, declared["method"])
    given = inspect.signature(method).parameters
    doc = inspect.getdoc(method) or ""
    expected = {p["name"] for p in parameters(declared) if not p["command_line"]}
    if set(given) - {"self"} - RUN != expected:
        found.append(f"signature {set(given)}")
    options = {"--" + (p["flag"] or p["name"]).replace("_", "-") for p in parameters(declared)}
    for group in (run, estimate):
        command = group.commands.get(declared["name"])
        known = {name for one in command.params for name in one.opts} if command else set()
        if not options <= known:
            found.append(f"{group.name} lacks {options - known}")
    for one in parameters(declared):
        name, default = one["name"], one["default"]
        if name in expected and not re.search(rf"^    {name}: ", doc, re.M):
            found.append(f"docstring lacks {name}")
        if one["required"] != (
            given[name].default is inspect.Parameter.empty if name in given else False
        ):
            found.append(f"{name}: required")
        if one["kind"] == "flag" and name in given and given[name].default != default:
            found.append(f"{name}: default {given[name].default}")
        if one["kind"] == "number" and default is not None:
            texts = [doc]
            texts += [o.help or "" for o in run.commands[declared["name"]].params if _is(o, name)]
            texts += (
                [o.help or "" for o in on_servers.params if _is(o, name)] if one["pulls"] else []
            )
            found += [
                f"{name}: {shown(default)} in {text!r}"
                for text in texts
                if shown(default) not in text
            ]
        if one["pulls"] and not any(_is(o, name) for o in on_servers.params):
            found.append(f"cluster run lacks {name}")
    return found


def _is(option: click.Parameter, name: str) -> bool:
    return isinstance(option, click.Option) and option.name == name


def test_surfaces_agree() -> None:
    assert differences(DECLARED) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [(("name",), "other"), (("default",), 0.5), (("required",), True), (("pulls",), False)],
)
def test_a_planted_difference_is_found(path: tuple[str, ...], value: Any) -> None:
    """The comparison is no empty one: another name, default or requirement is told."""
    planted = json.loads(json.dumps(DECLARED))
    pagerank = next(declared for declared in planted if declared["name"] == "pagerank")
    if path == ("pulls",):
        pagerank["pulls"] = value
    else:
        pagerank["parameters"][0][path[0]] = value
    assert differences(planted) != []


def test_the_methods_are_those_generated() -> None:
    words = [sys.executable, "scripts/methods.py", "--check"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
