"""What people answered: how far they agree, which answers mean the same, and all of it as a table."""

from __future__ import annotations

import hashlib
from collections import Counter
from operator import itemgetter
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.languages.phrases import is_non_answer
from kapwa.people.agreement import NAMES
from kapwa.people.answers import AnswerAgreement, agreement_of
from kapwa.studio.fields import tidy_line
from kapwa.studio.languages import Language, language
from kapwa.studio.merging import Group, Merged, counts, merged_answers, revisions_of
from kapwa.studio.models import Project, Question, Wording
from kapwa.studio.models.answers import NO_ANSWER, NOT_APPLICABLE, UNKNOWN
from kapwa.studio.projections.everyday import PROMPT
from kapwa.studio.roles import COORDINATORS, MERGERS
from kapwa.studio.security import Visit, page
from kapwa.studio.suggesting import suggestions
from kapwa.studio.views.common import act, show
from kapwa.tables_io import csv_bytes

_MOST_SUGGESTED, _MOST_UNDONE = 40, 20
_SHOWN = ("percent", "krippendorff-nominal")


class Shares(NamedTuple):
    """A question of the list: its answers, and of all people, the share of the commonest and of each non-answer."""

    found: Merged
    commonest: float | None
    unknown: float | None
    not_applicable: float | None
    no_answer: float | None


@page("answers/", read=MERGERS)
def answers(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show, for a language, how many people answered each question, what most say, and how far they agree."""
    tag = _language_of(request, visit.project)
    found = _collected(visit.project, tag)
    agreement = agreed(visit.project, found)
    rows = agreement.agreement.to_dicts() if agreement else []
    return show(
        request,
        visit,
        "answers",
        rows=[_shares(one) for one in found],
        own=language(tag),
        languages=_languages(visit.project),
        agreement=[row | {"name": NAMES[row["coefficient"]]} for row in rows if row["coefficient"] in _SHOWN],
        people=len({answer.author for one in found for answer in one.answers}),
        stale=sum(one.stale for one in found),
    )


def _language_of(request: HttpRequest, project: Project) -> str:
    """The language asked for, where anything was worded in it, else the project's own."""
    given = request.POST.get("language") or request.GET.get("language", "")
    return given if given in {one.tag for one in _languages(project)} else str(project.language)


def _languages(project: Project) -> list[Language]:
    asked = Question.objects.filter(project=project).exclude(kind=PROMPT).values("id")
    worded = Wording.objects.filter(project=project, question__in=asked).values_list("language", flat=True).distinct()
    return [language(tag) for tag in sorted({project.language, *worded})]


def _collected(project: Project, tag: str) -> list[Merged]:
    found = merged_answers(project, tag, everybody=True)
    return [one for one in found if one.question.kind != PROMPT and (one.asked or one.answers)]


def _shares(found: Merged) -> Shares:
    votes = [found.groups[0].votes if found.groups else 0]
    votes += [found.idks[reason] for reason in (UNKNOWN, NOT_APPLICABLE, NO_ANSWER)]
    return Shares(found, *(one / found.people if found.people else None for one in votes))


def item_of(project: Project, found: Merged) -> str:
    """Return the id under which a question stands in the table of answers."""
    tag = found.wording.language if found.wording else found.answers[0].language
    return f"{tag}/{project.slug}-{found.question.number:03d}"


def person_of(project: Project, author: str) -> str:
    """Return the code of a person in the table of answers: the same in each, and no name that the studio uses."""
    digest = hashlib.blake2b(author.encode(), key=project.salt.encode(), person=b"answers", digest_size=5)
    return f"p{digest.hexdigest()}"


def agreed(project: Project, found: list[Merged]) -> AnswerAgreement | None:
    """Return how far people agree in their first answers after merging, as ``kapwa agreement`` does of the table."""
    given = {
        item_of(project, one): {person_of(project, author): head for author, head in one.first.items()}
        for one in found
        if one.first
    }
    return agreement_of(given) if given else None


@page("answers/table/", read=COORDINATORS)
def answers_table(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Give every answer of a language as a table that spreadsheets and ``kapwa agreement`` read."""
    project, tag = visit.project, _language_of(request, visit.project)
    found = _collected(project, tag)
    most = max([project.answers_each, *(len(answer.texts) for one in found for answer in one.answers)])
    slots = [f"text_{place}" for place in range(1, most + 1)]
    header = ("item_id", "rater", "answer", "outcome", "counts", *slots, "depends", "question")
    rows: list[list[Any]] = []
    for one in found:
        asked = one.wording.text if one.wording else one.question.text
        # By code: in the order in which they came, the log would say whose each is.
        for who, answer in sorted(
            ((person_of(project, answer.author), answer) for answer in one.answers), key=itemgetter(0)
        ):
            fresh = counts(answer, one.question, one.wording, one.decisions)
            head = one.first.get(answer.author, "") if fresh else ""
            texts = [*answer.texts, *[""] * (most - len(answer.texts))]
            outcome = (answer.outcome, "yes" if fresh else "no")
            rows.append([item_of(project, one), who, head, *outcome, *texts, answer.depends, asked])
    table = HttpResponse(csv_bytes(header, rows), content_type="text/csv; charset=utf-8")
    table["Content-Disposition"] = f'attachment; filename="{project.slug}-answers-{tag}.csv"'
    return table


@page("answers/<int:number>/", read=MERGERS, write=MERGERS)
def merge_answers(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Show the answers to a question with what may mean the same; take what a person decides."""
    tag = _language_of(request, visit.project)
    found = next(iter(merged_answers(visit.project, tag, number=number, everybody=True)), None)
    if found is None or found.question.kind == PROMPT:
        raise Http404
    if request.method == "POST":
        kind, body = _decision(request, visit.project, found)
        act(request, visit, kind, {"language": tag, **body}, subject=found.question.id)
        at = "decided" if "action" in request.POST else "history" if "undo" in request.POST else "may"
        return redirect(reverse("merge_answers", args=[visit.project.slug, number]) + f"?language={tag}#{at}")
    suggested = suggestions(found.groups, tag, found.decisions)
    texts = {key: text for group in found.groups for key, text in zip(group.keys, group.texts, strict=True)}
    return show(
        request,
        visit,
        "merging",
        found=found,
        own=language(tag),
        english=language("en"),
        in_english=tag.partition("-")[0] == "en",
        groups=[_shown(group, tag) for group in found.groups],
        suggested=suggested[:_MOST_SUGGESTED],
        more=len(suggested) - _MOST_SUGGESTED,
        decisions=[_told(one, texts) for one in reversed(found.decisions)][:_MOST_UNDONE],
        depends=[answer for answer in found.answers if answer.depends],
        stale=_stale(found),
        now=".".join(map(str, revisions_of(found.question, found.wording))),
        shares=_shares(found),
    )


def _shown(group: Group, tag: str) -> dict[str, Any]:
    return {
        "key": group.keys[0],
        "head": group.head,
        "votes": group.votes,
        "english": "; ".join(group.english),
        "others": list(zip(group.keys, group.texts, strict=True))[1:],
        "says_nothing": all(is_non_answer(text, tag) for text in group.texts),
    }


def _told(decision: Any, texts: dict[str, str]) -> dict[str, Any]:
    """A decision as people read it; of an answer that nobody gives now, nothing is left to read."""
    keys = decision.get("keys") or list(decision.get("english", ())) or [decision.get("key", "")]
    shown = [texts[key] for key in keys if key in texts]
    return {"id": decision["id"], "kind": decision["kind"], "author": decision["author"], "texts": shown}


def _stale(found: Merged) -> list[tuple[str, int]]:
    """What people answered to a former text, with how many said so."""
    old = [one for one in found.answers if not counts(one, found.question, found.wording, found.decisions)]
    said = {
        UNKNOWN: _("I don't know"),
        NOT_APPLICABLE: _("Not applicable here"),
        NO_ANSWER: _("There is no typical answer"),
    }
    return Counter(text for one in old for text in one.texts or [said[one.outcome]]).most_common()


def _decision(request: HttpRequest, project: Project, found: Merged) -> tuple[str, dict[str, Any]]:
    """The kind and body of the event that a posted form asks for; the button that was pressed says which."""
    of = {key: group.keys[0] for group in found.groups for key in group.keys}
    post = request.POST
    if post.get("undo"):
        return "answers.undone", {"decision": post["undo"][:40]}
    if post.get("confirm"):
        now = revisions_of(found.question, found.wording)
        if post["confirm"] != ".".join(map(str, now)):
            raise UsageError(_("The question changed meanwhile."), hint=_("Open it again and read it once more."))
        old = {(one.question_revision, one.wording_revision) for one in found.answers}
        return "answers.confirmed", {"seen": sorted([*one] for one in old - {tuple(now)}), "now": now}
    given = {name: post[name] for name in ("split", "named") if post.get(name)}
    for name, key in given.items():
        if key not in of:
            raise UsageError(_("There is no such answer any more."), hint=_("Open the page again."))
        return f"answers.{name}", {"key": key}
    if post.get("action") == "english":
        return "answers.translated", {"english": _translated(request, found)}
    keys = [key for key in post.getlist("key") if key in of]
    if len({of[key] for key in keys}) < 2:
        raise UsageError(_("Fewer than two different answers are ticked."), hint=_("Tick those that mean the same."))
    return "answers.merged", {"keys": keys}


def _translated(request: HttpRequest, found: Merged) -> dict[str, str]:
    """The translations that differ from those of now; the head's stands for its group, so the others' are emptied."""
    english: dict[str, str] = {}
    for group in found.groups:
        text = tidy_line(request.POST.get(f"english_{group.keys[0]}", ""), 400)
        if text != "; ".join(group.english):
            english |= {**dict.fromkeys(group.keys, ""), group.keys[0]: text}
    if not english:
        raise UsageError(_("No translation was changed."), hint=_("Change one, then save."))
    return english
