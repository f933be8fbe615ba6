"""The same questions asked again: several answers drawn to each prompt, and each question in several wordings.

Both are part of each request, and so of its key, and options of the task, and so of the signature. A wording is a text
with ``{prompt}`` where the task's own prompt goes; each is a variant of its own, called "<variant>+<id>", beside the
task's own wording. Samples are numbered; estimates average them within an item before anything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, cast

import polars as pl

from kapwa.datasets.rows import CellProblem, Filled, Row, read_rows
from kapwa.datasets.tables import read_records
from kapwa.errors import UsageError, check_whole, raise_first
from kapwa.records import Answer, Capability, Floor, Item, Message, Request
from kapwa.suites.base import Judged, Task

SLOT = "{prompt}"
TEMPERATURE = 1.0
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class WordingRow(Row):
    """One wording: ``text`` has ``{prompt}`` where the task's own prompt goes."""

    unique: ClassVar[tuple[str, ...]] = ("id",)

    id: Filled
    text: Filled

    def contradictions(self) -> Iterator[CellProblem]:
        """Yield what makes the wording impossible to ask."""
        if not _ID.fullmatch(self.id):
            yield CellProblem("id", f"{self.id!r} is no plain name.", "Use letters, digits, '-', '_' and '.'.")
        if SLOT not in self.text:
            yield CellProblem("text", f"has no place for the question: {SLOT}.", f"For example: Please answer. {SLOT}")


def read_wordings(path: str | Path) -> dict[str, str]:
    """Read a table (CSV, TSV, JSON lines, XLSX, YAML) of wordings, columns ``id`` and ``text``; raise DataError."""
    found = read_rows(read_records(Path(path)), WordingRow, what="wordings")
    raise_first(found.problems)
    return {row.id: row.text for row in found.rows}


def varied(
    task: Task,
    *,
    wordings: str | Path | None = None,
    samples: int | None = None,
    temperature: float | None = None,
    seed: int = 0,
) -> Task:
    """Return ``task`` asked in its own wording and in those of a file, with ``samples`` answers to each prompt.

    ``temperature``: that answers are drawn at; None is 1 for several samples, else the task's own. ``seed`` begins the
    draws. Raises UsageError for numbers out of range, and for samples of a task that scores given texts.
    """
    drawn: dict[str, Any] = {}
    if samples is not None or temperature is not None:
        samples = 1 if samples is None else samples
        check_whole("samples", samples)
        heat = temperature if temperature is not None else TEMPERATURE if samples > 1 else 0.0
        check_draws(samples, heat)
        if "generate" not in task.needs and (samples > 1 or heat > 0):
            raise UsageError(
                f"{task.name} asks how likely given texts are, which is the same every time: nothing is drawn.",
                hint="Leave --samples and --temperature out, or ask a task in which the model writes.",
            )
        drawn = {} if samples == 1 and heat == 0 else {"samples": samples, "temperature": float(heat), "seed": seed}
    texts = {} if wordings is None else read_wordings(wordings)
    return cast("Task", _Varied(task, texts, drawn)) if texts or drawn else task


def check_draws(samples: int, temperature: float) -> None:
    """Raise UsageError for a temperature out of range, and for several samples that would all be the same."""
    if not isinstance(temperature, int | float) or not 0 <= temperature <= 10:
        raise UsageError(f"temperature is {temperature!r}; it must be a number from 0 to 10.")
    if temperature == 0 and samples > 1:
        raise UsageError(
            f"{samples} samples at temperature 0 would be {samples} copies of one text.",
            hint="Use --samples 1, or a temperature above 0.",
        )


def draws(request: Request, samples: int, temperature: float, seed: int) -> Iterator[Request]:
    """Yield ``request`` as often as answers are drawn, one after another: a server is asked for all of them at once."""
    params = replace(request.params, temperature=temperature, seed=seed)
    for sample in range(samples):
        yield replace(request, params=params, sample=sample)


@dataclass(frozen=True)
class _Answers(Collection[Answer]):
    """The answers in one wording, as if the task had been asked in its own."""

    every: Collection[Answer]
    wording: str

    def __iter__(self) -> Iterator[Answer]:
        for request, response in self.every:
            base, wording = _parts(request.variant)
            if wording == self.wording:
                yield Answer(replace(request, variant=base), response)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, answer: object) -> bool:
        return any(one == answer for one in self)


class _Varied:
    """A task whose questions are asked in several wordings and answered several times."""

    def __init__(self, task: Task, wordings: Mapping[str, str], drawn: Mapping[str, Any]) -> None:
        self._task, self._wordings, self._drawn = task, {"": SLOT, **wordings}, drawn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    @property
    def needs(self) -> frozenset[Capability]:
        """What a model must be able to do."""
        return self._task.needs | (frozenset({"n_samples"}) if self._drawn.get("samples", 1) > 1 else frozenset())

    @property
    def options(self) -> Mapping[str, Any]:
        """The task's options, the wordings beside its own, and how answers are drawn."""
        added = {name: text for name, text in self._wordings.items() if name}
        wordings = {"wordings": json.dumps(added, ensure_ascii=False)} if added else {}
        return {**self._task.options, **wordings, **self._drawn}

    def items(self) -> list[Item]:
        """Return the items of each wording, the task's own first."""
        items = self._task.items()
        return [replace(item, variant=_named(item.variant, name)) for name in self._wordings for item in items]

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        """Yield the task's requests in the wording of each item, as often as answers are drawn."""
        for item in items:
            base, wording = _parts(item.variant)
            text = self._wordings[wording]
            for request in self._task.requests([replace(item, variant=base)]):
                messages = tuple(
                    Message("user", text.replace(SLOT, one.content)) if one.role == "user" else one
                    for one in request.messages
                )
                asked = replace(request, variant=item.variant, messages=messages)
                yield from draws(asked, **self._drawn) if self._drawn and asked.kind == "generate" else (asked,)

    def score(self, items: Sequence[Item], answers: Collection[Answer]) -> Judged:
        """Judge wording by wording, each as the task judges its own."""
        judged = [
            (name, self._task.score(own, _Answers(answers, name)))
            for name in self._wordings
            if (own := self._own(items, name))
        ]
        tables: dict[str, list[pl.DataFrame]] = {}
        for name, one in judged:
            for key, table in one.tables.items():
                if "variant" in table.columns or key not in tables:
                    tables.setdefault(key, []).append(_renamed(table, name))
        return Judged(
            pl.concat([_renamed(one.scores, name) for name, one in judged]),
            {key: pl.concat(parts) for key, parts in tables.items()},
            list(dict.fromkeys(note for _, one in judged for note in one.notes)),
        )

    def floors(self, items: Sequence[Item]) -> list[Floor]:
        """Return the task's floors for every wording: they do not depend on it."""
        return [
            floor._replace(variant=_named(floor.variant, name))
            for name in self._wordings
            for floor in self._task.floors(self._own(items, name))
        ]

    def item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        """Return the items of every wording; prompts are shown as they are asked."""
        tables = []
        for name, text in self._wordings.items():
            table = _renamed(self._task.item_table(self._own(items, name)), name)
            if name and "prompt" in table.columns:
                before, _, after = text.partition(SLOT)
                table = table.with_columns(prompt=pl.lit(before) + pl.col("prompt") + pl.lit(after))
            tables.append(table)
        return pl.concat(tables)

    @staticmethod
    def _own(items: Sequence[Item], wording: str) -> list[Item]:
        """The items of one wording, as the task knows them."""
        parts = [(item, *_parts(item.variant)) for item in items]
        return [replace(item, variant=base) for item, base, name in parts if name == wording]


def _named(variant: str, wording: str) -> str:
    return f"{variant}+{wording}" if wording else variant


def _parts(variant: str) -> tuple[str, str]:
    base, _, wording = variant.partition("+")
    return base, wording


def _renamed(table: pl.DataFrame, wording: str) -> pl.DataFrame:
    if not wording or "variant" not in table.columns:
        return table
    return table.with_columns(variant=pl.col("variant") + pl.lit(f"+{wording}"))
