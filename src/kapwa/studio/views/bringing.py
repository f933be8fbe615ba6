"""Taking work along on paper and in files, and bringing it back."""

from __future__ import annotations

import tempfile
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _

from kapwa.errors import DataError, UsageError
from kapwa.studio.desks import Task, desk_of
from kapwa.studio.devices import MOST_TASKS
from kapwa.studio.roles import EVERYONE, MODERATORS
from kapwa.studio.security import Visit, page
from kapwa.studio.sheets import workbook, xlsform
from kapwa.studio.taking import Taken, take_in
from kapwa.studio.views.common import show, whole
from kapwa.studio.views.desk import draw

_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_ALONG = 20  # tasks, where nobody says how many


def _tasks(request: HttpRequest, visit: Visit, desk: str) -> list[Task]:
    found = desk_of(visit.member, desk)
    return draw(found, visit.member, max(1, whole(request.GET.get("n"), _ALONG, MOST_TASKS)), along=True)


@page("work/<slug:desk>/sheet/", read=EVERYONE)
def work_sheet(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Show tasks as a page to print and fill in by hand."""
    found, tasks = desk_of(visit.member, desk), _tasks(request, visit, desk)
    return show(request, visit, "work_sheet", desk=found, tasks=tasks, today=timezone.now().date())


@page("work/<slug:desk>/table/", read=EVERYONE)
def work_table(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Give tasks as a workbook to fill in."""
    tasks = _tasks(request, visit, desk)
    return _file(workbook(visit.member, desk_of(visit.member, desk), tasks), f"{visit.project.slug}-{desk}.xlsx")


@page("work/<slug:desk>/odk/", read=EVERYONE)
def work_odk(request: HttpRequest, visit: Visit, desk: str) -> HttpResponse:
    """Give tasks as a form for ODK Collect."""
    tasks = _tasks(request, visit, desk)
    return _file(xlsform(visit.member, desk_of(visit.member, desk), tasks), f"{visit.project.slug}-{desk}-odk.xlsx")


def _file(content: bytes, name: str) -> HttpResponse:
    answer = HttpResponse(content, content_type=_XLSX)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


@page("bring/", read=EVERYONE, write=EVERYONE, alone=False)
def bring_work(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Take in a file that was filled in elsewhere; a scribe or coordinator brings those of others, too."""
    others = visit.may(MODERATORS)
    taken: Taken | None = None
    wrong: DataError | UsageError | None = None
    if request.method == "POST":
        sent = request.FILES.get("file")
        if sent is None:
            wrong = UsageError(_("No file came."), hint=_("Choose one."))
        else:
            with tempfile.TemporaryDirectory(prefix="kapwa-studio-") as place:
                path = Path(place) / (Path(sent.name or "").name[-60:] or "file")
                path.write_bytes(sent.read())
                try:
                    taken = take_in(visit.project, path, only=None if others else visit.member, by=visit.member.author)
                except DataError as error:
                    error.path = path.name
                    wrong = error
    status = 400 if wrong else 200
    return show(request, visit, "bring", status, taken=taken, wrong=wrong, others=others)
