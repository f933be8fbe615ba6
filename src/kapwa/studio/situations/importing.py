"""Take existing situations in as drafts."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from kapwa.datasets.columns import CODE, LABEL, TEXT, FormColumn
from kapwa.datasets.packs import DataSet
from kapwa.errors import DataError, raise_first
from kapwa.studio.core.importing import Rows, sound_rows, unkept
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import ConflictError, record
from kapwa.studio.core.roles import WRITERS
from kapwa.studio.core.tables import Event, Project
from kapwa.studio.core.text import tidy
from kapwa.studio.situations.fields import GLOSS, SLOTS, words
from kapwa.studio.situations.tables import Revision
from kapwa.suites.kalahi.data import PACKS, ROLE, load_path, released_files
from kapwa.suites.kalahi.drafts import Draft, with_best
from kapwa.suites.kalahi.form import PARTS, RESPONSES
from kapwa.suites.kalahi.released import as_form
from kapwa.tables import Record, TextTable, peek_header
from kapwa.value_types import JsonObject

_IMPORTED = uuid.UUID("8f7f5c0e-54f1-4b6e-9d58-0d9d1c7a4b1e")
_DESCRIBING = ("topic", "category", "notes", "source")


class SituationTables:
    """Tables of situations; each row is a draft."""

    roles: tuple[str, ...] = (ROLE,)
    writers = WRITERS
    packs = PACKS
    next_step = "Send the drafts to review in the browser."

    def columns(self, project: Project, role: str, header: Sequence[str] = ()) -> list[FormColumn]:
        """Return the columns of the situation form."""
        looks = {"topic": LABEL, "context": TEXT}
        columns = [FormColumn("id", [_("Number")], CODE), FormColumn("cluster", [_("Situations that vary each other")])]
        columns.append(FormColumn("language", [words("language")], usual=project.language))
        for name in (*_DESCRIBING, *PARTS, "best", *RESPONSES, *(name + GLOSS for name in (*PARTS, *RESPONSES))):
            many = name.removesuffix(GLOSS) in RESPONSES
            columns.append(FormColumn(name, [words(name)], looks.get(name, ""), many=many, needed=name == "context"))
        return [*columns, *unkept(header)]

    def released(self, place: Path) -> Mapping[str, TextTable]:
        """Return the tables that Kalahi's authors released; a variant alone, or several together."""
        if not any("best_answer" in peek_header(file) for file in released_files(place)):
            return {}
        read = load_path(place)
        raise_first(read.problems)
        return {ROLE: as_form(read.entries)}

    def read(self, project: Project, role: str, table: TextTable) -> Rows:
        """Return the rows as drafts, each with the first row of its cluster, which it varies."""
        reader = DataSet(role, None)
        records = [Record(number, with_best(cells)) for number, cells in table.records]
        header = tuple(dict.fromkeys([*table.header, "best", "relevant"]))
        rows = reader.read(table._replace(header=header, records=records), Draft, {"culture": project.culture})
        first: dict[str, Draft] = {}

        def drafted(row: Draft) -> tuple[Mapping[str, str], Any]:
            fields = _fields(row)
            origin = first.setdefault(row.cluster or row.id, row)
            return fields, (_number(project, row), _number(project, origin), fields)

        return sound_rows(rows, drafted, reader.problems)

    def take(self, project: Project, role: str, item: Any, *, actor: str) -> bool:
        """Record a draft; one that was imported before is left as it is, and with another text refused."""
        own_number, origin, fields = item
        body: JsonObject = {"changes": fields}
        if own_number != origin:  # what the first row has and this one lacks must not be carried over
            shared = Revision.objects.filter(pk=f"{origin}:1").first()  # as it was taken in, whatever became of it
            if shared is None:
                raise RefusedError("the situation that this varies was not taken in.", hint="Correct that row first.")
            body = {"changes": {**dict.fromkeys(shared.fields, ""), **fields}, "origin": str(origin), "base": 1}
        before = Event.objects.filter(uuid=own_number).first()
        try:
            record(project, "situation.drafted", body, actor=before.actor if before else actor, uuid=own_number)
        except ConflictError:
            message = "this situation was imported before with another text."
            raise DataError(message, hint="Change it in the studio.") from None
        return before is None


def _number(project: Project, row: Draft) -> uuid.UUID:
    return uuid.uuid5(_IMPORTED, f"{project.slug}/{row.culture}/{row.id}")


def _fields(row: Draft) -> dict[str, str]:
    fields = {name: getattr(row, name) for name in ("language", *_DESCRIBING)}
    fields |= {name + end: getattr(row, name + end) for name in PARTS for end in ("", GLOSS)}
    fields["best"] = str(row.relevant.index(row.best) + 1) if row.best else ""
    for group, end in product(RESPONSES, ("", GLOSS)):
        texts = getattr(row, group + end)
        if len(texts) > SLOTS:
            message = f"has {len(texts)} responses; the studio has places for {SLOTS}."
            raise DataError(message, column=group, hint="Keep the best of them.")
        fields |= {f"{group}_{slot}{end}": text for slot, text in enumerate(texts, start=1)}
    return {name: tidy(text) for name, text in fields.items() if text}
