"""Releases of everyday questions (BLEnD): agreed texts, and the answers of people who agreed to their publication.

An item is a question in one language. It names texts by the events they came by, and answers by keys, so that what is
erased is gone from releases, too, and that each comes out the same as often as it is written.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from kapwa.analysis.datasheet import Facts
from kapwa.datasets.withdrawn import withdrawn_hash
from kapwa.languages.codes import name_of
from kapwa.studio.describe import Column, listed, people_facts, tell_people
from kapwa.studio.merging import Merged, counts, key_of, merged_answers
from kapwa.studio.models import Answer, Event, Project, Question, Release
from kapwa.studio.models.answers import ANSWERED
from kapwa.studio.projections.everyday import PROMPT, agreed_texts
from kapwa.studio.releasing.base import Items, Tables, cannot_be_written, is_private, json_lines, public_salt, unwilling
from kapwa.studio.releasing.situations import item_id
from kapwa.suites.blend import PROMPTS
from kapwa.suites.blend.data import PROMPT_FILE
from kapwa.suites.blend.form import MANY_LANGUAGES
from kapwa.suites.blend.questions import IDK_KEYS
from kapwa.tables_io import csv_text

ABOUT = "Questions about everyday life in the culture {culture}, with the answers of people there."
REMEDY = gettext_noop("Let people agree to questions, to their English text, too, if you have one, and answer them.")
QUESTIONS, ANSWERS = "questions.jsonl", "answers.jsonl"
# Every question of the form has a topic; the name of one goes with who added it.
NO_TOPIC = "other"
_TEXTS = ("question.written", "question.revised", "wording.proposed")
_OWN = ("notes", "source")  # the writers' own; never released


def accepted_now(project: Project, before: Release | None) -> dict[str, Any]:
    """Return the agreed questions that anybody answered; none stays as it was while it is agreed to anew."""
    return _items(project, set(), everybody=True)


def items_now(project: Project, before: Release | None) -> dict[str, Any]:
    """Return the agreed questions that people answered who agreed to publication, with the answers of these alone.

    A question is left out where its text was made of words whose author did not agree to publication.
    """
    return _items(project, unwilling(project), everybody=False)


def _items(project: Project, silent: Collection[str], *, everybody: bool) -> dict[str, Any]:
    barred = _made_of_words_of(project, silent)
    asked = _asked(project)
    english = {pk: text for tag, texts in asked.items() if _is_english(tag) for pk, text in texts.items()}
    used = Question.objects.filter(project=project, retired=False).exclude(kind=PROMPT)
    # English goes with a release where questions are written in it, the project asks for it, or all of them have it.
    wanted = any(map(_is_english, [*project.languages, *used.values_list("language", flat=True)]))
    every = {pk for texts in asked.values() for pk in texts} & set(used.values_list("id", flat=True))
    english = english if wanted or every <= english.keys() else {}
    about = _last_described(project)
    found: dict[str, Any] = {}
    for tag, texts in asked.items():
        for merged in merged_answers(project, tag, everybody=everybody):
            pk = merged.question.id
            own = {
                "about": about[pk],
                "topic": bool(merged.question.topic),
                "english": english.get(pk, ""),
                "wording": texts.get(pk, ""),
            }
            whole = own["wording"] and (own["english"] or not wanted) and barred.isdisjoint(own.values())
            if whole and merged.people and merged.question.kind != PROMPT:
                found[f"{pk}:{tag}"] = {**own, **_answers(merged, silent)}
    return found


def _asked(project: Project) -> dict[str, dict[str, str]]:
    """Return, by language, the agreed questions and prompts, each with the event of its text."""
    tags = Question.objects.filter(project=project).order_by("number").values_list("language", flat=True)
    return {
        tag: {one.question.id: one.wording.text_event for one in agreed_texts(project, tag)}
        for tag in dict.fromkeys([*project.languages, *tags])
    }


def _is_english(tag: str) -> bool:
    return tag.partition("-")[0] == "en"


def _made_of_words_of(project: Project, silent: Collection[str]) -> set[str]:
    """Return the events of texts that are, or came of, words of ``silent`` people."""
    found: set[str] = set()
    for one in Event.objects.filter(project=project, kind__in=_TEXTS, erased=False).order_by("seq"):
        if one.actor in silent or {one.body.get("base"), one.body.get("source")} & found:
            found.add(str(one.uuid))
    return found


def _last_described(project: Project) -> dict[str, str]:
    """Return, by question, the event that its topic and kind came by."""
    found: dict[str, str] = {}
    for one in Event.objects.filter(project=project, kind__in=_TEXTS[:2], erased=False).order_by("seq"):
        found[one.subject or str(one.uuid)] = str(one.uuid)
    return found


def _answers(merged: Merged, silent: Collection[str]) -> dict[str, Any]:
    """Return votes and keys of the groups, what put them into English, and how many gave no answer."""
    said: dict[str, str] = {}
    for one in merged.decisions:
        if one["kind"] == "answers.translated" and one["author"] not in silent:
            said |= {key: one["id"] if text else "" for key, text in one["english"].items()}
    groups = [
        {"votes": one.votes, "keys": list(one.keys), "english": {key: said[key] for key in one.keys if said.get(key)}}
        for one in merged.groups
    ]
    return {"groups": groups, "idks": merged.idks, "people": merged.people}


def missing(project: Project, items: Items) -> str:
    """Say that nobody gave an answer, or that models can be asked in no language of the questions."""
    if not any(one["groups"] for one in items.values()):
        return str(_("answers"))
    names = set(Question.objects.filter(project=project, name=PROMPTS[0]).values_list("id", flat=True))
    prompted = {tag for tag, texts in _asked(project).items() if names & texts.keys()}
    runs = any(own["english"] or item.partition(":")[2] in prompted for item, own in items.items())
    return "" if runs else _("the prompt %(name)s in the language of the questions") % {"name": PROMPTS[0]}


def waiting(project: Project, accepted: Items) -> int:
    """Return how many questions in use are nowhere agreed to and answered."""
    used = Question.objects.filter(project=project, retired=False).exclude(kind=PROMPT)
    return int(used.exclude(id__in={_question(item) for item in accepted}).count())


def _question(item: str) -> str:
    return item.partition(":")[0]


class _Said(NamedTuple):
    """The words that items name: bodies of events by id, and answers by question, language and key."""

    bodies: dict[str, dict[str, Any]]
    answers: dict[tuple[str, str], dict[str, str]]


def _said(project: Project, questions: Iterable[str]) -> _Said:
    bodies: dict[str, dict[str, Any]] = {}
    answers: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    own = Q(subject__in=list(questions)) | Q(uuid__in=list(questions))
    kinds = (*_TEXTS, "answers.translated", "answer.given")
    for one in Event.objects.filter(own, project=project, kind__in=kinds, erased=False):
        if one.kind != "answer.given":
            bodies[str(one.uuid)] = one.body
            continue
        for text in one.body["texts"]:
            answers[one.subject, one.body["language"]][key_of(project, text)] = text
    return _Said(bodies, answers)


def _rows(said: _Said, item: str, own: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    """Return what the row of a question and those of its answers say; None where a word of them was withdrawn."""
    pk, _colon, tag = item.partition(":")
    try:
        about = said.bodies[own["about"]]
        if own["topic"] and not about["topic"]:
            return None
        row = {"topic": about["topic"] or NO_TOPIC, "local": said.bodies[own["wording"]]["text"]}
        if own["english"]:
            row["english"] = said.bodies[own["english"]]["text"]
        lines = []
        for group in own["groups"]:
            local = [said.answers[pk, tag][key] for key in group["keys"]]
            texts = [said.bodies[event]["english"][key] for key, event in group["english"].items()]
            english = dict.fromkeys(part.strip() for text in texts for part in text.split(";"))
            lines.append({"votes": group["votes"], "local": local, "english": list(filter(None, english))})
    except KeyError:
        return None
    return {**row, "kind": about["kind"], "annotators": own["people"], **own["idks"]}, lines


def key(item: str, revision: Any) -> str:
    """Return the texts of a question in a language, its answers with their votes, and who gave none; no topic."""
    pk = _question(item)
    begun = Event.objects.filter(uuid=pk).select_related("project").first()
    rows = _rows(_said(begun.project, [pk]), item, revision) if begun else None
    texts = None if rows is None else ({**rows[0], "topic": ""}, rows[1])
    return json.dumps(texts, ensure_ascii=False, sort_keys=True)


def authors_of(items: Items) -> list[str]:
    """Return who worded the questions, and whose answers count."""
    texts = {one[name] for one in items.values() for name in ("english", "wording")} - {""}
    worded = set(Event.objects.filter(uuid__in=texts).values_list("actor", flat=True))
    return sorted(worded | {one.author for one in _counted(items)})


def _counted(items: Items) -> list[Answer]:
    """Return the answers that count in a release of now."""
    first = Question.objects.filter(id__in=[_question(item) for item in items]).select_related("project").first()
    if first is None:
        return []
    silent, found = unwilling(first.project), []
    for tag in {item.partition(":")[2] for item in items}:
        for merged in merged_answers(first.project, tag):
            if f"{merged.question.id}:{tag}" in items:
                known = (merged.question, merged.wording, merged.decisions)
                found += [one for one in merged.answers if one.author not in silent and counts(one, *known)]
    return found


def card(project: Project, items: Items) -> dict[str, Any]:
    """Return the language of the questions, and what two people's agreement does not say."""
    tags = {item.partition(":")[2] for item in items} or {project.language}
    told = "Written in Kapwa Studio; two others agreed to each wording. People of the community answered."
    return {
        "language": tags.pop() if len(tags) == 1 else MANY_LANGUAGES,
        "collected": project.collected or told,
        "reviewed_by_native_speakers": False,  # whose language it is of those who agreed, nobody was asked
    }


def facts(project: Project, items: Items) -> dict[str, Any]:
    """Return counts of how questions and answers came about; and by language and id, the texts of agreed prompts."""
    own = {_question(item) for item in items}
    opinions = Event.objects.filter(project=project, subject__in=own, erased=False)
    agreed, refused = (opinions.filter(kind=f"wording.{name}") for name in ("agreed", "refused"))
    reviewers = {*agreed.values_list("actor", flat=True), *refused.values_list("actor", flat=True)}
    answers, authors = _counted(items), set(authors_of(items)) - {""}
    outcomes = Counter(one.outcome for one in answers)
    barred, asked = _made_of_words_of(project, unwilling(project)), _asked(project)
    names = dict(Question.objects.filter(project=project, kind=PROMPT).values_list("id", "name"))
    return {
        "writers": len(authors - {one.author for one in answers}),
        "reviewers": len(reviewers - {""}),
        "agreements": agreed.count(),
        "refusals": refused.count(),
        "answerers": len({one.author for one in answers}),
        "outcomes": {name: outcomes[name] for name in (ANSWERED, *IDK_KEYS)},
        "decisions": opinions.filter(kind__in=("answers.merged", "answers.split", "answers.named")).count(),
        "prompts": {
            tag: {pk: text for pk, text in texts.items() if pk in names and text not in barred}
            for tag, texts in asked.items()
        },
        **people_facts(project, authors | reviewers),
    }


def tell(sheet: Facts, known: Mapping[str, Any]) -> None:
    """Tell how the questions were agreed to and answered."""
    source = "the studio's log"
    sheet.tell("collection.direct", "People answered the questions themselves.", source, settled=True)
    how = "Kapwa Studio: a question is asked when two people other than its author agree to its wording."
    sheet.tell("collection.mechanism", how, source)
    sheet.tell("collection.acquired", f"How people answered: {listed(known['outcomes'])}.", source)
    workers = f"{known['answerers']} people answered; {known['writers']} others worded the questions; "
    sheet.tell("collection.workers", f"{workers}{known['reviewers']} said whether they agree to wordings.", source)
    tell_people(sheet, known)
    labels = f"{known['agreements']} agreements to wordings and {known['refusals']} refusals."
    sheet.tell("composition.labels", labels, source)
    done = f"{known['decisions']} decisions of people on which answers mean the same, and which stands for them."
    sheet.tell("preprocessing.done", done, source)


def tables(project: Project, release: Release, *, private: bool) -> Tables:
    """Return the questions, their answers and how models are asked; raise RefusedError where some were withdrawn."""
    known = {one.id: one for one in Question.objects.filter(project=project)}
    said = _said(project, known)
    made = {item: _rows(said, item, own) for item, own in release.items.items() if _question(item) in known}
    prompts = _prompts(project, said, known, release.facts["prompts"])
    gone = len(release.items) - sum(rows is not None for rows in made.values())
    if gone or prompts is None:
        raise cannot_be_written(gone or 1, release)
    questions, answers, items = [], [], {}
    for item, rows in sorted(made.items(), key=lambda pair: (known[_question(pair[0])].number, pair[0])):
        pk, _colon, tag = item.partition(":")
        own, culture = known[pk].name or item_id(project, known[pk].number), _culture(project, tag)
        if rows is not None and is_private(project, own, release.private) == private:
            questions.append({"id": own, "culture": culture, "language": tag, **rows[0]})
            answers += [{"id": own, "culture": culture, **line} for line in rows[1]]
            items[f"{culture}/{own}"] = release.items[item]["wording"]
    if not answers:
        return Tables({}, {}, items)
    asked = {row["culture"] for row in questions}
    lines = [row for row in prompts if row[-1] in asked]
    whole = {"votes", "annotators", *IDK_KEYS}
    columns = {
        QUESTIONS: [Column(name, "Integer" if name in whole else "Text") for name in questions[0]],
        ANSWERS: [Column(n, "Integer" if n in whole else "Text", n in ("local", "english")) for n in answers[0]],
    }
    texts = {PROMPT_FILE: csv_text(("id", "english", "local", "culture"), lines).encode()} if lines else {}
    return Tables({QUESTIONS: json_lines(questions), ANSWERS: json_lines(answers)}, columns, items, texts)


def _prompts(
    project: Project, said: _Said, known: Mapping[str, Question], prompts: Mapping[str, Mapping[str, str]]
) -> list[tuple[str, str, str, str]] | None:
    """Return the rows of the prompts of every language; None where a text of theirs was withdrawn."""
    every = [pk for pk in known if any(pk in texts for texts in prompts.values())]
    if any(text not in said.bodies for texts in prompts.values() for text in texts.values()):
        return None

    def text(tag: str, pk: str) -> str:
        return str(said.bodies[prompts[tag][pk]]["text"]) if pk in prompts[tag] else ""

    english = next((tag for tag in prompts if _is_english(tag)), None)
    rows = [
        (known[pk].name, text(english, pk) if english else "", text(tag, pk), _culture(project, tag))
        for tag in prompts
        for pk in every
    ]
    return [row for row in rows if row[0] and (row[1] or row[2])]


def _culture(project: Project, tag: str) -> str:
    """Return whose answers are in a language: the form gives people of another language a culture of their own."""
    return project.culture if tag == project.language else f"{project.culture} ({name_of(tag)})"


def withdrawn(project: Project, release: Release) -> set[str]:
    """Return the hashes of ids of questions that their authors withdrew; those from tables are nobody's."""
    begun = Event.objects.filter(project=project, kind="question.written", erased=True).values_list("uuid", "body")
    gone = {str(uuid): body["number"] for uuid, body in begun}
    before = Release.objects.filter(project=project, seq__lt=release.seq)
    found = {gone[_question(item)] for one in before for item in one.items if _question(item) in gone}
    return {withdrawn_hash(public_salt(project), item_id(project, number)) for number in found}
