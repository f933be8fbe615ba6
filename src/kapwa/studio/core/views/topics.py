"""Topics of situations and questions, from above or from sessions."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence

from django import forms
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from kapwa.studio.core.forms import form_of
from kapwa.studio.core.gate import MOST_RECORDS, pasted_lines
from kapwa.studio.core.log import lock_project, record, single_writer
from kapwa.studio.core.posted import PageForm, posted
from kapwa.studio.core.roles import EVERYONE, WRITERS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Topic
from kapwa.studio.core.text import tidy
from kapwa.studio.core.views.common import act, show
from kapwa.studio.core.views.fields import TypedField
from kapwa.value_types import JsonObject


class TopicForm(PageForm):
    """A topic, or many pasted; ``usual``: whether those that were offered before stay."""

    name = forms.CharField(required=False, max_length=200)
    source = forms.CharField(required=False, max_length=500)
    target = forms.IntegerField(required=False, min_value=0, max_value=10_000)
    origin = forms.ChoiceField(required=False, choices=[("seed", ""), ("session", "")])
    usual = forms.ChoiceField(required=False, choices=[("keep", ""), ("drop", "")])
    pasted = TypedField(100_000, required=False)


@page("topics/", read=EVERYONE, write=WRITERS, hold_write_lock=False)
def topics(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List topics with their coverage; add one, or many pasted as lines "topic, source". One that is there stays."""
    form = TopicForm(posted(request))
    if not form.is_valid():
        listed = list(Topic.objects.filter(project=visit.project, retired=False))
        of = form_of(visit.project)
        shown = {"topics": listed, "usual": () if listed else of.topics, "topic": form}
        return show(visit, "topics", 400 if form.errors else 200, **shown, coverage=of.topic_coverage(visit.project))
    rows = [(*_cells(line), 0) for line in pasted_lines(form.cleaned_data["pasted"])]
    rows.append((form.cleaned_data["name"], form.cleaned_data["source"], form.cleaned_data["target"] or 0))
    bodies: dict[str, JsonObject] = {}
    for name, source, wanted in rows:
        if topic := tidy(name, 200):
            where = form.cleaned_data["origin"] or "seed"
            bodies.setdefault(topic, {"name": topic, "source": tidy(source, 500), "target": wanted, "origin": where})
    added = list(bodies.values())
    if form.cleaned_data["usual"] == "keep" and not Topic.objects.filter(project=visit.project, retired=False).exists():
        # Those that were offered stay.
        about = {"source": "", "target": 0, "origin": "seed"}
        _add(visit, [{"name": name, **about} for name in form_of(visit.project).topics], actor="")
    for first in range(0, len(added), MOST_RECORDS):  # so that nobody waits long
        _add(visit, added[first : first + MOST_RECORDS], actor=visit.member.author)
    return redirect("topics", project=visit.project.slug)


def _add(visit: Visit, bodies: Sequence[Mapping[str, object]], *, actor: str) -> None:
    """Record topics; one that is there stays."""
    with single_writer(), transaction.atomic():
        lock_project(visit.project)
        names = set(Topic.objects.filter(project=visit.project, retired=False).values_list("name", flat=True))
        for body in bodies:
            if body["name"] not in names:
                record(visit.project, "topic.added", body, actor=actor)


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
