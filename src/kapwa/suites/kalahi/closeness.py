"""How much closer a text is to relevant than to irrelevant responses (Kalahi section 4.2), and what floors score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from kapwa.metrics.base import Metric
from kapwa.records import Floor, Item, Outcome
from kapwa.suites.similarity import Nearest, SimilarityOptions, nearest_references


class Trial(NamedTuple):
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


def closeness(metric: Metric, trials: Sequence[Trial]) -> list[Closeness]:
    """Return the closeness of each trial."""
    both = [(one.text, one.relevant) for one in trials] + [(one.text, one.irrelevant) for one in trials]
    found = nearest_references(metric, both)
    return [Closeness(*pair) for pair in zip(found[: len(trials)], found[len(trials) :], strict=True)]


def accuracy(margin: float) -> tuple[float, Outcome]:
    """Return 1 for a positive margin, else 0, and what it is called; a tie is no success but is told apart."""
    if margin == 0:
        return 0.0, "tie"
    return (1.0, "right") if margin > 0 else (0.0, "wrong")


# Other situations whose answers stand in for an item's, spread evenly over the file.
_OTHERS = 8


class _Trick(NamedTuple):
    """One way to answer every item of a variant; ``places`` beside ``trials``: of which item each is, of how many."""

    name: str
    note: str
    kind: Literal["floor", "ceiling"]
    variant: str
    trials: list[Trial]
    places: list[int]
    items: int


def open_floors(items: Sequence[Item], options: SimilarityOptions) -> list[Floor]:
    """Return floors and a ceiling of every ``_acc`` and ``_diff``, by variant; of those with a model too.

    Floors: the best response to another situation; eight such joined (what length alone earns); the prompt
    repeated. Ceiling: the references themselves, each relevant response judged against the others of its item, with
    an irrelevant one left out too, so that both groups are equally large (mean over all such choices).
    """
    tricks = [
        trick
        for variant in dict.fromkeys(item.variant for item in items)
        for trick in _tricks([item for item in items if item.variant == variant], variant)
    ]
    trials = [one for trick in tricks for one in trick.trials]
    near = {name: closeness(metric, trials) for name, metric in options.computed().items()}
    floors: list[Floor] = []
    start = 0
    for trick in tricks:
        end = start + len(trick.trials)
        here = {name: found[start:end] for name, found in near.items()}
        for metric in options.metrics or ():
            floors += _floors(metric, here, trick, options.twins)
        start = end
    return floors


def _tricks(items: Sequence[Item], variant: str) -> Iterator[_Trick]:
    strangers = [_strangers(items, i) for i in range(len(items))]
    paired = [(place, other) for place, others in enumerate(strangers) for other in others]
    if paired:
        yield _Trick(
            "another situation's answer",
            "the best response to another situation",
            "floor",
            variant,
            [trial(items[place], other.fields["best"]) for place, other in paired],
            [place for place, _ in paired],
            len(items),
        )
        joined = {
            place: trial(items[place], " ".join(other.fields["best"] for other in others))
            for place, others in enumerate(strangers)
            if others
        }
        note = f"the best responses to up to {_OTHERS} other situations, joined: what length alone earns"
        yield _Trick("many other answers", note, "floor", variant, [*joined.values()], [*joined], len(items))
    echoes = [trial(item, item.fields["prompt"]) for item in items]
    yield _Trick("the prompt repeated", "the prompt itself", "floor", variant, echoes, [*range(len(items))], len(items))
    left_out = [(one, place) for place, item in enumerate(items) for one in _left_out(item)]
    if left_out:
        note = "each relevant response against the others, one irrelevant left out to keep the groups equal"
        trials, places = [one for one, _ in left_out], [place for _, place in left_out]
        yield _Trick("reference answers", note, "ceiling", variant, trials, places, len(items))


def trial(item: Item, text: str) -> Trial:
    """Hold ``text`` against the responses of ``item``."""
    return Trial(text, item.fields["relevant"], item.fields["irrelevant"])


def _strangers(items: Sequence[Item], i: int) -> list[Item]:
    """Return up to eight items of other clusters than item ``i``'s, evenly spaced from it on."""
    ahead = [other for other in (*items[i + 1 :], *items[:i]) if other.cluster != items[i].cluster]
    places = dict.fromkeys(len(ahead) * k // _OTHERS for k in range(_OTHERS)) if ahead else {}
    return [ahead[place] for place in places]


def _left_out(item: Item) -> Iterator[Trial]:
    relevant, irrelevant = item.fields["relevant"], item.fields["irrelevant"]
    if len(relevant) < 2 or len(irrelevant) < 2:
        return
    for i, text in enumerate(relevant):
        near = (*relevant[:i], *relevant[i + 1 :])
        for j in range(len(irrelevant)):
            yield Trial(text, near, (*irrelevant[:j], *irrelevant[j + 1 :]))


def _floors(metric: str, near: dict[str, list[Closeness]], trick: _Trick, twins: Mapping[str, str]) -> Iterator[Floor]:
    def mean(name: str, values: Sequence[float]) -> Floor:
        counts = np.bincount(trick.places, minlength=trick.items)
        sums = np.bincount(trick.places, weights=values, minlength=trick.items)
        each = np.divide(sums, counts, out=np.full(trick.items, np.nan), where=counts > 0)
        value = float(np.nanmean(each))
        return Floor(name, trick.variant, trick.name, value, trick.kind, trick.note, by_item=each.tolist())

    yield mean(f"{metric}_acc", [accuracy(one.margin)[0] for one in near[metric]])
    yield mean(f"{metric}_diff", [one.margin for one in near[metric]])
    if metric in twins:
        twin = near[twins[metric]]
        yield mean(f"{metric}_acc_reference", [accuracy(one.margin)[0] for one in twin])
