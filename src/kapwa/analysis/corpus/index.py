"""The answers of all sources, sorted by concept into Parquet files, and what is known of each concept.

Each answer is looked at once. It is written to a temporary folder as it comes; then the concepts are sorted in groups
of some ten megabytes, so that memory does not grow with the texts. A concept's texts are read when they are needed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from kapwa.analysis.corpus.rows import ConceptKey, CorpusName
from kapwa.analysis.corpus.sources import Source
from kapwa.errors import DataError, RunError

_PREFIX = "kapwa-texts-"
# Characters held in memory while they are gathered, and while they are sorted.
_HELD = 1 << 25
# Rows that are read together: about a concept.
_ROW_GROUP = 1_000
_SCHEMA = {
    "concept": pl.Int32,
    "identity": pl.Int32,
    "sample": pl.Int32,
    "source": pl.Int32,
    "row": pl.Int64,
    "text": pl.String,
}


@dataclass(slots=True)
class Concept:
    """What is known of one concept. ``counts``: texts of each identity, by its number.

    ``failed`` counts answers without a text; ``empty`` texts without a character. ``stored``: the Parquet file that
    holds the texts, the first row, and how many rows. ``hash``: sum of those of the texts and what they are of.
    """

    number: int
    characters: int = 0
    failed: int = 0
    empty: int = 0
    hash: int = 0
    asked: dict[int, int] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    sources: set[int] = field(default_factory=set)
    stored: tuple[Path, int, int] = (Path(), 0, 0)


class Index:
    """The answers of all sources, read in any order.

    ``concepts``: by corpus and key, in order of first appearance. ``identities``: all, by number; ``tasks``: all that
    the sources name, ``task`` or not. Raises DataError naming file, row and column, where a source has no rows, and
    where two answers claim one place; RunError where there is no room for the texts.
    """

    def __init__(self, sources: Sequence[Source], task: str | None) -> None:
        self.sources = sources
        self.concepts: dict[CorpusName, dict[ConceptKey, Concept]] = {}
        self.identities: dict[str, int] = {}
        self.tasks: dict[str, None] = {}
        self._keys: list[tuple[CorpusName, ConceptKey]] = []
        try:
            self._folder = _temporary_folder(self)
            self._gather(task)
            self._sort()
        except OSError as error:
            raise RunError(
                f"Texts cannot be laid out in {tempfile.gettempdir()}: {error.strerror or error}.",
                hint="They need as much free space as they have; name another folder in the variable TMPDIR.",
            ) from error

    def _gather(self, task: str | None) -> None:
        """Read all sources and write their texts as they come."""
        known: dict[tuple[object, ...], Concept] = {}
        held: list[tuple[int, int, int, int, int, str]] = []
        characters = parts = 0
        for number, source in enumerate(self.sources):
            rows = 0
            for table in source.tables:
                rows += table.height
                for *place, identity, sample, text, row in table.iter_rows():
                    concept = known.get(tuple(place))
                    if concept is None:
                        name, key = CorpusName(*place[:-2]), ConceptKey(*place[-2:])
                        self.tasks[name.task] = None
                        concept = Concept(len(self._keys))
                        concept = known[tuple(place)] = self.concepts.setdefault(name, {}).setdefault(key, concept)
                        self._keys.append((name, key))
                    if task is not None and place[0] != task:
                        continue
                    code = self.identities.setdefault(identity, len(self.identities))
                    if sample is None:
                        sample = concept.asked.get(code, 0)  # noqa: PLW2901 - the source numbers none
                        concept.asked[code] = sample + 1
                    if text is None:
                        concept.failed += 1
                        continue
                    concept.empty += not text
                    concept.characters += len(text)
                    concept.counts[code] = concept.counts.get(code, 0) + 1
                    concept.sources.add(number)
                    said = f"{place[-2]}\0{place[-1]}\0{identity}\0{sample}\0{text}".encode()
                    concept.hash += int.from_bytes(hashlib.blake2b(said, digest_size=16).digest(), "big")
                    held.append((concept.number, code, sample, number, row, text))
                    characters += len(text)
                if characters > _HELD:
                    _write(held, self._folder / f"part-{parts}.parquet")
                    held, characters, parts = [], 0, parts + 1
            if not rows:
                raise DataError("holds no rows.", path=source.path)
        if task is not None:
            self.concepts = {name: concepts for name, concepts in self.concepts.items() if name.task == task}
        _write(held, self._folder / f"part-{parts}.parquet")

    def _sort(self) -> None:
        """Write the texts again, sorted by concept, identity and sample."""
        order = {identity: rank for rank, identity in enumerate(sorted(self.identities))}
        ranks = pl.Series([order[identity] for identity in self.identities], dtype=pl.Int32)
        parts = pl.scan_parquet(self._folder / "part-*.parquet")
        found = [concept for concepts in self.concepts.values() for concept in concepts.values()]
        for place, group in enumerate(_groups(sorted(found, key=lambda concept: concept.number))):
            chosen = pl.col("concept").is_between(group[0].number, group[-1].number)
            table = parts.filter(chosen).collect(engine="streaming")
            table = table.with_columns(identity=ranks.gather(table["identity"]))
            table = table.sort("concept", "identity", "sample", "source", "row")
            self._check_once(table)
            path = self._folder / f"sorted-{place}.parquet"
            columns = ("identity", "sample", "text")
            table.select(columns).write_parquet(path, compression="lz4", row_group_size=_ROW_GROUP, statistics=False)
            first = 0
            for concept in group:
                texts = sum(concept.counts.values())
                concept.stored = (path, first, texts)
                first += texts
        for path in self._folder.glob("part-*.parquet"):
            path.unlink()

    def _check_once(self, table: pl.DataFrame) -> None:
        place = pl.col("concept", "identity", "sample")
        same = pl.all_horizontal(place == place.shift())
        places = table.select(same.arg_true()).to_series()
        if not len(places):
            return
        number, identity, sample, source, row, _ = table.row(places[0])
        *_, other, before, _ = table.row(places[0] - 1)
        key = self._keys[number][1]
        elsewhere = "" if other == source else f" of {self.sources[other].path}"
        raise DataError(
            f"answers {key.topic}/{key.concept}/{sorted(self.identities)[identity]}, sample {sample}, again; "
            f"row {before}{elsewhere} did so first.",
            path=self.sources[source].path,
            row=row,
            hint="Keep one of them, number repeated answers in a column 'sample' (0, 1, ...), or tell models apart in "
            "a column 'model', 'temperature' or 'run'.",
        )

    def read(self, concept: Concept) -> pl.DataFrame:
        """Return ``identity`` (place in the alphabet of all), ``sample`` and ``text`` of a concept, sorted by these."""
        path, first, texts = concept.stored
        if not path.is_file():
            raise RunError(f"{path} was taken away while it was in use.", hint="Run again.")
        return pl.scan_parquet(path).slice(first, texts).collect()


def _groups(concepts: Sequence[Concept]) -> Iterator[list[Concept]]:
    """Yield concepts in groups of not too many characters."""
    group: list[Concept] = []
    characters = 0
    for concept in concepts:
        if group and characters + concept.characters > _HELD:
            yield group
            group, characters = [], 0
        group.append(concept)
        characters += concept.characters
    if group:
        yield group


def _write(rows: list[tuple[int, int, int, int, int, str]], path: Path) -> None:
    pl.DataFrame(rows, schema=_SCHEMA, orient="row").write_parquet(path, compression="lz4")


def _temporary_folder(owner: object) -> Path:
    """Make a folder that goes with ``owner``, and take away those that killed processes left: nobody locks them."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or in use
            # A folder is a moment older than its lock.
            if time.time() - left.stat().st_mtime > 60:
                _remove(left, _locked(left))
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    weakref.finalize(owner, _remove, folder, _locked(folder))
    return folder


def _remove(folder: Path, lock: int) -> None:
    os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)


def _locked(folder: Path) -> int:
    """Lock ``folder`` until the returned handle is closed, however the process ends; OSError where another has it."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    if sys.platform != "win32":  # no such lock there: what a killed process leaves stays
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise
    return handle
