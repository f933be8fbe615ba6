"""Language or culture: do the intervals of the main effects and the interaction hold what was planted?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from benchmarks.simulations import Cell

from kapwa.report.tables.languages import effects

SUBJECT = "Language or culture"
CULTURES = 16
SIZES = range(20, 20 + 5 * CULTURES, 5)


def plant(
    random: np.random.Generator,
    *,
    effect: float,
    interaction: float,
    spread: float,
    shared: bool = True,
    missing: float = 0.0,
) -> pl.DataFrame:
    """Scores of unlike many questions by culture in two languages: ``first`` is the local one, ``second`` English.

    ``effect``: of the language, on average; ``interaction`` and ``spread``: standard deviations between cultures of
    that effect, and of scores in English. ``shared``: cultures are asked the same questions. ``missing``: share of
    items without a score.
    """
    harder = random.normal(scale=0.2, size=max(SIZES))
    frames = []
    for place, size in enumerate(SIZES):
        culture = random.normal(scale=spread)
        gain = effect + random.normal(scale=interaction)
        second = 0.5 + culture + harder[:size] * shared + random.normal(scale=0.35, size=size)
        first = second + gain + random.normal(scale=0.35, size=size)
        clusters = [f"q{i}" if shared else f"{place}-{i}" for i in range(size)]
        names = {"culture": f"c{place:02}", "item_id": [f"{place}-{i}" for i in range(size)], "cluster": clusters}
        frame = pl.DataFrame({**names, "first": first, "second": second})
        frames.append(frame.filter(random.random(size) >= missing))
    return pl.concat(frames)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Coverage of each interval, errors where nothing was planted, and power where something was."""
    spread = 0.1
    for interaction, missing in ((0.0, 0.0), (0.08, 0.0), (0.08, 0.1)):
        held = dict.fromkeys(("language", "interaction", "between cultures, in English"), 0)
        told = {"language": 0, "interaction": 0}
        for _ in range(repeats):
            both = plant(random, effect=0.0, interaction=interaction, spread=spread, missing=missing)
            found = effects(both)
            # Cultures are taken as they are: the effect is that of these.
            held["interaction"] += _holds(found.interaction, interaction)
            held["between cultures, in English"] += _holds(found.second, spread)
            told["interaction"] += (found.interaction.low or 0.0) > 0
            if interaction == 0:
                assert found.language.low is not None
                assert found.language.high is not None
                held["language"] += found.language.low <= 0 <= found.language.high
                told["language"] += not found.language.low <= 0 <= found.language.high
        setting = f"{CULTURES} cultures of 20 to 95 questions, interaction {100 * interaction:.0f} points"
        setting += f", {100 * missing:.0f} % missing" if missing else ""
        for name in held if interaction == 0 else list(held)[1:]:
            yield Cell(SUBJECT, f"interval: {name}", setting, 100 * held[name] / repeats, repeats, 93, 100)
        if interaction == 0:
            for name, count in told.items():
                yield Cell(
                    SUBJECT, f"found, where there is none: {name}", setting, 100 * count / repeats, repeats, 0, 6
                )
        else:
            power = 100 * told["interaction"] / repeats
            yield Cell(SUBJECT, "found: interaction", setting, power, repeats, 75, 100)
    seen = 0
    for _ in range(repeats):
        low, high = effects(plant(random, effect=-0.05, interaction=0.0, spread=spread)).language[2:4]
        seen += low is not None and high is not None and not low <= 0 <= high
    setting = f"{CULTURES} cultures of 20 to 95 questions, 5 points lower"
    yield Cell(SUBJECT, "found: language", setting, 100 * seen / repeats, repeats, 75, 100)


def _holds(found: object, planted: float) -> bool:
    low, high = getattr(found, "low", None), getattr(found, "high", None)
    return low is not None and high is not None and low <= planted <= high
