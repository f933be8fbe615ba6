"""Take existing situations in as drafts."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from django.db import transaction

from kapwa.datasets.packs import choice_of_packs, locate, table_files
from kapwa.errors import DataError, raise_first
from kapwa.studio.core.log import ConflictError, record, single_writer
from kapwa.studio.core.tables import Project
from kapwa.studio.core.text import tidy
from kapwa.studio.situations.fields import GLOSS, SLOTS
from kapwa.studio.situations.tables import Revision, Situation
from kapwa.suites.kalahi.data import PACKS, ROLE, Situations
from kapwa.suites.kalahi.form import PARTS, RESPONSES
from kapwa.suites.kalahi.form import Situation as Row

_IMPORTED = uuid.UUID("8f7f5c0e-54f1-4b6e-9d58-0d9d1c7a4b1e")


def import_situations(project: Project, data: str | Path) -> int:
    """Take the rows of a table or pack of the situation form in as drafts of nobody; return how many are new.

    ``data``: a file, a pack folder or ``sample:PACK``. A row that was imported before is left as it is. Raises
    DataError for rows that cannot be read, for more responses than there are places, and for a row that changed since.
    """
    place = locate(str(data), PACKS).path
    files = table_files(place, ROLE) if place.is_dir() else [place]
    if not files:
        raise DataError("holds no situations.", path=place, hint=choice_of_packs(data, place, ROLE))
    reader = Situations(place.name, place)
    rows = reader.read(files[0], Row, reader.read_card(files[0].parent))
    raise_first(reader.problems)
    before = Situation.objects.filter(project=project).count()
    first: dict[str, uuid.UUID] = {}
    with single_writer(), transaction.atomic():
        for row in rows:
            event_id = uuid.uuid5(_IMPORTED, f"{project.slug}/{row.culture}/{row.id}")
            body: dict[str, Any] = {"changes": _fields(row)}
            origin = first.setdefault(row.cluster, event_id)
            if origin != event_id:  # what the first row has and this one lacks must not be carried over
                shared = Revision.objects.get(pk=f"{origin}:1").fields  # as it was taken in, whatever became of it
                body["changes"] = {**dict.fromkeys(shared, ""), **body["changes"]}
                body |= {"origin": str(origin), "base": 1}
            try:
                record(project, "situation.drafted", body, actor="", uuid=event_id)
            except ConflictError:
                message = f"the situation {row.id!r} was imported before with another text."
                path, number = row.origin
                raise DataError(message, path=path, row=number, hint="Change it in the studio.") from None
    return Situation.objects.filter(project=project).count() - before


def _fields(row: Row) -> dict[str, str]:
    path, number = row.origin
    fields = {"language": row.language, "topic": row.topic, "category": row.category, "notes": row.notes}
    fields |= {"source": row.source, "best": str(row.relevant.index(row.best) + 1)}
    fields |= {name + end: getattr(row, name + end) for name in PARTS for end in ("", GLOSS)}
    for group in RESPONSES:
        if len(getattr(row, group)) > SLOTS:
            message = f"has {len(getattr(row, group))} responses; the studio has places for {SLOTS}."
            raise DataError(message, path=path, row=number, column=group, hint="Keep the best of them.")
        for end in ("", GLOSS):
            fields |= {f"{group}_{slot}{end}": text for slot, text in enumerate(getattr(row, group + end), start=1)}
    return {name: tidy(text) for name, text in fields.items() if text}
