"""Draws, labels and corrected scores: equal draws, known probabilities, refusals, and numbers that are right."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import polars as pl
import pytest
from audited import OTHER, WRONG, fill, is_right, planted_runs, rows_of, write_rows

import kapwa
import warm
from kapwa.errors import DataError, UsageError
from kapwa.labels.audits.audit import label_counts
from kapwa.labels.audits.draws import STRATUM, allocate, draw, population_of, read_draw
from kapwa.labels.audits.planning import plan_labels
from kapwa.labels.judges.selection import answers_to_judge
from kapwa.labels.rubrics import load_rubric
from kapwa.labels.verdicts import VERDICT_SCHEMA, read_verdicts
from kapwa.report import wording
from kapwa.report.board.audit import audit_block, audits_of, label_columns
from kapwa.report.board.ranks import ranked_task
from kapwa.report.board.verdicts import verdict_sentence
from kapwa.report.board.whole import board_of
from kapwa.report.view.comparisons import run_pairs
from kapwa.report.view.tasks import arrange
from kapwa.runs.finished_run import Run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return planted_runs(tmp_path_factory.mktemp("planted"))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Runs of one culture in which three answers were drawn to each question."""
    return planted_runs(tmp_path_factory.mktemp("several"), cultures=("US",), samples=3)


@pytest.fixture
def sheets(runs: list[Run], tmp_path: Path) -> Path:
    kapwa.audit_sample(runs, tmp_path / "sheets", n=9, people=2)
    return tmp_path / "sheets"


def first_sheet(folder: Path) -> Path:
    return sorted(folder.rglob("*-p1.csv"))[0]


# --- the draw ----------------------------------------------------------------------------------------------


def test_equal_arguments_give_equal_draws(runs: list[Run], tmp_path: Path) -> None:
    for name in ("one", "two"):
        kapwa.audit_sample(runs, tmp_path / name, n=5, seed=3)
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.suffix != ".xlsx"]
    for file in filter(lambda file: (tmp_path / "one" / file).is_file(), files):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    other = kapwa.audit_sample(runs, tmp_path / "other", n=5, seed=4).draw
    assert other.id != read_draw(tmp_path / "one").id
    assert set(other.key["item_id"]) != set(read_draw(tmp_path / "one").key["item_id"])


def test_a_draw_is_read_as_it_was_written(runs: list[Run], tmp_path: Path) -> None:
    drawn = kapwa.audit_sample(runs, tmp_path / "sheets", n=5)
    read = read_draw(tmp_path / "sheets")
    assert read.key.equals(drawn.draw.key)
    assert {name: value for name, value in vars(read).items() if name != "key"} == {
        name: value for name, value in vars(drawn.draw).items() if name != "key"
    }


def test_every_run_is_labelled_on_the_same_questions(runs: list[Run], tmp_path: Path) -> None:
    key = kapwa.audit_sample(runs, tmp_path / "sheets", n=5).draw.key
    assert key.group_by("culture", "system").len()["len"].to_list() == [5] * 4
    questions = [set(part["item_id"]) for _, part in key.group_by("system")]
    assert questions[0] == questions[1]


@pytest.mark.parametrize("doubtful", [True, False])
def test_the_recorded_probability_is_how_often_a_question_is_drawn(runs: list[Run], doubtful: bool) -> None:
    population = population_of(runs)
    seeds, counts, chances = 60, {}, {}
    for seed in range(seeds):
        made = draw(population, n=4, seed=seed, rubric="correct", doubtful=doubtful)
        for item, probability in made.key.unique("item_id").select("item_id", "probability").rows():
            counts[item] = counts.get(item, 0) + 1
            assert chances.setdefault(item, probability) == probability
    assert len(counts) == 30
    assert all(counts[item] == seeds for item, p in chances.items() if p == 1)
    unsure = {item: p for item, p in chances.items() if p < 1}
    errors = np.array([(counts[item] / seeds - p) / np.sqrt(p * (1 - p) / seeds) for item, p in unsure.items()])
    assert np.abs(errors).max() < 4
    assert (errors**2).sum() < 60  # chi-square with 30 degrees of freedom: p = .001 at 59.7


def test_doubtful_questions_are_drawn_more_often_and_the_others_still_are(runs: list[Run]) -> None:
    made = draw(population_of(runs[:1]), n=6, seed=1, rubric="correct", doubtful=True)
    for place in {tuple(part[name] for name in STRATUM) for part in made.strata}:
        parts = {p["doubtful"]: p for p in made.strata if tuple(p[name] for name in STRATUM) == place}
        assert parts[True]["n"] / parts[True]["N"] > parts[False]["n"] / parts[False]["N"] > 0
        assert sum(part["n"] for part in parts.values()) == 6


def test_a_part_is_never_drawn_more_often_than_it_has_questions() -> None:
    for n, doubtful, others in product(range(1, 31), (0, 1, 3, 20), (0, 1, 3, 20)):
        parts = allocate(n, doubtful, others)
        assert 0 <= parts[0] <= doubtful
        assert 0 <= parts[1] <= others
        assert sum(parts) == min(n, doubtful + others)
        assert n < 2 or min(parts) > 0 or 0 in (doubtful, others)


def test_of_several_samples_one_is_drawn_with_its_probability(several: list[Run], tmp_path: Path) -> None:
    drawn = kapwa.audit_sample(several, tmp_path / "sheets", n=20, people=1)
    assert drawn.draw.key["probability"].unique().to_list() == [1 / 3]
    assert drawn.draw.key["sample"].n_unique() == 3
    fill(tmp_path / "sheets")
    scores = kapwa.audit_apply(several, tmp_path / "sheets").scores
    assert scores["n"].to_list() == [45, 45]
    assert scores["labelled"].to_list() == [15, 15]


def test_sheets_are_blinded_and_one_text_is_read_once(runs: list[Run], sheets: Path) -> None:
    key = read_draw(sheets).key
    for sheet in sheets.rglob("*-p?.csv"):
        text = sheet.read_text(encoding="utf-8-sig")
        rows = rows_of(sheet)
        codes = [row[rows[0].index("answer")] for row in rows[1:]]
        assert len(codes) == len(set(codes))
        assert not any(f",{run.label}," in text or run.manifest["model"]["id"] in text for run in runs)
    shared = key.group_by("item_id", "text").agg(pl.col("answer").n_unique(), pl.col("system").n_unique())
    assert shared["answer"].to_list() == [1] * len(shared)
    assert 2 in shared["system"]
    orders = [[row[1] for row in rows_of(sheet)[1:]] for sheet in sorted((sheets / "Egypt").glob("*.csv"))]
    assert sorted(orders[0]) == sorted(orders[1]) != orders[0]
    assert orders[0] != orders[1]
    page = openpyxl.load_workbook(sheets / "Egypt" / "Egypt-p1.xlsx")
    assert page.sheetnames == ["form", "instructions"]
    assert "yes,no,cannot assess" in page["form"].data_validations.dataValidation[0].formula1


def test_a_folder_with_a_draw_is_refused(runs: list[Run], sheets: Path) -> None:
    with pytest.raises(UsageError, match="holds a draw already"):
        kapwa.audit_sample(runs, sheets, n=3)


def test_what_cannot_be_audited_is_refused(runs: list[Run], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="One question of each culture tells nothing of the others"):
        kapwa.audit_sample(runs, tmp_path / "one", n=1)
    with pytest.raises(UsageError, match="no metric 'sem_c'"):
        kapwa.audit_sample(runs, tmp_path / "x", metric="sem_c")
    with pytest.raises(UsageError, match="higher-is-better share"):
        kapwa.audit_sample(runs, tmp_path / "x", metric="refused")
    with pytest.raises(UsageError, match="no variant 'en/inst-5'"):
        kapwa.audit_sample(runs, tmp_path / "x", variant="en/inst-5")
    with pytest.raises(UsageError, match="one signature"):
        kapwa.audit_sample([runs[0], runs[0]], tmp_path / "x")
    assert not (tmp_path / "x").exists()


# --- labels ------------------------------------------------------------------------------------------------


def test_labels_correct_scores_and_their_difference(runs: list[Run], sheets: Path, tmp_path: Path) -> None:
    fill(sheets)
    audit = kapwa.audit_apply(runs, sheets, out=tmp_path / "result")
    frame = population_of(runs).frame
    key = read_draw(sheets).key
    for row in audit.scores.filter(pl.col("culture").is_not_null()).iter_rows(named=True):
        place = {name: row[name] for name in ("system", "culture")}
        whole, drawn = frame.filter(**place), key.filter(**place)
        weights = 1 / drawn["probability"].to_numpy()
        right = np.array([is_right(text) for text in drawn["text"]], dtype=float)
        assert row["automatic"] == pytest.approx(whole["value"].mean())
        assert row["people"] == pytest.approx((weights * right).sum() / weights.sum())
        assert (row["n"], row["labelled"]) == (15, 9)
        assert (row["use"], row["reason"]) == ("people", "few-labels")
        assert row["shown"] == row["people"]
        assert row["signature"].endswith(f"|audit:{audit.draw}|rubric:{audit.rubric}|labels:9")
    whole = audit.scores.filter(pl.col("culture").is_null())
    assert whole["strata"].to_list() == [2, 2]
    difference = audit.differences.filter(pl.col("culture").is_null()).to_dicts()[0]
    assert difference["family"] == "1 test of sem_b in the variant local/inst-4 (1 pair of runs, means over cultures)"
    assert difference["automatic"] > 0.2  # B's wordings are not in the key
    assert abs(difference["value"]) < difference["automatic"] / 2
    assert difference["low"] <= 0 <= difference["high"]
    missed = key.join(frame, on=["run", "item_id", "variant", "sample"]).filter(pl.col("value") == 0)["text"]
    assert set(audit.proposals["wording"]) == {text for text in missed if text.startswith(OTHER)} != set()
    assert not audit.agreement.filter(pl.col("coefficient") == "percent", pl.col("value") < 1).height
    read = pl.read_csv(tmp_path / "result" / "corrected.csv")
    assert read["shown"].to_list() == pytest.approx(audit.scores["shown"].to_list())
    told = json.loads((tmp_path / "result" / "corrected.json").read_text(encoding="utf-8"))
    assert told["corrected"][0]["signature"] == audit.scores["signature"][0]
    assert read_verdicts(tmp_path / "result" / "verdicts.csv").height == audit.verdicts.height


def test_p_values_of_several_pairs_are_adjusted_by_holms_method(tmp_path: Path) -> None:
    from statsmodels.stats.multitest import multipletests

    runs = planted_runs(tmp_path, models="ABC")
    kapwa.audit_sample(runs, tmp_path / "sheets", n=12, people=1)
    fill(tmp_path / "sheets", noise=0.1)
    audit = kapwa.audit_apply(runs, tmp_path / "sheets")
    for over in (pl.col("culture").is_null(), pl.col("culture").is_not_null()):
        tests = audit.differences.filter(over)
        rejected = multipletests(tests["p_value"].to_numpy(), method="holm")[1]
        assert tests["p_holm"].to_list() == pytest.approx(rejected.tolist())
        assert tests["family"].n_unique() == 1
        assert f"{tests.height} tests of sem_b" in tests["family"][0]
        assert (tests["p_holm"] > tests["p_value"]).any()
    (table,) = [table for table in audit_block(audit).tables if table.key == "audit-differences"]
    assert "3 pairs of runs" in table.note


def test_a_sheet_that_is_not_filled_in_is_told_where_others_are(runs: list[Run], sheets: Path, tmp_path: Path) -> None:
    unfilled = first_sheet(sheets)
    kept = unfilled.read_bytes()
    fill(sheets, noise=0.2, cannot=0.1)
    audit = kapwa.audit_apply(runs, sheets, out=tmp_path / "result")
    unfilled.write_bytes(kept)
    assert kapwa.audit_apply(runs, sheets).notes[0] == f"Not filled in: {unfilled.stem}."
    kapwa.audit_sample(runs, tmp_path / "empty", n=9, people=2)  # the same draw, labelled elsewhere
    elsewhere = kapwa.audit_apply(runs, [tmp_path / "empty", tmp_path / "result" / "verdicts.csv"])
    assert elsewhere.notes == audit.notes
    assert elsewhere.scores.equals(audit.scores)
    said = ("rater", "answer", "state", "value")
    assert elsewhere.verdicts.select(said).equals(audit.verdicts.select(said))


def test_one_run_of_a_draw_may_be_corrected_by_itself(runs: list[Run], sheets: Path) -> None:
    fill(sheets)
    both = kapwa.audit_apply(runs, sheets)
    alone = kapwa.audit_apply(runs[1], sheets)
    assert alone.scores.equals(both.scores.filter(system="B"))
    assert alone.differences.height == 0


def test_what_nobody_could_assess_is_neither_right_nor_wrong(runs: list[Run], sheets: Path) -> None:
    fill(sheets, cannot=0.2)
    audit = kapwa.audit_apply(runs, sheets)
    unsure = audit.verdicts.filter(state="cannot-assess")
    assert unsure.height > 0
    assert unsure["value"].null_count() == unsure.height
    assert any("cannot assess" in note for note in audit.notes)
    both = audit.verdicts.group_by("system", "item_id").agg(pl.col("value").count()).filter(pl.col("value") == 0)
    drawn = read_draw(sheets).key.height
    assert audit.scores.filter(pl.col("culture").is_not_null())["labelled"].sum() == drawn - both.height


def test_leniency_is_estimated_and_nesting_is_said(runs: list[Run], sheets: Path) -> None:
    fill(sheets, strict="Egypt-p2")
    audit = kapwa.audit_apply(runs, sheets)
    raters = {row["rater"]: row for row in audit.raters.to_dicts()}
    assert raters["Egypt-p2"]["leniency"] < -0.15
    assert raters["Egypt-p1"]["leniency"] == -raters["Egypt-p2"]["leniency"]
    assert raters["US-p1"]["leniency"] == 0
    assert any("labelled answers of all cultures" in note for note in audit.notes)
    for sheet in sheets.rglob("*-p1.csv"):  # one person labels both cultures
        rows = rows_of(sheet)
        write_rows(sheet, [[*rows[0], "rater"], *([*row, "Ana"] for row in rows[1:])])
    assert not any("of all cultures" in note for note in kapwa.audit_apply(runs, sheets).notes)


def change(sheet: Path, column: str, text: str, row: int = 1) -> None:
    rows = rows_of(sheet)
    rows[row][rows[0].index(column)] = text
    write_rows(sheet, rows)


def test_wrong_labels_are_refused_with_row_and_remedy(runs: list[Run], sheets: Path) -> None:
    fill(sheets)
    sheet = first_sheet(sheets)
    whole = sheet.read_bytes()
    for column, text, message in (
        ("right", "perhaps", "row 2, column 'right': 'perhaps' is neither yes, no nor 'cannot assess'"),
        ("answer", "A999", "row 2, column 'right': 'A999' was not drawn"),
        ("form_id", "audit-7-0a1b2c3d-Egypt-p1", "is of the draw audit-7-0a1b2c3d, not of audit-1-"),
    ):
        change(sheet, column, text)
        with pytest.raises(DataError) as error:
            kapwa.audit_apply(runs, sheets)
        assert message in error.value.summary
        assert error.value.hint
        sheet.write_bytes(whole)
    rows = rows_of(sheet)
    write_rows(sheet, [*rows, rows[1]])
    with pytest.raises(DataError, match="a second time"):
        kapwa.audit_apply(runs, sheets)


def test_a_column_that_was_sorted_by_itself_is_refused(runs: list[Run], sheets: Path) -> None:
    """Each label would be of the answer beside it, and no longer of the one that its person read."""
    fill(sheets)
    sheet = first_sheet(sheets)
    whole = rows_of(sheet)
    place = whole[0].index("response")
    write_rows(sheet, [whole[0], *sorted(whole[1:], key=lambda row: row[place])])  # whole rows may be sorted
    plain = kapwa.audit_apply(runs, sheets).scores
    moved = sorted(row[place] for row in whole[1:])
    rows = [[*row[:place], text, *row[place + 1 :]] for row, text in zip(whole[1:], moved, strict=True)]
    write_rows(sheet, [whole[0], *rows])
    with pytest.raises(DataError, match=r"column 'response': shows the answer 'A\d+', but the row is of 'A"):
        kapwa.audit_apply(runs, sheets)
    write_rows(sheet, whole)
    change(sheet, "response", "edited by hand")  # the code says which answer it is
    assert kapwa.audit_apply(runs, sheets).scores.equals(plain)


def test_labels_by_another_rubric_never_mix(runs: list[Run], sheets: Path, tmp_path: Path) -> None:
    fill(sheets)
    code = read_draw(sheets).key["answer"][0]
    more = tmp_path / "more.csv"
    more.write_text(f"rater,answer,right,rubric\nAna,{code},yes,correct@2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"by the rubric correct@2; the draw is labelled by correct@1\+"):
        kapwa.audit_apply(runs, [sheets, more])
    more.write_text(f"rater,answer,right,rubric\nAna,{code},yes,{read_draw(sheets).rubric}\n", encoding="utf-8")
    assert "Ana" in set(kapwa.audit_apply(runs, [sheets, more]).raters["rater"])


def test_labels_of_two_draws_are_applied_draw_by_draw(runs: list[Run], sheets: Path, tmp_path: Path) -> None:
    kapwa.audit_sample(runs, tmp_path / "later", n=9, seed=2)
    tables = []
    for folder in (sheets, tmp_path / "later"):
        answers = read_draw(folder).key.unique("answer")
        table = tmp_path / f"audit-{folder.name}.csv"
        answers.select("draw", "answer", rater=pl.lit("ana"), right=pl.lit("yes")).write_csv(table)
        audit = kapwa.audit_apply(runs, [folder, table])
        assert audit.raters["answers"].sum() == len(answers)
        shutil.copy(table, folder / "studio.csv")
        assert label_counts(folder)["missing"].to_list() == [0, 0]
        tables.append(table)
    with pytest.raises(DataError, match="Apply each draw by itself, with the labels of that draw"):
        kapwa.audit_apply(runs, [tmp_path / "later", tables[0]])


def test_a_sheet_that_is_named_twice_is_read_once(runs: list[Run], sheets: Path) -> None:
    fill(sheets)
    assert kapwa.audit_apply(runs, [sheets, first_sheet(sheets)]).verdicts.equals(
        kapwa.audit_apply(runs, sheets).verdicts
    )


def test_the_metric_and_variant_are_those_of_the_draw(runs: list[Run], sheets: Path) -> None:
    fill(sheets)
    assert kapwa.audit_apply(runs, sheets, metric="sem_b", variant="local/inst-4").metric == "sem_b"
    for wanted in ({"metric": "sem_w"}, {"variant": "all"}):
        with pytest.raises(UsageError, match=r"labels are of the draw audit-1-.*, not of"):
            kapwa.audit_apply(runs, sheets, **wanted)
        with pytest.raises(UsageError, match=r"labels are of the draw audit-1-.*, not of"):
            kapwa.audit_plan(runs, pilot=sheets, **wanted)


@pytest.mark.parametrize("code", ["response", "answer", "value", "draw"])
def test_a_criterion_that_is_called_as_a_column_is_refused_before_the_draw(
    runs: list[Run], tmp_path: Path, code: str
) -> None:
    rubric = tmp_path / "mine.yaml"
    rubric.write_text(
        "name: mine\nversion: '1'\ntitle: Mine\ninstruction: Judge.\n"
        f"criteria:\n- {{code: {code}, name: Mine, question: 'Is it right?'}}\n",
        encoding="utf-8",
    )
    with pytest.raises(UsageError, match=f"is called '{code}', as a column of the sheets is"):
        kapwa.audit_sample(runs, tmp_path / "out", n=5, rubric=rubric)


def test_a_draw_from_other_runs_is_refused(several: list[Run], sheets: Path) -> None:
    fill(sheets)
    with pytest.raises(DataError, match=r"A is not one of the runs drawn from: draw audit-1-.* is of A, B"):
        kapwa.audit_apply(several, sheets)


def test_without_a_draw_labels_are_read_but_correct_nothing(runs: list[Run], tmp_path: Path) -> None:
    frame = population_of(runs).frame.filter(culture="Egypt")
    chosen = [row for row in frame.iter_rows(named=True) if row["text"] != WRONG][:6]
    lines = [f"Ana,{row['item_id']},{row['system']},yes" for row in chosen]
    labels = tmp_path / "picked.csv"
    labels.write_text("\n".join(["rater,item_id,system,right", *lines, ""]), encoding="utf-8")
    with pytest.raises(UsageError, match=r"none of the folders named holds draw\.json") as error:
        kapwa.audit_apply(runs, labels)
    assert "--read-only" in str(error.value.hint)
    audit = kapwa.audit_apply(runs, labels, read_only=True)
    assert audit.scores.filter(pl.col("culture").is_not_null())["labelled"].sum() == 6
    assert audit.scores["value"].null_count() == audit.scores["people_low"].null_count() == audit.scores.height
    assert set(audit.scores["reason"]) == {"hand-picked"}
    assert audit.differences.height == 0
    differing = frame.group_by("item_id").agg(pl.col("text").n_unique()).filter(text=2)["item_id"][0]
    labels.write_text(f"rater,item_id,right\nAna,{differing},yes\n", encoding="utf-8")
    with pytest.raises(DataError, match="has 2 answers, and this row does not say which"):
        kapwa.audit_apply(runs, labels, read_only=True)


def test_a_judge_may_stand_as_the_scorer(runs: list[Run], sheets: Path, tmp_path: Path) -> None:
    fill(sheets)
    frame = population_of(runs).frame
    rows = [
        {"draw": "", "answer": "", "language": "x", "cluster": "x", "rater": "stub", "kind": "judge", "remark": ""}
        | {"rubric": "correct@1", "criterion": "right", "state": "judged", "value": float(is_right(row["text"]))}
        | {name: row[name] for name in ("run", "system", "item_id", "variant", "sample", "culture")}
        for row in frame.iter_rows(named=True)
    ]
    rows[0] |= {"state": "unparsed", "value": None}
    verdicts = pl.DataFrame(rows, schema=VERDICT_SCHEMA)
    # A table of verdicts names each answer once by rater and criterion.
    verdicts = verdicts.with_columns(answer=pl.concat_str("item_id", "system"))
    verdicts.write_csv(tmp_path / "judge.csv")
    audit = kapwa.audit_apply(runs, sheets, scorer=tmp_path / "judge.csv")
    known = {row["system"]: row for row in audit.scores.filter(culture="US").to_dicts()}
    assert known["B"]["bias"] == pytest.approx(0)  # this judge is always right
    assert "|scorer:stub,correct@1|audit:" in known["B"]["signature"]
    assert any("no verdict of the judge" in note for note in audit.notes)
    unread = verdicts.with_columns(state=pl.lit("unparsed"), value=pl.lit(None, pl.Float64))
    unread.write_csv(tmp_path / "prose.csv")
    with pytest.raises(DataError, match=f"verdicts on {frame.height} of these answers, and none that could be read"):
        kapwa.audit_apply(runs, sheets, scorer=tmp_path / "prose.csv")
    with pytest.raises(DataError, match=r"judge's verdict is no label"):
        kapwa.audit_apply(runs, [sheets, tmp_path / "judge.csv"])
    verdicts.filter(system="A").write_csv(tmp_path / "a.csv")
    with pytest.raises(DataError, match="verdicts are of no answer of B"):
        kapwa.audit_apply(runs, sheets, scorer=tmp_path / "a.csv")
    verdicts.with_columns(kind=pl.lit("person")).write_csv(tmp_path / "people.csv")
    with pytest.raises(UsageError, match="of 0 judges"):
        kapwa.audit_apply(runs, sheets, scorer=tmp_path / "people.csv")


# --- the plan ----------------------------------------------------------------------------------------------


def planned(agreement: float, *, pilot: int | None = None, **settings: Any) -> list[dict[str, Any]]:
    """The plan for 600 questions of two cultures; of a ``pilot``, so many labels of each are known."""
    random, rows = np.random.default_rng(1), []
    for culture in ("Assam", "US"):
        right = (random.random(600) < 0.5).astype(float)
        value = np.where(random.random(600) < agreement, right, 1 - right)
        drawn = np.arange(600) < (pilot or 0)
        rows += [
            {"system": "A", "culture": culture, "language": "en", "variant": "v", "cluster": str(i), "value": value[i]}
            | {"label": right[i] if drawn[i] else None, "probability": (pilot or 0) / 600 if drawn[i] else None}
            | {"stratum": culture, "item_id": f"{culture}{i}"}
            for i in range(600)
        ]
    frame = pl.DataFrame(rows, schema_overrides={"label": pl.Float64, "probability": pl.Float64})
    assumed = {} if pilot else {"agreement": agreement}
    return plan_labels(frame, half_width=0.08, **assumed, **settings).to_dicts()


@pytest.mark.parametrize("pilot", [None, 60])
def test_a_plan_says_how_many_labels_and_when_the_scorer_saves_none(pilot: int | None) -> None:
    for row in planned(0.95, pilot=pilot, seconds=60):
        assert row["use"] == "corrected"
        assert row["labels"] == row["corrected"] < 0.6 * row["people"]
        assert row["hours"] == pytest.approx(row["answers"] / 60)
        assert row["answers"] == row["labels"]
        assert row["grounds"] == ("its own labels" if pilot else "assumed")
    for row in planned(0.5, pilot=pilot):
        assert (row["use"], row["reason"]) == ("people", "no-saving")
        assert 140 < row["labels"] == row["people"] < 170  # .25 × 1.96² / .08² = 150


def test_a_plan_of_several_samples_is_of_questions(several: list[Run]) -> None:
    plan = kapwa.audit_plan(several, half_width=0.3)
    assert plan["questions"].to_list() == [15]
    assert (plan["labels"] <= 15).all()


def test_a_plan_takes_runs_and_a_pilot(runs: list[Run], sheets: Path) -> None:
    fill(sheets)
    assert set(kapwa.audit_plan(runs, half_width=0.3)["answers"]) <= {2 * n for n in range(1, 16)}
    assert set(kapwa.audit_plan(runs, half_width=0.3, pilot=sheets)["grounds"]) <= {"its own labels", "all labels"}
    with pytest.raises(UsageError, match="There is no plan for an interval of ± 0 on 15 answers"):
        kapwa.audit_plan(runs, half_width=0)


def test_a_report_holds_what_labels_say(runs: list[Run], several: list[Run], sheets: Path, tmp_path: Path) -> None:
    fill(sheets)
    page = kapwa.write_report(runs, tmp_path / "report.html", people=[sheets]).read_text(encoding="utf-8")
    assert "Right answers by the scorer, by people, and corrected" in page
    assert "people would call" not in page  # four people do not speak for others
    assert "as these 4 people see the answers, " in page
    assert "; as these 4 people label it: " in page
    assert "As people label it (blend/saq, audit-1-" in page
    kapwa.write_report(runs, tmp_path / "board", people=[sheets])
    columns = json.loads((tmp_path / "board" / "tables" / "board.json").read_text(encoding="utf-8"))
    signed = [signature for signature in columns["signature"] if signature]
    assert signed == list(kapwa.audit_apply(runs, sheets).scores.filter(pl.col("culture").is_null())["signature"])
    audit = kapwa.audit_apply(runs, sheets)
    kapwa.audit_sample(runs, tmp_path / "empty", n=9, people=2)  # the same draw, labelled elsewhere
    (tmp_path / "labels").mkdir()
    audit.verdicts.write_csv(tmp_path / "labels" / "studio.csv")
    elsewhere = [tmp_path / "empty", tmp_path / "labels"]
    again = kapwa.write_report(runs, tmp_path / "again.html", people=elsewhere).read_text(encoding="utf-8")
    assert again == page  # the sheets that nobody used are not held against anybody
    with pytest.raises(DataError, match=f"labels of the draw {audit.draw}, which is not named"):
        kapwa.write_report(runs, tmp_path / "again.html", people=[tmp_path / "labels"])
    with pytest.raises(UsageError, match="a draw from none of these runs"):
        kapwa.write_report(several, tmp_path / "report.html", people=[sheets])


def test_labels_of_two_draws_stand_apart_on_a_page_and_in_files(runs: list[Run], sheets: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    kapwa.audit_sample(runs, second, n=6, seed=7, people=1)
    fill(sheets)
    fill(second)
    words = ("-o", "r.html", "--people", str(sheets), "--people", str(second), "--csv", "csv")
    assert warm.kapwa("report", *(str(run.path) for run in runs), *words, cwd=tmp_path).returncode == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for folder, name in ((sheets, "audit-scores.csv"), (second, "audit-scores-2.csv")):
        draw_id = read_draw(folder).id
        assert f"(draw {draw_id})" in page
        signatures = pl.read_csv(tmp_path / "csv" / "people" / name)["signature"].drop_nulls()
        assert signatures.str.contains(draw_id).all()


def test_one_culture_in_two_languages_is_not_called_two_cultures(runs: list[Run], sheets: Path) -> None:
    fill(sheets)
    audit = kapwa.audit_apply(runs, sheets)
    assert any("2 cultures" in line for line in audit_block(audit).sentences)
    known = pl.col("culture").is_not_null()
    as_one = {
        name: frame.with_columns(culture=pl.when(known).then(pl.lit("Egypt")))
        for name, frame in (("scores", audit.scores), ("differences", audit.differences))
    }
    sentences = audit_block(replace(audit, **as_one)).sentences
    assert any("2 pairs of culture and language" in line for line in sentences)
    assert not any("2 cultures" in line for line in sentences)


def test_numbers_to_read_stand_first_so_that_a_phone_shows_them(runs: list[Run], sheets: Path) -> None:
    fill(sheets)
    for table in audit_block(kapwa.audit_apply(runs, sheets)).tables:
        assert table.head[1:4] == ["Corrected", "People alone", "Scorer"]
        assert {row[0].small for row in table.rows} == {"Egypt, ar", "US, en", "mean of 2"}


def test_labels_of_a_draw_are_read_with_its_folder(runs: list[Run], sheets: Path) -> None:
    """--read-only is no way around the draw: the codes on its sheets are its own."""
    fill(sheets)
    with pytest.raises(DataError, match="not of answers that somebody picked") as error:
        kapwa.audit_apply(runs, first_sheet(sheets), read_only=True)
    assert "--labels FOLDER" in str(error.value.hint)


@pytest.mark.parametrize(
    "arguments",
    [
        ["label", "plan", "{run}", "--half-width", "5"],
        ["label", "plan", "{run}", "--agreement", "1.5"],
        ["doctor", "{sheets}", "--salvage"],
    ],
)
def test_options_that_cannot_be_are_named(
    runs: list[Run], sheets: Path, arguments: list[str], refused: Callable[..., str]
) -> None:
    places = {"run": str(runs[0].path), "sheets": str(sheets)}
    said = refused(*(word.format(**places) for word in arguments))
    assert next(word for word in arguments if word.startswith("--")) in said


def test_the_board_has_a_column_of_what_people_label_which_changes_no_rank(runs: list[Run], sheets: Path) -> None:
    fill(sheets)
    plain, board = board_of(runs), board_of(runs, people=[sheets])
    audit = kapwa.audit_apply(runs, sheets)
    assert board.head[:2] == plain.head
    assert board.head[2:] == [f"As people label it (blend/saq, {audit.draw}, {audit.rubric})"]
    assert [cells[:2] for cells in board.rows] == plain.rows
    assert board.frame.filter(pl.col("draw").is_null())[plain.frame.columns].equals(plain.frame)
    labelled = board.frame.filter(pl.col("draw").is_not_null()).to_dicts()
    whole = {row["system"]: row for row in audit.scores.filter(pl.col("culture").is_null()).to_dicts()}
    assert {row["system"] for row in labelled} == set(whole) == {"A", "B"}
    for row in labelled:
        score = whole[row["system"]]
        assert (row["value"], row["low"], row["high"]) == (score["shown"], score["shown_low"], score["shown_high"])
        assert (row["use"], row["signature"], row["n"]) == (score["use"], score["signature"], score["labelled"])
        assert (row["draw"], row["rubric"], row["rank_low"]) == (audit.draw, audit.rubric, None)
    cells = {cells[0].text: cells[2] for cells in board.rows}
    assert cells["A"].text == f"{100 * whole['A']['shown']:.1f}%"
    assert cells["A"].small.endswith(f"; {whole['A']['use']}")
    assert cells["Ceiling"].text == "–"
    assert "It changes no rank." in board.note


@pytest.fixture(scope="module")
def far_apart(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    """Runs that differ clearly by the matcher."""
    cultures = ("Egypt", "Mexico", "Philippines", "South_Korea", "US")
    return planted_runs(tmp_path_factory.mktemp("far"), cultures=cultures)


def test_a_verdict_on_two_systems_carries_their_difference_as_people_label_it(
    far_apart: list[Run], tmp_path: Path
) -> None:
    view = arrange(far_apart)[0]
    pairs, single = ranked_task(view).pairs, run_pairs(view)
    kapwa.audit_sample(far_apart, tmp_path / "sheets", n=12)
    fill(tmp_path / "sheets")
    labelled = label_columns([view], audits_of(far_apart, [tmp_path / "sheets"]))
    audit = kapwa.audit_apply(far_apart, tmp_path / "sheets")
    (pair,) = audit.differences.filter(pl.col("culture").is_null()).to_dicts()
    told = verdict_sentence(view, pairs, single, labelled)
    shown = [wording.change(pair[name], wording.SHARE) for name in ("shown", "shown_low", "shown_high")]
    assert (pair["a"], pair["b"]) == ("A", "B")
    assert told.startswith("blend/saq: A is better than B by ")
    clause = f"; as people label it: {shown[0]} points ({shown[1]} to {shown[2]})."
    assert told.endswith(clause)
    turned = [{**pairs[0], "a": "B", "b": "A", "difference": -pairs[0]["difference"]}]
    turned[0] |= {"low": -pairs[0]["high"], "high": -pairs[0]["low"]}
    other_way = verdict_sentence(view, turned, single, labelled)
    assert other_way.startswith("blend/saq: A is better than B by ")
    assert other_way.endswith(clause)
    fewer = labelled[0]._replace(
        draw="audit-2-fewer", differences={("A", "B"): {**pair, "shown": 0.9, "labelled": pair["labelled"] - 1}}
    )
    of_two = verdict_sentence(view, pairs, single, [fewer, *labelled])
    assert of_two == told.replace("as people label it:", f"as people label it (draw {audit.draw}):")
    backwards = [column._replace(differences={("B", "A"): _turned(pair)}) for column in labelled]
    assert verdict_sentence(view, pairs, single, backwards) == told


def _turned(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "shown": -row["shown"], "shown_low": -row["shown_high"], "shown_high": -row["shown_low"]}


def test_without_labels_a_verdict_says_how_far_the_matchers_error_could_carry_it(far_apart: list[Run]) -> None:
    view = arrange(far_apart)[0]
    single = run_pairs(view)
    told = verdict_sentence(view, ranked_task(view).pairs, single)
    (share,) = single.filter(pl.col("culture").is_null(), metric=view.main_metric)["undone_by"]
    expected = f"This verdict would fall if {wording.tidy_share(share)} of the answers judged wrong were in fact right"
    assert told.endswith(f". {expected}, on the side of B only.")


def test_a_run_that_is_judged_anew_is_known_by_its_answers(runs: list[Run], sheets: Path, tmp_path: Path) -> None:
    """Another rule of judging changes a run's signature; labels, judges and reports know its answers all the same."""
    fill(sheets)
    anew = []
    for run in runs:
        folder = tmp_path / "anew" / run.path.name
        shutil.copytree(run.path, folder)
        manifest = (folder / "run.json").read_text(encoding="utf-8")
        signature = json.dumps(run.manifest["signature"], ensure_ascii=False)
        (folder / "run.json").write_text(manifest.replace(signature, signature[:-1] + '|rules:2"'), encoding="utf-8")
        anew.append(kapwa.open_run(folder))
        assert anew[-1].manifest["signature"] != run.manifest["signature"]
    before, after = (kapwa.audit_apply(members, sheets) for members in (runs, anew))
    assert before.scores.drop("signature").equals(after.scores.drop("signature"))
    page = kapwa.write_report(anew, tmp_path / "report.html", people=[sheets])
    assert "What people say of" in page.read_text(encoding="utf-8")
    rubric = load_rubric("correct")
    drawn = [answers_to_judge(members, rubric, draw=sheets)[0] for members in (runs, anew)]
    codes = [[answer.columns["answer"] for answer in answers] for answers in drawn]
    assert codes[0] == codes[1]
    assert len(codes[0]) == read_draw(sheets).key.height
    # A judge that read the answers before they were judged anew still stands as the scorer.
    rows = population_of(runs).frame.with_columns(
        **{name: pl.lit("") for name in ("draw", "answer", "remark")},
        **{"rater": pl.lit("stub"), "kind": pl.lit("judge"), "rubric": pl.lit("correct@1")},
        **{
            "criterion": pl.lit("right"),
            "state": pl.lit("judged"),
            "value": (pl.col("text").str.strip_chars() != WRONG).cast(pl.Float64),
        },
    )
    rows.select(*VERDICT_SCHEMA).write_csv(tmp_path / "judge.csv")
    assert kapwa.audit_apply(anew, sheets, scorer=tmp_path / "judge.csv").scores["bias"].abs().max() == 0


def test_the_head_of_the_page_says_what_was_measured() -> None:
    root = Path(__file__).parents[2]
    page = " ".join((root / "docs" / "how-to" / "audit-a-score.md").read_text(encoding="utf-8").split())
    measured = json.loads((root / "benchmarks" / "results" / "audits.json").read_text(encoding="utf-8"))
    found = {country: f"{100 * share:.0f} %" for country, share in measured["hidden_wording_found_by_country"].items()}
    audit = next(audit for audit in measured["audits"] if audit["favours_doubtful"])
    difference, low, high, p_value = measured["raw_difference"]
    scores = measured["raw"][0]
    corrected = [f"{100 * value:+.1f}".replace("-", "−") for value in audit["difference"]]
    for said in (
        f"judged right {100 * measured['hidden_wording_found']:.0f} % of the time: Amharic {found['Ethiopia']}",
        f"Korean {found['North_Korea']} and {found['South_Korea']}, Chinese {found['China']}, English {found['US']}",
        f"{100 * scores[1]:.1f} % against {100 * scores[0]:.1f} %",
        f"{100 * difference:.1f} points ({100 * low:.1f} to {100 * high:.1f})",
        f"{corrected[0][1:]} points ({corrected[1]} to {corrected[2]})",
        f"± {100 * audit['half_width']:.1f} points (± {100 * audit['half_width_people_alone']:.1f} from",
        f"{np.floor(10 * audit['scores_held']) / 10:.1f} % of the intervals",
    ):
        assert said in page
    assert p_value < 0.001
    assert found["UK"] == "100 %"
    assert (audit["draws"], audit["n"], audit["difference_called_real"]) == (1000, 60, 0.0)
