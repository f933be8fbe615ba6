"""Topics of situations and questions, from above or from sessions."""

from __future__ import annotations

import csv

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kapwa.studio.core.forms import form_of
from kapwa.studio.core.log import record
from kapwa.studio.core.roles import EVERYONE, WRITERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Topic
from kapwa.studio.core.text import tidy
from kapwa.studio.core.views.common import act, show, whole


@page("topics/", read=EVERYONE, write=WRITERS)
def topics(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List topics with their coverage; add one, or many pasted as lines "topic, source". One that is there stays."""
    listed = list(Topic.objects.filter(project=visit.project, retired=False))
    if request.method != "POST":
        coverage = form_of(visit.project).topic_coverage(visit.project)
        return show(visit, "topics", topics=listed, coverage=coverage)
    origin, target = request.POST.get("origin"), whole(request.POST.get("target"))
    rows = [(*_cells(line), 0) for line in tidy(request.POST.get("pasted", ""), 100_000).split("\n")]
    rows.append((request.POST.get("name", ""), request.POST.get("source", ""), target))
    names = {topic.name for topic in listed}
    for name, source, wanted in rows:
        topic = tidy(name, 200)
        if topic and topic not in names:
            names.add(topic)
            body = {"name": topic, "source": tidy(source, 500), "target": wanted}
            body["origin"] = "session" if origin == "session" else "seed"
            record(visit.project, "topic.added", body, actor=visit.member.author)
    return redirect("topics", project=visit.project.slug)


def _cells(line: str) -> tuple[str, str]:
    """Return the topic and source of a line of CSV, or of one copied from a spreadsheet, which has tabs."""
    rows = csv.reader([line], delimiter="\t" if "\t" in line else ",", skipinitialspace=True)
    name, *sources = next(rows, []) or [""]
    return name, ", ".join(sources)


@page("topics/<str:topic>/retire/", write=WRITERS)
def retire_topic(request: HttpRequest, visit: Visit, topic: str) -> HttpResponse:
    """Take a topic off the list."""
    act(visit, "topic.retired", {}, subject=topic[:36])
    return redirect("topics", project=visit.project.slug)
