"""The schema of a run folder: its manifest ``run.json``, its tables, and the sessions that its journal lists.

What writes and reads a run, what checks it and the reference of the run folder all go by these types.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal, NamedTuple, NotRequired

import polars as pl
from pydantic import BaseModel, Field, Json, StringConstraints, TypeAdapter
from typing_extensions import TypedDict

from kapwa.models.gate import gate, text_of
from kapwa.records import Response
from kapwa.runs.result_folder import FolderRecord
from kapwa.stats.schemas import COMPARISON_SCHEMA, ESTIMATE_SCHEMA, FLOOR_COLUMNS, STATE_COUNTS
from kapwa.stats.states import with_derived_states
from kapwa.suites.base import MetricInfo
from kapwa.suites.items import CASE_SCHEMA, SCORE_SCHEMA
from kapwa.value_types import Cells, JsonObject, Schema

# --- the manifest ------------------------------------------------------------------------------------------

FORMAT = 1
NAME = "run.json"
AGAIN = "Run again with the same command that began it."
RUN = FolderRecord("run", NAME, FORMAT, f"{AGAIN} The answers are in journal.sqlite.")
TABLE_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")  # it becomes a file name


class ModelSection(TypedDict):
    """Who answered."""

    id: str
    revision: str | None
    fingerprint: JsonObject
    description: NotRequired[JsonObject]


class DataSection(TypedDict):
    """What was asked."""

    name: str
    digest: str
    card: JsonObject
    illustrative: bool


class CountsSection(TypedDict):
    """How much; ``unique``: requests that differ from each other."""

    items: int
    requests: int
    unique: int
    answered: int
    failed: int


class SelectionSection(TypedDict):
    """Which items: the variants in their order, how many items of each, and how these were chosen."""

    variants: Annotated[list[str], Field(min_length=1)]
    items: dict[str, int]
    digests: NotRequired[dict[str, str]]
    limit: NotRequired[int | None]
    draw_seed: NotRequired[int | None]
    where: NotRequired[dict[str, list[str]]]


class OptionsSection(TypedDict):
    """Options of tasks that other tools know, too; each task has more."""

    max_new_tokens: NotRequired[int | None]
    temperature: NotRequired[float | None]
    samples: NotRequired[int | None]


# Which tool asked, of a run that was imported: "from" is no name that a class could have a field of.
ImportedSection = TypedDict("ImportedSection", {"from": str, "version": NotRequired[str | None]})


class Manifest(BaseModel):
    """What every reader of ``run.json`` relies on; more may stand there."""

    format: Literal[1]
    task: str
    suite: str
    kapwa: str
    signature: str
    signatures: dict[str, str]
    machine: JsonObject
    failures: list[JsonObject]
    options: OptionsSection
    selection: SelectionSection
    counts: CountsSection
    versions: dict[str, str]
    headline: list[str]
    groups: list[str]
    tables: list[Annotated[str, StringConstraints(pattern=f"^{TABLE_NAME.pattern}$")]]
    metrics: Annotated[dict[str, MetricInfo], Field(min_length=1)]
    model: ModelSection
    data: DataSection
    # An import knows less.
    notes: list[str] = []
    label: str | None = None
    trained_on: Literal["yes", "no"] | None = None
    seed: int | None = None
    sessions: int | None = None
    started: str | None = None
    finished: str | None = None
    seconds: float | None = None
    repeatable: str | None = None
    imported: ImportedSection | None = None


# --- the tables --------------------------------------------------------------------------------------------

FLOOR_SCHEMA: Schema = {
    **dict.fromkeys(("metric", "variant", "name"), pl.String),
    "value": pl.Float64,
    **dict.fromkeys(("kind", "note"), pl.String),
    **dict.fromkeys(("low", "high", "difference", "p_value"), pl.Float64),
    **dict.fromkeys(("relative", "relative_low", "relative_high", "difference_low", "difference_high"), pl.Float64),
    **dict.fromkeys(("p_worst", "worst_low", "worst_high"), pl.Float64),
}
# What people score on each item, where that is known: the part of a floor's table that no test keeps.
CEILINGS = "ceilings"
CEILING_SCHEMA: Schema = {
    **dict.fromkeys(("item_id", "variant", "metric", "name", "paired_with"), pl.String),
    "value": pl.Float64,
}
LOOK_SCHEMA: Schema = {
    "look": pl.Int64,
    **dict.fromkeys(("culture", "language"), pl.String),
    **dict.fromkeys(("items", "items_of", "missing"), pl.Int64),
    **dict.fromkeys(("value", "low", "high", "control_saves"), pl.Float64),
    **dict.fromkeys(("difference", "difference_low", "difference_high"), pl.Float64),
    "decision": pl.String,
}
_ITEM: Schema = {"item_id": pl.String, "variant": pl.String}
# What the tables of suites say of an item has one type in all of them.
OF_ITEMS: Schema = {**CASE_SCHEMA, **SCORE_SCHEMA, "text": pl.String}


class TableSchema(NamedTuple):
    """A table of a run: what it holds, and the columns that readers rely on; ``always``: whether every run has it."""

    about: str
    columns: Schema
    always: bool = False


TABLES: Mapping[str, TableSchema] = {
    "scores": TableSchema("One row per item and metric (``kapwa.records.SCORE_COLUMNS``).", SCORE_SCHEMA, True),
    "estimates": TableSchema(
        "One row per culture, variant, group, stratum and metric, with interval, counts and signature; then the means "
        "over cultures, which have no culture.",
        {**ESTIMATE_SCHEMA, **FLOOR_COLUMNS, "signature": pl.String},
        True,
    ),
    "floors": TableSchema(
        "What chance, tricks and people score, with an interval where that is an estimate; the ``difference`` of the "
        "model's score, with ``p_value`` item by item (``p_worst``: with missing answers counted against it), and its "
        "share (``relative``), with interval.",
        FLOOR_SCHEMA,
        True,
    ),
    "comparisons": TableSchema(
        "Paired tests between the variants of this run; empty when there is one variant.", COMPARISON_SCHEMA, True
    ),
    "items": TableSchema(
        "The items for readers of a report: prompt, answers, gloss; one row per item and variant.", _ITEM, True
    ),
    CEILINGS: TableSchema("What people score on each item, where that is known.", CEILING_SCHEMA),
    "continuations": TableSchema("One row per scored continuation (multiple-choice tasks).", _ITEM),
    "answers": TableSchema("One row per generated answer (open tasks).", {**_ITEM, "text": pl.String}),
    "looks": TableSchema(
        "Of a run with --until, one row per look and culture, then the mean over cultures: what the score on all of "
        "the run's items was known to be, and against an earlier run.",
        LOOK_SCHEMA,
    ),
    "cases": TableSchema("What was expected and given of each item, for the report's cases.", CASE_SCHEMA),
}
_READ = ("text", "thought", "state")
# Schema that runs of before do not have.
LATER: Mapping[str, Sequence[str]] = {
    "scores": ("state",),
    "estimates": (
        *("filtered", "unfinished", "not asked", "cultures", "asked", "missing", *STATE_COUNTS),
        *("least", "most", "least_low", "most_high", *FLOOR_COLUMNS),
    ),
    "floors": ("p_worst", "worst_low", "worst_high"),
    "comparisons": (
        *("missing_a", "missing_b", "least_low", "least_high", "most_low", "most_high"),
        *("p_worst", "p_worst_holm"),
    ),
}


# Schema that runs of before have, and nothing reads.
_GONE: Mapping[str, Sequence[str]] = {"comparisons": ("boot_low", "boot_high")}


def with_later_columns(name: str, table: pl.DataFrame) -> pl.DataFrame:
    """Return a table of a run with the columns that an older run lacks, its texts after the gate.

    States follow from outcomes; of texts, from themselves.
    """
    if name == "scores":
        return with_derived_states(table)
    if name == "answers" and "state" not in table.columns:
        read = [None if text is None else gate(Response("", text=text)) for text in table["text"]]
        if [answer and answer.text for answer in read] == table["text"].to_list():
            return table
        columns = {column: [answer and getattr(answer, column) for answer in read] for column in _READ}
        return table.with_columns(pl.Series(column, cells, dtype=pl.String) for column, cells in columns.items())
    if name == "cases":
        return table.with_columns(pl.Series("got", [text and text_of(text) for text in table["got"]], dtype=pl.String))
    lacking = [column for column in LATER.get(name, ()) if column not in table.columns]
    return table.drop(_GONE.get(name, ()), strict=False).with_columns(
        pl.lit(None, TABLES[name].columns[column]).alias(column) for column in lacking
    )


# What every run has; a suite's own tables need other names.
RUN_TABLES = tuple(name for name, table in TABLES.items() if table.always)


# --- the sessions of a journal -----------------------------------------------------------------------------


class ModelRecord(TypedDict):
    """Of which model a cache keeps answers."""

    id: str
    revision: str
    fingerprint: JsonObject


class SessionRecord(TypedDict, total=False):
    """Where answers came from: what computed them, the cache they were taken from, of which model a cache has them."""

    environment: JsonObject
    cache: dict[str, str]
    model: ModelRecord


# Up to the year 9999: what a date can say.
Seconds = Annotated[float, Field(ge=0, le=253_402_300_799, allow_inf_nan=False)]


class Session(NamedTuple):
    """A process that committed answers of one origin, the ``record`` (empty where that is not known).

    ``started``, ``ended``: Unix seconds. ``answers``: those of it that are in the store, ``bytes``: their size.
    ``damaged``: the row was not as any Kapwa writes it; then its record is empty, and its times are the file's.
    """

    number: int
    started: Seconds
    ended: Seconds
    record: Json[SessionRecord]
    answers: int
    bytes: int
    damaged: bool = False


# Reads a row: its columns, then the counts; raises pydantic's ValidationError for one that no Kapwa wrote.
SESSION = TypeAdapter(Session)


def environments(sessions: Iterable[Session]) -> list[Cells]:
    """Return what the answers of ``sessions`` were computed with; {}: unknown; those taken from caches are left out."""
    records = [session.record for session in sessions if session.answers and "cache" not in session.record]
    return [dict(record.get("environment", {})) for record in records]


def differences(environments: Sequence[Mapping[str, object]]) -> str | None:
    """Say what is not the same in all of ``environments``, such as "torch (2.7; 2.8)"; None where they are equal.

    Several kinds of processors within one environment ("A; B") are a difference too.
    """
    differing = []
    for name in sorted({name for environment in environments for name in environment}):
        packages = [str(environment.get(name, "unknown")).split("; ") for environment in environments]
        values = dict.fromkeys(itertools.chain.from_iterable(packages))
        if len(values) > 1:
            differing.append(f"{name} ({'; '.join(values)})")
    return ", ".join(differing) or None
