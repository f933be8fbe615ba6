"""Releases of everyday questions (BLEnD): agreed texts, and the answers of people who agreed to their publication.

An item is a question in one language. It names texts by the events they came by, and answers by keys, so that what is
erased is gone from releases, too, and that each comes out the same as often as it is written.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from kapwa.languages.codes import name_of
from kapwa.studio.core.aside import Aside, asides_of
from kapwa.studio.core.consent import unwilling_authors
from kapwa.studio.core.languages import language
from kapwa.studio.core.release import Items, Lack, Published, ReleaseForm, item_id
from kapwa.studio.core.tables import APPROVED, Event
from kapwa.studio.core.text import key_of
from kapwa.studio.questions.events import PROMPT, questions_of
from kapwa.studio.questions.merging import Given, Merged, compared, comparisons, given_to, merge
from kapwa.studio.questions.tables import ANSWERED, DESK, Answer, Question
from kapwa.suites.blend.data import PROMPT_FILE
from kapwa.value_types import Cells, JsonMapping, JsonObject

# Every question of the form has a topic; the name of one goes with who added it.
NO_TOPIC = "other"
_DESCRIBED = ("question.written", "question.revised")


class EverydayRelease(ReleaseForm):
    """Questions that people agreed to and answered; a question leaves its release while its text is agreed to anew."""

    about = "Questions about everyday life in the culture {culture}, with the answers of people there."
    remedy = gettext_noop(
        "Let people agree to questions (and to their English texts, if there are any), and then answer them."
    )
    mechanism = "Kapwa Studio: a question is asked when two people other than its author agree to its wording."
    collected = "Written in Kapwa Studio; two others agreed to each wording. People of the community answered."
    files = ("questions.jsonl", "answers.jsonl")
    model, desk = Question, DESK

    @cached_property
    def _events(self) -> dict[str, Event]:
        """The events that texts came by, in order; but for answers, which many people give in the same words."""
        kinds = (*_DESCRIBED, "wording.proposed", "answers.translated")
        events = Event.objects.filter(project=self.project, kind__in=kinds, erased=False).order_by("seq")
        return {str(event.uuid): event for event in events}

    @cached_property
    def _questions(self) -> dict[str, Question]:
        return {question.id: question for question in questions_of(self.project)}

    @cached_property
    def _given(self) -> Given:
        """What people gave to all that is asked now."""
        used = [question for question in self._questions.values() if question.kind != PROMPT and not question.retired]
        words = [word for question in used for word in question.wordings.all()]
        tags = self._tags
        asked = [word for word in words if word.state == APPROVED and word.language in tags]
        return given_to(self.project, asked)

    @cached_property
    def _aside(self) -> list[Aside]:
        """Whose answers are set aside, and why."""
        return [aside for aside in asides_of(self.project) if aside.desk == DESK and aside.agreed]

    @property
    def _tags(self) -> set[str]:
        return {*self.project.languages, *(question.language for question in self._questions.values())}

    def _barred(self, unwilling: Collection[str]) -> set[str]:
        """Return the events of texts that are, or came of, words of the authors ``unwilling``."""
        barred: set[str] = set()
        for pk, event in self._events.items():
            if event.actor in unwilling or {event.body.get("base"), event.body.get("source")} & barred:
                barred.add(pk)
        return barred

    def items(self, unwilling: Collection[str]) -> JsonObject:
        """Return the events of the texts of each question in a language, and its groups of answers with their votes.

        English goes with a release where questions are written in it, or the project asks for it.
        """
        barred, asked = self._barred(unwilling), self._given.wordings
        about = {event.subject or pk: pk for pk, event in self._events.items() if event.kind in _DESCRIBED}
        wanted = self._in_english()
        english = {word.question_id: word.text_event for word in asked if wanted and _is_english(word.language)}
        items = {}
        for merged in merge(self.project, self._given, {*unwilling, *(aside.who for aside in self._aside)}):
            pk = merged.wording.question_id
            texts = {"about": about[pk], "wording": merged.wording.text_event, "english": english.get(pk, "")}
            if merged.wording.is_check:
                continue
            if merged.counted and (texts["english"] or not wanted) and barred.isdisjoint(texts.values()):
                items[merged.wording.id] = texts | _answers(merged, barred)
        return items

    def published(self, items: Items, facts: JsonMapping) -> list[Published]:
        """Return the row of each question in a language with those of its answers, and how models are asked."""
        words: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        kinds = ("answer.given", "answers.proposed")
        for event in Event.objects.filter(project=self.project, kind__in=kinds, erased=False):
            for text in event.body["texts"] if event.kind == "answer.given" else [event.body["text"]]:
                words[event.subject, event.body["language"]][key_of(self.project, text)] = text
        pairs = [(pk, tag) for pk, _sep, tag in (item.partition(":") for item in items) if pk in self._questions]
        published = []
        for pk, tag in sorted(pairs, key=lambda pair: (self._questions[pair[0]].number, pair)):
            revision, culture = items[f"{pk}:{tag}"], self._culture(tag)
            name = self._questions[pk].name or item_id(self.project, self._questions[pk].number)
            try:
                row, answers = self._rows(revision, words[pk, tag])
            except KeyError:
                continue  # a word of it was withdrawn
            questions = [{"id": name, "culture": culture, "language": tag, **row}]
            tables = {self.files[0]: questions, self.files[1]: [{"id": name, "culture": culture} | a for a in answers]}
            published.append(Published(f"{pk}:{tag}", f"{culture}/{name}", revision["wording"], name, tables))
        return [*published, *self._prompts(facts["prompts"], {tag for _pk, tag in pairs})]

    def _rows(self, revision: JsonMapping, words: Mapping[str, str]) -> tuple[Cells, list[Any]]:
        """Return what the rows of a question and of its answers say; raise KeyError where a word was withdrawn."""
        about = self._events[revision["about"]].body
        row = {"topic": about["topic"] or NO_TOPIC, "local": self._events[revision["wording"]].body["text"]}
        if revision["english"]:
            row["english"] = self._events[revision["english"]].body["text"]
        answers = []
        for group in revision["groups"]:
            local = [words[key] for key in group["keys"]]
            # Not in the order of that table, which databases and archives may change.
            known = [(key, group["english"][key]) for key in group["keys"] if key in group["english"]]
            texts = [self._events[event].body["english"][key] for key, event in known]
            english = dict.fromkeys(part.strip() for text in texts for part in text.split(";"))
            answers.append({"votes": group["votes"], "local": local, "english": list(filter(None, english))})
        return {**row, "kind": about["kind"], "annotators": revision["people"], **revision["idks"]}, answers

    def _prompts(self, prompts: Mapping[str, Mapping[str, str]], tags: Collection[str]) -> Iterator[Published]:
        """Yield how models are asked in each language; every part of a release has that."""
        english = next((texts for tag, texts in prompts.items() if _is_english(tag)), {})
        for tag in sorted(tags):
            local, culture = prompts.get(tag, {}), self._culture(tag)
            for pk in self._questions if english or local else ():
                events = [self._events.get(texts.get(pk, "")) for texts in (english, local)]
                words = [event.body["text"] if event else "" for event in events]
                if (name := self._questions[pk].name) and any(words):
                    row = {"id": name, "english": words[0], "local": words[1], "culture": culture}
                    revision = local.get(pk) or english[pk]
                    yield Published("", f"{culture}/{name}", revision, "", {PROMPT_FILE: [row]})

    def _culture(self, tag: str) -> str:
        """Return whose answers are in a language: the form gives people of another language a culture of their own."""
        return self.culture if tag == self.project.language else f"{self.culture} ({name_of(tag)})"

    def authors(self, items: Items) -> set[str]:
        """Return who worded the questions, and whose answers count."""
        texts = {item[name] for item in items.values() for name in ("english", "wording")} - {""}
        given = self._given._replace(wordings=[word for word in self._given.wordings if word.id in items])
        merged = merge(self.project, given, {aside.who for aside in self._aside})
        answered = {answer.author for wording in merged for answer in wording.counted}
        return answered | {self._events[text].actor for text in texts}

    def lacks(self) -> list[Lack]:
        """Return whether agreed questions or their answers are missing, and prompts in which language.

        Where the questions are in English, too, models are asked in English by the published prompts.
        """
        words = [word for question in questions_of(self.project) for word in question.wordings.all()]
        agreed = [word for word in words if word.state == APPROVED and not self._questions[word.question_id].retired]
        words = [word for word in words if self._questions[word.question_id].kind != PROMPT]
        prompts = [word for word in agreed if self._questions[word.question_id].kind == PROMPT]
        asked, tags = [word for word in agreed if word not in prompts], self.project.languages
        lacks = []
        agreeing = _("translators, and two other people who agree")
        if not asked:
            who = agreeing if words else _("writers")
            page = "translate" if words else "questions"
            lacks.append(Lack(_("questions to which two people agree"), page, who))
        if not Answer.objects.filter(project=self.project, outcome=ANSWERED).exists():
            lacks.append(Lack(_("answers of people"), "answers", _("people who answer")))
        if self._in_english():
            return lacks
        worded = {word.language for word in prompts}
        answered = {word.language for word in asked if word.people} or set(tags)
        for tag in tags:
            if tag in answered - worded:
                what = _("how a model is asked in %(language)s") % {"language": language(tag).name}
                lacks.append(Lack(what, "translate_into", agreeing, (tag,)))
        return lacks

    def ready(self) -> set[str]:
        """Return the wordings whose answers are compared, and that the newest release has not."""
        last = self.last.items if self.last else {}
        used = [question for question in self._questions.values() if not question.retired]
        agreed = [word for question in used for word in question.wordings.all() if word.state == APPROVED]
        english = {word.question_id for word in agreed if _is_english(word.language)}
        done, wanted = compared(agreed, comparisons(self.project)), self._in_english()
        words = [word for word in agreed if word.id in done and (not wanted or word.question_id in english)]
        return {word.id for word in words if last.get(word.id, {}).get("wording") != word.text_event}

    def _in_english(self) -> bool:
        """Whether a release has English texts: where questions are written in it, or the project asks for it."""
        used = [question for question in self._questions.values() if not question.retired and question.kind != PROMPT]
        return any(map(_is_english, [*self.project.languages, *(question.language for question in used)]))

    def held(self, unwilling: Collection[str]) -> set[str]:
        """Return the wordings that are, or came of, words of the authors ``unwilling``."""
        barred = self._barred(unwilling)
        used = [question for question in self._questions.values() if not question.retired]
        return {word.id for question in used for word in question.wordings.all() if word.text_event in barred}

    def decided_against(self, items: Items) -> dict[str, list[str]]:
        """Return, by item, decisions on its answers, and changes of its text, against what most people had said."""
        decided: dict[str, list[str]] = {}
        for decision in chain.from_iterable(self._given.decisions.get(item, ()) for item in items):
            if "against" in decision.body:
                decided.setdefault(decision.wording, []).append(decision.id)
        for item, revision in items.items():
            if "against" in self._events[revision["wording"]].body:
                decided.setdefault(item, []).append(revision["wording"])
        return decided

    def facts(self, items: Items) -> JsonObject:
        """Return, by language and id, the texts of agreed prompts; and why answers of people are set aside, if any."""
        barred = self._barred(unwilling_authors(self.project))
        prompts: defaultdict[str, dict[str, str]] = defaultdict(dict)
        used = [question for question in self._questions.values() if question.kind == PROMPT and not question.retired]
        for wording in (word for question in used for word in question.wordings.all()):
            if wording.state == APPROVED and wording.text_event not in barred:
                prompts[wording.language][wording.question_id] = wording.text_event
        reasons = Counter(aside.reason for aside in self._aside)
        return {"prompts": prompts} | ({"aside": dict(sorted(reasons.items()))} if reasons else {})


def _is_english(tag: str) -> bool:
    return tag.partition("-")[0] == "en"


def _answers(merged: Merged, barred: Collection[str]) -> JsonObject:
    """Return votes and keys of the groups, what put them into English, and how many gave no answer."""
    translations: dict[str, str] = {}
    for decision in merged.decisions:
        if decision.kind == "answers.translated" and decision.id not in barred:
            translations |= {key: decision.id if text else "" for key, text in decision.body["english"].items()}
    groups = []
    for group in merged.groups:
        english = {key: translations[key] for key in group.texts if translations.get(key)}
        groups.append({"votes": group.votes, "keys": list(group.texts), "english": english})
    return {"groups": groups, "idks": merged.idks, "people": len(merged.counted)}
