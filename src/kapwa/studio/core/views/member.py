"""What a member does for themselves: see what waits, agree or not, tell of themselves, withdraw."""

from __future__ import annotations

from django.contrib.auth import login, logout
from django.core.exceptions import ValidationError
from django.db import transaction
from django.forms import EmailField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio.core import consent as texts
from kapwa.studio.core import withdrawals
from kapwa.studio.core.background import asked
from kapwa.studio.core.erasure import clear_traces, erase_author, forget
from kapwa.studio.core.evaluating import delete_evaluations
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.guide import done_by, guide
from kapwa.studio.core.intake import token_of
from kapwa.studio.core.interface import SOURCE
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.languages import language
from kapwa.studio.core.members import hashed, new_code, refuse_taken, waiting_back
from kapwa.studio.core.roles import EVERYONE, MODERATORS
from kapwa.studio.core.security import Visit, agreed, page
from kapwa.studio.core.tables import Event, Person, TracesDue, change
from kapwa.studio.core.text import tidy_line
from kapwa.studio.core.views.common import act, show, show_code

# The acts of others that a person is told of: on their membership, and on whether their answers count.
_ABOUT_MEMBERS = r"^member\.(?!agreed|changed)|^work\.aside-(agreed|ended)"


@page("", read=EVERYONE)
def home(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the next step, how far the project is and for whom it waits, and what the visitor did."""
    return show(visit, "home", **guide(visit)._asdict(), done=done_by(visit), **form_of(visit.project).overview(visit))


@page("consent/", read=EVERYONE, write=EVERYONE, consented=False)
def consent(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show the consent text in the languages of the project, and take the member's choice of scopes."""
    consents = texts.newest(visit.project)
    if request.method == "POST":
        if request.POST.get("agree") != "yes":
            message = _("Without your agreement, nothing that you write can be used.")
            raise UsageError(message, hint=_("If you do not agree, you can simply leave."))
        if not consents or request.POST.get("version") != str(consents[0].version):
            hint = _("Open the page again and read the new version.")
            raise UsageError(_("The text changed while you read it."), hint=hint)
        member = visit.member
        member.consent_version, member.consented = consents[0].version, timezone.now()
        member.consent_scopes = [scope for scope in texts.SCOPES if request.POST.get(f"scope_{scope}") == "yes"]
        member.save()
        to_what = {"version": member.consent_version, "scopes": member.consent_scopes}
        act(visit, "member.agreed", to_what, subject=member.author)
        return redirect("home", project=visit.project.slug)
    ordered = texts.for_reader(consents, request.LANGUAGE_CODE, visit.project.language, SOURCE)
    machine = any(map(texts.by_machine, ordered[:1]))
    return show(visit, "consent", texts=ordered, machine=machine, source=SOURCE, scopes=texts.SCOPES)


@page("me/", read=EVERYONE, write=EVERYONE, consented=False)
def me(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show and change what the studio knows of the member; everything but the name others see is optional."""
    member, person = visit.member, visit.member.person
    if request.method == "POST":
        act(visit, "member.changed", {}, subject=member.author)
        if request.POST.get("action") == "code":
            code = new_code()
            change(person, access=hashed(code))
            login(request, person)
            return show_code(request, member, code, "../me/")
        pseudonym = tidy_line(request.POST.get("pseudonym", ""), 80)
        refuse_taken(visit.project, pseudonym, person)
        person.name, person.contact = (tidy_line(request.POST.get(name, ""), 200) for name in ("name", "contact"))
        person.no_contact = person.no_contact and not person.contact
        person.email = _checked_email(request.POST.get("email", person.email))
        person.save()
        member.languages = [tag for tag in visit.project.languages if tag in request.POST.getlist("answer_in")]
        member.pseudonym = pseudonym or member.pseudonym
        member.credit = request.POST.get("credit", "") if request.POST.get("credit") in ("name", "pseudonym") else ""
        member.save()
        return redirect("me", project=visit.project.slug)
    spoken = [language(tag) for tag in visit.project.languages]
    about = Event.objects.filter(project=visit.project, subject=member.author)
    done = about.filter(kind__regex=_ABOUT_MEMBERS).order_by("-seq")[:50]
    return show(visit, "me", person=person, spoken=spoken, done=done, asks=asked(visit.project))


def _checked_email(typed: str) -> str:
    try:
        return str(EmailField(required=False, max_length=254).clean(typed))
    except ValidationError as error:
        raise UsageError(error.messages[0], hint=_("Correct it, or leave the field empty.")) from None


@page("back/", read=EVERYONE, write=EVERYONE, consented=False)
def back(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Say who waits to be let back in by a new code; take the word of the member, or of a second moderator."""
    waiting = waiting_back(visit.member, moderates=visit.may(MODERATORS) and agreed(visit.member))
    if request.method == "POST":
        asked = waiting.filter(code=request.POST.get("asked", "")).first()
        if asked is None:
            raise RefusedError(_("This no longer exists."), hint=_("Go back to the list."))
        agrees = request.POST.get("answer") == "agree"
        kind = "member.return-agreed" if agrees else "member.return-refused"
        act(visit, kind, {}, subject=asked.member.author)
        if agrees:
            change(asked, agreed=visit.member.author)
        else:
            asked.delete()
        return redirect("back", project=visit.project.slug)
    return show(visit, "back", waiting=waiting)


@page("withdraw/", read=EVERYONE, write=EVERYONE, consented=False)
def withdraw(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Withdraw in one of three depths; the deeper ones end the visit."""
    if request.method != "POST":
        return show(visit, "withdraw")
    depth, member, person = request.POST.get("depth"), visit.member, visit.member.person
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
    if depth not in ("identity", "contributions") or request.POST.get("sure") != "yes":
        message = _("Choose how far to withdraw, and confirm that you are sure.")
        raise UsageError(message, hint=_("Go back; nothing was changed."))
    if depth == "contributions":
        erase_author(visit.project, member.author)
        # No partial: where the deletion fails, Django names what it called.
        transaction.on_commit(lambda: delete_evaluations(visit.project), robust=True)
    gone = token_of(person.pk)  # whose answers that were never sent go from this device, too
    member.left = timezone.now()
    forget(member)
    logout(request)
    return redirect(f"{reverse('enter')}?left={gone}")
