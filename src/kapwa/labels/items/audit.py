"""Audit the items of a task: how runs and people answer each, which work differently, which keys people dispute.

Nothing is left out by this: the result holds a proposal (:mod:`kapwa.datasets.errata`) that people confirm line by
line. No model of items and systems together (Rasch, IRT) is fitted: with few systems it would tell its own assumptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kapwa.datasets.errata import COLUMNS
from kapwa.datasets.sheets import sheet_files
from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import jsonable
from kapwa.labels.choices.reading import read_choices
from kapwa.labels.choices.sheets import options_of
from kapwa.labels.filled import cell_of, refuse_repeats
from kapwa.labels.items.consensus import KEYS, LEAST_PEOPLE, has_options, shared_keys
from kapwa.labels.open_answers import holds_answers, read_answers
from kapwa.languages.same import same_text
from kapwa.records import Item
from kapwa.runs.finished_answers import items_of
from kapwa.runs.finished_run import Run
from kapwa.runs.systems import system_names
from kapwa.stats.correlation import pearson
from kapwa.stats.differential import DELTA, LEAST_ROWS, differential_items
from kapwa.stats.intervals import mean_estimates
from kapwa.stats.significance import benjamini_hochberg
from kapwa.suites.items import grouped
from kapwa.tables import read_sheet, schema_of
from kapwa.value_types import Cells, JsonObject

ALPHA = 0.05
# So many of BLEnD's five people without an answer leave a question without one.
UNANSWERED = 3
# Between what items are compared, and the column of :data:`ANSWERS` that names one item in all of the groups.
CONTRASTS = {"variant": "item_id", "culture": "cluster", "group": "item_id"}


# One answer of a system (its samples averaged) or a person: how far it was right, and the option or text chosen.
ANSWERS = schema_of("who rater group item_id variant culture cluster choice value:real")
ITEMS = schema_of(
    "who item_id variant culture dead twins length share:real low:real high:real "
    "discrimination:real discrimination_low:real discrimination_high:real p_bh:real n:whole"
)
DIFFERENTIAL = schema_of(
    "who by focal item_id size matching odds_ratio:real delta:real low:real high:real chi2:real p_value:real p_bh:real "
    "spread:real n_focal:whole n_others:whole"
)


@dataclass(frozen=True)
class ItemAudit:
    """What was told of the items, each table a Polars frame; ``errata``: what is proposed to be left out.

    ``items``: a row an item, variant and who answered (:data:`ITEMS`); ``keys``: what people say of the key;
    ``differential``: each item in each group against all other groups; ``consensus``: a row a culture, ``people`` a row
    a person. ``notes``: what cannot be told, and why.
    """

    items: pl.DataFrame
    keys: pl.DataFrame
    differential: pl.DataFrame
    consensus: pl.DataFrame
    people: pl.DataFrame
    errata: pl.DataFrame
    notes: tuple[str, ...]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table by name, ``errata`` last."""
        return {name: table for name, table in vars(self).items() if name != "notes"}

    def to_dict(self) -> JsonObject:
        """Return everything as plain values for JSON."""
        return {name: jsonable(table.to_dicts()) for name, table in self.tables.items()} | {"notes": list(self.notes)}


def audit_items(
    sources: str | Path | Run | Sequence[str | Path | Run] = (),
    *,
    items: Sequence[Item] | None = None,
    key: Sequence[str | Path] | None = None,
    groups: str | Path | None = None,
    metric: str | None = None,
) -> ItemAudit:
    """Audit the items of a task by what runs and people answered.

    ``sources``: runs of one task, run folders, filled choice sheets, tables of answers in people's own words
    (``item_id, rater, answer``), or folders of sheets. ``items``: of the task, in one variant; None: those of the runs.
    Choices for other items than those of the runs are passed over, with a note. Items that say how many people gave
    which answer (``blend/saq``) are audited for that, too. ``key``: the key files of the sheets. ``groups``: a table
    ``rater, group`` of the people. ``metric``: one that is right or wrong; None: the runs' first such. Raises
    UsageError for runs of several tasks, or without such a metric, and DataError for sheets.
    """
    listed = [sources] if isinstance(sources, str | Path | Run) else list(sources)
    is_run = [isinstance(source, Run) or (Path(source) / "run.json").exists() for source in listed]
    runs = [s if isinstance(s, Run) else Run(s) for s, run in zip(listed, is_run, strict=True) if run]
    paths = [Path(str(source)) for source, run in zip(listed, is_run, strict=True) if not run]
    if len({run.manifest["task"] for run in runs}) > 1:
        raise UsageError("The runs are of several tasks.", hint="Audit the items of one task at a time.")
    known = list(items_of(runs) if items is None and runs else items or ())
    if not (runs or paths or known):
        raise UsageError("Nothing to audit: no run, no answers, no task.", hint="Name a run, or --task.")
    answers, notes = _people(paths, known, key, groups, some=items is None)
    names = system_names(runs)
    answers = pl.concat([*(_system(run, metric, names[id(run)]) for run in runs), answers])
    consensus_table, people, keys = shared_keys(answers, known, notes)
    tables = {
        "items": _statistics(answers, known, notes),
        "keys": pl.concat([keys, pl.DataFrame(list(_voted(known)), schema=KEYS, orient="row")]),
        "differential": pl.concat([_differential(answers, by, notes) for by in CONTRASTS]),
        "consensus": consensus_table,
        "people": people,
    }
    errata = _proposed(tables, answers, notes)
    return ItemAudit(**tables, errata=errata, notes=tuple(dict.fromkeys(notes)))


def _system(run: Run, metric: str | None, system: str) -> pl.DataFrame:
    """Return what a system scored on each item, its samples averaged."""
    binary = [name for name, info in run.metrics.items() if info.binary]
    name = metric or next(iter([name for name in run.manifest["headline"] if name in binary] or binary), "")
    if name not in binary:
        raise UsageError(f"{run.path} has no metric {name!r} that is right or wrong.", hint=nearest(name, binary))
    rows = run.scores.filter(pl.col("metric") == name, pl.col("value").is_not_null())
    means = rows.group_by("item_id", "variant", "culture", "cluster", maintain_order=True).agg(pl.mean("value"))
    constant = {"who": "systems", "rater": system, "group": "", "choice": ""}
    return means.with_columns(pl.lit(text).alias(column) for column, text in constant.items()).select(list(ANSWERS))


def _people(
    paths: Sequence[Path], items: Sequence[Item], key: Any, groups: str | Path | None, *, some: bool
) -> tuple[pl.DataFrame, list[str]]:
    """Read sheets of choices and tables of people's own words; of words nobody says which are right."""
    files = [file for path in paths for file in sheet_files(path, "choices")]
    words = [file for file in files if holds_answers([file])]
    chosen = [file for file in files if file not in words]
    by_id = {item.id: item for item in items}
    group_of = {} if groups is None else _groups(Path(groups))
    rows: list[Cells] = []
    notes: tuple[str, ...] = ()
    if chosen:
        if not items:
            raise UsageError("Choices are read against items.", hint="Name a run of the task, or --task and --data.")
        read = read_choices(chosen, [item for item in items if item.variant == items[0].variant], key=key, some=some)
        notes = read.notes
        for item_id, rater, option in read.frame.select("item_id", "rater", "option").drop_nulls().iter_rows():
            right = {"value": float(option == 0), "choice": options_of(by_id[item_id])[option]}
            rows.append({"item_id": item_id, "rater": rater, **right})
    choosers = {(row["item_id"], row["rater"]) for row in rows}
    for item_id, by_rater in (read_answers(words) if words else {}).items():
        twice = next((rater for rater in by_rater if (item_id, rater) in choosers), None)
        if twice is not None:
            message = f"{twice} chooses an option of {item_id!r} in another file, and answers it in words here."
            raise DataError(message, path=words[0], hint="Audit choices and words apart.")
        rows += [{"item_id": item_id, "rater": rater, "choice": _comparable(text)} for rater, text in by_rater.items()]
    for row in rows:
        item = by_id.get(row["item_id"])
        item_cells = {"culture": item.culture, "cluster": item.cluster} if item else {"culture": "", "cluster": ""}
        row |= {"who": "people", "variant": "", "group": group_of.get(row["rater"], ""), **item_cells}
    return pl.DataFrame(rows, schema=ANSWERS), list(notes)


def _groups(path: Path) -> dict[str, str]:
    """Return each person's group; raise DataError for somebody in two."""
    lines = read_sheet(path, required=("rater", "group"))
    cells = [(cell_of(line, path, "rater"), cell_of(line, path, "group")) for line in lines]
    refuse_repeats((rater.text, rater, f"{rater.text} has a group") for rater, _ in cells)
    return {rater.text: group.text for rater, group in cells}


def _comparable(text: str) -> str:
    return same_text(text).rstrip(".!?。")


# --- difficulty and discrimination --------------------------------------------------------------------------


def _matrix(rows: pl.DataFrame, index: Sequence[str], item: str) -> tuple[pl.DataFrame, np.ndarray, list[str]]:
    """Return who answered (``index``), their values by item (NaN where there is none), and the items."""
    wide = rows.pivot(on=item, index=index, values="value", aggregate_function="mean", maintain_order=True)
    names = [name for name in wide.columns if name not in index]
    return wide.select(index), wide.select(names).to_numpy().astype(np.float64), names


def _statistics(answers: pl.DataFrame, items: Sequence[Item], notes: list[str]) -> pl.DataFrame:
    """Return difficulty, discrimination and what can be seen of each item, by who answered and variant."""
    seen = {item.id: _seen(item) for item in items}
    tables = []
    scored = answers.filter(pl.col("value").is_not_null())
    for (who, variant), group in scored.group_by("who", "variant", maintain_order=True):
        of_item = dict(group.select("item_id", "culture").iter_rows())
        raters, values, names = _matrix(group, ["rater"], "item_id")
        if raters.height < LEAST_ROWS:
            notes.append(f"Discrimination needs {LEAST_ROWS} {who}; there are {raters.height}.")
        totals, counts = np.nansum(values, axis=1), (~np.isnan(values)).sum(axis=1)
        rows, p_values = [], []
        for number, (name, share) in enumerate(zip(names, mean_estimates(values, None, share=True), strict=True)):
            answers_to_it = values[:, number]
            rest = (totals - answers_to_it) / np.where(counts > 1, counts - 1, np.nan)
            link = pearson(answers_to_it, rest) if raters.height >= LEAST_ROWS else pearson([], [])
            dead = {1.0: "all right", 0.0: "nobody right"}.get(share.value or 0.0, "")
            p_values.append(np.nan if link.p_value is None else link.p_value)
            figures = (share.value, share.low, share.high, link.value, link.low, link.high, None, share.n)
            rows.append((who, name, variant, of_item[name], dead, *seen.get(name, ("", None)), *figures))
        table = pl.DataFrame(rows, schema=ITEMS, orient="row")
        tables.append(table.with_columns(p_bh=pl.Series(benjamini_hochberg(p_values)).fill_nan(None)))
    return pl.concat([pl.DataFrame(schema=ITEMS), *tables])


def _seen(item: Item) -> tuple[str, str | None]:
    """Return options that are the same but for case, blanks and the last stop, and whether the right one is longest."""
    if not has_options(item):
        return "", None
    options = options_of(item)
    twins = [texts for texts in grouped(options, _comparable).values() if len(texts) > 1]
    others = [len(text) for text in options[1:]]
    length = "longest" if len(options[0]) > max(others) else "shortest" if len(options[0]) < min(others) else ""
    return "; ".join(" = ".join(texts) for texts in twins), length


# --- groups compared ----------------------------------------------------------------------------------------


def _differential(answers: pl.DataFrame, by: str, notes: list[str]) -> pl.DataFrame:
    """Hold each group of a column against all the others, item by item; one family of tests."""
    rows: list[tuple[Any, ...]] = []
    scored = answers.filter(pl.col("value").is_not_null(), pl.col(by) != "")
    if by != "variant":  # prompts of one system would count as so many systems
        scored = scored.filter(pl.col("variant") == pl.col("variant").first().over("who"))
    for (who,), group in scored.group_by("who", maintain_order=True):
        raters, values, names = _matrix(group, ["rater", by], CONTRASTS[by])
        right = np.where(np.isnan(values), np.nan, values > 0.5)
        members = raters[by].to_numpy()
        labels = list(dict.fromkeys(members.tolist()))
        fewest = min((int((members == label).sum()) for label in labels), default=0)
        if len(labels) > 1 and fewest < LEAST_ROWS:
            notes.append(
                f"Whether items work differently by {by} cannot be told: {fewest} {who} in a group; it takes "
                f"{LEAST_ROWS} for anything, and hundreds to find differences of class C."
            )
            continue
        unseen: list[float] = []
        for label in labels if len(labels) > 1 else ():
            tested = differential_items(right, members == label)
            unseen += [item.detectable for item in tested if item.size]
            for name, item in zip(names, tested, strict=True):
                odds, counts = item.odds, (item.focal, item.reference)
                figures = (
                    odds.odds_ratio,
                    item.delta,
                    item.low,
                    item.high,
                    odds.chi2,
                    item.p_value,
                    item.p_bh,
                    item.spread,
                )
                rows.append((who, by, label, name, item.size, "yes" if item.anchor else "no", *figures, *counts))
        if unseen:
            typical = float(np.median(unseen))
            notes.append(
                f"Between groups by {by}, a difference under {typical:.1f} delta (odds of being right "
                f"{exp(typical / -DELTA):.1f} times as high) would mostly go unseen, before any adjustment."
            )
    table = pl.DataFrame(rows, schema=DIFFERENTIAL, orient="row")
    return table.with_columns(p_bh=pl.Series(benjamini_hochberg(table["p_value"].to_numpy()), dtype=pl.Float64))


# --- what people say of the keys ----------------------------------------------------------------------------


def _voted(items: Sequence[Item]) -> Iterator[tuple[Any, ...]]:
    """Yield what the counted answers of a question say of its key, where items have them."""
    for item in {item.id: item for item in items}.values():
        groups = item.fields.get("answers")
        if not item.fields.get("counted") or not groups:
            continue
        votes, unanswered = sorted((group.votes for group in groups), reverse=True), sum(item.fields["idks"].values())
        top = max(groups, key=lambda group: group.votes)
        finding = ""
        if unanswered >= UNANSWERED:
            finding = f"{unanswered} people gave no answer"
        elif votes[0] == 1 and len(votes) >= LEAST_PEOPLE:
            finding = "no two people gave the same answer"
        yield item.id, item.culture, None, top.local[0], finding, None, None, None, votes[0], unanswered


# --- what is proposed ---------------------------------------------------------------------------------------


def _proposed(audit: Mapping[str, pl.DataFrame], answers: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Return lines of errata for people to confirm, one an item and variant; what is only to be asked is noted."""
    divided = audit["consensus"].filter(verdict="several cultures")["culture"].to_list()
    lines: list[tuple[str, ...]] = []
    for row in audit["keys"].filter(pl.col("finding") != "").iter_rows(named=True):
        if row["culture"] in divided:
            notes.append(
                f"{row['item_id']}: {row['finding']}, but they answer as several cultures: ask, do not delete."
            )
            continue
        most = f"{row['for_answer']} gave {row['answer']!r}"
        most += "" if row["for_key"] is None else f", {row['for_key']} of {row['people']} the key {row['key']!r}"
        lines.append((row["item_id"], row["culture"], "", row["finding"], most))
    items = audit["items"]
    for row in items.filter(pl.col("twins") != "").iter_rows(named=True):
        lines.append((row["item_id"], row["culture"], "", "two options are the same", row["twins"]))
    for row in items.filter(pl.col("p_bh") < ALPHA, pl.col("discrimination") < 0).iter_rows(named=True):
        evidence = f"r = {row['discrimination']:.2f} with the other items, {row['n']} {row['who']}"
        lines.append((row["item_id"], row["culture"], row["variant"], "better ones fail it more often", evidence))
    large = audit["differential"].filter(pl.col("size") == "C", pl.col("p_bh") < ALPHA, pl.col("delta") < 0)
    for row in large.iter_rows(named=True):
        answered = answers.filter(pl.col(row["by"]) == row["focal"], who=row["who"])
        named = answered.filter(pl.col(CONTRASTS[row["by"]]) == row["item_id"]).unique("item_id", maintain_order=True)
        reason = f"harder in {row['by']} {row['focal']} than the score says"
        evidence = (
            f"delta {row['delta']:.1f} ({row['low']:.1f} to {row['high']:.1f}), class C, {row['n_focal']} {row['who']}"
        )
        lines += [(*item, reason, evidence) for item in named.select("item_id", "culture", "variant").iter_rows()]
    frame = pl.DataFrame(lines, schema=dict.fromkeys(COLUMNS[:5], pl.String), orient="row").unique(maintain_order=True)
    joined = frame.group_by(COLUMNS[:3], maintain_order=True).agg(pl.col("reason", "evidence").str.join("; "))
    return joined.with_columns(confirmed_by=pl.lit(""))
