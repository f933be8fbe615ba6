"""The human baseline: how often validators choose the best response, and how far they agree (Kalahi §3.2, §4.1).

Chance-corrected agreement depends on what counts as a category, and options differ from item to item. Three
codings are reported. With 111, 31 and 8 of 150 items chosen best by 3, 2 and 1 of three people, as published:

- ``position``: where the option stands on a sheet shuffled once for everybody. Chance means picking among the
  options shown, about 1 in 4. κ and α are 0.755 to 0.772, depending on how often two people who miss the best meet
  on one option: this coding alone reproduces the paper's 0.761 and 0.762.
- ``option``: which option it is, 0 = best. One category then holds nine tenths of all choices in every item, so
  chance agreement is near the observed one, and κ is 0.04 to 0.11 for the same answers.
- ``best``: best or not. α is 0.0755 whatever else, for the same reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kapwa.datasets.sheets import short_names, shuffled
from kapwa.errors import DataError
from kapwa.labels.agreement import MOST_PAIRED, SCHEMA, Result, agreement_rows, guessing_row, has_majority
from kapwa.labels.choices.reading import Choices, read_choices
from kapwa.labels.choices.sheets import options_of
from kapwa.records import Floor, Item
from kapwa.stats.agreement import pairwise_kappa
from kapwa.stats.intervals import Estimate, mean_estimates
from kapwa.tables import schema_of
from kapwa.value_types import Cells

CODINGS = {
    "position": "by position on a shuffled sheet (as published)",
    "option": "by option, the best being one category",
    "best": "best or not",
}


@dataclass(frozen=True, slots=True)
class HumanBaseline(Result):
    """What validators' choices show; each table is a Polars frame.

    ``mean``: accuracy over all choices, clustered by the items' cluster (these people, other situations);
    ``majority``: share of items whose best response at least 2/3 of the answering people chose.
    ``people``: ``rater, value, low, high, correct, answered, missing``.
    ``table``: ``chose_best, of, items, share``: on how many items so many of so many people chose the best.
    ``agreement``: ``coding, coefficient, value, low, high, units, raters, note``.
    ``pairs``: ``coding, first, second, kappa, units``.
    ``remarks``: ``item_id, rater, remark``.
    """

    mean: Estimate
    majority: Estimate
    people: pl.DataFrame
    table: pl.DataFrame
    agreement: pl.DataFrame
    pairs: pl.DataFrame
    remarks: pl.DataFrame
    items: int
    items_of: int
    variant: str
    notes: tuple[str, ...] = ()

    def ceilings(self, metrics: Sequence[str], *, note: str | None = None) -> list[Floor]:
        """Return the mean accuracy as the ceiling of each of ``metrics``; ``note``: the culture, of several."""
        mean = self.mean
        if mean.value is None:
            return []
        note = note or f"{len(self.people)} people on {self.items} of {self.items_of} items"
        return [
            Floor(
                metric,
                self.variant,
                "own validators",
                mean.value,
                kind="ceiling",
                note=note,
                low=mean.low,
                high=mean.high,
            )
            for metric in metrics
        ]


def human_baseline(
    paths: str | Path | Sequence[str | Path],
    items: Sequence[Item],
    *,
    key: str | Path | Sequence[str | Path] | None = None,
    some: bool = False,
    seed: int = 1,
    replicates: int = 2000,
) -> HumanBaseline:
    """Read filled choice sheets and analyse them: what ``kapwa label agree`` does; see :func:`read_choices`."""
    return analyse_choices(read_choices(paths, items, key=key, some=some), items, seed=seed, replicates=replicates)


def baselines(choices: Choices, items: Sequence[Item]) -> dict[str, HumanBaseline]:
    """Analyse the choices of each culture that people chose for by itself, without the notes of the reading."""
    made = set(choices.frame.filter(pl.col("option").is_not_null())["item_id"])
    by_culture = {}
    for culture in dict.fromkeys(item.culture for item in items if item.id in made):
        items_of_culture = [item for item in items if item.culture == culture]
        its = pl.col("item_id").is_in([item.id for item in items_of_culture])
        # Of one culture there is mostly one form, and its people are p1, p2, … again.
        names = short_names(choices.frame.filter(its)["rater"].unique(), "choice")
        frame, remarks = (
            table.filter(its).with_columns(pl.col("rater").replace(names)) for table in (choices.frame, choices.remarks)
        )
        by_culture[culture] = analyse_choices(Choices(frame, remarks), items_of_culture)
    return by_culture


def analyse_choices(choices: Choices, items: Sequence[Item], *, seed: int = 1, replicates: int = 2000) -> HumanBaseline:
    """Compute accuracy, the table of how many chose the best, and agreement with bootstrap intervals.

    ``items``: the items the choices were read against. ``seed`` and ``replicates`` govern the bootstrap.
    A choice left out counts neither as right nor as wrong. Raises DataError when no choice was made.
    """
    raters = sorted(choices.frame["rater"].unique(), key=_natural)
    chosen: dict[str, dict[str, int | None]] = {}
    for item_id, rater, option in choices.frame.select("item_id", "rater", "option").iter_rows():
        chosen.setdefault(item_id, {})[rater] = option
    answered = [item for item in items if any(option is not None for option in chosen.get(item.id, {}).values())]
    if not answered:
        raise DataError("no choice was made, so there is nothing to analyse.")
    options = [[chosen[item.id].get(rater) for rater in raters] for item in answered]
    right = [[None if option is None else float(option == 0) for option in line] for line in options]
    marks = [(line.count(1.0), len(line) - line.count(None)) for line in right]
    clusters = [item.cluster for item in answered]
    cultures = {item.culture for item in answered}
    agreement, pairs = _agreement(options, answered, raters, seed=seed, replicates=replicates)
    notes = list(choices.notes)
    if len(raters) == 1:
        notes.append("Only one person chose, so agreement is undefined.")
    n_items = choices.frame["item_id"].n_unique()
    empty = n_items - len(answered)
    if empty:
        notes.append(f"{empty} {'item was' if empty == 1 else 'items were'} left empty by everybody.")
    return HumanBaseline(
        mean=_flat_estimate(right, clusters),
        majority=mean_estimates([float(has_majority(*counts)) for counts in marks], clusters, share=True)[0],
        people=_people(choices, right, raters, clusters),
        table=_table(marks),
        agreement=agreement,
        pairs=pairs,
        remarks=choices.remarks,
        items=len(answered),
        items_of=sum(item.culture in cultures for item in items),
        variant=items[0].variant,
        notes=tuple(notes),
    )


def _flat_estimate(right: Sequence[Sequence[float | None]], clusters: Sequence[str]) -> Estimate:
    values = [(mark, cluster) for line, cluster in zip(right, clusters, strict=True) for mark in line]
    made = [(mark, cluster) for mark, cluster in values if mark is not None]
    return mean_estimates([mark for mark, _ in made], [cluster for _, cluster in made], share=True)[0]


def _people(
    choices: Choices, right: Sequence[Sequence[float | None]], raters: Sequence[str], clusters: Sequence[str]
) -> pl.DataFrame:
    rows = []
    missing = Counter(choices.frame.filter(pl.col("option").is_null())["rater"])
    for index, rater in enumerate(raters):
        accuracy = _flat_estimate([[line[index]] for line in right], clusters)
        correct = sum(line[index] == 1 for line in right)
        rows.append((rater, accuracy.value, accuracy.low, accuracy.high, correct, accuracy.n, missing[rater]))
    schema = schema_of("rater value:real low:real high:real correct:whole answered:whole missing:whole")
    return pl.DataFrame(rows, schema=schema, orient="row")


def _table(marks: Sequence[tuple[int, int]]) -> pl.DataFrame:
    """Count items by how many chose the best, of how many; every count of the full number of people has a row."""
    counts = Counter(marks)
    people = max(of for _, of in marks)
    cells = {*counts, *((best, people) for best in range(people + 1))}
    rows = [(best, of, counts[best, of], counts[best, of] / len(marks)) for best, of in cells]
    schema = schema_of("chose_best:whole of:whole items:whole share:real")
    return pl.DataFrame(rows, schema=schema, orient="row").sort("of", "chose_best", descending=True)


def _agreement(
    options: Sequence[Sequence[int | None]], items: Sequence[Item], raters: Sequence[str], *, seed: int, replicates: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    clusters = [item.cluster for item in items]
    rows: list[Cells] = []
    pairs: list[tuple[Any, ...]] = []
    for coding in CODINGS if len(raters) > 1 else ():
        table = [_coded(line, item, coding) for line, item in zip(options, items, strict=True)]
        coefficients = agreement_rows(table, clusters, seed=seed, replicates=replicates)
        if coding == "position":
            counts = [len(options_of(item)) for item in items]
            coefficients.append(guessing_row(table, counts, clusters))
        rows += [{"coding": coding, **row} for row in coefficients]
        kappas = pairwise_kappa(np.array(table, dtype=object)) if len(raters) <= MOST_PAIRED else ()
        pairs += [(coding, raters[first], raters[second], value, n) for first, second, value, n in kappas]
    names = schema_of("coding first second kappa:real units:whole")
    return (pl.DataFrame(rows, schema={"coding": pl.String, **SCHEMA}), pl.DataFrame(pairs, schema=names, orient="row"))


def _coded(line: Sequence[int | None], item: Item, coding: str) -> list[int | None]:
    """Name the options chosen for an item by the categories of a coding."""
    if coding == "best":
        return [None if option is None else int(option != 0) for option in line]
    if coding == "option":
        return list(line)
    # One shuffled sheet for everybody; a hash of the texts, so the result does not hang on a seed or on file order.
    order = shuffled(options_of(item), "position", item.id)
    return [None if option is None else order.index(option) for option in line]


def _natural(name: str) -> tuple[str, int, str]:
    """Sort ``p10`` after ``p9``, by length: a name of 5,000 digits is no number that Python reads."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return stem, len(digits.lstrip("0")), digits
