"""What takes no cultural knowledge: chance, and tricks such as "choose the longest"; and what people score.

Length is counted in characters (Unicode code points) and must be strictly greater (or smaller) than that of
every irrelevant response: these rules give the published facts of the released full prompts exactly
(longest 0.413333, shortest 0.113333; bytes give the same, for those texts are ASCII; words do not).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean

from kapwa.records import Floor, Item
from kapwa.suites.kalahi import VARIANTS

_NORMS = ("", "_char", "_token", "_sum", "_reference")
METRICS = ("mc1_shared", *(f"{family}{norm}" for family in ("mc1", "mc2", "mc3") for norm in _NORMS))
# People were asked the released full prompts, to choose among the best and the irrelevant responses.
_PEOPLE = (
    ("human", 0.8910, "mean of three validators, Kalahi section 4.1 (150 full prompts)"),
    (
        "human (implied)",
        (111 * 3 + 31 * 2 + 8 * 1) / 450,
        "111, 31 and 8 of 150 best responses chosen by 3, 2 and 1 of three validators",
    ),
)


def chance_mc1(item: Item) -> float:
    """MC1 of a blind choice among the best and the irrelevant responses: 1 / (1 + irrelevant)."""
    return 1.0 / (1 + len(item.fields["irrelevant"]))


def chance_mc2(item: Item) -> float:
    """MC2 of a model without preference: relevant / (relevant + irrelevant); 0.5 where there are as many of each."""
    relevant, irrelevant = len(item.fields["relevant"]), len(item.fields["irrelevant"])
    return relevant / (relevant + irrelevant)


def by_length(item: Item, sign: int, family: str = "mc1") -> float:
    """Return what choosing the longest (``sign`` 1) or the shortest (-1) response scores.

    MC3 is the share of relevant responses ahead of every irrelevant one; in ``mc1_shared`` ties are split evenly.
    """
    lengths = [sign * len(response) for response in item.fields["irrelevant"]]
    if family == "mc3":
        return fmean(sign * len(response) > max(lengths) for response in item.fields["relevant"])
    best = sign * len(item.fields["best"])
    if family == "mc1_shared" and best >= max(lengths):
        return 1.0 / (1 + lengths.count(best))
    return float(best > max(lengths))


def first_is_best(item: Item) -> bool:
    """Whether the best response comes first of the best and the irrelevant ones, in the order of a hash.

    The hash is of item and response, so the order is the same on every machine, and for every variant.
    """
    responses = (item.fields["best"], *item.fields["irrelevant"])
    hashes = [hashlib.blake2b(f"0\0{item.id}\0{text}".encode(), digest_size=16).digest() for text in responses]
    return hashes[0] == min(hashes)


_CHOICE: Mapping[str, Callable[[Item], float]] = {
    "chance": chance_mc1,
    "longest": partial(by_length, sign=1),
    "shortest": partial(by_length, sign=-1),
    "first position": first_is_best,
}
# By the letters and digit that a metric begins with.
_TRICKS: Mapping[str, Mapping[str, Callable[[Item], float]]] = {
    "mc1": _CHOICE,
    "mc1_shared": {
        **_CHOICE,
        "longest": partial(by_length, sign=1, family="mc1_shared"),
        "shortest": partial(by_length, sign=-1, family="mc1_shared"),
    },
    "mc2": {"no preference": chance_mc2},
    # Every relevant response comes first among itself and the irrelevant ones as often as the best does.
    "mc3": {
        "chance": chance_mc1,
        "longest": partial(by_length, sign=1, family="mc3"),
        "shortest": partial(by_length, sign=-1, family="mc3"),
    },
}


def floors(items: Sequence[Item]) -> list[Floor]:
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
                for metric in METRICS
                for name, trick in _TRICKS.get(metric, _TRICKS[metric[:3]]).items()
            ]
        if variant == "full" and present and all("release" in item.fields for item in present):
            found += [
                Floor(metric, variant, name, value, kind="ceiling", note=source)
                for metric in METRICS
                if metric.startswith("mc1")
                for name, value, source in _PEOPLE
            ]
    return found
