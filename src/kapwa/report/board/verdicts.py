"""Who leads a task and by how much, in a sentence; and what people's labels make of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.board.ranks import ranked_labels, ranks
from kapwa.report.sentences import missing
from kapwa.report.sentences.scores import undone_words
from kapwa.report.view.means import direction, rank_key, scores_by_system
from kapwa.report.view.reference_scores import NO_RANK_ABOVE
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import SHARE, isolate
from kapwa.stats.families import is_clear, is_undecided
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Row

MOST_NAMED = 3


class LabelColumn(NamedTuple):
    """A column of the board: the scores of a task according to people's labels, over all its cultures.

    ``task_index``: that of the task. ``scores``: by system, ``differences``: by two systems, rows of an audit's tables
    (:class:`kapwa.labels.audits.correction.Audit`).
    """

    task_index: int
    draw: str
    rubric: str
    scores: Mapping[str, Row]
    differences: Mapping[tuple[str, str], Row]


def verdict_sentence(
    view: TaskView, pairs: Sequence[Row], single: pl.DataFrame, labelled: Sequence[LabelColumn] = ()
) -> str:
    """Say who is best, by how much, over how many cultures, and what people's labels make of it; "" for one system.

    ``pairs``: see :func:`kapwa.report.board.ranks.ranked_task`. ``single``: the comparisons of two systems, culture by
    culture. ``labelled``: the columns of people's labels of this task. Without labels, the sentence on two systems says
    how far the scorer's error could change their difference.
    """
    rows = [row for row in pairs if wording.known(row["difference"])]
    if not rows:
        return _by_verdicts(view, labelled) if view.needs_verdicts else ""
    cultures = wording.count(rows[0].get("cultures") or 1, "culture")
    over = f" over {cultures}" if view.several_cultures else ""
    estimates = scores_by_system([(view, view.main_metric)])
    ranked = ranked_labels(view, estimates)
    if len(rows) == 1 and (ended := _ended_words(view)):
        return f"{view.title}: no verdict on which of the two is better.{ended}"
    if len(rows) == 1:
        lead = f"{view.title}: {_of_two(rows[0], view, over)}{_by_itself(view, single, rows[0])}"
        corrected = _as_labelled(labelled, *_better_first(rows[0], view))
        return f"{lead}{corrected}." + ("" if corrected else _undone(view, single))
    rows = [row for row in rows if row["a"] in ranked and row["b"] in ranked]
    return f"{_of_many(view, rows, estimates, over, labelled)}{_without_rank(view, ranked)}"


def _without_rank(view: TaskView, ranked: Sequence[str]) -> str:
    """Name the systems that have no rank, and say why."""
    ended = _ended(view)
    names = [isolate(name) for name in view.labels if name not in ranked and name not in ended]
    more = f"more than {wording.tidy_share(NO_RANK_ABOVE)} of the answers are missing"
    return f"{_no_rank(names, more)}{_ended_words(view)}"


def _ended(view: TaskView) -> list[str]:
    """The systems whose runs ended early, in the order of the data."""
    return [name for name, ended in zip(view.labels, view.ended_in_order, strict=True) if ended]


def _ended_words(view: TaskView) -> str:
    """Name these systems, and say why they have no rank; "" for none."""
    return _no_rank(list(map(isolate, _ended(view))), "the run ended early, and not in a random order")


def _no_rank(names: Sequence[str], why: str) -> str:
    if not names:
        return ""
    shown = f"{', '.join(names[:MOST_NAMED])}{', …' if len(names) > MOST_NAMED else ''}"
    has = "has" if len(names) == 1 else "have"
    return f" {shown} {has} no rank: {why}."


def _of_many(
    view: TaskView,
    rows: Sequence[Row],
    estimates: Mapping[str, Sequence[Row | None]],
    over: str,
    labelled: Sequence[LabelColumn],
) -> str:
    """Say which of three or more systems may be the best; ``rows``: the pairs of those that have a rank."""
    info = view.metrics[view.main_metric]
    names = list(dict.fromkeys(name for row in rows for name in (row["a"], row["b"])))
    if not names:
        return f"{view.title}: no two systems can be ranked."
    sign = direction(view, view.main_metric)
    intervals = ranks(names, rows, sign)
    open_pairs = sum(map(is_undecided, rows))
    gone = _open_words(open_pairs)
    best = {name for name, (low, _) in intervals.items() if low == 1}
    if len(best) == len(names):
        one = "the two" if len(names) == 2 else f"the {len(names)}"
        return f"{view.title}: none of {one} systems can be told apart from the others{over}.{gone}"
    scores = {name: rank_key(estimates[name][0], sign) for name in names}
    leaders = [isolate(name) for name in sorted(best, key=lambda name: scores[name])]
    if (1, 1) in intervals.values():
        others = f"each of the {len(names) - 1} others" if len(names) > 2 else "the other"
        return f"{view.title}: {leaders[0]} is better than {others}{over}. {_ahead(rows, scores, info, labelled)}{gone}"
    shown = f"{', '.join(leaders[:MOST_NAMED])}{', …' if len(leaders) > MOST_NAMED else ''}"
    lead = f"{len(leaders)} of {len(names)} systems may be the best{over} ({shown})"
    lead += "; each of the others is worse than at least one system"
    return f"{view.title}: {lead}. {_ahead(rows, scores, info, labelled)}{gone}"


def _open_words(pairs: int) -> str:
    """Say of how many pairs missing answers keep the verdict open; "" for none."""
    if not pairs:
        return ""
    verb = "is" if pairs == 1 else "are"
    return f" {wording.count(pairs, 'pair')} {verb} not decided, because answers are missing."


def _by_verdicts(view: TaskView, labelled: Sequence[LabelColumn]) -> str:
    """Say what people's verdicts give each system, where nothing else gives a score; or how verdicts are made."""
    scores: list[str] = []
    fewest: Row = {}
    for column, label in product(labelled, view.labels):
        row = column.scores.get(label, {})
        if wording.known(row.get("shown")):
            fewest = min(fewest or row, row, key=lambda labels: (labels["holds_for"] == "people", labels["raters"]))
            value = wording.amount(row["shown"], SHARE)
            ends = wording.interval(row["shown_low"], row["shown_high"], SHARE)
            lead = "95% interval " if wording.known(row["shown_low"]) and not scores else ""
            scores.append(f"{isolate(label)} {value} ({lead}{ends})")
    if not scores:
        return (
            f"{view.title}: no answer has a score yet. What each is worth is said by people (kapwa label sample) or a"
            " judging model (kapwa judge), both with --rubric item-criteria."
        )
    apart = ""
    if len(view.labels) == 2:
        pair = " minus ".join(map(isolate, view.labels))
        first, second = view.labels
        apart = _as_labelled(labelled, first, second, called=pair)
    seen = wording.as_people(fewest, "label", "them")
    return f"{view.title}: {seen}, answers meet so much of what is asked: {', '.join(scores)}{apart}."


def _ahead(
    rows: Sequence[Mapping[str, object]],
    ranks: Mapping[str, float],
    info: MetricInfo,
    labelled: Sequence[LabelColumn],
) -> str:
    """How far the first two are apart on the items that both answered; ``ranks``: the lowest stands first."""
    first, second = sorted(ranks, key=lambda name: ranks[name])[:2]
    for row in rows:
        if {row["a"], row["b"]} == {first, second}:
            change, between = _change(row, "difference", info, turned=row["a"] != first)
            words = f"{change} (95% interval of this pair alone {between})"
            words += ", but which is better is not decided" if is_undecided(row) else ""
            return f"{isolate(first)} − {isolate(second)}: {words}{_as_labelled(labelled, first, second)}."
    return ""


def _change(row: Row, name: str, info: MetricInfo, *, turned: bool) -> tuple[str, str]:
    """A difference of a row and its interval in words; ``turned``: of the second system less the first."""
    ends = ("low", "high") if name == "difference" else (f"{name}_low", f"{name}_high")
    value, *between = (-row[end] if turned and wording.known(row[end]) else row[end] for end in (name, *ends))
    low, high = between[::-1] if turned else between
    return wording.difference(value, info), wording.change_interval(low, high, info)


def _as_labelled(labelled: Sequence[LabelColumn], first: str, second: str, called: str = "") -> str:
    """The difference of two systems as people's labels correct it, a clause; "" where they have none of both.

    Of several draws the one with the most labels speaks, and is named. ``called``: words to use instead of
    saying whose view it is, where that was said before.
    """
    corrected = []
    for column in labelled:
        turned = (first, second) not in column.differences
        row = column.differences.get((second, first) if turned else (first, second))
        if row is not None and wording.known(row["shown"]):
            corrected.append((row, turned, column.draw))
    if not corrected:
        return ""
    row, turned, draw = max(corrected, key=lambda of_draw: of_draw[0]["labelled"])
    change, between = _change(row, "shown", SHARE, turned=turned)
    which = f" (draw {draw})" if len(corrected) > 1 else ""
    return f"; {called or wording.as_people(row, 'label', 'it')}{which}: {change} ({between})"


def _undone(view: TaskView, single: pl.DataFrame) -> str:
    """How far a scorer's error could carry the difference of two systems over all cultures."""
    if "undone_by" not in single.columns:
        return ""
    whole = pl.col("culture").is_null() if view.several_cultures else pl.lit(value=True)
    rows = single.filter(whole, metric=view.main_metric, variant=view.variant).to_dicts()
    return undone_words(rows[0]) if rows else ""


def _better_first(row: Row, view: TaskView) -> tuple[str, str]:
    """The two systems of a comparison, the better one first where that is clear."""
    swapped = is_clear(row) and direction(view, view.main_metric) * row["difference"] <= 0
    return (row["b"], row["a"]) if swapped else (row["a"], row["b"])


def _of_two(row: Row, view: TaskView, over: str) -> str:
    info = view.metrics[view.main_metric]
    first, second = map(isolate, _better_first(row, view))
    difference = f"difference {wording.difference_words(row, info)}"
    if is_undecided(row):
        named = {**row, "a": first, "b": second}
        gone = f"because {missing.whose_missing(named)} are missing (on the items that both have, {difference})"
        return f"which of {first} and {second} is better{over} is not decided, {gone}"
    if not is_clear(row):
        return f"{first} and {second} cannot be told apart{over} ({difference})"
    low, high = (wording.points(end, info, 1) for end in sorted(abs(row[end]) for end in ("low", "high")))
    between = f"{low.removesuffix(' points')} to {high}"
    size = wording.points(row["difference"], info, 1)
    return f"{first} is better than {second} by {size}{over} (95% interval {between})"


def _by_itself(view: TaskView, single: pl.DataFrame, row: Mapping[str, object]) -> str:
    """In how many single cultures the same holds, each held against noise by itself."""
    if len(view.subjects) == 1 or not is_clear(row):
        return ""
    cultures = single.filter((pl.col("metric") == view.main_metric) & pl.col("culture").is_not_null()).to_dicts()
    same = sum(is_clear(culture) and culture["difference"] * row["difference"] > 0 for culture in cultures)
    verb = "shows" if same == 1 or (not same and len(cultures) == 2) else "show"
    return f"; by themselves, {wording.of_all(same, len(cultures), 'culture')} {verb} the same"
