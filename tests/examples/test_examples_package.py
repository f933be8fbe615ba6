"""The example package adds suites, a backend, a metric and a language from outside, as pip would install it."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kapwa-examples"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has the package: what pip leaves of it, without pip."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    record = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (record / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(EXAMPLE / "src")))}


def kapwa(environment: dict[str, str], *arguments: str) -> str:
    command = [str(Path(sys.executable).with_name("kapwa")), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(environment: dict[str, str], out: Path, *arguments: str) -> Path:
    kapwa(environment, "run", *arguments, "--out", str(out))
    (folder,) = out.iterdir()
    return folder


def test_a_suite_by_code_runs_with_a_backend_from_outside(environment: dict[str, str], tmp_path: Path) -> None:
    folder = run(environment, tmp_path, "proverbs/complete", "--model", "parrot:It is bread.")
    estimates = pl.read_parquet(folder / "estimates.parquet").filter(pl.col("group") == "all")
    assert estimates.select("metric", "value", "n").rows() == [("ends_right", pytest.approx(1 / 3), 3)]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "sayings" in page
    assert "always the same word" in page


def test_a_suite_that_is_a_folder_of_data_runs(environment: dict[str, str], tmp_path: Path) -> None:
    folder = run(environment, tmp_path, "street/saq", "--model", "parrot:a bus", "--variant", "en/inst-4")
    assert pl.read_parquet(folder / "scores.parquet").get_column("item_id").n_unique() == 2


def test_a_backend_from_outside_scores(environment: dict[str, str], tmp_path: Path) -> None:
    folder = run(environment, tmp_path, "kalahi/mc", "--model", "parrot:x", "--data", "sample:filipino", "--limit", "4")
    floors = pl.read_parquet(folder / "floors.parquet").filter(metric="mc1_sum", name="shortest")
    value = pl.read_parquet(folder / "estimates.parquet").filter(metric="mc1_sum", group="all")
    assert value.item(0, "value") == floors.item(0, "value")  # it likes the shortest best, as this floor does


def test_a_metric_from_outside_works_for_open_tasks(environment: dict[str, str], tmp_path: Path) -> None:
    arguments = ("--model", "parrot:Pasalamatan siya", "--metrics", "letters,chrfpp", "--limit", "2")
    folder = run(environment, tmp_path, "kalahi/open", "--data", "sample:filipino", *arguments)
    scores = pl.read_parquet(folder / "scores.parquet").filter(metric="letters_relevant")
    assert 0 < scores.get_column("value").min() < 1


def test_lists_name_what_was_added(environment: dict[str, str]) -> None:
    suites = {suite["name"]: suite for suite in json.loads(kapwa(environment, "suites", "--json"))}
    assert list(suites["street"]["tasks"]) == ["street/saq"]
    assert list(suites["proverbs"]["tasks"]) == ["proverbs/complete"]
    assert "Tok Pisin" in kapwa(environment, "languages")
    assert "parrot" in kapwa(environment, "models")
