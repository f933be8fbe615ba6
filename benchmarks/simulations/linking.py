"""Releases linked by common items: is one called harder that is not, and do intervals hold the planted step and scores?

Systems are drawn from a population of abilities and answer items of a two-parameter logistic model; a system may take
to new items better or worse than its ability says. A common item is answered alike in both releases but for a few
answers, unless its difficulty drifted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.clusters import FloatArray
from kapwa.stats.linking import Linking, ReleaseAnswers, ReleaseItems, moved_items

SUBJECT = "Linking of releases"
FICKLE = 0.03  # answers to a common item that differ between releases by chance
POPULATION = 3000  # systems of whom the true step is computed


@dataclass(frozen=True)
class Design:
    """What is simulated: items of each culture that a release has alone and in common, and how systems take them.

    ``clustered``: items a cluster, at most; ``harder``: new items are by so many logits; ``drifted``: this share of
    common items is harder by two logits in the new release; ``taste``: standard deviation, in logits, of what a system
    finds easier in new items than others do; ``missing``: this share of answers; ``families``: systems of which are
    nearly one.
    """

    name: str
    systems: int = 5
    alone: tuple[int, ...] = (50,)
    common: tuple[int, ...] = (100,)
    clustered: int = 1
    harder: float = 0.0
    drifted: float = 0.0
    taste: float = 0.0
    missing: float = 0.0
    families: int = 0


UNEQUAL = ((10, 20, 40, 60), (10, 30, 60, 90))
DESIGNS = (
    Design("3 systems", systems=3),
    Design("5 systems"),
    Design("12 systems", systems=12),
    Design("5 systems, 15 of 115 items common", alone=(100,), common=(15,)),
    Design("5 systems, 4 unequal cultures, clusters of 1–4", alone=UNEQUAL[0], common=UNEQUAL[1], clustered=4),
    Design("5 systems, each takes to new items in its own way", taste=0.5),
    Design("12 systems, 4 unequal cultures, own ways", 12, UNEQUAL[0], UNEQUAL[1], 4, taste=0.5),
    Design("5 systems, 3 % of answers missing", missing=0.03),
    Design("5 systems, 15 % of common items drifted", drifted=0.15),
    Design("12 systems, 15 % of common items drifted", systems=12, drifted=0.15),
)


@dataclass(frozen=True)
class World:
    """Items of both releases, and their true difficulties."""

    design: Design
    old: ReleaseItems
    new: ReleaseItems
    hard: tuple[FloatArray, FloatArray]
    slopes: tuple[FloatArray, FloatArray]
    common: int

    def chances(self, random: np.random.Generator, systems: int) -> list[FloatArray]:
        """The chance of each system to answer each item rightly, by release."""
        groups = self.design.families or systems
        own = random.normal(size=groups)[np.arange(systems) % groups]
        taste = self.design.taste * random.normal(size=groups)[np.arange(systems) % groups]
        found = []
        for side, (hard, slope) in enumerate(zip(self.hard, self.slopes, strict=True)):
            able = np.repeat(own[:, None], len(hard), axis=1)
            if side:
                able[:, self.common :] += taste[:, None]
            found.append(1 / (1 + np.exp(-slope * (able - hard))))
        return found

    def answers(self, random: np.random.Generator, systems: int) -> list[FloatArray]:
        """ReleaseAnswers, right or wrong, by release; one draw decides an answer to a common item in both."""
        groups = self.design.families or systems
        chances = self.chances(random, systems)
        luck = [random.random((groups, chance.shape[1]))[np.arange(systems) % groups] for chance in chances]
        luck[1][:, : self.common] = luck[0][:, : self.common]
        again = random.random((systems, self.common)) < FICKLE
        luck[1][:, : self.common][again] = random.random(int(again.sum()))
        return [(draw < chance).astype(float) for draw, chance in zip(luck, chances, strict=True)]

    def scores(self, values: list[FloatArray]) -> list[FloatArray]:
        """The mean over cultures, each counting alike, of each system and release."""
        found = []
        for side, value in zip((self.old, self.new), values, strict=True):
            codes = np.asarray(side.cultures)
            found.append(np.mean([value[:, codes == culture].mean(axis=1) for culture in np.unique(codes)], axis=0))
        return found

    def true_step(self, random: np.random.Generator) -> float:
        """The mean change of score over all systems."""
        old, new = self.scores(self.chances(random, POPULATION))
        return float((new - old).mean())


def world(random: np.random.Generator, design: Design) -> World:
    """Common items first, then those that one release has alone, as hard as the other's but for ``harder``."""
    cultures = [np.repeat(np.arange(len(sizes)), sizes) for sizes in (design.common, design.alone)]
    common, alone = (len(codes) for codes in cultures)
    codes = np.concatenate(cultures)
    within = np.array([int((codes[:place] == code).sum()) for place, code in enumerate(codes)])
    clusters = [
        f"{code}-{place // max(1, design.clustered - code % 2)}" for code, place in zip(codes, within, strict=True)
    ]
    lumps = {name: random.normal() for name in dict.fromkeys(clusters)}
    hard = np.array([np.sqrt(0.5) * lumps[name] for name in clusters]) + np.sqrt(0.5) * random.normal(size=len(codes))
    slope = random.lognormal(0, 0.25, len(codes))
    drift = np.where(random.random(common) < design.drifted, 2.0, 0.0)
    later = hard + np.concatenate([drift, np.full(alone, design.harder)])
    names = [
        [f"both {place}" for place in range(common)] + [f"{side} {place}" for place in range(alone)] for side in "ab"
    ]
    new_clusters = [*clusters[:common], *(f"new {name}" for name in clusters[common:])]
    old = ReleaseItems(codes.tolist(), clusters, names[0])
    new = ReleaseItems(codes.tolist(), new_clusters, names[1])
    return World(design, old, new, (hard, later), (slope, slope), common)


def recorded(random: np.random.Generator, value: FloatArray, missing: float) -> ReleaseAnswers:
    """ReleaseAnswers as runs have them; wrong ones are missing twice as often as right ones."""
    gone = random.random(value.shape) < missing * np.where(value > 0.5, 2 / 3, 4 / 3)
    return ReleaseAnswers(np.where(gone, np.nan, value), np.where(gone, 0.0, value), np.where(gone, 1.0, value))


def one_data_set(
    random: np.random.Generator, design: Design
) -> tuple[float, float, float, bool, bool, list[bool], list[bool]]:
    """The true step and its interval, whether one more system's score is held and called outside, and drifts found."""
    made = world(random, design)
    old, new = made.answers(random, design.systems + 1)
    known = slice(design.systems)
    kept = [recorded(random, value, design.missing) for value in (old, new)]
    moved = moved_items(*(part.value[known, : made.common] for part in kept))
    found = np.array([item.significant for item in moved])
    # An item that drifted is another item in the later release.
    names = [
        f"later {name}" if place < made.common and found[place] else name for place, name in enumerate(made.new.names)
    ]
    sides = [ReleaseAnswers(*(values[known] for values in part)) for part in kept]
    linking = Linking(made.old, made.new._replace(names=names), *sides)
    step = linking.step()
    (more,) = linking.onto_old(ReleaseAnswers(*(values[design.systems :] for values in kept[1])))
    truth = float(made.scores([old, new])[0][design.systems])
    drifted = made.hard[1][: made.common] > made.hard[0][: made.common] + 1
    held = more.low - 1e-9 <= truth <= more.high + 1e-9
    return (
        made.true_step(random),
        step.low,
        step.high,
        held,
        more.outside,
        found[drifted].tolist(),
        found[~drifted].tolist(),
    )


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Coverage of the step and of linked scores, errors and power of "harder", and drifts found."""
    for design in DESIGNS:
        found = [one_data_set(random, design) for _ in range(repeats)]
        held = 100 * np.mean([low <= truth <= high for truth, low, high, *_ in found])
        yield Cell(SUBJECT, "interval of the step holds it", design.name, float(held), repeats, 93, 100)
        if not design.drifted:
            wrong = 100 * np.mean([low > 0 or high < 0 for _, low, high, *_ in found])
            yield Cell(SUBJECT, "“harder” or “easier” of equal releases", design.name, float(wrong), repeats, 0, 6)
        scores = 100 * np.mean([one[3] for one in found])
        yield Cell(SUBJECT, "interval of a linked score holds it", design.name, float(scores), repeats, 93, 100)
        if design.drifted:
            any_wrong = 100 * np.mean([any(one[6]) for one in found])
            yield Cell(SUBJECT, "any item wrongly said to have drifted", design.name, float(any_wrong), repeats, 0, 6)
            right = 100 * np.mean([item for one in found for item in one[5]])
            yield Cell(SUBJECT, "drifted items found", design.name, float(right), repeats, 0, 100)
    for design in (DESIGNS[0], DESIGNS[1], DESIGNS[2]):
        several = [one_data_set(random, replace(design, harder=1.0)) for _ in range(repeats)]
        power = 100 * np.mean([high < 0 for _, _, high, *_ in several])
        size = 100 * np.mean([truth for truth, *_ in several])
        setting = f"{design.name}, new items harder by 1 logit (the score falls by {-size:.1f} points)"
        yield Cell(SUBJECT, "“harder” of a harder release", setting, float(power), repeats, 0, 100)
    twins = replace(DESIGNS[1], name="6 systems of 2 families", systems=6, families=2, taste=0.5)
    found = [one_data_set(random, twins) for _ in range(repeats)]
    held = 100 * np.mean([low <= truth <= high for truth, low, high, *_ in found])
    yield Cell(
        SUBJECT,
        "the same, where systems are near copies (docs say to leave them out)",
        twins.name,
        float(held),
        repeats,
        0,
        100,
    )
