"""Coming in by a code, a link or a QR picture, without an e-mail address."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth import login, logout
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from kapwa.studio.core import joining
from kapwa.studio.core.assigning import give_back
from kapwa.studio.core.intake import device_of, token_of
from kapwa.studio.core.inviting import too_many_invited
from kapwa.studio.core.log import lock_project, record
from kapwa.studio.core.members import count_wrong, hashed, invite, join, must_wait, refuse_taken, usable
from kapwa.studio.core.posted import PageForm, SetText, damaged, posted, resumed
from kapwa.studio.core.security import locked_out, public_page
from kapwa.studio.core.tables import Invitation, Membership, Person
from kapwa.studio.core.views.common import CodeShown, show_code, shown_code
from kapwa.studio.core.views.fields import LanguageField, SecretField, TypedField, checked
from kapwa.studio.core.views.joining import ASKED, ASKING

# In the session: the invitation that was taken; a new project, and how many people its coordinator invites, by role.
INVITED, TAKING_PART = "invitation", "taking_part"


@public_page("")
def start(request: HttpRequest) -> HttpResponse:
    """Show the projects of who is here, or where to type a code."""
    if not isinstance(request.user, Person):
        return render(request, "studio/enter.html", {"next": request.GET.get("next", "")})
    members = list(Membership.objects.filter(person=request.user, left=None).select_related("project"))
    if len(members) == 1:
        return redirect("home" if members[0].roles else "me", project=members[0].project.slug)
    return redirect("projects")


class OnwardForm(PageForm):
    """To which page a form leads."""

    next = SetText(max_length=2000, required=False)


class CodeForm(OnwardForm):
    """The code by which somebody comes in, and the form that was kept while they did, as the page has it."""

    code = SecretField(200, line=True)
    kept = SetText(required=False)


@public_page("enter/", posts=True)
def enter(request: HttpRequest) -> HttpResponse:
    """Take a code: an invitation's leads to joining, a person's own brings them back."""
    if request.method != "POST":
        return render(request, "studio/enter.html", {"next": request.GET.get("next", "")})
    form = CodeForm(posted(request))
    code = form.cleaned_data["code"] if form.is_valid() else ""
    address = request.META.get("REMOTE_ADDR", "")
    if must_wait(address, code):
        return locked_out(request)
    invitations = Invitation.objects.filter(code=hashed(code), used=None)
    invitation = usable(invitations).first()
    if invitation is None and invitations.exists():
        message = _("This code does not work yet: the member, a scribe or another coordinator has to agree first.")
        return _wrong(request, form, message)
    if invitation is not None:
        request.session.cycle_key()  # whoever knew the session before knows it no more
        request.session[INVITED] = invitation.pk
        return redirect("join_project" if invitation.project else "begin")
    return _come_back(request, form, code, address)


def _wrong(request: HttpRequest, form: CodeForm, message: str) -> HttpResponse:
    """Ask for a code once more, and keep what the page keeps."""
    return render(request, "studio/enter.html", {"wrong": message, "came": form}, status=403)


def _come_back(request: HttpRequest, form: CodeForm, code: str, address: str) -> HttpResponse:
    """Let a person in by their own code, or lead who asks to join by a link for many on."""
    person = Person.objects.filter(access=hashed(code)).first()
    if person is None and (asked_at := _of_many(request, code)):
        return redirect(asked_at)
    if person is None:
        count_wrong(address, code)
        message = _("This is not the code of an invitation or of a member.")
        return _wrong(request, form, message)
    login(request, person)
    return resumed(request, token_of(person.pk)) or _onward(request)


def _of_many(request: HttpRequest, code: str) -> str:
    """Return the page of who asks to join: by a link for many, or with the code of a request that waits; "" else."""
    link = joining.link_of(code)
    if link is None and joining.request_of(hashed(code)) is None:
        return ""
    request.session.cycle_key()
    if link is not None:
        request.session.pop(ASKED, None)
        request.session[ASKING] = link.pk
    else:
        request.session[ASKED] = hashed(code)
    return "ask_to_join"


def _onward(request: HttpRequest) -> HttpResponse:
    """Go to the page of ours that a form names, else to the start."""
    form = OnwardForm(posted(request) or {})
    target = form.cleaned_data["next"] if form.is_valid() else ""
    safe = url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure())
    return redirect(target if safe and target.startswith("/") else "start")


@public_page("join/<str:code>/")
def arrive(request: HttpRequest, code: str) -> HttpResponse:
    """Offer to come in by the code of a link. Looking at it uses nothing up, for messengers look at links, too."""
    return render(request, "studio/arrive.html", {"code": code})


class NameForm(PageForm):
    """The name under which somebody joins a project; who comes back, or is here already, keeps theirs."""

    pseudonym = TypedField(80, line=True, required=False)

    def __init__(self, invitation: Invitation, here: Person | None, posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.invitation, self.here = invitation, here

    def clean_pseudonym(self) -> str:
        """Return a name that nobody else bears in the project."""
        name = str(self.cleaned_data["pseudonym"])
        if self.invitation.member is None:
            checked(refuse_taken, self.invitation.project, name, self.here)
        return name


@public_page("join/", posts=True)
def join_project(request: HttpRequest) -> HttpResponse:
    """Choose a name to be known by, and come in; the code to come back with is shown once."""
    chosen = Invitation.objects.select_related("project").filter(pk=request.session.get(INVITED))
    invitation = usable(chosen).first()
    if invitation is None or invitation.project is None:
        return redirect("begin" if invitation else "enter")
    here = request.user if isinstance(request.user, Person) and invitation.member is None else None
    form = NameForm(invitation, here, posted(request))
    if request.method == "POST":
        lock_project(invitation.project)  # so that of two who choose a name at once one has it
    if not form.is_valid():
        shown = {"invitation": invitation, "here": here, "chosen": form}
        return render(request, "studio/join.html", shown, status=400 if form.errors else 200)
    person, code = join(invitation, form.cleaned_data["pseudonym"], here)
    member = Membership.objects.get(project=invitation.project, person=person)
    author = member.author
    came = ("member.returned", {}) if invitation.member else ("member.joined", {"roles": invitation.roles})
    record(invitation.project, *came, actor=author, subject=author)
    del request.session[INVITED]
    login(request, person)
    made = _invited(request, member)
    onward = reverse("home", args=[invitation.project.slug])
    shown = {"made": made, "too_many_invited": too_many_invited(member.project) if made else []}
    return show_code(request, member, code, onward, **shown) if code or made else redirect(onward)


def _invited(request: HttpRequest, member: Membership) -> list[CodeShown]:
    """Invite those of whom the form of a new project says that they take part; each as a slip."""
    made = list[CodeShown]()
    begun, counts = request.session.pop(TAKING_PART, (None, {}))
    # Whoever begins a project, and then comes into another as anything at all, invites nobody there.
    for role, count in counts.items() if begun == member.project_id else ():
        made += [shown_code(request, invite(member.project, [role]), member.project, [role]) for _each in range(count)]
        record(member.project, "member.invited", {"roles": [role], "count": count}, actor=member.author)
    return made


@public_page("leave/", posts=True)
def leave(request: HttpRequest) -> HttpResponse:
    """End the visit on this device."""
    if request.method == "POST":
        give_back(device_of(request))  # the phone forgets the tasks of who leaves
        logout(request)
    return redirect("start")


class SpokenForm(PageForm):
    """The language in which somebody reads the pages."""

    language = LanguageField()


@public_page("language/", posts=True)
def choose_language(request: HttpRequest) -> HttpResponse:
    """Keep a choice of language on this device, and go back to the page."""
    answer, form = _onward(request), SpokenForm(posted(request))
    if form.errors:
        raise damaged()
    if form.is_valid():
        name, tag = settings.LANGUAGE_COOKIE_NAME, form.cleaned_data["language"]
        safety = {"secure": settings.LANGUAGE_COOKIE_SECURE, "httponly": True, "samesite": "Lax"}
        answer.set_cookie(name, tag, max_age=settings.LANGUAGE_COOKIE_AGE, **safety)
    return answer
