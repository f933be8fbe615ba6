"""The released responses of Bhatt and Diaz (2024): one line for each prompt, its samples in the columns after it.

Columns, without names in the files that the released scripts write (``corpus_collection/query_vllm.py`` and
``create_prompts.py`` of shaily99/eecc): two marks, template, topic, concept, granularity, identity, prompt, then one
column for each sample. A line break in an answer was written ``~| ``, a tab as a blank, so that a line is a record.
Cells with quotation marks are enclosed in quotation marks. Files have names such as
``story_responses_1000_tokens_gemma_2B_instruct_temp_0.3.tsv``.

An empty cell is an answer that never came: the scripts write one where the server sent fewer samples than requested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.analysis.corpus.rows import COLUMNS, DEFAULT_TASK, CorpusName, SourceOptions, batches
from kapwa.errors import DataError
from kapwa.files import text_lines
from kapwa.tables import MAX_CELL, refuse_nul

_NAMES = ("template", "topic", "concept", "granularity", "identity", "prompt")
_MAY_LACK = ("template", "granularity")
_FILE = re.compile(r"(?P<task>[a-z]+)_responses.*?_\d+_tokens_(?P<model>.+?)_temp_(?P<temperature>\d+(?:\.\d+)?)")
# The folders with answers in a copy of the hub's data set; other folders have tables of prompts.
RESPONSES = "responses"
_TASKS = {"story": "eecc/stories", "stories": "eecc/stories", "qa": "eecc/qa"}
_TYPES = {"temperature": pl.Float64, "sample": pl.Int64, "row": pl.Int64}


def released_tables(path: Path, options: SourceOptions) -> Iterator[pl.DataFrame]:
    """Yield the answers of one file as tables with :data:`kapwa.analysis.corpus.rows.COLUMNS`."""
    schema = {name: _TYPES.get(name, pl.String) for name in COLUMNS}
    for batch in batches(chain.from_iterable(_answers(path, options))):
        yield pl.DataFrame(batch, schema=schema, orient="row")


def _answers(path: Path, options: SourceOptions) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the answers of each line."""
    columns = {name: number for number, name in enumerate(_NAMES, start=2)}
    for number, line in text_lines(path):
        refuse_nul(line, path, number)
        cells = _cells(line)
        if number == 1 and _is_header(cells):
            columns = _columns_of([cell.strip() for cell in cells], path)
            continue
        if cells == [""]:
            continue
        first = max(columns.values()) + 1
        if len(cells) <= first:
            message = f"has {len(cells)} columns; the released layout has {first} before the first answer."
            hint = "Was the line cut off, or does an answer contain line breaks?"
            raise DataError(message, path=path, row=number, hint=hint)
        words = {name: cells[columns[name]].strip() if name in columns else "" for name in _NAMES}
        for column in ("topic", "concept", "identity"):
            if not words[column]:
                raise DataError("is empty.", path=path, row=number, column=column)
        if max(map(len, cells)) > MAX_CELL:
            raise DataError(f"has a cell of over {MAX_CELL} characters.", path=path, row=number)
        key = (*_name(path, options, words["granularity"], words["template"]), words["topic"], words["concept"])
        texts = [text.replace("~| ", "\n") or None for text in cells[first:]]
        yield [(*key, words["identity"], sample, text, number) for sample, text in enumerate(texts)]


def _columns_of(header: Sequence[str], path: Path) -> dict[str, int]:
    """Return the index of each column in a header; the template and the kind of identity are optional."""
    missing = [name for name in _NAMES if name not in header and name not in _MAY_LACK]
    if missing:
        hint = f"Needed: {', '.join(name for name in _NAMES if name not in _MAY_LACK)}."
        raise DataError(f"column {missing[0]!r} is missing.", path=path, row=1, hint=hint)
    return {name: header.index(name) for name in _NAMES if name in header}


def _name(path: Path, options: SourceOptions, granularity: str, template: str) -> CorpusName:
    named = _FILE.search(path.stem)
    return CorpusName(
        task=(named and _TASKS.get(named["task"])) or _task_of_folder(path) or options.task or DEFAULT_TASK,
        model=named["model"] if named else options.label or path.stem,
        temperature=float(named["temperature"]) if named else None,
        run="",
        variant=template,
        language="",
        attribute=options.attribute or ("nationality" if granularity in ("country", "") else granularity),
    )


def _task_of_folder(path: Path) -> str | None:
    """The task of a file in a folder such as "stories/responses", as on the hub."""
    return _TASKS.get(path.parent.parent.name) if path.parent.name == RESPONSES else None


def looks_released(path: Path) -> bool:
    """Whether a file's first line has the released layout."""
    for _, line in text_lines(path):
        cells = _cells(line)
        # The prompt names the topic and the identity: no other table has that in these columns.
        topic, identity, prompt = (cells[i] if len(cells) > 8 else "" for i in (4, 6, 7))
        return _is_header(cells) or bool(topic and topic in prompt and identity in prompt)
    return False


def _is_header(cells: Sequence[str]) -> bool:
    return "prompt" in cells and "identity" in cells and "text" not in cells


def _cells(line: str) -> list[str]:
    return [_unquoted(cell) for cell in line.rstrip("\r\n").split("\t")]


def _unquoted(cell: str) -> str:
    """Remove the quotation marks that pandas put around a cell, but not those of a cell that merely begins with one."""
    if len(cell) >= 2 and cell[0] == cell[-1] == '"':
        inner = cell[1:-1].replace('""', "\0")
        if '"' not in inner:
            return inner.replace("\0", '"')
    return cell
