"""The example package adds suites, a backend, a metric and a language from outside, as pip would install it."""

import ast
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kapwa-examples"


COMMANDS: dict[str, list[str]] = {
    "proverbs": ["run", "proverbs/complete", "--model", "parrot:It is bread."],
    "street": ["run", "street/saq", "--model", "parrot:a bus", "--variant", "en/inst-4"],
    "kalahi": ["run", "kalahi/mc", "--model", "parrot:x", "--data", "sample:filipino", "--limit", "4"],
    "letters": [
        *("run", "kalahi/open", "--model", "parrot:Pasalamatan siya", "--data", "sample:filipino"),
        *("--metrics", "letters,chrfpp", "--limit", "2"),
    ],
    "suites": ["suites", "--json"],
    "languages": ["languages"],
    "models": ["models"],
}
# All commands in one process: what is tested is that it finds the package.
SCRIPT = """
import contextlib, io, json, sys
from pathlib import Path
from kapwa.cli.main import app
for name, words in json.loads(sys.argv[1]).items():
    out = ["--out", name] if words[0] == "run" else []
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        app([*words, *out], standalone_mode=False)
    Path(f"{name}.txt").write_text(printed.getvalue(), encoding="utf-8")
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a process made all that, which has the package: what pip leaves of it, without pip."""
    folder = tmp_path_factory.mktemp("site")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    record = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in points.items())]
    (record / "entry_points.txt").write_text("\n".join(lines) + "\n")
    path = os.pathsep.join((str(folder), str(EXAMPLE / "src"), *filter(None, [os.environ.get("PYTHONPATH")])))
    out = tmp_path_factory.mktemp("out")
    command = [sys.executable, "-c", SCRIPT, json.dumps(COMMANDS)]
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "120"}
    done = subprocess.run(command, env=environment, cwd=out, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return out


def run(made: Path, name: str) -> Path:
    (folder,) = (made / name).iterdir()
    return folder


def test_a_suite_by_code_runs_with_a_backend_from_outside(made: Path) -> None:
    folder = run(made, "proverbs")
    estimates = pl.read_parquet(folder / "estimates.parquet").filter(pl.col("group") == "all")
    assert estimates.select("metric", "value", "n").rows() == [("ends_right", pytest.approx(1 / 3), 3)]
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "sayings" in page
    assert "always the same word" in page


def test_a_suite_that_is_a_folder_of_data_runs(made: Path) -> None:
    folder = run(made, "street")
    assert pl.read_parquet(folder / "scores.parquet").get_column("item_id").n_unique() == 2


def test_a_backend_from_outside_scores(made: Path) -> None:
    folder = run(made, "kalahi")
    floors = pl.read_parquet(folder / "floors.parquet").filter(metric="mc1_sum", name="shortest")
    value = pl.read_parquet(folder / "estimates.parquet").filter(metric="mc1_sum", group="all")
    assert value.item(0, "value") == floors.item(0, "value")  # it likes the shortest best, as this floor does


def test_a_metric_from_outside_works_for_open_tasks(made: Path) -> None:
    folder = run(made, "letters")
    scores = pl.read_parquet(folder / "scores.parquet").filter(metric="letters_relevant")
    assert 0 < scores.get_column("value").min() < 1


def test_lists_name_what_was_added(made: Path) -> None:
    suites = {suite["name"]: suite for suite in json.loads((made / "suites.txt").read_text(encoding="utf-8"))}
    assert list(suites["street"]["tasks"]) == ["street/saq"]
    assert list(suites["proverbs"]["tasks"]) == ["proverbs/complete"]
    assert "Tok Pisin" in (made / "languages.txt").read_text(encoding="utf-8")
    assert "parrot" in (made / "models.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("file", sorted(EXAMPLE.parent.rglob("*.py")), ids=lambda file: file.name)
def test_examples_import_what_the_reference_names(file: Path) -> None:
    page = (EXAMPLE.parents[1] / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    named = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kapwa.")
        for alias in node.names
    }
    # The fields and results of a class on the page stand in its module.
    told = ("kapwa.records", "kapwa.suites.base", "kapwa.models.base", "kapwa.suites.items", "kapwa.languages.reading")
    assert all(name in page or (name.rpartition(".")[0] in told and name.rpartition(".")[0] in page) for name in named)
