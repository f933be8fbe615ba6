"""Long answers with criteria of their own: read, asked, judged by people and by a judge of known noise, summed up."""

import base64
import html
import json
import re
import zlib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from audited import chance, rows_of, write_rows

import kapwa
from kapwa.errors import DataError, UsageError
from kapwa.labels.audits.audit import labels_summary
from kapwa.labels.audits.draws import read_draw
from kapwa.labels.audits.planning import labels_missing
from kapwa.labels.judges.panel import judge
from kapwa.labels.rubrics import load_rubric
from kapwa.labels.verdicts import OVERALL
from kapwa.report.page.answers import answer_table, browser
from kapwa.report.page.runs import build_report
from kapwa.report.sentences.cultures import across_sentences
from kapwa.report.terminal.run_list import list_runs
from kapwa.report.view.tasks import arrange
from kapwa.runs.finished_run import Run
from kapwa.suites.longform.data import check

WEIGHTS = {"must": 2.0, "should": 1.0, "should not": -1.0, "must not": -2.0}
ROW: dict[str, Any] = {
    "id": "q1",
    "culture": "Kenyan",
    "language": "en",
    "question": "How is tea offered?",
    "criteria": ["Says milk; and how much", "Says nothing of guests", "Is rude"],
    "weights": ["must", "2.5", "-1"],
}


def run_of(folder: Path, rows: list[dict[str, Any]], label: str = "A") -> Run:
    """A run in which each question has an answer of its own length."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    (data / "longform.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    task = kapwa.load_task("longform/criteria", data=data)
    texts = [f"{label} says {'right' if chance(label, item.id) < 0.5 else 'zzq'} {item.id}" for item in task.items()]
    items = task.items()
    asked = {"item_id": [item.id for item in items], "variant": [item.variant for item in items], "text": texts}
    file = folder / f"{label}.csv"
    pl.DataFrame(asked).write_csv(file)
    return kapwa.evaluate(task, kapwa.load_model(f"replay:{file}"), path=folder / label, label=label, progress=False)


def questions(n: int, cultures: tuple[str, ...] = ("Kenyan", "Peruvian")) -> list[dict[str, Any]]:
    return [{**ROW, "id": f"{c}-{i}", "culture": c} for c in cultures for i in range(n)]


def twin(weights: dict[str, float], values: dict[str, float]) -> float:
    """The score by its definition: points gained over points that can be gained, kept from 0 to 1."""
    gained = sum(weights[code] * values[code] for code in weights)
    return min(max(gained / sum(weight for weight in weights.values() if weight > 0), 0.0), 1.0)


def fill(folder: Path, noise: float = 0.0) -> dict[str, dict[str, dict[str, float]]]:
    """Fill in every sheet; return what each person says, by answer and criterion."""
    said: dict[str, dict[str, dict[str, float]]] = {}
    for sheet in sorted(folder.rglob("*-p?.csv")):
        head, *rows = rows_of(sheet)
        answer, code, met = (head.index(name) for name in ("answer", "criterion", "met"))
        for row in rows:
            yes = (chance(row[answer], row[code]) < 0.6) != (chance(sheet.name, row[answer], row[code]) < noise)
            row[met] = "yes" if yes else "no"
            said.setdefault(sheet.stem, {}).setdefault(row[answer], {})[row[code]] = float(yes)
        write_rows(sheet, [head, *rows])
    return said


@pytest.mark.parametrize(
    ("change", "column", "message"),
    [
        ({"criteria": []}, "criteria", "is empty"),
        ({"criteria": ["a", "a"], "weights": ["1", "2"]}, "criteria", "appears twice"),
        ({"weights": ["must"]}, "weights", "has 1 entries for 3 criteria"),
        ({"weights": ["must", "shall", "-1"]}, "weights", "'shall' is no weight"),
        ({"weights": ["1", "0", "-1"]}, "weights", "'0' is no weight"),
        ({"weights": ["1", "nan", "-1"]}, "weights", "'nan' is no weight"),
        ({"weights": ["1", "1e9", "-1"]}, "weights", "'1e9' is no weight"),
        ({"weights": ["-1", "must not", "-1"]}, "weights", "are all negative"),
        ({"criteria_en": ["a"]}, "criteria_en", "has 1 entries"),
        ({"question": " "}, "question", "is empty"),
        ({"rubrics": "x"}, "rubrics", "is not a column"),
    ],
)
def test_what_is_wrong_with_a_row_is_named(change: dict[str, Any], column: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "longform.jsonl"
    file.write_text(json.dumps({**ROW, "id": "q0"}) + "\n" + json.dumps({**ROW, **change}), encoding="utf-8")
    report = check(tmp_path)
    found = [f for f in report.findings if f.severity == "error" and f.column == column and message in f.message]
    assert found, report.findings
    assert "rubrics" in change or found[0].row == 2
    with pytest.raises(DataError, match=message.replace("'", ".")):
        kapwa.load_task("longform/criteria", data=tmp_path)


def test_weights_in_words_are_the_numbers_that_docs_say(tmp_path: Path) -> None:
    rows = [
        {**ROW, "criteria": list("abcde"), "weights": [*WEIGHTS, "Must_Not"]},
        {**ROW, "id": "q2", "criteria": list("abc"), "weights": [5, -3.5, 1]},  # as HealthBench has them
        {key: value for key, value in {**ROW, "id": "q3"}.items() if key != "weights"},
    ]
    (tmp_path / "longform.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    words, numbers, none = (
        item.fields["weights"] for item in kapwa.load_task("longform/criteria", data=tmp_path).items()
    )
    assert words == (*WEIGHTS.values(), -2.0)
    assert numbers == (5.0, -3.5, 1.0)
    assert none == (1.0, 1.0, 1.0)


def test_answers_without_verdicts_have_no_score_and_say_what_comes_next(tmp_path: Path) -> None:
    run = run_of(tmp_path, questions(2))
    met = run.scores.filter(metric="criteria_met")
    assert met["value"].null_count() == met.height == 4
    assert run.scores.filter(metric="words")["value"].to_list() == run.answers["words"].to_list() == [4] * 4
    assert "wait for verdicts on their criteria" in across_sentences(arrange([run])[0])[0]
    assert [row["score"] for row in list_runs(tmp_path)] == ["waits for verdicts"]
    with pytest.raises(UsageError, match="is one question") as caught:
        kapwa.audit_sample(run, tmp_path / "s", n=2)
    assert "item-criteria" in str(caught.value.hint)
    assert set(kapwa.audit_plan(run, half_width=0.2)["use"]) <= {"people", "none"}


def test_people_s_verdicts_come_to_the_score_by_its_definition(tmp_path: Path) -> None:
    runs = [run_of(tmp_path, questions(12), label) for label in "AB"]
    sheets = tmp_path / "sheets"
    kapwa.audit_sample(runs, sheets, n=12, rubric="item-criteria")
    said = fill(sheets, noise=0.1)
    audit = kapwa.audit_apply(runs, sheets, out=tmp_path / "audit")
    weights = {"c1": 2.0, "c2": 2.5, "c3": -1.0}
    scores = {person: {code: twin(weights, by) for code, by in answers.items()} for person, answers in said.items()}
    whole = audit.verdicts.filter(criterion=OVERALL)
    assert whole.height == sum(map(len, scores.values())) == 96
    for row in whole.iter_rows(named=True):
        assert row["value"] == pytest.approx(scores[row["rater"]][row["answer"]])
    people = whole.filter(system="A").group_by("culture", "item_id").agg(pl.col("value").mean())
    means = {key[0]: part["value"].mean() for key, part in people.group_by("culture")}
    rows = audit.scores.filter(system="A").drop_nulls("culture")
    assert {row["culture"]: pytest.approx(row["shown"]) for row in rows.to_dicts()} == means
    assert rows["automatic"].null_count() == rows["bias"].null_count() == 2
    assert set(audit.agreement.filter(coefficient="percent")["units"]) == {72}, "of each answer and criterion"
    assert set(audit.raters["answers"]) == {72}
    assert audit.proposals.is_empty()
    values = pl.Series(list(scores["Kenyan-p1"].values()))
    facts = labels_summary(next(sheets.rglob("Kenyan-p1.csv")))
    assert facts["labelled"] == len(values)
    assert facts["half_width"] == pytest.approx(labels_missing(values, None)["half_width"])
    page = (tmp_path / "audit" / "audit.html").read_text(encoding="utf-8")
    assert "of their criteria, by weight" in page
    assert "The scorer says" not in page


def report_of(runs: list[Run], folder: Path, **settings: Any) -> str:
    """The words of a report."""
    page = build_report(runs, folder / "report.html", **settings).read_text(encoding="utf-8")
    words = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<(style|script).*?</\1>", "", page)))
    return " ".join(re.sub(r"[\u2066-\u2069]", "", words).split())


def test_the_report_says_what_people_label_and_no_number_before(tmp_path: Path) -> None:
    runs = [run_of(tmp_path, questions(6), label) for label in "AB"]
    page = report_of(runs, tmp_path)
    assert "no answer has a score yet. What each is worth is said by people (kapwa label sample)" in page
    assert not re.findall("What is right or wrong|anks are by|too few shared|rank 1", page)
    numbers = re.findall(
        r"\d%(?! interval)", page.partition("no answer has a score")[2].partition("Words in an answer")[0]
    )
    assert not numbers
    packed = browser(arrange(runs)[0], answer_table(arrange(runs)[0]))
    assert packed is not None
    told = json.loads(zlib.decompress(base64.b64decode(packed.data)))
    expected = {question[8] for question in told["questions"]}
    assert expected == {"+2: Says milk; and how much\n+2.5: Says nothing of guests\n\u22121: Is rude"}
    sheets = tmp_path / "sheets"
    kapwa.audit_sample(runs, sheets, n=6, people=1, rubric="item-criteria")
    fill(sheets)
    audit = kapwa.audit_apply(runs, sheets)
    scores = {row["system"]: row["shown"] for row in audit.scores.filter(pl.col("culture").is_null()).to_dicts()}
    page = report_of(runs, tmp_path, people=[sheets])
    told = "as these 2 people label them, answers meet so much of what is asked"
    lead = page.partition(f"{told}: ")[2].partition("The board")[0]
    assert all(f"{label} {100 * scores[label]:.1f}%" in lead for label in "AB"), (lead, scores)
    assert "no score" not in page
    alone = report_of(runs[:1], tmp_path, people=[sheets])
    assert told in alone
    assert "wait for verdicts" not in alone


def test_a_row_that_nobody_filled_in_is_no_no(tmp_path: Path) -> None:
    run = run_of(tmp_path, questions(4))
    sheets = tmp_path / "sheets"
    kapwa.audit_sample(run, sheets, n=4, people=1, rubric="item-criteria")
    fill(sheets)
    head, *rows = rows_of(sheets / "Kenyan" / "Kenyan-p1.csv")
    met = head.index("met")
    rows[0][met] = ""  # one criterion of the first answer
    rows[3][met] = "cannot assess"  # one of the second
    write_rows(sheets / "Kenyan" / "Kenyan-p1.csv", [head, *rows])
    audit = kapwa.audit_apply(run, sheets)
    (kenyan,) = audit.scores.filter(culture="Kenyan").to_dicts()
    assert kenyan["labelled"] == 2
    rows[1][head.index("criterion")] = "c9"
    write_rows(sheets / "Kenyan" / "Kenyan-p1.csv", [head, *rows])
    with pytest.raises(DataError, match="'c9' is no criterion of the question") as caught:
        kapwa.audit_apply(run, sheets)
    assert (caught.value.row, caught.value.column) == (3, "met")


def test_a_judge_reads_the_criteria_of_each_question_and_people_correct_it(stub: Any, tmp_path: Path) -> None:
    run = run_of(tmp_path, questions(60, ("Kenyan",)))
    server = stub(judge={"mark": "right", "noise": 0.2})
    panel = judge(run, "openai:stub", "item-criteria", out=tmp_path / "j", judge_options={"base_url": server.url})
    weights = {"c1": 2.0, "c2": 2.5, "c3": -1.0}
    by_answer = panel.verdicts.filter(pl.col("criterion") != OVERALL).pivot(
        "criterion", index="item_id", values="value"
    )
    wanted = {row["item_id"]: twin(weights, row) for row in by_answer.to_dicts()}
    overall = dict(panel.verdicts.filter(criterion=OVERALL).select("item_id", "value").rows())
    assert overall == pytest.approx(wanted)
    assert panel.summary["criterion"].to_list() == [OVERALL], "c1 of one question is not c1 of another"
    sheets = tmp_path / "sheets"
    kapwa.audit_sample(run, sheets, n=45, people=1, rubric="item-criteria")
    assert read_draw(sheets).rubric == panel.record["asked"]["rubric"]
    fill(sheets)
    audit = kapwa.audit_apply(run, sheets, scorer=tmp_path / "j" / "verdicts.csv", out=tmp_path / "a")
    (row,) = audit.scores.to_dicts()
    assert row["automatic"] == pytest.approx(sum(wanted.values()) / 60)
    assert row["labelled"] == 45
    again = judge(
        run,
        "openai:stub",
        "item-criteria",
        out=tmp_path / "k",
        judge_options={"base_url": server.url},
        draw=sheets,
        people=tmp_path / "a" / "verdicts.csv",
    )
    pooled = again.agreement.filter(criterion="all criteria", coefficient="percent", between="judge and people")
    assert pooled["n"].to_list() == [135]


def test_the_rubric_is_of_the_data_and_not_of_what_a_run_selected(tmp_path: Path) -> None:
    run = run_of(tmp_path, questions(3))
    (tmp_path / "other").mkdir()
    other = run_of(tmp_path / "other", [{**row, "weights": [1, 2, 3]} for row in questions(3)])
    rubric = load_rubric("item-criteria")
    assert rubric.of_runs([run]).signed != rubric.of_runs([other]).signed != rubric.signed
    with pytest.raises(UsageError, match="several data"):
        rubric.of_runs([run, other])
