"""Whether a bias carries over: how often the words are wrong at the margin, and how often an unchanged bias carries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from benchmarks.simulations import Cell

from kapwa.stats.transport import Audited, carried_bias

SUBJECT = "A bias that carries over"
MARGIN = 0.1
ANSWERS = 800  # in either audit
EARLIER = 150  # labelled in the earlier audit
MISSED = 0.1  # of right answers are judged wrong in the earlier audit


def audit(
    random: np.random.Generator, labelled: int, rate: float, missed: float, wrongly: float, each: int, *, doubtful: bool
) -> Audited:
    """Draw an audit of answers of which ``rate`` are right; ``each`` answers to a question go together.

    The scorer misses the share ``missed`` of right answers and takes ``wrongly`` of the wrong ones. ``doubtful``:
    answers judged right are drawn half as often.
    """
    questions = np.repeat(np.arange(ANSWERS // each), each)
    level = random.beta(2 * rate, 2 * (1 - rate), size=ANSWERS // each)[questions] if each > 1 else rate
    right = random.random(ANSWERS) < level
    noise = random.random(ANSWERS)
    judged = np.where(right, noise >= missed, noise < wrongly)
    chances = np.where(judged, 0.5, 1.0) if doubtful else np.ones(ANSWERS)
    chances = np.minimum(chances * labelled / chances.sum(), 1.0)
    drawn = random.random(ANSWERS) < chances
    # Names of their own: no question is in both audits.
    names = [f"{random.integers(1 << 60)}" for _ in range(ANSWERS // each)]
    clusters = np.asarray(names, dtype=object)[questions]
    return Audited(judged.astype(float), np.where(drawn, right, np.nan), chances, clusters)


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Error rates where the bias moved by just the margin, and power where it did not move."""
    for rate in (0.1, 0.5, 0.9):
        for labelled in (60, 150, 400):
            for each, doubtful in ((1, False), (4, False), (1, True), (4, True)):
                # The bias falls or rises by the margin, by whichever error there is room for.
                missed, wrongly = (MISSED + MARGIN / rate, 0.0) if rate >= 0.5 else (MISSED, MARGIN / (1 - rate))
                places = [0, 0, 0]
                for _ in range(repeats):
                    earlier = audit(random, EARLIER, rate, MISSED, 0.0, each, doubtful=doubtful)
                    moved = audit(random, labelled, rate, missed, wrongly, each, doubtful=doubtful)
                    same = audit(random, labelled, rate, MISSED, 0.0, each, doubtful=doubtful)
                    states = [carried_bias(earlier, later, margin=MARGIN).state for later in (moved, same)]
                    places[0] += states[0] == "carries"
                    places[1] += states[0] == "does-not-carry"
                    places[2] += states[1] == "carries"
                setting = f"{100 * rate:.0f} % right, {EARLIER} and {labelled} labels, {each} answers a question"
                setting += ", doubtful ones favoured" if doubtful else ""
                shares = [100 * place / repeats for place in places]
                yield Cell(SUBJECT, "“carries” at the margin", setting, shares[0], repeats, 0, 6.5)
                yield Cell(SUBJECT, "“does not carry” at the margin", setting, shares[1], repeats, 0, 6.5)
                yield Cell(SUBJECT, "“carries” of an unchanged bias", setting, shares[2], repeats, 0, 100)
