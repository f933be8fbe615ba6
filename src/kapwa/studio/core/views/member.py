"""What a member does for themselves: see what waits, agree or not, tell of themselves, withdraw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django import forms
from django.contrib.auth import login, logout
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.studio.core import consent as texts
from kapwa.studio.core import withdrawals
from kapwa.studio.core.background import asked, count_again
from kapwa.studio.core.erasure import clear_traces, erase_author, forget
from kapwa.studio.core.evaluating import delete_evaluations
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.guide import done_by, guide, news
from kapwa.studio.core.intake import token_of
from kapwa.studio.core.interface import SOURCE
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import language
from kapwa.studio.core.members import has_recovery, hashed, new_code, refuse_taken, waiting_back
from kapwa.studio.core.posted import PageForm, posted, pressed
from kapwa.studio.core.roles import EVERYONE, MODERATORS
from kapwa.studio.core.security import Visit, agreed, page
from kapwa.studio.core.tables import ConsentText, Event, Invitation, Person, TracesDue, change
from kapwa.studio.core.views.common import act, recovery_code, show, show_code
from kapwa.studio.core.views.fields import OneOfField, TypedField, checked, told

# The acts of others that a person is told of: on their membership, and on whether their answers count.
_ABOUT_MEMBERS = r"^member\.(?!agreed|changed)|^work\.aside-(agreed|ended)"


@page("", read=EVERYONE)
def home(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the next step, how far the project is and for whom it waits, and what the visitor did."""
    return show(
        visit,
        "home",
        **guide(visit)._asdict(),
        done=done_by(visit),
        news=news(visit),
        **form_of(visit.project).overview(visit),
    )


class ConsentAnswerForm(PageForm):
    """Agreement to a version of the consent text, and to what else one's words may be used for."""

    version = forms.IntegerField()
    agree = forms.BooleanField(
        error_messages={
            "required": told(
                _n("Without your agreement, nothing that you write can be used."),
                _n("If you do not agree, you can simply leave."),
            )
        }
    )

    def __init__(self, consents: Sequence[ConsentText], posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.version = consents[0].version if consents else None
        for scope in texts.SCOPES:
            self.fields[f"scope_{scope}"] = forms.BooleanField(required=False)

    def clean_version(self) -> int:
        """Return the version; refuse one that is not the newest."""
        if self.cleaned_data["version"] != self.version:
            raise forms.ValidationError(
                told(_n("The text changed while you read it."), _n("Open the page again and read the new version."))
            )
        return int(self.cleaned_data["version"])

    @property
    def scopes(self) -> list[str]:
        """The scopes that are ticked."""
        return [scope for scope in texts.SCOPES if self.cleaned_data.get(f"scope_{scope}")]


@page("consent/", read=EVERYONE, write=EVERYONE, consented=False)
def consent(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the consent text in the languages of the project, and take the member's choice of scopes."""
    consents = texts.newest(visit.project)
    form = ConsentAnswerForm(consents, posted(request))
    if form.is_valid():
        member = visit.member
        member.consent_version, member.consented = consents[0].version, timezone.now()
        member.consent_scopes = form.scopes
        member.save()
        to_what = {"version": member.consent_version, "scopes": member.consent_scopes}
        act(visit, "member.agreed", to_what, subject=member.author)
        return redirect("home", project=visit.project.slug)
    ordered = texts.for_reader(consents, request.LANGUAGE_CODE, visit.project.language, SOURCE)
    machine = any(map(texts.by_machine, ordered[:1]))
    shown = {"texts": ordered, "machine": machine, "source": SOURCE, "agreement": form}
    chosen = form.scopes if form.errors else visit.member.consent_scopes
    return show(visit, "consent", 400 if form.errors else 200, **shown, scopes=texts.SCOPES, chosen=chosen)


class ProfileForm(PageForm):
    """What the studio knows of a member. What a post leaves out is emptied, but the address for reminders stays."""

    pseudonym = TypedField(80, line=True, required=False)
    name = TypedField(200, line=True, required=False)
    contact = TypedField(200, line=True, required=False)
    email = forms.EmailField(required=False, max_length=254)
    credit = forms.ChoiceField(required=False, choices=[("", ""), ("name", ""), ("pseudonym", "")])
    answer_in = forms.MultipleChoiceField(required=False)

    def __init__(self, visit: Visit, posted: QueryDict | None = None) -> None:
        self.visit, person = visit, visit.member.person
        now = {"pseudonym": visit.member.pseudonym, "name": person.name, "contact": person.contact}
        now |= {"email": person.email, "credit": visit.member.credit, "answer_in": visit.member.languages}
        super().__init__(posted, initial=now)
        self.fields["answer_in"].choices = [(tag, tag) for tag in visit.project.languages]

    def clean_pseudonym(self) -> str:
        """Return a name that nobody else bears here."""
        name = self.cleaned_data["pseudonym"]
        checked(refuse_taken, self.visit.project, name, self.visit.member.person)
        return str(name)

    def keep(self) -> None:
        """Save what was typed."""
        member, person, made = self.visit.member, self.visit.member.person, self.cleaned_data
        person.name, person.contact = made["name"], made["contact"]
        person.no_contact = person.no_contact and not person.contact
        person.email = made["email"] if "email" in self.data else person.email
        person.save()
        languages = [tag for tag in self.visit.project.languages if tag in made["answer_in"]]
        change(member, languages=languages, pseudonym=made["pseudonym"] or member.pseudonym, credit=made["credit"])


@page("me/", read=EVERYONE, write=EVERYONE, consented=False)
def me(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show and change what the studio knows of the member; everything but the name others see is optional."""
    member, person, form = visit.member, visit.member.person, ProfileForm(visit)
    if request.method == "POST":
        action = pressed(request, "code", "recovery")
        if action == "code":
            act(visit, "member.changed", {}, subject=member.author)
            code = new_code()
            change(person, access=hashed(code))
            login(request, person)
            return show_code(request, member, code, "../me/")
        if action == "recovery":
            return show_code(request, member, "", "../me/", recovery=recovery_code(member))
        form = ProfileForm(visit, posted(request))
        if form.is_valid():
            act(visit, "member.changed", {}, subject=member.author)
            form.keep()
            return redirect("me", project=visit.project.slug)
    spoken = [language(tag) for tag in visit.project.languages]
    about = Event.objects.filter(project=visit.project, subject=member.author)
    done = about.filter(kind__regex=_ABOUT_MEMBERS).order_by("-seq")[:50]
    shown = {"person": person, "spoken": spoken, "done": done, "asks": asked(visit.project), "profile": form}
    return show(visit, "me", 400 if form.errors else 200, **shown, recovers=has_recovery(member))


class ReturnForm(PageForm):
    """Whether somebody agrees that one who lost their code is let back in by a new one."""

    asked = forms.ChoiceField()
    answer = forms.ChoiceField(choices=[("agree", ""), ("refuse", "")])

    def __init__(self, waiting: Iterable[Invitation], posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.fields["asked"].choices = [(one.code, "") for one in waiting]


@page("back/", read=EVERYONE, write=EVERYONE, consented=False)
def back(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Say who waits to be let back in by a new code; take the word of the member, or of a second moderator."""
    waiting = waiting_back(visit.member, moderates=visit.may(MODERATORS) and agreed(visit.member))
    if request.method == "POST":
        form = ReturnForm(waiting, posted(request))
        if not form.is_valid():
            raise RefusedError(_("This no longer exists."), hint=_("Go back to the list."))
        asked = next(one for one in waiting if one.code == form.cleaned_data["asked"])
        agrees = form.cleaned_data["answer"] == "agree"
        kind = "member.return-agreed" if agrees else "member.return-refused"
        act(visit, kind, {}, subject=asked.member.author)
        if agrees:
            change(asked, agreed=visit.member.author)
        else:
            asked.delete()
        return redirect("back", project=visit.project.slug)
    return show(visit, "back", waiting=waiting)


_NOT_SURE = _n("Choose how far to withdraw, and confirm that you are sure."), _n("Go back; nothing was changed.")


class WithdrawalForm(PageForm):
    """How far somebody withdraws; who leaves is sure."""

    depth = OneOfField([(depth, "") for depth in ("contact", "identity", "contributions")], told(*_NOT_SURE))
    sure = forms.BooleanField(required=False)

    def clean(self) -> None:
        """Refuse to let somebody leave who is not sure."""
        if self.cleaned_data.get("depth") not in (None, "contact") and not self.cleaned_data["sure"]:
            self.add_error("sure", told(*_NOT_SURE))


@page("withdraw/", read=EVERYONE, write=EVERYONE, consented=False)
def withdraw(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Withdraw in one of three depths; the deeper ones end the visit."""
    form = WithdrawalForm(posted(request))
    if not form.is_valid():
        return show(visit, "withdraw", 400 if form.errors else 200, withdrawal=form)
    depth, member, person = form.cleaned_data["depth"], visit.member, visit.member.person
    # The withdrawal stands also where its traces cannot be cleared now; they stay due, and the studio's output says so.
    act(visit, withdrawals.LEFT, {"depth": depth, "who": withdrawals.mark(member.author)})
    TracesDue.objects.create()
    transaction.on_commit(withdrawals.keep, robust=True)  # the log has it, too, and the next start or check writes it
    transaction.on_commit(clear_traces, robust=True)
    Person.objects.filter(pk=person.pk).update(email="")  # also where they stay in other projects
    if depth == "contact":
        Person.objects.filter(pk=person.pk).update(contact="", no_contact=True)
        for membership in person.memberships.all():
            change(membership, consent_scopes=[scope for scope in membership.consent_scopes if scope != "contact"])
        return redirect("me", project=visit.project.slug)
    if depth == "contributions":
        erase_author(visit.project, member.author)
        # No partial: where the deletion fails, Django names what it called.
        transaction.on_commit(lambda: delete_evaluations(visit.project), robust=True)
    gone = token_of(person.pk)  # whose answers that were never sent go from this device, too
    member.left = timezone.now()
    forget(member)
    count_again(visit.project)
    logout(request)
    return redirect(f"{reverse('enter')}?left={gone}")
