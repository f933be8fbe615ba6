"""Correlations across cultures: does the interval hold the correlation of what was to be measured?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.correlation import Correlation, Disattenuated, disattenuated, pearson


def draw(
    random: np.random.Generator, *, cultures: int, questions: int, rho: float, spread: float, same: bool
) -> tuple[Disattenuated, Correlation]:
    """Simulate two tasks in some cultures; the correlation without sampling error, and the plain one.

    A culture's true shares of right answers are normal around one half with the standard deviation ``spread`` and
    correlate with ``rho``. ``same``: every culture is asked the same questions in both tasks, which are as hard in
    each and in both, so that errors correlate; else each culture and task has questions of its own.
    """
    chol = np.linalg.cholesky(np.array([[1.0, rho], [rho, 1.0]]))
    true = np.clip(0.5 + spread * random.normal(size=(cultures, 2)) @ chol.T, 0.02, 0.98)
    hard = random.normal(scale=0.15, size=(questions,) if same else (2, cultures, questions))
    if same:
        hard = np.broadcast_to(hard, (2, cultures, questions))
    right = random.random((2, cultures, questions)) < np.clip(true.T[:, :, None] + hard, 0.0, 1.0)
    scores = right.mean(axis=2)
    errors = (right - scores[:, :, None]) / questions * np.sqrt(questions / (questions - 1))
    if not same:  # errors of scores that share no question are independent: one cluster of each says the same
        alone = np.sqrt((errors**2).sum(axis=2))
        errors = np.einsum("tk,ts,kl->tksl", alone, np.eye(2), np.eye(cultures)).reshape(2, cultures, -1)
    return disattenuated(*scores, *errors), pearson(*scores)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Coverage of the interval of the disattenuated r, and what the plain interval holds of the same truth."""
    for cultures, spread, rho, same in (
        (16, 0.10, 0.0, False),
        (16, 0.10, 0.5, False),
        (16, 0.10, 0.9, False),
        (16, 0.10, 0.9, True),
        (16, 0.07, 0.5, True),
        (40, 0.10, 0.5, False),
        (6, 0.10, 0.5, True),
    ):
        found = [
            draw(random, cultures=cultures, questions=100, rho=rho, spread=spread, same=same) for _ in range(repeats)
        ]
        known = [one for one, _ in found if one.value is not None]
        asked = "the same" if same else "100 of their own"
        setting = f"{cultures} cultures, {asked} questions, true r {rho:g}, standard deviation {spread:g}"
        held = 100 * np.mean([one.low <= rho <= one.high for one in known])  # type: ignore[operator]
        yield Cell("correlations", "r without sampling error: interval holds r", setting, held, len(known), 93, 97)
        plain = 100 * np.mean([one.low <= rho <= one.high for _, one in found])  # type: ignore[operator]
        yield Cell("correlations", "plain r: interval holds r without errors", setting, plain, repeats, 93, 97)
