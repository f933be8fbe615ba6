"""Variance components: are planted ones recovered, and is the error of the mean that they add up to the true one?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from benchmarks.simulations import Cell
from numpy.typing import NDArray

from kapwa.stats.components import order_changes, variance_components

# Standard deviations, in shares of right answers: what cultures, prompts, items and draws of answers differ by.
PLANTED = {
    "culture": 0.10,
    "prompt": 0.05,
    "culture × prompt": 0.03,
    "item": 0.30,
    "item × prompt": 0.15,
    "sample": 0.25,
}


def plant(
    random: np.random.Generator, sizes: Sequence[int], *, prompts: int, samples: int, fixed: bool = False
) -> tuple[NDArray[np.float64], list[int]]:
    """Draw scores (items, prompts, samples) with :data:`PLANTED` components; ``fixed``: cultures do not differ."""
    sd = PLANTED | ({"culture": 0.0} if fixed else {})
    cultures = [c for c, size in enumerate(sizes) for _ in range(size)]
    of_culture = random.normal(scale=sd["culture"], size=(len(sizes), 1))
    both = random.normal(scale=sd["culture × prompt"], size=(len(sizes), prompts))
    cell = (of_culture + both)[cultures] + random.normal(scale=sd["prompt"], size=prompts)
    cell = cell + random.normal(scale=sd["item"], size=(len(cultures), 1))
    cell = cell + random.normal(scale=sd["item × prompt"], size=cell.shape)
    return cell[:, :, None] + random.normal(scale=sd["sample"], size=(*cell.shape, samples)), cultures


def coverage(random: np.random.Generator, repeats: int, *, wordings: Sequence[int] = (2, 3, 5, 10)) -> Iterator[Cell]:
    """How often intervals of components hold the planted variance, over 16 cultures and in one."""
    for sizes in (tuple(range(20, 52, 2)), (60,)):
        # With one culture what differs from culture to culture is part of what the wordings differ by.
        planted = {name: sd**2 for name, sd in PLANTED.items()}
        planted["prompt"] += planted["culture × prompt"] if len(sizes) == 1 else 0.0
        for prompts in wordings:
            held = dict.fromkeys(PLANTED, 0)
            for _ in range(repeats):
                for one in variance_components(*plant(random, sizes, prompts=prompts, samples=3)).components:
                    if one.low is not None and one.high is not None:
                        held[one.name] += one.low <= planted[one.name] <= one.high
            where = "16 cultures of 20 to 50 items" if len(sizes) > 1 else "60 items of one culture"
            for name in (name for name in PLANTED if held[name] and "prompt" in name):
                figure = f"interval of the variance of {name}"
                setting = f"{where}, {prompts} wordings, 3 samples"
                yield Cell("components", figure, setting, 100 * held[name] / repeats, repeats, 93, 97)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Each component's mean estimate in percent of the planted one, and the error of the mean likewise."""
    sizes = tuple(range(20, 52, 2))
    drawn = [plant(random, sizes, prompts=4, samples=3, fixed=False) for _ in range(repeats)]
    found = [{one.name: one.variance for one in variance_components(*one).components} for one in drawn]
    setting = "16 cultures of 20 to 50 items, 4 prompts, 3 samples"
    for name, sd in PLANTED.items():
        percent = 100 * float(np.mean([one[name] for one in found])) / sd**2  # type: ignore[arg-type]
        yield Cell(
            "components", f"mean estimate of the variance of {name}, of the planted", setting, percent, repeats, 93, 107
        )
    yield from coverage(random, repeats)
    means, errors = [], []
    for _ in range(repeats):
        y, cultures = plant(random, sizes, prompts=4, samples=3, fixed=True)
        means.append([y[np.array(cultures) == c].mean() for c in range(len(sizes))])
        errors.append(sum(one.error or 0.0 for one in variance_components(y, cultures).components))
    percent = 100 * float(np.mean(errors) / np.var(means, axis=0).mean())
    yield Cell(
        "components", "squared error of a culture's mean, estimated, of the true", setting, percent, repeats, 93, 107
    )
    for change, low, high in ((0.0, 0.0, 6.0), (0.12, 75.0, 100.0)):
        hits = 0
        for _ in range(repeats):
            # Each model is as good in every wording, but for the first in the last; the wording matters to all alike.
            chance = 0.5 + random.normal(scale=0.2, size=(1, 200, 1)) + random.normal(scale=0.05, size=(1, 1, 4))
            chance = chance + np.array([0.0, 0.05, 0.1])[:, None, None]
            chance[0, :, 3] += 3 * change
            hits += bool(order_changes((random.random(chance.shape) < chance).astype(float)))
        setting = "3 models, 4 wordings, 200 items, " + (
            "wordings matter alike" if not change else "one model gains .36"
        )
        figure = "a difference said to change with the wording"
        yield Cell("components", figure, setting, 100 * hits / repeats, repeats, low, high)
