"""What is said of published and private items: no more than the interval shows, and beside it what it cannot show."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from report_fixtures import MadeRun, make_run, view_of

from kapwa.errors import UsageError
from kapwa.report.board.ranks import RankedTask
from kapwa.report.board.table import board_table
from kapwa.report.tables.contamination import CANNOT, Observations, observe
from kapwa.report.tables.forms import render_block


def run(skill: float, *, private: bool = False, seed: int = 1, label: str = "model", each: int = 120) -> MadeRun:
    """A run of two cultures; the private items are others, of other data."""
    made = make_run("model", variants=("full",), per_culture=each)
    random = np.random.default_rng(seed)
    right = pl.Series((random.random(made.scores.height) < skill).astype(float))
    made.scores = made.scores.with_columns(
        value=pl.when(pl.col("metric") == "mc1").then(right).otherwise("value"),
        outcome=pl.when((pl.col("metric") == "mc1") & (right == 1)).then(pl.lit("right")).otherwise(pl.lit("wrong")),
    ).filter(metric="mc1")
    made.manifest |= {"label": label, "headline": ["mc1"]}
    if label != "model":  # asked in another form
        made.manifest["signature"] = made.manifest["signature"].replace("template:chat", "template:plain")
    if private:
        made.manifest["data"] = made.manifest["data"] | {"digest": "00ff00ff00ff"}
        made.scores = made.scores.with_columns(("p-" + pl.col("item_id")).alias("item_id"))
    return made


def said(observed: Observations) -> str:
    return " ".join(observed.block.sentences)


def test_a_model_that_knows_the_public_half_better_is_said_to_score_higher_there() -> None:
    text = said(observe(run(0.9), run(0.4, private=True, seed=2)))  # type: ignore[arg-type]
    assert "The model scores higher on the public items: +" in text
    assert CANNOT["halves"] in text
    assert "None of this proves" in text


def test_a_model_that_does_not_is_not() -> None:
    for skills in ((0.5, 0.5), (0.4, 0.9)):
        text = said(observe(run(skills[0]), run(skills[1], private=True, seed=2)))  # type: ignore[arg-type]
        assert "It is not shown that the model scores higher on the public items" in text


def test_other_forms_are_compared_item_by_item() -> None:
    observed = observe(run(0.9), others=[run(0.5, seed=3, label="other order"), run(0.9, label="same")])  # type: ignore[arg-type,list-item]
    assert [row.shown for row in observed.rows] == ["yes", None]
    assert observed.rows[1].difference == 0
    assert observed.rows[0].against == "other order"
    assert CANNOT["form"] in said(observed)


def test_texts_completed_are_compared_between_the_halves() -> None:
    keys = {"culture": "Kenya", "language": "xx", "gone": 0.0, "asked": 1, "missing": 0}
    frames = []
    for name, right in (("a", 12), ("b", 0)):
        value = [1.0] * right + [0.0] * (40 - right)
        ids = [f"{name}{k}" for k in range(40)]
        frames.append(
            pl.DataFrame({**keys, "item_id": ids, "cluster": ids, "value": value, "least": value, "most": value})
        )
    observed = observe(run(0.5), run(0.5, private=True)).with_completions((frames[0], frames[1]))  # type: ignore[arg-type]
    row = observed.rows[-1]
    assert (row.first, row.second, row.shown) == (0.3, 0.0, "yes")
    assert "completes more of the public texts word by word than of the private ones" in said(observed)


def test_every_sentence_has_its_limit_beside_it_and_the_terminal_shows_it() -> None:
    from rich.console import Console

    observed = observe(run(0.9), run(0.4, private=True, seed=2), [run(0.5, seed=3, label="other")])  # type: ignore[arg-type,list-item]
    for row, sentence in zip(observed.rows, observed.block.sentences, strict=False):
        assert row.cannot_show
        assert sentence.endswith(row.cannot_show)
    console = Console(width=80, file=io.StringIO())
    console.print(render_block(observed.block))
    assert "private items" in console.file.getvalue()  # type: ignore[attr-defined]


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing to compare"):
        observe(run(0.5))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="in the same form"):
        observe(run(0.5), others=[run(0.6, seed=2)])  # type: ignore[arg-type,list-item]
    with pytest.raises(UsageError, match="same data"):
        observe(run(0.5), run(0.5))  # type: ignore[arg-type]
    elsewhere = run(0.5, private=True)
    elsewhere.scores = elsewhere.scores.with_columns(("New " + pl.col("culture")).alias("culture"))
    with pytest.raises(UsageError, match="no culture in common"):
        observe(run(0.5), elsewhere)  # type: ignore[arg-type]
    other = run(0.5, private=True)
    other.manifest["model"] = {**other.manifest["model"], "id": "another"}
    with pytest.raises(UsageError, match="runs of one model"):
        observe(run(0.5), other)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no run of kalahi/mc"):
        observe(run(0.5), make_run("model", task="kalahi/open", variants=("full",)))  # type: ignore[arg-type]


def test_the_board_says_who_was_trained_on_it_only_where_somebody_says_so() -> None:
    runs = [make_run(f"org/model-{k}", variants=("full",)) for k in range(3)]
    silent = board_table([RankedTask(view_of(*runs), [])])
    assert "trained_on" not in silent.frame.columns
    assert "trained on it" not in str(silent.rows)
    runs[0].manifest["trained_on"], runs[1].manifest["trained_on"] = "yes", "no"
    table = board_table([RankedTask(view_of(*runs), [])])
    beside = {row[0].text: row[0].small for row in table.rows}
    assert beside["model-0"] == "trained on it: yes"
    assert beside["model-1"] == "trained on it: no"
    assert beside["model-2"] == "trained on it: unknown"
    systems = table.frame.filter(kind="system")
    assert dict(systems.select("system", "trained_on").rows())["model-2"] == "unknown"
