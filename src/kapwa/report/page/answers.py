"""Single questions and what the models answered, those that most models missed first, for readers to search."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from kapwa.exchange.base import expected
from kapwa.records import MEDIA_TYPES, UNANSWERED
from kapwa.report.tables.scores import OUTCOMES
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import UNDESCRIBED, clean, count, culture_name, decimal, label_text, pack
from kapwa.runs.media import stored_media
from kapwa.suites.items import CASE_SCHEMA
from kapwa.value_types import Cells, JsonObject

MOST = 1000  # questions of a task that a page holds for its browser, unless the user asks for more
ROOM = 3_000_000  # characters that the browsers of such a page take together
MEDIA_ROOM = 200_000  # bytes of pictures and recordings there; others are named alone
LONGEST = 12_000  # characters of one text there: more than any answer that a person reads
LOST = ("unparsed", "refused", "empty", *UNANSWERED)
CHOSEN_BY = ("culture", "language", "variant", "category", "topic")
_KEYS = ["item_id", "variant", "culture"]
_TEXTS = ("prompt", "prompt_gloss", "expected", "expected_gloss")


_SAID = {"item_id": pl.String, "variant": pl.String, "sample": pl.Int64, "text": pl.String, "thought": pl.String}


class Browser(NamedTuple):
    """The questions that the page holds for its browser of answers, packed, and what to say of how many they are."""

    data: str
    size_words: str


def answer_table(view: TaskView) -> pl.DataFrame:
    """Return every answer of every run with what was asked and expected, the questions most models missed first.

    Outcomes are those of the first headline metric that a run has. ``margin``: how clearly the question was answered
    right (above 0), measured by ``metric``; ``got``: what was preferred, or read in what was said (``text``). They are
    null where a run does not tell. Of questions that as many models missed the lowest mean margin comes first.
    """
    cases_of, answers_of, frames = dict(view.table("cases")), dict(view.table("answers")), []
    for index, run in enumerate(view.runs):
        metrics = set(run.scores["metric"])
        metric = next((name for name in view.headline if name in metrics), view.main_metric)
        frame = run.scores.filter(pl.col("metric") == metric).select("item_id", *CHOSEN_BY, "sample", "outcome")
        cases = cases_of.get(index, pl.DataFrame(schema=CASE_SCHEMA))
        measured = [name for name in view.headline if name in set(cases["metric"])] or cases["metric"].to_list()
        cases = cases.filter(pl.col("metric").is_in(measured[:1])).select(*CASE_SCHEMA)
        has_texts = index in cases_of or index in answers_of
        if has_texts and {*_KEYS, "prompt"} <= set(
            run.items.columns
        ):  # of unanswered questions, and of other tools' logs
            rest = run.items.join(cases, on=_KEYS, how="anti").to_dicts()
            wanted = [one if isinstance(one := expected(row), str) else "; ".join(one) for row in rest]
            with_expected = [{**row, "expected": text} for row, text in zip(rest, wanted, strict=True)]
            columns = {name: CASE_SCHEMA[name] for name in (*_KEYS, "prompt", "expected")}
            cases = pl.concat([cases, pl.DataFrame(with_expected, schema=columns)], how="diagonal")
        if "messages" in run.items.columns:  # the question after its conversation
            cases = cases.drop("prompt").join(run.items.select(*_KEYS, "prompt"), on=_KEYS, how="left")
        frame = frame.join(cases, on=_KEYS, how="left", maintain_order="left")
        verdicts = pl.DataFrame(schema=_SAID)
        if (answers := answers_of.get(index)) is not None:
            lacking = {"sample": pl.lit(0), "thought": pl.lit(None, pl.String)}
            verdicts = answers.select(n if n in answers.columns else lacking[n].alias(n) for n in verdicts.columns)
        frame = frame.join(verdicts, on=verdicts.columns[:3], how="left", maintain_order="left")
        frames.append(frame.with_columns(pl.lit(index).alias("run")))
    table = pl.concat(frames)
    missed = -pl.col("run").filter(pl.col("margin") <= 0).n_unique().cast(pl.Int64)  # most first
    ranked = table.group_by(_KEYS).agg(missed=missed, mean=pl.col("margin").mean())
    ranked = ranked.sort("missed", "mean", *_KEYS, nulls_last=True).select(*_KEYS, pl.row_index("rank"))
    return table.join(ranked, on=_KEYS).sort("rank", "run", "sample")


def browser(view: TaskView, table: pl.DataFrame, most: int | None = MOST, room: int = ROOM) -> Browser | None:
    """Pack questions with every answer for the page's script; None where the runs keep no answers.

    ``table``: :func:`answer_table`. ``most``: how many questions, with what takes ``room`` characters; None for all.
    Questions with an answer that could not be judged come first (up to half of the places), the others by a hash of
    their ids: every report of the same data holds the same of them.
    """
    if most == 0 or table.select(pl.coalesce("text", "got").is_null().all()).item():
        return None
    items = table.group_by("rank", "item_id").agg(lost=pl.col("outcome").is_in(LOST).any())
    drawn = [hashlib.blake2b(name.encode()).digest() for name in items["item_id"]]
    items = items.with_columns(drawn=pl.Series(drawn)).sort("drawn", "rank")
    total, lost, first = items.height, int(items["lost"].sum()), pl.int_range(pl.len()).over("lost")
    n_shown = total if most is None else min(most, total)
    while True:
        turn = pl.when(~pl.col("lost")).then(1).when(first < -(-n_shown // 2)).then(0).otherwise(2)
        shown = items.sort(turn, maintain_order=True).head(n_shown)
        data = pack(_coded(view, table.join(shown, on="rank", how="semi", maintain_order="left")))
        if most is None or len(data) <= room or n_shown == 1:
            break
        n_shown = max(1, int(n_shown * room / len(data) * 0.95))
    named, there = count(total, *view.noun), int(shown["lost"].sum())
    if n_shown == total:
        return Browser(data, f"{'All ' if total > 1 else ''}{named} with every answer.")
    some = f"{'all' if there == lost else f'{there:,} of the'} {lost:,} with an answer that could not be judged"
    descriptions = ([some] if lost else []) + (
        ["a fixed sample" + " of the others" * bool(lost)] if there < n_shown else []
    )
    return Browser(data, f"{n_shown:,} of {named} are in this page: {', and '.join(descriptions)}.")


def _coded(view: TaskView, table: pl.DataFrame) -> JsonObject:
    """The data for the script: names once, then a row for each question with a row for each answer."""
    names = {one: list(dict.fromkeys(value or "" for value in table[one])) for one in CHOSEN_BY}
    index_of = {one: {name: k for k, name in enumerate(values)} for one, values in names.items()}
    outcomes, alone = list(OUTCOMES), not table["sample"].max()
    shown, by_item = _media(view, table)
    questions: dict[int, list[Any]] = {}
    for row in table.iter_rows(named=True):
        names_of_texts = (*_TEXTS, "text", "thought", "got", "got_gloss")
        texts = {name: clean(row[name] or "").strip()[:LONGEST] for name in names_of_texts}
        if row["rank"] not in questions:
            row_codes = [clean(row["item_id"]), *(index_of[one][row[one] or ""] for one in CHOSEN_BY)]
            files = by_item.get((row["item_id"], row["variant"], row["culture"]), [])
            questions[row["rank"]] = [*row_codes, *(texts[name] for name in _TEXTS), files, []]
        same = row["text"] is None or row["text"] == row["got"]
        # Of several answers it is not known which one was read so.
        read = texts["got"] if alone and not same else ""
        response = texts["got"] if row["text"] is None else texts["text"]
        margin = view.metrics.get(row["metric"] or "", UNDESCRIBED).margin and alone and row["margin"]
        measured = decimal(row["margin"], 3, plus=True) if margin else ""
        gloss = texts["got_gloss"] if same else ""
        about = (row["run"], outcomes.index(row["outcome"]), row["sample"])
        answer = [*about, response, gloss, read, measured, texts["thought"]]
        questions[row["rank"]][-1].append(answer)
    labels = {
        one: [culture_name(name) if one == "culture" else label_text(name) for name in names[one]] for one in names
    }
    facts = {"models": view.labels, "outcomes": OUTCOMES, "media": shown}
    return {**facts, **labels, "questions": list(questions.values())}


def _media(view: TaskView, table: pl.DataFrame) -> tuple[list[list[str]], dict[tuple[str, str, str], list[int]]]:
    """The pictures and recordings that fit into the page: type, words for it, licence and content; by item, which."""
    shown: list[list[str]] = []
    index_of: dict[str, int] = {}
    by_item: dict[tuple[str, str, str], list[int]] = {}
    room = MEDIA_ROOM
    for run in view.runs:
        if not {"media", "messages"} <= set(run.items.columns):
            continue
        items = run.items.join(table, on=_KEYS, how="semi", maintain_order="left")
        for row in items.select(*_KEYS, "media", "messages").iter_rows(named=True):
            files = by_item.setdefault((row["item_id"], row["variant"], row["culture"]), [])
            for file in _named_files(row["messages"], row["media"]):
                sha256 = str(file.get("sha256"))
                content = None if sha256 in index_of else stored_media(run.path, str(file.get("path")), sha256)
                if content is not None and len(content) <= room:
                    room -= len(content)
                    index_of[sha256] = len(shown)
                    words = [clean(str(file.get(name) or "")) for name in ("alt", "licence")]
                    kind = MEDIA_TYPES[Path(str(file["path"])).suffix.lower()]
                    shown.append([kind, *words, base64.b64encode(content).decode()])
                if sha256 in index_of and index_of[sha256] not in files:
                    files.append(index_of[sha256])
    return shown, by_item


def _named_files(*cells: Any) -> Iterator[Cells]:
    """The files that cells of items name, in turns or alone; nothing in a cell that Kapwa did not write."""
    for cell in cells:
        with suppress(ValueError, TypeError, AttributeError):
            for entry in json.loads(cell or "[]"):
                yield from (file for file in entry.get("media", [entry]) if isinstance(file, dict))
