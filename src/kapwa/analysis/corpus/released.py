"""The released responses of Bhatt and Diaz (2024): one line a prompt, its samples in the columns after it.

Columns, without names in the files that the released scripts write (``corpus_collection/query_vllm.py`` and
``create_prompts.py`` of shaily99/eecc): two marks, template, topic, concept, granularity, identity, prompt, then one
column for each sample. A line break in an answer was written ``~| ``, a tab as a blank, so that a line is a record.
Cells with quotation marks stand in quotation marks. Files are named as
``story_responses_1000_tokens_gemma_2B_instruct_temp_0.3.tsv``.

An empty cell is an answer that never came: the scripts write one where the server sent fewer samples than asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kapwa.analysis.corpus.files import MAX_LINE, LineFile
from kapwa.analysis.corpus.rows import Asked, ConceptKey, CorpusName, Found
from kapwa.errors import DataError
from kapwa.files import MAX_CELL

_NAMES = ("template", "topic", "concept", "granularity", "identity", "prompt")
_BREAK = "~| "
_FILE = re.compile(r"(?P<task>[a-z]+)_responses.*?_\d+_tokens_(?P<model>.+?)_temp_(?P<temperature>\d+(?:\.\d+)?)")
_TASKS = {"story": "eecc/stories", "stories": "eecc/stories", "qa": "eecc/qa"}
_UNNAMED_ATTRIBUTES = {"country": "nationality"}


class _Layout(NamedTuple):
    """Where the columns are: template, topic, concept, granularity, identity, prompt, and the first answer."""

    template: int
    topic: int
    concept: int
    granularity: int
    identity: int
    prompt: int
    first: int


_UNNAMED = _Layout(2, 3, 4, 5, 6, 7, 8)


class ReleasedFile:
    """One file of the released layout."""

    def __init__(self, path: Path, asked: Asked) -> None:
        self.path = path
        self._asked, self._file, self._layout = asked, LineFile(path), _UNNAMED

    def answers(self) -> Iterator[Found]:
        """Yield every sample of every prompt; an empty cell is an answer that never came."""
        names: dict[tuple[str, str], CorpusName] = {}
        for number, start, raw in self._file.lines():
            cells = _cells(self._file.decode(raw, number))
            if number == 1 and _is_header(cells):
                self._layout = _named_layout(cells, self.path)
                continue
            if cells == [""]:
                continue
            layout = self._layout
            if len(cells) <= layout.first:
                raise DataError(
                    f"has {len(cells)} columns; the released layout has {layout.first} before the first answer.",
                    path=self.path,
                    row=number,
                    hint="Was the line cut off, or do line breaks of an answer stand in the file?",
                )
            key, identity = self._place(cells, number)
            kind = (cells[layout.granularity].strip(), cells[layout.template].strip())
            name = names.get(kind)
            if name is None:
                name = names[kind] = self._name(*kind)
            for sample, text in enumerate(cells[layout.first :]):
                if len(text) > MAX_CELL:
                    raise DataError(f"answer {sample} is {len(text)} characters long.", path=self.path, row=number)
                yield Found(name, key, identity, sample, _restored(text) if text else None, start, number)

    def _place(self, cells: Sequence[str], number: int) -> tuple[ConceptKey, str]:
        found = []
        for column in ("topic", "concept", "identity"):
            word = cells[getattr(self._layout, column)].strip()
            if not word:
                raise DataError("is empty.", path=self.path, row=number, column=column)
            found.append(word)
        return ConceptKey(found[0], found[1]), found[2]

    def _name(self, granularity: str, template: str) -> CorpusName:
        named = _FILE.search(self.path.stem)
        return CorpusName(
            task=(named and _TASKS.get(named["task"])) or self._asked.task or "texts",
            model=named["model"] if named else self._asked.label or self.path.stem,
            temperature=float(named["temperature"]) if named else None,
            variant=template,
            attribute=self._asked.attribute or _UNNAMED_ATTRIBUTES.get(granularity, granularity or "nationality"),
        )

    def texts(self, places: Sequence[int], samples: Sequence[int]) -> list[str]:
        """Read the lines again; samples of one line are read together."""
        lines: dict[int, list[str]] = {}
        with self._file.reopened() as file:
            for place in sorted(set(places)):
                file.seek(place)
                lines[place] = _cells(file.readline(MAX_LINE).decode())
        first = self._layout.first
        return [_restored(lines[place][first + sample]) for place, sample in zip(places, samples, strict=True)]


def looks_released(path: Path) -> bool:
    """Whether a file's first line is of the released layout."""
    file = LineFile(path)
    for number, _, raw in file.lines():
        cells = _cells(file.decode(raw, number))
        if _is_header(cells):
            return True
        at = _UNNAMED
        # The prompt names the concept and the identity: no other table has that in these places.
        return len(cells) > at.first and bool(
            cells[at.concept] and cells[at.concept] in cells[at.prompt] and cells[at.identity] in cells[at.prompt]
        )
    return False


def _is_header(cells: Sequence[str]) -> bool:
    return "prompt" in cells and "identity" in cells and "text" not in cells


def _named_layout(cells: Sequence[str], path: Path) -> _Layout:
    names = [cell.strip() for cell in cells]
    for name in _NAMES:
        if name not in names:
            raise DataError(f"column {name!r} is missing.", path=path, row=1, hint=f"Needed: {', '.join(_NAMES)}.")
    first = max(names.index(name) for name in _NAMES) + 1
    return _Layout(**{name: names.index(name) for name in _NAMES}, first=first)


def _cells(line: str) -> list[str]:
    return [_unquoted(cell) for cell in line.rstrip("\r\n").split("\t")]


def _unquoted(cell: str) -> str:
    """Take away the quotation marks that pandas put around a cell; leave a cell that merely begins with one."""
    if len(cell) >= 2 and cell[0] == cell[-1] == '"':
        inner = cell[1:-1].replace('""', "\0")
        if '"' not in inner:
            return inner.replace("\0", '"')
    return cell


def _restored(text: str) -> str:
    return text.replace(_BREAK, "\n")
