"""How one person's answers stand beside those of others, where nothing says which answer is right.

Figures of answers, not of people: somebody of a variety that few share agrees with few, however carefully they answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from statistics import median
from typing import NamedTuple

import numpy as np

from kapwa.labels.open_answers import Given
from kapwa.stats.clusters import FloatArray
from kapwa.stats.consensus import MISSING, competences, corrected_matches
from kapwa.stats.intervals import Estimate, mean_estimates

# Apart is who is below such a part of the median of the others; by chance anybody is in so many of all groups.
HALF, _ALPHA = 0.5, 0.05


class Beside(NamedTuple):
    """A person beside the others.

    ``agreement``: the share of the others who give the same answer to an item, averaged over the items that somebody
    else answered, too, in [0, 1], with an interval over items. ``competence``: the share of answers that they know by
    the cultural consensus model (:mod:`kapwa.stats.consensus`), in [−1, 1]; None where fewer than three people share
    items with one another, of whom it cannot be told. ``usual_agreement``, ``usual_competence``: the medians of the
    others. ``apart``: whether the person's competence (or agreement, where it cannot be told) is below half of the
    usual, and that is no chance: of people who all know as much, one in twenty groups has anybody apart, however many
    they are and however few answers each gave.
    """

    agreement: Estimate
    competence: float | None
    usual_agreement: float | None = None
    usual_competence: float | None = None
    apart: bool = False


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
    competence = _competences_of(codes, options)
    comparisons, at_most = {}, {}
    for number, rater in enumerate(people):
        others = (codes != MISSING) & (codes[number] != MISSING)
        others[number] = False
        counts = others.sum(axis=0)
        shared = counts > 0
        alike = (others & (codes == codes[number])).sum(axis=0)[shared] / counts[shared]
        comparisons[rater] = Beside(mean_estimates(alike, None, share=True)[0], competence[number])
        # One-sided, and for each of so many people (Bonferroni).
        at_most[rater] = mean_estimates(alike, None, share=True, level=1 - 2 * _ALPHA / len(people))[0].high
    return {rater: _beside_medians(rater, comparisons, at_most[rater]) for rater in people}


def _beside_medians(rater: str, comparisons: Mapping[str, Beside], at_most: float | None) -> Beside:
    """Hold a person against the medians of the others; ``at_most``: what their agreement may be at most."""
    of_rater, others = comparisons[rater], [person for name, person in comparisons.items() if name != rater]
    agreements = [person.agreement.value for person in others if person.agreement.value is not None]
    competences = [person.competence for person in others if person.competence is not None]
    usual = median(agreements) if agreements else None
    if of_rater.agreement.value is None or usual is None or at_most is None:
        return of_rater._replace(usual_agreement=usual)
    known = median(competences) if competences else None
    low = of_rater.agreement.value < HALF * usual
    if of_rater.competence is not None and known is not None:
        low = of_rater.competence < HALF * known
    return of_rater._replace(usual_agreement=usual, usual_competence=known, apart=low and at_most < usual)


def _competences_of(codes: np.ndarray, options: float) -> list[float | None]:
    matches: FloatArray = corrected_matches(codes, np.full(codes.shape[1], options))
    shared = (~np.isnan(matches)).astype(int)
    threes = np.diagonal(shared @ shared @ shared)  # walks from one person over two others and back
    return [value if three else None for value, three in zip(competences(matches).tolist(), threes, strict=True)]
