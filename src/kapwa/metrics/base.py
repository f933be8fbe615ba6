"""What a text metric is, and how one is found by name: the entry points ``kapwa.metrics``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kapwa import registry

Vector = npt.NDArray[np.float64]


class Metric(Protocol):
    """A similarity of two texts, higher is closer; works for every task whose items have reference texts.

    ``low`` and ``high`` bound its values (None: unbounded). ``signature`` says everything a value
    depends on besides the texts: library versions, parameters, weights. ``name`` is that of its entry point, and begins
    the names of its scores (``chrfpp_acc``); ``source`` is the paper or the code of the definition.
    """

    name: str
    title: str
    source: str
    low: float | None
    high: float | None

    @property
    def signature(self) -> str:
        """Say what a value depends on besides the texts, as ``key:value`` parts joined by ``|``."""
        ...

    def score_pairs(self, hypotheses: Sequence[str], references: Sequence[str]) -> Vector:
        """Return the similarity of each hypothesis to the reference beside it, shape ``(n,)``.

        An empty (or white) hypothesis or reference scores 0. Raises ValueError for unequal lengths.
        """
        ...


def load_metric(name: str, **options: object) -> Metric:
    """Return the metric registered as ``name``; raise UsageError naming the nearest one."""
    metric: Metric = registry.load("metrics", name)(**options)
    return metric


def is_blank(text: str) -> bool:
    """Whether a text has nothing to compare; such a text resembles nothing and scores 0."""
    return not text.strip()
