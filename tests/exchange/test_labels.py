"""People's labels from other tools, and from an imported log to a corrected score."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes, precomputed_scores
from inspect_ai.solver import Generate, Solver, TaskState, solver
from known_lm import Known, saved
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager
from typer.testing import CliRunner

import kapwa
import warm
from kapwa.cli.doctor import _allowed
from kapwa.cli.main import app
from kapwa.errors import DataError, UsageError
from kapwa.labels.audits.audit import label_counts, labels_summary
from kapwa.labels.audits.draws import read_draw
from kapwa.labels.audits.planning import LABELS_FOR, MISSING, WIDTHS, labels_missing
from kapwa.labels.audits.questions import asked_of
from kapwa.labels.reading import read_labels
from kapwa.runs.finished_run import Run
from kapwa.stats.intervals import mean_estimates

QUIET: dict[str, Any] = {"model": "mockllm/model", "display": "none"}
TEXTS = {f"q{i:02}": "yes" if i < 30 else "indeed" if i < 40 else "no" for i in range(60)}


@solver
def says() -> Solver:
    """Say what is planned, without asking a model."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("mockllm/model", TEXTS.get(str(state.sample_id), ""))
        return state

    return solve


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Somebody's log of 60 questions: the model is right in 40, and the log's scorer finds 30 of these."""
    folder = tmp_path_factory.mktemp("log")
    samples = MemoryDataset([Sample(id=name, input=f"Question {name}?", target="yes") for name in TEXTS])
    eval(Task(dataset=samples, solver=says(), scorer=includes()), **QUIET, log_dir=str(folder / "logs"))
    (path,) = kapwa.import_result(
        folder / "logs", "inspect", out=folder / "runs", culture="Philippines", language="fil"
    )
    return Run(path)


def draw_of(run: Run, folder: Path, n: int = 45) -> pl.DataFrame:
    return kapwa.audit_sample(run, folder, n=n, people=1).draw.key


def lines(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def right(text: str) -> bool:
    return text.strip() in ("yes", "indeed")


def test_from_somebodys_log_and_scores_of_people_to_a_corrected_score(imported: Run, tmp_path: Path) -> None:
    key = draw_of(imported, tmp_path / "sheets")
    scores = [
        {"id": row["item_id"], "value": "C" if right(row["text"]) else "I", "metadata": {"rater": rater}}
        for row in key.iter_rows(named=True)
        for rater in ("ana", "ben")
    ]
    labels = lines(tmp_path / "people.jsonl", scores)
    words = ("--labels", "sheets", "--labels", str(labels), "-o", "result", "--json")
    done = warm.kapwa("label", "apply", str(imported.path), *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["corrected"]
    assert (row["culture"], row["n"], row["labelled"]) == ("Philippines", 60, 45)
    assert row["automatic"] == 0.5
    assert row["low"] <= 2 / 3 <= row["high"]
    assert row["bias"] < 0
    assert "Is the answer right?" in (tmp_path / "result" / "audit.html").read_text(encoding="utf-8")


def test_labels_are_written_as_inspect_reads_them_and_read_again(imported: Run, tmp_path: Path) -> None:
    key = draw_of(imported, tmp_path / "sheets")
    text = "\n".join(f"ana,{code},{'yes' if right(said) else 'no'}" for code, said in key["answer", "text"].rows())
    (tmp_path / "people.csv").write_text(f"rater,answer,right\n{text}\n", encoding="utf-8")
    audit = kapwa.audit_apply(imported, [tmp_path / "sheets", tmp_path / "people.csv"], out=tmp_path / "result")
    (file,) = (tmp_path / "result").glob("labels-*.jsonl")
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(records) == 45
    samples = [Sample(id=record["id"], input="?") for record in records]
    task = Task(dataset=MemoryDataset(samples), solver=says(), scorer=precomputed_scores(str(file), on_missing="error"))
    scored = eval(task, **QUIET, log_dir=str(tmp_path / "logs"))
    mean = scored[0].results.scores[0].metrics["accuracy"].value
    assert mean == pytest.approx(audit.verdicts["value"].mean())
    again = kapwa.audit_apply(imported, [tmp_path / "sheets", file])
    assert again.scores.equals(audit.scores)


def test_records_of_argilla_are_labels(imported: Run, tmp_path: Path) -> None:
    key = draw_of(imported, tmp_path / "sheets", n=5)
    answers = ["yes", "no", "cannot assess", "yes", "no"]
    records = [
        {"id": code, "fields": {}, "metadata": {}, "responses": {"right": [{"user_id": "u1", "value": answer}]}}
        for code, answer in zip(key["answer"], answers, strict=True)
    ]
    file = lines(tmp_path / "argilla.jsonl", records)
    verdicts = kapwa.audit_apply(imported, [tmp_path / "sheets", file]).verdicts
    assert verdicts["value"].to_list() == [1.0, 0.0, None, 1.0, 0.0]
    assert set(verdicts["rater"]) == {"u1"}
    assert set(verdicts["draw"]) == {read_draw(tmp_path / "sheets").id}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"id": "q99", "value": 1}, "'q99' was not drawn"),
        ({"id": "q00", "value": "perhaps"}, "neither yes, no nor"),
        ({"id": "q00", "value": 3}, "neither yes, no nor"),
        ({"id": "q00", "value": 1, "metadata": "ana"}, "is not a JSON object"),
        ({"id": "q00", "value": 1, "metadata": {"rubric": "correct@9"}}, "by the rubric correct@9"),
        ({"id": "q00", "value": ""}, "is empty"),
        ({"id": "", "responses": {"right": [{"value": "yes"}]}}, "is empty"),
    ],
)
def test_wrong_records_are_refused_by_row(
    imported: Run, tmp_path: Path, record: dict[str, object], message: str
) -> None:
    draw_of(imported, tmp_path / "sheets", n=60)
    file = lines(tmp_path / "labels.jsonl", [record])
    with pytest.raises(DataError, match=message) as error:
        kapwa.audit_apply(imported, [tmp_path / "sheets", file])
    assert (error.value.path, error.value.row) == (file, 1)


def test_only_what_was_submitted_in_argilla_is_a_label(tmp_path: Path) -> None:
    answers = [
        {"value": "no", "user_id": "ana", "status": "draft"},
        {"value": "no", "user_id": "eva", "status": "discarded"},
    ]
    answers.append({"value": "yes", "user_id": "ben", "status": "submitted"})
    record = {"id": "A001", "metadata": {"answer": "A001"}, "responses": {"right": answers}}
    labels, _ = read_labels([lines(tmp_path / "records.jsonl", [record])], [asked_of("correct").column])
    assert [(label.rater, label.value) for label in labels] == [("ben", 1.0)]
    for wrong in ({"value": "yes"}, ["yes"], "yes"):
        table = lines(tmp_path / "records.jsonl", [record | {"responses": {"right": wrong}}])
        with pytest.raises(DataError, match="'right' has no list of responses"):
            read_labels([table], [asked_of("correct").column])


def test_the_doctor_says_how_many_labels_are_missing(imported: Run, tmp_path: Path) -> None:
    key = draw_of(imported, tmp_path / "sheets")
    counts = label_counts(tmp_path / "sheets").to_dicts()
    assert [(row["drawn"], row["labelled"], row["missing"]) for row in counts] == [(45, 0, 45)]
    lines(tmp_path / "sheets" / "ana.jsonl", [{"id": item, "value": 1} for item in key["item_id"][:42]])
    (row,) = json.loads(warm.kapwa("doctor", "sheets", "--json", cwd=tmp_path).stdout)
    assert (row["drawn"], row["labelled"], row["missing"]) == (45, 42, 3)
    told = warm.kapwa("doctor", "sheets", cwd=tmp_path).stdout
    assert "a corrected score" in " ".join(told.split())


@pytest.mark.parametrize(("n", "right"), [(40, 20), (60, 54), (30, 30), (400, 100)])
def test_so_many_more_labels_give_the_interval(n: int, right: int) -> None:
    told = labels_missing(pl.Series([1.0] * right + [0.0] * (n - right)), None)
    assert told["half_width"] == pytest.approx(half_width(n, right / n))
    for name, width in zip(MISSING, WIDTHS, strict=True):
        after = half_width(n + told[name], right / n)
        assert after <= width * 1.02
        assert told[name] == 0 or after > 0.6 * width  # near all or none right, fewer would do


def half_width(n: int, share: float) -> float:
    (mean,) = mean_estimates([1.0] * round(n * share) + [0.0] * (n - round(n * share)), None, share=True)
    return (mean.high - mean.low) / 2


def test_without_a_label_half_right_is_assumed() -> None:
    told = labels_missing(pl.Series([None, None], dtype=pl.Float64), None)
    assert told == {"half_width": None, "missing_10": 97, "missing_5": 385}


def doctor(path: Path) -> Any:
    done = CliRunner().invoke(app, ["doctor", str(path), "--json"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_doctor_knows_labels_in_every_form(imported: Run, tmp_path: Path) -> None:
    key = draw_of(imported, tmp_path / "sheets", n=6)
    answers = [("yes", 1.0), ("no", 0.0), ("cannot assess", None), ("yes", 1.0), ("no", 0.0), ("yes", 1.0)]
    coded = list(zip(key["answer"], key["item_id"], answers, strict=True))
    (tmp_path / "table.csv").write_text(
        "rater,answer,right\n" + "".join(f"ana,{code},{word}\n" for code, _, (word, _) in coded), encoding="utf-8"
    )
    lines(tmp_path / "scores.jsonl", [{"id": item, "value": word} for _, item, (word, _) in coded])
    responses = [{"right": [{"user_id": "ana", "value": word}]} for _, _, (word, _) in coded]
    records = [{"id": code, "responses": given} for (code, _, _), given in zip(coded, responses, strict=True)]
    lines(tmp_path / "records.jsonl", records)
    kapwa.audit_apply(imported, [tmp_path / "sheets", tmp_path / "table.csv"], out=tmp_path / "result")
    files = {
        "table.csv": "a table of labels",
        "scores.jsonl": "scores as Inspect reads them",
        "records.jsonl": "records of Argilla",
        "result/verdicts.csv": "verdicts",
    }
    expected = labels_missing(pl.Series([value for _, _, (_, value) in coded]), None)
    for name, form in files.items():
        facts = doctor(tmp_path / name)
        assert facts["form"] == form
        assert (facts["labels"], facts["labelled"], facts["cannot_assess"]) == (6, 5, 1)
        assert facts["raters"] == (["scores"] if name == "scores.jsonl" else ["ana"])
        assert {key: facts[key] for key in expected} == expected
    (sheet,) = (tmp_path / "sheets").rglob("*-p1.csv")
    assert (doctor(sheet)["form"], doctor(sheet)["labels"]) == ("a sheet", 0)
    with pytest.raises(DataError, match="is neither a log nor labels"):
        labels_summary(tmp_path / "sheets" / "audit-key.csv")


def test_the_doctor_says_what_a_log_of_inspect_allows(imported: Run, tmp_path: Path) -> None:
    (log,) = imported.path.parents[1].glob("logs/*.eval")
    (facts,) = doctor(log)
    assert (facts["items"], facts["metrics"], facts["unknown"]) == (60, ["includes"], ["culture", "language"])
    assert facts["why_not"] == ""
    planned = [kapwa.audit_plan(imported, half_width=width)["labels"][0] for width in WIDTHS]
    assert [facts["strata"][0][name] for name in LABELS_FOR] == planned
    assert list(tmp_path.iterdir()) == []


# --- a log of lm-eval ----------------------------------------------------------------------------------------

PLACES = {"Egypt": "ar", "US": "en"}
NUMBERS = """task: numbers
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/docs.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}} {{country}}"
doc_to_target: "yes"
generation_kwargs: {until: ["."]}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""


class Says(Known):
    """Right in Egypt, but half of the time in other words; wrong half of the time in the US."""

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        other = {"Egypt": "indeed", "US": "no"}
        prompts = [request.args[0] for request in requests]
        return ["yes" if len(prompt) % 2 else other[prompt.split()[-1]] for prompt in prompts]


@pytest.fixture(scope="module")
def lm_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lm")
    docs = [
        {"question": f"{'Is' if i % 2 else 'Was'} {i} a number?", "country": country, "lang": tag}
        for i in range(100, 160)
        for country, tag in PLACES.items()
    ]
    lines(folder / "docs.jsonl", docs)
    (folder / "numbers.yaml").write_text(NUMBERS.replace("FOLDER", str(folder)), encoding="utf-8")
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    result = simple_evaluate(model=Says(), tasks=["numbers"], task_manager=manager, bootstrap_iters=0)
    return saved(result, folder / "log")


def test_from_a_log_of_lm_eval_and_a_spreadsheet_to_a_report_by_culture(lm_log: Path, tmp_path: Path) -> None:
    (samples,) = lm_log.parent.glob("samples_*.jsonl")
    for path in (lm_log, samples, lm_log.parent):
        (facts,) = doctor(path)
        assert (facts["task"], facts["items"], facts["audited"]) == ("lm-eval/numbers", 120, "exact_match")
    told = {"culture_from": "country", "language_from": "lang"}
    (path,) = kapwa.import_result(lm_log, out=tmp_path / "runs", **told)
    run = Run(path)
    assert run.items.group_by("culture", "language").len().sort("culture").rows() == [
        ("Egypt", "ar", 60),
        ("US", "en", 60),
    ]
    assert not any("culture" in note for note in run.manifest["notes"])
    key = draw_of(run, tmp_path / "sheets")
    book = openpyxl.Workbook()
    book.active.append(["item_id", "rater", "right", "remark"])
    for item, text in key.select("item_id", "text").rows():
        book.active.append([int(item), "Ana", text != "no"])
    book.save(tmp_path / "labels.xlsx")
    labels = [tmp_path / "sheets", tmp_path / "labels.xlsx"]
    audit = kapwa.audit_apply(run, labels)
    rows = {row["culture"]: row for row in audit.scores.to_dicts()}
    assert {name: rows[name]["labelled"] for name in PLACES} == {"Egypt": 45, "US": 45}
    assert rows["Egypt"]["automatic"] == rows["US"]["automatic"] == 0.5
    assert rows["Egypt"]["shown"] == 1
    assert rows["US"]["bias"] == 0
    assert rows["US"]["low"] <= 0.5 <= rows["US"]["high"]
    page = kapwa.write_report(run, tmp_path / "report.html", people=labels).read_text(encoding="utf-8")
    assert "What people say of exact_match" in page
    kapwa.audit_sample(run, tmp_path / "other", n=45, seed=2, people=1)
    with pytest.raises(UsageError, match=r"labels.xlsx does not say which draw its labels are of"):
        kapwa.write_report(run, tmp_path / "report.html", people=[*labels, tmp_path / "other"])


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"culture_from": "county"}, r"row 1 of samples_numbers_.* has no text in 'county', .* its culture"),
        ({"language_from": "country"}, r"'Egypt' in 'country' is not a language tag"),
        ({"culture": "Egypt", "culture_from": "country"}, "'culture' is the culture of all items"),
    ],
)
def test_a_field_that_does_not_tell_is_named(lm_log: Path, tmp_path: Path, told: dict[str, str], message: str) -> None:
    with pytest.raises((DataError, UsageError), match=message) as error:
        kapwa.import_result(lm_log, out=tmp_path / "runs", **told)
    assert error.value.hint
    assert not (tmp_path / "runs").exists()


def test_metadata_of_inspects_samples_tell_the_culture_under_any_name(tmp_path: Path) -> None:
    samples = [Sample(id=tag, input="?", target="", metadata={"land": land}) for land, tag in PLACES.items()]
    eval(
        Task(dataset=MemoryDataset(samples), solver=says(), scorer=includes()), **QUIET, log_dir=str(tmp_path / "logs")
    )
    (path,) = kapwa.import_result(tmp_path / "logs", "inspect", out=tmp_path / "runs", culture_from="land")
    assert dict(Run(path).items.select("item_id", "culture").rows()) == {tag: land for land, tag in PLACES.items()}
    with pytest.raises(DataError, match="the sample 'ar' has no text in 'place'"):
        kapwa.import_result(tmp_path / "logs", "inspect", out=tmp_path / "others", culture_from="place")


def test_the_doctor_asks_for_no_more_labels_than_there_can_be() -> None:
    assert _allowed(60, 40, 0) == "a corrected score"
    assert _allowed(60, 30, 15).endswith("needs 10 more")
    assert "10 more, from a larger sample" in _allowed(60, 30, 5)
    assert "needs 40 questions, but only 15 were asked" in _allowed(15, 15, 0)
