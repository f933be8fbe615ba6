"""Whether the order of models changes with the wording of the prompt, and what holds in every wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from kapwa.report import wording
from kapwa.report.view.means import direction
from kapwa.report.view.tasks import TaskView
from kapwa.report.view.wordings import score_grid, wording_means, wordings_of
from kapwa.report.wording import isolate
from kapwa.stats.components import order_changes
from kapwa.stats.families import is_clear
from kapwa.value_types import Row


def order_sentence(view: TaskView) -> str:
    """Tell how many pairs of models change order with the wording, and which by more than chance; "" for one only."""
    variants = wordings_of(view)
    means = wording_means(view, variants)
    if len(means) < 2 or len(variants) < 2:
        return ""
    pairs = list(combinations(means, 2))
    above = [{one > other for one, other in zip(means[a], means[b], strict=True)} for a, b in pairs]
    turned = [pair for pair, both in zip(pairs, above, strict=True) if len(both) > 1]
    grids = {i: score_grid(view, i, variants) for i in means}
    units = list(dict.fromkeys(unit for grid in grids.values() for unit in grid.units))
    clusters: Mapping[tuple[str, str], str] = {
        unit: name for grid in grids.values() for unit, name in zip(grid.units, grid.clusters, strict=True)
    }
    rows = {unit: i for i, unit in enumerate(units)}
    scores = np.full((len(grids), len(units), len(variants)), np.nan)
    for k, grid in enumerate(grids.values()):
        scores[k, [rows[unit] for unit in grid.units]] = grid.values.mean(axis=2)
    beyond = order_changes(scores, [clusters[unit] for unit in units])
    count = partial(wording.count, len(pairs))
    first = f"Asked in {len(variants)} wordings, {len(turned) or 'none'} of {count('pair')} of models "
    first += "changes order" if len(turned) < 2 else "change order"
    if not beyond:
        return f"{first}; no difference between two models changes with the wording by more than chance could make it."
    which = [
        f"{isolate(view.labels[list(means)[a]])} and {isolate(view.labels[list(means)[b]])}" for a, b in beyond[:3]
    ]
    more = f", and {len(beyond) - 3} more pairs" if len(beyond) > 3 else ""
    return f"{first}. By more than chance, the wording changes the difference between {'; '.join(which)}{more}."


def every_wording_sentence(view: TaskView, compared: Mapping[str, Sequence[Row]]) -> str:
    """Tell what the comparisons of every two models say over all wordings; "" for one wording or one model.

    ``compared``: by variant, the comparisons that rank systems in it; those in another language are not told.
    """
    wordings = [compared[name] for name in wordings_of(view) if name in compared]
    sign = direction(view, view.main_metric)
    pairs: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    for rows in wordings:
        for row in rows:
            if wording.known(row["difference"]):
                pairs.setdefault((row["a"], row["b"]), []).append((sign * row["difference"], is_clear(row)))
    whole = {pair: differences for pair, differences in pairs.items() if len(differences) == len(wordings)}
    if len(wordings) < 2 or not whole:
        return ""
    over = "Over both wordings" if len(wordings) == 2 else f"Over all {len(wordings)} wordings"
    if len(whole) == 1:
        ((pair, differences),) = whole.items()
        return f"{over}, {_one_pair(view, pair, differences)}"
    every = none = opposite = 0
    for differences in whole.values():
        clear = [ahead for ahead, is_told in differences if is_told]
        turned = {ahead > 0 for ahead in clear} == {True, False}
        opposite += turned
        every += len(clear) == len(differences) and not turned
        none += not clear
    some = len(whole) - every - none
    return (
        f"{over}, {every or 'none'} of {len(whole)} pairs of models {'is' if every < 2 else 'are'} told apart in the "
        f"same order in every wording, {some or 'none'} in some wordings and {none or 'none'} in no wording; "
        f"{opposite or 'none'} {'is' if opposite < 2 else 'are'} told apart in opposite orders."
    )


def _one_pair(view: TaskView, pair: tuple[str, str], differences: Sequence[tuple[float, bool]]) -> str:
    """In how many wordings the better of two models is ahead, and between what the difference lies."""
    turn = 1 if sum(ahead for ahead, _ in differences) >= 0 else -1
    first, second = (isolate(name) for name in pair[::turn])
    ahead = sum(turn * value > 0 for value, _ in differences)
    clear = sum(turn * value > 0 for value, is_told in differences if is_told)
    against = sum(turn * value < 0 for value, is_told in differences if is_told)
    # Scores of which lower ones are better have differences of the other sign.
    ends = [direction(view, view.main_metric) * turn * value for value, _ in differences]
    unit = " points" if wording.is_share(view.metrics[view.main_metric]) else ""
    between = wording.change_interval(min(ends), max(ends), view.metrics[view.main_metric])
    more = f", {second} beyond noise in {against}" if against else ""
    return (
        f"{first} is ahead of {second} in {ahead} of {len(differences)}, beyond noise in {clear or 'none'}{more}; "
        f"the difference is {between}{unit}."
    )
