"""Imports: an export comes back as the same run; lm-eval's own files become runs that report and compare."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from edited_lm import Edit, edited, run_with
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.errors import DataError, UsageError
from kapwa.exchange.formats import FORMATS
from kapwa.report.page.runs import build_report
from kapwa.runs.finished_run import Run

RESULTS = "results_2026-11-20T10-52-13.457562.json"
MC = "samples_tiny_mc_2026-11-20T10-52-13.457562.jsonl"


def imported(path: Path, out: Path, **options: Any) -> dict[str, Run]:
    runs = [Run(folder) for folder in kapwa.import_result(path, out=out, **options)]
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
    assert "bleu is not imported" in notes
    assert "does not give the culture and language" in notes
    page = build_report(list(runs.values()), tmp_path / "report.html").read_text(encoding="utf-8")
    assert "lm-eval/tiny_mc" in page
    assert "does not give the culture and language" in page


def test_every_results_file_of_a_folder_becomes_runs(lm_eval_folder: Path, tmp_path: Path) -> None:
    for model in ("one", "two"):
        shutil.copytree(lm_eval_folder, tmp_path / "lm" / model)
    file = tmp_path / "lm" / "two" / RESULTS
    results = json.loads(file.read_text(encoding="utf-8"))
    results["model_name"] = "another"
    file.write_text(json.dumps(results), encoding="utf-8")
    assert len(kapwa.import_result(tmp_path / "lm", out=tmp_path / "runs")) == 4


@pytest.mark.parametrize("language", ["xx-bad!", "", "Tagalog language", "f"])
def test_a_language_is_a_tag(lm_eval_folder: Path, tmp_path: Path, language: str) -> None:
    with pytest.raises(UsageError, match="is not a language tag"):
        kapwa.import_result(lm_eval_folder, out=tmp_path / "runs", language=language)
    with pytest.raises(UsageError, match="The culture cannot be"):
        kapwa.import_result(lm_eval_folder, out=tmp_path / "runs", culture=" ")
    assert not (tmp_path / "runs").exists()


def test_an_aggregate_that_is_no_mean_is_left_out(lm_eval_folder: Path, tmp_path: Path) -> None:
    stated = {"acc_norm,none": 0.9}
    run = run_with(lm_eval_folder, tmp_path, lambda _, told: told["results"]["tiny_mc"].update(stated), "tiny_mc")
    assert run.estimates["metric"].unique().to_list() == ["acc"]
    assert any("aggregate 0.9 is not the mean of its items, 0.25" in note for note in run.manifest["notes"])


def test_imports_have_every_form(lm_eval_folder: Path, tmp_path: Path) -> None:
    def halves(lines: list[dict[str, Any]], told: dict[str, Any]) -> None:
        for line in lines:
            line |= {"metrics": [*line["metrics"], "score"], "score": 0.5}
        told["results"]["tiny_mc"]["score,none"] = 0.5
        told["higher_is_better"]["tiny_mc"]["score"] = True

    run = run_with(lm_eval_folder, tmp_path, halves, "tiny_mc")
    needed = {"eee": {"organization": "Test University"}, "hf-eval-results": {"dataset": "owner/bench"}}
    files = {form: kapwa.export_run(run, tmp_path / form, form, **needed.get(form, {})) for form in FORMATS}
    # Nobody told the ends of a metric that lm-eval does not know: the schema's word for that is null.
    whole = json.loads(files["eee"][-1].read_text(encoding="utf-8"))
    ends = {
        result["metric_config"]["metric_name"]: [result["metric_config"][end] for end in ("min_score", "max_score")]
        for result in whole["evaluation_results"]
    }
    assert ends == {"acc": [0.0, 1.0], "acc_norm": [0.0, 1.0], "score": [None, None]}
    assert files["lm-eval"][0].name == "results_2026-11-20T10-52-10.json"


OTHER_TYPE = "is missing or of another type than lm-eval writes"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda lines, _: lines.clear(), "holds no samples"),
        (lambda lines, _: lines[0].update(resps="x"), f"row 1, column 'resps': {OTHER_TYPE}"),
        (lambda lines, _: lines[0].update(resps=[[["no", "False"]]] * 3), "is not as lm-eval writes it .ValueError"),
        (
            lambda lines, _: lines[1].update(arguments={"gen_args_0": 1}),
            f"row 2, column 'arguments.gen_args_0': {OTHER_TYPE}",
        ),
        (lambda lines, _: lines[0].pop("doc"), "column 'doc': is missing"),
        (lambda lines, _: lines.insert(0, 7), "row 1: is not a JSON object"),
        (lambda _, told: told["configs"]["tiny_mc"].update(output_type="loglikelihood"), "of the type loglikelihood"),
        (lambda _, told: told["results"].update({"../../etc": {}}), "there are no samples of the task"),
        (lambda _, told: told.update(results=[]), "not a results file of lm-eval"),
        (lambda _, told: told.update(results={}), "holds the results of no task: its 'results' are empty"),
        (lambda _, told: told.update(configs=[1]), "is not as lm-eval writes it"),
    ],
)
def test_damaged_files_say_where(lm_eval_folder: Path, tmp_path: Path, change: Edit, says: str) -> None:
    folder = edited(lm_eval_folder, tmp_path / "lm", change, "tiny_mc")
    with pytest.raises(DataError, match=says) as raised:
        kapwa.import_result(folder, out=tmp_path / "runs")
    assert raised.value.hint
    assert not (tmp_path / "runs").exists()


HALF, HUGE = "\ud83d", 10**400
ODD_VALUES: list[Edit] = [
    *(lambda lines, _, odd=odd: lines[0].update(resps=odd) for odd in ([HUGE], [[HUGE]], [[[HALF, HALF]]], [{}], [[]])),
    *(lambda lines, _, odd=odd: lines[0].update(acc=odd) for odd in (HUGE, HALF, [1], {}, True)),
    *(lambda lines, _, odd=odd: lines[0].update(doc_id=odd) for odd in (HUGE, -HUGE, HALF, 1.5, [])),
    *(lambda lines, _, odd=odd: lines[0].update(target=odd) for odd in (HUGE, HALF, {"a": HALF}, [[]])),
    *(lambda lines, _, odd=odd: lines[0].update(metrics=["acc", odd]) for odd in (HALF, HUGE, None)),
    *(lambda _, told, odd=odd: told.update(date=odd) for odd in (HUGE, HALF, 1e300, -1, [])),
    *(lambda _, told, odd=odd: told["results"]["tiny_mc"].update({"acc,none": odd}) for odd in (HUGE, HALF, [])),
    *(lambda _, told, odd=odd: told["configs"]["tiny_mc"].update(dataset_path=odd) for odd in (HUGE, HALF, [])),
    *(lambda _, told, odd=odd: told["configs"]["tiny_mc"].update(metadata={"kapwa": odd}) for odd in (HUGE, HALF, [])),
    *(lambda _, told, odd=odd: told["n-samples"]["tiny_mc"].update(effective=odd) for odd in (HUGE, HALF, [])),
]


@pytest.mark.parametrize("number", range(len(ODD_VALUES)))
def test_odd_values_become_a_run_or_a_message_that_names_the_file(
    lm_eval_folder: Path, tmp_path: Path, number: int
) -> None:
    folder = edited(lm_eval_folder, tmp_path / "lm", ODD_VALUES[number], "tiny_mc")
    refused = None
    try:
        made = kapwa.import_result(folder, out=tmp_path / "runs")
    except DataError as error:
        refused = error
    if refused is None:
        build_report([Run(run) for run in made], tmp_path / "page.html")
        return
    assert refused.path.parent == folder
    assert refused.hint
    assert str(refused).encode()
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
        kapwa.import_result(folder, out=tmp_path / "runs")
    assert raised.value.hint
    with pytest.raises(UsageError, match="Did you mean 'lm-eval'"):
        kapwa.import_result(folder, "lmeval", out=tmp_path / "runs")


def test_only_imports_are_overwritten(lm_eval_folder: Path, tmp_path: Path) -> None:
    folders = kapwa.import_result(lm_eval_folder, out=tmp_path)
    with pytest.raises(UsageError, match="'overwrite'"):
        kapwa.import_result(lm_eval_folder, out=tmp_path)
    assert kapwa.import_result(lm_eval_folder, out=tmp_path, overwrite=True) == folders
    (folders[0] / "run.json").write_text("{}")
    with pytest.raises(UsageError, match="is not an import"):
        kapwa.import_result(lm_eval_folder, out=tmp_path, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in folders)


def test_the_command_line_tells_what_stays_unknown(lm_eval_folder: Path, tmp_path: Path) -> None:
    asked = ["import", str(lm_eval_folder), "--format", "lm-eval", "-o", str(tmp_path), "--json"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0
    assert sorted(Path(path).name for path in json.loads(done.stdout)["runs"]) == sorted(
        path.name for path in tmp_path.iterdir()
    )
    assert "does not give the culture and language" in done.stderr
    done = CliRunner().invoke(app, [*asked[:-1], "--overwrite"])
    folders = json.loads(CliRunner().invoke(app, [*asked, "--overwrite"]).stdout)["runs"]
    assert f"To report on them: kapwa report {' '.join(folders)} -o report.html" in done.stderr


def test_each_filter_is_a_metric_and_answers_stand_once(lm_eval_folder: Path, tmp_path: Path) -> None:
    def two(lines: list[dict[str, Any]], told: dict[str, Any]) -> None:
        bare = [{**line, "metrics": ["exact_match"], "resps": [["lol", "ha"]]} for line in lines]
        values = {"strict": 0.0, "loose": 1.0}
        lines[:] = [{**line, "filter": name, "exact_match": v} for name, v in values.items() for line in bare]
        told["results"]["tiny_gen"] = {f"exact_match,{name}": value for name, value in values.items()}

    run = run_with(lm_eval_folder, tmp_path, two, "tiny_gen")
    found = dict(run.estimates.select("metric", "value").iter_rows())
    assert found == {"exact_match,strict": 0.0, "exact_match,loose": 1.0}
    assert run.answers.select("sample", "text").rows() == [(0, "lol"), (1, "ha")] * 4


def measured(metric: str, values: list[float]) -> Edit:
    """The multiple choice as if lm-eval had measured something else."""

    def change(lines: list[dict[str, Any]], told: dict[str, Any]) -> None:
        for line, value in zip(lines, values, strict=True):
            line |= {"metrics": [metric], metric: value}
        told["results"]["tiny_mc"] = {f"{metric},none": sum(values) / 4}

    return change


@settings(max_examples=5)  # each is an import
@given(values=st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_any_item_scores_give_their_mean(
    lm_eval_folder: Path, tmp_path_factory: pytest.TempPathFactory, values: list[float]
) -> None:
    run = run_with(lm_eval_folder, tmp_path_factory.mktemp("lm"), measured("acc", values), "tiny_mc")
    (row,) = run.estimates.iter_rows(named=True)
    assert row["value"] == pytest.approx(sum(values) / 4, abs=1e-12)
    assert row["scored"] + row["right"] + row["wrong"] == 4


SHARES = [0.95, 0.99, 1.0, 0.5]


@pytest.mark.parametrize(
    ("metric", "values", "most"),
    [
        *((name, SHARES, 1.0) for name in ("acc", "mc2", "f1")),
        ("f1", [90.0, 99.0, 100.0, 50.0], None),
        ("bits_per_byte", SHARES, None),
    ],
)
def test_intervals_end_where_the_range_of_their_metric_does_if_it_is_known(
    lm_eval_folder: Path, tmp_path: Path, metric: str, values: list[float], most: float | None
) -> None:
    run = run_with(lm_eval_folder, tmp_path, measured(metric, values), "tiny_mc")
    (row,) = run.estimates.iter_rows(named=True)
    assert row["value"] == sum(values) / 4
    assert row["value"] < row["high"] <= (most or 200.0)
    # A share has Wilson's interval; one that may be anything has Student's, which may lie beyond the values.
    assert (row["method"] == "wilson-clustered") == (most == 1.0)
    assert most or row["high"] > max(values)
    assert run.manifest["metrics"][metric]["high"] == most
    assert run.manifest["metrics"][metric]["binary"] is False
