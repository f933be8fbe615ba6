"""What people answered: how far they agree, which answers mean the same, and all of it as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from urllib.parse import urlencode

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.errors import UsageError
from kapwa.labels.open_answers import agreement_of
from kapwa.languages.phrases import is_non_answer
from kapwa.studio.core.aside import set_aside
from kapwa.studio.core.languages import language
from kapwa.studio.core.posted import PageForm, SetText, posted
from kapwa.studio.core.release import item_id
from kapwa.studio.core.roles import COORDINATORS, MERGERS, MODERATORS
from kapwa.studio.core.security import Visit, page
from kapwa.studio.core.tables import Project
from kapwa.studio.core.text import key_of
from kapwa.studio.core.views.common import act, as_file, named_agreement, show, whole
from kapwa.studio.core.views.fields import TypedField, told
from kapwa.studio.core.views.listing import page_of
from kapwa.studio.questions.events import PROMPT
from kapwa.studio.questions.merging import Merged, against_people, merged_answers
from kapwa.studio.questions.suggesting import suggestions
from kapwa.studio.questions.tables import DESK, Decision, Wording
from kapwa.studio.questions.views.questions import progress
from kapwa.tables import csv_bytes
from kapwa.value_types import Cells, JsonObject

_COLUMNS = ("item_id", "rater", "answer", "outcome", "counts", "texts", "depends", "question")


@page("answers/", read=MERGERS)
def answers(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Show, for a language, how many people answered each question, what most say, and how far they agree."""
    tag, tags = _language_of(request, visit.project)
    aside = set_aside(visit.project, DESK)
    merged = _collected(visit.project, tag, aside)
    everybody = agreed(visit.project, _collected(visit.project, tag)) if aside else []
    full = [one for one in merged if one.asked and one.wording.people >= visit.project.people_each]
    return show(
        visit,
        "answers",
        shown=page_of(merged, request.GET),
        to_compare=[one.wording.question.number for one in full if not one.is_compared],
        is_compared=any(one.is_compared for one in full),
        own=language(tag),
        languages=[language(language_tag) for language_tag in tags],
        agreement=named_agreement(agreed(visit.project, merged)),
        everybody=named_agreement(everybody),
        aside=len(aside),
        quality=visit.may(MODERATORS),
        people=len({answer.author for wording in merged for answer in (*wording.counted, *wording.old)}),
        stale=sum(len(wording.old) for wording in merged),
    )


def _language_of(request: HttpRequest, project: Project) -> tuple[str, list[str]]:
    """The language asked for, where any question was worded in it, else the project's own; and all there are."""
    worded = Wording.objects.filter(project=project).exclude(question__kind=PROMPT).values_list("language", flat=True)
    tags = sorted({project.language, *worded})
    wanted = request.GET.get("language", "")
    return wanted if wanted in tags else project.language, tags


def _collected(project: Project, tag: str, without: Collection[str] = ()) -> list[Merged]:
    """The wordings in a language that are asked, or were answered, with their answers; checks are on a page apart."""
    wordings = Wording.objects.filter(project=project, language=tag).exclude(question__kind=PROMPT)
    every = [merged for merged in merged_answers(project, wordings, without) if not merged.wording.is_check]
    return [merged for merged in every if merged.asked or merged.counted or merged.old]


def agreed(project: Project, merged: Sequence[Merged]) -> list[Cells]:
    """Return how far people agree in their first answers after merging, as ``kapwa label agree`` does of the table."""
    heads: dict[str, dict[str, str]] = {}
    for item, who, head, *_rest in answer_rows(project, merged):
        if head:
            heads.setdefault(item, {})[who] = head
    return agreement_of(heads).agreement.to_dicts() if heads else []


def answer_rows(project: Project, merged: Sequence[Merged], aside: Collection[str] = ()) -> list[list[str]]:
    """Return the table of answers, whose columns are _COLUMNS; people are codes, the same in each table of a project.

    Codes tell nothing of anybody, and the rows are in their order: that in which answers came would say whose each is.
    Answers of the authors in ``aside`` count nowhere.
    """
    rows = []
    for wording in merged:
        item, first = f"{wording.wording.language}/{item_id(project, wording.wording.question.number)}", wording.first
        for counts, answers in (("yes", wording.counted), ("no", wording.old)):
            for answer in answers:
                who, head = f"p{key_of(project, answer.author)}", first.get(answer.author, "")
                used = "set aside" if answer.author in aside else counts
                cells = (answer.outcome, used, ";".join(answer.texts), answer.depends, wording.wording.text)
                rows.append([item, who, head if used == "yes" else "", *cells])
    return sorted(rows)


@page("answers/table/", read=COORDINATORS)
def answers_table(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Give every answer of a language as a table that spreadsheets and ``kapwa label agree`` read."""
    tag, _tags = _language_of(request, visit.project)
    rows = answer_rows(visit.project, _collected(visit.project, tag), set_aside(visit.project, DESK))
    content = csv_bytes(_COLUMNS, rows)
    return as_file(content, f"{visit.project.slug}-answers-{tag}.csv", "text/csv; charset=utf-8")


@page("answers/<int:number>/", read=MERGERS, write=MERGERS)
def merge_answers(request: HttpRequest, visit: Visit, number: int) -> HttpResponse:
    """Show the answers to a question with what may mean the same; take what a person decides."""
    tag, _tags = _language_of(request, visit.project)
    wordings = Wording.objects.filter(project=visit.project, language=tag, question__number=number)
    wordings, aside = wordings.exclude(question__kind=PROMPT), set_aside(visit.project, DESK)
    merged = next(iter(merged_answers(visit.project, wordings, aside)), None)
    if merged is None or merged.wording.is_check:
        raise Http404
    against, form = None, DecisionForm(merged, posted(request))
    if form.is_valid():
        kind, body = form.event
        against = against_people(visit.project, merged, kind, body.get("keys") or [body.get("key", "")])
        reason = form.cleaned_data["reason"] if against else ""
        if reason or not against:
            more = {"against": against, "reason": reason} if against else {}
            act(visit, kind, {"language": tag, **body, **more}, subject=merged.wording.question_id)
            return redirect(_after(visit, merged.wording) if kind == "answers.compared" else request.get_full_path())
    moved = [decision.body["key"] for decision in merged.decisions if decision.kind == "answers.split"]
    groups = [*merged.groups, *merged.proposed]
    texts = {key: text for group in groups for key, text in group.texts.items()}
    return show(
        visit,
        "merging",
        400 if against or form.errors else 200,
        against=against,
        decision=form,
        found=merged,
        groups=groups,
        own=language(tag),
        in_english=tag.partition("-")[0] == "en",
        empty=[group.key for group in groups if all(is_non_answer(text, tag) for text in group.texts.values())],
        suggested=suggestions(groups, tag, moved),
        decisions=[(decision, _answers_meant(decision, texts)) for decision in reversed(merged.decisions)],
        depends=[answer for answer in (*merged.counted, *merged.old) if answer.depends],
        old=Counter(text for answer in merged.old for text in answer.texts or ["–"]).most_common(),
    )


def _after(visit: Visit, wording: Wording) -> str:
    """Return the address of the answers in the same language that are to be compared next, else of the list."""
    tag, number = wording.language, wording.question.number
    waiting = [other for row in progress(visit) if row["language"].tag == tag for other in row["to_compare"]]
    following = min(waiting, key=lambda other: (other < number, other), default=None)
    page = visit.link("answers") if following is None else visit.link("merge_answers", following)
    return f"{page}?{urlencode({'language': tag})}"


def _answers_meant(decision: Decision, texts: dict[str, str]) -> list[str]:
    """What a decision is about, as people read it; of an answer that nobody gives now, nothing is left to read."""
    body = decision.body
    if "text" in body:
        return [body["text"]]
    keys = body.get("keys") or body.get("english") or [body.get("key", "")]
    return [texts[key] for key in keys if key in texts]


class DecisionForm(PageForm):
    """What somebody decides on the answers to a question: the button that was pressed says what.

    ``key``: the answers that are ticked; ``english_KEY``: what an answer means in English; ``event``: the kind and body
    of the event, where nothing is wrong.
    """

    undo = SetText(max_length=40, required=False)
    confirm = SetText(max_length=40, required=False)
    compared = SetText(max_length=40, required=False)
    split = SetText(max_length=40, required=False)
    named = SetText(max_length=40, required=False)
    action = SetText(max_length=40, required=False)
    key = forms.MultipleChoiceField(required=False)
    reason = TypedField(required=False)

    def __init__(self, merged: Merged, posted: QueryDict | None) -> None:
        super().__init__(posted)
        self.merged, self.groups = merged, [*merged.groups, *merged.proposed]
        self.heads = {key: group.key for group in self.groups for key in group.texts}
        self.now = [merged.wording.question.revision, merged.wording.revision]
        self.event: tuple[str, JsonObject] = ("", {})
        self.fields["key"].choices = [(key, "") for key in self.heads]
        for group in self.groups:
            self.fields[f"english_{group.key}"] = TypedField(400, line=True, required=False)

    def clean(self) -> None:
        """Set the event that the form asks for."""
        if not self.errors:
            made = self.cleaned_data
            of_one = [name for name in ("split", "named") if made[name] in self.heads]
            if made["undo"]:
                self.event = "answers.undone", {"decision": made["undo"]}
            elif made["confirm"] or made["compared"]:
                self.event = self._of_now()
            elif of_one:
                self.event = f"answers.{of_one[0]}", {"key": made[of_one[0]]}
            elif made["action"] == "english":
                self.event = "answers.translated", {"english": self._english()}
            else:
                self.event = "answers.merged", {"keys": self._ticked()}

    def _of_now(self) -> tuple[str, JsonObject]:
        made = self.cleaned_data
        revisions, _sep, people = (made["confirm"] or made["compared"]).partition(":")
        if revisions != ".".join(map(str, self.now)):
            raise UsageError(_("The question has changed."), hint=_("Open it again and read the new version."))
        if made["compared"]:
            return "answers.compared", {"now": self.now, "people": whole(people)}
        seen = {(answer.question_revision, answer.wording_revision) for answer in self.merged.old}
        return "answers.confirmed", {"seen": sorted(map(list, seen)), "now": self.now}

    def _english(self) -> dict[str, str]:
        english: dict[str, str] = {}
        for group in self.groups:
            text = self.cleaned_data[f"english_{group.key}"]
            if text != "; ".join(group.english):  # the head's stands for its group
                english |= {**dict.fromkeys(group.texts, ""), group.key: text}
        if not english:
            raise forms.ValidationError(told(_n("No translation was changed."), _n("Change one, then save.")))
        return english

    def _ticked(self) -> list[str]:
        keys: list[str] = self.cleaned_data["key"]
        if len({self.heads[key] for key in keys}) < 2:
            wrong = told(_n("Fewer than two different answers are ticked."), _n("Tick those that mean the same."))
            raise forms.ValidationError({"key": wrong})
        return keys

    @property
    def again(self) -> list[tuple[str, str]]:
        """What says which decision it is, to ask for it once more with a reason."""
        return [(name, text) for name in ("key", "named", "action") for text in self.data.getlist(name)]
