"""Questions whose options are the same labels for all: which label is chosen where another is right, and how far off.

Yes, no and neutral are labels; so are the steps of an ordered scale, of which some lie nearer to the right one than
others. Labels belong to the language of the question: the first of one language stands for the first of another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from kapwa.records import UNANSWERED, Item, Outcome
from kapwa.stats.agreement import weighted_kappa
from kapwa.suites.items import grouped, score_row
from kapwa.value_types import Cells, Schema

# The metric of how far off a choice is, by that of whether it is right.
DISTANCES = {
    "mcq_acc": "ordinal_distance",
    "mcq_text": "ordinal_distance_text",
    "mcq_letter": "ordinal_distance_letter",
}
SCALE_SCHEMA: Schema = {
    **dict.fromkeys(("culture", "language", "variant", "metric", "right", "chosen"), pl.String),
    **dict.fromkeys(("right_place", "chosen_place", "n", "of"), pl.Int64),
    "share": pl.Float64,
}
AGREEMENT_SCHEMA: Schema = {
    **dict.fromkeys(("culture", "variant", "metric"), pl.String),
    **dict.fromkeys(("n", "clusters"), pl.Int64),
    **dict.fromkeys(("kappa", "low", "high"), pl.Float64),
}


class ScaleChoice(NamedTuple):
    """The letter that a reply, or the likelihoods that ``metric`` compares, choose for an item; None for no one."""

    item: Item
    metric: str
    letter: str | None
    outcome: Outcome = "scored"
    sample: int = 0

    @property
    def step(self) -> int | None:
        """The step of the scale of what is chosen; None where there is no choice."""
        return None if self.letter is None else _scale_index(self.item, self.letter)

    @property
    def right(self) -> list[int]:
        """The places of the right options."""
        return [_scale_index(self.item, letter) for letter in right_letters(self.item)]

    @property
    def distance(self) -> float | None:
        """How many steps the choice is from the nearest right option; None where there is no choice."""
        return None if self.step is None else float(min(abs(self.step - right) for right in self.right))


def right_letters(item: Item) -> list[str]:
    """The letters of the right options: one, or several."""
    return str(item.fields["answer"]).split(",")


def _scale_index(item: Item, letter: str) -> int:
    """The index of an option on the scale, from 0; it does not depend on the order in which options are shown."""
    return int(item.fields["scale"].index(item.fields["options"][item.fields["letters"].index(letter)]))


def distance_rows(choices: Sequence[ScaleChoice]) -> Iterator[Cells]:
    """Yield the score rows of how far off each choice on an ordered scale is; null where there is no one choice."""
    for each in choices:
        if each.item.fields["options_are"]:
            outcome: Outcome = each.outcome if each.letter is None else "scored"
            yield score_row(each.item, DISTANCES[each.metric], each.distance, outcome, each.sample)


def scale_tables(choices: Sequence[ScaleChoice]) -> dict[str, pl.DataFrame]:
    """Return the tables ``scale`` and, of ordered scales, ``scale_agreement``; none where items share no labels.

    ``scale``: by culture, variant and metric, how often (``n``) each label was chosen where another was ``right``, and
    its ``share`` in all ``of`` these questions; ``chosen`` is null where there is no one choice, and failed requests
    are left out. ``scale_agreement``: kappa with quadratic weights (Cohen 1968) between right and chosen places, with a
    95 % interval over clusters, by culture and (culture "") over all; choices of none are left out. Questions with
    several right options are in neither.
    """
    single = [each for each in choices if each.item.fields["scale"] and len(each.right) == 1]
    counted = [each for each in single if each.outcome not in UNANSWERED]
    if not counted:
        return {}
    tables = {"scale": pl.DataFrame(list(_counted(counted)), schema=SCALE_SCHEMA, orient="row")}
    ordered = [each for each in counted if each.item.fields["options_are"] and each.letter]
    return tables | ({"scale_agreement": _agreement(ordered)} if ordered else {})


def _counted(choices: Sequence[ScaleChoice]) -> Iterator[tuple[Any, ...]]:
    blocks = grouped(choices, lambda each: (each.item.culture, each.item.language, each.item.variant, each.metric))
    for key, block in blocks.items():
        labels = block[0].item.fields["scale"]
        totals = Counter(each.right[0] for each in block)
        pairs = Counter((each.right[0], each.step) for each in block)
        for (right, chosen_step), n in sorted(
            pairs.items(), key=lambda pair: (pair[0][0], pair[0][1] is None, pair[0][1])
        ):
            chosen = None if chosen_step is None else labels[chosen_step]
            yield (*key, labels[right], chosen, right, chosen_step, n, totals[right], n / totals[right])


def _agreement(choices: Sequence[ScaleChoice]) -> pl.DataFrame:
    rows = []
    for (variant, metric), every in grouped(choices, lambda each: (each.item.variant, each.metric)).items():
        cultures = grouped(every, lambda each: each.item.culture)
        for culture, block in {"": every, **(cultures if len(cultures) > 1 else {})}.items():
            pairs = np.array([(each.right[0], each.step) for each in block])
            kappa = weighted_kappa(pairs, [each.item.cluster for each in block])
            rows.append((culture, variant, metric, kappa.n, kappa.clusters, kappa.value, kappa.low, kappa.high))
    return pl.DataFrame(rows, schema=AGREEMENT_SCHEMA, orient="row").sort("variant", "metric", "culture")
