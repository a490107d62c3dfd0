"""Neo4j's drivers for Python and JavaScript: the scenarios of ``tests/drivers``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "drivers"


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("drivers_run", FOLDER / "run.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


drivers = load()

IN_TESTS = [driver for driver in drivers.DRIVERS if driver.name in ("Python", "JavaScript")]


@pytest.mark.parametrize("driver", IN_TESTS, ids=lambda driver: driver.name)
def test_scenarios(driver: object, tmp_path: Path) -> None:
    outcome = drivers.run(driver, tmp_path)
    if outcome.absent:
        pytest.skip(outcome.absent)
    assert len(outcome.faults) == len(drivers.scenarios()) > 60
    assert not {name: fault for name, fault in outcome.faults.items() if fault}
