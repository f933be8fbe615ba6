"""Which of two texts people prefer: shares with intervals, ties and "both bad" apart, and how much the side decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from kapwa.people.agreement import SCHEMA, agreement_rows
from kapwa.stats.intervals import mean_estimates

TIE, BAD = "tie", "both bad"
FIRST, SECOND = "1", "2"
_SHARES = {
    "share": pl.String,
    **dict.fromkeys(("chosen", "n"), pl.Int64),
    **dict.fromkeys(("value", "low", "high"), pl.Float64),
    "clusters": pl.Int64,
}


class Preference(NamedTuple):
    """One comparison by one person: ``preferred`` is "1", "2", "tie", "both bad" or "" (could not say).

    ``first_shown``: "1" or "2", the text that stood first before the person.
    """

    pair: str
    cluster: str
    rater: str
    first_shown: str
    preferred: str


@dataclass(frozen=True, slots=True)
class Preferences:
    """What people prefer; both tables are Polars frames.

    ``shares``: ``share, chosen, n, value, low, high, clusters``; of those with a preference, how many prefer text 1,
    in all and by the side on which it stood; how many took what stood first; of all, how many see a tie or both bad.
    ``agreement``: ``coefficient, value, low, high, units, raters, note`` over the four answers.
    """

    shares: pl.DataFrame
    agreement: pl.DataFrame
    pairs: int
    raters: int


def analyse_preferences(given: Sequence[Preference], *, seed: int = 1, replicates: int = 2000) -> Preferences:
    """Compute shares clustered by item (these people, other items), and agreement with bootstrap intervals.

    Answers that somebody could not give are in no share.
    """
    told = [one for one in given if one.preferred]
    decided = [one for one in told if one.preferred in (FIRST, SECOND)]
    rows = [
        _share("prefer text 1", decided, [one.preferred == FIRST for one in decided]),
        *(
            _share(f"prefer text 1 where it stood {place}", part, [one.preferred == FIRST for one in part])
            for place, side in (("first", FIRST), ("second", SECOND))
            for part in [[one for one in decided if one.first_shown == side]]
        ),
        _share("prefer the text that stood first", decided, [one.preferred == one.first_shown for one in decided]),
        _share("see no difference", told, [one.preferred == TIE for one in told]),
        _share("find both bad", told, [one.preferred == BAD for one in told]),
    ]
    raters = sorted({one.rater for one in told})
    answers: dict[tuple[str, str], dict[str, str]] = {}
    for one in told:
        answers.setdefault((one.pair, one.cluster), {})[one.rater] = one.preferred
    table = [[said.get(rater) for rater in raters] for said in answers.values()]
    clusters = [cluster for _, cluster in answers]
    found = agreement_rows(table, clusters, seed=seed, replicates=replicates) if len(raters) > 1 else []
    shares, agreement = pl.DataFrame(rows, schema=_SHARES), pl.DataFrame(found, schema=SCHEMA)
    return Preferences(shares, agreement, len(answers), len(raters))


def _share(name: str, given: Sequence[Preference], values: Sequence[bool]) -> dict[str, Any]:
    (found,) = mean_estimates([float(value) for value in values], [one.cluster for one in given], binary=True)
    cells = (name, sum(values), found.n, found.value, found.low, found.high, found.clusters)
    return dict(zip(_SHARES, cells, strict=True))
