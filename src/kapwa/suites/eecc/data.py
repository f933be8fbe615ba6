"""Find and read what a task asks: sample packs, pack folders, the released folder, and lists of identities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from kapwa.datasets.card import CARD_NAME
from kapwa.datasets.packs import DataSet, existing, locate, odd_names, table_files
from kapwa.datasets.rows import Defaults, Origin
from kapwa.datasets.yaml_models import shipped_card
from kapwa.errors import DataError, UsageError
from kapwa.files import read_text
from kapwa.suites.eecc.form import (
    DEFAULT_TEMPLATE,
    NATIONALITY,
    RELEASE_CARD,
    Concept,
    Identity,
    Template,
    attribute_of,
    identity_model,
    is_released,
    read_released,
    with_crossed,
)
from kapwa.suites.eecc.variants import TASKS
from kapwa.tables import TABLE_SUFFIXES, TextTable, peek_header, read_records

PACKS = Path(__file__).parent / "packs"
DEFAULT_PACK = "nationalities"
EECC_ID = "shaily99/eecc"
# Only the prompts of the data set on the hub: its responses are gigabytes, and "kapwa analyze" reads them.
PROMPT_FILES = ("identities.*", "*concepts.*", "*templates.*")
ROLES = ("templates", "concepts", "identities")
# "eecc/qa" is asked from the folder qa of the data, or from the data's folder itself.
FOLDERS = {task: task.rpartition("/")[2] for task in TASKS}
# On the hub the tables of a task begin with its name: "qa/qa_concepts.tsv", "stories/story_concepts.tsv".
_BEGINNINGS = {"qa": "qa_", "stories": "story_"}
_SUFFIXES = tuple(suffix for suffix in TABLE_SUFFIXES if suffix not in (".yaml", ".yml"))
_FORM = "A folder holds templates.csv, concepts.csv and identities.csv; see docs/reference/eecc-form.md."
_NO_CARD: Defaults = {"culture": "many", "language": "en"}


@dataclass
class Prompts(DataSet):
    """The contents of one task's files, with all problems and oddities; ``folder`` is that of its concepts."""

    folder: Path = Path()
    attribute: str = NATIONALITY
    templates: list[Template] = field(default_factory=list)
    concepts: list[Concept] = field(default_factory=list)
    identities: list[Identity] = field(default_factory=list)
    by_role: dict[str, TextTable] = field(default_factory=dict)


def load(data: str | Path | None, task: str) -> Prompts:
    """Find and read the data of ``task``, keeping problems.

    ``data``: None or "sample" (the sample pack of nationalities), "sample:PACK", a pack folder, the released folder,
    or a hub id such as "shaily99/eecc". Raises UsageError when there is nothing of that name, or nothing for this task.
    """
    name, path, _ = locate(data, PACKS, default=DEFAULT_PACK, own_dataset=EECC_ID, patterns=PROMPT_FILES)
    if path.is_file():
        path, name = path.parent, path.parent.resolve().name
    return read_folder(path, name, task)


def task_folders(path: Path) -> Iterator[tuple[str, Path]]:
    """Yield each task that ``path`` holds data of, with the folder of its concepts; a flat folder serves every task."""
    by_task = {task: path / name for task, name in FOLDERS.items() if _has_prompts(path / name)}
    if by_task:
        yield from by_task.items()
    elif _has_prompts(path):
        named = [task for task, name in FOLDERS.items() if path.resolve().name == name]
        yield from ((task, path) for task in named or TASKS)


def tasks_of(folder: Path) -> tuple[str, ...]:
    """Return the tasks that a folder has concepts and templates for, without the suite's name."""
    return tuple(FOLDERS[task] for task, _ in task_folders(folder))


def _has_prompts(folder: Path) -> bool:
    return any(role_files(folder, role) for role in ("concepts", "templates"))


def role_files(folder: Path, role: str) -> list[Path]:
    """Return the tables of ``role`` in ``folder``, by the names of the form or by those that the hub has."""
    named = table_files(folder, role, _SUFFIXES)
    beginning = _BEGINNINGS.get(folder.resolve().name)
    return named or (table_files(folder, beginning + role, _SUFFIXES) if beginning else [])


def read_folder(path: Path, name: str, task: str) -> Prompts:
    """Read the tables of ``task`` in ``path``; raise UsageError where there are none for it."""
    folders = dict(task_folders(path))
    if task not in folders:
        known = f"It holds {' and '.join(folders)}." if folders else _FORM
        raise UsageError(f"{path} holds no prompts of {task}.", hint=known)
    prompts = Prompts(name, path, folder=folders[task])
    # Identities and card may lie beside the concepts, or above the tasks' folders that share them.
    shared = prompts.folder.resolve().parent if prompts.folder.resolve().name in FOLDERS.values() else prompts.folder
    card_folder = next(
        (folder for folder in (prompts.folder, shared) if (folder / CARD_NAME).is_file()), prompts.folder
    )
    defaults = prompts.read_card(card_folder, CARD_NAME) or _NO_CARD
    for role in ROLES:
        search_folders = (prompts.folder, shared) if role == "identities" else (prompts.folder,)
        file = next((file for folder in search_folders for file in role_files(folder, role)), None)
        if file is None:
            hint = odd_names(prompts.folder, [role], _SUFFIXES) or _FORM
            prompts.problems.append(DataError(f"holds no {role}.", path=prompts.folder, hint=hint))
        else:
            _read_table(prompts, role, file, defaults)
    prompts.read_labels([identity.name for identity in prompts.identities])
    if not prompts.cards and any(_is_release(role, table.path) for role, table in prompts.by_role.items()):
        prompts.cards.append(shipped_card(RELEASE_CARD).model_dump())
    return prompts


def _is_release(role: str, file: Path) -> bool:
    return file.suffix.lower() == ".tsv" and is_released(role, peek_header(file))


def _table(role: str, file: Path) -> TextTable:
    if _is_release(role, file):
        return read_released(role, file)
    table = read_records(file)
    return with_crossed(table) if role == "identities" else table


def _read_table(prompts: Prompts, role: str, file: Path, defaults: Defaults) -> None:
    table = prompts.by_role[role] = _table(role, file)
    prompts.problems += table.problems
    prompts.note_file(file, f"{role}{file.suffix}")
    if not table.header:
        return
    if role == "templates":
        unnamed = {"name": DEFAULT_TEMPLATE} if len(table.records) == 1 else {}
        prompts.templates = prompts.read(table, Template, {**defaults, **unnamed}, what="a table of templates")
    elif role == "concepts":
        concepts = prompts.read(table, Concept, what="a table of concepts")
        prompts.concepts = _merged(prompts, concepts, "concept")
    else:
        prompts.attribute, identities = _identities(prompts, table)
        prompts.identities = _merged(prompts, identities, prompts.attribute)


def _identities(data: DataSet, table: TextTable) -> tuple[str, list[Identity]]:
    try:
        column = attribute_of(table)
    except DataError as error:
        data.problems.append(error)
        return NATIONALITY, []
    rows: list[Identity] = list(data.read(table, identity_model(column), what="a table of identities"))
    return NATIONALITY if column == "identity" else column, rows


NamedT = TypeVar("NamedT", Concept, Identity)


def _merged(data: DataSet, rows: Sequence[NamedT], column: str) -> list[NamedT]:
    """Return rows of which those listed twice count once; two that are written otherwise are a problem."""
    first: dict[tuple[str, str], NamedT] = {}
    for row in rows:
        before = first.setdefault((row.topic if isinstance(row, Concept) else "", row.name), row)
        repeated = f"{row.name!r} is already row {before.origin.row}"
        if before.texts != row.texts:
            message = f"{repeated}, written otherwise in prompts."
            data.problems.append(row.origin.problem(message, column, "Keep one of the two rows."))
        elif before is not row:
            data.oddities.append(row.origin.finding("warning", f"{repeated}: the two are merged", column))
    return list(first.values())


def file_of(wanted: Sequence[str]) -> Path | None:
    """Return the file that the one name given is, if it is one."""
    if len(wanted) != 1:
        return None
    path = existing(wanted[0])
    if path is not None and path.is_file():
        return path
    if Path(wanted[0]).suffix.lower() in (*TABLE_SUFFIXES, ".txt"):
        raise UsageError(f"There is no file {wanted[0]!r}.")
    return None


def lines_of(file: Path) -> list[str]:
    """Return the names that a file lists, one a line, each once."""
    names = list(dict.fromkeys(line.strip() for line in read_text(file).splitlines() if line.strip()))
    if not names:
        raise DataError("is empty.", path=file)
    return names


def read_identities(file: Path, attribute: str) -> tuple[str, list[Identity]]:
    """Read a list of identities (.txt, one a line) or a table as in a pack; return them and the attribute's name.

    Raises DataError for a file that is not of the form.
    """
    if file.suffix.lower() in (".txt", ".list", ""):
        named = [{"name": name, "origin": Origin(file, row)} for row, name in enumerate(lines_of(file), start=1)]
        return attribute, [Identity.model_validate(cells) for cells in named]
    table = _table("identities", file)
    listed = DataSet(file.name, file, problems=list(table.problems))
    attribute, rows = _identities(listed, table) if table.header else (attribute, [])
    if listed.problems:
        raise listed.problems[0]
    return attribute, _merged(listed, rows, attribute)
