"""Many people at once, and a server that is killed: what was answered is there, once."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def bench() -> Any:
    spec = importlib.util.spec_from_file_location("studio_load", ROOT / "benchmarks" / "studio_load.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("through", ["sync", "desk"])
def test_many_people_write_at_once(bench: Any, tmp_path: Path, through: str) -> None:
    """Speed is measured by the benchmark, on a machine of its own; here nothing may fail or be lost."""
    found = bench.measure(tmp_path, clients=12, seconds=3, through=through, questions=40)
    assert (found["errors"], found["lost"], found["twice"]) == (0, 0, 0), found["first_errors"]
    assert found["writes"] > 20


def test_what_was_answered_outlives_the_servers_death(bench: Any, tmp_path: Path) -> None:
    found = bench.measure(tmp_path, clients=12, seconds=90, kill=1000, through="sync", questions=40)
    assert found["writes"] >= 1000
    assert (found["lost"], found["twice"]) == (0, 0)
