"""Tasks to take along as files: a workbook to fill in, and a form for ODK Collect; ``taking.py`` reads both.

In both, choices are numbers, from 1 in the order shown, and each task is bound to its person, subject and revision.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from django.utils.translation import gettext as _

from kapwa.datasets.sheets import Column, Sheet, render
from kapwa.errors import MissingDependencyError, UsageError
from kapwa.studio.desks import Desk, Field, Option, Task
from kapwa.studio.devices import token_of
from kapwa.studio.interface import SOURCE, speaking, spoken
from kapwa.studio.languages import language
from kapwa.studio.models import Membership
from kapwa.tables_io import printable

# Columns that bind a row to its task; people leave them as they are.
BINDING = ("desk", "subject", "seen", "person")
BUTTON = "button"


def named(field: Field) -> str:
    """Return the heading of a field's column, which people read and :func:`name_in` finds the field by."""
    return f"{field.label} [{field.name}]"


def name_in(heading: str) -> str:
    """Return the name of the field that a heading is about, "" for one that is about none."""
    found = re.search(r"\[(\w+)\]\s*$", heading)
    return found[1] if found else ""


def listed(options: Sequence[Option]) -> str:
    """Return options as numbered lines."""
    return "\n".join(f"{place} = {one.text}" for place, one in enumerate(options, start=1))


def workbook(member: Membership, desk: Desk, tasks: Sequence[Task]) -> bytes:
    """Return tasks as a workbook, one a row; raises UsageError for a text that no cell holds."""
    fields = {field.name: field for task in tasks for field in task.fields}
    labels = list(dict.fromkeys(one.label for task in tasks for one in task.shown))
    ending = Field(BUTTON, _("How you finish"), "choice", tuple(tasks[0].buttons) if tasks else ())
    asked = [*([ending] if ending.options else []), *fields.values()]
    columns = [Column("number", 8), *(Column(label or _("Text"), 50) for label in labels)]
    for field in asked:
        columns += [Column(_("Choices for: %(field)s") % {"field": field.label}, 40)] if field.options else []
        columns.append(Column(named(field), 40 if field.kind in ("text", "long") else 12, [()] * len(tasks)))
    columns += [Column(name, 12) for name in BINDING]
    rows: list[list[str]] = []
    allowed: dict[int, list[tuple[str, ...]]] = {}
    for number, task in enumerate(tasks, start=1):
        said: dict[str, str] = {}
        for one in task.shown:
            said[one.label] = f"{said[one.label]}\n\n{one.text}" if one.label in said else one.text
        own = {field.name: field for field in task.fields}
        row = [str(number), *(said.get(label, "") for label in labels)]
        for field in asked:
            options = task.buttons if field is ending else own[field.name].options if field.name in own else ()
            if field.options:
                row.append(listed(options))
                numbers = tuple(str(place) for place in range(1, len(options) + 1))
                allowed.setdefault(len(row), []).append(numbers if field.kind == "choice" else ())
            row.append("")
        rows.append([*row, task.desk, task.subject, task.seen, token_of(member.person)])
    for place, lists in allowed.items():
        columns[place] = columns[place]._replace(allowed=lists if any(lists) else [()] * len(tasks))
    sheet = Sheet("work", _told_apart(columns), rows, _instructions(desk))
    return render(sheet, ("xlsx",))["work.xlsx"]


def _told_apart(columns: Sequence[Column]) -> list[Column]:
    """Return columns of which no two have one name; those with a field's name in it have none anyway."""
    found: dict[str, Column] = {}
    for column in columns:
        name, number = column.name, 1
        while name in found:
            number += 1
            name = f"{column.name} ({number})"
        found[name] = column._replace(name=name)
    return list(found.values())


def _instructions(desk: Desk) -> str:
    return "\n".join(
        (
            f"# {desk.title()}",
            "",
            _("Each row is one task. Read it, and fill in the coloured cells."),
            "",
            "- " + _("Where there are choices, write the number of yours; several with commas between them."),
            "- " + _("Leave all coloured cells of a row empty to leave the task out."),
            "- "
            + _("Change nothing else. Save the file, and give it back on the page “Work”, under “Bring work back”."),
        )
    )


def xlsform(member: Membership, desk: Desk, tasks: Sequence[Task]) -> bytes:
    """Return tasks as a form for ODK Collect (XLSForm), which pyxform's own checks have passed.

    Its labels are in English and in those of the project's languages that the interface has. Raises
    MissingDependencyError without pyxform, UsageError where there are no tasks or the form is refused.
    """
    if find_spec("pyxform") is None:
        raise MissingDependencyError("pyxform", extra="odk", purpose="A form for ODK Collect")
    if not tasks:
        raise UsageError(_("There are no tasks for you now."), hint=_("Come back later."))
    tags = [tag for tag in spoken(member.project) if tag == SOURCE or tag in member.project.languages]
    form = _Form(tags)
    form.calculated("person", token_of(member.person))
    for number, task in enumerate(tasks, start=1):
        _group(form, f"t{number}", f"{number}/{len(tasks)}", desk, member, task)
    form_id = f"{member.project.slug}-{desk.name}-{token_of(member.person)[:8]}"
    title = {
        "form_title": f"{member.project.title}: {desk.title()}",
        "form_id": form_id,
        "default_language": _called(SOURCE),
    }
    content = _book({"survey": form.survey, "choices": form.choices, "settings": [title]})
    _check(content)
    return content


class _Form:
    """The rows of an XLSForm; a label is a text in each of ``tags``."""

    def __init__(self, tags: Sequence[str]) -> None:
        self.tags = tags
        self.survey: list[dict[str, str]] = []
        self.choices: list[dict[str, str]] = []
        self._lists: dict[tuple[str, ...], str] = {}

    def add(self, kind: str, name: str, labels: Sequence[str] = (), **more: str) -> None:
        """Add a row to the survey."""
        self.survey.append({"type": kind, "name": name, **self._labels(labels), **more})

    def calculated(self, name: str, value: str) -> None:
        """Add a value that the form brings back as it is."""
        if "'" in value:
            raise UsageError(f"A task is called {value!r}, which a form for ODK Collect cannot say.")
        self.survey.append({"type": "calculate", "name": name, "calculation": f"'{value}'"})

    def list_of(self, options: Sequence[Sequence[Option]]) -> str:
        """Return the name of the list of these choices, the same in each language; names of choices are numbers."""
        texts = tuple(one.text for same in options for one in same)
        if texts not in self._lists:
            self._lists[texts] = f"list_{len(self._lists) + 1}"
            for place, same in enumerate(zip(*options, strict=True), start=1):
                labels = self._labels([one.text for one in same])
                self.choices.append({"list_name": self._lists[texts], "name": str(place), **labels})
        return self._lists[texts]

    def _labels(self, labels: Sequence[str]) -> dict[str, str]:
        # "${" would begin a reference to another question.
        return {
            f"label::{_called(tag)}": text.replace("${", "$ {") for tag, text in zip(self.tags, labels, strict=False)
        }


def _called(tag: str) -> str:
    """Return what an XLSForm calls a language, which Collect shows to choose from."""
    return f"{language(tag).name} ({tag})"


def _group(form: _Form, key: str, number: str, desk: Desk, member: Membership, task: Task) -> None:
    """Add a task; what is filled in is ``KEY_FIELD``, and ``KEY_button`` where it ends in one of several ways."""
    titles, tasks, endings = [], [], []
    for tag in form.tags:
        with speaking(tag, member.project):
            titles.append(f"{desk.title()} {number}")
            tasks.append(desk.find(member, task.subject, task.seen) or task)
            endings.append(_("How you finish"))
    form.add("begin group", key, titles)
    for name, value in (("desk", task.desk), ("subject", task.subject), ("seen", task.seen)):
        form.calculated(f"{key}_{name}", value)
    for place in range(len(task.shown)):
        said = [": ".join(filter(None, (one.shown[place].label, one.shown[place].text))) for one in tasks]
        form.add("note", f"{key}_note_{place + 1}", said)
    ended = f"${{{key}_{BUTTON}}}"
    if task.buttons:
        form.add(f"select_one {form.list_of([one.buttons for one in tasks])}", f"{key}_{BUTTON}", endings)
    for place, field in enumerate(task.fields):
        own = [one.fields[place] for one in tasks]
        kind = "text"
        if field.options:
            choose = "select_multiple" if field.kind == "many" else "select_one"
            kind = f"{choose} {form.list_of([one.options for one in own])}"
        more = {"appearance": "multiline"} if field.kind == "long" else {}
        if task.buttons:
            counts = [p for p, one in enumerate(task.buttons, 1) if not field.only_with or one.value in field.only_with]
            more |= {"required": "yes"} if field.required else {}
            more |= {"relevant": " or ".join(f"{ended} = '{place}'" for place in counts)}
        form.add(kind, f"{key}_{field.name}", [one.label for one in own], **more)
    form.add("end group", "")


def _book(sheets: Mapping[str, Sequence[Mapping[str, str]]]) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        page = book.create_sheet(name)
        heading = list(dict.fromkeys(column for row in rows for column in row))
        page.append(heading)
        for row in rows:
            page.append([printable(row.get(column, "")) for column in heading])
        for cell in (cell for line in page.iter_rows() for cell in line if cell.value):
            cell.data_type = "s"  # a text even where openpyxl would take it for a formula
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _check(content: bytes) -> None:
    from pyxform.errors import PyXFormError
    from pyxform.xls2xform import convert

    try:
        convert(xlsform=content, validate=False, file_type=".xlsx")
    except PyXFormError as error:
        raise UsageError(f"pyxform refuses the form: {error}", hint="Tell whoever runs the studio.") from None
