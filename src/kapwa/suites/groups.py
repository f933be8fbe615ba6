"""Items that are scored together: a group is right only as a whole, or is a ladder of steps with more and more help.

One rule: a *group* whose items have no step is judged as a whole (``all_right``) and for agreement (``consistency``);
of a group with *steps* each step has its score, and the gain over the step before, by pairs of one group. An item is
right by the first right/wrong metric of the task's headline. A group that was not asked whole (a limit, a topic, a
faulty item that was left out) is in none of these.

Each metric is a row of the score table for a group, or an item of a step: it stands at the group's first item, and is
estimated, compared and reported as any other. Sources: all or none of four judgements, CulturalBench-Hard (Chiu et al.
2024, arXiv 2410.02677); ladders, NormAd (Rao et al. 2024, arXiv 2404.12464); agreement of forms, Elazar et al. (2021,
arXiv 2102.01017), held against what chance gives as in Cohen's and Fleiss' kappa.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from kapwa.records import UNANSWERED, Answer, Floor, Item, Outcome, Unanswered
from kapwa.stats.clusters import FloatArray
from kapwa.suites.base import LEADING, FindFloors, JudgeAnswers, Judged, MetricInfo, TabulateItems, Task, metrics_of
from kapwa.suites.items import group_of, grouped, score_frame, score_row
from kapwa.suites.watched_answers import WatchedStates
from kapwa.value_types import Cells

_INFOS = metrics_of("groups")
# Agreement beyond chance has a rough interval under so few groups; where nearly all items are right or wrong, under so
# many.
_FEW_GROUPS, _RARE, _MANY_GROUPS = 20, 0.1, 200


class _Answered(NamedTuple):
    """One answer to each item of a whole group, as far as they have one: what each scores, else NaN."""

    members: Sequence[Item]
    sample: int
    values: Sequence[float]


def with_groups(task: Task) -> Task:
    """Return ``task`` with the metrics of its groups and their floors, and its items' columns ``group`` and ``step``.

    The headline begins as before: other tools judge one item a call.
    """
    right = next((name for name in task.headline if task.metrics[name].binary), None)
    if right is None:
        return task
    infos = {info.name: info for info in _infos(whole_groups(task.selected))}
    return replace(
        task,
        headline=(*task.headline, *(name for name in infos if name.startswith(LEADING))),
        metrics={**task.metrics, **infos},
        score=partial(_score, task.score, right),
        floors=partial(_floors, task.floors, right),
        item_table=partial(_item_table, task.item_table),
    )


def whole_groups(items: Sequence[Item]) -> list[list[Item]]:
    """Return the groups of which every item is among ``items``; one item alone is no group."""
    groups = grouped((item for item in items if "group" in item.fields), group_of).values()
    return [members for members in groups if len(members) == members[0].fields["group_size"] > 1]


def _infos(groups: Sequence[Sequence[Item]]) -> Iterator[MetricInfo]:
    """Yield how the metrics of these groups read."""
    ladder = next((members[0].fields["steps"] for members in groups if members[0].fields["step"]), ())
    if any(not members[0].fields["step"] for members in groups):
        yield from (info for name, info in _INFOS.items() if name not in ("step", "gain"))
    for number, step in enumerate(ladder, start=1):
        for kind in ("step", "gain")[:number]:
            title = _INFOS[kind].title.format(step=step, before=ladder[number - 2])
            yield replace(_INFOS[kind], name=f"{kind}_{number}", title=title)


def group_values(members: Sequence[Item], values: Sequence[float]) -> Iterator[tuple[Item, str, float]]:
    """Yield the metrics of a whole group: at which item each stands, its name and its value.

    ``values``: what each item scores, NaN where it has no score; or how likely it is to be right by a guess.
    """
    if not members[0].fields["step"]:
        yield members[0], "all_right", math.prod(values)
        yield members[0], "consistency", agreement(values)
        return
    before: list[float] = []
    for number, step in enumerate(members[0].fields["steps"], start=1):
        at_step = [pair for pair in zip(members, values, strict=True) if pair[0].fields["step"] == step]
        scored = [value for _, value in at_step]
        yield from ((item, f"step_{number}", value) for item, value in at_step)
        if before and scored:
            yield at_step[0][0], f"gain_{number}", fmean(scored) - fmean(before)
        before = scored


def agreement(values: Sequence[float]) -> float:
    """Return whether the items of a group are all right or all wrong: 1 or 0, NaN where one of them has no score."""
    return math.prod(values) + math.prod(1 - value for value in values)


def agreement_excess(sizes: FloatArray, rights: FloatArray) -> FloatArray:
    """Return how far groups agree beyond what right answers that fall on items at random would give, group by group.

    ``sizes``, ``rights``: (groups,) how many items each has, and how many are right. At random a group of k items
    agrees with probability pᵏ + (1 − p)ᵏ, p being the share of all items that are right. A group's value is what it
    adds to the sum over all groups (the jackknife's pseudo-value), so that an interval of their mean allows for the
    error of p. Agreement is rare or frequent, and so lies skew: values are spread about their mean by (1 + 4/groups)^½,
    as four groups more would do (Agresti and Coull 1998), which leaves the mean as it is.
    """
    agrees = ((rights == 0) | (rights == sizes)).astype(np.float64)
    kinds, counts = np.unique(sizes, return_counts=True)
    p, others = rights.sum() / sizes.sum(), (rights.sum() - rights) / (sizes.sum() - sizes)
    whole = agrees.sum() - _random_agreement(p, kinds) @ counts
    without = agrees.sum() - agrees - _random_agreement(others[:, None], kinds) @ counts
    values = whole - without - _random_agreement(others, sizes)
    mean = values.mean()
    return np.asarray(mean + (values - mean) * np.sqrt(1 + 4 / len(values)))


def _random_agreement(p: ArrayLike, size: FloatArray) -> FloatArray:
    return np.asarray(p) ** size + (1 - np.asarray(p)) ** size


def _score(judge: JudgeAnswers, right: str, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
    """Judge items as the task does, then their groups, sample by sample."""
    watched = WatchedStates(answers)
    judged = judge(items, watched)
    judged = replace(judged, scores=watched.fill_states_and_outcomes(judged.scores))
    scored = judged.scores.filter(metric=right).with_columns(pl.col("value").fill_null(math.nan))
    known = {tuple(key): value for *key, value in scored.select("variant", "item_id", "sample", "value").iter_rows()}
    lost = scored.filter(pl.col("outcome").is_in(UNANSWERED)).select("variant", "item_id", "sample", "outcome")
    why: dict[tuple[Any, ...], Unanswered] = {tuple(key): outcome for *key, outcome in lost.iter_rows()}
    groups, answered, rows = whole_groups(items), list[_Answered](), list[dict[str, Any]]()
    for members, sample in product(groups, scored["sample"].unique().sort()):
        values = [known.get((item.variant, item.id, sample), math.nan) for item in members]
        answered.append(_Answered(members, sample, values))
        reasons = {why.get((item.variant, item.id, sample)) for item in members}
        missing: Unanswered = next((reason for reason in UNANSWERED if reason in reasons), "failed")
        rows += [_row(item, name, value, sample, missing) for item, name, value in group_values(members, values)]
    scores = pl.concat([judged.scores, score_frame([*rows, *_excess_rows(answered)])])
    grouped_items = grouped((item for item in items if "group" in item.fields), group_of).values()
    cut = sum(len(members) < members[0].fields["group_size"] for members in grouped_items)
    notes = [f"Groups of which some items were not asked, and which no score of groups counts: {cut}."] if cut else []
    return replace(judged, scores=scores, notes=[*judged.notes, *notes, *_rough_notes(answered)])


def _rough_notes(answered: Sequence[_Answered]) -> Iterator[str]:
    """Name those whose agreement beyond chance rests on too few groups, or on answers nearly all right or wrong."""
    rough = []
    for culture, groups in grouped(_whole_answers(answered), lambda group: group.members[0].culture).items():
        n = len({group.members[0].id for group in groups})
        right = fmean(itertools.chain.from_iterable(group.values for group in groups))
        if 1 < n < (_FEW_GROUPS if _RARE <= right <= 1 - _RARE else _MANY_GROUPS):
            rough.append(culture)
    if rough:
        yield (
            f"The interval of consistency_excess is rough in {', '.join(rough)}: there are fewer than {_FEW_GROUPS} "
            "groups, or nearly all answers are right, or wrong. In simulations such intervals held the true value 50 "
            "to 88 times in 100."
        )


def _excess_rows(answered: Sequence[_Answered]) -> Iterator[Cells]:
    """Yield how far groups agree beyond chance, by culture and sample; a single group is left out."""
    whole = _whole_answers(answered)
    by_sample = grouped(whole, lambda group: (group.members[0].culture, group.members[0].variant, group.sample))
    for groups in by_sample.values():
        sizes, rights = (np.array([of(group.values) for group in groups], dtype=np.float64) for of in (len, sum))
        if len(groups) > 1:
            for group, value in zip(groups, agreement_excess(sizes, rights).tolist(), strict=True):
                yield _row(group.members[0], "consistency_excess", value, group.sample)


def _whole_answers(answered: Sequence[_Answered]) -> list[_Answered]:
    """Return groups without steps of which each item has a score."""
    return [group for group in answered if not group.members[0].fields["step"] and not math.isnan(sum(group.values))]


def _row(item: Item, name: str, value: float, sample: int, missing: Unanswered = "failed") -> Cells:
    """The row of a group; ``missing``: why one of its items has no answer, where one has none."""
    if math.isnan(value):
        return {**score_row(item, name, None, missing, sample), "state": missing}
    outcome: Outcome = ("right" if value else "wrong") if _is_right(name) else "scored"
    return {**score_row(item, name, value, outcome, sample), "state": "answered"}


def _is_right(metric: str) -> bool:
    """Whether a metric of groups says that something is right, which a guess may be, too."""
    return metric == "all_right" or metric.startswith("step_")


def _floors(find: FindFloors, right: str, items: Sequence[Item]) -> list[Floor]:
    """Return the task's floors, and those of its groups: a guess is right in all of a group as the product says."""
    floors = find(items)
    tricks = [floor for floor in floors if (floor.metric, floor.kind) == (right, "floor")]
    chances: dict[tuple[str, str], float] = {}
    # Some tasks give chance for all items together; each item's own is needed here.
    for item in items if any(trick.name == "chance" for trick in tricks) else ():
        rates = {floor.name: floor.value for floor in find([item]) if floor.metric == right}
        chances[item.variant, item.id] = rates["chance"]
    return [*floors, *(floor for trick in tricks for floor in _group_floors(trick, items, chances))]


def _group_floors(trick: Floor, items: Sequence[Item], chances: Mapping[tuple[str, str], float]) -> Iterator[Floor]:
    """Yield what a trick scores by each metric of groups that says what is right."""
    tried = [item for item in items if item.variant == trick.variant and trick.note in ("", item.culture)]
    rates = trick.by_item
    if rates is None:
        rates = [chances.get((item.variant, item.id), math.nan) for item in tried]
    by_id = {item.id: rate for item, rate in zip(tried, rates, strict=True)}
    by_metric: dict[str, dict[str, float]] = {}
    for members in whole_groups(tried):
        for item, name, value in group_values(members, [by_id[member.id] for member in members]):
            if _is_right(name) and not math.isnan(value):
                by_metric.setdefault(name, {})[item.id] = value
    for name, values in by_metric.items():
        by_item = None if trick.by_item is None else [values.get(item.id, math.nan) for item in tried]
        yield trick._replace(metric=name, value=fmean(values.values()), by_item=by_item)


def _item_table(tabulate: TabulateItems, items: Sequence[Item]) -> pl.DataFrame:
    """Return the task's table of items with their groups and steps."""
    columns = {name: [item.fields.get(name) or None for item in items] for name in ("group", "step")}
    return tabulate(items).with_columns(pl.Series(name, cells, dtype=pl.String) for name, cells in columns.items())
