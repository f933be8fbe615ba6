"""A datasheet of a run, a data pack or a set of responses: what is recorded, and what people are asked to add.

The questions are those of Gebru et al. (2021) in words of our own; ``questions.csv`` beside this module holds them.
An answer is only ever what a manifest, a card or a count says, with its source; everything else stays a marked
question.
"""

from __future__ import annotations

import csv
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from kapwa.analysis.corpus.sources import is_run
from kapwa.analysis.datasheet.facts import DatasetFacts, flat
from kapwa.analysis.datasheet.sources import pack_facts, responses_facts, run_facts
from kapwa.errors import UsageError
from kapwa.files import write_text
from kapwa.suites.folders.named import named_data

TO_ANSWER = "To be answered by people"
_SOURCE = "Gebru et al. (2021), Datasheets for Datasets, Communications of the ACM 64(12)"


class DatasheetQuestion(NamedTuple):
    """One question: ``ask`` is what people are asked to say where what is recorded does not settle it."""

    section: str
    id: str
    text: str
    ask: str


_TEXT = resources.files("kapwa.analysis.datasheet").joinpath("questions.csv").read_text(encoding="utf-8")
QUESTIONS: tuple[DatasheetQuestion, ...] = tuple(
    DatasheetQuestion(*row) for row in list(csv.reader(_TEXT.splitlines()))[1:]
)


def datasheet(path: str | Path, *, attribute: str | None = None) -> str:
    """Return the datasheet of ``path`` as Markdown: a run folder, a data pack of any suite, or responses.

    ``attribute``: the column of the perturbed attribute, for responses that have several. The same input gives the same
    text.
    Raises DataError and RunError for what cannot be read, UsageError for a name that means nothing.
    """
    return render(gather(Path(path), attribute))


def write_datasheet(
    path: str | Path, out: str | Path, *, attribute: str | None = None, overwrite: bool = False
) -> Path:
    """Write :func:`datasheet` to ``out`` and return it.

    Raises UsageError where ``out`` exists, for people may have written answers in it, unless ``overwrite``.
    """
    target = Path(out)
    if target.exists() and not overwrite:
        hint = "Name another file, or add --overwrite."
        raise UsageError(f"{target} exists, and people may have written answers in it.", hint=hint)
    write_text(target, datasheet(path, attribute=attribute))
    return target


def gather(path: Path, attribute: str | None = None) -> DatasetFacts:
    """Return what is recorded of ``path``, whatever kind of dataset it is, or of the data that it names."""
    path = path if path.exists() else named_data(path).path
    if is_run(path):
        return run_facts(path)
    return pack_facts(path) or responses_facts(path, attribute)


def render(facts: DatasetFacts) -> str:
    """Return the sheet: every question once, what is known of it, and what people are asked to add."""
    lines = [f"# Datasheet: {flat(facts.name)}", "", flat(facts.kind), ""]
    lines += [*(f"- {line}" for line in facts.about), ""]
    lines += [
        f"The questions follow {_SOURCE}. Kapwa read or counted the answers, and each names its source. What files do "
        f"not hold is marked **{TO_ANSWER}**: write the answer there, or write that there is none.",
        "",
    ]
    for section, questions in groupby(QUESTIONS, key=lambda question: question.section):
        lines += [f"## {section}", ""]
        for question in questions:
            lines += _answered(question, facts)
    return "\n".join(lines).rstrip() + "\n"


def _answered(question: DatasheetQuestion, facts: DatasetFacts) -> list[str]:
    lines = [f"### {question.text}", ""]
    for line in facts.lines.get(question.id, ()):
        if line.startswith("|"):  # a table needs an empty line on both sides
            lines += [line, ""] if not lines[-1] else ["", line, ""]
        else:
            lines.append(f"- {line}")
    if lines[-1]:
        lines.append("")
    if question.id not in facts.settled:
        lines += [f"> **{TO_ANSWER}:** {question.ask}", ""]
    return lines
