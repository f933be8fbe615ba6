"""Find what a task asks: sample packs, pack folders, and the released folder."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kapwa.errors import DataError, UsageError, nearest
from kapwa.files import digest
from kapwa.suites.base import DataSource
from kapwa.suites.eecc import TASKS, reading
from kapwa.suites.eecc.card import release_card
from kapwa.suites.eecc.parts import PromptSet
from kapwa.suites.eecc.reading import ROLES, Parts
from kapwa.suites.reading.card import CARD_NAME, read_card
from kapwa.suites.reading.cells import UNKNOWN_HOME, Home
from kapwa.suites.reading.letters import lost_letters
from kapwa.suites.reading.naming import SAMPLE, existing, no_such_data, odd_names
from kapwa.suites.reading.tables import TABLE_SUFFIXES, Table, peek_header, read_records

PACKS = Path(__file__).parent / "packs"
DEFAULT_PACK = "nationalities"
SUFFIXES = tuple(suffix for suffix in TABLE_SUFFIXES if suffix not in (".yaml", ".yml"))
# "eecc/qa" is asked from the folder qa of the data, or from the data's folder itself.
FOLDERS = {task: task.rpartition("/")[2] for task in TASKS}
_MANY = Home("many", "en")


@dataclass
class Reading:
    """What one task's files hold, where they are, and all that is wrong or odd about them."""

    name: str
    path: Path
    folder: Path
    parts: Parts = field(default_factory=Parts)
    tables: dict[str, Table] = field(default_factory=dict)
    card: Mapping[str, Any] = field(default_factory=dict)
    card_path: Path | None = None
    files: dict[str, bytes] = field(default_factory=dict)
    released: bool = False

    @property
    def problems(self) -> list[DataError]:
        """What stops a run."""
        return self.parts.problems

    def prompt_set(self) -> PromptSet:
        """Return what the task asks; raise the first problem, with how many more there are."""
        if self.problems:
            first, others = self.problems[0], len(self.problems) - 1
            if others:
                more = f"({others} more problem{'s' * (others > 1)}: 'kapwa data check' lists them all.)"
                first.hint = f"{first.hint} {more}" if first.hint else more
            raise first
        parts = self.parts
        return PromptSet(parts.attribute, tuple(parts.templates), tuple(parts.concepts), tuple(parts.identities))

    def source(self) -> DataSource:
        """Describe where the prompts came from."""
        return DataSource(self.name, self.path, digest(self.files), self.card, bool(self.card.get("illustrative")))


def load(data: str | Path | None, task: str) -> Reading:
    """Find and read the data of ``task``, keeping problems.

    ``data``: None or "sample" (the sample pack of nationalities), "sample:PACK", a pack folder, or the released
    folder. Raises UsageError when there is nothing of that name, or nothing for this task.
    """
    text = SAMPLE if data is None else str(data)
    if text == SAMPLE:
        return read_folder(PACKS / DEFAULT_PACK, SAMPLE, task)
    if text.startswith(f"{SAMPLE}:"):
        name = text.removeprefix(f"{SAMPLE}:")
        if name not in sample_packs():
            raise UsageError(f"There is no sample pack {name!r}.", hint=nearest(name, sample_packs()))
        return read_folder(PACKS / name, text, task)
    path = existing(text)
    if path is None:
        raise no_such_data(text, sample_packs())
    if path.is_file():
        path = path.parent
    return read_folder(path, path.resolve().name, task)


def sample_packs() -> dict[str, Path]:
    """Folders of the packs that ship with Kapwa, by name."""
    return {folder.name: folder for folder in sorted(PACKS.iterdir()) if (folder / CARD_NAME).is_file()}


def role_file(folder: Path, role: str) -> Path | None:
    """Return the table of ``role`` in ``folder``, in whichever format it is."""
    return next((folder / f"{role}{suffix}" for suffix in SUFFIXES if (folder / f"{role}{suffix}").is_file()), None)


def task_folders(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield each task that ``path`` holds data of, with the folder of its concepts; a flat folder serves every task."""
    found = False
    for task, name in FOLDERS.items():
        if role_file(path / name, "concepts") or role_file(path / name, "templates"):
            found = True
            yield task, path / name
    if not found and (role_file(path, "concepts") or role_file(path, "templates")):
        own = next((task for task, name in FOLDERS.items() if path.resolve().name == name), None)
        yield from ((task, path) for task in ([own] if own else TASKS))


def read_folder(path: Path, name: str, task: str) -> Reading:
    """Read the tables of ``task`` in ``path``; raise UsageError where there are none for it."""
    folders = dict(task_folders(path))
    if task not in folders:
        known = f"It holds {' and '.join(folders)}." if folders else _FORM
        raise UsageError(f"{path} holds no prompts of {task}.", hint=known)
    found = Reading(name, path, folders[task])
    home = _home(found)
    readers = (reading.read_templates, reading.read_concepts, reading.read_identities)
    for role, read in zip(ROLES, readers, strict=True):
        table = _table(found, role)
        if table is not None:
            lost = lost_letters(reading.written_texts(role, table, home))
            found.problems.extend([*table.problems, *lost.problems])
            found.parts.oddities.extend(lost.oddities)
            read(found.parts, table, home)
    if found.released and not found.card:
        found.card = release_card()
    return found


_FORM = "A folder holds templates.csv, concepts.csv and identities.csv; see docs/reference/eecc-form.md."


def _table(found: Reading, role: str) -> Table | None:
    places = _shared_places(found.folder) if role == "identities" else (found.folder,)
    file = next((file for place in places if (file := role_file(place, role))), None)
    if file is None:
        hint = odd_names(found.folder, [role], SUFFIXES) or _FORM
        found.problems.append(DataError(f"holds no {role}.", path=found.folder, hint=hint))
        return None
    if file.suffix == ".tsv" and reading.is_released(role, peek_header(file)):
        found.released = True
        table = reading.read_released(role, file)
    else:
        table = read_records(file)
    found.tables[role] = table
    _note_bytes(found, f"{role}{file.suffix}", file)
    return table


def _home(found: Reading) -> Home:
    """Language of the templates from the card; English without one."""
    file = next((file for place in _shared_places(found.folder) if (file := place / CARD_NAME).is_file()), None)
    if file is None:
        return _MANY
    card, problems = read_card(file)
    found.problems.extend(problems)
    _note_bytes(found, CARD_NAME, file)
    found.card, found.card_path = (card.model_dump(), file) if card else ({}, None)
    return Home(card.culture, card.language) if card else UNKNOWN_HOME


def _shared_places(folder: Path) -> tuple[Path, ...]:
    """Where identities and card may lie: beside the concepts, or above the tasks' folders that share them."""
    return (folder, folder.resolve().parent) if folder.resolve().name in FOLDERS.values() else (folder,)


def _note_bytes(found: Reading, name: str, file: Path) -> None:
    # A file that cannot be read is already among the problems.
    with contextlib.suppress(OSError):
        found.files[name] = file.read_bytes()
