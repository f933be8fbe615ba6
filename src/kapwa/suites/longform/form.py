"""The form of long answers: a question, and the criteria by which answers to it are judged, each with a weight.

It is the shape of HealthBench (Arora et al. 2025), ResearchRubrics (2025) and others, whose criteria stand in the row
of their question with points that may be negative.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from kapwa.datasets.conversations import Conversed
from kapwa.datasets.rows import (
    ENGLISH,
    LOCAL,
    NAMES,
    CellProblem,
    Culture,
    Filled,
    FilledTexts,
    Language,
    NotedRow,
    Text,
    Texts,
)
from kapwa.records import ITEM_COLUMNS, Item
from kapwa.suites.longform.variants import VARIANT
from kapwa.value_types import Schema

if TYPE_CHECKING:
    import polars as pl

SUITE, NO_TOPIC = "longform", "none"
# The numbers that words for a weight mean; a criterion without a weight counts 1.
WEIGHTS = {"must": 2.0, "should": 1.0, "should not": -1.0, "must not": -2.0}
_MOST = 1000.0
_WRITE = f"Write a number other than 0, negative for what an answer should not have, or one of {', '.join(WEIGHTS)}."


class LongQuestion(Conversed, NotedRow):
    """One question with the criteria of its answers; lists may be texts separated by ';'."""

    unique: ClassVar[tuple[str, ...]] = ("id",)
    remedies: ClassVar[Mapping[str, str]] = {"criteria": "Write at least one criterion; several are separated by ';'."}

    id: Filled = Field(description="The question's own id; it stays a text, so zeros before it are kept.")
    question: Annotated[Filled, LOCAL] = Field(description="What is asked, word for word.")
    criteria: Annotated[FilledTexts, NAMES] = Field(description="What an answer should have, or should not, each.")
    weights: Texts = Field((), description="One for each criterion: points, or must, should, should not, must not.")
    topic: Text = Field("", description="What it is about.")
    culture: Culture = Field("", description="Whose question it is, where the card does not say.")
    language: Language = Field("", description="In which language (BCP-47), where the card does not say.")
    question_en: Annotated[Text, ENGLISH] = Field("", description="In English, for readers of a report and for judges.")
    criteria_en: Annotated[Texts, ENGLISH] = Field((), description="In English, one for each criterion.")

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield weights and glosses that do not fit the criteria."""
        n = len(self.criteria)
        for name, texts in (("weights", self.weights), ("criteria_en", self.criteria_en)):
            if texts and len(texts) != n:
                yield CellProblem(name, f"has {len(texts)} entries for {n} criteria.", "Write one for each, or none.")
        twice = next((text for text in self.criteria if self.criteria.count(text) > 1), None)
        if twice:
            yield CellProblem("criteria", f"{twice!r} appears twice.", "Keep it once.")
        numbers = [number_of(weight) for weight in self.weights]
        wrong = next((text for text, number in zip(self.weights, numbers, strict=True) if not number), None)
        if wrong is not None:
            yield CellProblem("weights", f"{wrong!r} is no weight.", _WRITE)
        elif numbers and max(numbers) <= 0:
            message = "are all negative, so there is nothing that an answer could gain."
            yield CellProblem("weights", message, "Give what an answer should have a positive weight.")


def number_of(weight: str) -> float:
    """Return the number that a weight means; 0 if it is no weight."""
    word = " ".join(weight.replace("_", " ").split()).casefold()
    try:
        number = WEIGHTS[word] if word in WEIGHTS else float(word)
    except ValueError:
        return 0.0
    return number if abs(number) <= _MOST else 0.0


def item_of_question(row: LongQuestion) -> Item:
    """Return a row as an item, which is a cluster of its own."""
    fields = {
        "prompt": row.question,
        "gloss": row.question_en,
        "criteria": row.criteria,
        "criteria_en": row.criteria_en or row.criteria,
        "weights": tuple(map(number_of, row.weights)) or (1.0,) * len(row.criteria),
        "messages": row.messages,
        "media": row.media,
    }
    topic = row.topic or NO_TOPIC
    return Item(
        id=row.id,
        suite=SUITE,
        culture=row.culture,
        language=row.language,
        category=topic,
        topic=topic,
        variant=VARIANT,
        cluster=row.id,
        fields=fields,
    )


def question_table(items: Sequence[Item]) -> pl.DataFrame:
    """Return one row an item: the question, its criteria in the item's language and in English, and their weights."""
    import polars as pl

    from kapwa.suites.items import item_columns

    schema: Schema = dict.fromkeys((*ITEM_COLUMNS, "prompt", "gloss"), pl.String)
    schema |= {"criteria": pl.List(pl.String), "criteria_en": pl.List(pl.String), "weights": pl.List(pl.Float64)}
    names = ("prompt", "gloss", "criteria", "criteria_en", "weights")
    rows = [{**item_columns(item), **{name: item.fields[name] for name in names}} for item in items]
    return pl.DataFrame(rows, schema=schema)
