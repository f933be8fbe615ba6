"""What people judged: how far each draw has come, the figures, and the files that Kapwa's commands read."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from kapwa.errors import KapwaError
from kapwa.studio.models import Drawn, Judgement, TaskSet
from kapwa.studio.rating import TITLES
from kapwa.studio.results import figures, result_files
from kapwa.studio.roles import COORDINATORS
from kapwa.studio.security import Visit, page
from kapwa.studio.views.common import show, zipped


@page("results/", read=COORDINATORS)
def results(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List what was drawn for people, by kind, with how much of it is done."""
    rows: dict[str, list[dict[str, Any]]] = {}
    for one in TaskSet.objects.filter(project=visit.project).order_by("number"):
        drawn = list(Drawn.objects.filter(set=one.id).values_list("id", flat=True))
        done = Judgement.objects.filter(drawn__in=drawn).count()
        rows.setdefault(one.kind, []).append({"set": one, "done": done, "wanted": len(drawn) * one.raters})
    kinds = [(kind, _(TITLES[kind]), found) for kind, found in rows.items()]
    return show(request, visit, "results", kinds=kinds)


@page("results/<slug:kind>/", read=COORDINATORS)
def result(request: HttpRequest, visit: Visit, kind: str) -> HttpResponse:
    """Show what people said of one kind, as the report of a run shows it."""
    if not TaskSet.objects.filter(project=visit.project, kind=kind).exists():
        raise Http404
    try:
        found, error = figures(visit.project, kind), None
    except KapwaError as missing:
        found, error = {}, missing
    return show(request, visit, "result", kind=kind, title=_(TITLES[kind]), found=found, error=error)


@page("results/<slug:kind>/files/", read=COORDINATORS)
def result_archive(request: HttpRequest, visit: Visit, kind: str) -> HttpResponse:
    """Give the files of one kind, as ``kapwa studio results`` writes them."""
    if kind not in TITLES:
        raise Http404
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in result_files(visit.project, kind).items():
            packed.writestr(f"{kind}/{name}", content)
    return zipped(out.getvalue(), f"{visit.project.slug}-{kind}")
