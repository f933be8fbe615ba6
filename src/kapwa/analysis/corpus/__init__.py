"""A corpus: the texts of one model configuration on one task, read one concept at a time.

>>> for corpus in open_corpora(["answers.jsonl"]):
...     for key in corpus.concepts:
...         texts = corpus.texts(key)

Answers are written to a temporary folder while they are read; then the concepts are sorted in groups of some ten
megabytes, so that memory does not grow with the texts. A concept's texts are read when they are needed.
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
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kapwa.analysis.corpus.rows import ATTRIBUTES, ConceptKey, CorpusName, SourceOptions
from kapwa.analysis.corpus.sources import Source, text_sources
from kapwa.errors import DataError, RunError, UsageError, nearest
from kapwa.languages.same import same_text
from kapwa.runs.directory import brief_model

__all__ = ["ConceptKey", "ConceptTexts", "Corpus", "open_corpora"]

_PREFIX = "kapwa-texts-"
# Characters in memory while answers are collected, and while they are sorted.
_CHUNK = 1 << 25
_ROW_GROUP = 1_000  # rows that are read together: about a concept
_KEY_COLUMNS = (*CorpusName._fields, *ConceptKey._fields)


def count(number: int, noun: str) -> str:
    """Write a number of things: "1 text", "1,234 texts"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


@dataclass(frozen=True, slots=True)
class ConceptTexts:
    """The N texts of one concept, sorted by identity and sample.

    ``identities``: those with at least one text, sorted; ``groups`` (N,) int64 index them; ``samples`` (N,) int64 as
    the source numbers them. ``digest``: of topic, concept, identities, samples and texts (32 hex digits).
    ``order``: the position of each identity in the source, among these, from 0.
    """

    key: ConceptKey
    identities: tuple[str, ...]
    groups: NDArray[np.int64]
    samples: NDArray[np.int64]
    texts: tuple[str, ...]
    digest: str
    order: tuple[int, ...]


@dataclass(slots=True)
class StoredConcept:
    """What is known of a concept without reading its texts.

    ``identities``: those with a text, sorted. ``texts``: how many; ``samples``: the most of one identity; ``failed``:
    answers without a text; ``empty``: texts without a character; ``sources``: indices of the sources that have a text.
    ``digest``: the sum of one hash for each text with its identity and sample, so that the order of files does not
    matter. ``order``: the position of each identity's first text among those of the others, from 0, in the order of the
    files. ``stored``: the Parquet file with the texts, and the first row.
    """

    number: int
    characters: int = 0
    identities: tuple[str, ...] = ()
    texts: int = 0
    samples: int = 0
    failed: int = 0
    empty: int = 0
    sources: tuple[int, ...] = ()
    digest: str = f"{0:032x}"
    order: tuple[int, ...] = ()
    stored: tuple[Path, int] = (Path(), 0)


class Corpus:
    """The texts of one model configuration on one task, from :func:`open_corpora`.

    ``label``: the model's short name and temperature, unique within the task. ``identities``: all, sorted.
    ``concepts``: facts on each, in order of first appearance. ``digest``: of all texts, independent of the files'
    order and format. ``failed``: answers without a text; ``empty``: texts without a character; ``samples``: the most
    that one identity has for one concept; ``absent``: for each incomplete concept, the identities without a text;
    ``short``: how many texts are missing for every identity to have ``samples`` of every concept.
    """

    def __init__(self, name: CorpusName, index: Index, label: str) -> None:
        self._index = index  # its folder is deleted with the last corpus
        self.concepts: Mapping[ConceptKey, StoredConcept] = index.concepts[name]
        concepts = list(self.concepts.values())
        self.label, self.task, self.model, self.temperature = label, name.task, name.model, name.temperature
        self.attribute, self.variant, self.language = name.attribute, name.variant, name.language or "en"
        used = sorted({source for concept in concepts for source in concept.sources})
        paths = [index.sources[number].path for number in used] or [source.path for source in index.sources]
        try:
            self.source = paths[0] if len(paths) == 1 else Path(os.path.commonpath(paths))
        except ValueError:  # some are relative, or on another drive
            self.source = paths[0].parent
        self.identities = tuple(sorted({who for concept in concepts for who in concept.identities}))
        self.digest = _digest(int(concept.digest, 16) for concept in concepts)
        self.n_texts, self.failed, self.empty = (
            sum(getattr(concept, name) for concept in concepts) for name in ("texts", "failed", "empty")
        )
        self.samples = max(concept.samples for concept in concepts)
        self.short = len(concepts) * len(self.identities) * self.samples - self.n_texts
        self.absent: Mapping[ConceptKey, tuple[str, ...]] = {
            key: tuple(sorted(set(self.identities).difference(concept.identities)))
            for key, concept in self.concepts.items()
            if len(concept.identities) < len(self.identities)
        }

    def __repr__(self) -> str:
        return (
            f"Corpus({self.label!r}, {self.task}: {len(self.concepts)} concepts, {len(self.identities)} identities, "
            f"{self.n_texts} texts)"
        )

    def texts(self, key: ConceptKey) -> ConceptTexts:
        """Read the texts of one concept; raise UsageError for an unknown one."""
        concept = self.concepts.get(ConceptKey(*key))
        if concept is None:
            known = ["/".join(known) for known in self.concepts]
            raise UsageError(f"{self.label} has no concept {'/'.join(key)!r}.", hint=nearest("/".join(key), known))
        path, first = concept.stored
        if not path.is_file():
            raise RunError(f"{path} was removed while it was in use.", hint="Run again.")
        table = pl.scan_parquet(path, glob=False).slice(first, concept.texts).collect()
        groups, samples = (one.to_numpy().astype(np.int64) for one in (table["identity"].rle_id(), table["sample"]))
        return ConceptTexts(
            key=key,
            identities=concept.identities,
            groups=groups,
            samples=samples,
            texts=tuple(table["text"]),
            digest=concept.digest,
            order=concept.order,
        )

    def notes(self) -> list[str]:
        """Return sentences on what is missing, and on identities that may be the same, spelled in two ways."""
        notes = []
        if self.failed:
            notes.append(f"{count(self.failed, 'answer')} failed: there is no text.")
        if self.empty:
            notes.append(f"{count(self.empty, 'text')} without a character.")
        if self.absent:
            key, who = next(iter(self.absent.items()))
            shown = ", ".join(who[:3]) + (", …" if len(who) > 3 else "")
            lacking = f"{len(self.absent):,} of {count(len(self.concepts), 'concept')} lacking identities"
            notes.append(f"{lacking}: {key.topic}/{key.concept} has no text of {shown}.")
        if self.short:
            every = f"every identity to have {self.samples} of every concept"
            notes.append(f"{count(self.short, 'text')} wanting for {every}.")
        kinds: dict[str, list[str]] = {}
        for name in self.identities:
            kinds.setdefault(same_text(name), []).append(name)
        notes += [
            f"{' and '.join(map(repr, same))} are read as {len(same)} identities. If they are the same one, spell it "
            "in one way in the answers and analyze again."
            for same in kinds.values()
            if len(same) > 1
        ]
        return notes


def open_corpora(
    sources: Sequence[str | Path],
    *,
    attribute: str | None = None,
    task: str | None = None,
    label: str | None = None,
) -> list[Corpus]:
    """Open every corpus in ``sources``: Kapwa run folders, jsonl, Parquet, CSV or TSV files, folders of them.

    ``attribute``: the column of the perturbed attribute, if it is not one of nationality, identity, culture,
    country, religion, city, persona, language. ``task``: names the task of files without a column "task", and selects
    the answers to this task in files with it. ``label``: the name for the model of files that name none; several such
    files are then one corpus (otherwise each is its own, named by its file).

    Every row is read once; texts are stored in temporary files of about the same size, and read concept by concept.

    Raises UsageError for no or repeated sources; DataError naming file, row, column and remedy for what cannot be
    read, for two answers to one (identity, sample), and for fewer than two identities or texts.
    """
    if attribute is not None and not attribute.strip():
        raise UsageError("--attribute names no column.", hint=f"For example: {', '.join(ATTRIBUTES)}.")
    if isinstance(sources, str | Path):
        sources = [sources]
    index = Index(text_sources([Path(source) for source in sources], SourceOptions(attribute, task, label)), task)
    if not index.concepts:
        raise UsageError(f"There is no answer of the task {task!r}.", hint=nearest(task or "", index.tasks))
    labels = _labels(list(index.concepts), label)
    corpora = [Corpus(name, index, labels[name]) for name in index.concepts]
    for corpus in corpora:
        wanted = f"Differences need texts of at least two values of {corpus.attribute}"
        if len(corpus.identities) < 2:
            who = f"only of {corpus.identities[0]!r}" if corpus.identities else "of nobody"
            raise DataError(f"has texts {who} ({corpus.label}, {corpus.task}).", path=corpus.source, hint=f"{wanted}.")
        for key, absent in corpus.absent.items():
            left = len(corpus.identities) - len(absent)
            if left < 2:
                concept = f"'{key.topic}/{key.concept}' ({corpus.label}, {corpus.task})"
                hint = f"{wanted} for every concept: complete it, or take this concept out."
                raise DataError(f"the concept {concept} has texts of {left} only.", path=corpus.source, hint=hint)
    return corpora


def _labels(names: Sequence[CorpusName], label: str | None) -> dict[CorpusName, str]:
    """Name each corpus: model and temperature, and whatever else is needed to distinguish those of a task."""
    labels = {}
    for name in names:
        model = brief_model(name.model)
        labels[name] = model if name.temperature is None else f"{model} T {name.temperature:g}"
    for column in ("variant", "language", "attribute", "run", "model"):
        alike: dict[tuple[str, str], list[CorpusName]] = {}
        for name, text in labels.items():
            alike.setdefault((name.task, text), []).append(name)
        for group in alike.values():
            if len({getattr(name, column) for name in group}) > 1:
                labels |= {name: f"{labels[name]} ({getattr(name, column)})" for name in group if getattr(name, column)}
    if label is not None:
        per_task = Counter(name.task for name in names)
        if max(per_task.values()) == 1:
            return dict.fromkeys(names, label)
    return labels


# -- reading all sources --------------------------------------------------------------------------------


class Index:
    """The answers of all sources, sorted by concept in a temporary folder.

    ``concepts``: by corpus and key, in order of first appearance. ``tasks``: all that the sources name, also those that
    are not selected. Raises DataError naming file, row and column, where a source has no rows, and where two answers
    have the same identity and sample; RunError where there is not enough disk space for the texts.
    """

    def __init__(self, sources: Sequence[Source], task: str | None) -> None:
        self.sources = sources
        self.concepts: dict[CorpusName, dict[ConceptKey, StoredConcept]] = {}
        self.tasks: dict[str, None] = {}
        self._by_number: list[tuple[ConceptKey, StoredConcept]] = []
        try:
            self._folder = _temporary_folder(self)
            self._gather(task)
            # Concepts are sorted in groups of about this many characters.
            ends = accumulate(concept.characters for _, concept in self._by_number)
            chunks = groupby(enumerate(ends), key=lambda end: end[1] // _CHUNK)
            for chunk, numbers in chunks:
                self._sort([number for number, _ in numbers], self._folder / f"sorted-{chunk}.parquet")
            for path in self._folder.glob("part-*.parquet"):
                path.unlink()
        except OSError as error:
            message = f"Texts cannot be stored in {tempfile.gettempdir()}: {error.strerror or error}."
            hint = "They need as much free space as their files take; name another folder in the variable TMPDIR."
            raise RunError(message, hint=hint) from error

    def _gather(self, task: str | None) -> None:
        """Read all sources and write their answers as they come, each with the number of its concept."""
        pending: list[pl.DataFrame] = []
        characters = pending_texts = 0
        for source, (path, tables) in enumerate(self.sources):
            rows = 0
            for table in tables:
                rows += table.height
                self.tasks |= dict.fromkeys(table["task"].unique(maintain_order=True))
                numbered = self._numbered(table if task is None else table.filter(pl.col("task") == task))
                pending.append(numbered.with_columns(source=pl.lit(source)))
                characters += int(numbered["text"].str.len_chars().sum())
                if characters > _CHUNK:
                    pl.concat(pending).write_parquet(self._folder / f"part-{pending_texts}.parquet", compression="lz4")
                    pending, characters, pending_texts = [], 0, pending_texts + 1
            if not rows:
                raise DataError("holds no rows.", path=path)
        if pending:
            pl.concat(pending).write_parquet(self._folder / f"part-{pending_texts}.parquet", compression="lz4")

    def _numbered(self, table: pl.DataFrame) -> pl.DataFrame:
        """Replace the columns that name a concept by its number."""
        keys = table.group_by(_KEY_COLUMNS, maintain_order=True).agg(characters=pl.col("text").str.len_chars().sum())
        numbers = []
        for *prompt_key, characters in keys.iter_rows():
            key = ConceptKey(*prompt_key[-2:])
            corpus = self.concepts.setdefault(CorpusName(*prompt_key[:-2]), {})
            if key not in corpus:
                corpus[key] = StoredConcept(len(self._by_number))
                self._by_number.append((key, corpus[key]))
            corpus[key].characters += characters
            numbers.append(corpus[key].number)
        keys = keys.with_columns(number=pl.Series(numbers, dtype=pl.Int32))
        table = table.join(keys, on=_KEY_COLUMNS, nulls_equal=True, maintain_order="left")
        return table.select("number", "identity", pl.col("sample").cast(pl.Int32), "row", "text")

    def _sort(self, numbers: Sequence[int], path: Path) -> None:
        """Write the texts of a few concepts to ``path``, sorted, and record the facts on each concept."""
        chosen = pl.col("number").is_between(numbers[0], numbers[-1])
        table = (
            pl.scan_parquet([*self._folder.glob("part-*.parquet")], glob=False)
            .filter(chosen)
            .collect(engine="streaming")
        )
        if table["sample"].null_count():  # the source does not number samples
            earlier = pl.col("sample").is_null().cum_sum().over("number", "identity", order_by=["source", "row"]) - 1
            table = table.with_columns(pl.coalesce("sample", earlier))
        for number, failed in table.filter(pl.col("text").is_null())["number"].value_counts().iter_rows():
            self._by_number[number][1].failed = failed
        table = table.drop_nulls("text").sort("number", "identity", "sample", "source", "row")
        self._check_once(table)
        keys = pl.Series(["\0".join(key) for key, _ in self._by_number]).gather(table["number"])
        hashed = table.select(pl.concat_str(keys, "identity", "sample", "text", separator="\0").cast(pl.Binary))
        digests = pl.Series([hashlib.blake2b(text, digest_size=16).digest() for text in hashed.to_series()])
        facts = table.group_by("number", maintain_order=True).agg(
            pl.col("identity").unique(maintain_order=True),
            texts=pl.len(),
            samples=pl.col("identity").unique_counts().max(),
            empty=(pl.col("text") == "").sum(),
            sources=pl.col("source").unique(),
        )
        at = (pl.col("source").cast(pl.Int64) * (1 << 40) + pl.col("row")).min()
        groups = table.group_by("number", "identity", maintain_order=True).agg(at=at)
        orders = groups.group_by("number", maintain_order=True).agg(order=pl.col("at").rank("ordinal") - 1)
        facts = facts.with_columns(orders["order"])
        first = 0
        for number, identities, texts, samples, empty, sources, order in facts.iter_rows():
            concept = self._by_number[number][1]
            concept.identities, concept.sources = tuple(map(sys.intern, identities)), tuple(sources)
            concept.order = tuple(order)
            concept.texts, concept.samples, concept.empty = texts, samples, empty
            concept.digest = _digest(int.from_bytes(digest, "big") for digest in digests[first : first + texts])
            concept.stored = (path, first)
            first += texts
        columns = ("identity", "sample", "text")
        table.select(columns).write_parquet(path, compression="lz4", row_group_size=_ROW_GROUP, statistics=False)

    def _check_once(self, table: pl.DataFrame) -> None:
        text_key = pl.col("number", "identity", "sample")
        same = pl.all_horizontal(text_key == text_key.shift())
        repeated = table.select(same.arg_true()).to_series()
        if not len(repeated):
            return
        number, identity, sample, row, _, source = table.row(repeated[0])
        *_, before, _, other = table.row(repeated[0] - 1)
        key = self._by_number[number][0]
        elsewhere = "" if other == source else f" of {self.sources[other].path}"
        text = f"{key.topic}/{key.concept}/{identity}, sample {sample}"
        message = f"answers {text}, again; row {before}{elsewhere} did so first."
        hint = "Keep one of them, number repeated answers in a column 'sample' (0, 1, ...), or distinguish models by "
        hint += "a column 'model', 'temperature' or 'run'."
        raise DataError(message, path=self.sources[source].path, row=row, hint=hint)


def _digest(hashes: Iterable[int]) -> str:
    """Sum up 128-bit hashes."""
    return f"{sum(hashes) % (1 << 128):032x}"


def _temporary_folder(owner: object) -> Path:
    """Make a folder that is deleted with ``owner``, and delete unlocked ones, which killed processes left behind."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, or in use
            # A folder is made a moment before its lock.
            if time.time() - left.stat().st_mtime > 60:
                _remove(left, _locked(left))
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    weakref.finalize(owner, _remove, folder, _locked(folder))
    return folder


def _remove(folder: Path, lock: int) -> None:
    os.close(lock)
    shutil.rmtree(folder, ignore_errors=True)


def _locked(folder: Path) -> int:
    """Lock ``folder`` until the returned handle is closed, however the process ends; OSError if it is locked."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    if sys.platform != "win32":  # Windows has no such lock: folders of killed processes are not deleted
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise
    return handle
