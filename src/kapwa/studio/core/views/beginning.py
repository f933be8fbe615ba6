"""Projects to begin, to bring back from an archive, and to choose from.

Whoever runs the studio comes with the code that it printed at its start; coordinators begin further projects without.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from django import forms
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from kapwa.studio import commands
from kapwa.studio.core.exchange import import_project
from kapwa.studio.core.gate import MOST_ARCHIVED, brought
from kapwa.studio.core.languages import known, tags_of
from kapwa.studio.core.members import hashed, new_code
from kapwa.studio.core.posted import PageForm, SetText, posted, posted_files, pressed
from kapwa.studio.core.roles import COORDINATOR, ROLES
from kapwa.studio.core.security import public_page
from kapwa.studio.core.tables import Invitation, Membership, Person, Project, change
from kapwa.studio.core.text import listed
from kapwa.studio.core.views.entry import INVITED, TAKING_PART
from kapwa.studio.core.views.fields import TypedField, checked
from kapwa.studio.core.views.project import MOST_INVITED
from kapwa.studio.settings import START_PAGE
from kapwa.user_suites import fitting_name
from kapwa.value_types import JsonMapping

KINDS = listed("what a project makes")
_NEEDS = listed("who a project needs")


class NewProject(PageForm):
    """What makes a project: what it is called, whose culture, languages, which form, and who takes part."""

    title = forms.CharField(max_length=200)
    culture = forms.CharField(max_length=200)
    languages = forms.CharField(max_length=1000)
    form = forms.ChoiceField(choices=KINDS.items())
    slug = forms.CharField(max_length=63, required=False)

    def __init__(self, data: Mapping[str, object] | None = None) -> None:
        super().__init__(data)
        for role in ROLES:
            self.fields[role] = forms.IntegerField(min_value=0, max_value=MOST_INVITED, required=False)
        del self.fields[COORDINATOR]

    def clean_languages(self) -> list[str]:
        """Return the tags of the languages."""
        return checked(tags_of, self.cleaned_data["languages"])

    def clean_slug(self) -> str:
        """Return the name for files; without one it is made of the title."""
        return checked(commands.free_name, self.cleaned_data["slug"] or fitting_name(self.data.get("title", "")))


class ArchiveForm(PageForm):
    """A project that is brought back from files, and the name that it has for files here."""

    restored = TypedField(63, line=True)
    archive = forms.FileField(allow_empty_file=True)
    secret = forms.FileField(allow_empty_file=True, required=False)
    withdrawn = forms.FileField(allow_empty_file=True, required=False)

    def clean_restored(self) -> str:
        """Return the name."""
        return checked(commands.free_name, self.cleaned_data["restored"])


class ChosenProject(PageForm):
    """The project into which whoever runs the studio comes."""

    project = SetText(max_length=63)


@public_page("projects/")
def projects(request: HttpRequest) -> HttpResponse:
    """List the projects of who is here."""
    if not isinstance(request.user, Person):
        return redirect("enter")
    members = Membership.objects.filter(person=request.user, left=None).select_related("project")
    shown = {"members": members.order_by("project__title"), "begins": _coordinates(request)}
    return render(request, "studio/projects.html", shown)


def _coordinates(request: HttpRequest) -> bool:
    memberships = Membership.objects.filter(person=request.user.pk, left=None).exclude(person=None)
    return any(COORDINATOR in member.roles for member in memberships)


@public_page("begin/", posts=True)
def begin(request: HttpRequest) -> HttpResponse:
    """Make a project by a form, or bring one back, and go on to come in as its coordinator.

    Who came with the start's code may bring one back or come into one that is here, as they may on the command line.
    """
    start = Invitation.objects.filter(pk=request.session.get(INVITED), project=None, used=None).first()
    if start is None and not _coordinates(request):
        return redirect("enter")
    action = pressed(request, "new", "restore", "enter")
    form = NewProject(posted(request) if action == "new" else None)
    archive = ArchiveForm(*((posted(request), posted_files(request)) if start and action == "restore" else ()))
    chosen = ChosenProject(posted(request) if start and action == "enter" else None)
    if form.is_valid():
        about = {name: form.cleaned_data[name] for name in NewProject.base_fields}
        project = commands.new_project(about.pop("slug"), language=about["languages"][0], **about)
        counts = {role: count for role in ROLES if (count := form.cleaned_data.get(role))}
        request.session[TAKING_PART] = [project.pk, counts]
    elif archive.is_valid():
        project = _restored(archive.cleaned_data)
    elif chosen.is_valid():
        project = get_object_or_404(Project, slug=chosen.cleaned_data["project"])
    else:
        kinds = [(kind, text, _NEEDS[kind]) for kind, text in KINDS.items()]
        shown = {"form": form, "archive": archive, "kinds": kinds, "known": known(), "roles": ROLES, "start": start}
        shown["projects"] = Project.objects.order_by("title") if start else ()
        return render(request, "studio/begin.html", shown, status=400 if request.method == "POST" else 200)
    start = start or Invitation(code=hashed(new_code()), roles=[COORDINATOR])
    change(start, project=project)
    (Path(settings.KAPWA_HOME) / START_PAGE).unlink(missing_ok=True)  # a further start opens the studio itself
    request.session[INVITED] = start.pk
    return redirect("join_project")


def _restored(sent: JsonMapping) -> Project:
    """Bring a project back from files that were sent, by what the command calls, too."""
    with ExitStack() as kept:
        paths = {}
        for name, kind in (("archive", ".zip"), ("secret", ".secret"), ("withdrawn", ".jsonl")):
            if sent[name]:
                sent[name].name = f"{name}{kind}"
                paths[name] = kept.enter_context(brought([sent[name]], (kind,), most=MOST_ARCHIVED))
        return import_project(sent["restored"], paths.pop("archive"), **paths)
