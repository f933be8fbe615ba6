"""Language or culture: main effects and interaction against plain loops, and where they stand on the page."""

import numpy as np
import polars as pl
import pytest
from benchmarks.simulations.languages import CULTURES, plant
from pages import Page, assert_sound, render_page
from report_fixtures import CULTURES as PLACES
from report_fixtures import make_run, view_of, wide_run

from kapwa.report.tables.languages import effects, language_or_culture_table


def plain(values: dict[str, list[float]]) -> tuple[float, float]:
    """Mean over cultures, and the standard deviation of true means, no question being shared."""
    means = {name: sum(each) / len(each) for name, each in values.items()}
    errors = [np.var(each, ddof=1) / len(each) for each in values.values()]
    centre = sum(means.values()) / len(means)
    observed = sum((mean - centre) ** 2 for mean in means.values()) / (len(means) - 1)
    return centre, max(observed - sum(errors) / len(errors), 0.0) ** 0.5


def test_effects_equal_their_plain_twin() -> None:
    rng = np.random.default_rng(1)
    both = plant(rng, effect=-0.1, interaction=0.1, spread=0.2, shared=False)
    found = effects(both)
    by_culture = {name: part for (name,), part in both.partition_by("culture", as_dict=True).items()}
    change = {name: (part["first"] - part["second"]).to_list() for name, part in by_culture.items()}
    assert len(change) == CULTURES
    assert (found.language.value, found.interaction.sd) == pytest.approx(plain(change))
    for side in ("first", "second"):
        values = {name: part[side].to_list() for name, part in by_culture.items()}
        assert getattr(found, side).sd == pytest.approx(plain(values)[1])


def test_the_table_has_the_cultures_asked_in_both_languages() -> None:
    view = view_of(*(wide_run(f"org/m{k}", skill=0.1 * k, per_culture=40) for k in range(2)))
    table = language_or_culture_table(view)
    rows = table.frame.to_dicts()
    assert [row["model"] for row in rows] == ["m0", "m1"]
    assert {row["cultures"] for row in rows} == {14}  # not the two whose own language is English
    assert table.head[1:] == ["Language", "Language × culture", "Cultures, English", "Cultures, local language"]
    assert "(local language − English)" in table.caption
    local, english = (view.answered_item_scores(0, view.main_metric, name) for name in ("local/inst-4", "en/inst-4"))
    joined = local.join(english, on=("culture", "item_id"), suffix="_en").filter(pl.col("language") != "en")
    gaps = joined.group_by("culture").agg((pl.col("value") - pl.col("value_en")).mean())
    assert rows[0]["effect"] == pytest.approx(gaps["value"].mean())
    assert table.rows[0][1].text == f"{100 * rows[0]['effect']:+.1f}".replace("-", "−")


def test_where_one_language_or_one_culture_is_asked_there_is_no_table() -> None:
    assert language_or_culture_table(view_of(make_run())) is None
    two = wide_run("org/m", cultures=tuple(PLACES)[:2], per_culture=10)
    assert language_or_culture_table(view_of(two)) is None


def test_the_page_shows_it_under_the_language_of_the_questions() -> None:
    page = Page(render_page([wide_run("org/m0", cultures=tuple(PLACES)[:6], per_culture=12)]))
    assert_sound(page)
    assert "Language or culture?" in page.text
