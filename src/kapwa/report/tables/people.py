"""People's labels on the page: what they chose, how they rated answers, how far they agree, what they remarked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from kapwa.datasets.sheets import DRAW, header_of, sheet_files, short_names
from kapwa.errors import DataError, UsageError
from kapwa.files import slug, write_text
from kapwa.labels.agreement import NAMES
from kapwa.labels.audits.draws import read_draw
from kapwa.labels.choices.baseline import CODINGS, HumanBaseline, baselines
from kapwa.labels.choices.reading import read_choices
from kapwa.labels.choices.sheets import CHOICE_KEY
from kapwa.labels.open_answers import AnswerAgreement
from kapwa.labels.preferences import PAIR_COLUMNS, Preference, analyse_preferences, read_preferences
from kapwa.labels.ratings.analysis import HumanRatings, analyse_ratings
from kapwa.labels.ratings.reading import folders_of, read_ratings, rubric_of_sheet
from kapwa.labels.ratings.sheets import RATING_KEY
from kapwa.labels.reading import label_form
from kapwa.labels.rubrics import Rubric
from kapwa.labels.sheets import RUBRIC_END
from kapwa.report import wording
from kapwa.report.tables import scores as tables
from kapwa.report.tables.columns import count_column, count_of_column, share_column, text_column
from kapwa.report.tables.table import Cell, Column, PageSection, Table
from kapwa.report.view.tasks import TaskView, arrange
from kapwa.report.wording import SHARE, clean, culture_name, isolate
from kapwa.runs.csv_and_notebook import BOM
from kapwa.runs.finished_answers import items_of
from kapwa.runs.finished_run import Run
from kapwa.runs.systems import Named
from kapwa.suites.base import MetricInfo
from kapwa.tables import read_sheet
from kapwa.value_types import Row

COEFFICIENT = MetricInfo("coefficient", "Coefficient of agreement", low=-1.0, high=1.0)
# Columns of tables of labels that name their draw, of the studio and of audits alike.
_LABEL_COLUMNS = {"draw", "answer", "rater", "rubric"}
_PREFERENCES_NOTE = (
    "With 95% intervals over other items of this kind, compared by these people. Shares of preferences are among "
    "people who had one. Sides are drawn for each person and pair, so a share for the first text far from half is an "
    "effect of the side, not of the texts."
)


class Sheets(NamedTuple):
    """Filled sheets and their keys, distinguished by their columns, not by their names."""

    choices: list[tuple[Path, set[str]]]  # with the items that they are about
    ratings: dict[str, tuple[Rubric, list[Path]]]  # by the name and version of the rubric whose criteria they have
    choice_keys: list[Path]
    rating_keys: list[Path]
    pairs: list[Path]


def people_blocks(runs: Sequence[Run], views: Sequence[TaskView], paths: Sequence[Path]) -> list[PageSection]:
    """Read the filled forms in ``paths`` and say what is in them; what people choose becomes the ceiling in ``views``.

    Raises DataError as the readers of forms do, and UsageError for choices that are about no item of ``runs``.
    """
    labels = {file for files in label_tables(paths).values() for file in files}  # kapwa.report.board.audit
    files = [file for file in _undrawn(paths) if file not in labels]
    if not files:
        return []
    sheets, blocks, used = _sheets(files), list[PageSection](), set[Path]()
    for view in views:
        metrics = view.suite.choice_metrics(view.task, view.metrics) if view.suite is not None else []
        items = [item for item in items_of(view.runs) if item.variant == view.variant] if metrics else []
        known = {item.id.lstrip("0") for item in items}
        about = [path for path, ids in sheets.choices if ids & known]
        if about:
            used |= set(about)
            choices = read_choices(about, items, key=sheets.choice_keys or None, some=True)
            made = choices.frame.filter(pl.col("option").is_not_null())["item_id"].unique().to_list()
            for culture, baseline in baselines(choices, items).items():
                view.add_ceilings(baseline.ceilings(metrics, note=culture))
                blocks.append(_choice_block(view, culture, baseline, made))
            blocks[-1].notes = dict.fromkeys((*blocks[-1].notes, *choices.notes))
    for path, _ in sheets.choices:
        if path not in used:
            raise UsageError(
                f"{path} holds choices, and none is for an item of these runs.",
                hint="Name the run whose items people chose for, of kalahi/mc or blend/mcq.",
            )
    for rubric, rated in sheets.ratings.values():
        ratings = read_ratings(rated, rubric=rubric, key=sheets.rating_keys or None)
        # A plain table does not name the culture; the runs do.
        cultures = dict(row for run in runs for row in run.items.select("item_id", "culture").rows())
        culture_of_row = pl.when(pl.col("culture") == "").then(pl.col("item_id").replace_strict(cultures, default=""))
        frame = ratings.verdicts.with_columns(culture=culture_of_row.otherwise("culture"))
        blocks.append(rating_block(analyse_ratings(replace(ratings, verdicts=frame))))
    return [*blocks, preference_block(read_preferences(sheets.pairs))] if sheets.pairs else blocks


def label_tables(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """Tables of labels in ``paths``, by the draw that they name, or the only one; the sheets of a draw are none.

    Raises UsageError for a table that names none beside several draws.
    """
    draws = [read_draw(path) for path in paths if (path / DRAW).is_file()]
    criteria = {drawn.asked.criterion for drawn in draws}
    tables: dict[str, list[Path]] = {}
    for path in _undrawn(paths):
        rows = read_sheet(path)
        header = header_of(rows)
        if not (set(header) >= _LABEL_COLUMNS or (draws and label_form(path, header, criteria))):
            continue
        name = rows[0].cells.get("draw", "").strip()
        if not name and len(draws) != 1:
            message = f"{path} does not say which draw its labels are of."
            hint = "Add a column 'draw', or report draws one by one. A judge's verdicts: kapwa label apply --scorer."
            raise UsageError(message, hint=hint)
        tables.setdefault(name or draws[0].id, []).append(path)
    return tables


def _undrawn(paths: Sequence[Path]) -> list[Path]:
    """The files in ``paths`` that are not of a draw's folder."""
    elsewhere = [path for path in paths if not (path / DRAW).is_file()]
    return sheet_files(elsewhere, "forms", keys=None) if elsewhere else []


def export_people_csv(
    runs: Sequence[Run],
    paths: Sequence[Path],
    folder: Path,
    same: Named | None = None,
    more: Sequence[PageSection] = (),
) -> Path:
    """Write every table of :func:`people_blocks`, and of ``more``, as spreadsheet-safe CSV; return the folder.

    Of tables of one name, such as those of two draws, the later ones are numbered.
    """
    written = Counter[str]()
    for block in (*people_blocks(runs, arrange(runs, same), paths), *more):
        for table in (*block.tables, *block.more):
            name = slug(table.key)
            written[name] += 1
            number = f"-{written[name]}" if written[name] > 1 else ""
            write_text(folder / f"{name}{number}.csv", BOM + table.csv)
    return folder


def _sheets(paths: Sequence[Path]) -> Sheets:
    sheets = Sheets([], {}, [], [], [])
    for path in paths:
        rows = read_sheet(path)
        header = set(header_of(rows))
        if header >= set(CHOICE_KEY):
            sheets.choice_keys.append(path)
        elif header >= set(RATING_KEY) and "rater" not in header:
            sheets.rating_keys.append(path)
        elif header >= set(PAIR_COLUMNS):
            sheets.pairs.append(path)
        elif (rubric := rubric_of_sheet(path, folders_of(paths))) is not None:
            sheets.ratings.setdefault(rubric.signed, (rubric, []))[1].append(path)
        elif "item_id" in header:
            sheets.choices.append((path, {row.cells["item_id"].strip().lstrip("0") for row in rows}))
        else:
            raise DataError(
                "holds neither choices nor ratings.",
                path=path,
                row=1,
                hint="Choices have a column 'item_id', ratings a column for each criterion. Ratings by a rubric of "
                f"your own need its file beside them: ratings{RUBRIC_END}",
            )
    return sheets


def _choice_block(view: TaskView, culture: str, baseline: HumanBaseline, made: Sequence[str]) -> PageSection:
    """The choices of people of a culture, and the scores of the models on the same items."""
    same = pl.col("item_id").is_in(made) & (pl.col("variant") == baseline.variant)
    chosen = (pl.col("culture") == culture) & (pl.col("metric") == view.main_metric) & same
    scores = [run.scores.filter(chosen)["value"].mean() for run in view.runs]
    models = ", ".join(
        f"{isolate(label)} {wording.amount(score, SHARE)}"
        for label, score in zip(view.labels, scores, strict=True)
        if isinstance(score, float)
    )
    whose = f"{view.task}, {isolate(culture_name(culture))}"
    return choice_block(baseline, f"{view.slug}-people-{culture}", whose, view.noun, models)


def choice_block(baseline: HumanBaseline, key: str, whose: str, noun: tuple[str, str], models: str = "") -> PageSection:
    """What people chose: ``key`` names its tables, ``whose`` the task and culture; ``models``: what these score."""
    items = wording.count(baseline.items, *noun)
    people = wording.count(len(baseline.people), "person", "people")
    between = wording.interval(baseline.mean.low, baseline.mean.high, SHARE)
    sentences = [
        f"{people} chose the best option in {wording.amount(baseline.mean.value, SHARE)} ({between}) of "
        f"{wording.count(baseline.mean.n, 'choice')} for {items}.{f' On the same items: {models}.' if models else ''}",
        "At least two thirds of those who chose agreed on the best option in "
        f"{wording.amount(baseline.majority.value, SHARE)} of {items}.",
    ]
    people_table = Table(
        f"{key}-choices",
        f"Who chose the best option: {whose}",
        baseline.people,
        [
            text_column("Person", "rater"),
            Column("Best option", lambda row: tables.score_cell({**row, "n": row["answered"]}, SHARE)),
            count_column("Right", "correct"),
            count_column("Chosen", "answered"),
            count_column("Left empty", "missing"),
        ],
        "With 95% intervals over other items of this kind, judged by these people.",
    )
    best_table = Table(
        f"{key}-best",
        f"How many people chose the best option, of how many: {whose}",
        baseline.table,
        [
            Column("People", lambda row: Cell(f"{row['chose_best']}/{row['of']}")),
            count_column(noun[1].capitalize(), "items"),
            share_column("Share", "share"),
        ],
    )
    agreement = agreement_table(f"{key}-agreement", f"Agreement between people: {whose}", baseline.agreement, CODINGS)
    more = [agreement, *_remarks(f"{key}-remarks", baseline.remarks, ("item_id",))]
    return PageSection(f"What people chose: {whose}", sentences, [people_table, best_table], more, notes=baseline.notes)


def rating_block(ratings: HumanRatings) -> PageSection:
    """How people rated answers: by model, by culture where there are several, and how far they agree."""
    people = wording.count(ratings.raters, "person", "people")
    names = {criterion.code: criterion.name for criterion in ratings.criteria}
    caption = "Agreement between raters, all systems"
    agreement = agreement_table(f"{ratings.rubric}-agreement", caption, ratings.agreement, names)
    return PageSection(
        f"How people rated answers: {ratings.title}",
        [f"{people} judged {wording.count(ratings.responses, 'answer')} by {len(names)} yes/no questions."],
        [_share_table(ratings, shares) for shares in (ratings.shares, ratings.cultures) if shares.height],
        [agreement, *_remarks(f"{ratings.rubric}-remarks", ratings.remarks, ("system", "item_id"))],
        [(f"{criterion.code}: {criterion.name}", criterion.question["en"]) for criterion in ratings.criteria],
        dict.fromkeys(ratings.notes),
    )


def answer_block(answers: AnswerAgreement) -> PageSection:
    """How far people agree in answers of their own words."""
    frame = answers.agreement.select(pl.lit("answer").alias("criterion"), pl.all())
    people = wording.count(answers.people, "person", "people")
    sentence = f"{people} answered {wording.count(answers.items, 'item')} in their own words."
    table = agreement_table("answers-agreement", "Agreement in people’s own answers", frame, {"answer": "Answer"})
    return PageSection(table.caption, [sentence], [table])


def preference_block(preferences: Sequence[Preference]) -> PageSection:
    """Which of two texts people prefer, a table for each two models."""
    shown, more, sentences = list[Table](), list[Table](), list[str]()
    for number, models in enumerate(dict.fromkeys(one.models for one in preferences), start=1):
        result = analyse_preferences([one for one in preferences if one.models == models])
        people = wording.count(result.raters, "person", "people")
        pairs = wording.count(result.pairs, "pair of texts", "pairs of texts")
        names = [isolate(clean(name)) for name in models]
        sentences.append(f"{people} compared {pairs}. Text 1 is by {names[0]}, text 2 by {names[1]}.")
        title = f"Which text people prefer: {names[0]} (1), {names[1]} (2)"
        shown.append(_preference_table(f"pairs-{number}", title, result.shares))
        if result.agreement.height:
            frame = result.agreement.select(pl.lit("pair").alias("criterion"), pl.all())
            caption = f"Agreement between people: {names[0]}, {names[1]}"
            more.append(agreement_table(f"pairs-{number}-agreement", caption, frame, {"pair": "Which is better"}))
    notes = () if more else ("Only one person compared, so agreement is undefined.",)
    return PageSection("Which text people prefer", sentences, shown, more, notes=notes)


def _preference_table(key: str, caption: str, shares: pl.DataFrame) -> Table:
    shown = [
        Column("People …", lambda row: Cell(row["share"].capitalize())),
        count_of_column("Count", "chosen", "n"),
        share_column("Share", "value", ("low", "high")),
    ]
    return Table(key, caption, shares, shown, _PREFERENCES_NOTE)


def _share_table(ratings: HumanRatings, shares: pl.DataFrame) -> Table:
    by = shares.columns[0]
    means = f"(yes: the answer {ratings.yes_means}), by {by}{', all systems' * (by == 'culture')}"

    def name(row: Row) -> Cell:
        return Cell(culture_name(row[by]) if by == "culture" else clean(row[by]))

    def share(row: Row) -> Cell:
        return _number(
            row["value"], f"{row['agreed']} of {row['n']}, {wording.interval(row['low'], row['high'], SHARE, 0)}"
        )

    return Table(
        f"{ratings.rubric}-{by}",
        f"Answers with a yes from at least 2/3 of their raters {means}",
        shares,
        [Column(by.capitalize(), name), count_column("Answers", "most"), Column("", share, spread=True)],
        "Under each share are its count and its 95% interval. Answers that nobody judged are left out.",
        shown=shares.with_columns(most=pl.col("n").max().over(by)),
        by=[by],
        across=("criterion", {criterion.code: criterion.code for criterion in ratings.criteria}),
    )


def agreement_table(key: str, caption: str, frame: pl.DataFrame, kinds: Mapping[str, str]) -> Table:
    """A row for each of ``kinds`` (codings of choices, or criteria), a column for each coefficient."""
    kind = frame.columns[0]
    noted = frame.filter(pl.col("note") != "").unique([kind, "note"], maintain_order=True)
    notes = [f"{kinds[row[kind]]}: {row['note']}." for row in noted.iter_rows(named=True)]
    note = " ".join(["1 is full agreement and 0 is what chance gives; agreement itself is a share.", *notes])

    def coefficient(row: Row) -> Cell:
        between = wording.interval(row["low"], row["high"], COEFFICIENT) if row["low"] is not None else ""
        return _number(row["value"], between, COEFFICIENT)

    return Table(
        key,
        caption,
        frame,
        [
            Column(
                {"coding": "Categories", "criterion": "Question", "culture": "Culture"}[kind],
                lambda row: Cell(kinds[row[kind]]),
            ),
            Column("", coefficient, spread=True),
            count_column("Judged by two or more", "most"),
        ],
        note,
        shown=frame.with_columns(most=pl.col("units").max().over(kind).fill_null(0)),
        by=[kind],
        across=("coefficient", {name: NAMES[name] for name in frame["coefficient"].unique(maintain_order=True)}),
    )


def _remarks(key: str, frame: pl.DataFrame, about: Sequence[str]) -> list[Table]:
    def person(row: Row) -> Cell:
        return Cell(clean(short_names([row["rater"]], "rating")[row["rater"]]))

    def subject(row: Row) -> Cell:
        return Cell(", ".join(clean(row[name]) for name in about if row[name]))

    shown = [
        Column("Person", person),
        Column("About", subject),
        text_column("Remark", "remark"),
    ]
    return [Table(key, "What people remarked", frame, shown)] if frame.height else []


def _number(value: float | None, small: str = "", info: MetricInfo = SHARE) -> Cell:
    return Cell(wording.amount(value, info), small, number=True)
