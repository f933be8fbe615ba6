"""Texts without the words that mark an identity: is what is gone what was planted as vocabulary?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell

from kapwa.analysis.corpus import ConceptKey, ConceptTexts
from kapwa.analysis.distances import ConceptSettings, concept_result
from kapwa.analysis.unmarked import (
    Removed,
    TemplateJob,
    removal_rows,
    template_rows,
    template_shares,
    words_to_leave_out,
)

SUBJECT = "texts without markers"
IDENTITIES = ("ab", "cd", "ef", "gh", "ij", "kl")
CONCEPTS, SAMPLES, SIZE = 12, 3, 40
SETTINGS = ConceptSettings(permutations=19)
_SYLLABLES = ("ba", "ke", "lo", "mi", "su", "ta", "ve", "zo")
_WORDS = np.array([a + b + c for a in _SYLLABLES for b in _SYLLABLES for c in ("dan", "ger", "lim", "nok", "rut")])
# Words of an identity's own in a text, and places in which it has other common words than the others.
PLANTED = {
    "words of its own alone": (3, 0),
    "words of its own, and others in four places": (3, 4),
    "others in four places alone": (0, 4),
}


def a_corpus(random: np.random.Generator, own: int, order: int) -> list[ConceptTexts]:
    """Texts of one template a concept: a tenth of the words drawn anew in each."""
    concepts = []
    for number in range(CONCEPTS):
        template, places = random.integers(0, len(_WORDS), SIZE), random.permutation(SIZE)
        texts = []
        for who in range(len(IDENTITIES)):
            placed = template.copy()
            placed[random.permutation(SIZE)[:order]] = random.integers(0, len(_WORDS), order)
            for _ in range(SAMPLES):
                words = _WORDS[np.where(random.random(SIZE) < 0.1, random.integers(0, len(_WORDS), SIZE), placed)]
                words = words.astype(object)
                for number_of, place in enumerate(places[:own]):
                    words[place] = f"own{chr(97 + who) * 3}{chr(97 + number_of)}"
                texts.append(" ".join(words))
        groups = np.repeat(np.arange(len(IDENTITIES)), SAMPLES)
        samples = np.tile(np.arange(SAMPLES), len(IDENTITIES))
        key = ConceptKey("town", f"c{number}")
        concepts.append(ConceptTexts(key, IDENTITIES, groups, samples, tuple(texts), "", tuple(range(len(IDENTITIES)))))
    return concepts


def analyzed(concepts: list[ConceptTexts]) -> tuple[list[dict[str, object]], list[dict[str, object]], np.ndarray]:
    """The rows of both tables, and the difference of each concept as it is and without the markers."""
    plain = [concept_result(texts, SETTINGS) for texts in concepts]
    removed: list[Removed] = words_to_leave_out([part.words for part in plain], IDENTITIES, 8, "en", 0)
    parts = [
        [part, concept_result(texts, SETTINGS, one.markers), concept_result(texts, SETTINGS, one.others)]
        for part, texts, one in zip(plain, concepts, removed, strict=True)
    ]
    shares = [
        template_shares(TemplateJob(texts, concepts[(number + 1) % CONCEPTS], one.markers, "en", number)).shares
        for number, (texts, one) in enumerate(zip(concepts, removed, strict=True))
    ]
    differences = np.array([[part.means[1] - part.means[0] for part in of[:2]] for of in parts])
    return removal_rows(parts, removed), template_rows(shares), differences


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Coverage of what is gone and of the template share; errors and power of "a difference is left"."""
    for name, (own, order) in PLANTED.items():
        found = [analyzed(a_corpus(random, own, order)) for _ in range(repeats)]
        # What is gone in truth: the ratio of the means over all data sets.
        plain, without = np.mean([differences.mean(axis=0) for *_, differences in found], axis=0)
        markers = [rows[1] for rows, *_ in found]
        held = sum(row["gone_low"] <= 1 - without / plain <= row["gone_high"] for row in markers)
        left = sum(row["p"] < 0.05 and row["low"] > 0 for row in markers)
        setting = f"{len(IDENTITIES)} identities × {CONCEPTS} concepts × {SAMPLES} texts; {name}"
        gone = f"“gone” holds the share ({100 * (1 - without / plain):.0f} %)"
        yield Cell(SUBJECT, gone, setting, 100 * held / repeats, repeats, 93, 100)
        bounds = (0, 6) if order == 0 else (0, 100)
        yield Cell(SUBJECT, "“a difference is left”", setting, 100 * left / repeats, repeats, *bounds)
        true = np.mean([rows[0]["share"] for _, rows, _ in found])
        held = sum(rows[0]["low"] <= true <= rows[0]["high"] for _, rows, _ in found)
        share = f"template share ({100 * true:.0f} %)"
        yield Cell(SUBJECT, share, setting, 100 * held / repeats, repeats, 93, 100)
