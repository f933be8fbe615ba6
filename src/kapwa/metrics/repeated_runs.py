"""How much of a text repeats from another, word by word in a row: what two texts have of one template."""

from __future__ import annotations

from collections.abc import Sequence

# Words in a row that two texts share by a template, and seldom by chance.
RUN = 5


def repeated_share(words: Sequence[str], other: Sequence[str], run: int = RUN) -> float:
    """Return which share of ``words`` stand in ``run`` words in a row that also stand in ``other``; 0 for none."""
    if not words:
        return 0.0
    known = {tuple(other[start : start + run]) for start in range(len(other) - run + 1)}
    covered, reach = 0, 0
    for start in range(len(words) - run + 1):
        if tuple(words[start : start + run]) in known:
            covered += start + run - max(reach, start)
            reach = start + run
    return covered / len(words)
