"""The form of surveys: one row a question and culture, with how many people chose each option, and the prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field

from kapwa.datasets.rows import (
    LOCAL,
    CellProblem,
    Culture,
    Filled,
    FilledTexts,
    Language,
    NotedRow,
    PlainName,
    RowModel,
    Text,
    Texts,
    whole,
)
from kapwa.languages.same import equal_texts
from kapwa.suites.items import ALL_LETTERS

_PLAIN_NUMBER = "Write 1234 without a sign between the thousands. Weighted answers: write shares, and people."
_NUMBERS = {
    "counts": (re.compile(r"\d{1,9}(\.0)?"), "a whole number of people", _PLAIN_NUMBER),
    "shares": (
        re.compile(r"\d{1,9}(\.\d{1,20})?(e-\d{1,3})?"),
        "a share",
        "Write 0.25, with a point, or 25 (of 100) without '%'.",
    ),
}
_PLACE = re.compile(r"\{(question|options|culture)\}")


class Opinion(NotedRow):
    """How the people of one culture answered one question."""

    unique: ClassVar[tuple[str, ...]] = ("question_id", "culture")

    question_id: Filled = Field(description="The question's id, the same in every culture: intervals rest on it.")
    question: Annotated[Filled, LOCAL] = Field(description="The question, in the row's language.")
    options: Annotated[FilledTexts, LOCAL] = Field(description="2 to 20 options, in one order in every culture.")
    counts: Texts = Field((), description="How many people chose each option, in the order of the options.")
    shares: Texts = Field((), description="Which share of people chose each option, where counts are not known.")
    people: Annotated[int | None, whole(least=1)] = Field(None, description="How many people the shares are of.")
    culture: Culture = Field("", description="Whose answers they are, where the card does not say.")
    language: Language = Field("", description="In which language (BCP-47), where the card does not say.")
    topic: Text = Field("", description="What it is about, such as family.")

    @property
    def numbers(self) -> tuple[float, ...]:
        """Counts or shares, as they are written."""
        return tuple(map(float, self.counts or self.shares))

    @property
    def answered(self) -> int | None:
        """How many people answered; None where nobody says."""
        return sum(int(float(count)) for count in self.counts) if self.counts else self.people

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield options that are too few or the same, and numbers that are none or do not match them."""
        if not 2 <= len(self.options) <= len(ALL_LETTERS):
            message = f"has {len(self.options)} options, not 2 to {len(ALL_LETTERS)}."
            yield CellProblem("options", message, "Separate options with ';'.")
        if equal_texts(self.options) is not None:
            yield CellProblem("options", "names an option twice.", "Add their numbers up, or write them apart.")
        if bool(self.counts) == bool(self.shares):
            message = "is filled, and so is 'shares'." if self.counts else "is empty, and so is 'shares'."
            yield CellProblem("counts", message, "Write counts of people or, where nobody knows them, shares.")
            return
        name, texts = ("counts", self.counts) if self.counts else ("shares", self.shares)
        pattern, what, hint = _NUMBERS[name]
        odd = next((text for text in texts if not pattern.fullmatch(text)), None)
        if odd is not None:
            yield CellProblem(name, f"{odd[:40]!r} is not {what}.", hint)
        elif len(texts) != len(self.options):
            message = f"has {len(texts)} numbers for {len(self.options)} options."
            yield CellProblem(name, message, "Write one for each, separated by ';'; 0 where nobody chose it.")
        elif not sum(self.numbers):
            yield CellProblem(name, "says that nobody chose any option.", "Leave the row out.")
        elif self.people not in (None, self.answered):
            message = f"is {self.people}, but the counts add up to {self.answered}."
            yield CellProblem("people", message, "Leave it empty beside counts; of weighted answers write shares.")


class OpinionPrompt(RowModel):
    """How a question is put: texts with the places {question}, {options} and, to ask for a culture, {culture}."""

    unique: ClassVar[tuple[str, ...]] = ("id", "language")

    id: PlainName = Field(description="The variant's name, such as person.")
    text: Annotated[Filled, LOCAL] = Field(description="The prompt; it asks for the letter of one option.")
    stated: Annotated[Text, LOCAL] = Field("", description="The prompt that asks for percentages (--how stated).")
    language: Language = Field("und", description="Of questions in this language; empty: of those that have no other.")
    notes: Text = Field("", description="The writers' own; never asked or scored.")

    @property
    def names_culture(self) -> bool:
        """Whether the model is asked to answer as people of a culture."""
        return "{culture}" in self.text

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield texts without the question or its options."""
        for name in ("text", "stated"):
            missing = [marker for marker in ("{question}", "{options}") if marker not in getattr(self, name)]
            if getattr(self, name) and missing:
                yield CellProblem(name, f"has no {missing[0]}.", "Every prompt shows the question and its options.")

    def render(self, opinion: Opinion, *, stated: bool) -> str:
        """Return the prompt for one question and culture."""
        options = zip(ALL_LETTERS, opinion.options, strict=False)
        values = {
            "question": opinion.question,
            "options": "\n".join(f"{letter}. {option}" for letter, option in options),
            "culture": opinion.culture,
        }
        # One pass, so that a brace inside of a question is never taken for a place.
        return _PLACE.sub(lambda match: values[match[1]], self.stated if stated else self.text)
