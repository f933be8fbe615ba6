"""Cultures are compared on the share of what people score: words, order, ranks, map, CSV; models are one family."""

import csv
import io
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.simulations.people_shares import votes
from pages import Page, printed, render_page
from report_fixtures import CULTURES, MadeRun, wide_run

from kapwa.records import Floor
from kapwa.report.charts.rows import culture_charts
from kapwa.report.sentences.cultures import across_sentences
from kapwa.report.sentences.scores import readings, score_sentence
from kapwa.report.tables.differences import comparison_table
from kapwa.report.tables.scores import culture_table
from kapwa.report.terminal.runs import render_run
from kapwa.report.view.means import language_gaps
from kapwa.report.view.tasks import TaskView, arrange
from kapwa.runs.floors import floor_tables
from kapwa.runs.schema import CEILINGS
from kapwa.stats.estimate_tables import estimate_table
from kapwa.stats.significance import holm
from kapwa.stats.spread import culture_spread

VARIANT, PERSON, QUESTIONS = "en/inst-4", "a person (leave one out)", 240
TITLES = {"sem_b_loo": "SEM-B by keys without one person's answer"}


def answering(model: str, knows: float = 1.0, *, cultures: tuple[str, ...] = tuple(CULTURES), seed: int = 1) -> MadeRun:
    """A run of a model that answers as a person there to the share ``knows`` of questions, with people's own scores."""
    made = wide_run(model, cultures=cultures, variants=(VARIANT,), per_culture=QUESTIONS)
    frame = made.scores.filter(metric="sem_b").sort("culture", "cluster")
    random = np.random.default_rng(seed)
    codes, places = np.unique(frame["culture"].to_numpy(), return_inverse=True)
    questions = np.unique(frame["cluster"].to_numpy(), return_inverse=True)[1]
    person, fair, whole = votes(random, places, questions, np.full(len(codes), knows))
    loo = frame.with_columns(metric=pl.lit("sem_b_loo"), value=pl.Series(fair[0]), outcome=pl.lit("scored"))
    own = frame.with_columns(value=pl.Series(whole[0]), outcome=pl.lit("right"))
    made.scores = pl.concat([own, loo])
    info = {**made.manifest["metrics"]["sem_b"], "name": "sem_b_loo", "title": TITLES["sem_b_loo"]}
    made.manifest["metrics"] = {"sem_b": made.manifest["metrics"]["sem_b"], "sem_b_loo": info}
    made.manifest["headline"] = ["sem_b"]
    made.estimates = estimate_table(made.scores, metrics={"sem_b": True, "sem_b_loo": True}, groups=("topic",))
    items: list[Any] = [
        SimpleNamespace(id=row["item_id"], variant=VARIANT, culture=row["culture"], cluster=row["cluster"])
        for row in frame.iter_rows(named=True)
    ]
    floors = []
    for k, culture in enumerate(codes):
        h = person[places == k]
        floors.append(Floor("sem_b", VARIANT, PERSON, float(h.mean()), "ceiling", culture, None, None, h, "sem_b_loo"))
    kinds = {name: {"binary": True, "share": True} for name in ("sem_b", "sem_b_loo")}
    made.floors, made.tables[CEILINGS] = floor_tables(floors, items, made.scores, kinds)
    return made


@pytest.fixture(scope="module")
def view() -> TaskView:
    """One model that answers as a person there, where people agree more or less from culture to culture."""
    return arrange([answering("org/local", seed=4)])[0]


def test_who_answers_as_people_do_everywhere_is_not_said_to_differ_between_cultures(view: TaskView) -> None:
    items = view.answered_item_scores(0, "sem_b")
    raw = culture_spread(items["value"].to_numpy(), items["culture"].to_list(), items["cluster"].to_list())
    assert raw.p_value < 0.001  # what was said before
    said = across_sentences(view)[0]
    measured = "Compared on the share of what people score in each culture, differences between cultures cannot be told"
    assert f". {measured} from noise (p = " in said
    assert all(rank == (1, 16) for rank in (view.pooled_value_and_rank(0, s, "sem_b")[1:] for s in view.subjects))


def test_what_is_compared_is_the_share_that_stands_beside_the_score(view: TaskView) -> None:
    compared = view.compared("sem_b")
    assert compared.words == "share of what people score"
    means = compared.items[0].group_by("culture").agg(pl.col("value").mean())
    x = view.answered_item_scores(0, "sem_b_loo").select("item_id", "culture", "value")
    h = view.runs[0].tables[CEILINGS].select("item_id", people="value")
    sums = x.join(h, on="item_id").group_by("culture").agg(share=pl.col("value").sum() / pl.col("people").sum())
    for culture, mean, share in means.join(sums, on="culture").iter_rows():
        top = view.marks(next(s for s in view.subjects if s.culture == culture), "sem_b").ceiling
        assert mean == pytest.approx(share)
        assert mean == pytest.approx(top.relative)
        assert top.paired_with == "sem_b_loo"
    # The metric that is divided is itself held against nothing: it is compared as it is.
    assert view.compared("sem_b_loo").words == "score"


def test_order_and_csv_go_by_the_share_and_say_so(view: TaskView) -> None:
    spread = view.compared("sem_b").spreads[0]
    shares = dict(zip(spread.cultures, spread.partial, strict=True))
    assert view.by_score("sem_b") == sorted(view.subjects, key=lambda s: (-shares[s], s.label))
    table = culture_table(view, "sem_b")
    assert "Order and ranks are by the share of what people score." in table.note
    assert f"Of people’s score: sem_b_loo ({TITLES['sem_b_loo']}) divided by what people score." in table.note
    assert all(
        re.search(r"% \(\d+–\d+%\) of people’s score by sem_b_loo; rank 1–16$", row[1].small) for row in table.rows
    )
    # No share stands on the axis of scores.
    assert all(dot.partial is None for line in culture_charts(view, "sem_b")[0].lines for dot in line.dots)
    rows = list(csv.DictReader(io.StringIO(table.csv)))
    estimates = {s.culture: view.estimate(0, s, "sem_b")["value"] for s in view.subjects}
    assert len(rows) == 16
    for row in rows:
        subject = next(s for s in view.subjects if s.culture == row["culture"])
        assert float(row["value"]) == pytest.approx(estimates[subject.culture])
        assert float(row["partially_pooled"]) == pytest.approx(shares[subject])
        assert (row["compared"], row["of_ceiling_metric"]) == ("share of what people score", "sem_b_loo")
        loo = view.estimate(0, subject, "sem_b_loo")["value"]
        assert float(row["of_ceiling"]) == pytest.approx(loo / float(row["ceiling"]))


def test_the_share_names_the_number_that_it_divides_on_page_and_terminal(view: TaskView) -> None:
    shown = printed(render_run(answering("org/single", cultures=("Spain",))), 120)
    assert re.search(r"\d+% \(\d+–\d+%\) of people’s score by sem_b_loo", " ".join(shown.split()))
    few = arrange([answering("org/few", cultures=("Spain",))])[0]
    for reading in readings(few, few.subjects[0]):
        assert re.search(r", at \d+% \(\d+–\d+%\) of it by sem_b_loo\.$", score_sentence(reading))
    text = " ".join(" ".join(Page(render_page(view.runs)).words).split())
    assert "Compared on the share of what people score in each culture, differences between cultures" in text
    assert "of people’s score by sem_b_loo" in text


def test_a_culture_whose_people_are_not_known_item_by_item_makes_all_compared_by_score() -> None:
    run = answering("org/local")
    told = run.tables[CEILINGS]
    run.tables[CEILINGS] = told.filter(~pl.col("item_id").str.starts_with("Greece/"))
    lacking = arrange([run])[0]
    assert lacking.compared("sem_b").words == "score"
    assert "Order and ranks are by the score." in culture_table(lacking, "sem_b").note
    assert "Compared on" not in across_sentences(lacking)[0]
    # And an older run, without the table, beside one that has it: one unit for both.
    older = answering("org/older", 0.5, seed=2)
    del older.tables[CEILINGS]
    run.tables[CEILINGS] = told
    both = arrange([run, older])[0]
    assert both.compared("sem_b").words == "score"
    assert all(len(one.columns) for one in both.compared("sem_b").items)


def test_models_are_one_family_and_no_rank_is_told_where_it_does_not_reject() -> None:
    runs = [answering(f"org/m{seed}", 0.6, seed=seed) for seed in range(12, 17)]
    alone = [arrange([run])[0].compared("sem_b").spreads[0] for run in runs]
    several = arrange(runs)[0].compared("sem_b").spreads
    assert [one.p_value for one in several] == pytest.approx(holm([one.p_value for one in alone]).tolist())
    assert min(one.p_value for one in alone) < 0.05 <= min(one.p_value for one in several)
    for one in several:
        assert (one.rank_low.tolist(), one.rank_high.tolist()) == ([1] * 16, [16] * 16)
    assert ", corrected for 5 models)" in across_sentences(arrange(runs)[0])[0]


def test_cultures_of_one_language_are_compared_on_the_share_too() -> None:
    view = arrange([answering("org/local"), answering("org/other", 0.6, seed=3)])[0]
    # Languages are the data's; here every culture was asked in English, as in the release's English prompts.
    gaps = language_gaps(view)
    assert not gaps.height
    for run in view.runs:
        spoken = {name: facts[0] for name, facts in CULTURES.items()}
        for table in ("scores", "estimates"):
            frame = getattr(run, table)
            setattr(run, table, frame.with_columns(language=pl.col("culture").replace_strict(spoken)))
    gaps = language_gaps(arrange(view.runs)[0])
    assert set(gaps["compared"]) == {"share of what people score"}
    compared = arrange(view.runs)[0].compared("sem_b")
    means = (
        pl.concat([one.select("culture", "value") for one in compared.items]).group_by("culture").agg(pl.mean("value"))
    )
    by_name = dict(means.iter_rows())
    row = (
        gaps.filter(a="Spain").row(0, named=True) if "Spain" in gaps["a"] else gaps.filter(b="Spain").row(0, named=True)
    )
    assert row["a_value"] == pytest.approx(by_name[row["a"]])
    assert row["difference"] == pytest.approx(by_name[row["a"]] - by_name[row["b"]])


def test_the_gap_in_scores_stands_beside_the_gap_in_shares() -> None:
    """North Korea had the larger share and the lower score; the table said only "North Korea higher by 10.8"."""
    run = answering("org/local")
    spoken = {name: facts[0] for name, facts in CULTURES.items()}
    for table in ("scores", "estimates"):
        frame = getattr(run, table)
        setattr(run, table, frame.with_columns(language=pl.col("culture").replace_strict(spoken)))
    view = arrange([run])[0]
    row = next(one for one in language_gaps(view).to_dicts() if "Korea" in one["a"])
    scores = {s.label: view.estimate(0, s, "sem_b")["value"] for s in view.subjects}
    assert row["score_difference"] == pytest.approx(scores[row["a"]] - scores[row["b"]])
    assert (row["a_score"], row["b_score"]) == pytest.approx((scores[row["a"]], scores[row["b"]]))
    assert row["score_low"] < row["score_difference"] < row["score_high"]
    assert row["difference"] != pytest.approx(row["score_difference"])
    table = comparison_table(view, language_gaps(view), "gaps", "")
    assert "Of the score itself" in [column.head for column in table.columns]
    assert "may have the larger share and the lower score" in table.note
