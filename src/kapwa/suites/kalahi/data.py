"""Read situations from wherever they are: sample packs, pack folders, single files, the released files, the hub."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import digest
from kapwa.records import Item
from kapwa.suites.base import DataSource, Finding
from kapwa.suites.kalahi import released
from kapwa.suites.kalahi.form import (
    REQUIRED,
    Entry,
    parse_situations,
    reference_response,
    situation_items,
    written_texts,
)
from kapwa.suites.reading import hub
from kapwa.suites.reading.card import CARD_NAME, Card, read_card
from kapwa.suites.reading.cells import UNKNOWN_HOME, Home
from kapwa.suites.reading.letters import lost_letters
from kapwa.suites.reading.naming import SAMPLE, existing, no_such_data
from kapwa.suites.reading.tables import TABLE_SUFFIXES, Table, peek_header, read_records

__all__ = ["PACKS", "Reading", "is_situation_data", "load", "load_path", "read_situations", "reference_response"]

PACKS = Path(__file__).parent / "packs"
HUB_ID = "aisingapore/kalahi"
HUB_FILES = ("*.csv", "*.tsv", "*.jsonl", "*.parquet", "*.yaml", "*.yml")
_SITUATION_NAMES = tuple(f"situations{suffix}" for suffix in TABLE_SUFFIXES)


@dataclass
class Reading:
    """What was read: items with the rows they came from, tables, cards, and every problem on the way."""

    name: str
    path: Path | None
    entries: list[Entry] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    cards: list[Mapping[str, Any]] = field(default_factory=list)
    card_paths: list[Path] = field(default_factory=list)
    problems: list[DataError] = field(default_factory=list)
    oddities: list[Finding] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    homes: dict[Path, Home] = field(default_factory=dict)

    def source(self) -> DataSource:
        """Describe where the items came from; several packs give ``{"packs": [card, …]}``."""
        card = self.cards[0] if len(self.cards) == 1 else {"packs": self.cards} if self.cards else {}
        illustrative = any(bool(one.get("illustrative")) for one in self.cards)
        return DataSource(self.name, self.path, digest(self.files), card, illustrative)


def read_situations(data: str | Path | None) -> tuple[list[Item], DataSource]:
    """Read situations as items, variant by variant within each pack, and say where they came from.

    ``data``: None or "sample" (every sample pack), "sample:PACK", a pack folder, a folder of packs, one file,
    the folder or one file of the released data, or a hub id (see :func:`kapwa.suites.reading.hub.hub_id`).
    Raises UsageError for names that mean nothing, DataError (the first, with a count) for bad files.
    """
    reading = load(data)
    if reading.problems:
        first, others = reading.problems[0], len(reading.problems) - 1
        if others:
            more = f"({others} more problem{'s' * (others > 1)}: 'kapwa data check' lists them all.)"
            first.hint = f"{first.hint} {more}" if first.hint else more
        raise first
    return [entry.item for entry in reading.entries], reading.source()


def load(data: str | Path | None) -> Reading:
    """Find and read ``data``, keeping problems; raise UsageError when there is nothing of that name."""
    text = SAMPLE if data is None else str(data)
    if text == SAMPLE:
        return _load_packs(SAMPLE, PACKS, sample_packs().values())
    if text.startswith(f"{SAMPLE}:"):
        name = text.removeprefix(f"{SAMPLE}:")
        if name not in sample_packs():
            raise UsageError(f"There is no sample pack {name!r}.", hint=nearest(name, sample_packs()))
        return _load_packs(text, PACKS / name, [PACKS / name])
    path = existing(text)
    if path is not None:
        return load_path(path)
    wanted = hub.hub_id(text, HUB_ID)
    if wanted is not None:
        fetched = hub.fetch(wanted, HUB_FILES)
        return _load_folder(fetched.folder, fetched.name, released.CARD if wanted.repo == HUB_ID else None)
    raise no_such_data(text, sample_packs(), hub_id=HUB_ID)


def sample_packs() -> dict[str, Path]:
    """Folders of the packs that ship with Kapwa, by name."""
    return {folder.name: folder for folder in _children(PACKS) if _situation_file(folder)}


def load_path(path: Path) -> Reading:
    """Read a file or folder that exists, keeping every problem."""
    if path.is_file():
        return _load_file(path)
    if not path.is_dir():
        problem = DataError("is neither a file nor a folder.", path=path)
        return Reading(path.name, path, problems=[problem])
    return _load_folder(path, path.resolve().name, None)


def _load_folder(path: Path, name: str, card: Card | None) -> Reading:
    """Read a pack, released tables (``card`` says whose, when the files do not), or a folder of packs."""
    if _situation_file(path):
        return _load_packs(name, path, [path])
    tables = _released_files(path)
    if tables:
        reading = Reading(name, path)
        _read_released(reading, tables, card)
        return reading
    packs = [folder for folder in _children(path) if _situation_file(folder) or (folder / CARD_NAME).is_file()]
    reading = _load_packs(name, path, packs)
    if not packs:
        hint = "A pack folder holds card.yaml and situations.csv; see docs/reference/kalahi-form.md."
        reading.problems.append(DataError("holds no situations.", path=path, hint=hint))
    return reading


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise DataError(f"cannot be listed ({error.strerror}).", path=folder) from None


def is_situation_data(path: Path) -> bool:
    """Whether a file or folder is of this form (or the released layout), sound or not."""
    if path.is_dir():
        folders = [path, *_children(path)]
        return bool(_released_files(path)) or any(_situation_file(folder) for folder in folders)
    return path.is_file() and (path.name in (*_SITUATION_NAMES, *released.FILE_NAMES) or _has_form(path))


def _has_form(path: Path) -> bool:
    if path.suffix.lower() not in TABLE_SUFFIXES:
        return False
    header = peek_header(path)
    return released.looks_released(header) or sum(name in header for name in REQUIRED) > len(REQUIRED) // 2


def _situation_file(folder: Path) -> Path | None:
    return next(iter(_situation_files(folder)), None)


def _situation_files(folder: Path) -> list[Path]:
    return [folder / name for name in _SITUATION_NAMES if (folder / name).is_file()] if folder.is_dir() else []


def _released_files(folder: Path) -> list[Path]:
    """Tables in the released layout, in the folder or its ``data`` folder; CSV alone where there are both kinds."""
    places = [place for place in (folder, folder / "data") if place.is_dir()]
    files = [file for place in places for file in _children(place) if file.suffix.lower() in TABLE_SUFFIXES]
    found = [file for file in files if file.name in released.FILE_NAMES or _is_released(file)]
    # A hub data set may carry the same rows as CSV and as Parquet.
    return [file for file in found if file.suffix.lower() == ".csv"] or found


def _is_released(file: Path) -> bool:
    return released.looks_released(peek_header(file))


def _load_file(path: Path) -> Reading:
    if path.name == CARD_NAME:
        return load_path(path.parent)
    if path.suffix.lower() not in TABLE_SUFFIXES:
        reading = Reading(path.name, path)
        message = f"is of an unknown kind ({path.suffix or 'no suffix'})."
        reading.problems.append(DataError(message, path=path, hint=f"Known: {', '.join(TABLE_SUFFIXES)}."))
        return reading
    reading = Reading(path.name, path)
    if path.name in released.FILE_NAMES or _is_released(path):
        _read_released(reading, [path], None)
    else:
        _read_pack(reading, path)
    return reading


def _load_packs(name: str, path: Path, folders: Iterable[Path]) -> Reading:
    reading = Reading(name, path)
    for folder in folders:
        files = _situation_files(folder)
        if len(files) != 1:
            found = " and ".join(file.name for file in files) or "a card but no situations"
            message = f"holds {found}; a pack has exactly one file of situations."
            reading.problems.append(DataError(message, path=folder, hint="Keep one, named situations.csv or .yaml."))
        for file in files[:1]:
            _read_pack(reading, file)
    _check_across(reading)
    return reading


def _read_pack(reading: Reading, file: Path) -> None:
    home = _home(reading, file.parent)
    table = _read_table(reading, file)
    lost = lost_letters(written_texts(table, home))
    reading.oddities += lost.oddities
    if lost.problems:  # texts that are all alike break other rules too, and nothing is learnt from that
        reading.problems += lost.problems
        return
    situations, problems = parse_situations(table, home)
    reading.problems += problems
    reading.entries += situation_items(situations, file)


def _read_released(reading: Reading, files: Sequence[Path], card: Card | None) -> None:
    rows: list[released.Row] = []
    for file in files:
        home = Home(card.culture, card.language) if card else _home(reading, file.parent)
        table = _read_table(reading, file)
        found, problems = released.parse_rows(table, released.home_of(file, home))
        rows += found
        reading.problems += problems
    reading.entries += released.released_entries(rows)
    if not reading.cards and {entry.item.culture for entry in reading.entries} == {released.CARD.culture}:
        reading.cards.append(released.release_card())
    _check_across(reading)


def _home(reading: Reading, folder: Path) -> Home:
    """Culture and language from the folder's card; stand-ins when the card is bad, for its own errors say enough."""
    path = folder / CARD_NAME
    if folder not in reading.homes:
        if path.is_file():
            card, problems = read_card(path)
            reading.problems += problems
            if card:
                reading.cards.append(card.model_dump())
                reading.card_paths.append(path)
            _note_bytes(reading, path)
            reading.homes[folder] = Home(card.culture, card.language) if card else UNKNOWN_HOME
        else:
            reading.homes[folder] = Home("", "")
    return reading.homes[folder]


def _read_table(reading: Reading, file: Path) -> Table:
    table = read_records(file)
    reading.tables.append(table)
    reading.problems += table.problems
    _note_bytes(reading, file)
    return table


def _note_bytes(reading: Reading, file: Path) -> None:
    # A file that cannot be read is already among the problems.
    with contextlib.suppress(OSError):
        reading.files[_relative(reading, file)] = file.read_bytes()


def _relative(reading: Reading, file: Path) -> str:
    """Name a file within the data, so that the digest does not depend on where the data lies."""
    root = reading.path
    return file.relative_to(root).as_posix() if root and root.is_dir() and file.is_relative_to(root) else file.name


def _check_across(reading: Reading) -> None:
    """Ids must be unique in a variant over all files, clusters in one pack: answers and intervals rest on them."""
    ids: dict[tuple[str, str], Entry] = {}
    clusters: dict[str, Entry] = {}
    hint = "Begin ids and clusters with a word for the pack, so that packs can be used together."
    for entry in reading.entries:
        item = entry.item
        first = ids.setdefault((item.id, item.variant), entry)
        if first.path != entry.path:
            message = f"{item.id!r} is also the id of row {first.row} of {_place(first)}."
            reading.problems.append(DataError(message, path=entry.path, row=entry.row, column="id", hint=hint))
        mate = clusters.setdefault(item.cluster, entry)
        if (mate.item.culture, mate.path.parent) != (item.culture, entry.path.parent) and item.variant == "full":
            message = f"{item.cluster!r} is also a cluster of {mate.item.culture} ({_place(mate)})."
            reading.problems.append(DataError(message, path=entry.path, row=entry.row, column="cluster", hint=hint))


def _place(entry: Entry) -> str:
    return f"{entry.path.parent.name}/{entry.path.name}"
