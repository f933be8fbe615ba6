"""Which of two texts people prefer: shares with intervals, ties and "both bad" apart, and how much the side decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.labels.agreement import SCHEMA, rater_agreement
from kapwa.labels.filled import cell_of
from kapwa.stats.intervals import mean_estimates
from kapwa.tables import read_sheet, schema_of
from kapwa.value_types import JsonObject

TIE, BAD = "tie", "both bad"
FIRST, SECOND = "1", "2"
# The columns of a table of preferences; ``first`` and ``second`` name the models of text 1 and text 2.
PAIR_COLUMNS = (
    *("pair_id", "item_id", "variant", "culture", "cluster", "rater"),
    *("first", "second", "first_shown", "preferred", "remark"),
)
_SHARES = schema_of("share chosen:whole n:whole value:real low:real high:real clusters:whole")


class Preference(NamedTuple):
    """One comparison by one person; ``models``: by which text 1 and text 2 are.

    ``preferred`` is "1", "2", "tie", "both bad" or "" (could not say).

    ``first_shown``: "1" or "2", the text that stood first before the person.
    """

    pair: str
    cluster: str
    rater: str
    first_shown: str
    preferred: str
    models: tuple[str, str] = ("", "")


def read_preferences(paths: Sequence[Path]) -> list[Preference]:
    """Read tables of :data:`PAIR_COLUMNS`; raise DataError naming file, row and column for a cell that is none."""
    preferences = []
    for path, row in [(file, row) for file in paths for row in read_sheet(file, required=PAIR_COLUMNS)]:
        cells = {name: cell_of(row, path, name) for name in PAIR_COLUMNS}
        for name, allowed in (("first_shown", (FIRST, SECOND)), ("preferred", (FIRST, SECOND, TIE, BAD, ""))):
            if cells[name].text not in allowed:
                raise cells[name].error(f"{cells[name].shown} is not one of {', '.join(filter(None, allowed))}.")
        pair, cluster, rater, side, preferred, first, second = (
            cells[name].text for name in ("pair_id", "cluster", "rater", "first_shown", "preferred", "first", "second")
        )
        preferences.append(Preference(pair, cluster, rater, side, preferred, (first, second)))
    return preferences


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


def analyse_preferences(preferences: Sequence[Preference]) -> Preferences:
    """Compute :func:`preference_shares`, and agreement with bootstrap intervals."""
    answers = pl.DataFrame(preferences, schema=Preference._fields, orient="row").filter(pl.col("preferred") != "")
    rows = rater_agreement(answers, ["pair", "cluster"], "preferred", seed=1)
    counts = (answers.n_unique(["pair", "cluster"]), answers["rater"].n_unique())
    return Preferences(preference_shares(preferences), pl.DataFrame(rows, schema=SCHEMA), *counts)


def preference_shares(preferences: Sequence[Preference]) -> pl.DataFrame:
    """Return the shares of :class:`Preferences`, with intervals clustered by item: these people, other items.

    Answers that somebody could not give are in no share.
    """
    known = [preference for preference in preferences if preference.preferred]
    decided = [preference for preference in known if preference.preferred in (FIRST, SECOND)]
    rows = [_share("prefer text 1", decided, FIRST)]
    for position, side in (("first", FIRST), ("second", SECOND)):
        on_side = [preference for preference in decided if preference.first_shown == side]
        rows.append(_share(f"prefer text 1 where it stood {position}", on_side, FIRST))
    rows.append(_share("prefer the text that stood first", decided, None))
    rows += [_share("see no difference", known, TIE), _share("find both bad", known, BAD)]
    return pl.DataFrame(rows, schema=_SHARES)


def _share(name: str, preferences: Sequence[Preference], answer: str | None) -> JsonObject:
    """How many of ``preferences`` are ``answer``; None: the text that stood first."""
    values = [preference.preferred == (answer or preference.first_shown) for preference in preferences]
    clusters = [preference.cluster for preference in preferences]
    (estimate,) = mean_estimates([float(value) for value in values], clusters, share=True)
    cells = (name, sum(values), estimate.n, estimate.value, estimate.low, estimate.high, estimate.clusters)
    return dict(zip(_SHARES, cells, strict=True))
