"""Tables of Kalahi's paper that show texts: answers to one situation at three levels, and how likely responses are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from kapwa.report import wording
from kapwa.report.tables.table import NONE, Cell, Column, Table, frame_of
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import clean, isolate
from kapwa.value_types import Row

_LEVELS_NOTE = (
    "Bold: the prompt. First answers, whole; a dash where there is none. A level without a prompt of the same id has "
    "that of its situation. The data hold no translations of answers."
)
_SITUATION, _SYSTEM, _RESPONSE = "situation", "system", "response"
Key = tuple[str, str]  # a culture, and the id of an item or of the situation that it varies
Prompts = dict[str, dict[Key, Row]]  # by variant, the items
_RESPONSES_NOTE = (
    "Natural logarithms: of the response's own tokens divided by its UTF-8 bytes, which MC1 and MC2 compare; under it "
    "their sum. Bold: the most likely of the best and the irrelevant responses, which MC1 takes."
)


class LevelRow(NamedTuple):
    """One system's first answer to a situation at one level of detail; ``kind``: or the situation's own prompt."""

    culture: str | None
    item_id: str | None
    situation: str | None
    variant: str | None
    asked_id: str | None
    prompt: str | None
    best: str | None
    system: str | None
    response: str | None
    kind: str | None
    level_index: int | None  # of the level, the fullest first


@dataclass(frozen=True, slots=True)
class ResponseRow:
    """How likely one system finds one response to a situation; logarithms are natural ones."""

    culture: str | None
    item_id: str | None
    variant: str | None
    index: int | None
    system: str | None
    prompt: str | None
    role: str | None
    response: str | None
    logprob_sum: float | None
    n_bytes: int | None
    logprob_per_byte: float | None
    logprob_per_byte_reference: float | None


def levels_table(view: TaskView, levels: Mapping[str, str], caption: str) -> Table:
    """The answers of each system to a situation given in less and less detail, side by side (table 15).

    ``levels``: the head of each variant, the fullest first. A row of the frame is one system's first answer at one
    level. Where a level has no item of the same id, it has that of the same situation: the released files leave
    *Personal situation* out of what several prompts share.
    """
    shown = frame_of(LevelRow, _level_rows(view, tuple(levels)))

    def head(row: Row) -> Cell:
        if row["kind"] == _SITUATION:
            return Cell(isolate(clean(row["item_id"])), f"Best response: {isolate(clean(row['best']))}", strong=True)
        return Cell(isolate(clean(row["system"])))

    def text(row: Row) -> Cell:
        words = row["prompt"] if row["kind"] == _SITUATION else row["response"]
        return NONE if words is None else Cell(isolate(clean(words)), strong=row["kind"] == _SITUATION)

    return Table(
        key="kalahi-15",
        caption=caption,
        frame=shown.filter(kind=_SYSTEM).drop("kind", "level_index"),
        columns=[Column("Situation or system", head), Column("", text, spread=True)],
        note=_LEVELS_NOTE,
        shown=shown,
        by=["culture", "item_id", "kind", "system"],
        across=("level_index", dict(enumerate(levels.values()))),
    )


def _level_rows(view: TaskView, levels: tuple[str, ...]) -> Iterator[LevelRow]:
    """Of each situation a row with its prompt a level, then one a system and level."""
    by_id, by_situation = _prompts(view, "item_id"), _prompts(view, "cluster")
    answers = [_first_answers(view, run) for run in range(len(view.runs))]
    for (culture, item_id), item in by_id[levels[0]].items():
        items = [
            by_id[level].get((culture, item_id)) or by_situation[level].get((culture, item["cluster"]))
            for level in levels
        ]
        for kind, systems in ((_SITUATION, [""]), (_SYSTEM, view.labels)):
            for run, system in enumerate(systems):
                for level_index, (level, one) in enumerate(zip(levels, items, strict=True)):
                    response = None
                    if one is not None and kind == _SYSTEM:
                        response = answers[run].get((culture, one["item_id"], level))
                    yield LevelRow(
                        culture=culture,
                        item_id=item_id,
                        situation=item["cluster"],
                        variant=level,
                        asked_id=None if one is None else one["item_id"],
                        prompt=None if one is None else one["prompt"],
                        best=item["best"],
                        system=system,
                        response=response,
                        kind=kind,
                        level_index=level_index,
                    )


def _prompts(view: TaskView, named_by: str) -> Prompts:
    """The items of every run by variant, then by culture and the column ``named_by``; the first counts."""
    prompts: Prompts = {variant: {} for variant in view.variants}
    for run in view.runs:
        columns = ("culture", "variant", "item_id", "cluster", "prompt", "best")
        for row in run.items.select(columns).iter_rows(named=True):
            prompts[row["variant"]].setdefault((row["culture"], row[named_by]), row)
    return prompts


def _first_answers(view: TaskView, run: int) -> dict[tuple[str, str, str], str | None]:
    """The first answer of a run to each item: by culture, item and variant."""
    table = dict(view.table("answers")).get(run)
    if table is None:
        return {}
    first = table.filter(sample=0) if "sample" in table.columns else table
    return {(culture, item, variant): text for culture, item, variant, text in first.select(_ANSWER).iter_rows()}


_ANSWER = ("culture", "item_id", "variant", "text")


def responses_table(view: TaskView, variant: str, caption: str) -> Table:
    """How likely each response to each situation is to each system: what MC1 and MC2 are made of (appendix F).

    A row of the frame is one response and one system: natural logarithms, summed over the response's own tokens, and
    divided by its UTF-8 bytes; ``…_reference`` as in the released code, with the template's closing tokens.
    """
    rows = frame_of(ResponseRow, _response_rows(view, variant))
    # In each item the response that MC1 would choose: the likeliest of the best and the irrelevant ones.
    rival = pl.when(pl.col("role") != "relevant").then("logprob_per_byte")
    chosen = pl.col("logprob_per_byte") == rival.max().over("system", "culture", "item_id")
    prompts = rows.unique(["culture", "item_id"], keep="first", maintain_order=True)
    prompts = prompts.select("culture", "item_id", "index", "prompt").with_columns(index=pl.lit(-1, pl.Int64))
    shown = pl.concat([rows.with_columns(chosen=chosen & (pl.col("role") != "relevant")), prompts], how="diagonal")
    order = {one: index for index, one in enumerate(prompts.select("culture", "item_id").iter_rows())}
    turn = [order[one] for one in shown.select("culture", "item_id").iter_rows()]
    shown = shown.with_columns(turn=pl.Series(turn, dtype=pl.Int64)).sort("turn", "index", maintain_order=True)

    def head(row: Row) -> Cell:
        if row["role"] is None:
            return Cell(isolate(clean(row["item_id"])), isolate(clean(row["prompt"])), strong=True)
        return Cell(isolate(clean(row["response"])), row["role"])

    def likely(row: Row) -> Cell:
        value = row["logprob_per_byte"]
        if not wording.known(value):
            return NONE
        return Cell(
            wording.decimal(value, 3), wording.decimal(row["logprob_sum"], 1), number=True, strong=bool(row["chosen"])
        )

    return Table(
        key="kalahi-f",
        caption=caption,
        frame=rows,
        columns=[Column("Situation or response", head), Column("", likely, spread=True, none=Cell("", number=True))],
        note=_RESPONSES_NOTE,
        shown=shown,
        by=["culture", "item_id", "index"],
        across=("system", {label: label for label in view.labels}),
    )


def _response_rows(view: TaskView, variant: str) -> Iterator[ResponseRow]:
    """A row a response and system, situation by situation."""
    prompts = _prompts(view, "item_id").get(variant, {})
    for run, table in view.table("continuations"):
        for row in table.filter(variant=variant).iter_rows(named=True):
            released = row["logprob_sum_reference"]
            yield ResponseRow(
                culture=row["culture"],
                item_id=row["item_id"],
                variant=row["variant"],
                index=row["index"],
                system=view.labels[run],
                prompt=prompts[row["culture"], row["item_id"]]["prompt"],
                role=row["group"],
                response=row["text"],
                logprob_sum=row["logprob_sum"],
                n_bytes=row["n_bytes"],
                logprob_per_byte=row["logprob_sum"] / row["n_bytes"],
                logprob_per_byte_reference=released and released / row["n_bytes_reference"],
            )
