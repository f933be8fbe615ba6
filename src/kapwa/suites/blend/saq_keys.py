"""How far SEM-B would move if other people had answered the same questions: the key's part in the error.

About five people answered each question, and a reply is right if one of them said it: five others might not have. The
usual interval, clustered by question, already holds this where each question has people of its own, for a question's
score varies by its people too. What this table adds is that part alone.

Votes drawn again from the votes would make smaller keys, which miss answers that one person gave, and scores 2 to 8
points too low. So the share q of people who agree with a reply is taken to follow a beta distribution over the
questions of a culture, fitted by the first two moments of the votes; a key of m people misses with chance (1 − q)^m,
and a score varies by E[(1 − q)^m] − E[(1 − q)^2m].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from kapwa.stats.intervals import wilson_interval
from kapwa.suites.blend.questions import USUAL_ANNOTATORS, top_votes
from kapwa.suites.blend.saq_grading import Graded
from kapwa.suites.items import grouped
from kapwa.value_types import Schema

KEY_SCHEMA: Schema = {
    **dict.fromkeys(("culture", "language", "variant"), pl.String),
    **{"items": pl.Int64, **dict.fromkeys(("value", "se_keys", "low_keys", "high_keys"), pl.Float64)},
}


def key_error(votes: ArrayLike, people: ArrayLike) -> float:
    """Standard deviation of one question's score over keys of other people, on average over questions, in [0, 1].

    ``votes``: of each reply, how many of the ``people`` who answered the question agree with it.
    """
    from scipy.special import betaln

    agreeing, n_people = np.asarray(votes, dtype=np.float64), np.asarray(people, dtype=np.float64)
    share = float((agreeing / n_people).mean())
    if not 0 < share < 1:
        return 0.0
    pairs = float((agreeing * (agreeing - 1) / (n_people * (n_people - 1))).mean())
    alike = min(max((pairs - share**2) / (share * (1 - share)), 0.01), 0.99)
    a, b = share * (1 / alike - 1), (1 - share) * (1 / alike - 1)
    missed, twice = (np.exp(betaln(a, b + keys * n_people) - betaln(a, b)) for keys in (1, 2))
    return float(np.sqrt((missed - twice).mean()))


def key_table(graded: Sequence[Graded]) -> pl.DataFrame:
    """By culture and variant, SEM-B of the questions with votes and its 95 % interval over keys of other people.

    Columns :data:`KEY_SCHEMA`. Of each question as many people are taken to have answered as usual, or as many as gave
    the commonest answer if these are more; several replies to a question share its key.
    """
    counted = (reply for reply in graded if reply.text is not None and reply.item.fields["counted"])
    groups = grouped(counted, lambda reply: (reply.item.culture, reply.item.language, reply.item.variant))
    rows = [(*key, *_row(groups[key])) for key in sorted(groups)]
    return pl.DataFrame(rows, schema=KEY_SCHEMA, orient="row")


def _row(graded: Sequence[Graded]) -> Iterator[float]:
    votes = np.array([reply.hit.votes if reply.hit else 0 for reply in graded])
    people = np.array([max(USUAL_ANNOTATORS, top_votes(reply.item.fields["answers"])) for reply in graded])
    items, value = len({reply.item.id for reply in graded}), float((votes > 0).mean())
    error = key_error(votes, people) / np.sqrt(items)
    # Where votes of people do not differ, the uncertainty is that of one person for each question.
    size = value * (1 - value) / error**2 if error and 0 < value < 1 else items
    yield from (items, value, error, *map(float, wilson_interval(value, size, 1.959964)))
