"""What the report says of wordings and draws: where the variance comes from, and how far the ranking moves."""

from typing import Any

import numpy as np
import polars as pl
from pages import Page, assert_sound, render_page
from report_fixtures import CULTURES, WIDE_VARIANTS, MadeRun, make_run, view_of, wide_run

from kapwa.report.charts.wordings import wordings_chart
from kapwa.report.sentences.wordings import order_sentence
from kapwa.report.tables.variance import variance_table
from kapwa.report.view.wordings import score_grid, wordings_of
from kapwa.stats.components import variance_components


def sampled(run: MadeRun, samples: int, seed: int) -> MadeRun:
    """The same run with several draws of every answer."""
    rng = np.random.default_rng(seed)
    parts = [run.scores.with_columns(sample=pl.lit(k, pl.Int64)) for k in range(samples)]
    parts[1:] = [one.with_columns(value=pl.Series(rng.random(one.height).round(0))) for one in parts[1:]]
    run.scores = pl.concat(parts)
    return run


def test_the_table_holds_the_components_of_the_scores() -> None:
    view = view_of(sampled(wide_run(per_culture=12), 3, 1))
    variants = wordings_of(view)
    assert len(variants) == 2  # of four variants those in the language of the first
    grid = score_grid(view, 0, variants)
    assert grid.values.shape == (16 * 12, 2, 3)
    scores = view.runs[0].scores.filter(metric=view.main_metric, variant=variants[1], sample=2)
    row = scores.row(7, named=True)
    assert grid.values[grid.units.index((row["culture"], row["item_id"])), 1, 2] == row["value"]
    table = variance_table(view)
    wanted = variance_components(grid.values, [culture for culture, _ in grid.units])
    rows = pl.read_csv(table.csv.encode()).to_dicts()
    for one, found in zip(wanted.components, rows, strict=True):
        assert (found["component"], found["items"], found["prompts"], found["samples"]) == (one.name, 192, 2, 3)
        assert abs(found["variance"] - one.variance) < 1e-9
    shares = [int(row[3].text.rstrip("%")) for row in table.rows if row[3].text != "–"]
    assert 90 <= sum(shares) <= 103
    cells = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    assert cells["wordings of the prompt"] == ["–", "not known from 2 wordings", "–", "–"]
    named = {one.name: one for one in wanted.components}
    sample = [round(100 * part**0.5, 1) for part in (named["sample"].low, named["sample"].high)]
    assert cells["draws of the answer"][1] == f"{sample[0]} to {sample[1]} points"
    assert [rows[-1]["low"], rows[-1]["high"]] == [named["sample"].low, named["sample"].high]


def test_one_wording_and_one_draw_have_no_such_section() -> None:
    alone = make_run(variants=("full",))
    assert variance_table(view_of(alone)) is None
    assert "where the variance comes from" not in Page(render_page([alone])).text


def test_where_variants_ask_other_items_clusters_are_held_together() -> None:
    run = make_run(cultures=("Filipino",))
    run.scores = run.scores.with_columns(item_id=pl.col("item_id") + pl.col("variant"))
    grid = score_grid(view_of(run), 0, wordings_of(view_of(run)))
    assert len(grid.units) == run.scores["cluster"].n_unique()


def test_ranks_by_wording_and_what_is_beyond_chance_are_told() -> None:
    few: dict[str, Any] = {"cultures": tuple(CULTURES)[:5], "per_culture": 40}
    few["variants"] = ("local/inst-4", "local/pers-3")
    runs = [wide_run(f"org/m{k}", skill=0.12 * k, **few) for k in range(3)]
    swapped = runs[2].scores
    variants = wordings_of(view_of(*runs))
    # The best model fails in the second wording.
    lost = (pl.col("variant") == variants[1]) & (pl.col("metric") == "sem_b")
    runs[2].scores = swapped.with_columns(value=pl.when(lost).then(0.0).otherwise(pl.col("value")))
    runs[2].estimates = runs[2].estimates.with_columns(value=pl.when(lost).then(0.0).otherwise(pl.col("value")))
    view = view_of(*runs)
    (chart,) = wordings_chart(view)
    by_model = {line.label: line for line in chart.lines}
    assert by_model["m2"].strong == "rank 1–3"
    assert [len(line.dots) for line in chart.lines] == [2, 2, 2]
    said = order_sentence(view)
    assert said.startswith("Asked in 2 wordings, 2 of 3 pairs of models change order.")
    assert "m0" in said.rpartition("between")[2]
    page = Page(render_page(runs))
    assert_sound(page)
    assert said.split(";")[0] in page.text
    for run in runs:
        run.manifest["metrics"]["sem_b"]["higher_is_better"] = False
    (chart,) = wordings_chart(view_of(*runs))
    assert [line.label for line in chart.lines] == ["m2", "m0", "m1"]
    assert {line.label: line.strong for line in chart.lines}["m0"] == "rank 1–2"  # the lowest in the first wording
    few["variants"] = WIDE_VARIANTS
    calm = view_of(*(wide_run(f"org/n{k}", skill=0.12 * k, **few) for k in range(2)))
    assert "by more than chance could make it" in order_sentence(calm)
