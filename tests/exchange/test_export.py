"""Exports: what is in the files, that they fit their schemas, what is refused, and that no key leaves."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from polars.testing import assert_frame_equal

import kapwa
from kapwa.errors import DataError, RunError, UsageError
from kapwa.exchange import every_eval_ever, formats
from kapwa.exchange.base import higher_is_better
from kapwa.exchange.formats import FORMATS
from kapwa.runs.finished_run import Run
from kapwa.suites.base import MetricInfo
from kapwa.tables import csv_text, read_table

TOLD = {"organization": "Test University"}
NEEDED = {"eee": TOLD, "hf-eval-results": {"dataset": "owner/bench"}}
SCHEMAS = Path(__file__).parent / "schemas"
# Of the wheel every_eval_ever-0.3.0: a vendored file that was touched is no longer the schema.
VENDORED = {
    "eval.schema.json": "c9c6195aec8a9dfa0b2aba4924ac1aa8a184c9d8ca97cee778cb531088e39b48",
    "instance_level_eval.schema.json": "b16b7fa7f0aa32763444179d94ffb2336ddb12c3fd2903835fe491666c1ff3e6",
}


def test_vendored_schemas_are_untouched_and_noticed() -> None:
    for name, expected in VENDORED.items():
        assert hashlib.sha256((SCHEMAS / name).read_bytes()).hexdigest() == expected
        assert name in (SCHEMAS / "NOTICE").read_text()
    assert "Copyright (c) 2026 EvalEval" in (SCHEMAS / "LICENSE.every-eval-ever").read_text()


def test_eee_fits_its_schemas_and_tells_the_scores(run: Run, tmp_path: Path) -> None:
    paths = kapwa.export_run(run, tmp_path, "eee", **TOLD)
    whole = json.loads(paths[-1].read_text(encoding="utf-8"))
    assert misfits("eval", whole) == []
    rows = {every_eval_ever._result_id(row): row for row in run.estimates.filter(pl.col("group") == "all").to_dicts()}
    assert whole["evaluation_results"]
    for found in whole["evaluation_results"]:
        row = rows[found["evaluation_result_id"]]
        assert found["score_details"]["score"] == row["value"]
        assert found["score_details"]["uncertainty"]["num_samples"] == row["n"]
    assert whole["source_metadata"]["source_organization_name"] == "Test University"

    detail = whole["detailed_evaluation_results"]
    samples = tmp_path / detail["file_path"]
    assert hashlib.sha256(samples.read_bytes()).hexdigest() == detail["checksum"]
    lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == detail["total_rows"]
    assert misfits("instance_level_eval", *lines) == []
    metric = run.manifest["headline"][0]
    right = [one["evaluation"]["is_correct"] for one in lines if one["evaluation_result_id"].endswith(f"/{metric}")]
    judged = run.scores.filter(pl.col("metric") == metric, pl.col("outcome").is_in(["right", "wrong"]))
    assert (sum(right), len(right)) == (judged["value"].sum(), judged.height)


def test_references_in_eee_are_in_the_language_that_is_asked(tmp_path: Path) -> None:
    task = kapwa.load_task("blend/saq", where={"culture": "South_Korea"}, limit=1)
    rows = [{"item_id": item.id, "variant": item.variant, "text": "zzz"} for item in task.items()]
    pl.DataFrame(rows).write_csv(tmp_path / "replies.csv")
    run = kapwa.evaluate(task, kapwa.load_model(f"replay:{tmp_path / 'replies.csv'}"), out=tmp_path, progress=False)
    samples, _ = kapwa.export_run(run, tmp_path / "eee", "eee", **TOLD)
    items = {f"{row['item_id']}/{row['variant']}/0": row for row in run.items.to_dicts()}
    for sample in map(json.loads, samples.read_text(encoding="utf-8").splitlines()):
        item = items[sample["sample_id"]]
        assert sample["input"]["reference"] == [item["answers_en" if item["language"] == "en" else "answers"]]


def misfits(schema: str, *values: Any) -> list[Any]:
    validator = jsonschema.Draft7Validator(json.loads((SCHEMAS / f"{schema}.schema.json").read_text()))
    return [error for value in values for error in validator.iter_errors(value)]


def test_which_scores_have_a_direction(scored: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert higher_is_better(scored, "mc1") is True
    directions = {"words": False, "mine": None}
    infos = {name: MetricInfo(name, name, higher_is_better=better) for name, better in directions.items()}
    monkeypatch.setattr(scored, "metrics", infos)
    assert [higher_is_better(scored, name) for name in ("words", "mine", "none")] == [False, None, None]
    # What has no direction stays out; a run that has nothing else is refused.
    with pytest.raises(UsageError, match="csv or parquet"):
        kapwa.export_run(scored, tmp_path, "eee", **TOLD)


def test_hub_entries_are_read_by_huggingface_hub(written: Run, tmp_path: Path) -> None:
    paths = kapwa.export_run(written, tmp_path, "hf-eval-results", **NEEDED["hf-eval-results"])
    assert {path.parent for path in paths} == {tmp_path / ".eval_results"}
    entries = [parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))[0] for path in paths]
    metric = written.manifest["headline"][0]
    rows = written.estimates.filter(pl.col("group") == "all", pl.col("metric") == metric)
    assert sorted(entry.value for entry in entries) == sorted(rows["value"].to_list())
    assert {(entry.dataset_id, entry.task_id) for entry in entries} == {("owner/bench", "default")}


def test_csv_is_safe_in_a_spreadsheet_tells_its_encoding_and_reads_back(written: Run, tmp_path: Path) -> None:
    exported = kapwa.export_run(written, tmp_path / "exported", "csv")
    reported = kapwa.export_csv(written, tmp_path / "reported")
    assert {path.stem for path in exported} == set(written.tables)
    for path in exported:
        assert path.read_bytes().startswith(b"\xef\xbb\xbf")
        assert (reported / path.name).read_bytes() == path.read_bytes()
        # A mark that is read as text would stick to the first column's name.
        assert pl.read_csv(path, infer_schema=False).columns == written.table(path.stem).columns
    answers = tmp_path / "exported" / "answers.csv"
    assert "'=HYPERLINK(1)" in pl.read_csv(answers, infer_schema=False)["text"]
    rows = read_table(answers, required=["item_id", "variant", "text"])
    assert [row.cells["item_id"] for row in rows] == written.answers["item_id"].to_list()
    assert any("맛있다" in row.cells["text"] for row in rows)


def test_parquet_is_the_tables_themselves(run: Run, tmp_path: Path) -> None:
    kapwa.export_run(run, tmp_path, "parquet")
    for name in run.tables:
        assert_frame_equal(pl.read_parquet(tmp_path / f"{name}.parquet"), run.table(name))


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_existing_files_stay_unless_told(scored: Run, tmp_path: Path, form: str) -> None:
    paths = kapwa.export_run(scored, tmp_path, form, **NEEDED.get(form, {}))
    paths[-1].write_text("mine")
    paths[0].unlink()
    if len(paths) > 1:
        with pytest.raises(UsageError, match="'overwrite'"):
            kapwa.export_run(scored, tmp_path, form, **NEEDED.get(form, {}))
        assert not paths[0].exists()
        assert paths[-1].read_text() == "mine"
    again = kapwa.export_run(scored, tmp_path, form, overwrite=True, **NEEDED.get(form, {}))
    assert again == paths
    assert paths[-1].read_bytes() != b"mine"


@pytest.mark.parametrize(
    ("form", "told", "says"),
    [
        ("csv", {"organization": "x"}, r"csv does not use 'organization'(.|\n)*format='eee'"),
        ("lm-eval", {"relationship": "first_party"}, r"lm-eval does not use 'relationship'(.|\n)*format='eee'"),
        ("eee", {"dataset": "a/b"}, r"eee does not use 'dataset'(.|\n)*format='hf-eval-results'"),
        ("inspect", {"task_id": "x"}, r"inspect does not use 'task_id'(.|\n)*format='hf-eval-results'"),
        ("lmeval", {}, "Did you mean 'lm-eval'"),
        ("eee", {}, "'organization'"),
        ("eee", {"organization": "x", "relationship": "thirdparty"}, "Did you mean 'third_party'"),
        ("hf-eval-results", {}, r"none is named(.|\n)*dataset='owner/name'"),
        ("hf-eval-results", {"dataset": "../x"}, "is not owner/name"),
        ("csv", {"organisation": "x"}, "organization"),
    ],
)
def test_options_of_another_form_and_those_that_are_missing_are_refused(
    scored: Run, tmp_path: Path, form: str, told: dict[str, str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        kapwa.export_run(scored, tmp_path / "out", form, **told)
    assert not (tmp_path / "out").exists()


def test_an_unfinished_run_is_refused(scored: Run, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({**scored.manifest, "status": "running"}), encoding="utf-8")
    with pytest.raises(RunError, match="unfinished"):
        kapwa.export_run(folder, tmp_path / "out", "csv")
    assert not (tmp_path / "out").exists()


def test_an_export_that_fails_midway_leaves_no_file(
    scored: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []

    def full(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
        written.append(csv_text(header, rows))
        if len(written) > 3:
            raise OSError(28, "No space left on device")
        return written[-1]

    monkeypatch.setattr(formats, "csv_text", full)
    with pytest.raises(OSError, match="No space"):
        kapwa.export_run(scored, tmp_path / "out", "csv")
    assert len(written) == 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("times", "lm_eval", "inspect"),
    [
        ({"finished": "2026-11-20T10:52:13+00:00"}, "2026-11-20T10-52-13", "2026-11-20T10-52-13+00-00"),
        ({"started": "2026-11-20T10:52:13.25-05:00"}, "2026-11-20T15-52-13.250000", "2026-11-20T10-52-13.250000-05-00"),
        ({"finished": "yesterday", "started": "5"}, "undated", "1970-01-01T00-00-00+00-00"),
        ({"started": "../../elsewhere/2026"}, "undated", "1970-01-01T00-00-00+00-00"),
    ],
)
def test_files_are_named_after_a_moment(
    written: Run, tmp_path: Path, times: dict[str, Any], lm_eval: str, inspect: str
) -> None:
    folder = shutil.copytree(written.path, tmp_path / "run")
    manifest = json.loads((folder / "run.json").read_text("utf-8"))
    manifest |= {"started": None, "finished": None, **times}
    (folder / "run.json").write_text(json.dumps(manifest), "utf-8")
    (log,) = kapwa.export_run(folder, tmp_path / "out", "inspect")
    assert log.name.startswith(f"{inspect}_kalahi-open_")
    results, *_ = kapwa.export_run(folder, tmp_path / "out", "lm-eval")
    assert results.name == f"results_{lm_eval}.json"
    assert {path.parent for path in tmp_path.rglob("*.*") if path.suffix in (".eval", ".jsonl")} == {tmp_path / "out"}


@pytest.mark.parametrize("form", ["lm-eval", "inspect"])
def test_an_export_is_not_taken_for_the_other_tools_own_results(scored: Run, tmp_path: Path, form: str) -> None:
    kapwa.export_run(scored, tmp_path / "out", form)
    with pytest.raises(DataError, match=r"is an export of a Kapwa run(.|\n)*Use the run's own folder"):
        kapwa.import_result(tmp_path / "out", form, out=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_an_answer_that_is_missing_is_an_empty_text_in_lm_evals_form(written: Run, tmp_path: Path) -> None:
    assert written.answers["text"].null_count() == 1
    paths = kapwa.export_run(written, tmp_path, "lm-eval")[1:]
    records = [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]
    assert sum(texts == [""] for one in records for texts in one["resps"]) == 1


def test_exports_of_prompts_say_that_what_stood_before_the_questions_is_not_in_them(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The examples of --shots are in no table of a run: a reader of exported prompts must know that they were there."""
    copy = tmp_path / "run"
    shutil.copytree(run.path, copy)
    manifest = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    manifest["options"] |= {"shots": 2, "shots_seed": 0, "system": "Be brief."}
    (copy / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    said = "Prompts are exported without what came before every question: "
    said += "the system message and the answered examples (2)."
    for form, told in (("eee", [said]), ("lm-eval", [said]), ("csv", [])):
        caplog.clear()
        paths = kapwa.export_run(copy, tmp_path / form, form, **NEEDED.get(form, {}))
        assert caplog.messages == told
        if form == "lm-eval":
            results = json.loads(next(path for path in paths if path.name.startswith("results")).read_text("utf-8"))
            assert set(results["n-shot"].values()) == {2}
