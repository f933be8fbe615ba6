"""What the page says of how reliable its ranks are, how differences vary over items, and what all wordings say."""

import numpy as np
import polars as pl
import pytest
from pages import Page, assert_sound, render_page
from report_fixtures import CULTURES, make_run, view_of, wide_run

from kapwa.report.board.ranks import in_variants, ranked_task
from kapwa.report.board.reliability import reliability_table
from kapwa.report.sentences.wordings import every_wording_sentence
from kapwa.report.tables.differences import with_item_changes
from kapwa.report.view.comparisons import run_pairs
from kapwa.stats.reliability import system_reliability

FEW = {"cultures": tuple(CULTURES)[:5], "per_culture": 20}


def test_the_table_ranks_systems_by_their_scores_and_cultures_by_what_they_are_compared_on() -> None:
    runs = [wide_run(f"org/m{k}", skill=0.08 * k, variants=("local/inst-4",), **FEW) for k in range(5)]
    view = view_of(*runs)
    table = reliability_table([view])
    systems, cultures = table.frame.to_dicts()
    assert (systems["what"], systems["ranked"], systems["others"]) == ("systems", 5, 5)
    assert (cultures["what"], cultures["ranked"], cultures["others"]) == ("cultures", 5, 5)
    scores = np.array([view.item_scores(k, view.main_metric).sort("culture", "item_id")["value"] for k in range(5)])
    places = view.item_scores(0, view.main_metric).sort("culture", "item_id")
    wanted = system_reliability(scores, places["culture"].to_list(), places["cluster"].to_list())
    assert systems["reliability"] == pytest.approx(wanted.coefficient)
    assert systems["items_needed"] == np.ceil(wanted.lengths * 20)
    assert table.rows[0][0].text == "5 systems"
    page = Page(render_page(runs))
    assert_sound(page)
    assert "How reliable are the ranks?" in page.text
    assert f"{wanted.coefficient:.2f}" in table.rows[0][1].text
    # What a system did not answer is left out of all.
    lost = pl.col("item_id") == runs[0].scores["item_id"][0]
    runs[1].scores = runs[1].scores.with_columns(value=pl.when(~lost).then("value"))
    assert reliability_table([view_of(*runs)]).frame["left_out"][0] == 1


def test_few_systems_of_one_culture_have_no_such_section() -> None:
    runs = [make_run(f"org/m{k}", cultures=("Filipino",)) for k in range(3)]
    assert reliability_table([view_of(*runs)]) is None
    assert "How reliable are the ranks?" not in Page(render_page(runs)).text


def test_a_difference_over_items_is_that_of_the_items_both_have() -> None:
    view = view_of(*(wide_run(f"org/m{k}", skill=0.1 * k, **FEW) for k in range(2)))
    rows = with_item_changes(run_pairs(view), view).filter(metric=view.main_metric).to_dicts()
    assert len(rows) == 6  # over all cultures, and in each
    one = rows[-1]
    values = [
        view.answered_item_scores(k, view.main_metric).filter(culture=one["culture"]).sort("item_id") for k in (0, 1)
    ]
    change = (values[0]["value"] - values[1]["value"]).to_numpy()
    assert one["item_sd"] == pytest.approx(change.std())
    assert one["items_reversed"] == pytest.approx((change * change.mean() < 0).mean())


def test_what_all_wordings_say_is_one_sentence() -> None:
    runs = [wide_run(f"org/m{k}", skill=0.25 * k, **FEW) for k in range(3)]
    three = said(runs)
    assert three.startswith("Over both wordings, ")
    assert "of 3 pairs of models" in three
    two = said(runs[::2])
    assert two.startswith("Over both wordings, ")
    assert "is ahead of" in two
    assert "beyond noise in 2; the difference is +" in two
    assert said(runs[:1]) == ""
    assert said([make_run(f"org/s{k}", variants=("full",)) for k in range(2)]) == ""
    # The worse system wins in the second wording.
    turned = runs[2].manifest["selection"]["variants"] if "selection" in runs[2].manifest else view_of(*runs).variants
    best, worst = (pl.col("metric") == view_of(*runs).main_metric) & (pl.col("variant") == turned[2]), runs[0]
    worst.scores = worst.scores.with_columns(value=pl.when(best).then(1.0).otherwise("value"))
    assert "none is told apart in opposite orders" in three
    assert "are told apart in opposite orders" in said(runs)


def said(runs: list) -> str:
    view = view_of(*runs)
    return every_wording_sentence(view, {one.view.variant: one.pairs for one in in_variants(ranked_task(view))})
