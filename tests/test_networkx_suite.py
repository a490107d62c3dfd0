"""NetworkX's own tests of the functions that the backend has, run on stores.

``networkx_ran.txt`` names the tests that called the backend and passed. A function that begins to
refuse its arguments falls back to NetworkX and would pass unseen; its tests then lack here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

networkx = pytest.importorskip("networkx", minversion="3.5")
pytest.importorskip("scipy")

RAN = Path(__file__).with_name("networkx_ran.txt")
MODULES = [
    "assortativity",
    "centrality",
    "community.tests.test_label_propagation",
    "community.tests.test_louvain",
    "community.tests.test_quality",
    "components",
    "link_analysis",
    "shortest_paths",
    "tests.test_cluster",
    "tests.test_core",
    "tests.test_dag",
    "tests.test_distance_measures",
    "tests.test_dominating",
    "tests.test_efficiency",
    "tests.test_euler",
    "tests.test_isolate",
    "tests.test_link_prediction",
    "tests.test_reciprocity",
    "tests.test_richclub",
    "tests.test_triads",
    "tests.test_wiener",
    "traversal",
]
#: Thousands of searches, which take a minute; the same communities in two graphs with different weights,
#: which NetworkX itself finds for 25 of the seeds 0 to 39.
LEFT_OUT = "test_use_bounds_on_off_consistency or (test_louvain and test_multigraph)"


def test_what_ran_on_the_backend_still_does(tmp_path: Path) -> None:
    """`NAKSHI_UPDATE=1` writes the list anew."""
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "networkx_calls"]
    command += ["-p", "no:cacheprovider", "-k", f"not ({LEFT_OUT})", "--pyargs"]
    command += [f"networkx.algorithms.{module}" for module in MODULES]
    environment = {
        **os.environ,
        "NETWORKX_TEST_BACKEND": "nakshi",
        "NETWORKX_FALLBACK_TO_NX": "True",
        "NAKSHI_NETWORKX_REPORT": str(report),
        "PYTHONPATH": os.pathsep.join([str(RAN.parent), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert report.exists(), done.stdout + done.stderr
    found = json.loads(report.read_text())
    assert not found["failed"], done.stdout
    if os.environ.get("NAKSHI_UPDATE"):
        RAN.write_text("\n".join(found["ran"]) + "\n")
    lost = set(RAN.read_text().split("\n")) - set(found["ran"]) - {""}
    assert not lost, f"no longer run on the backend: {', '.join(sorted(lost))}"
