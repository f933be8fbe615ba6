"""A system's scores in a few sentences; over many cultures: the mean, its extremes, tricks and the ceiling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kapwa.report import wording
from kapwa.report.sentences import missing
from kapwa.report.sentences.scores import (
    ALLOWED,
    ScoreReading,
    against_words,
    comparison_sentence,
    no_score,
    outcome_words,
    phrase_words,
    unranked_sentence,
)
from kapwa.report.view.means import equal_mean
from kapwa.report.view.reference_scores import SHOW_BOUNDS_ABOVE, ScoreWithReferences, is_unranked, share_of, verdicts
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import clean, isolate
from kapwa.stats.families import ALPHA, missing_share
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Row


def across_sentences(view: TaskView) -> list[str]:
    """Tell every model's first headline metric over all cultures: mean, extremes, tricks and people, then counts.

    Each model's mean is held against tricks and people in a family of tests of its own: :func:`verdicts`.
    """
    told: dict[int, ScoreWithReferences] = {}
    for i in range(len(view.runs)):
        mean = equal_mean(view, i)
        if mean is not None:
            marks = view.marks(None, view.main_metric, run=i)
            told[i] = (mean, marks, verdicts([(mean, marks)])[0])
    return [_across(view, i, told.get(i)) for i in range(len(view.runs))]


def _across(view: TaskView, run: int, told_of: ScoreWithReferences | None) -> str:
    """One model's sentences; ``told_of``: its mean, the marks over all cultures, and how it stands to them."""
    info = view.metrics[view.main_metric]
    rows = [(subject, view.estimate(run, subject, view.main_metric)) for subject in view.subjects]
    found = [(subject, row) for subject, row in rows if row is not None and wording.known(row["value"])]
    model = isolate(view.labels[run])
    if told_of is None or not found:
        gone = outcome_words([row for _, row in rows if row is not None])
        return no_score(model, info, gone or "there was nothing to measure")
    mean, marks, verdict_of = told_of
    if is_unranked(mean):
        return unranked_sentence(model, mean, info)
    value = wording.amount(mean["value"], info, 1)
    items = items_words([int(row["n"]) for _, row in found], view.noun)
    known = wording.known(mean["low"]) and wording.known(mean["high"])
    parts = [f"95% interval {wording.interval(mean['low'], mean['high'], info, 1)}"] if known else []
    parts += filter(None, [missing.missing_words(mean, info)])
    between = f" ({'; '.join(parts)})" if parts else ""
    over = wording.count(len({subject.culture for subject, _ in found}), "culture")
    told = f"{model} {phrase_words(info, value, items)} on average over {over}{between}"
    against = against_words(ScoreReading(model, mean, info, marks, verdicts=verdict_of), 1)
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
    """Whether cultures differ by more than noise; if the worst and the best do, these are named."""
    compared, info = view.compared(view.main_metric), view.metrics[view.main_metric]
    spread, tests = compared.spreads[run], sum(one is not None for one in compared.spreads)
    if any(share_of(view.estimate(run, subject, view.main_metric)) > SHOW_BOUNDS_ABOVE for subject in view.subjects):
        return ". Whether cultures differ by more than noise is not decided, because answers are missing."
    if spread is None or not wording.known(spread.p_value):
        return ". It cannot be told whether cultures differ by more than noise."
    p = wording.p_words(spread.p_value) + (f", corrected for {tests} models" if tests > 1 else "")
    worst, best = int(spread.means.argmin()), int(spread.means.argmax())
    ends = [
        f"{wording.amount(float(spread.means[k]), info, 0)} ({isolate(spread.cultures[k].label)}, "
        f"{wording.rank(spread.rank_low[k], spread.rank_high[k])} of {len(spread.means)})"
        for k in (worst, best)
    ]
    by = "" if compared.ceiling is None else f"Compared on the {compared.words} in each culture, "
    told = f"{by}differences between cultures cannot be told from noise ({p})."
    if spread.p_value < ALPHA:
        told = f"{by}cultures differ by more than noise ({p}), but it cannot be told which is best and which is worst."
    if spread.apart(worst, best):
        between = f"from {ends[0]} to {ends[1]}. Cultures differ by more than noise ({p})."
        return f". {by}it ranges {between}" if by else f": {between}"
    return f". {told[0].upper()}{told[1:]}"


def _count_words(view: TaskView, run: int) -> str:
    """In how many cultures a model beats guessing and every trick, and is below the ceiling; what is open."""
    ways: dict[str, Counter[str]] = {"base": Counter(), "best": Counter(), "top": Counter()}
    names: dict[str, dict[str, None]] = {"base": {}, "best": {}, "top": {}}
    held = [one for (i, _), one in view.scores_with_marks(view.main_metric).items() if i == run]
    for _, marks, said in held:
        if marks.baseline and marks.best_trick:
            against = [said[mark] for mark in said if not mark.is_ceiling]
            worse = (way for way in ("below", "unclear", "undecided") if way in against)
            ways["best"][next(worse, "above")] += 1
            ways["base"][said[marks.baseline]] += 1
            names["base"][marks.baseline.words] = names["best"][marks.best_trick.words] = None
        if marks.ceiling:
            ways["top"][said[marks.ceiling]] += 1
            names["top"][marks.ceiling.words] = None
    told = []
    for kind in ("base", "best") if names["base"] != names["best"] else ("best",):
        if ways[kind]:
            trick = next(iter(names[kind])) if len(names[kind]) == 1 else "the best trick without cultural knowledge"
            told.append(_outcomes(ways[kind], "above", trick, f"does better than {trick}", "worse"))
    if ways["top"]:
        score = f"what {' or '.join(names['top'])} score"
        told.append(_outcomes(ways["top"], "below", score, f"is below {score}", "above"))
    return f" Culture by culture{ALLOWED}, it {'. It '.join(told)}." if told else ""


def _outcomes(ways: Counter[str], way: str, mark: str, lead: str, other: str) -> str:
    """Count all outcomes: "is below … in 1 of 16 cultures and above in none; in 15 the two cannot be …"."""
    total, unclear, undecided = ways.total(), ways["unclear"], ways["undecided"]
    if unclear == total:
        some = f"any of {wording.count(total, 'culture')}" if total > 2 else "either culture"
        one = "the one culture" if total == 1 else some
        return f"cannot be told apart from {mark} in {one}"
    told = f"{lead} in {wording.of_all(ways[way], total, 'culture')}"
    told += f" and {other} in {total - ways[way] - unclear - undecided or 'none'}" if ways[way] < total else ""
    told += f"; in {unclear} the two cannot be told apart" if unclear else ""
    return f"{told}; in {undecided} it is not decided, because answers are missing" if undecided else told


def _deviation_words(row: Row, info: MetricInfo) -> str:
    """The interval of the standard deviation over cultures; "" where none is known or it holds all that can be."""
    low, high = row["culture_sd_low"], row["culture_sd_high"]
    if not (wording.known(low) and wording.known(high)) or (low <= 0 and high >= info.span):
        return ""
    least, most = (wording.points(end, info, 1) for end in (low, high))
    return f"; 95% interval of the standard deviation {least.removesuffix(' points')} to {most}"


def over_sentences(rows: Sequence[Row], info: MetricInfo, noun: tuple[str, str]) -> list[str]:
    """Tell each difference over cultures, and whether it varies between them."""
    told = []
    for row in rows:
        p = None if missing_share(row) > SHOW_BOUNDS_ABOVE else row["p_varies_holm"]
        named = {**row, "a": isolate(clean(row["a"])), "b": isolate(clean(row["b"]))}
        # An estimate that is told only where it is large is too large: the interval is told always, and alone.
        lead = "How it varies between cultures cannot be told from noise"
        if wording.known(p) and p < ALPHA:
            lead = "It varies between cultures by more than noise"
        varies = f" {lead} ({wording.p_words(p)}{_deviation_words(row, info)})."
        told.append(comparison_sentence(named, info, noun) + (varies if wording.known(p) else ""))
    return told
