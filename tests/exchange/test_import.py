"""Imports: an export comes back as the same run; lm-eval's own files become runs that report and compare."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from kapwa import api
from kapwa.cli.main import app
from kapwa.errors import DataError, UsageError
from kapwa.exchange.formats import FORMATS
from kapwa.report.page import build_report
from kapwa.runs.directory import Run

RESULTS = "results_2026-11-20T10-52-13.457562.json"
MC = "samples_tiny_mc_2026-11-20T10-52-13.457562.jsonl"


def imported(path: Path, out: Path, **options: Any) -> dict[str, Run]:
    runs = [Run(folder) for folder in api.import_result(path, out=out, **options)]
    return {run.manifest["task"]: run for run in runs}


def test_lm_eval_results_become_runs(lm_eval_folder: Path, tmp_path: Path) -> None:
    runs = imported(lm_eval_folder, tmp_path)
    assert set(runs) == {"lm-eval/tiny_mc", "lm-eval/tiny_gen"}
    told = json.loads((lm_eval_folder / RESULTS).read_text())["results"]
    for name, metrics in (("tiny_mc", ["acc", "acc_norm"]), ("tiny_gen", ["exact_match"])):
        run = runs[f"lm-eval/{name}"]
        overall = run.estimates.filter(pl.col("group") == "all")
        assert overall["metric"].to_list() == metrics
        assert overall["value"].to_list() == [told[name][f"{metric},none"] for metric in metrics]
        assert overall["n"].to_list() == [4] * len(metrics)
        assert overall["language"].unique().to_list() == ["und"]
        assert overall["variant"].unique().to_list() == ["0-shot"]
        assert run.scores["category"].null_count() == run.scores.height
        assert run.manifest["model"]["revision"] is None
    assert runs["lm-eval/tiny_gen"].answers["text"].to_list() == ["lol"] * 4
    assert runs["lm-eval/tiny_mc"].continuations.height == 12
    assert runs["lm-eval/tiny_mc"].items["target"].to_list() == ["eight", "ice", "mango", "seven"]
    notes = " ".join(runs["lm-eval/tiny_gen"].manifest["notes"])
    # BLEU is of all answers together: averaging items would invent a number.
    assert "bleu is not taken over" in notes
    assert "does not tell the culture and language" in notes
    page = build_report(list(runs.values()), tmp_path / "report.html").read_text(encoding="utf-8")
    assert "lm-eval/tiny_mc" in page
    assert "does not tell the culture and language" in page


@pytest.mark.parametrize("language", ["xx-bad!", "", "Tagalog language", "f"])
def test_a_language_is_a_tag(lm_eval_folder: Path, tmp_path: Path, language: str) -> None:
    with pytest.raises(UsageError, match="is no language tag"):
        api.import_result(lm_eval_folder, out=tmp_path / "runs", language=language)
    with pytest.raises(UsageError, match="The culture cannot be"):
        api.import_result(lm_eval_folder, out=tmp_path / "runs", culture=" ")
    assert not (tmp_path / "runs").exists()


@pytest.fixture
def edited(lm_eval_folder: Path, tmp_path: Path) -> Callable[..., Path]:
    """A copy of lm-eval's files, its results or the lines of a samples file changed."""

    def edit(change: Callable[[Any], Any], file: str = MC) -> Path:
        folder = tmp_path / "lm"
        if not folder.exists():
            shutil.copytree(lm_eval_folder, folder)
        path = folder / file
        if file == RESULTS:
            value = json.loads(path.read_text())
            change(value)
            path.write_text(json.dumps(value))
        else:
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            path.write_text("".join(json.dumps(line) + "\n" for line in change(lines)))
        return folder

    return edit


def test_an_aggregate_that_is_no_mean_is_left_out(edited: Callable[..., Path], tmp_path: Path) -> None:
    def told(value: dict[str, Any]) -> None:
        value["results"]["tiny_mc"]["acc_norm,none"] = 0.9

    run = imported(edited(told, RESULTS), tmp_path / "runs")["lm-eval/tiny_mc"]
    assert run.estimates["metric"].unique().to_list() == ["acc"]
    assert any("aggregate 0.9 is not the mean of its items, 0.25" in note for note in run.manifest["notes"])


def test_imports_have_every_form(edited: Callable[..., Path], tmp_path: Path) -> None:
    def halves(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**line, "metrics": [*line["metrics"], "score"], "score": 0.5} for line in lines]

    def told(value: dict[str, Any]) -> None:
        value["results"]["tiny_mc"]["score,none"] = 0.5
        value["higher_is_better"]["tiny_mc"]["score"] = True

    edited(halves)
    run = imported(edited(told, RESULTS), tmp_path / "runs")["lm-eval/tiny_mc"]
    needed = {"eee": {"organization": "Test University"}, "hf-eval-results": {"dataset": "owner/bench"}}
    files = {form: api.export_run(run, tmp_path / form, form, **needed.get(form, {})) for form in FORMATS}
    # Nobody told the ends of a metric that lm-eval does not know: the schema's word for that is null.
    whole = json.loads(files["eee"][-1].read_text(encoding="utf-8"))
    ends = {
        result["metric_config"]["metric_name"]: [result["metric_config"][end] for end in ("min_score", "max_score")]
        for result in whole["evaluation_results"]
    }
    assert ends == {"acc": [0.0, 1.0], "acc_norm": [0.0, 1.0], "score": [None, None]}
    assert files["lm-eval"][0].name == "results_2026-11-20T10-52-10.json"


@pytest.mark.parametrize(
    ("change", "file", "says"),
    [
        (lambda lines: [], MC, "holds no samples"),
        (
            lambda lines: [{**lines[0], "resps": "x"}],
            MC,
            r"row 1, column 'resps': is missing or of another type than lm-eval writes",
        ),
        (
            lambda lines: [{**line, "resps": [[["no", "False"]]] * 3} for line in lines],
            MC,
            "is not as lm-eval writes it .ValueError",
        ),
        (
            lambda lines: [lines[0], {**lines[1], "arguments": {"gen_args_0": 1}}],
            MC,
            "row 2, column 'arguments.gen_args_0': is missing or of another type than lm-eval writes",
        ),
        (lambda lines: [{k: v for k, v in lines[0].items() if k != "doc"}], MC, "column 'doc': is missing"),
        (lambda lines: [7], MC, "row 1: is not a JSON object"),
        (lambda v: v["configs"]["tiny_mc"].update(output_type="loglikelihood"), RESULTS, "of the type loglikelihood"),
        (lambda v: v["results"].update({"../../etc": {}}), RESULTS, "there are no samples of the task"),
        (lambda v: v.update(results=[]), RESULTS, "not a results file of lm-eval"),
        (lambda v: v.update(results={}), RESULTS, "holds the results of no task: its 'results' are empty"),
        (lambda v: v.update(configs=[1]), RESULTS, "is not as lm-eval writes it"),
    ],
)
def test_damaged_files_say_where(
    edited: Callable[..., Path], tmp_path: Path, change: Callable[[Any], Any], file: str, says: str
) -> None:
    with pytest.raises(DataError, match=says) as raised:
        api.import_result(edited(change, file), out=tmp_path / "runs")
    assert raised.value.hint
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("file", "kept", "says"),
    [
        (RESULTS, -40, "is not valid JSON"),
        (MC, -40, "is not valid JSON"),
        (MC, None, r"there are no samples of the task tiny_mc(.|\n)*--log_samples"),
        (RESULTS, None, r"holds no lm-eval results file \(results_….json\)(.|\n)*Name that file"),
    ],
)
def test_files_that_are_cut_or_gone_have_a_remedy(
    lm_eval_folder: Path, tmp_path: Path, file: str, kept: int | None, says: str
) -> None:
    folder = shutil.copytree(lm_eval_folder, tmp_path / "lm")
    if kept is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes((folder / file).read_bytes()[:kept])
    with pytest.raises(DataError, match=says) as raised:
        api.import_result(folder, out=tmp_path / "runs")
    assert raised.value.hint
    with pytest.raises(UsageError, match="Did you mean 'lm-eval'"):
        api.import_result(folder, "lmeval", out=tmp_path / "runs")


def test_only_imports_are_overwritten(lm_eval_folder: Path, tmp_path: Path) -> None:
    folders = api.import_result(lm_eval_folder, out=tmp_path)
    with pytest.raises(UsageError, match="--overwrite"):
        api.import_result(lm_eval_folder, out=tmp_path)
    assert api.import_result(lm_eval_folder, out=tmp_path, overwrite=True) == folders
    (folders[0] / "run.json").write_text("{}")
    with pytest.raises(UsageError, match="is no import"):
        api.import_result(lm_eval_folder, out=tmp_path, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in folders)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_any_item_scores_give_their_mean(
    lm_eval_folder: Path, tmp_path_factory: pytest.TempPathFactory, values: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("lm") / "lm"
    shutil.copytree(lm_eval_folder, folder)
    lines = [json.loads(line) for line in (folder / MC).read_text().splitlines()]
    told = json.loads((folder / RESULTS).read_text())
    told["results"]["tiny_mc"]["acc,none"] = sum(values) / 4
    (folder / RESULTS).write_text(json.dumps(told))
    text = "".join(json.dumps({**line, "acc": v}) + "\n" for line, v in zip(lines, values, strict=True))
    (folder / MC).write_text(text)
    run = imported(folder, folder.parent / "runs")["lm-eval/tiny_mc"]
    acc = run.estimates.filter(pl.col("metric") == "acc", pl.col("group") == "all").row(0, named=True)
    assert acc["value"] == pytest.approx(sum(values) / 4, abs=1e-12)
    assert acc["scored"] + acc["right"] + acc["wrong"] == 4


def test_the_command_line_tells_what_stays_unknown(lm_eval_folder: Path, tmp_path: Path) -> None:
    asked = ["import", str(lm_eval_folder), "--format", "lm-eval", "-o", str(tmp_path), "--json"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0
    assert sorted(Path(path).name for path in json.loads(done.stdout)["runs"]) == sorted(
        path.name for path in tmp_path.iterdir()
    )
    assert "does not tell the culture and language" in done.stderr


def test_each_filter_is_a_metric_and_answers_stand_once(edited: Callable[..., Path], tmp_path: Path) -> None:
    gen = MC.replace("tiny_mc", "tiny_gen")

    def two(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        bare = [{**line, "metrics": ["exact_match"], "resps": [["lol", "ha"]]} for line in lines]
        return [{**line, "filter": name, "exact_match": float(name == "loose")} for name in _FILTERS for line in bare]

    def told(value: dict[str, Any]) -> None:
        value["results"]["tiny_gen"] = {f"exact_match,{name}": float(name == "loose") for name in _FILTERS}

    edited(two, gen)
    run = imported(edited(told, RESULTS), tmp_path / "runs")["lm-eval/tiny_gen"]
    found = dict(run.estimates.select("metric", "value").iter_rows())
    assert found == {"exact_match,strict": 0.0, "exact_match,loose": 1.0}
    assert run.answers.select("sample", "text").rows() == [(0, "lol"), (1, "ha")] * 4


_FILTERS = ("strict", "loose")


def with_metric(edited: Callable[..., Path], tmp_path: Path, metric: str, values: list[float]) -> Run:
    """The multiple choice as if lm-eval had measured something else."""

    def given(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**line, "metrics": [metric], metric: value} for line, value in zip(lines, values, strict=True)]

    def told(value: dict[str, Any]) -> None:
        value["results"]["tiny_mc"] = {f"{metric},none": sum(values) / 4}

    edited(given, MC)
    return imported(edited(told, RESULTS), tmp_path / "runs")["lm-eval/tiny_mc"]


@pytest.mark.parametrize("metric", ["acc", "mc2", "f1"])
def test_intervals_of_shares_end_where_their_range_does(
    edited: Callable[..., Path], tmp_path: Path, metric: str
) -> None:
    values = [0.95, 0.99, 1.0, 0.5]
    run = with_metric(edited, tmp_path, metric, values)
    (row,) = run.estimates.iter_rows(named=True)
    assert row["value"] == sum(values) / 4
    assert row["high"] == 1.0
    assert run.manifest["metrics"][metric]["binary"] is False


@pytest.mark.parametrize(("metric", "values"), [("f1", [90.0, 99.0, 100.0, 50.0]), ("bits_per_byte", [0.9, 1, 1, 0.5])])
def test_metrics_of_no_known_range_keep_their_intervals(
    edited: Callable[..., Path], tmp_path: Path, metric: str, values: list[float]
) -> None:
    run = with_metric(edited, tmp_path, metric, values)
    (row,) = run.estimates.iter_rows(named=True)
    assert row["high"] > max(values)
    assert run.manifest["metrics"][metric]["high"] is None
