"""What takes no cultural knowledge: chance, and tricks such as "choose the longest"; and what people score.

Length is counted in characters (Unicode code points) and must be strictly greater (or smaller) than that of
every irrelevant response: these rules give the published facts of the released full prompts exactly
(longest 0.413333, shortest 0.113333; bytes give the same, for those texts are ASCII; words do not).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from statistics import fmean

from kapwa.records import Floor, Item
from kapwa.suites.kalahi import VARIANTS

_NORMS = ("", "_char", "_token", "_sum", "_reference")
METRICS = ("mc1_shared", *(f"{family}{norm}" for family in ("mc1", "mc2", "mc3") for norm in _NORMS))

HUMAN_PAPER = 0.8910
HUMAN_IMPLIED = (111 * 3 + 31 * 2 + 8 * 1) / 450
_SOURCES = (
    ("human", HUMAN_PAPER, "mean of three validators, Kalahi section 4.1 (150 full prompts)"),
    ("human (implied)", HUMAN_IMPLIED, "111, 31 and 8 of 150 best responses chosen by 3, 2 and 1 of three validators"),
)


def chance_mc1(item: Item) -> float:
    """MC1 of a blind choice among the best and the irrelevant responses: 1 / (1 + irrelevant)."""
    return 1.0 / (1 + len(item.fields["irrelevant"]))


def chance_mc2(item: Item) -> float:
    """MC2 of a model without preference: relevant / (relevant + irrelevant); 0.5 where there are as many of each."""
    relevant, irrelevant = len(item.fields["relevant"]), len(item.fields["irrelevant"])
    return relevant / (relevant + irrelevant)


def longest_is_best(item: Item) -> bool:
    """Whether the best response has more characters than every irrelevant one."""
    return len(item.fields["best"]) > max(map(len, item.fields["irrelevant"]))


def shortest_is_best(item: Item) -> bool:
    """Whether the best response has fewer characters than every irrelevant one."""
    return len(item.fields["best"]) < min(map(len, item.fields["irrelevant"]))


def layout(item: Item, seed: int = 0) -> tuple[str, ...]:
    """Lay out the best and the irrelevant responses as shown to people, in an order that only the seed decides.

    The order is that of a hash of seed, item and response, so it is the same on every machine and Python, and
    for every variant of the situation.
    """

    def rank(response: str) -> bytes:
        return hashlib.blake2b("\0".join((str(seed), item.id, response)).encode(), digest_size=16).digest()

    return tuple(sorted((item.fields["best"], *item.fields["irrelevant"]), key=rank))


def first_is_best(item: Item, seed: int = 0) -> bool:
    """Whether the best response stands first in :func:`layout`."""
    return bool(layout(item, seed)[0] == item.fields["best"])


def _by_length(item: Item, family: str, sign: int) -> float:
    """What choosing the longest (``sign`` 1) or the shortest (-1) response scores.

    MC3 is the share of relevant responses ahead of every irrelevant one; in ``mc1_shared`` ties are split evenly.
    """
    lengths = [sign * len(response) for response in item.fields["irrelevant"]]
    if family == "mc3":
        return fmean(sign * len(response) > max(lengths) for response in item.fields["relevant"])
    best = sign * len(item.fields["best"])
    if family == "mc1_shared" and best >= max(lengths):
        return 1.0 / (1 + lengths.count(best))
    return float(best > max(lengths))


def _tricks(metric: str, seed: int) -> dict[str, Callable[[Item], float]]:
    """Name and value of every floor of a metric; a metric that is not multiple choice has none."""
    family = "mc1_shared" if metric == "mc1_shared" else metric.split("_", 1)[0]
    if family == "mc2":
        return {"no preference": chance_mc2}
    if not family.startswith(("mc1", "mc3")):
        return {}
    tricks: dict[str, Callable[[Item], float]] = {
        # MC3: every relevant response comes first among itself and the irrelevant ones as often as the best does.
        "chance": chance_mc1,
        "longest": lambda item: _by_length(item, family, 1),
        "shortest": lambda item: _by_length(item, family, -1),
    }
    return tricks if family == "mc3" else {**tricks, "first position": lambda item: first_is_best(item, seed)}


def floors(items: Sequence[Item], metrics: Sequence[str] = METRICS, seed: int = 0) -> list[Floor]:
    """Return the floors of every metric and variant present, and the ceiling where people's score is known.

    Over all items ``note`` is ""; where there are several cultures, each has its own floors too, with its name
    as ``note``. Values are means over items, in [0, 1]. The ceilings (kind "ceiling") are those of the released
    Filipino full prompts and are given for MC1 only when items are exactly those released ones or some of them.
    """
    found: list[Floor] = []
    for variant in VARIANTS:
        present = [item for item in items if item.variant == variant]
        cultures = list(dict.fromkeys(item.culture for item in present))
        groups = {"": present} if present else {}
        if len(cultures) > 1:
            groups |= {culture: [item for item in present if item.culture == culture] for culture in cultures}
        for note, group in groups.items():
            found += [
                Floor(metric, variant, name, fmean(map(trick, group)), note=note)
                for metric in metrics
                for name, trick in _tricks(metric, seed).items()
            ]
        # People were asked the released full prompts, to choose among the best and the irrelevant responses.
        if variant == "full" and present and all("release" in item.fields for item in present):
            found += [
                Floor(metric, variant, name, value, kind="ceiling", note=source)
                for metric in metrics
                if metric.startswith("mc1")
                for name, value, source in _SOURCES
            ]
    return found
