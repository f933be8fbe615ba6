"""Thinking in reports and comparisons: how often, how long, in which language, and its effect on scores."""

from __future__ import annotations

import polars as pl

from kapwa.report import wording
from kapwa.report.sentences import missing
from kapwa.report.tables.table import NONE, Cell, Column, Table
from kapwa.report.view.comparisons import language_facts
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import culture_name, isolate, label_text
from kapwa.runs.finished_run import Run
from kapwa.runs.thoughts import IDENTIFIED, NOT_TOLD, SCHEMA, TABLE
from kapwa.stats.families import is_clear, is_undecided
from kapwa.suites.base import MetricInfo
from kapwa.value_types import Row

MOST_TOLD = 8  # cultures in a sentence
_THOUGHTS_NOTE = (
    "Tokens as the server counts them. The language is that of most thoughts, identified in the first {identified} of "
    "a culture; “not told” where a provider hides them. Thoughts are never judged."
)


def thoughts_table(view: TaskView) -> Table | None:
    """A row a system and culture: share of answers with a thought, its length, its language; None without thoughts."""
    rows = [{"model": view.labels[run], **row} for run, table in view.table(TABLE) for row in table.to_dicts()]
    if not rows:
        return None
    frame = pl.DataFrame(rows, schema={"model": pl.String, **SCHEMA})
    columns = [
        Column("Culture", lambda row: Cell(culture_name(row["culture"]), f"asked in {_language(row['language'])}")),
        Column("Answers with a thought", _share),
        Column("Length of a thought", _length),
        Column("Thought in", _spoken),
    ]
    if len(view.runs) > 1:
        columns.insert(0, Column("System", lambda row: Cell(isolate(row["model"]))))
    if frame["loops"].sum():
        columns.append(Column("Loops", lambda row: Cell(f"{row['loops'] or 0:,}", number=True)))
    return Table(
        key=f"{view.slug}-thoughts",
        caption=f"What was thought before answers ({view.title})",
        frame=frame,
        columns=columns,
        note=_THOUGHTS_NOTE.format(identified=IDENTIFIED),
    )


def _language(tag: str) -> str:
    return language_facts(tag)[0]


def _share(row: Row) -> Cell:
    counted = f"{row['with_thought']:,} of {row['answers']:,}"
    return Cell(wording.amount(row["share"], wording.SHARE), counted, number=True)


def _length(row: Row) -> Cell:
    """In tokens, as the server counts them; else in characters."""
    lengths = [f"{row[unit]:,.0f} {unit}" for unit in ("tokens", "characters") if row[unit] is not None]
    return Cell(lengths[0], ", ".join(lengths[1:]), number=True) if lengths else NONE


def _spoken(row: Row) -> Cell:
    if not row["answers"] or not row["with_thought"]:
        return NONE
    if row["thought_in_share"] is None:
        return Cell(NOT_TOLD, muted=True)
    return Cell(
        _language(row["thought_in"]), f"{wording.amount(row['thought_in_share'], wording.SHARE, 0)} of thoughts"
    )


def thinking_sentence(a: Run, b: Run, compared: pl.DataFrame) -> str:
    """Say what thinking does to one model's first headline metric, culture by culture.

    ``compared``: ``kapwa.compare(a, b)``. "" where the two are not one model of which one run thinks and one does not.
    """
    thinks = [missing.thinks(run.manifest) for run in (a, b)]
    models = [(run.manifest["model"]["id"], run.manifest["model"].get("revision")) for run in (a, b)]
    if thinks[0] == thinks[1] or models[0] != models[1] or "culture" not in compared.columns:
        return ""
    metric = a.manifest["headline"][0]
    rows = compared.filter(pl.col("culture").is_not_null(), pl.col("n") > 0, metric=metric)
    rows = rows.filter(pl.col("variant") == rows["variant"].first()) if rows.height else rows
    known = [row for row in rows.to_dicts() if wording.known(row["difference"])]
    if not known:
        return ""
    info = a.metrics[metric]
    by_size = sorted(known, key=lambda row: (not is_clear(row), -abs(row["difference"])))
    effects = [_effect(row, info, turned=thinks[0]) for row in by_size[:MOST_TOLD]]
    more = len(by_size) - len(effects)
    effects += [f"{more} more in the table"] if more else []
    clear, still_open = sum(map(is_clear, known)), sum(map(is_undecided, known))
    verdict = f"more than noise in {wording.of_all(clear, len(known), 'culture')}"
    verdict += f", not decided in {still_open}, because answers are missing" if still_open else ""
    return f"What thinking does to {label_text(info.title or metric)}: {', '.join(effects)}; {verdict}."


def _effect(row: Row, info: MetricInfo, *, turned: bool) -> str:
    """The change in one culture with its interval; ``turned``: the first run is the one that thinks."""
    low, high = row["low"], row["high"]
    if turned and wording.known(low) and wording.known(high):
        low, high = -high, -low
    change = -row["difference"] if turned else row["difference"]
    words = f"{culture_name(row['culture'])} {wording.difference(change, info)}"
    between = wording.change_interval(low, high, info)
    return words if between == wording.NO_INTERVAL else f"{words} (95% interval {between})"
