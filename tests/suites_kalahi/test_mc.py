"""Judging ``kalahi/mc``: metrics, the continuation table, cases, and what failed items look like."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import kapwa
from kapwa.errors import UsageError
from kapwa.models.gate import gate
from kapwa.records import SCORE_COLUMNS, Answer, ContinuationScore, Item, Response
from kapwa.suites.kalahi.form import reference_response
from kapwa.suites.kalahi.mc import MC_METRICS, judge_mc, mc_requests


def situation(
    number: int = 1,
    *,
    relevant: tuple[str, ...] = ("Oo po.", "Sige", "Tara na."),
    irrelevant: tuple[str, ...] = ("Ayaw.", "Hindi!", "Bakit?"),
) -> Item:
    fields = {
        "prompt": f"Tanong {number}?",
        "best": relevant[1],
        "relevant": relevant,
        "irrelevant": irrelevant,
        "gloss": {"prompt": "A question?", "irrelevant": ("No.", "No!", "Why?")},
    }
    return Item(f"{number:04}", "kalahi", "Filipino", "fil", "ethics", "friendship", "full", f"c{number}", fields)


def answer(item: Item, logprob: Callable[[str], float], closing: float | None = -0.5) -> Answer:
    """Score every text asked for by ``logprob``; the closing tokens add ``closing`` nats."""
    (request,) = mc_requests([item])
    scores = tuple(
        ContinuationScore(
            logprob(text),
            n_tokens=len(text.split()),
            n_bytes=len(text.encode()),
            n_chars=len(text),
            logprob_sum_reference=None if closing is None else logprob(text) + closing,
        )
        for text in request.continuations
    )
    return Answer(request, gate(Response(request.key, logprobs=scores)))


def values(frame: pl.DataFrame) -> dict[str, float]:
    return dict(frame.select("metric", "value").iter_rows())


def test_a_missing_period_is_scored_beside_the_response_as_written() -> None:
    (request,) = mc_requests([situation()])
    assert "|".join(request.continuations) == "Oo po.|Sige|Tara na.|Ayaw.|Hindi!|Bakit?|Sige.|Hindi!.|Bakit?."
    assert request.params.closing


def test_every_metric_follows_its_definition() -> None:
    rng = np.random.default_rng(0)
    item = situation()
    table = {text: -float(rng.uniform(1, 30)) for text in mc_requests([item]).__next__().continuations}
    judged = judge_mc([item], [answer(item, table.__getitem__)])
    found = values(judged.scores)

    relevant, irrelevant = item.fields["relevant"], item.fields["irrelevant"]

    def released(text: str) -> float:
        text = reference_response(text)
        return (table[text] - 0.5) / len(text.encode())

    measures: dict[str, Callable[[str], float]] = {
        "": lambda t: table[t] / len(t.encode()),
        "_char": lambda t: table[t] / len(t),
        "_token": lambda t: table[t] / len(t.split()),
        "_sum": lambda t: table[t],
        "_reference": lambda t: math.exp(released(t)),  # the released code takes the exponential twice
    }
    for suffix, measure in measures.items():
        good, bad = [measure(t) for t in relevant], [measure(t) for t in irrelevant]
        assert found[f"mc1{suffix}"] == float(good[1] > max(bad))
        mass = sum(map(math.exp, good))
        assert found[f"mc2{suffix}"] == pytest.approx(mass / (mass + sum(map(math.exp, bad))))
        assert found[f"mc3{suffix}"] == sum(g > max(bad) for g in good) / 3
    assert set(found) == set(MC_METRICS)
    assert judged.scores.columns == list(SCORE_COLUMNS)


def test_the_continuation_table_says_what_was_scored() -> None:
    item = situation()
    frame = judge_mc([item], [answer(item, lambda t: -float(len(t.encode())))]).tables["continuations"]
    assert frame["group"].to_list() == ["relevant", "best", "relevant", "irrelevant", "irrelevant", "irrelevant"]
    assert frame["index"].to_list() == list(range(6))
    row = frame.row(1, named=True)
    assert (row["text"], row["logprob_sum"], row["logprob_sum_reference"]) == ("Sige", -4.0, -5.5)
    assert (row["n_bytes"], row["n_bytes_reference"], row["boundary"]) == (4, 5, "clean")


def test_the_case_names_what_the_model_preferred_with_its_gloss() -> None:
    item = situation()
    judged = judge_mc([item], [answer(item, lambda t: -1.0 if t == "Hindi!" else -50.0)])
    case = judged.tables["cases"].row(0, named=True)
    assert case["margin"] < 0
    assert (case["expected"], case["got"], case["got_gloss"]) == ("Sige", "Hindi!", "No!")


def test_a_failed_item_has_no_value_and_is_counted() -> None:
    items = [situation(1), situation(2)]
    failed = Answer(answer(items[1], lambda t: -1.0).request, gate(Response("", error="prompt too long")))
    judged = judge_mc(items, [answer(items[0], lambda t: -1.0), failed])
    lost = judged.scores.filter(pl.col("item_id") == "0002")
    assert lost["value"].null_count() == len(MC_METRICS) == len(lost)
    assert set(lost["outcome"]) == {"failed"}
    assert judged.tables["continuations"]["item_id"].unique().to_list() == ["0001"]


def test_an_answer_to_another_item_is_refused() -> None:
    with pytest.raises(UsageError, match="not among the items judged"):
        judge_mc([situation(1)], [answer(situation(2), lambda _: -1.0)])


def test_without_closing_tokens_there_are_no_reference_values() -> None:
    item = situation()
    found = values(judge_mc([item], [answer(item, lambda t: -1.0, closing=None)]).scores)
    assert not any(name.endswith("_reference") for name in found)
    assert "mc2" in found


@pytest.mark.parametrize(("variant", "chance"), [("full", 0.242889), ("unenriched", 0.245294)])
def test_a_uniform_model_scores_chance_with_every_tie_reported(kalahi_data: Path, variant: str, chance: float) -> None:
    task = kapwa.load_task("kalahi/mc", data=kalahi_data, variant=variant)
    items = task.items()
    scores = task.score(items, [answer(item, lambda t: -float(len(t.encode()))) for item in items]).scores
    means = {name: frame["value"].mean() for (name,), frame in scores.group_by("metric")}
    assert means["mc2"] == pytest.approx(0.5, abs=1e-12)
    assert means["mc1_shared"] == pytest.approx(chance, abs=5e-7)
    assert means["mc1"] == 0.0
    assert set(scores.filter(pl.col("metric") == "mc1")["outcome"]) == {"tie"}


def test_reference_mc2_stays_in_its_cage_on_real_items(kalahi_data: Path) -> None:
    items = kapwa.load_task("kalahi/mc", data=kalahi_data).items()
    rng = np.random.default_rng(1)
    answers = [answer(item, lambda t: -float(rng.exponential(len(t)))) for item in items]
    scores = judge_mc(items, answers).scores.filter(pl.col("metric") == "mc2_reference")
    assert scores["value"].is_between(1 / (1 + math.e), math.e / (1 + math.e)).all()
