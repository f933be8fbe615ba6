"""The same questions asked again: several answers drawn to each prompt, and each question in several wordings.

Both are part of each request, and so of its key, and options of the task, and so of the signature. A wording is a text
with ``{prompt}`` where the task's own prompt goes; each is a variant of its own, called "<variant>+<id>", beside the
task's own wording. Samples are numbered; estimates average them within an item before anything else.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import polars as pl

from kapwa.datasets.rows import CellProblem, Filled, PlainName, RowModel, rows_of_file
from kapwa.errors import DataError, UsageError, check_whole
from kapwa.records import Answer, Capability, Floor, Item, Message, Request
from kapwa.suites.base import AskItems, FindFloors, JudgeAnswers, Judged, Step, TabulateItems, Task
from kapwa.tables import NO_ROWS

SLOT = "{prompt}"
TEMPERATURE = 1.0


class WordingRow(RowModel):
    """One wording: ``text`` has ``{prompt}`` where the task's own prompt goes."""

    unique: ClassVar[tuple[str, ...]] = ("id",)

    id: PlainName
    text: Filled

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield what makes the wording impossible to ask."""
        if SLOT not in self.text:
            yield CellProblem("text", f"has no place for the question: {SLOT}.", f"For example: Please answer. {SLOT}")


def read_wordings(path: str | Path) -> dict[str, str]:
    """Read a table (CSV, TSV, JSON lines, XLSX, YAML) of wordings, columns ``id`` and ``text``; raise DataError."""
    rows = rows_of_file(path, WordingRow, what="wordings")
    if not rows:
        raise DataError("holds no wordings.", path=path, hint=NO_ROWS)
    return {row.id: row.text for row in rows}


def sampling(
    task: Task, *, samples: int | None = None, temperature: float | None = None, seed: int = 0
) -> Samples | None:
    """Return the step that draws ``samples`` answers to each prompt of ``task``; None where one greedy answer is meant.

    ``temperature``: that answers are drawn at; None is 1 for several samples, else 0. ``seed`` begins the draws. Raises
    UsageError for numbers out of range, and for samples of a task that scores given texts.
    """
    if samples is None and temperature is None:
        return None
    samples = 1 if samples is None else samples
    check_whole("samples", samples)
    heat = temperature if temperature is not None else TEMPERATURE if samples > 1 else 0.0
    check_draws(samples, heat)
    if samples == 1 and heat == 0:
        return None
    if "generate" not in task.needs:
        raise UsageError(
            f"{task.name} asks how likely given texts are, which is the same every time: nothing is drawn.",
            hint="Leave --samples and --temperature out, or ask a task in which the model writes.",
        )
    return Samples(samples, float(heat), seed)


def check_draws(samples: int, temperature: float) -> None:
    """Raise UsageError for a temperature out of range, and for several samples that would all be the same."""
    if not isinstance(temperature, int | float) or not 0 <= temperature <= 10:
        raise UsageError(f"temperature is {temperature!r}; it must be a number from 0 to 10.")
    if temperature == 0 and samples > 1:
        raise UsageError(
            f"{samples} samples at temperature 0 would be {samples} copies of one text.",
            hint="Use --samples 1, or a temperature above 0.",
        )


@dataclass(frozen=True, slots=True)
class Samples(Step):
    """Several answers to each prompt, drawn one after another, so that a server is asked for all of them at once."""

    name: ClassVar[str] = "samples"
    title: ClassVar[str] = "--samples"

    samples: int
    temperature: float
    seed: int

    def applied_to(self, task: Task) -> Task:
        """Return ``task`` with several answers asked of each prompt."""
        several: frozenset[Capability] = frozenset({"n_samples"} if self.samples > 1 else ())
        options = {**task.options, **asdict(self)}
        return replace(
            task, needs=task.needs | several, options=options, requests=partial(self.requests, task.requests)
        )

    def requests(self, ask: AskItems, items: Sequence[Item]) -> Iterator[Request]:
        """Yield each request for a text as often as answers are drawn."""
        for request in ask(items):
            if request.kind != "generate":
                yield request
                continue
            params = replace(request.params, temperature=self.temperature, seed=self.seed)
            for sample in range(self.samples):
                yield replace(request, params=params, sample=sample)


@dataclass(frozen=True, slots=True)
class Wordings(Step):
    """Every question in the task's own wording, then in others: ``texts`` by id, each with a place for the prompt."""

    name: ClassVar[str] = "wordings"
    title: ClassVar[str] = "--wordings"

    texts: Mapping[str, str]

    @property
    def _texts(self) -> Mapping[str, str]:
        return {"": SLOT, **self.texts}

    def applied_to(self, task: Task) -> Task:
        """Return ``task`` asked in every wording, its own first."""
        return replace(
            task,
            selected=[
                replace(item, variant=_variant_name(item.variant, name))
                for name in self._texts
                for item in task.selected
            ],
            options={**task.options, "wordings": json.dumps(self.texts, ensure_ascii=False)},
            requests=partial(self.requests, task.requests),
            score=partial(self.score, task.score),
            floors=partial(self.floors, task.floors),
            item_table=partial(self.item_table, task.item_table),
        )

    def requests(self, ask: AskItems, items: Sequence[Item]) -> Iterator[Request]:
        """Yield the task's requests in the wording of each item."""
        for item in items:
            base, wording = _base_and_wording(item.variant)
            text = self._texts[wording]
            for request in ask([replace(item, variant=base)]):
                messages = tuple(
                    Message("user", text.replace(SLOT, message.content)) if message.role == "user" else message
                    for message in request.messages
                )
                yield replace(request, variant=item.variant, messages=messages)

    def score(self, judge: JudgeAnswers, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge wording by wording, each as the task judges its own."""
        items_of = {name: _plain_items(items, name) for name in self._texts}
        judged = [(name, judge(plain, _plain_answers(answers, name))) for name, plain in items_of.items() if plain]
        tables: dict[str, list[pl.DataFrame]] = {}
        for name, tables_of_wording in judged:
            for key, table in tables_of_wording.tables.items():
                if "variant" in table.columns or key not in tables:
                    tables.setdefault(key, []).append(_renamed(table, name))
        return Judged(
            pl.concat([_renamed(tables_of_wording.scores, name) for name, tables_of_wording in judged]),
            {key: pl.concat(frames) for key, frames in tables.items()},
            list(dict.fromkeys(note for _, tables_of_wording in judged for note in tables_of_wording.notes)),
            list(dict.fromkeys(warning for _, tables_of_wording in judged for warning in tables_of_wording.warnings)),
        )

    def floors(self, find: FindFloors, items: Sequence[Item]) -> list[Floor]:
        """Return the task's floors for every wording: they do not depend on it."""
        return [
            floor._replace(variant=_variant_name(floor.variant, name))
            for name in self._texts
            for floor in find(_plain_items(items, name))
        ]

    def item_table(self, tabulate: TabulateItems, items: Sequence[Item]) -> pl.DataFrame:
        """Return the items of every wording; prompts are shown as they are asked."""
        tables = []
        for name, text in self._texts.items():
            table = _renamed(tabulate(_plain_items(items, name)), name)
            if name and "prompt" in table.columns:
                before, _, after = text.partition(SLOT)
                table = table.with_columns(prompt=pl.lit(before) + pl.col("prompt") + pl.lit(after))
            tables.append(table)
        return pl.concat(tables)


def _plain_items(items: Sequence[Item], wording: str) -> list[Item]:
    """Return the items of one wording, as the task knows them."""
    plain = [(item, *_base_and_wording(item.variant)) for item in items]
    return [replace(item, variant=base) for item, base, name in plain if name == wording]


def _plain_answers(answers: Collection[Answer], wording: str) -> list[Answer]:
    """Return the answers in one wording, as if the task had been asked in its own."""
    plain = ((request, response, *_base_and_wording(request.variant)) for request, response in answers)
    return [
        Answer(replace(request, variant=base), response) for request, response, base, name in plain if name == wording
    ]


def _variant_name(variant: str, wording: str) -> str:
    return f"{variant}+{wording}" if wording else variant


def _base_and_wording(variant: str) -> tuple[str, str]:
    base, _, wording = variant.partition("+")
    return base, wording


def _renamed(table: pl.DataFrame, wording: str) -> pl.DataFrame:
    if not wording or "variant" not in table.columns:
        return table
    return table.with_columns(variant=pl.col("variant") + pl.lit(f"+{wording}"))
