"""What an audit of 60 questions a culture mends: one listed wording of every answer hidden from BLEnD's key.

    python benchmarks/audits.py --data ../shared/data/blend [--draws 1000] [--n 60]

Of every answer group of the released BLEnD that lists two wordings or more in the local language, one, drawn at random,
is hidden from the key: people call it right, the key does not know it. Two models know equally many questions of each
country (not the same ones) and give a wrong answer to the others: another question's. The first answers in a wording
that the key still lists, the second in any of the group's, the hidden one among them. Both are judged by Kapwa's own
matcher with the key that lacks wordings; "people" judge with the whole key. Then 60 questions of each country are drawn
1,000 times, both models' answers to them are labelled by people, and both scores and their difference are corrected.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from contest import machine, write
from kapwa.labels.audits.draws import allocate
from kapwa.models.gate import gate
from kapwa.records import Answer, Response
from kapwa.stats.corrected import corrected_difference, corrected_means
from kapwa.stats.pooled import pooled_differences
from kapwa.suites.base import Selection
from kapwa.suites.blend.data import BlendData, read_data
from kapwa.suites.blend.questions import AnswerGroup
from kapwa.suites.blend.saq_options import SaqOptions
from kapwa.suites.blend.saq_task import saq_items, saq_task
from kapwa.suites.blend.variants import SAQ_VARIANTS

RESULT = Path(__file__).resolve().parent / "results" / "audits.json"
KNOWN = 0.7  # of each country's questions
Floats = NDArray[np.float64]


def hidden_key(data: BlendData, rng: random.Random) -> tuple[BlendData, dict[tuple[str, str, int], str]]:
    """The data without one local wording of each group that lists several, and which it was."""
    hidden: dict[tuple[str, str, int], str] = {}
    questions = []
    for question in data.questions:
        groups = []
        for place, group in enumerate(question.groups):
            if len(group.local) > 1:
                wording = rng.choice(group.local)
                hidden[question.country, question.id, place] = wording
                groups.append(
                    AnswerGroup(tuple(text for text in group.local if text != wording), group.en, group.votes)
                )
            else:
                groups.append(group)
        questions.append(replace(question, groups=tuple(groups)))
    return replace(data, questions=questions), hidden


def replies(
    items: Sequence[Any], data: BlendData, hidden: dict[tuple[str, str, int], str], rng: random.Random
) -> tuple[list[str], list[str]]:
    """What the two models answer: the first in listed wordings alone, the second in any."""
    questions = {(question.country, question.id): question for question in data.questions}
    texts: tuple[list[str], list[str]] = [], []
    by_country: dict[str, list[Any]] = {}
    for item in items:
        by_country.setdefault(item.culture, []).append(item)
    for country, asked in by_country.items():
        for model, replied in enumerate(texts):
            known = set(rng.sample(range(len(asked)), round(KNOWN * len(asked))))
            for place, item in enumerate(asked):
                whose = item if place in known else asked[(place + 1 + rng.randrange(len(asked) - 1)) % len(asked)]
                group = questions[country, whose.cluster].groups[0]
                lost = hidden.get((country, whose.cluster, 0))
                wordings = group.local or group.en
                listed = [text for text in wordings if model or text != lost] or list(wordings)
                replied.append(rng.choice(listed))
    return texts


def judged(data: BlendData, texts: Sequence[str]) -> Floats:
    """SEM-B of replies to the items of ``data``, in order."""
    items = saq_items(data, Selection(variants=SAQ_VARIANTS[:1]))
    task = saq_task(data, Selection(), items, SaqOptions())
    answers = [Answer(r, gate(Response(r.key, text=t))) for r, t in zip(task.requests(items), texts, strict=True)]
    scores = task.score(items, answers).scores.filter(metric="sem_b")
    order = {(item.id, item.variant): place for place, item in enumerate(items)}
    values = np.full(len(items), np.nan)
    for item, variant, value in scores.select("item_id", "variant", "value").iter_rows():
        values[order[item, variant]] = value
    return values


def drawn(rng: np.random.Generator, countries: NDArray[np.str_], doubtful: NDArray[np.bool_], n: int) -> Floats:
    """The probability with which each question was drawn in a draw of ``n`` a country; NaN where it was not."""
    chances = np.full(len(countries), np.nan)
    for country in np.unique(countries):
        parts = [np.flatnonzero((countries == country) & (doubtful == part)) for part in (True, False)]
        for part, take in zip(parts, allocate(n, len(parts[0]), len(parts[1])), strict=True):
            if take:
                chances[rng.permutation(part)[:take]] = take / len(part)
    return chances


def audited(
    scores: Sequence[Floats],
    truth: Sequence[Floats],
    countries: NDArray[np.str_],
    questions: Sequence[str],
    *,
    draws: int,
    n: int,
    favour: bool,
) -> dict[str, Any]:
    """How often the printed intervals hold what people would say of all answers, over ``draws``."""
    rng = np.random.default_rng([1, n, favour])
    doubtful = (scores[0] < 1) | (scores[1] < 1) if favour else np.zeros(len(countries), dtype=bool)
    names = np.unique(countries)
    true = [np.array([values[countries == name].mean() for name in names]) for values in truth]
    held = np.zeros((2, len(names)))
    widths, by_people, covered, significant, differences = [], [], 0, 0, []
    for _ in range(draws):
        chances = drawn(rng, countries, doubtful, n)
        labels = [np.where(np.isnan(chances), np.nan, values) for values in truth]
        known = np.nan_to_num(chances, nan=1.0)
        for model in (0, 1):
            for place, row in enumerate(corrected_means(scores[model], labels[model], known, countries, questions)):
                low, high = (row.people_low, row.people_high) if row.use == "people" else (row.low, row.high)
                held[model, place] += low <= true[model][place] <= high
                widths.append(high - low)
                by_people.append(row.people_high - row.people_low)
        row = corrected_difference(*scores, *labels, known, countries, questions)[-1]
        low, high = (row.people_low, row.people_high) if row.use == "people" else (row.low, row.high)
        differences.append((row.value, low, high))
        covered += low <= float(true[0].mean() - true[1].mean()) <= high
        significant += not low <= 0 <= high
    return {
        "n": n,
        "favours_doubtful": favour,
        "draws": draws,
        "scores_held": round(100 * held.mean() / draws, 2),
        "scores_held_least": round(100 * held.min() / draws, 1),
        "difference_held": round(100 * covered / draws, 1),
        "difference_called_real": round(100 * significant / draws, 1),
        "difference": np.median(differences, axis=0).round(4).tolist(),
        "half_width": round(float(np.mean(widths)) / 2, 4),
        "half_width_people_alone": round(float(np.mean(by_people)) / 2, 4),
    }


def main() -> None:
    """Judge once, draw many times, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--n", type=int, default=60)
    options = parser.parse_args()
    data = read_data(options.data)
    rng = random.Random(1)  # noqa: S311 - a seeded experiment, not a secret
    shorter, hidden = hidden_key(data, rng)
    items = saq_items(data, Selection(variants=SAQ_VARIANTS[:1]))
    texts = replies(items, data, hidden, rng)
    scores = [judged(shorter, replied) for replied in texts]
    truth = [judged(data, replied) for replied in texts]
    countries = np.array([item.culture for item in items])
    spoken = [hidden.get((item.culture, item.cluster, 0), "") for item in items]
    asked = [item.cluster for item in items]
    several = np.array([bool(text) for text in spoken])
    hidden_alone = judged(shorter, [text or "-" for text in spoken])
    by_country = {
        str(name): round(float(hidden_alone[several & (countries == name)].mean()), 3) for name in np.unique(countries)
    }
    result = {
        "machine": machine(),
        "questions": len(items),
        "hidden_wording_found": round(float(hidden_alone[several].mean()), 4),
        "hidden_wording_found_by_country": by_country,
        "raw": [[round(float(values.mean()), 4) for values in part] for part in (scores, truth)],
        "raw_difference": _difference(scores, countries, asked),
        "audits": [
            audited(scores, truth, countries, asked, draws=options.draws, n=options.n, favour=favour)
            for favour in (False, True)
        ],
    }
    write(RESULT, result)


def _difference(scores: Sequence[Floats], countries: NDArray[np.str_], questions: Sequence[str]) -> list[float]:
    """The raw difference over countries as a report prints it: value, interval, p."""
    comparison = pooled_differences(scores[0], scores[1], countries, questions, binary=True)[0].comparison
    return [
        round(float(value), 5) for value in (comparison.difference, comparison.low, comparison.high, comparison.p_value)
    ]


if __name__ == "__main__":
    main()
