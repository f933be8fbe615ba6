"""Take concepts, identities and templates of prompts in from tables of the perturbation form, to be agreed to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from django.utils.translation import gettext as _

from kapwa.datasets.columns import LABEL, TEXT, FormColumn
from kapwa.errors import UsageError
from kapwa.studio.core.importing import Rows
from kapwa.studio.core.languages import language
from kapwa.studio.core.log import record
from kapwa.studio.core.roles import WORDERS
from kapwa.studio.core.tables import Project
from kapwa.studio.core.text import listed
from kapwa.studio.prompts.checks import read_table
from kapwa.studio.prompts.events import IDENTITY, NAMES, PLURALS, TEMPLATE
from kapwa.studio.prompts.tables import PromptPart
from kapwa.suites.eecc.data import PACKS, read_folder, task_folders
from kapwa.suites.eecc.form import DEFAULT_TEMPLATE, Named, is_released, read_released
from kapwa.tables import TextTable, peek_header

# The columns of each kind of part as people read them, besides those of its texts in other languages.
COLUMNS = {role: listed(f"columns of {plural}") for role, plural in PLURALS.items()}
_ROLES = {plural: role for role, plural in PLURALS.items()}


class PromptTables:
    """Tables of concepts, identities and templates."""

    roles: tuple[str, ...] = tuple(_ROLES)
    writers = WORDERS
    packs = PACKS
    next_step = "Two people must agree to each template and identity."

    def columns(self, project: Project, role: str, header: Sequence[str] = ()) -> list[FormColumn]:
        """Return the columns of the perturbation form, with one for each language of the project and of the table."""
        part = _ROLES[role]
        looks = {"topic": LABEL, NAMES[part]: TEXT, "template": TEXT}
        usual = {"language": project.language, "topic": "", "name": DEFAULT_TEMPLATE}
        columns = []
        for name, label in COLUMNS[part].items():
            words = [_(label), *([project.attribute] if name == IDENTITY else [])]
            needed = name in (NAMES[part], "topic", "template")
            columns.append(FormColumn(name, words, looks.get(name, ""), needed=needed, usual=usual.get(name)))
        if part != TEMPLATE:
            others = [name.partition("_")[2] for name in header if re.fullmatch(Named.more_columns, name)]
            tags = dict.fromkeys([*project.languages, "en", *others])
            columns += [FormColumn(f"text_{tag}", [language(tag).name, f"text_{tag}", tag]) for tag in tags]
        return [*columns, FormColumn("notes", [_("notes")]), FormColumn("source", [_("source")])]

    def released(self, place: Path) -> Mapping[str, TextTable]:
        """Return the tables of a folder of this form, or those that EECC's authors released, which have no header."""
        if place.is_file():
            role = place.stem
            headless = role in _ROLES and is_released(role, peek_header(place))
            return {role: read_released(role, place)} if headless else {}
        folders = dict(task_folders(place))
        if len(set(folders.values())) > 1:
            hint = f"Name one of its folders: {', '.join(map(str, folders.values()))}."
            raise UsageError(f"{place.name} holds prompts for each task apart.", hint=hint)
        return read_folder(place, place.name, next(iter(folders))).by_role if folders else {}

    def read(self, project: Project, role: str, table: TextTable) -> Rows:
        """Return the rows as parts of prompts."""
        return read_table(_ROLES[role], table, project)

    def take(self, project: Project, role: str, item: object, *, actor: str) -> bool:
        """Record a part, unless it is here; another of its name is refused."""
        part = _ROLES[role]
        here = PromptPart.objects.filter(project=project, role=part, retired=False)
        if item in list(here.values_list("fields", flat=True)):  # a database may compare the order of fields, too
            return False
        record(project, f"{part}.added", {"fields": item}, actor=actor)
        return True
