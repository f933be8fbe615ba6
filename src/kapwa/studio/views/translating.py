"""Translating and localising: source and wording side by side, what waits for whom, who agrees, and what changed."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.studio.fields import tidy
from kapwa.studio.languages import checked_tag, language
from kapwa.studio.models import Event, Question, Wording
from kapwa.studio.models.everyday import APPROVED, OUTDATED, PROPOSED
from kapwa.studio.projections import RefusedError
from kapwa.studio.projections.everyday import AGREEING as NEEDED
from kapwa.studio.projections.everyday import PROMPT
from kapwa.studio.roles import AGREEING, QUESTION_READERS, TRANSLATORS
from kapwa.studio.security import Visit, page
from kapwa.studio.views.common import act, show
from kapwa.studio.views.everyday import checked_text, languages_of, question_or_404, texts_in
from kapwa.studio.views.review import pieces

_SHOWN = 20
AGREE, WORD, LOOK = "agree", "word", "look"


class Waiting(NamedTuple):
    """A question that waits for somebody: to AGREE to its wording, to WORD it, or to LOOK at what others refused."""

    what: str
    question: Question
    wording: Wording | None


class Version(NamedTuple):
    """A text as it once was: what it changed of the one before it, and what people thought of it."""

    event: Event
    pieces: list[tuple[str, str]]
    opinions: list[Event]


def waiting_in(visit: Visit, tag: str) -> list[Waiting]:
    """Return what waits for the visitor in a language, by the question's number.

    A question is worded in another language once its own text is agreed to.
    """
    own, found = visit.member.author, []
    wordings = {one.id: one for one in Wording.objects.filter(project=visit.project)}
    for one in texts_in(visit.project, tag):
        word, source = wordings.get(f"{one.id}:{tag}"), wordings[f"{one.id}:{one.language}"]
        if word is None or word.state == OUTDATED:
            if visit.may(TRANSLATORS) and source.state == APPROVED:
                found.append(Waiting(WORD, one, word))
        elif word.state == PROPOSED and visit.may(AGREEING):
            if word.author == own and word.refused:
                found.append(Waiting(LOOK, one, word))
            elif own not in (word.author, *word.agreed, *word.refused):
                found.append(Waiting(AGREE, one, word))
    return found


def waiting_languages(visit: Visit) -> list[tuple[Any, int]]:
    """Return the languages in which something waits for the visitor, and how much."""
    counts = [(one, len(waiting_in(visit, one.tag))) for one in languages_of(visit.project)]
    return [(one, n) for one, n in counts if n]


@page("translate/", read=QUESTION_READERS)
def translate(request: HttpRequest, visit: Visit) -> HttpResponse:
    """List the languages of the project, with the states of the wordings and what waits for the visitor."""
    rows = []
    for one in languages_of(visit.project):
        ids = {text.id for text in texts_in(visit.project, one.tag)}
        found = Wording.objects.filter(project=visit.project, language=one.tag, question__in=ids)
        counts = [found.filter(state=state).count() for state in (APPROVED, PROPOSED, OUTDATED)]
        rows.append((one, *counts, len(ids) - sum(counts), len(waiting_in(visit, one.tag))))
    return show(request, visit, "translate", rows=rows, needed=NEEDED)


@page("translate/<str:tag>/", read=QUESTION_READERS)
def translate_into(request: HttpRequest, visit: Visit, tag: str) -> HttpResponse:
    """Show what waits for the visitor in a language: each source beside its wording."""
    own = _language(visit, tag)
    waiting = waiting_in(visit, own.tag)
    return show(request, visit, "translate_into", own=own, waiting=waiting[:_SHOWN], n=len(waiting))


def _language(visit: Visit, tag: str) -> Any:
    found = next((one for one in languages_of(visit.project) if one.tag == tag), None)
    if found is None:
        raise Http404
    return found


@page("translate/<str:tag>/<int:number>/", read=QUESTION_READERS, write=AGREEING)
def wording(request: HttpRequest, visit: Visit, tag: str, number: int) -> HttpResponse:
    """Show a question and its wording in a language side by side; propose another, agree, or say why not."""
    own, found = _language(visit, tag), question_or_404(visit, number)
    word = Wording.objects.filter(id=f"{found.id}:{own.tag}").first()
    if request.method == "POST":
        _take(request, visit, found, own.tag)
        return redirect("translate_into", project=visit.project.slug, tag=own.tag)
    source = Wording.objects.get(id=f"{found.id}:{found.language}")
    author = visit.member.author
    seen = Event.objects.filter(uuid=_source_of(word)).first() if word and word.state == OUTDATED else None
    return show(
        request,
        visit,
        "wording",
        question=found,
        word=word,
        own=own,
        is_own=own.tag == found.language,
        source=source,
        source_language=language(found.language),
        # What the question has become since it was worded.
        since=pieces(seen.body.get("text", ""), found.text) if seen else [],
        history=history(found, own.tag),
        needed=NEEDED,
        may_agree=bool(
            word and visit.may(AGREEING) and word.state != OUTDATED and word.author != author and not found.retired
        ),
        thinks="agreed" if word and author in word.agreed else "refused" if word and author in word.refused else "",
        is_prompt=found.kind == PROMPT,
    )


def _source_of(word: Wording) -> str:
    found = Event.objects.filter(uuid=word.text_event).first()
    return str(found.body.get("source", "")) if found else ""


def _take(request: HttpRequest, visit: Visit, question: Question, tag: str) -> None:
    """Record a proposal, an agreement or a refusal."""
    action, post = request.POST.get("action"), request.POST
    if action == "propose":
        if not visit.may(TRANSLATORS):
            raise RefusedError(_("Translators propose wordings."), hint=_("Say why not, and what you would say."))
        body = {"language": tag, "text": checked_text(post.get("text", ""), question.kind)}
        body |= {name: tidy(post.get(name, ""), longest) for name, longest in _SENT.items()}
        act(request, visit, "wording.proposed", body, subject=question.id, parent=question.seq)
        return
    body = {"language": tag, "wording": post.get("wording", "")[:36]}
    if action == "agree":
        act(request, visit, "wording.agreed", body, subject=question.id, parent=question.seq)
    elif action == "refuse":
        reason = tidy(post.get("reason", ""))
        if not reason:
            raise UsageError(_("It is not said why."), hint=_("Write what is wrong with the text, or a better one."))
        body |= {"reason": reason, "reason_language": checked_tag(post.get("reason_language", "") or tag)}
        act(request, visit, "wording.refused", body, subject=question.id, parent=question.seq)
    else:
        raise UsageError(_("The form is not whole."), hint=_("Open the page again."))


_SENT = {"note": 2000, "source": 36, "base": 36}


def history(question: Question, tag: str) -> list[Version]:
    """Return the texts that a question had in a language, newest first, from its log."""
    events = Event.objects.filter(Q(uuid=question.id) | Q(subject=question.id), project=question.project_id)
    kinds = ("question.written", "question.revised") if tag == question.language else ("wording.proposed",)
    opinions: defaultdict[str, list[Event]] = defaultdict(list)
    texts: list[Event] = []
    for one in events.filter(erased=False).order_by("seq"):
        if one.kind in ("wording.agreed", "wording.refused"):
            opinions[one.body["wording"]].append(one)
        elif one.kind in kinds and one.body.get("language", tag) == tag:
            same = one.kind == "question.revised" and texts and one.body["text"] == texts[-1].body["text"]
            texts += [] if same else [one]
    olds = ["", *(one.body["text"] for one in texts)]
    found = [
        Version(one, pieces(old, one.body["text"]) if old else [("same", one.body["text"])], opinions[str(one.uuid)])
        for old, one in zip(olds, texts, strict=False)
    ]
    return found[::-1]
