"""Find data by what a user names (a file, folder, sample pack, data set of the hub) and read packs: a card and tables.

>>> location = locate("sample:filipino", packs=PACKS)
>>> data = DataSet(location.name, location.path)
>>> situations = data.read(location.path / "situations.csv", Situation, data.read_card(location.path))
>>> data.problems, data.source()
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from kapwa.catalog import entries
from kapwa.catalog.hub import snapshot
from kapwa.catalog.lookup import fetched_benchmark, revision_fetched
from kapwa.datasets.card import CARD_NAME, LABELS_NAME, Card, card_findings
from kapwa.datasets.findings import CheckReport, DataSource, Finding, remarks_on
from kapwa.datasets.rows import UNKNOWN_DEFAULTS, Defaults, RowT, read_rows
from kapwa.datasets.text_checks import table_oddities
from kapwa.datasets.yaml_models import read_model
from kapwa.errors import DataError, UsageError, check_known, nearest
from kapwa.files import digest
from kapwa.tables import TABLE_SUFFIXES, TextTable, in_memory, read_records
from kapwa.user_suites import registered
from kapwa.value_types import JsonMapping

PREFIX = "hub:"
_ID = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(@(?P<revision>[\w./-]+))?")


class HubId(NamedTuple):
    """A dataset on the hub; ``revision`` is a branch, tag or commit, None for the newest."""

    repo: str
    revision: str | None


class Location(NamedTuple):
    """Where named data are; ``name`` is their name in a run, ``repository`` theirs on the hub ("" elsewhere)."""

    name: str
    path: Path
    repository: str = ""


def hub_id(text: str, own_dataset: str) -> HubId | None:
    """Read ``own_dataset``, "``own_dataset``@REVISION" or "hub:OWNER/NAME[@REVISION]"; anything else is None.

    ``own_dataset`` is the repository of the suite's own data, such as "aisingapore/kalahi". Other datasets need the
    prefix, so that a mistyped folder never becomes a download.
    """
    match = _ID.fullmatch(text.removeprefix(PREFIX))
    if match is None or not (text.startswith(PREFIX) or match["repo"] == own_dataset):
        return None
    return HubId(match["repo"], match["revision"])


def fetch(wanted: HubId, patterns: Sequence[str]) -> Location:
    """Download the files of a dataset that match ``patterns`` (or find them in the cache); the name has its commit.

    Where the hub cannot be reached and no revision is named, the revision that 'kapwa fetch' downloaded is used.
    Raises UsageError with the reason where there are no files.
    """
    try:
        folder = snapshot(wanted.repo, "dataset", wanted.revision, patterns)
    except UsageError:
        fetched = "" if wanted.revision else revision_fetched(wanted.repo)
        if not fetched:
            raise
        folder = snapshot(wanted.repo, "dataset", fetched, patterns)
    return _at_commit(wanted.repo, folder)


def _at_commit(repository: str, folder: Path) -> Location:
    return Location(f"{repository}@{folder.name[:12]}", folder, repository)


SAMPLE = "sample"
_SHOWN = 200
# Tables that people save and Kapwa does not read.
_OTHER_TABLES = (".xls", ".xlsm", ".xlsb", ".ods", ".fods", ".numbers", ".gsheet", ".txt", ".json", ".docx", ".html")


def existing(text: str) -> Path | None:
    """Return the file or folder that ``text`` names, None where there is none."""
    try:
        path = Path(text).expanduser()
        return path if text.strip() and path.exists() else None
    except (OSError, RuntimeError, ValueError):  # a name too long, a home that is not there, a NUL
        return None


def odd_names(folder: Path, stems: Iterable[str], suffixes: Collection[str]) -> str | None:
    """Return a hint for a file of ``folder`` that would be one of ``stems`` with a lower-case name or another format.

    None where there is no such file; ``suffixes``: the formats that are read.
    """
    wanted = tuple(stems)
    with contextlib.suppress(OSError):
        for file in sorted(folder.iterdir()):
            stem, suffix = file.stem.strip().casefold(), file.suffix.lower()
            if stem not in wanted or not file.is_file():
                continue
            if suffix not in suffixes and suffix in _OTHER_TABLES:
                return f"{file.name} is of a kind that is not read: save it as {stem}.xlsx, or as {stem}.csv in UTF-8."
            if suffix in suffixes and file.name != stem + suffix:
                return f"Rename {file.name} to {stem}{suffix}: names of files must be in lower case."
    return None


def locate(
    data: str | Path | None, packs: Path, *, own_dataset: str = "", patterns: Sequence[str] = (), default: str = ""
) -> Location:
    """Find what ``data`` names: None or "sample", "sample:PACK", a file or folder, a data set of the hub, a benchmark.

    ``packs``: the folder of the suite's sample packs; "sample" means the pack ``default`` ("": all of them).
    ``own_dataset``: the suite's own data set on the hub. The files of a data set there that match ``patterns`` are
    downloaded; without patterns no data set of the hub is accepted. A benchmark of the catalog is found where 'kapwa
    fetch' stored it. Raises UsageError for an unknown name, with the nearest known one, and for a benchmark that was
    not fetched.
    """
    text = SAMPLE if data is None else str(data)
    if text == SAMPLE:
        return Location(SAMPLE, packs / default)
    samples = {card.parent.name: card.parent for card in sorted(packs.glob(f"*/{CARD_NAME}"))}
    if text.startswith(f"{SAMPLE}:"):
        name = text.removeprefix(f"{SAMPLE}:")
        check_known(name, samples, f"There is no sample pack {name!r}.")
        return Location(text, samples[name])
    path = existing(text)
    if path is not None:
        return Location(path.name if path.is_file() else path.resolve().name, path)
    wanted = hub_id(text, own_dataset) if patterns else None
    if wanted is not None:
        return fetch(wanted, patterns)
    if text in entries.names():
        fetched = fetched_benchmark(text)
        return _at_commit(fetched.repository, fetched.folder)
    if text in registered():
        hint = f"It brings its own data: kapwa run {text}/{registered()[text].tasks[0]}"
        raise UsageError(f"{text!r} is a suite that you added.", hint=hint)
    known = [
        SAMPLE,
        *entries.names(),
        *(f"{SAMPLE}:{name}" for name in samples),
        *([own_dataset] if own_dataset else []),
    ]
    with contextlib.suppress(OSError, ValueError):
        siblings = [str(path) for path in Path(text).parent.iterdir() if not path.name.startswith(".")]
        known += difflib.get_close_matches(text, siblings, cutoff=0.5)  # other names there would not help
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    others = " Another hub data set is written hub:OWNER/NAME." if patterns else ""
    raise UsageError(f"There is no file, folder or data set {shown!r}.", hint=nearest(text, known) + others)


def children(folder: Path) -> list[Path]:
    """Return what a folder holds, in order; raise DataError where it cannot be listed."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise DataError(f"cannot be listed ({error.strerror}).", path=folder) from None


def table_files(folder: Path, role: str, suffixes: Sequence[str] = TABLE_SUFFIXES) -> list[Path]:
    """Return the tables called ``role`` in ``folder``, in all formats."""
    return [file for suffix in suffixes if (file := folder / f"{role}{suffix}").is_file()]


def table_to_check(path: Path, role: str) -> Path | None:
    """Return ``path`` (for a card, its folder) if it is a table called ``role`` or a folder with one; else None."""
    folder_or_file = path.parent if path.name == CARD_NAME else path
    tables = table_files(folder_or_file if folder_or_file.is_dir() else folder_or_file.parent, role)
    return folder_or_file if tables and (folder_or_file.is_dir() or folder_or_file in tables) else None


def choice_of_packs(data: str | Path, folder: Path, role: str) -> str:
    """Return a hint on the packs with a table ``role`` in ``folder``, which ``data`` names and which has none."""
    sign = ":" if str(data) == SAMPLE else "/"
    entries_within = children(folder) if folder.is_dir() else []
    packs = [f"{data}{sign}{pack.name}" for pack in entries_within if table_files(pack, role)]
    return f"Name one of its packs: {', '.join(packs)}." if packs else f"A pack has a table such as {role}.csv."


@dataclass
class DataSet:
    """A data set as it was read: its cards and tables, the bytes that identify it, its problems and oddities.

    A suite reads tables with :meth:`read` and stores the results itself. ``files`` has the bytes of every file by its
    name within the data, so that the digest does not depend on where the data are.
    """

    name: str
    path: Path | None
    tables: list[TextTable] = field(default_factory=list)
    cards: list[JsonMapping] = field(default_factory=list)
    card_paths: list[Path] = field(default_factory=list)
    problems: list[DataError] = field(default_factory=list)
    oddities: list[Finding] = field(default_factory=list)
    labels: JsonMapping = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    def note_file(self, file: Path, name: str = "") -> None:
        """Store a file's bytes for the digest, under its name within the data unless another is given."""
        inside = self.path is not None and self.path in file.parents
        relative = file.relative_to(self.path).as_posix() if self.path and inside else file.name
        with contextlib.suppress(OSError):  # a file that cannot be read is already among the problems
            stored = in_memory.get({}).get(file)
            self.files[name or relative] = stored.content if stored else file.read_bytes()

    def read_card(self, folder: Path, name: str = "") -> Defaults:
        """Read the folder's card, if it has one, and return the culture and language that it gives to rows.

        A bad card gives placeholders, since its own errors are reported already.
        """
        path = folder / CARD_NAME
        if not path.is_file():
            return {}
        card, problems = read_model(path, Card)
        self.problems += problems
        self.note_file(path, name)
        if card is None:
            return UNKNOWN_DEFAULTS
        self.cards.append(card.model_dump())
        self.card_paths.append(path)
        return {"culture": card.culture, "language": card.language}

    def read_table(self, file: Path, name: str = "") -> TextTable:
        """Read a file's columns and cells, and store its problems."""
        table = read_records(file)
        self.tables.append(table)
        self.problems += table.problems
        self.oddities += remarks_on(table)
        self.note_file(file, name)
        return table

    def read(
        self, table: Path | TextTable, model: type[RowT], defaults: Defaults | None = None, **how: Any
    ) -> list[RowT]:
        """Return the valid rows of a table as ``model``; ``how``: options of :func:`kapwa.datasets.rows.read_rows`."""
        if isinstance(table, Path):
            table = self.read_table(table)
        rows, problems, oddities = read_rows(table, model, defaults, **how)
        self.problems += problems
        self.oddities += oddities
        return rows

    def only_table(self, role: str) -> Path | None:
        """Return the table called ``role`` in the folder, None without one; several of them are a problem."""
        assert self.path is not None
        files = table_files(self.path if self.path.is_dir() else self.path.parent, role)
        if len(files) > 1:
            message = f"holds {' and '.join(file.name for file in files)}."
            self.problems.append(DataError(message, path=files[0].parent, hint="Keep one of them."))
        return files[0] if files else None

    def read_form(self, role: str, model: type[RowT]) -> list[RowT]:
        """Read the table that the data are, or the one called ``role`` in their folder, and the card beside it."""
        assert self.path is not None
        file = self.path if self.path.is_file() else self.only_table(role)
        if file is None:
            hint = choice_of_packs(self.path, self.path, role)
            self.problems.append(DataError(f"holds no table {role}.", path=self.path, hint=hint))
            return []
        return self.read(file, model, self.read_card(file.parent), what=f"a table of {role}")

    def read_labels(self, cultures: Collection[str], *, every: bool = True) -> None:
        """Read the labels of ``cultures`` from a table beside a card, or beside a table of the data, if there is one.

        Call this after everything else is read. ``every``: whether these are all cultures of the folder.
        """
        paths = [*self.card_paths, *(table.path for table in self.tables)]
        folders = [*filter(None, [self.path]), *(path.parent for path in paths)]
        named = {folder.resolve(): folder / LABELS_NAME for folder in folders}
        files = [file for file in named.values() if file.is_file()]
        if files:
            from kapwa.datasets.labels import LabelRow, labels_of

            # Rows that could not be read may be those of a culture that seems unknown.
            every = every and not self.problems
            rows = [row for file in files for row in self.read(file, LabelRow, what="a table of labels")]
            self.labels, problems = labels_of(rows, cultures, every=every)
            self.problems += problems

    def source(self) -> DataSource:
        """Describe where the items came from; several packs give ``{"packs": [card, …]}``."""
        card: JsonMapping = {"packs": self.cards} if self.cards else {}
        if len(self.cards) == 1:
            card = self.cards[0]
        illustrative = any(bool(card.get("illustrative")) for card in self.cards)
        return DataSource(self.name, self.path, digest(self.files), card, illustrative, self.labels)

    def report(self, suite: str, counts: Mapping[str, int | float | str], findings: Iterable[Finding]) -> CheckReport:
        """Return the report of a check: all problems and oddities, also of cells, and the form's own ``findings``."""
        assert self.path is not None
        odd = chain.from_iterable(map(table_oddities, self.tables))
        return CheckReport(suite, str(self.path), counts, [*self.findings(self.path), *odd, *findings])

    def findings(self, path: Path) -> Iterator[Finding]:
        """Yield what stops a run, oddities of tables, and what cards lack; ``path`` is the checked path."""
        yield from (Finding.of(problem, path) for problem in self.problems)
        yield from self.oddities
        for folder in dict.fromkeys(table.path.parent for table in self.tables):
            if not self.cards and not (folder / CARD_NAME).exists():
                yield Finding("note", str(folder), "no card.yaml: licence, authors, consent and limits are not stated")
        yield from card_findings(self.cards, self.card_paths or [path])
