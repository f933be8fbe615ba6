"""Where the variance of a score comes from: cultures, items, wordings of the prompt, and draws of the answer."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kapwa.errors import UsageError
from kapwa.stats.clusters import FloatArray, IntArray, cluster_codes
from kapwa.stats.intervals import mean_estimates

# What each component is of, from the widest to the narrowest.
COMPONENTS = ("culture", "prompt", "culture × prompt", "item", "item × prompt", "sample")


class Component(NamedTuple):
    """One source of variance.

    ``variance``: its unbiased estimate, in squared units of the score; below 0 where chance has it so; None where the
    design cannot tell (one culture, one prompt, one sample: then it is part of the next that it can tell). ``error``:
    what it adds to the squared standard error of one culture's mean over items, prompts and samples (on average over
    the cultures), at least 0; None for ``culture``, as a culture is taken as it is.
    """

    name: str
    variance: float | None
    error: float | None


class Decomposition(NamedTuple):
    """The components in the order of :data:`COMPONENTS`, and the design: items used and left out, prompts, samples."""

    components: tuple[Component, ...]
    cultures: int
    items: int
    left_out: int
    prompts: int
    samples: int


def variance_components(values: ArrayLike, cultures: ArrayLike | None = None) -> Decomposition:
    """Take the variance of scores apart, by the expected mean squares of the crossed design (method of moments).

    ``values``: (items, prompts, samples), one score of every sample of every item in every prompt; items with a NaN are
    left out. ``cultures``: (items,) whose each is; None: of one. Items are nested in cultures and crossed with prompts,
    samples nested in both; items, prompts and samples count as draws from more of their kind (Searle, Casella and
    McCulloch 1992, *Variance Components*, chapter 4; for evaluations Miller 2024, arXiv 2411.00640). Cultures may have
    unlike numbers of items, of which each needs two. With one prompt its component and those that cross it are None and
    part of ``item``; with one sample ``sample`` is None and part of ``item × prompt``.
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 3:
        raise UsageError(f"Variance components need scores by item, prompt and sample, not of shape {given.shape}.")
    codes = cluster_codes([0] * len(given) if cultures is None else cultures, len(given))
    whole = ~np.isnan(given).any(axis=(1, 2))
    whole &= np.bincount(codes[whole], minlength=codes.max(initial=0) + 1)[codes] > 1
    y, codes = given[whole], np.unique(codes[whole], return_inverse=True)[1]
    _, n_prompts, n_samples = y.shape
    if not len(y):
        return Decomposition(_named({}, np.ones(1), n_prompts, n_samples), 0, 0, len(given), n_prompts, n_samples)
    sizes = np.bincount(codes).astype(np.float64)
    found = _moments(y, codes, sizes)
    design = len(sizes), len(y), len(given) - len(y), n_prompts, n_samples
    return Decomposition(_named(found, sizes, n_prompts, n_samples), *design)


def _moments(y: FloatArray, codes: IntArray, sizes: FloatArray) -> dict[str, float]:
    """Solve observed for expected mean squares, from the narrowest component to the widest."""
    items, n_prompts, n_samples = y.shape
    n_cultures, found = len(sizes), dict[str, float]()
    cell = y.mean(axis=2)
    by_culture = np.zeros((n_cultures, n_prompts))
    np.add.at(by_culture, codes, cell)
    by_culture /= sizes[:, None]
    within = cell - by_culture[codes]
    # Of a cell's mean over its samples: what samples, and items in one prompt, make it vary.
    sample = 0.0
    if n_samples > 1:
        found["sample"] = float(((y - cell[:, :, None]) ** 2).sum() / (items * n_prompts * (n_samples - 1)))
        sample = found["sample"] / n_samples
    freedom = items - n_cultures
    rest = within - within.mean(axis=1, keepdims=True)
    crossed = 0.0  # variance of a cell around its item and prompt, samples included
    if n_prompts > 1:
        crossed = float((rest**2).sum() / (freedom * (n_prompts - 1)))
        found["item × prompt"] = crossed - sample
    else:
        crossed = sample
    mean_square = n_prompts * float((within.mean(axis=1) ** 2).sum() / freedom)
    found["item"] = (mean_square - crossed) / n_prompts
    of_cell = crossed * float((1 / sizes).mean())
    both = 0.0
    if n_prompts > 1:
        centred = by_culture - by_culture.mean(axis=1, keepdims=True)
        profile = centred.mean(axis=0)
        if n_cultures > 1:
            both = float(((centred - profile) ** 2).sum() / ((n_cultures - 1) * (n_prompts - 1)))
            found["culture × prompt"] = both - of_cell
        else:
            both = of_cell
        found["prompt"] = float((profile**2).sum() / (n_prompts - 1)) - both / n_cultures
    if n_cultures > 1:
        spread = float(np.var(by_culture.mean(axis=1), ddof=1))
        noise = both if n_prompts > 1 else of_cell
        found["culture"] = spread - found["item"] * float((1 / sizes).mean()) - noise / n_prompts
    return found


def _named(found: dict[str, float], sizes: FloatArray, n_prompts: int, n_samples: int) -> tuple[Component, ...]:
    """The components with what each adds to the error of a culture's mean."""
    per_item = float((1 / sizes).mean())
    parts = {
        **dict.fromkeys(("prompt", "culture × prompt"), 1 / n_prompts),
        "item": per_item,
        "item × prompt": per_item / n_prompts,
        "sample": per_item / (n_prompts * n_samples),
    }
    return tuple(
        Component(
            name, found.get(name), max(found[name], 0.0) * parts[name] if name in found and name in parts else None
        )
        for name in COMPONENTS
    )


def order_changes(scores: ArrayLike, clusters: ArrayLike | None = None, alpha: float = 0.05) -> list[tuple[int, int]]:
    """Pairs of models whose difference changes from one prompt to another by more than chance.

    ``scores``: (models, items, prompts), NaN where nothing was measured; ``clusters``: (items,). For every pair of
    models and of prompts the change of the difference, item by item, has a clustered t interval (Miller 2024); all
    intervals together miss with probability ``alpha`` at most (Bonferroni), and a pair is named where one of them
    leaves out 0.
    """
    given = np.asarray(scores, dtype=np.float64)
    models, prompts = (list(combinations(range(n), 2)) for n in (given.shape[0], given.shape[2]))
    found = []
    for a, b in models if prompts else ():
        difference = given[a] - given[b]
        change = np.stack([difference[:, p] - difference[:, q] for p, q in prompts], axis=1)
        estimates = mean_estimates(change, clusters, level=1 - alpha / (len(models) * len(prompts)))
        if any(one.low is not None and one.high is not None and not one.low <= 0 <= one.high for one in estimates):
            found.append((a, b))
    return found
