"""How one person's answers stand beside those of others, where nothing says which answer is right.

Figures of answers, not of people: somebody of a variety that few share agrees with few, however carefully they answer.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from kapwa.people.answers import Given
from kapwa.stats.clusters import FloatArray
from kapwa.stats.consensus import MISSING, competences, corrected_matches
from kapwa.stats.intervals import Estimate, mean_estimates


class Beside(NamedTuple):
    """A person beside the others.

    ``agreement``: the share of the others who give the same answer to an item, averaged over the items that somebody
    else answered, too, in [0, 1], with an interval over items. ``competence``: the share of answers that they know by
    the cultural consensus model (:mod:`kapwa.stats.consensus`), in [−1, 1]; None where fewer than three people share
    items with one another, of whom it cannot be told.
    """

    agreement: Estimate
    competence: float | None


def beside_others(answers: Given, options: float = inf) -> dict[str, Beside]:
    """Return each person of ``answers`` beside the others; answers that mean the same are one text, by item and person.

    ``options``: among how many answers people choose, infinite where they write in their own words.
    """
    people = sorted({rater for by_rater in answers.values() for rater in by_rater})
    if not people:
        return {}
    codes = np.full((len(people), len(answers)), MISSING)
    for column, by_rater in zip(codes.T, answers.values(), strict=True):
        texts = list(dict.fromkeys(by_rater.values()))
        column[[people.index(rater) for rater in by_rater]] = [texts.index(text) for text in by_rater.values()]
    competence = _competences(codes, options)
    beside = {}
    for place, rater in enumerate(people):
        others = (codes != MISSING) & (codes[place] != MISSING)
        others[place] = False
        counts = others.sum(axis=0)
        shared = counts > 0
        alike = (others & (codes == codes[place])).sum(axis=0)[shared] / counts[shared]
        beside[rater] = Beside(mean_estimates(alike, None, binary=True)[0], competence[place])
    return beside


def _competences(codes: np.ndarray, options: float) -> list[float | None]:
    matches: FloatArray = corrected_matches(codes, np.full(codes.shape[1], options))
    shared = (~np.isnan(matches)).astype(int)
    threes = np.diagonal(shared @ shared @ shared)  # walks from one person over two others and back
    return [value if three else None for value, three in zip(competences(matches).tolist(), threes, strict=True)]
