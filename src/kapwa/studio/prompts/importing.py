"""Take prompts in from a folder or sample pack of the perturbation form, to be agreed to."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from django.db import transaction

from kapwa.datasets.packs import choice_of_packs, locate
from kapwa.errors import UsageError, raise_first
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import record, single_writer
from kapwa.studio.core.tables import Project
from kapwa.studio.prompts.checks import read_table
from kapwa.studio.prompts.events import PLURALS, ROLES
from kapwa.suites.eecc.data import PACKS as PROMPT_PACKS
from kapwa.suites.eecc.data import read_folder, task_folders


def import_prompts(project: Project, data: str | Path) -> int:
    """Take a folder or sample pack of the perturbation form in, by nobody; return how many parts are new.

    What has the name of a part that is there is left out. Raises DataError for a row that cannot be read, UsageError
    for data whose tasks have prompts of their own.
    """
    place = locate(str(data), PROMPT_PACKS).path
    folders = dict(task_folders(place))
    if not folders:
        raise UsageError(f"{data} holds no prompts.", hint=choice_of_packs(data, place, "concepts"))
    if len(set(folders.values())) > 1:
        hint = f"Name one of its folders: {', '.join(map(str, folders.values()))}."
        raise UsageError(f"{data} holds prompts for each task apart.", hint=hint)
    tables = read_folder(place, place.name, next(iter(folders)))
    raise_first(tables.problems)
    count = 0
    with single_writer(), transaction.atomic():
        for role in ROLES:
            rows, problems = read_table(role, tables.by_role[PLURALS[role]], project)
            raise_first(problems)
            for _row, fields in rows:
                with suppress(RefusedError), transaction.atomic():  # one of that name is there already
                    record(project, f"{role}.added", {"fields": fields}, actor="")
                    count += 1
    return count
