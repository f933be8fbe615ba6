"""Topics: seeds from above, pasted or typed, and what came up in sessions."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio.events import record
from kapwa.studio.fields import tidy
from kapwa.studio.models import Situation, Topic
from kapwa.studio.roles import EVERYONE, WRITERS
from kapwa.studio.security import Visit, page
from kapwa.studio.views.common import act, show, whole
from kapwa.studio.views.overview import coverage

MOST_PASTED = 500


@page("topics/", read=EVERYONE, write=WRITERS)
def topics(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List topics with their coverage; add one, or many pasted as lines "topic, source"."""
    if request.method == "POST":
        origin = "session" if request.POST.get("origin") == "session" else "seed"
        pasted = [line for line in tidy(request.POST.get("pasted", ""), 100_000).split("\n") if line.strip()]
        if len(pasted) > MOST_PASTED:
            raise UsageError(
                _("%(n)d lines were pasted; at most %(most)d fit.") % {"n": len(pasted), "most": MOST_PASTED},
                hint=_("Paste fewer at once."),
            )
        there = set(Topic.objects.filter(project=visit.project, retired=False).values_list("name", flat=True))
        for line in pasted:
            name, _comma, source = (part.strip() for part in line.replace("\t", ",").partition(","))
            if name and name not in there:
                there.add(name)
                body = {"name": tidy(name, 200), "source": tidy(source, 500), "origin": origin, "target": 0}
                record(visit.project, "topic.added", body, actor=visit.member.author)
        if request.POST.get("name", "").strip():
            body = {
                "name": tidy(request.POST["name"], 200),
                "source": tidy(request.POST.get("source", ""), 500),
                "origin": origin,
                "target": whole(request.POST.get("target")),
            }
            act(request, visit, "topic.added", body)
        return redirect("topics", project=visit.project.slug)
    found = list(Topic.objects.filter(project=visit.project, retired=False))
    rows = coverage(visit.project, Situation.objects.filter(project=visit.project))
    return show(request, visit, "topics", topics=found, coverage=[one for one in rows if one.by == "topic"])


@page("topics/<str:topic>/retire/", write=WRITERS)
def retire_topic(request: HttpRequest, visit: Visit, topic: str) -> HttpResponse:
    """Take a topic off the list."""
    act(request, visit, "topic.retired", {}, subject=topic[:36])
    return redirect("topics", project=visit.project.slug)
