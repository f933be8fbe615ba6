"""Read situations from wherever they are: sample packs, pack folders, single files, the released files, the hub."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kapwa.datasets.card import CARD_NAME, Card
from kapwa.datasets.findings import DataSource
from kapwa.datasets.packs import DataSet, children, locate, table_files
from kapwa.datasets.rows import columns_of
from kapwa.datasets.yaml_models import shipped_card
from kapwa.errors import DataError, raise_first
from kapwa.records import Item
from kapwa.suites.kalahi import released
from kapwa.suites.kalahi.form import SituationEntry, SituationRow, situation_items
from kapwa.tables import TABLE_SUFFIXES, peek_header

PACKS = Path(__file__).parent / "packs"
HUB_ID = "aisingapore/kalahi"
HUB_FILES = ("*.csv", "*.tsv", "*.jsonl", "*.parquet", "*.yaml", "*.yml")
ROLE = "situations"


@dataclass
class Situations(DataSet):
    """What was read: items with the rows they came from, and all that is wrong or odd."""

    entries: list[SituationEntry] = field(default_factory=list)


def read_situations(data: str | Path | None) -> tuple[list[Item], DataSource]:
    """Read situations as items, variant by variant within each pack, and say where they came from.

    ``data``: None or "sample" (every sample pack), "sample:PACK", a pack folder, a folder of packs, one file,
    the folder or one file of the released data, or a hub id (see :func:`kapwa.datasets.packs.hub_id`).
    Raises UsageError for names that mean nothing, DataError (the first, with a count) for bad files.
    """
    source = locate(data, PACKS, own_dataset=HUB_ID, patterns=HUB_FILES)
    read = load_path(source.path, source.name, shipped_card(released.CARD) if source.repository == HUB_ID else None)
    raise_first(read.problems)
    return [entry.item for entry in read.entries], read.source()


def load_path(path: Path, name: str = "", card: Card | None = None) -> Situations:
    """Read a file or folder that exists, keeping every problem.

    ``card`` says whose released tables are, when the files do not.
    """
    if path.name == CARD_NAME:
        path, name = path.parent, ""
    read = Situations(name or path.resolve().name, path)
    if path.is_file():
        _read_file(read, path)
    elif not path.is_dir():
        read.problems.append(DataError("is neither a file nor a folder.", path=path))
    elif not table_files(path, ROLE) and (tables := released_files(path)):
        _read_released(read, tables, card)
    else:  # a pack, or a folder of packs
        packs = [path] if table_files(path, ROLE) else [folder for folder in children(path) if _is_pack(folder)]
        for folder in packs:
            files = table_files(folder, ROLE)
            if len(files) != 1:
                contents = " and ".join(file.name for file in files) or "a card but no situations"
                message = f"holds {contents}; a pack has exactly one file of situations."
                hint = "Keep one, named situations.csv or .yaml."
                read.problems.append(DataError(message, path=folder, hint=hint))
            if files:
                read.entries += situation_items(read.read(files[0], SituationRow, read.read_card(folder)))
        if not packs:
            hint = "A pack folder holds card.yaml and situations.csv; see docs/reference/kalahi-form.md."
            read.problems.append(DataError("holds no situations.", path=path, hint=hint))
    # Ids must be unique in a variant over all files, clusters in one pack: answers and intervals rest on them.
    ids: dict[tuple[str, str], SituationEntry] = {}
    clusters: dict[str, SituationEntry] = {}
    hint = "Begin ids and clusters with a word for the pack, so that packs can be used together."
    for entry in read.entries:
        item, origin = entry
        first = ids.setdefault((item.id, item.variant), entry).origin
        if first.path != origin.path:
            message = f"{item.id!r} is also the id of row {first.row} of {first.pack_file}."
            read.problems.append(origin.problem(message, "id", hint))
        mate, row = clusters.setdefault(item.cluster, entry)
        if (mate.culture, row.path.parent) != (item.culture, origin.path.parent) and item.variant == "full":
            message = f"{item.cluster!r} is also a cluster of {mate.culture} ({row.pack_file})."
            read.problems.append(origin.problem(message, "cluster", hint))
    read.read_labels(dict.fromkeys(entry.item.culture for entry in read.entries))
    return read


def is_situation_data(path: Path) -> bool:
    """Whether a file or folder is of this form (or the released layout), sound or not."""
    if path.is_dir():
        return bool(released_files(path)) or any(table_files(folder, ROLE) for folder in (path, *children(path)))
    if not path.is_file() or path.suffix.lower() not in TABLE_SUFFIXES:
        return False
    header = peek_header(path)
    required = [name for name, needed in columns_of(SituationRow).items() if needed]
    has_form = sum(name in header for name in required) > len(required) // 2
    return path.stem == ROLE or has_form or released.looks_released(path, header)


def tasks_of(folder: Path) -> tuple[str, ...]:
    """Return the tasks that a folder has data for: both, or none."""
    return ("mc", "open") if is_situation_data(folder) else ()


def _read_file(read: Situations, path: Path) -> None:
    if path.suffix.lower() not in TABLE_SUFFIXES:
        message = f"is of an unknown kind ({path.suffix or 'no suffix'})."
        read.problems.append(DataError(message, path=path, hint=f"Available: {', '.join(TABLE_SUFFIXES)}."))
    elif released.looks_released(path, peek_header(path)):
        _read_released(read, [path], None)
    else:
        read.entries += situation_items(read.read(path, SituationRow, read.read_card(path.parent)))


def _is_pack(folder: Path) -> bool:
    return bool(table_files(folder, ROLE)) or (folder / CARD_NAME).is_file()


def released_files(folder: Path) -> list[Path]:
    """Return the tables in the released layout: a file, or those in the folder or its ``data`` folder.

    CSV alone where there are both kinds.
    """
    if folder.is_file():
        return [folder] if released.looks_released(folder, peek_header(folder)) else []
    folders = [base for base in (folder, folder / "data") if base.is_dir()]
    files = [file for base in folders for file in children(base) if file.suffix.lower() in TABLE_SUFFIXES]
    tables = [file for file in files if released.looks_released(file, peek_header(file))]
    # A hub data set may carry the same rows as CSV and as Parquet.
    return [file for file in tables if file.suffix.lower() == ".csv"] or tables


def _read_released(read: Situations, files: Sequence[Path], card: Card | None) -> None:
    rows: list[released.ReleasedSituation] = []
    cards = {folder: read.read_card(folder) for folder in dict.fromkeys(file.parent for file in files)}
    for file in files:
        whose = {"culture": card.culture, "language": card.language} if card else cards[file.parent]
        table = read.read_table(file)
        defaults = released.defaults_of(table, whose)
        rows += released.with_zeros(read.read(table, released.ReleasedSituation, defaults, what="the released layout"))
    read.entries += released.released_entries(rows)
    if not read.cards and {entry.item.culture for entry in read.entries} == {shipped_card(released.CARD).culture}:
        own_card = shipped_card(released.CARD).model_dump()
        lacking = released.lacking_variants([entry.item for entry in read.entries])
        read.cards.append({**own_card, "limits": [*own_card["limits"], lacking]} if lacking else own_card)
