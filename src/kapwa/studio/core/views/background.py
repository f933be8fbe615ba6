"""What people say about themselves: each on a page of their own, and all together in tables for a coordinator."""

from __future__ import annotations

from django import forms
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kapwa.stats.disclosure import FEWEST
from kapwa.studio.core.background import (
    MOST_ASKED,
    STANDARD,
    BackgroundQuestion,
    asked,
    count_again,
    groups_of,
    people_counted,
    who_took_part,
)
from kapwa.studio.core.gate import pasted_lines
from kapwa.studio.core.posted import PageForm, posted
from kapwa.studio.core.roles import COORDINATORS, EVERYONE
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import change
from kapwa.studio.core.views.common import act, show
from kapwa.studio.core.views.fields import TypedField, checked
from kapwa.studio.core.views.project import note_changes, settings_of


class AboutForm(PageForm):
    """What a project asks a person about themselves; nothing is kept unless they agree to that."""

    agree = forms.BooleanField(required=False)
    public = forms.BooleanField(required=False)

    def __init__(self, questions: list[BackgroundQuestion], *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)
        self.answers, self.keys = dict[str, str](), [question.key for question in questions]
        for question in questions:
            options = [("", "–"), *((choice, _(choice)) for choice in question.choices)]
            line = forms.CharField(required=False, max_length=200, widget=forms.TextInput(attrs={"dir": "auto"}))
            field = forms.ChoiceField(required=False, choices=options) if question.choices else line
            field.label, self.fields[question.key] = _(question.text), field

    def clean(self) -> None:
        """Keep what was answered, by the key of the question; refuse it where the person does not agree to that."""
        self.answers = {key: text for key in self.keys if (text := self.cleaned_data.get(key))}
        if self.answers and not self.cleaned_data["agree"]:
            self.add_error("agree", _("Agree to this, or empty all fields."))


@page("about/", read=EVERYONE, write=EVERYONE)
def about(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Ask a person about themselves; whoever empties all fields has nothing kept."""
    member, questions = visit.member, asked(visit.project)
    now = {**member.background, "agree": bool(member.background), "public": member.background_public}
    form = AboutForm(questions, posted(request), initial=now)
    if form.is_valid():
        public = bool(form.answers) and form.cleaned_data["public"]
        groups = groups_of(visit.project, member) if form.answers else {}
        change(member, background=form.answers, background_groups=groups, background_public=public)
        count_again(visit.project)
        scopes = ["background"] * bool(form.answers) + ["background-public"] * public
        act(visit, "member.changed", {"scopes": scopes}, subject=member.author)
        return redirect("me", project=visit.project.slug)
    shown = [form[key] for key in form.keys]
    return show(visit, "about", 400 if form.errors else 200, about=form, shown=shown, fewest=FEWEST)


class AskedForm(PageForm):
    """What people of a project are asked about themselves: questions of the studio, and the project's own, by line."""

    background = forms.MultipleChoiceField(required=False, choices=[(key, "") for key in STANDARD])
    background_own = TypedField(5000, required=False)

    def clean_background(self) -> list[str]:
        """Return the keys of the questions in their order."""
        return [key for key in STANDARD if key in self.cleaned_data["background"]]

    def clean_background_own(self) -> str:
        """Return the project's own questions; refuse more than a project asks."""
        own = str(self.cleaned_data["background_own"])
        if len(checked(pasted_lines, own)) + len(self.cleaned_data.get("background", ())) > MOST_ASKED:
            message = _("A project asks at most %(most)s questions about people.") % {"most": MOST_ASKED}
            remedy = _("Ask only what you will use.")
            raise forms.ValidationError(f"{message} {remedy}")
        return own


@page("who/", read=COORDINATORS, write=COORDINATORS)
def who(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show who took part, in groups of at least five; choose what people are asked about themselves."""
    project = visit.project
    form = AskedForm(posted(request), initial=model_to_dict(project, fields=("background", "background_own")))
    if form.is_valid():
        before = settings_of(project)
        project.background, project.background_own = (
            form.cleaned_data["background"],
            form.cleaned_data["background_own"],
        )
        note_changes(visit, before)
        return redirect("who", project=project.slug)
    chosen = form["background"].value() or ()
    known = [(key, text, key in chosen) for key, (text, _choices) in STANDARD.items()]
    shown = {"tables": who_took_part(project), "people": people_counted(project), "known": known, "asks": form}
    return show(visit, "who", 400 if form.errors else 200, **shown, fewest=FEWEST)
