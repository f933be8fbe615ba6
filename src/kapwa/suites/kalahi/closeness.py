"""How much closer a text is to relevant than to irrelevant responses (Kalahi section 4.2), and what floors score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np

from kapwa.metrics.base import Metric
from kapwa.records import Floor, Item
from kapwa.suites.items import accuracy, grouped
from kapwa.suites.similarity import Nearest, SimilarityOptions, nearest_references


class ClosenessTrial(NamedTuple):
    """A text and the responses it is held against; neither group may be empty."""

    text: str
    relevant: Sequence[str]
    irrelevant: Sequence[str]


class Closeness(NamedTuple):
    """The nearest response of each group."""

    relevant: Nearest
    irrelevant: Nearest

    @property
    def margin(self) -> float:
        """Largest similarity to a relevant response minus largest to an irrelevant one."""
        return self.relevant.value - self.irrelevant.value


def closeness(metric: Metric, trials: Sequence[ClosenessTrial]) -> list[Closeness]:
    """Return the closeness of each trial."""
    both = [(case.text, case.relevant) for case in trials] + [(case.text, case.irrelevant) for case in trials]
    nearest = nearest_references(metric, both)
    return [Closeness(*pair) for pair in zip(nearest[: len(trials)], nearest[len(trials) :], strict=True)]


# Floors of fewer items are worked out sooner than they are looked up.
_WORTH_KEEPING = 100
# Other situations whose answers stand in for an item's, spread evenly over the file.
_OTHERS = 8


class _Trick(NamedTuple):
    """One way to answer the items of a variant; ``trials``: each with the place of the item that it answers."""

    name: str
    note: str
    trials: list[tuple[int, ClosenessTrial]]
    kind: Literal["floor", "ceiling"] = "floor"


def cached_floors(items: Sequence[Item], options: SimilarityOptions) -> list[Floor]:
    """Return what :func:`open_floors` does, kept from an earlier run of the same data where there was one."""
    if len(items) < _WORTH_KEEPING:
        return open_floors(items, options)
    from kapwa.suites.disk_cache import cached

    names = ("prompt", "best", "relevant", "irrelevant")
    texts = (repr((item.variant, item.cluster, [item.fields[name] for name in names])) for item in items)
    follows_from = (repr(options), repr(options.signatures()), *texts)
    return cached("floors-open", follows_from, list[Floor], lambda: open_floors(items, options))


def open_floors(items: Sequence[Item], options: SimilarityOptions) -> list[Floor]:
    """Return floors and a ceiling of every ``_acc`` and ``_diff``, by variant; of those with a model too.

    Floors: the best response to another situation; eight such joined (what length alone earns); the prompt
    repeated. Ceiling: the references themselves, each relevant response judged against the others of its item, with
    an irrelevant one left out too, so that both groups are equally large (mean over all such choices).
    """
    by_variant = grouped(items, lambda item: item.variant)
    tricks = [(variant, trick) for variant, group in by_variant.items() for trick in _tricks(group) if trick.trials]
    trials = [case for _, trick in tricks for _, case in trick.trials]
    near = {name: iter(closeness(metric, trials)) for name, metric in options.computed().items()}
    floors: list[Floor] = []
    for variant, trick in tricks:
        of_trick = {name: list(islice(each, len(trick.trials))) for name, each in near.items()}
        values: dict[str, list[float]] = {}
        for metric in options.metrics or ():
            values[f"{metric}_acc"] = [accuracy(case.margin)[0] for case in of_trick[metric]]
            values[f"{metric}_diff"] = [case.margin for case in of_trick[metric]]
            if metric in options.twins:
                values[f"{metric}_acc_reference"] = [
                    accuracy(case.margin)[0] for case in of_trick[options.twins[metric]]
                ]
        for metric, of_metric in values.items():
            each_item = _item_means(of_metric, [index for index, _ in trick.trials], len(by_variant[variant]))
            mean = float(np.nanmean(each_item))
            floors.append(Floor(metric, variant, trick.name, mean, trick.kind, trick.note, by_item=each_item))
    return floors


def _item_means(values: Sequence[float], indices: Sequence[int], items: int) -> list[float]:
    """Return the mean of the values of each item, NaN where it has none; ``indices``: of which item each is."""
    counts = np.bincount(indices, minlength=items)
    sums = np.bincount(indices, weights=values, minlength=items)
    means: list[float] = np.divide(sums, counts, out=np.full(items, np.nan), where=counts > 0).tolist()
    return means


def _tricks(items: Sequence[Item]) -> Iterator[_Trick]:
    """Yield every trick on the items of one variant; some may have no trials."""
    strangers = [[other.fields["best"] for other in _strangers(items, i)] for i in range(len(items))]
    others = [(i, trial(items[i], best)) for i, responses in enumerate(strangers) for best in responses]
    yield _Trick("another situation's answer", "the best response to another situation", others)
    joined = [(i, trial(items[i], " ".join(responses))) for i, responses in enumerate(strangers) if responses]
    note = f"the best responses to up to {_OTHERS} other situations, joined: what length alone earns"
    yield _Trick("many other answers", note, joined)
    echoes = [(i, trial(item, item.fields["prompt"])) for i, item in enumerate(items)]
    yield _Trick("the prompt repeated", "the prompt itself", echoes)
    left_out = [(i, case) for i, item in enumerate(items) for case in _left_out(item)]
    note = "each relevant response against the others, one irrelevant left out to keep the groups equal"
    yield _Trick("reference answers", note, left_out, "ceiling")


def trial(item: Item, text: str) -> ClosenessTrial:
    """Hold ``text`` against the responses of ``item``."""
    return ClosenessTrial(text, item.fields["relevant"], item.fields["irrelevant"])


def _strangers(items: Sequence[Item], i: int) -> list[Item]:
    """Return up to eight items of other clusters than item ``i``'s, evenly spaced from it on."""
    ahead = [other for other in (*items[i + 1 :], *items[:i]) if other.cluster != items[i].cluster]
    indices = dict.fromkeys(len(ahead) * k // _OTHERS for k in range(_OTHERS)) if ahead else {}
    return [ahead[index] for index in indices]


def _left_out(item: Item) -> Iterator[ClosenessTrial]:
    relevant, irrelevant = item.fields["relevant"], item.fields["irrelevant"]
    if len(relevant) < 2 or len(irrelevant) < 2:
        return
    for i, text in enumerate(relevant):
        near = (*relevant[:i], *relevant[i + 1 :])
        for j in range(len(irrelevant)):
            yield ClosenessTrial(text, near, (*irrelevant[:j], *irrelevant[j + 1 :]))
