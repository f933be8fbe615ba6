"""What a system scores in a few sentences; over many cultures: the mean, its extremes, tricks and people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from kapwa.report import wording
from kapwa.report.marks import Estimate, Held, verdicts
from kapwa.report.sentences import (
    ALLOWED,
    Reading,
    against_words,
    comparison_sentence,
    no_score,
    outcome_words,
    phrase_words,
)
from kapwa.report.view import TaskView
from kapwa.report.wording import clean, isolate
from kapwa.stats.families import ALPHA
from kapwa.stats.pooled import pooled_mean
from kapwa.suites.base import holds_shares


def mean_over_cultures(items: pl.DataFrame, info: Mapping[str, Any]) -> Estimate | None:
    """Estimate the mean of ``items`` over their cultures, each counting alike; None without an item.

    The interval is clustered by sampled unit, which cultures may share (one question put to all of them); see
    :func:`kapwa.stats.pooled.pooled_mean`. Cultures are taken as they are, not as a sample of cultures.
    """
    if not items.height:
        return None
    places = items["culture"].to_list(), items["cluster"].to_list()
    share = holds_shares(info, items["value"])
    return pooled_mean(items["value"].to_numpy(), *places, binary=share)._asdict()


def equal_mean(
    view: TaskView, run: int, metric: str = "", stratum: tuple[str, str] | None = None, variant: str | None = None
) -> Estimate | None:
    """Estimate the mean of a metric (the first headline one) over cultures: :func:`mean_over_cultures`.

    ``stratum``: a column of the scores and its value, such as a topic. Cultures without items of it do not count.
    ``variant``: None is the main one.
    """
    name = metric or view.metric
    items = view.item_values(run, name, variant)
    if stratum is not None:
        items = items.filter(pl.col(stratum[0]) == stratum[1])
    mean = mean_over_cultures(items, view.metrics[name])
    where = {"metric": name, "group": "all", "variant": view.variant if variant is None else variant}
    return mean and {**mean, **where}


def across_sentences(view: TaskView) -> list[str]:
    """Tell every model's first headline metric over all cultures: mean, extremes, tricks and people, then counts.

    The means of all models are held against tricks and people in one family of tests: :func:`verdicts`.
    """
    means = {i: mean for i in range(len(view.runs)) if (mean := equal_mean(view, i)) is not None}
    held = [(mean, view.marks(None, view.metric, run=i)) for i, mean in means.items()]
    told = {i: (*pair, said) for i, pair, said in zip(means, held, verdicts(held), strict=True)}
    return [_across(view, i, told.get(i)) for i in range(len(view.runs))]


def _across(view: TaskView, run: int, told_of: Held | None) -> str:
    """One model's sentences; ``told_of``: its mean, the marks over all cultures, and how it stands to them."""
    info = view.metrics[view.metric]
    rows = [(subject, view.estimate(run, subject, view.metric)) for subject in view.subjects]
    found = [(subject, row) for subject, row in rows if row is not None and wording.known(row["value"])]
    model = isolate(view.labels[run])
    if told_of is None or not found:
        gone = outcome_words([row for _, row in rows if row is not None])
        return no_score(model, info, gone or "there was nothing to measure")
    mean, marks, verdict_of = told_of
    value = wording.amount(mean["value"], info, 1)
    items = items_words([int(row["n"]) for _, row in found], view.noun)
    known = wording.known(mean["low"]) and wording.known(mean["high"])
    between = f" (95% interval {wording.interval(mean['low'], mean['high'], info, 1)})" if known else ""
    over = wording.count(len({subject.culture for subject, _ in found}), "culture")
    told = f"{model} {phrase_words(info, value, items)} on average over {over}{between}"
    against = against_words(Reading(model, mean, info, marks, verdicts=verdict_of), 1)
    pooled = f" On average {against[:1].lower()}{against[1:]}." if against else ""
    return f"{told}{spread_words(view, run)}{pooled}{_count_words(view, run)}"


def items_words(counts: Sequence[int], noun: tuple[str, str]) -> str:
    """Say of how many items of each culture a mean over cultures is, what follows being " over 2 cultures".

    Cultures may share their questions: "16 questions over 2 cultures" would be twice as many as were written.
    """
    if len(counts) > 1 and len(set(counts)) == 1:
        return f"{wording.count(counts[0], *noun)} in each culture,"
    return wording.count(sum(counts), *noun)


def spread_words(view: TaskView, run: int) -> str:
    """Whether cultures differ by more than noise; the worst and the best where these two are told apart."""
    compared, info = view.compared(view.metric), view.metrics[view.metric]
    spread, tests = compared.spreads[run], sum(one is not None for one in compared.spreads)
    if spread is None or not wording.known(spread.p_value):
        return ". It cannot be told whether cultures differ by more than noise."
    p = wording.p_words(spread.p_value) + (f", corrected for {tests} models" if tests > 1 else "")
    worst, best = int(spread.means.argmin()), int(spread.means.argmax())
    ends = [
        f"{wording.amount(float(spread.means[k]), info, 0)} ({isolate(spread.cultures[k].label)}, "
        f"{wording.rank(spread.rank_low[k], spread.rank_high[k])} of {len(spread.means)})"
        for k in (worst, best)
    ]
    by = "" if compared.top is None else f"Compared on the {compared.words} in each culture, "
    told = f"{by}differences between cultures cannot be told from noise ({p})."
    if spread.p_value < ALPHA:
        told = f"{by}cultures differ by more than noise ({p}), but it cannot be told which is best and which is worst."
    if spread.apart(worst, best):
        between = f"from {ends[0]} to {ends[1]}. Cultures differ by more than noise ({p})."
        return f". {by}it ranges {between}" if by else f": {between}"
    return f". {told[0].upper()}{told[1:]}"


def _count_words(view: TaskView, run: int) -> str:
    """In how many cultures a model is better than guessing and than every trick, and below people; what is open."""
    ways: dict[str, Counter[str]] = {"base": Counter(), "best": Counter(), "top": Counter()}
    names: dict[str, dict[str, None]] = {"base": {}, "best": {}}
    held = [one for (i, _), one in view.held(view.metric).items() if i == run]
    for _, marks, said in held:
        if marks.base and marks.best:
            against = [said[mark] for mark in said if not mark.ceiling]
            ways["best"]["below" if "below" in against else "unclear" if "unclear" in against else "above"] += 1
            ways["base"][said[marks.base]] += 1
            names["base"][marks.base.words] = names["best"][marks.best.words] = None
        if marks.top:
            ways["top"][said[marks.top]] += 1
    told = []
    for kind in ("base", "best") if names["base"] != names["best"] else ("best",):
        if ways[kind]:
            trick = next(iter(names[kind])) if len(names[kind]) == 1 else "the best trick without cultural knowledge"
            told.append(_outcomes(ways[kind], "above", trick, f"does better than {trick}", "worse"))
    if ways["top"]:
        told.append(_outcomes(ways["top"], "below", "what people score", "is below what people score", "above"))
    return f" Culture by culture{ALLOWED}, it {'. It '.join(told)}." if told else ""


def _outcomes(ways: Counter[str], way: str, mark: str, lead: str, other: str) -> str:
    """Count all three outcomes: "is below … in 1 of 16 cultures and above in none; in 15 the two cannot be …"."""
    total, unclear = ways.total(), ways["unclear"]
    if unclear == total:
        return f"cannot be told apart from {mark} in any of {wording.count(total, 'culture')}"
    told = f"{lead} in {_of(ways[way], total)}"
    told += f" and {other} in {total - ways[way] - unclear or 'none'}" if ways[way] < total else ""
    return f"{told}; in {unclear} the two cannot be told apart" if unclear else told


def _of(part: int, total: int) -> str:
    some = "all" if part == total else f"{part or 'none'} of"
    return f"{some} {wording.count(total, 'culture')}"


def over_sentences(rows: Sequence[Mapping[str, Any]], info: Mapping[str, Any], noun: tuple[str, str]) -> list[str]:
    """Tell each difference over cultures, and whether it varies between them."""
    told = []
    for row in rows:
        p = row["p_varies_holm"]
        named = {**row, "a": isolate(clean(row["a"])), "b": isolate(clean(row["b"]))}
        varies = f" How it varies between cultures cannot be told from noise ({wording.p_words(p)})."
        if wording.known(p) and p < 0.05:
            sd = wording.points(row["culture_sd"], info, 1)
            varies = f" It varies between cultures by more than noise ({wording.p_words(p)}; standard deviation {sd})."
        told.append(comparison_sentence(named, info, noun) + (varies if wording.known(p) else ""))
    return told
