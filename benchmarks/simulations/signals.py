"""Signals about a person's answers: how often careful people are marked by chance, and careless ones found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from benchmarks.simulations import Cell

from kapwa.labels.quality import beside_others

OPTIONS, EACH = 6, 5


def project(random: np.random.Generator, people: int, answers: int, careless: int) -> dict[str, dict[str, str]]:
    """Answers by question and person; five people are asked each question, of whom each answers ``answers``.

    Careful people know .65 of the answers (sd .12) and else name one of six by how common it is; the first ones are
    careless, and name any of the six.
    """
    knows = np.clip(random.normal(0.65, 0.12, people), 0.2, 0.95)
    weights = 1 / np.arange(1, OPTIONS + 1)
    slots = np.concatenate([random.permutation(people) for _ in range(answers)])
    slots = slots[: len(slots) // EACH * EACH].reshape(-1, EACH)
    given: dict[str, dict[str, str]] = {}
    for question, asked in enumerate(slots):
        popular = random.choice(OPTIONS, EACH, p=weights / weights.sum())
        said = np.where(random.random(EACH) < knows[asked], 0, popular)
        said = np.where(asked < careless, random.integers(0, OPTIONS, EACH), said)
        given[str(question)] = {f"{who:03d}": str(answer) for who, answer in zip(asked, said, strict=True)}
    return given


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Projects of careful people, then with one careless person."""
    for people, answers in product((10, 30), (5, 10, 30)):
        setting = f"{people} people, {answers} answers each, each question asked of {EACH}"
        careful = [beside_others(project(random, people, answers, 0)) for _ in range(repeats)]
        marks = [[person.apart for person in beside.values()] for beside in careful]
        before = [
            [
                person.competence is not None
                and person.usual_competence is not None
                and person.competence < person.usual_competence / 2
                for person in beside.values()
            ]
            for beside in careful
        ]
        for name, found, most in (("marked", marks, 6), ("below half of the others (not used)", before, 100)):
            some = 100 * float(np.mean([any(each) for each in found]))
            yield Cell("signals", f"projects with a careful person {name}", setting, some, repeats, 0, most)
            each = 100 * float(np.mean([mark for marks_of in found for mark in marks_of]))
            yield Cell("signals", f"careful people {name}", setting, each, repeats, 0, min(most, 100))
        one = [beside_others(project(random, people, answers, 1))["000"].apart for _ in range(repeats)]
        yield Cell("signals", "careless person marked", setting, 100 * float(np.mean(one)), repeats, 0, 100)
