"""Runs the examples of the README and of the guide unchanged, each page by itself."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import nakshi
import pytest
from nakshi.cli import nakshi as command_line
from nakshi.property import Batch, Queries, Search, Snapshot, Tao
from nakshi.schema import Schema

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
GUIDE = sorted((ROOT / "docs" / "guide").glob("*.md"))


def blocks(page: Path, language: str) -> str:
    """All fenced blocks of a language, in order, as one program; empty without any."""
    found = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return "\n".join(found)


def run(page: Path, folder: Path) -> str:
    """Runs the page's Python and then its commands in one folder; returns what Python printed."""
    # The console script lies beside the interpreter, whether or not the venv is activated.
    beside = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": beside + os.pathsep + os.environ["PATH"]}
    printed = []
    # A file, because programs of users are sent to servers by their source.
    (folder / "page.py").write_text(blocks(page, "python"))
    for program in (
        [sys.executable, "page.py"],
        ["bash", "-euo", "pipefail", "-c", blocks(page, "bash")],
    ):
        done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{page.name}: {done.stderr}"
        printed.append(done.stdout)
    return printed[0]


def test_readme(tmp_path: Path) -> None:
    for language in ("python", "bash"):
        assert blocks(README, language), f"the README has no {language} block"
    # The output that the tour's comments promise.
    assert run(README, tmp_path).startswith("4 4\n")
    assert len((tmp_path / "ranks.tsv").read_text().splitlines()) > 1000


def test_the_guide_has_examples() -> None:
    with_examples = {p.stem for p in GUIDE if blocks(p, "python") or blocks(p, "bash")}
    assert with_examples >= {"import", "algorithms", "layouts", "properties", "changes", "cluster"}


def examples() -> Iterator[str]:
    """Names that the examples in Python call, or read as attributes."""
    for page in [README, *GUIDE]:
        for node in ast.walk(ast.parse(blocks(page, "python"))):
            if isinstance(node, ast.Attribute):
                yield node.attr
            elif isinstance(node, ast.Name):
                yield node.id


def public_calls() -> Iterator[tuple[str, str]]:
    """Owner and name of every public function, method and property."""
    for module in (nakshi, nakshi.cluster, nakshi.plot):
        for name in module.__all__:
            one = getattr(module, name)
            if callable(one) and not inspect.isclass(one):
                yield module.__name__, name
    classes = (nakshi.Graph, nakshi.Result, Snapshot, Queries, Batch, Tao, Search, Schema)
    for owner in classes:
        for name, member in inspect.getmembers(owner):
            # Measurements of nakshi itself.
            if name.startswith(("_", "bench")):
                continue
            if callable(member) or isinstance(member, property):
                yield owner.__name__, name


def test_every_public_call_has_an_example() -> None:
    """Seen red with 84 of 133 calls without one."""
    shown = set(examples())
    missing = {f"{owner}.{name}" for owner, name in public_calls() if name not in shown}
    assert not missing, f"docs/guide/calls.md lacks an example of {', '.join(sorted(missing))}"


def test_every_command_has_an_example() -> None:
    shown = "\n".join(blocks(page, "bash") + blocks(page, "console") for page in [README, *GUIDE])
    commands = set(command_line.list_commands(click.Context(command_line))) - {"bench"}
    missing = [name for name in sorted(commands) if f"nakshi {name} " not in shown]
    assert not missing, f"the guide lacks an example of {', '.join(missing)}"


# Output that the comments of a page promise, at its beginning.
PROMISED = {
    "from-networkx": "<nakshi.Graph ",
    "import": "3\n",
    "looking-up": "['bob', 'cid']\nTrue False 4\n3 True\nann ['bob', 'cid']\ndan ['cid']\n",
    "properties": "{'city': 'Ithaca', 'age': 31}\n['ann', 'cid']\n['bob']\n",
    "changes": "1 0\n",
}


@pytest.mark.parametrize("page", GUIDE, ids=[page.stem for page in GUIDE])
def test_guide(page: Path, tmp_path: Path) -> None:
    assert run(page, tmp_path).startswith(PROMISED.get(page.stem, ""))
