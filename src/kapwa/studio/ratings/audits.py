"""Answers of a recorded draw, labelled in the studio: from the folder that ``kapwa label sample`` wrote, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.datasets.sheets import DRAW, sheet_files
from kapwa.errors import DataError, UsageError, nearest
from kapwa.labels.audits.draws import read_draw
from kapwa.labels.audits.questions import LabelQuestion
from kapwa.labels.raters import agreement_by_culture
from kapwa.labels.rubrics import CANNOT
from kapwa.records import Item
from kapwa.report.tables.people import agreement_table
from kapwa.report.tables.table import PageSection
from kapwa.studio.ratings.events import drawn_item
from kapwa.tables import read_sheet
from kapwa.value_types import JsonObject, Row

AUDIT = "audit"
# The columns of labels before that of the criterion, and after it.
_BEFORE, _AFTER = ("draw", "answer", "rater"), ("rubric", "response", "remark")


def drawn_answers(folder: str | Path, where: Mapping[str, str | Sequence[str]]) -> tuple[list[Any], dict[str, str]]:
    """Return the texts of one culture's answers in a draw, each as the item and what the event keeps of it.

    Beside them what the set keeps of the draw. The item's id is the answer's code: a text that several systems gave is
    labelled once. Raises UsageError for a folder without a draw and for answers of several cultures.
    """
    place = Path(folder)
    if not (place / DRAW).is_file():
        raise UsageError(f"{place} holds no draw.", hint="Name the folder that kapwa label sample wrote.")
    made = read_draw(place)
    if made.asked.criteria:
        message = f"{place} asks for several criteria of each answer, and the studio for one."
        raise UsageError(message, hint="Let people fill in the sheets of the draw.")
    answers = made.key.unique("answer", maintain_order=True)
    for column, values in where.items():
        if column not in answers.columns:
            raise UsageError(f"Answers have no {column!r}.", hint=nearest(column, answers.columns))
        answers = answers.filter(pl.col(column).is_in([values] if isinstance(values, str) else list(values)))
    cultures = sorted(answers["culture"].unique())
    if len(cultures) != 1:
        known = ", ".join(sorted(made.key["culture"].unique()))
        message = f"The draw has answers of {len(cultures) or 'no'} such cultures; people label those of one."
        raise UsageError(message, hint=f"Choose one of {known}, such as --where culture={made.key['culture'][0]}")
    asked = _asked(place)
    language = answers["language"][0]
    question = made.asked.in_language(language)
    about = {"draw": made.id, "rubric": made.rubric, "criterion": made.asked.criterion, "asked": question}
    rows = [
        _drawable(row, asked, about, place, _how_to_judge(made.asked, language))
        for row in answers.iter_rows(named=True)
    ]
    return rows, {"label": made.id, "folder": place.name, "signature": made.rubric}


def _asked(place: Path) -> dict[str, tuple[str, str]]:
    """The question of each answer's code, and its English, as they stand on the sheets."""
    return {
        row.cells.get("answer", ""): (row.cells.get("question", ""), row.cells.get("question_en", ""))
        for path in sheet_files(place, "verdicts")
        for row in read_sheet(path)
    }


def _how_to_judge(asked: LabelQuestion, language: str) -> list[list[str]]:
    """The rubric's instruction as what is shown above a text; what a right answer is, the desk's help says already."""
    text = asked.instruction_in(language)
    if not text or asked.instructions == "audit":
        return []
    return [["instruction", text, "en" if text == asked.instruction["en"] else language]]


def _drawable(
    row: Row, asked: Mapping[str, tuple[str, str]], about: Mapping[str, str], place: Path, above: list[list[str]]
) -> tuple[Item, JsonObject]:
    if row["answer"] not in asked:
        raise DataError(
            f"no sheet has the answer {row['answer']}.", path=place, hint="Keep the sheets beside the draw."
        )
    question, english = asked[row["answer"]]
    language = row["language"]
    names = {"suite": "", "category": "", "topic": "", "variant": row["variant"], "cluster": row["cluster"]}
    item = Item(row["answer"], culture=row["culture"], language=language, fields={"prompt": question}, **names)
    drawable = drawn_item(item, [row["text"]])
    drawable["item"] |= about
    shown = [["question", question, language], *([["question_en", english, "en"]] if english else [])]
    drawable["shown"] = [*above, *shown]
    return item, drawable


def label_columns(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the columns of a table of labels, as ``kapwa label apply`` reads it."""
    return (*_BEFORE, *dict.fromkeys(row["criterion"] for row in rows), *_AFTER)


def label_of(item: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """Return what a row of labels says of a judgement; who could not tell "cannot assess"."""
    return {"answer": item["id"], item["criterion"]: values.get(item["criterion"]) or CANNOT}


def label_block(rows: Sequence[Row]) -> PageSection:
    """Return what people said so far as a block of a report; the scores that it corrects need the runs."""
    about, values = ("item_id", "cluster", "variant", "answer", "rater"), {"yes": 1.0, "no": 0.0}
    # An answer's code is one of its draw.
    lines = [[row["draw"], *(row[name] for name in about[1:])] for row in rows]
    labels = pl.DataFrame(lines, schema=about, orient="row").with_columns(
        pl.Series("value", [values.get(row[row["criterion"]]) for row in rows], pl.Float64), culture=pl.lit("")
    )
    n, yes, raters = labels["value"].count(), int(labels["value"].sum()), labels["rater"].n_unique()
    answers = labels.drop_nulls("value").select("item_id", "answer", "cluster").n_unique()
    sentences = [f"{raters} people gave {n} labels of {answers} answers: {yes} yes, {n - yes} no."]
    if cannot := len(labels) - n:
        sentences.append(f"{cannot} times somebody could not assess an answer, which counts neither as yes nor as no.")
    frame, whose = agreement_by_culture(labels, 1), {"": rows[0]["culture"]}
    tables = [agreement_table("audit-agreement", "Agreement between people", frame, whose)] if frame.height else []
    notes = [
        "What the labels tell of all answers, and of their scores: kapwa label apply RUN --labels DRAW --labels TABLE"
    ]
    criteria = list(dict.fromkeys((row["rubric"], row["asked"]) for row in rows))
    return PageSection(sentences=sentences, tables=tables, criteria=criteria, notes=notes)
