"""A rubric that asks something else than a score measures: it corrects nothing, and nobody reads another question."""

import json
from pathlib import Path

import polars as pl
import pytest
from audited import OTHER, WRONG, planted_runs, rows_of, write_rows

import kapwa
from kapwa.errors import UsageError
from kapwa.labels.audits.draws import read_draw
from kapwa.labels.rubrics import load_rubric, name_of
from kapwa.report.board.audit import audit_block, audits_of, label_columns
from kapwa.report.view.tasks import arrange
from kapwa.runs.finished_run import Run

POLITE = """
name: polite
version: "1"
title: Is the answer polite?
instruction:
  en: Read the answer as the person would to whom it is written.
  ar: اقرأ الجواب كما يقرؤه من كُتب له.
criteria:
  - code: polite
    name: Polite
    question: {en: "Is the answer polite?", ar: "هل الجواب مهذب؟"}
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return planted_runs(tmp_path_factory.mktemp("planted"))


@pytest.fixture
def polite(tmp_path: Path) -> Path:
    path = tmp_path / "polite.yaml"
    path.write_text(POLITE, encoding="utf-8")
    return path


def fill(folder: Path, column: str) -> None:
    """Say yes to what is in people's other words, which the scorer calls wrong, and no to the rest."""
    for sheet in sorted(folder.rglob("*-p?.csv")):
        rows = rows_of(sheet)
        for row in rows[1:]:
            row[rows[0].index(column)] = "yes" if row[rows[0].index("response")].startswith(OTHER) else "no"
        write_rows(sheet, rows)


def judged(folder: Path, runs: list[Run], rubric: str) -> Path:
    """Verdicts of a judge by a rubric, on all answers: no to what is wrong and to other words, yes to the rest."""
    rows = []
    for run in runs:
        for answer in run.answers.iter_rows(named=True):
            yes = float(answer["text"] != WRONG and not answer["text"].startswith(OTHER))
            item = run.items.filter(item_id=answer["item_id"]).row(0, named=True)
            about = {name: item[name] for name in ("culture", "language", "cluster")}
            names = {"draw": "", "answer": "", "run": run.manifest["signature"], "system": run.label}
            where = {"item_id": answer["item_id"], "variant": answer["variant"], "sample": 0, **about}
            said = {"rater": "judge@1", "kind": "judge", "rubric": rubric, "criterion": "polite"}
            rows.append({**names, **where, **said, "state": "judged", "value": yes, "remark": ""})
    path = folder / "verdicts.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def test_raters_read_the_rubrics_own_instruction_in_their_language(
    runs: list[Run], polite: Path, tmp_path: Path
) -> None:
    """Above "Is the answer polite?" stood: "yes: people where you live would take this answer as right"."""
    written = kapwa.audit_sample(runs, tmp_path / "sheets", n=5, people=1, rubric=polite)
    egypt = (tmp_path / "sheets" / "Egypt" / "audit-instructions.md").read_text(encoding="utf-8")
    assert "right" not in egypt
    assert egypt.startswith("# Is the answer polite?")
    assert "اقرأ الجواب كما يقرؤه من كُتب له." in egypt
    assert "هل الجواب مهذب؟ (Is the answer polite?)" in egypt
    us = (tmp_path / "sheets" / "US" / "audit-instructions.md").read_text(encoding="utf-8")
    assert "Read the answer as the person would to whom it is written." in us
    assert any("polite does not measure what sem_b measures" in note for note in written.notes)
    kapwa.audit_sample(runs, tmp_path / "correct", n=5, people=1)
    correct = (tmp_path / "correct" / "US" / "audit-instructions.md").read_text(encoding="utf-8")
    assert "people where you live would take this answer as right" in correct


def test_people_see_a_rubrics_examples_and_what_it_shows(runs: list[Run], polite: Path, tmp_path: Path) -> None:
    """As judging models do; but whoever says whether an answer is right does not see the key."""
    examples = """    examples:
      - {answer: Go away., verdict: "no", why: it is rude}
shows: {answers: What people there answered}
"""
    polite.write_text(POLITE + examples, encoding="utf-8")
    kapwa.audit_sample(runs, tmp_path / "sheets", n=6, people=1, rubric=polite)
    kapwa.audit_sample(runs, tmp_path / "right", n=6, people=1)
    for folder, is_shown in (("sheets", True), ("right", False)):
        instructions = "".join(each.read_text(encoding="utf-8") for each in (tmp_path / folder).rglob("*.md"))
        assert ("Polite: “Go away.” is **no**: it is rude" in instructions) == is_shown
        for sheet in (tmp_path / folder).rglob("*-p?.csv"):
            rows = rows_of(sheet)
            questions = [row[rows[0].index("question")] for row in rows[1:]]
            assert questions
            assert all("What people there answered" in each for each in questions) == is_shown
    assert read_draw(tmp_path / "sheets").asked.examples == ("Polite: “Go away.” is **no**: it is rude",)


def test_labels_of_something_else_correct_no_score(runs: list[Run], polite: Path, tmp_path: Path) -> None:
    """SEM-B was "corrected" by politeness, without a word."""
    kapwa.audit_sample(runs, tmp_path / "sheets", n=12, people=2, rubric=polite)
    fill(tmp_path / "sheets", "polite")
    audit = kapwa.audit_apply(runs, tmp_path / "sheets", out=tmp_path / "audit")
    assert not audit.corrects
    assert audit.metric == "polite"
    for name in ("automatic", "value", "bias", "saving"):
        assert audit.scores[name].null_count() == audit.scores.height, name
        assert audit.differences[name].null_count() == audit.differences.height, name
    assert set(audit.scores["reason"]) == {"no-scorer"}
    assert set(audit.scores["metric"]) == set(audit.differences["metric"]) == {"polite"}
    assert all("|metric:polite|" in signature for signature in audit.scores["signature"])
    assert audit.proposals.is_empty()
    key = read_draw(tmp_path / "sheets").key
    by_hand = key.filter(culture="US", system="B").with_columns(yes=pl.col("text").str.starts_with(OTHER).cast(float))
    (us,) = audit.scores.filter(culture="US", system="B").to_dicts()
    weights = 1 / by_hand["probability"]
    assert us["people"] == us["shown"] == pytest.approx((by_hand["yes"] * weights).sum() / weights.sum())
    block = audit_block(audit)
    told = " ".join([block.title, *block.sentences, *(table.caption for table in block.tables)])
    assert "right" not in told
    assert "the answer to “Is the answer polite?” is yes for" in told
    assert "The scorer says" not in told
    assert any("its labels correct no score" in note for note in block.notes)
    facts = json.loads((tmp_path / "audit" / "corrected.json").read_text(encoding="utf-8"))
    assert (facts["measures"], facts["corrects"]) == ("", False)


def test_labels_of_something_else_are_no_column_beside_the_scores(
    runs: list[Run], polite: Path, tmp_path: Path
) -> None:
    kapwa.audit_sample(runs, tmp_path / "sheets", n=6, people=1, rubric=polite)
    fill(tmp_path / "sheets", "polite")
    audits = audits_of(runs, [tmp_path / "sheets"])
    assert len(audits) == 1
    assert label_columns(arrange(runs), audits) == []


def test_a_judge_corrects_only_by_a_rubric_that_measures_the_same(
    runs: list[Run], polite: Path, tmp_path: Path
) -> None:
    kapwa.audit_sample(runs, tmp_path / "sheets", n=12, people=2, rubric=polite)
    fill(tmp_path / "sheets", "polite")
    other = judged(tmp_path, runs, load_rubric("correct").signed)
    with pytest.raises(UsageError, match=r"verdicts are by the rubric correct@.*people labelled by polite@") as caught:
        kapwa.audit_apply(runs, tmp_path / "sheets", scorer=other)
    assert "kapwa judge --rubric polite" in caught.value.hint
    same = judged(tmp_path, runs, read_draw(tmp_path / "sheets").rubric)
    audit = kapwa.audit_apply(runs, tmp_path / "sheets", scorer=same)
    assert audit.scores["automatic"].null_count() == 0
    assert audit.metric == "polite"
    # What the judge calls impolite and people polite is no wording for the key of right answers.
    assert audit.proposals.is_empty()
    assert not any("correct no score" in note for note in audit.notes)


def test_a_draw_says_what_its_rubric_measures_and_an_older_one_is_known_by_its_name(
    runs: list[Run], polite: Path, tmp_path: Path
) -> None:
    for rubric, measures in (("correct", "right"), (polite, "")):
        folder = tmp_path / name_of(load_rubric(rubric).signed)
        kapwa.audit_sample(runs, folder, n=5, people=1, rubric=rubric)
        file = folder / "draw.json"
        facts = json.loads(file.read_text(encoding="utf-8"))
        assert facts["asked"].pop("measures") == read_draw(folder).asked.measures == measures
        file.write_text(json.dumps(facts), encoding="utf-8")
        assert read_draw(folder).asked.measures == measures


def test_what_a_rubric_measures_is_no_part_of_its_version(polite: Path) -> None:
    """Nobody is asked it: labels from before go on counting."""
    before = load_rubric(polite).signed
    polite.write_text(f"{POLITE}measures: right\n", encoding="utf-8")
    assert load_rubric(polite).signed == before
    assert {name: load_rubric(name).measures for name in ("correct", "item-criteria", "tone")} == {
        "correct": "right",
        "item-criteria": "criteria",
        "tone": "",
    }


def test_a_plan_by_a_pilot_of_something_else_counts_its_labels_alone(
    runs: list[Run], polite: Path, tmp_path: Path
) -> None:
    kapwa.audit_sample(runs, tmp_path / "sheets", n=12, people=1, rubric=polite)
    fill(tmp_path / "sheets", "polite")
    planned = kapwa.audit_plan(runs, pilot=tmp_path / "sheets", half_width=0.2)
    assert set(planned["saving"]) == {1.0}
