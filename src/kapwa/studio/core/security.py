"""One declared table of pages: who may read and who may post, enforced in one place.

A view becomes a page by :func:`page` alone, which refuses one that names no roles; the URL list is made from the table
(:data:`PAGES`), and so are the tests that try every page as everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, NamedTuple

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import DisallowedHost
from django.db import DataError, transaction
from django.db.models import BooleanField
from django.db.models.expressions import RawSQL
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from kapwa.errors import KapwaError, UsageError
from kapwa.studio.core.consent import READ_ANEW
from kapwa.studio.core.interface import activate_language
from kapwa.studio.core.kinds import RefusedError
from kapwa.studio.core.log import ConflictError, lock_project, single_writer
from kapwa.studio.core.long_work import BusyError, LongWork, Pieces
from kapwa.studio.core.notices import UNREAD_OF_MEMBERS
from kapwa.studio.core.posted import Posted, ended, form_number
from kapwa.studio.core.reading import one_page
from kapwa.studio.core.roles import NOBODY
from kapwa.studio.core.tables import Event, Membership, Person, Project

SAFE = ("GET", "HEAD")
KEPT = "Kapwa-Kept"  # the header of what static/studio/keep.js sends
PROJECT = "p/<slug:project>/"


class Visit(NamedTuple):
    """Who looks at a project, and what they ask.

    ``member.elsewhere``: whether they are in other projects, too; ``member.unread``: how many news they have not read;
    ``member.somebody_waits``: whether anybody who lost their code waits to be let back in.
    """

    request: HttpRequest
    project: Project
    member: Membership

    def may(self, roles: Collection[str]) -> bool:
        """Whether the visitor has one of ``roles``."""
        return any(role in roles for role in self.member.roles)

    def link(self, name: str, *arguments: object) -> str:
        """Return the address of a page of the project; "" for one that the visitor may not read."""
        address = reverse(
            name, args=[self.project.slug, *arguments]
        )  # this loads the pages where none was asked for yet
        return address if self.may(PAGES[name].read) else ""


class Page(NamedTuple):
    """A page: its path, who reads it, who posts to it; ``public`` pages ask for nobody, ``api`` ones speak JSON."""

    name: str
    path: str
    view: Callable[..., HttpResponse]
    read: frozenset[str]
    write: frozenset[str]
    public: bool
    consented: bool
    api: bool = False


PAGES: dict[str, Page] = {}

View = Callable[..., HttpResponse]


def page(
    path: str,
    *,
    read: frozenset[str] = NOBODY,
    write: frozenset[str] = NOBODY,
    consented: bool = True,
    hold_write_lock: bool = True,
    long: Collection[str] = (),
    api: bool = False,
) -> Callable[[View], View]:
    """Make a view of a project a page: ``read`` may get it, ``write`` may post to it.

    The path begins after the project's. ``consented``: only who agreed to the present consent text gets past; others
    are shown it. ``hold_write_lock``: others who post wait until this view is done; one that works long says False, and
    becomes the writer itself where it writes. ``long``: the methods that may take seconds; two at most work on such at
    a time, of whichever pages (:mod:`kapwa.studio.core.long_work`). ``api``: a script asks, so that refusals are JSON,
    and 401 without a visit. The view is called with the request, a :class:`Visit`, and what the path captures.
    """
    if not read and not write:
        raise UsageError(f"The page {path!r} names no roles.", hint=_("Say who reads it and who posts to it."))
    allowed = [*(SAFE if read else ()), *(["POST"] if write else ())]

    def register(view: View) -> View:
        @require_http_methods(allowed)
        @wraps(view)
        def guarded(request: HttpRequest, project: str, **captured: object) -> HttpResponse:
            if not isinstance(request.user, Person):
                return _nobody(request, api=api)
            # That a project exists is nobody else's business.
            member = _present(project__slug=project, person=request.user.pk)
            visit = Visit(request, member.project, member)
            # Its people may have worded the interface anew.
            activate_language(request, member.project, guarded=not consented, worded=member.worded)
            # What somebody agreed to and what they withdraw is theirs, also once they have no role any more.
            if consented and not visit.may(read if request.method in SAFE else write):
                return _forbidden(request)
            if consented and member.asked_anew:
                to_agree = KapwaError(_(READ_ANEW))
                return problem(request, to_agree, 403) if api else redirect("consent", project=project)
            answer = _answer_slowly if request.method in long else _answer
            return answer(request, view, visit, hold_write_lock=hold_write_lock, **captured)

        page = Page(
            name=view.__name__,
            path=PROJECT + path,
            view=guarded,
            read=read,
            write=write,
            public=False,
            consented=consented,
            api=api,
        )
        return _put(page)

    return register


def public_page(path: str, *, posts: bool = False) -> Callable[[View], View]:
    """Make a view a page that asks for nobody; ``posts``: whether it may be posted to."""
    allowed = [*SAFE, *(["POST"] if posts else ())]

    def register(view: View) -> View:
        @require_http_methods(allowed)
        @wraps(view)
        def guarded(request: HttpRequest, **captured: Any) -> HttpResponse:
            return _answer(request, view, **captured)

        return _put(Page(view.__name__, path, guarded, NOBODY, NOBODY, public=True, consented=False))

    return register


def _nobody(request: HttpRequest, *, api: bool) -> HttpResponse:
    if api:
        return problem(request, KapwaError(_("You are signed out. Sign in again.")), 401)
    return redirect_to_login(request.get_full_path()) if request.method in SAFE else ended(request)


def _put(entry: Page) -> View:
    if entry.name in PAGES:
        raise UsageError(f"There are two pages {entry.name!r}.")
    PAGES[entry.name] = entry
    return entry.view


def _answer(
    request: HttpRequest, view: View, *arguments: Any, hold_write_lock: bool = True, **captured: Any
) -> HttpResponse:
    """Call the view; what it writes is written whole or not at all, and its refusals are pages."""
    try:
        if request.method in SAFE:
            with one_page():
                return _onward(request, view(request, *arguments, **captured))
        if not hold_write_lock:
            return _onward(request, view(request, *arguments, **captured))
        with single_writer(), transaction.atomic():
            for visit in arguments:
                lock_project(visit.project)  # so that what is looked up before it is written is true on every database
            if _taken(request, *arguments):
                return HttpResponse(status=204)
            # What was read before the wait may be gone: the member by their withdrawal, or texts of the project.
            return _onward(request, view(request, *map(_anew, arguments), **captured))
    except KapwaError as error:
        return problem(request, error, 409 if isinstance(error, (ConflictError, RefusedError)) else 400)


def _answer_slowly(request: HttpRequest, view: View, *arguments: Any, **more: Any) -> HttpResponse:
    """Answer where two at most work long; an answer that grows has its place until it is closed."""
    try:
        work = LongWork()
    except BusyError as error:
        answer = problem(request, error, 503)
        answer.headers["Retry-After"] = "10"
        return answer
    growing = False
    try:
        answer = _answer(request, view, *arguments, **more)
        if growing := isinstance(answer, StreamingHttpResponse):
            answer.streaming_content = Pieces(answer.streaming_content, work)
        return answer
    finally:
        if not growing:
            work.leave()


def _onward(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """Let the script that keeps what is typed follow a redirect itself, once it has dropped what arrived here."""
    if KEPT in request.headers and answer.status_code == 302:
        answer.status_code = 204
        answer.headers["Kapwa-Onward"] = answer.headers["Location"]
        del answer.headers["Location"]
    return answer


def _taken(request: HttpRequest, *visits: Visit) -> bool:
    """Whether the script sends what was taken before, as it did not get the answer."""
    number = form_number(request) if request.headers.get(KEPT) == "again" else None
    return number is not None and any(
        Event.objects.filter(uuid=number, actor=visit.member.author, project=visit.project).exists() for visit in visits
    )


def _anew(visit: Visit) -> Visit:
    """Return a visit as it is now; raise Http404 where its member left."""
    member = _present(pk=visit.member.pk)
    return Visit(visit.request, member.project, member)


# Whether something is there for a member, which every page asks: conditions of SQL in a query of memberships. They are
# written out, as Django takes longer to compose such conditions than all else of the query.
_IS_THERE = {
    "elsewhere": """
        SELECT 1 FROM studio_membership AS other
        WHERE other.person_id = studio_membership.person_id AND other."left" IS NULL
        AND other.id <> studio_membership.id
    """,
    "asked_anew": """
        SELECT 1 FROM studio_consenttext AS newer
        WHERE newer.project_id = studio_membership.project_id AND newer.version > studio_membership.consent_version
    """,
    "worded": """
        SELECT 1 FROM studio_interfacetext AS worded WHERE worded.project_id = studio_membership.project_id
    """,
    "somebody_waits": """
        SELECT 1 FROM studio_invitation AS back
        WHERE back.project_id = studio_membership.project_id AND back.member_id IS NOT NULL
        AND back.used IS NULL AND back.agreed = ''
    """,
}
_ABOUT_MEMBER = {
    name: RawSQL(f"EXISTS ({condition})", (), BooleanField())  # noqa: S611 - nothing from outside is in it
    for name, condition in _IS_THERE.items()
} | {"unread": UNREAD_OF_MEMBERS}


def _present(**which: object) -> Membership:
    known = Membership.objects.select_related("project").annotate(**_ABOUT_MEMBER)
    return get_object_or_404(known, left=None, **which)


def problem(request: HttpRequest, error: KapwaError, status: int) -> HttpResponse:
    """Return the page that says what was wrong and what to do; what was typed stays on it, to be sent once more.

    To a script it is said as JSON.
    """
    if _speaks_json(request):
        return JsonResponse({"error": error.summary, "hint": error.hint or ""}, status=status)
    form = Posted.of(request)
    if status == 409:  # the number of the form may be taken
        form = form._replace(fields=[(name, text) for name, text in form.fields if name != "uuid"])
    return render(request, "studio/problem.html", {"error": error, "posted": form}, status=status)


def _speaks_json(request: HttpRequest) -> bool:
    called = PAGES.get(request.resolver_match.url_name or "") if request.resolver_match else None
    return called is not None and called.api


def _forbidden(request: HttpRequest) -> HttpResponse:
    error = KapwaError(_("Your role does not give you access to this page."), hint=_("Ask whoever runs the project."))
    return problem(request, error, 403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the page for a form that did not come from the studio, or whose visit has ended."""
    if not isinstance(request.user, Person) and request.path.startswith("/p/") and not _speaks_json(request):
        return ended(request)
    error = KapwaError(_("This form is too old, or it did not come from this site."), hint=_("Open the page again."))
    return problem(request, error, 403)


def locked_out(request: HttpRequest) -> HttpResponse:
    """Return the page for an address that tried too many codes."""
    error = KapwaError(_("Too many wrong codes came from your network."), hint=_("Wait ten seconds, then try again."))
    return problem(request, error, 429)


def refused(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for what is not even read: an address that is not the studio's, or a form that is too large."""
    if isinstance(exception, DisallowedHost):
        hint = _("Use the address that you were given. Whoever runs the studio can add another with serve --url.")
        error = KapwaError(_("The studio does not answer at this address."), hint=hint)
    else:
        error = KapwaError(_("This form is damaged or too large, and nothing was saved."), hint=_("Send less at once."))
    if _speaks_json(request):
        return problem(request, error, 400)
    return render(request, "studio/problem.html", {"error": error}, status=400)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for an address that is none, or none for this visitor."""
    return problem(request, KapwaError(_("There is no such page."), hint=_("Go back to the start.")), 404)


def failed(request: HttpRequest) -> HttpResponse:
    """Return the page for a fault of ours; what was typed is shown again."""
    hint = _("Try again, or tell whoever runs the studio.")
    return problem(request, KapwaError(_("An error occurred in the studio, and nothing was saved."), hint=hint), 500)


def agreed(member: Membership) -> bool:
    """Whether a member agreed to the newest version of the project's consent text."""
    return not member.project.consents.filter(version__gt=member.consent_version).exists()


class OneWriter:
    """Let one person come in or leave at a time where the database takes one writer: their visit is written, too.

    What is posted to a project waits for its turn later (:func:`_answer`), so that reading goes on meanwhile. No
    browser keeps a page: on a shared phone "Back" shows nothing of whoever left.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer ``request``, alone if it may write."""
        if request.method in SAFE or request.path.startswith("/p/"):
            answer = self.get_response(request)
        else:
            with single_writer():
                answer = self.get_response(request)
        if request.method == "HEAD" and not answer.streaming:  # else what follows is taken for the next answer
            answer.headers.setdefault("Content-Length", str(len(answer.content)))
            answer.content = b""
        if "HX-Request" in request.headers:
            answer.cookies.clear()  # it may come late, when somebody else has signed in here
        answer.headers.setdefault("Cache-Control", "no-store")  # static files have an age of their own
        return answer

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Refuse what the database cannot hold, such as the character NUL, or an id longer than any."""
        if not isinstance(exception, DataError):
            return None
        error = UsageError(_("The text contains characters that cannot be saved."), hint=_("Remove them."))
        return problem(request, error, 400)
