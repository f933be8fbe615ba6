"""Opinions: a model that is the people, one that answers alike for all cultures, and unrelated maps in blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from benchmarks.simulations import Cell
from numpy.typing import NDArray

from kapwa.languages.places import places
from kapwa.records import Floor, Item
from kapwa.report.view.reference_scores import ReferenceScore, ReferenceScores, Verdict, verdicts
from kapwa.stats.intervals import against_marks, mean_estimates
from kapwa.stats.pooled import pooled_against_marks, pooled_mean
from kapwa.suites.opinions.between import correlation_words
from kapwa.suites.opinions.judging import floors
from kapwa.suites.opinions.shares import Key, distances, item_key, people_of

Shares = NDArray[np.float64]
Kind = Literal["perfect", "mean", "median"]
SUBJECT = "opinions"
METRIC = "tv_overlap"


def asked(question: str, culture: str, counts: Shares) -> Item:
    """A question put to the people of a culture, so many of whom chose each option."""
    fields = {"numbers": tuple(counts.tolist()), "options": tuple("abcdefgh"[: len(counts)])}
    more = {"people": int(counts.sum()), "names_culture": True}
    return Item(f"{question}/{culture}", "opinions", culture, "en", "", "", "person", question, fields | more)


def survey(
    random: np.random.Generator, cultures: int, questions: int, people: int, apart: float
) -> tuple[list[Item], Shares]:
    """Items, and the shares of each culture's population (questions, cultures, options).

    ``apart``: the part of a culture's shares that is its own; the last culture lies furthest from the others.
    """
    common = random.dirichlet(np.ones(4), questions)[:, None]
    own = random.dirichlet(np.ones(4) * 0.7, (questions, cultures))
    weight = np.append(np.full(cultures - 1, apart), min(2 * apart, 1.0))[:, None]
    shares = (1 - weight) * common + weight * own
    counts = random.multinomial(people, shares).astype(float)
    items = [asked(f"q{q}", f"c{c}", counts[q, c]) for q in range(questions) for c in range(cultures)]
    return items, shares


def answered(random: np.random.Generator, kind: Kind, shares: Shares, samples: int) -> Shares:
    """Shares that a model gives each item, of so many replies (0: without noise)."""
    given = shares
    if kind != "perfect":
        given = np.mean(shares, axis=1) if kind == "mean" else np.median(shares, axis=1)
        given = np.repeat((given / given.sum(axis=1, keepdims=True))[:, None], shares.shape[1], axis=1)
    given = given.reshape(-1, shares.shape[2])
    return random.multinomial(samples, given) / samples if samples else given


def told(
    items: Sequence[Item], model: Shares, marks: Sequence[Floor]
) -> tuple[dict[str, Verdict], list[dict[str, Verdict]]]:
    """Verdicts on the mean over cultures, and on each culture, as a page has them."""
    values = np.array([float(distances(p, people_of(one))[METRIC]) for one, p in zip(items, model, strict=True)])
    cultures, clusters = [item.culture for item in items], [item.cluster for item in items]
    mine = [floor for floor in marks if floor.metric == METRIC]
    over = [floor for floor in mine if floor.note == ""]
    columns = np.array([floor.by_item for floor in over]).T
    found = pooled_against_marks(values, columns, cultures, clusters, share=True)
    every = [
        ReferenceScore(f.name, f.value, f.kind == "ceiling", "", "", *one) for f, one in zip(over, found, strict=True)
    ]
    mean = dict(pooled_mean(values, cultures, clusters, share=True)._asdict())
    (pooled,) = verdicts([(mean, ReferenceScores.of(every))])
    held = []
    for culture in dict.fromkeys(cultures):
        here = np.array([one == culture for one in cultures])
        ours = [floor for floor in mine if floor.note == culture]
        questions = np.array(clusters)[here]
        found = against_marks(values[here], np.array([f.by_item for f in ours]).T, questions, share=True)
        own = [
            ReferenceScore(f.name, f.value, f.kind == "ceiling", "", "", *one)
            for f, one in zip(ours, found, strict=True)
        ]
        held.append((dict(mean_estimates(values[here], questions, share=True)[0]._asdict()), ReferenceScores.of(own)))
    each = [{mark.name: way for mark, way in said.items()} for said in verdicts(held)]
    return {mark.name: way for mark, way in pooled.items()}, each


def wrongly(
    random: np.random.Generator, repeats: int, kind: Kind, design: tuple[int, int, int, float], samples: int
) -> tuple[float, float]:
    """Percent of surveys that call a model better than it is: the mean over cultures, and any single culture.

    A perfect model is above no ceiling; one that answers alike for all cultures does better than every floor nowhere.
    """
    mean = single = 0
    for _ in range(repeats):
        items, shares = survey(random, *design)
        said, each = told(items, answered(random, kind, shares, samples), floors(items, samples))

        def erred(ways: dict[str, Verdict]) -> bool:
            if kind == "perfect":
                return ways["perfect model"] == "above"
            return all(way == "above" for name, way in ways.items() if name != "perfect model")

        mean += erred(said)
        single += any(map(erred, each))
    return 100 * mean / repeats, 100 * single / repeats


def below_ceiling(
    random: np.random.Generator, repeats: int, design: tuple[int, int, int, float], samples: int
) -> float:
    """Percent of surveys in which a perfect model's mean is called below what perfect models score."""
    found = 0
    for _ in range(repeats):
        items, shares = survey(random, *design)
        said, _ = told(items, answered(random, "perfect", shares, samples), floors(items, samples))
        found += said["perfect model"] == "below"
    return 100 * found / repeats


def regional(
    random: np.random.Generator, block: str, cultures: int, questions: int, *, related: bool = False
) -> tuple[list[Item], dict[Key, Shares]]:
    """A survey of countries whose people, and a model, each answer by region or language, in ways of their own.

    ``related``: the model's shares are half the people's.
    """
    chosen = random.choice(len(places()), cultures, replace=False)
    here = [places()[k] for k in chosen.tolist()]
    whose = [place.region if block == "region" else place.languages[0] for place in here]
    blocks = np.unique(whose, return_inverse=True)[1]
    items, model = [], {}
    for question in range(questions):
        logits = 0.8 * random.normal(size=(2, blocks.max() + 1))[:, blocks] + 0.6 * random.normal(size=(2, cultures))
        if related:
            logits[1] = 0.7 * logits[0] + 0.7 * logits[1]
        people, answers = 1 / (1 + np.exp(-logits))
        for k, place in enumerate(here):
            made = asked(f"q{question}", place.country, np.round(400 * np.array([people[k], 1 - people[k]])))
            items.append(made)
            model[item_key(made)] = np.array([answers[k], 1 - answers[k]])
    return items, model


def correlated(random: np.random.Generator, repeats: int, block: str, cultures: int, *, related: bool = False) -> float:
    """Percent of surveys whose note on distances between cultures has p of at most .05."""
    found = 0
    for _ in range(repeats):
        (words,) = correlation_words(*regional(random, block, cultures, 20, related=related))
        p = re.search(r"p = ([\d.]+):", words)
        found += p is not None and float(p[1]) <= 0.05
    return 100 * found / repeats


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Error rates of the sentences on ceilings and floors, and of the note on distances between cultures."""
    few = max(repeats // 5, 20)
    for design in ((4, 60, 100, 0.3), (4, 60, 1000, 0.3), (8, 40, 30, 0.5)):
        for samples in (0, 20):
            cultures, questions, people, _ = design
            how = f"{samples} replies" if samples else "likelihoods"
            setting = f"{cultures} cultures × {questions} questions, {people} people, {how}"
            mean, single = wrongly(random, few, "perfect", design, samples)
            yield Cell(SUBJECT, "a perfect model called above perfect models", setting, mean, few, 0, 6)
            yield Cell(SUBJECT, "a perfect model called above them in any culture", setting, single, few, 0, 6)
            below = below_ceiling(random, few, design, samples)
            yield Cell(SUBJECT, "a perfect model called below perfect models", setting, below, few, 0, 6)
            for kind in ("mean", "median"):
                mean, single = wrongly(random, few, kind, design, samples)
                what = f"the {kind} of all populations"
                yield Cell(SUBJECT, f"{what} called better than every culture-blind answer", setting, mean, few, 0, 6)
                yield Cell(SUBJECT, f"{what} called so in any culture", setting, single, few, 0, 6)
    for block in ("region", "language"):
        for cultures in (10, 30):
            setting = f"{cultures} countries, 20 questions, blocks of one {block}, unrelated"
            share = correlated(random, few, block, cultures)
            yield Cell(SUBJECT, "“distances between cultures”, p at most .05", setting, share, few, 0, 7)
    share = correlated(random, few, "region", 30, related=True)
    setting = "30 countries, 20 questions, blocks of one region, half the people's"
    yield Cell(SUBJECT, "“distances between cultures” found", setting, share, few, 0, 100)
