"""People's labels from other tools, and from an imported log to a corrected score."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes, precomputed_scores
from inspect_ai.solver import Generate, Solver, TaskState, solver

import kapwa
import warm
from kapwa.cli.doctor import _allowed
from kapwa.errors import DataError
from kapwa.exchange.labels import label_counts, read_labels
from kapwa.judging.draws import read_draw
from kapwa.runs.directory import Run

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
    done = warm.kapwa("audit", "apply", str(imported.path), *words, cwd=tmp_path)
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
    assert scored[0].results is not None
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
    labels, _ = read_labels([lines(tmp_path / "records.jsonl", [record])], "right")
    assert [(label.rater, label.value) for label in labels] == [("ben", 1.0)]
    for wrong in ({"value": "yes"}, ["yes"], "yes"):
        table = lines(tmp_path / "records.jsonl", [record | {"responses": {"right": wrong}}])
        with pytest.raises(DataError, match="'right' has no list of responses"):
            read_labels([table], "right")


def test_the_doctor_says_how_many_labels_are_missing(imported: Run, tmp_path: Path) -> None:
    key = draw_of(imported, tmp_path / "sheets")
    counts = label_counts(tmp_path / "sheets").to_dicts()
    assert [(row["drawn"], row["labelled"], row["missing"]) for row in counts] == [(45, 0, 45)]
    lines(tmp_path / "sheets" / "ana.jsonl", [{"id": item, "value": 1} for item in key["item_id"][:42]])
    (row,) = json.loads(warm.kapwa("doctor", "sheets", "--json", cwd=tmp_path).stdout)
    assert (row["drawn"], row["labelled"], row["missing"]) == (45, 42, 3)
    told = warm.kapwa("doctor", "sheets", cwd=tmp_path).stdout
    assert "a corrected score" in " ".join(told.split())


def test_the_doctor_asks_for_no_more_labels_than_there_can_be() -> None:
    assert _allowed(60, 40, 0) == "a corrected score"
    assert _allowed(60, 30, 15).endswith("takes 10 more")
    assert "10 more, from a larger draw" in _allowed(60, 30, 5)
    assert "takes 40 questions, and there are 15" in _allowed(15, 15, 0)
