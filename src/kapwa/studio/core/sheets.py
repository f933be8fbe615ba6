"""Tasks to take along as files: a workbook to fill in, and a form for ODK Collect; ``intake.py`` reads both.

In both, choices are numbers, from 1 in the order shown, and each task is bound to its person, subject and revision.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from kapwa.datasets.sheets import Sheet, SheetColumn, render
from kapwa.errors import MissingDependencyError, UsageError
from kapwa.studio.core.desks import BUTTON, Desk, DeskTask, Field, Option, Shown, task_of
from kapwa.studio.core.intake import binding, token_of
from kapwa.studio.core.interface import SOURCE, speaking, spoken
from kapwa.studio.core.languages import language
from kapwa.studio.core.tables import Membership
from kapwa.tables import printable

_Rows = list[dict[str, str]]


def workbook(member: Membership, desk: Desk, tasks: Sequence[DeskTask]) -> bytes:
    """Return tasks as a workbook, one a row; raises UsageError for a text that no cell holds."""
    parts = [(SheetColumn("number", 8), [str(number) for number in range(1, len(tasks) + 1)])]
    for place, shown in enumerate(zip_longest(*(task.shown for task in tasks)), start=1):
        parts.append((SheetColumn(f"{_('Text')} {place}", 50), [_as_line(text) if text else "" for text in shown]))
    for fields in zip(*(task.asked for task in tasks), strict=True):
        name, label = fields[0].name, fields[0].label
        if fields[0].options:
            choices = [_choices(field) for field in fields]
            parts.append((SheetColumn(_("Choices for: %(field)s") % {"field": name}, 40), choices))
        allowed = [tuple(str(number) for number, _one in _numbered(field.options)) for field in fields]
        parts.append((SheetColumn(f"{label} [{name}]", 12 if fields[0].options else 40, allowed), [""] * len(tasks)))
    parts.append((SheetColumn("[task]", 12), [binding(member, task) for task in tasks]))
    rows = list(zip(*(cells for _column, cells in parts), strict=True))
    instructions = render_to_string("studio/work_instructions.html", {"desk": desk})
    sheet = Sheet("work", [column for column, _cells in parts], rows, instructions)
    return render(sheet, ("xlsx",))["work.xlsx"]


def _numbered(options: Sequence[Option]) -> list[tuple[int, Option]]:
    return list(enumerate(options, start=1))


def _choices(field: Field) -> str:
    return "\n".join(f"{number} = {option.text}" for number, option in _numbered(field.options))


def _as_line(shown: Shown) -> str:
    return ": ".join(filter(None, (shown.label, shown.text)))


def xlsform(member: Membership, desk: Desk, tasks: Sequence[DeskTask]) -> bytes:
    """Return tasks as a form for ODK Collect (XLSForm), which pyxform's own checks have passed.

    Its labels are in English and in those of the project's languages that the interface has. Raises
    MissingDependencyError without pyxform, UsageError where the form is refused.
    """
    try:
        from pyxform.errors import PyXFormError
        from pyxform.xls2xform import convert
    except ImportError:
        raise MissingDependencyError("pyxform", extra="odk", purpose="A form for ODK Collect") from None
    project, form = member.project, dict[str, _Rows]()
    for tag in spoken(project):
        if tag == SOURCE or tag in project.languages:
            with speaking(tag, project):
                sheets = _form(member, desk, tasks)
            for name, rows in sheets.items():
                for row, translated in zip(form.setdefault(name, rows), rows, strict=True):
                    row[f"label::{_called(tag)}"] = translated.pop("label").replace("${", "$ {")  # begins a reference
    form["settings"] = [
        {
            "form_title": f"{project.title}: {desk.title()}",
            "form_id": f"{project.slug}-{desk.name}-{token_of(member.person_id)[:8]}",
            "default_language": _called(SOURCE),
        }
    ]
    content = _book(form)
    try:
        convert(xlsform=content, validate=False, file_type=".xlsx")
    except PyXFormError as error:
        raise UsageError(f"pyxform refuses the form: {error}", hint="Tell whoever runs the studio.") from None
    return content


def _called(tag: str) -> str:
    """Return what an XLSForm calls a language, which Collect shows to choose from."""
    return f"{language(tag).name} ({tag})"


def _form(member: Membership, desk: Desk, tasks: Sequence[DeskTask]) -> dict[str, _Rows]:
    """Return the rows of a form's sheets, with labels in the interface's present language.

    Each task is a group ``tN``; what is filled in is ``tN_FIELD``.
    """
    survey: _Rows = []
    choices: _Rows = []

    def add(kind: str, name: str, label: str = "", **more: str) -> None:
        survey.append({"type": kind, "name": name, "label": label, **more})

    for number, task in enumerate(tasks, start=1):
        key, translated = f"t{number}", task_of(member, desk.name, task.subject, task.seen)
        add("begin group", key, f"{desk.title()} {number}/{len(tasks)}")
        add("calculate", f"{key}_task", calculation=f"'{binding(member, task)}'")
        for place, shown in enumerate(translated.shown, start=1):
            add("note", f"{key}_note_{place}", _as_line(shown))
        for field in translated.asked:
            name, more = f"{key}_{field.name}", {}
            if field.name != BUTTON:
                only_with = field.only_with or [button.value for button in translated.buttons]
                counts = [n for n, button in _numbered(translated.buttons) if button.value in only_with]
                more = {"relevant": " or ".join(f"${{{key}_{BUTTON}}} = '{n}'" for n in counts)}
                more |= {"required": "yes"} if field.required else {}
            more |= {"appearance": "multiline"} if field.kind == "long" else {}
            add(f"select_one {name}" if field.options else "text", name, field.label, **more)
            for place, option in _numbered(field.options):
                choices.append({"list_name": name, "name": str(place), "label": option.text})
        add("end group", "")
    return {"survey": survey, "choices": choices}


def _book(sheets: Mapping[str, _Rows]) -> bytes:
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
