"""What a coordinator does: invite people, set the project up, look at the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

from django import forms
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.db.models.functions import TruncDate
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.errors import DataError, UsageError
from kapwa.studio.core import consent as texts
from kapwa.studio.core.desks import nameless_kinds
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.inviting import too_many_invited
from kapwa.studio.core.joining import waiting_requests
from kapwa.studio.core.languages import known, language, shown_name, tag_of, tags_of
from kapwa.studio.core.members import ask_back, checked_roles, invite
from kapwa.studio.core.posted import PageForm, SetText, posted, pressed
from kapwa.studio.core.reading import members_of
from kapwa.studio.core.roles import COORDINATOR, COORDINATORS, MODERATORS, ROLES
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import ID, Event, Membership, Project, change
from kapwa.studio.core.text import tidy, tidy_line
from kapwa.studio.core.views.common import CodeShown, act, show, shown_code
from kapwa.studio.core.views.fields import checked
from kapwa.suites.eecc.form import attribute_of
from kapwa.tables import TextTable
from kapwa.value_types import JsonObject, Keywords

MOST_INVITED = 50
_SHOWN = 200


class InviteForm(PageForm):
    """For whom codes are made: roles, and how many people."""

    roles = forms.MultipleChoiceField(choices=[(role, role) for role in ROLES])
    count = forms.IntegerField(required=False, min_value=1, max_value=MOST_INVITED)


class MemberForm(PageForm):
    """Which member is meant."""

    author = SetText(max_length=ID)

    def member(self, project: Project) -> Membership | None:
        """Return the member, None for who left or never was one."""
        here = Membership.objects.filter(project=project, author=self.cleaned_data["author"])
        return here.exclude(person=None).first()


class RolesForm(PageForm):
    """The roles of a member; a project keeps a coordinator."""

    roles = forms.MultipleChoiceField(required=False, choices=[(role, role) for role in ROLES])

    def __init__(self, member: Membership, posted: QueryDict | None) -> None:
        self.member = member
        super().__init__(posted)

    def clean_roles(self) -> list[str]:
        """Return the roles in their order."""
        chosen = [role for role in ROLES if role in self.cleaned_data["roles"]]
        others = Membership.objects.filter(project=self.member.project, left=None).exclude(pk=self.member.pk)
        if COORDINATOR not in chosen and not any(COORDINATOR in other.roles for other in others):
            wrong, remedy = _("A project needs a coordinator."), _("Make somebody else a coordinator first.")
            raise forms.ValidationError(f"{wrong} {remedy}")
        return chosen


@page("people/", read=COORDINATORS, write=COORDINATORS)
def people(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List members; invite by codes that are shown once; change roles; let somebody back in who lost their code."""
    made: list[CodeShown] = []
    action = pressed(request, "invite", "again", "roles")
    form: PageForm = InviteForm(posted(request) if action == "invite" else None)
    if form.is_valid():
        roles, count = checked_roles(form.cleaned_data["roles"]), form.cleaned_data["count"] or 1
        made = [shown_code(request, invite(visit.project, roles), visit.project, roles) for _one in range(count)]
        act(visit, "member.invited", {"roles": roles, "count": count})
    elif action in ("again", "roles"):
        whom = MemberForm(posted(request))
        member = whom.is_valid() and whom.member(visit.project)
        if not member:
            raise UsageError(_("There is no such member."))
        if action == "again":
            code = ask_back(member, visit.member.author)
            made.append(shown_code(request, code, visit.project, member.roles))
            act(visit, "member.return", {}, subject=member.author)
        elif (form := RolesForm(member, posted(request))).is_valid():
            change(member, roles=form.cleaned_data["roles"])
            act(visit, "member.roles", {"roles": member.roles}, subject=member.author)
            return redirect("people", project=visit.project.slug)
    members = members_of(visit.project)
    alone = sum(not MODERATORS.isdisjoint(member.roles) for member in members if member.left is None) == 1
    shown = {"members": members, "roles": ROLES, "made": made, "alone": alone, "invitation": form}
    shown["too_many_invited"] = too_many_invited(visit.project)
    shown["asking"] = waiting_requests(visit.project).count()
    return show(visit, "people", 400 if form.errors else 200, **shown)


class SettingsForm(forms.ModelForm):
    """What a project says of itself. A section of the page posts its own fields; the others stay as they are."""

    languages = forms.CharField(max_length=1000)
    gloss = forms.CharField(max_length=80)
    quorum = forms.IntegerField(min_value=1, max_value=100)
    people_each = forms.IntegerField(min_value=1, max_value=1000)
    answers_each = forms.IntegerField(min_value=1, max_value=10)
    reviewed = forms.TypedChoiceField(choices=[("", "–"), ("yes", _n("Yes")), ("no", _n("No"))], required=False)

    class Meta:
        model = Project
        fields = (
            *("title", "culture", "contact", "licence", "collected", "limits", "attribute"),
            *("quorum", "people_each", "answers_each"),
        )

    def __init__(self, project: Project, posted: Mapping[str, str] | None = None) -> None:
        """Show the settings of ``project``, or take those that were ``posted``."""
        now = model_to_dict(project, fields=self.Meta.fields) | {
            "languages": ", ".join(map(shown_name, project.languages)),
            "gloss": shown_name(project.gloss),
            "reviewed": {True: "yes", False: "no", None: ""}[project.reviewed],
        }
        kept = {name: text for name, text in (posted or {}).items() if text.strip() or name not in _NEVER_EMPTY}
        super().__init__(None if posted is None else now | kept, instance=project, initial=now)

    def clean_languages(self) -> list[str]:
        """Return the languages, the main one first; that can be another while nothing is written in it."""
        tags = checked(tags_of, self.cleaned_data["languages"])[:40]
        if not tags:
            raise forms.ValidationError(_("A project needs a language."))
        main = self.instance.language
        return list(dict.fromkeys([*([main] if main in form_of(self.instance).written(self.instance) else []), *tags]))

    def clean_gloss(self) -> str:
        """Return the tag of the language that texts are put into."""
        return checked(tag_of, self.cleaned_data["gloss"])

    def clean_attribute(self) -> str:
        """Return what identities of prompts are."""
        return checked(_checked_attribute, self.cleaned_data["attribute"])

    def clean(self) -> None:
        """Tidy every text, and set what is not a column of its own."""
        for name in self.Meta.fields:
            if isinstance(text := self.cleaned_data.get(name), str):
                line = name not in ("collected", "limits")
                self.cleaned_data[name] = checked(tidy_line, text, 200) if line else checked(tidy, text, 10_000)
        if not self.errors:
            project, made = self.instance, self.cleaned_data
            project.languages, project.language, project.gloss = made["languages"], made["languages"][0], made["gloss"]
            project.reviewed = {"yes": True, "no": False}.get(made["reviewed"])


# Where these come empty, they stay as they are.
_NEVER_EMPTY = {"title", "culture", "licence", "attribute", "gloss", "quorum", "people_each", "answers_each"}


class ConsentForm(PageForm):
    """The consent text, in each language that it is in or may be wanted in."""

    def __init__(self, project: Project, posted: Mapping[str, str] | None = None) -> None:
        super().__init__(posted)
        now = {consent.language: consent for consent in texts.newest(project)}
        for tag in dict.fromkeys([*project.languages, project.gloss, *now]):
            rows, spoken, initial = (10, language(tag), now[tag].text) if tag in now else (3, language(tag), "")
            look = forms.Textarea(attrs={"rows": rows, "lang": tag, "dir": spoken.direction})
            field = forms.CharField(required=False, initial=initial, label=spoken.name, widget=look)
            field.machine = tag in now and texts.by_machine(now[tag])
            self.fields[f"consent_{tag}"] = field

    def clean(self) -> None:
        """Refuse a text that is empty in every language."""
        if not any(self.cleaned_data.values()):
            raise forms.ValidationError(_("A consent text cannot be empty."))

    def texts(self) -> dict[str, str]:
        """Return the texts by language."""
        return {name.removeprefix("consent_"): text for name, text in self.cleaned_data.items()}


class QuestionnaireForm(PageForm):
    """The questionnaire in the project's own words."""

    def __init__(self, project: Project, posted: Mapping[str, str] | None = None) -> None:
        super().__init__(posted)
        questionnaire = form_of(project).questionnaire
        self.ours = {question.key: question.text for question in questionnaire(project, ours=True)}
        asked: Counter[str] = Counter()
        for question in questionnaire(project):
            asked[question.kind] += 1
            look = forms.Textarea(attrs={"rows": 2, "dir": "auto"})
            name, label = f"question_{question.key}", f"{question.kind} {asked[question.kind]}"
            self.fields[name] = forms.CharField(
                required=False, max_length=1000, initial=question.text, label=label, widget=look
            )

    def own(self) -> dict[str, str]:
        """Return the questions that are in other words than ours, which stay in each reader's language."""
        typed = {name.removeprefix("question_"): tidy(text) for name, text in self.cleaned_data.items()}
        return {key: text for key, text in typed.items() if text and text != self.ours[key]}


_SECTIONS = ("project", "languages", "work", "releases", "questions", "consent")


@page("settings/", read=COORDINATORS, write=COORDINATORS)
def settings(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Change a section of what the project says of itself, its languages, its work, and its consent text."""
    project = visit.project
    made: Keywords = {"of": SettingsForm(project)}
    made |= {"consent": ConsentForm(project), "questions": QuestionnaireForm(project)}
    if request.method == "POST":
        before, section, published = settings_of(project), pressed(request, *_SECTIONS), False
        name = section if section in ("consent", "questions") else "of"
        kind = type(made[name])
        sent = made[name] = kind(project, posted(request))
        if sent.is_valid():
            if name == "consent":
                published = texts.publish(project, sent.texts())
            elif name == "questions":
                project.questions = sent.own()
            else:
                published = texts.follow_licence(project, before["licence"])
            note_changes(visit, before, ["consent"] if published else [])
            return redirect(f"{reverse('settings', args=[project.slug])}?{urlencode({'saved': section})}#{section}")
        project.refresh_from_db()  # the form may have set some of it
    shown = {"known": known(), "saved": request.GET.get("saved")}
    return show(visit, "settings", 400 if request.method == "POST" else 200, **made, **shown)


def _checked_attribute(name: str) -> str:
    """Return what identities of prompts are; raise UsageError for what cannot name their column of a table."""
    clean = name.strip()
    try:
        return attribute_of(TextTable(Path("identity"), (clean,), [], []))
    except DataError:
        hint = _("Write one word in small letters, such as nationality, religion or city.")
        raise UsageError(_("“%(text)s” cannot name a kind of identity.") % {"text": clean}, hint=hint) from None


def settings_of(project: Project) -> JsonObject:
    """Return what a project says of itself, by name; each question of its questionnaire apart."""
    asked = {f"questions.{key}": text for key, text in project.questions.items()}
    return model_to_dict(project, exclude=["id", "slug", "salt", "questions"]) | asked


def note_changes(visit: Visit, before: JsonObject, changed: Sequence[str] = ()) -> None:
    """Save what differs from ``before``, and record the names of it, and of what ``changed`` besides.

    So what somebody wrote last can be removed with their contributions, and nothing that others wrote.
    """
    after = settings_of(visit.project)
    names = [*changed, *sorted(name for name in before | after if before.get(name) != after.get(name))]
    if names:
        visit.project.save()
        act(visit, "project.changed", {"names": names})


@page("log/", read=COORDINATORS)
def log(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show who did what, newest first, and of what people do alone how much of it was done on each day.

    Texts are on the pages of what they belong to. Acts at desks and votes that are hidden yet stand nowhere by
    themselves: their order, their moments, and the gaps that they leave in numbers would tell whose answers are whose.
    """
    form = form_of(visit.project)
    events = Event.objects.filter(project=visit.project)
    alone = Q(kind__in=nameless_kinds()) | Q(uuid__in=form.hidden(visit.project))
    shown = Paginator(events.exclude(alone).order_by("-seq"), _SHOWN).get_page(request.GET.get("page"))
    days = events.filter(alone).annotate(day=TruncDate("server_time")).values_list("day", "kind")
    sums = days.annotate(n=Count("pk")).order_by("-day", "kind")[:_SHOWN] if shown.number == 1 else ()
    numbers = form.numbers(visit.project)
    rows = [(event, numbers.get(event.subject) or numbers.get(str(event.uuid))) for event in shown]
    more = shown.number + 1 if shown.has_next() else 0
    return show(visit, "log", rows=rows, numbered=bool(numbers), sums=sums, more=more)
