"""What people say, for the page: what they chose, how they rated answers, how far they agree, what they remarked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kapwa.datasets.sheets import header_of, sheet_files, short_names
from kapwa.errors import DataError, UsageError
from kapwa.files import slug, write_text
from kapwa.people.agreement import NAMES
from kapwa.people.choice_files import read_choices
from kapwa.people.choices import CODINGS, HumanBaseline, baselines
from kapwa.people.forms import CHOICE_KEY
from kapwa.people.preferences import PAIR_COLUMNS, Preference, analyse_preferences, read_preferences
from kapwa.people.rating_files import read_ratings, suite_of
from kapwa.people.rating_forms import RATING_KEY
from kapwa.people.ratings import HumanRatings, analyse_ratings
from kapwa.report import tables, wording
from kapwa.report.table import Cell, Table, frame_csv
from kapwa.report.view import TaskView, arrange
from kapwa.report.wording import clean, culture_name, isolate
from kapwa.runs.answers import items_of
from kapwa.runs.directory import Run
from kapwa.runs.outputs import BOM
from kapwa.runs.systems import Named
from kapwa.suites.base import rating_suite
from kapwa.tables_io import read_sheet

SHARE = {"low": 0.0, "high": 1.0}
COEFFICIENT = {"low": -1.0, "high": 1.0}
Block = dict[str, Any]  # what the template is told of one kind of form


class Sheets(NamedTuple):
    """Filled sheets and their keys, told apart by their columns, whatever they are called."""

    choices: list[tuple[Path, set[str]]]  # with the items that they are about
    ratings: dict[str, list[Path]]  # by the suite whose criteria they have
    choice_keys: list[Path]
    rating_keys: list[Path]
    pairs: list[Path]


def people_blocks(runs: Sequence[Run], views: Sequence[TaskView], paths: Sequence[Path]) -> list[Block]:
    """Read the filled forms in ``paths`` and say what is in them; what people choose becomes the ceiling in ``views``.

    Raises DataError as the readers of forms do, and UsageError for choices that are about no item of ``runs``.
    """
    if not paths:
        return []
    sheets, blocks, used = _sheets(paths), list[Block](), set[Path]()
    for view in views:
        metrics = view.suite.choice_metrics(view.task, view.metrics) if view.suite is not None else []
        items = [item for item in items_of(view.runs) if item.variant == view.variant] if metrics else []
        known = {item.id.lstrip("0") for item in items}
        about = [path for path, ids in sheets.choices if ids & known]
        if about:
            used |= set(about)
            choices = read_choices(about, items, key=sheets.choice_keys or None, some=True)
            made = choices.frame.filter(pl.col("option").is_not_null())["item_id"].unique().to_list()
            for culture, found in baselines(choices, items).items():
                view.add_ceilings(found.ceilings(metrics, note=culture))
                blocks.append(_choice_block(view, culture, found, made))
            blocks[-1]["notes"] = dict.fromkeys((*blocks[-1]["notes"], *choices.notes))
    for path, _ in sheets.choices:
        if path not in used:
            raise UsageError(
                f"{path} holds choices, and none is for an item of these runs.",
                hint="Name the run whose items people chose for, of kalahi/mc or blend/mcq.",
            )
    for form, rated in sheets.ratings.items():
        ratings = read_ratings(rated, form=form, key=sheets.rating_keys or None)
        # Keys of earlier versions do not name the culture; the runs do.
        cultures = {item.id: item.culture for item in items_of(runs)}
        told = pl.when(pl.col("culture") == "").then(pl.col("item_id").replace_strict(cultures, default=""))
        frame = ratings.frame.with_columns(culture=told.otherwise("culture"))
        blocks.append(rating_block(form, analyse_ratings(replace(ratings, frame=frame))))
    return [*blocks, preference_block(read_preferences(sheets.pairs))] if sheets.pairs else blocks


def export_people_csv(runs: Sequence[Run], paths: Sequence[Path], folder: Path, same: Named | None = None) -> Path:
    """Write every table of :func:`people_blocks` as spreadsheet-safe CSV in ``folder``; return the folder."""
    for block in people_blocks(runs, arrange(runs, same), paths):
        for table in (*block["tables"], *block["more"]):
            write_text(folder / f"{slug(table.key)}.csv", BOM + table.csv)
    return folder


def _sheets(paths: Sequence[Path]) -> Sheets:
    found = Sheets([], {}, [], [], [])
    for path in sheet_files(paths, "forms", keys=None):
        rows = read_sheet(path)
        header = set(header_of(rows))
        if header >= set(CHOICE_KEY):
            found.choice_keys.append(path)
        elif header >= set(RATING_KEY[:-1]):
            found.rating_keys.append(path)
        elif header >= set(PAIR_COLUMNS):
            found.pairs.append(path)
        elif (suite := suite_of(path)) is not None:
            found.ratings.setdefault(suite.name, []).append(path)
        elif "item_id" in header:
            found.choices.append((path, {row.cells["item_id"].strip().lstrip("0") for row in rows}))
        else:
            raise DataError(
                "holds neither choices nor ratings.",
                path=path,
                row=1,
                hint="Choices have a column 'item_id', ratings a column for each criterion.",
            )
    return found


def _choice_block(view: TaskView, culture: str, found: HumanBaseline, made: Sequence[str]) -> Block:
    """What people of a culture chose, and what the models score on the same items."""
    same = pl.col("item_id").is_in(made) & (pl.col("variant") == found.variant)
    chosen = (pl.col("culture") == culture) & (pl.col("metric") == view.metric) & same
    scores = [run.scores.filter(chosen)["value"].mean() for run in view.runs]
    models = ", ".join(
        f"{isolate(label)} {wording.amount(score, SHARE)}"
        for label, score in zip(view.labels, scores, strict=True)
        if isinstance(score, float)
    )
    whose = f"{view.task}, {isolate(culture_name(culture))}"
    return choice_block(found, f"{view.slug}-people-{culture}", whose, view.noun, models)


def choice_block(found: HumanBaseline, key: str, whose: str, noun: tuple[str, str], models: str = "") -> Block:
    """What people chose: ``key`` names its tables, ``whose`` the task and culture; ``models``: what these score."""
    items = wording.count(found.items, *noun)
    people = wording.count(len(found.people), "person", "people")
    between = wording.interval(found.mean.low, found.mean.high, SHARE)
    said = [
        f"{people} chose the best option in {wording.amount(found.mean.value, SHARE)} ({between}) of "
        f"{wording.count(found.mean.n, 'choice')} for {items}.{f' On the same items: {models}.' if models else ''}",
        "At least two thirds of those who chose agreed on the best option in "
        f"{wording.amount(found.majority.value, SHARE)} of {items}.",
    ]
    rows = [
        [
            Cell(clean(row["rater"])),
            tables.score_cell({**row, "n": row["answered"]}, SHARE),
            *(Cell(f"{row[name]:,}", number=True) for name in ("correct", "answered", "missing")),
        ]
        for row in found.people.iter_rows(named=True)
    ]
    shares = [
        [Cell(f"{row['chose_best']}/{row['of']}"), Cell(str(row["items"]), number=True), _number(row["share"])]
        for row in found.table.iter_rows(named=True)
    ]
    return {
        "title": f"What people chose: {whose}",
        "sentences": said,
        "tables": [
            Table(
                f"{key}-choices",
                f"Who chose the best option: {whose}",
                ["Person", "Best option", "Right", "Chosen", "Left empty"],
                rows,
                frame_csv(found.people),
                "With 95% intervals over other items of this kind, judged by these people.",
            ),
            Table(
                f"{key}-best",
                f"Best option chosen by so many of so many people: {whose}",
                ["People", noun[1].capitalize(), "Share"],
                shares,
                frame_csv(found.table),
            ),
        ],
        "more": [
            agreement_table(f"{key}-agreement", f"Agreement between people: {whose}", found.agreement, CODINGS),
            *_remarks(f"{key}-remarks", found.remarks, ("item_id",)),
        ],
        "criteria": [],
        "notes": found.notes,
    }


def rating_block(form: str, found: HumanRatings) -> Block:
    """How people rated answers: by model, by culture where there are several, and how far they agree."""
    people = wording.count(found.raters, "person", "people")
    names = {criterion.code: criterion.name for criterion in found.criteria}
    return {
        "title": f"How people rated answers: {form}",
        "sentences": [f"{people} judged {wording.count(found.responses, 'answer')} by {len(names)} yes/no questions."],
        "tables": [_share_table(form, found, shares) for shares in (found.shares, found.cultures) if shares.height],
        "more": [
            agreement_table(
                f"{form}-ratings-agreement", "Agreement between raters, all models", found.agreement, names
            ),
            *_remarks(f"{form}-ratings-remarks", found.remarks, ("model", "item_id")),
        ],
        "criteria": [(f"{one.code}: {one.name}", one.question) for one in found.criteria],
        "notes": dict.fromkeys(found.notes),
    }


def preference_block(given: Sequence[Preference]) -> Block:
    """Which of two texts people prefer, a table for each two models."""
    shown: list[Table] = []
    more: list[Table] = []
    sentences = []
    for number, models in enumerate(dict.fromkeys(one.models for one in given), start=1):
        found = analyse_preferences([one for one in given if one.models == models])
        people = wording.count(found.raters, "person", "people")
        pairs = wording.count(found.pairs, "pair of texts", "pairs of texts")
        names = [isolate(clean(name)) for name in models]
        sentences.append(f"{people} compared {pairs}. Text 1 is by {names[0]}, text 2 by {names[1]}.")
        title = f"Which text people prefer: {names[0]} (1), {names[1]} (2)"
        shown.append(_preference_table(f"pairs-{number}", title, found.shares))
        if found.agreement.height:
            frame = found.agreement.select(pl.lit("pair").alias("criterion"), pl.all())
            caption = f"Agreement between people: {names[0]}, {names[1]}"
            more.append(agreement_table(f"pairs-{number}-agreement", caption, frame, {"pair": "Which is better"}))
    notes = () if more else ("Only one person compared, so agreement is undefined.",)
    title = "Which text people prefer"
    return {"title": title, "sentences": sentences, "tables": shown, "more": more, "criteria": [], "notes": notes}


def _preference_table(key: str, caption: str, shares: pl.DataFrame) -> Table:
    rows = [
        [
            Cell(row["share"].capitalize()),
            Cell(f"{row['chosen']} of {row['n']}", number=True),
            Cell(wording.amount(row["value"], SHARE), wording.interval(row["low"], row["high"], SHARE), number=True),
        ]
        for row in shares.iter_rows(named=True)
    ]
    note = (
        "With 95% intervals over other items of this kind, compared by these people. Shares of preferences are among "
        "those who had one. Sides are drawn for each person and pair, so a share for the first text that is far from "
        "half is an effect of the side, not of the texts."
    )
    return Table(key, caption, ["People …", "Count", "Share"], rows, frame_csv(shares), note)


def _share_table(form: str, found: HumanRatings, shares: pl.DataFrame) -> Table:
    by = shares.columns[0]
    rows = []
    for (whose,), own in shares.group_by(by, maintain_order=True):
        cells = [
            _number(row["value"], wording.interval(row["low"], row["high"], SHARE, 0))
            for row in own.iter_rows(named=True)
        ]
        name = culture_name(whose) if by == "culture" else clean(whose)
        rows.append([Cell(name), Cell(f"{max(own['n'].to_list()):,}", number=True), *cells])
    means = f"(yes: the answer {rating_suite(form).yes_means}), by {by}{', all models' * (by == 'culture')}"
    return Table(
        f"{form}-ratings-{by}",
        f"Answers with a yes from at least 2/3 of their raters {means}",
        [by.capitalize(), "Answers", *(criterion.code for criterion in found.criteria)],
        rows,
        frame_csv(shares),
        "Under each share is its 95% interval. Answers that nobody judged are left out; counts are in the CSV.",
    )


def agreement_table(key: str, caption: str, frame: pl.DataFrame, kinds: Mapping[str, str]) -> Table:
    """A row for each of ``kinds`` (codings of choices, or criteria), a column for each coefficient."""
    kind, notes = frame.columns[0], []
    names = frame["coefficient"].unique(maintain_order=True).to_list()
    rows = []
    for (one,), own in frame.group_by(kind, maintain_order=True):
        by_name = {row["coefficient"]: row for row in own.iter_rows(named=True)}
        cells = []
        for row in map(by_name.get, names):
            between = wording.interval(row["low"], row["high"], COEFFICIENT) if row and row["low"] is not None else ""
            cells.append(_number(row["value"] if row else None, between, COEFFICIENT))
        units = max(own["units"].drop_nulls().to_list(), default=0)
        rows.append([Cell(kinds[str(one)]), *cells, Cell(f"{units:,}", number=True)])
        notes += [f"{kinds[str(one)]}: {note}." for note in own["note"].unique(maintain_order=True) if note]
    note = " ".join(["1 is full agreement and 0 is what chance gives; agreement itself is a share.", *notes])
    head = {"coding": "Categories", "criterion": "Question"}[kind]
    return Table(
        key,
        caption,
        [head, *(NAMES[name] for name in names), "Judged by two or more"],
        rows,
        frame_csv(frame),
        note,
    )


def _remarks(key: str, frame: pl.DataFrame, about: Sequence[str]) -> list[Table]:
    rows = []
    for row in frame.iter_rows(named=True):
        person = short_names([row["rater"]], "rating")[row["rater"]]
        told = ", ".join(clean(row[name]) for name in about if row[name])
        rows.append([Cell(clean(person)), Cell(told), Cell(clean(row["remark"]))])
    head = ["Person", "About", "Remark"]
    return [Table(key, "What people remarked", head, rows, frame_csv(frame))] if rows else []


def _number(value: float | None, small: str = "", info: Mapping[str, float] = SHARE) -> Cell:
    return Cell(wording.amount(value, info), small, number=True)
