import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest
from tiny_suite import TinyModel, TinyTask, run_task
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.errors import RunError, UsageError
from kapwa.records import SCORE_COLUMNS
from kapwa.runs.cache import open_cache
from kapwa.runs.finished_answers import RunAnswers
from kapwa.runs.finished_run import Run
from kapwa.runs.manifest import describe
from kapwa.runs.result_tables import estimate_tables
from kapwa.runs.runner import check_folders
from kapwa.runs.schema import CEILING_SCHEMA, TABLES
from kapwa.suites.base import Judged, MetricInfo
from kapwa.suites.items import score_frame, score_row
from kapwa.tables import csv_text


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    return run_task(TinyTask(n=6, variants=("full", "partial")), TinyModel(), out=out, progress=False)


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """A copy of a finished run, to be damaged."""
    copy = tmp_path / finished.name
    copy.mkdir()
    for file in finished.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def edit(folder: Path, text: str | None = None, **changes: Any) -> None:
    """Change fields of a manifest, or write ``text`` in its place."""
    manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_text(json.dumps({**manifest, **changes}) if text is None else text, encoding="utf-8")


def test_a_run_gives_its_tables(finished: Path) -> None:
    run = Run(str(finished))
    assert run.path == finished
    assert (run.label, run.complete, run.failed) == ("tiny", True, 0)
    assert tuple(run.tables) == ("scores", "estimates", "floors", "comparisons", "items", "answers")
    assert run.scores.height == 2 * 2 * 6
    assert run.answers.columns == ["item_id", "variant", "kind", "text"]
    assert run.items["item_id"].to_list()[:2] == ["000", "001"]
    assert run.floors.columns[:6] == ["metric", "variant", "name", "value", "kind", "note"]
    tests = [
        "low",
        "high",
        "difference",
        "p_value",
        "relative",
        "relative_low",
        "relative_high",
        "difference_low",
        "difference_high",
        *("p_worst", "worst_low", "worst_high"),
    ]
    assert run.floors.columns[6:] == tests
    assert run.comparisons.select("a", "b").unique().rows() == [("full", "partial")]
    assert run.table("scores") is run.scores
    assert "tiny/echo, complete" in repr(run)


def test_a_run_lies_in_a_folder_of_any_name(finished: Path, tmp_path: Path) -> None:
    """Polars would take brackets, stars and question marks for a pattern of names."""
    moved = shutil.copytree(finished, tmp_path / "models [v2]" / "what? *")
    assert Run(moved).estimates.equals(Run(finished).estimates)


def test_each_estimate_carries_the_signature_of_its_metric_and_variant(finished: Path) -> None:
    for row in Run(finished).estimates.iter_rows(named=True):
        assert f"|metric:{row['metric']}|" in row["signature"]
        assert f"|variant:{row['variant']}|n:6|asked:" in row["signature"]
    assert Run(finished).estimates["signature"].is_unique().all()


def test_estimates_are_json_too(finished: Path) -> None:
    rows = json.loads((finished / "estimates.json").read_text(encoding="utf-8"))
    frame = Run(finished).estimates
    assert [row["value"] for row in rows] == frame["value"].to_list()
    assert set(rows[0]) == set(frame.columns)


def test_a_run_as_plain_values_is_json(finished: Path) -> None:
    value = Run(finished).as_dict()
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    assert value["manifest"]["status"] == "complete"
    assert len(value["estimates"]) == Run(finished).estimates.height


def test_a_table_that_is_not_there(finished: Path) -> None:
    with pytest.raises(UsageError, match="has no table 'continuations'") as caught:
        _ = Run(finished).continuations
    assert "answers" in (caught.value.hint or "")


def test_reading_a_run_needs_no_torch(finished: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = None\n"
        "import kapwa; run = kapwa.open_run(sys.argv[1]); print(run.scores.height, run.estimates.height > 0)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(finished)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["24", "True"]


def emptied(folder: Path) -> Path:
    for file in folder.iterdir():
        file.unlink()
    return folder


DAMAGED = ("", "{", "[]", "{}", '{"format": "x", "status": "complete"}', "\x00")


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (lambda folder: folder / "nowhere", "is not a folder", ""),
        (lambda folder: folder / "run.json", "is not a folder", ""),
        (emptied, "is not a run", "kapwa run"),
        (lambda folder: folder.parent, "is not a run", "tiny-echo-tiny-"),
        (lambda folder: (folder / "run.json").unlink(), "is an unfinished run", "Run again with the same command"),
        (lambda folder: edit(folder, status="running"), "is unfinished", ""),
        (lambda folder: edit(folder, status="something new"), "is unfinished", ""),
        (lambda folder: edit(folder, format=2), "run format 2; this Kapwa reads up to 1", "pip install -U kapwa"),
        *((lambda folder, text=text: edit(folder, text), r"run\.json is damaged", "Run again") for text in DAMAGED),
    ],
)
def test_what_is_no_finished_run_is_refused_with_a_remedy(folder: Path, change: Any, message: str, hint: str) -> None:
    other = change(folder)
    with pytest.raises(RunError, match=message) as caught:
        Run(other or folder)
    assert hint in (caught.value.hint or "")


def test_a_table_that_is_missing_or_damaged(folder: Path) -> None:
    (folder / "scores.parquet").unlink()
    (folder / "items.parquet").write_bytes(b"PAR1 and nothing else")
    run = Run(folder)
    with pytest.raises(RunError, match=r"scores\.parquet is missing"):
        _ = run.scores
    with pytest.raises(RunError, match=r"items\.parquet cannot be read"):
        _ = run.items
    assert run.floors.height == 2


def test_cases_that_lack_a_column_are_refused_where_they_are_read(folder: Path) -> None:
    edit(folder, tables=["scores", "estimates", "floors", "comparisons", "items", "answers", "cases"])
    pl.DataFrame({"item_id": ["000"], "prompt ": ["Ano?"]}).write_parquet(folder / "cases.parquet")
    with pytest.raises(RunError, match=r"cases\.parquet is another table: it has no column 'variant'"):
        Run(folder).table("cases")


def test_nested_cells_become_json_in_csv() -> None:
    frame = pl.DataFrame(
        {"a": [["x", "y"], None], "b": [{"c": 1}, {"c": None}], "d": ["=1+1", "-2"], "e": [-1.5, math.inf]}
    )
    assert csv_text(frame.columns, frame.iter_rows()).splitlines() == [
        "a,b,d,e",
        '"[""x"", ""y""]","{""c"": 1}",\'=1+1,-1.5',
        ',"{""c"": null}",\'-2,inf',
    ]


def test_answers_come_back_with_what_was_asked_and_those_of_another_task_are_refused(tmp_path: Path) -> None:
    task, model = TinyTask(n=12), TinyModel()
    run = Run(run_task(task, model, out=tmp_path, progress=False))
    found = list(RunAnswers(run, task))
    assert [answer.request.item_id for answer in found] == [item.id for item in task.items()]
    assert all(response.text == model.answer(request, [request]).text for request, response in found)
    with pytest.raises(RunError, match="other requests than its tables list"):
        RunAnswers(run, TinyTask(n=11))


NAMES = ("../evil", "..", "/etc/evil", "a/b", "a\\b", "", "a.b", 5, None, "x" * 200)


@pytest.mark.parametrize("tables", ["scores", *(["scores", name] for name in NAMES)])
def test_table_names_never_lead_out_of_the_folder(folder: Path, tables: Any) -> None:
    shutil.copy(folder / "items.parquet", folder.parent / "evil.parquet")
    edit(folder, tables=tables)
    with pytest.raises(RunError, match=r"'tables(\.1)?' is not what it should be"):
        Run(folder)


@pytest.mark.parametrize("option", ["--out", "--cache"])
@pytest.mark.parametrize("inside", ["", "deep/er"])
def test_a_wrong_place_is_refused_before_the_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, inside: str
) -> None:
    def load_model(*_: object, **__: object) -> None:
        raise AssertionError("the model was loaded")

    import_module("kapwa.api")  # else it would take the model's place for good, with its first import
    monkeypatch.setattr("kapwa.loading.load_model", load_model)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "thesis.txt").write_text("years of work")
    asked = ["run", "kalahi/mc", "--model", "smollm2", option, str(Path("thesis.txt") / inside)]
    done = CliRunner().invoke(app, asked)
    assert isinstance(done.exception, RunError)
    assert "thesis.txt" in str(done.exception)
    assert done.exception.hint
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_places_that_a_run_may_use_are_let_be(tmp_path: Path) -> None:
    check_folders(tmp_path / "new" / "runs", tmp_path / "new" / "cache")
    check_folders(Path("runs"), tmp_path)
    assert not list(tmp_path.iterdir())
    open_cache(tmp_path / "cache")[0].close()
    check_folders(tmp_path, tmp_path / "cache")


def test_folders_that_hold_something_else_or_a_damaged_cache_are_no_caches(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(RunError, match="is not a cache of answers"):
        check_folders(tmp_path / "runs", tmp_path)
    open_cache(tmp_path / "cache")[0].close()
    (tmp_path / "cache" / "answers.sqlite").write_bytes(b"x" * 9000)
    with pytest.raises(RunError, match="cache"):
        check_folders(tmp_path / "runs", tmp_path / "cache")


def test_folders_that_may_not_be_written_are_refused(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    open_cache(tmp_path / "cache")[0].close()
    (tmp_path / "old" / "a-run").mkdir(parents=True)
    (tmp_path / "old" / "a-run" / "run.json").write_text("{}")
    (tmp_path / "closed").mkdir()
    for place in ("cache", "old", "closed"):
        (tmp_path / place).chmod(0o555)
    request.getfixturevalue("nobody")
    for out, cache in (("closed", None), ("closed/new", None), ("old", "closed"), ("old", "closed/new")):
        with pytest.raises(RunError, match=r"cannot be written: .* is read-only"):
            check_folders(tmp_path / out, None if cache is None else tmp_path / cache)
    # A run may go on in its own folder, and a cache that is read-only is read.
    check_folders(tmp_path / "old", tmp_path / "cache")


class Ranged(TinyTask):
    metrics: ClassVar = {
        name: MetricInfo(name, name, low, high) for name, low, high in (("share", 0.0, 1.0), ("free", None, None))
    }


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        # A share has Wilson's interval, which is never outside; a measure without ends Student's.
        ((0.0, 0.0, 0.3), (0.01, -0.33), (0.66, 0.53)),
        ((1.0, 1.0, 0.7), (0.34, 0.47), (0.99, 1.33)),
        ((0.5, 0.5, 0.6), (0.42, 0.39), (0.65, 0.68)),
        # A value outside the range that it was said to have stays inside its interval, and has Student's.
        ((1.1, 1.2, 1.3), (0.95, 0.95), (1.2, 1.45)),
    ],
)
def test_intervals_are_cut_at_the_ends_of_the_range(values: Sequence[float], low: Any, high: Any) -> None:
    task = Ranged(n=3, shared=False)
    items = task.items()
    rows = [
        score_row(replace(item, cluster=item.id), metric, value, "scored")
        for item, value in zip(items, values, strict=True)
        for metric in task.metrics
    ]
    described = describe(task, TinyModel(), items, seed=0)
    judged = Judged(score_frame(rows))
    found = estimate_tables(described, judged, items, task.floors(items), task.item_table(items))["estimates"]
    whole = found.filter(pl.col("group") == "all")
    assert "range_low" not in found.columns
    assert whole["metric"].to_list() == list(task.metrics)
    assert whole["low"].to_list() == pytest.approx(low, abs=0.01)
    assert whole["high"].to_list() == pytest.approx(high, abs=0.01)


def test_what_a_manifest_leaves_out_of_a_metric_has_its_default(folder: Path) -> None:
    metrics = Run(folder).manifest["metrics"]
    edit(folder, metrics={name: {"name": name, "title": info["title"]} for name, info in metrics.items()})
    assert {info["binary"] for info in Run(folder).manifest["metrics"].values()} == {False}


def test_the_reference_of_the_run_folder_names_every_table_and_column_of_floors() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "run-folder.md").read_text(encoding="utf-8")
    for name in TABLES:
        assert f"| `{name}.parquet`" in page, name
    for column in (*SCORE_COLUMNS, *CEILING_SCHEMA):
        assert re.search(rf"\b{column}\b", page), column
