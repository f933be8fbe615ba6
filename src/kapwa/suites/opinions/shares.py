"""Distributions over the options of a survey question, and how far two of them are apart.

Of two distributions p and q over the same options, each summing to 1:

- total variation: ½ Σ |p − q|, the share of people who would have to change their answer to make them equal; 1 minus
  it, Σ min(p, q), is what they have in common ("overlap");
- Jensen–Shannon distance (Endres and Schindelin 2003): √(½ KL(p‖m) + ½ KL(q‖m)) with m = ½ (p + q) and logarithms to
  base 2, so that it runs from 0 to 1; 1 minus it is the similarity of GlobalOpinionQA (Durmus et al. 2023).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import rel_entr

from kapwa.records import Item

Shares = npt.NDArray[np.float64]
Key = tuple[str, str]


def item_key(item: Item) -> Key:
    """What answers of one item are kept under: its id and its variant."""
    return item.id, item.variant


def distances(p: Shares, q: Shares) -> dict[str, Shares]:
    """Return every metric of distributions along the last axis, which are broadcast against each other."""
    variation = np.abs(p - q).sum(axis=-1) / 2
    middle = (p + q) / 2
    divergence = (rel_entr(p, middle) + rel_entr(q, middle)).sum(axis=-1) / (2 * math.log(2))
    distance = np.sqrt(np.clip(divergence, 0, 1))
    return {
        "tv_distance": variation,
        "js_distance": distance,
        "tv_overlap": 1 - variation,
        "js_similarity": 1 - distance,
    }


def people_of(item: Item) -> Shares:
    """Return which share of people chose each option."""
    numbers = np.array(item.fields["numbers"])
    return np.asarray(numbers / numbers.sum())
