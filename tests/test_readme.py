"""The README's Python and command-line tours run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def blocks(language: str) -> str:
    """All fenced blocks of a language, in order, as one program."""
    found = re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)
    assert found, f"the README has no {language} block"
    return "\n".join(found)


def test_python_tour(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", blocks("python")], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    # What the tour's comments promise.
    assert done.stdout.startswith("4 4\n"), done.stdout


def test_command_line_tour(tmp_path: Path) -> None:
    # The console script lies beside the interpreter, whether or not the venv is activated.
    beside = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": beside + os.pathsep + os.environ["PATH"]}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", blocks("bash")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "ranks.tsv").read_text().splitlines()) > 1000
