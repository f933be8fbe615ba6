"""Find which of people's answers a short reply gives, and by which rule; and what the released code would say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kapwa.languages.codes import canonical
from kapwa.languages.fallback import language_for
from kapwa.languages.words import words
from kapwa.metrics.matching import Matcher, Rule
from kapwa.records import Item
from kapwa.suites.blend.questions import AnswerGroup, CountryQuestion, Kind, is_valid_code
from kapwa.suites.blend.variants import AskedIn

ENGLISH = "en"
# Rules under which a reply may give another answer better, the strictest first.
# How loose a rule is that found an answer; the others are the strictest, which no other answer can beat.
_LOOSENESS: dict[Rule, int] = {"phrase": 1, "lemma": 2, "inside": 3}


class Target(NamedTuple):
    """What a reply is compared with: the answer groups of a question in file order, and how it was asked."""

    groups: tuple[AnswerGroup, ...]
    kind: Kind
    local_language: str
    asked_in: AskedIn

    @classmethod
    def of_item(cls, item: Item) -> Target:
        """The target of an item of ``blend/saq``."""
        fields = item.fields
        return cls(fields["answers"], fields["kind"], fields["local_language"], fields["asked_in"])

    @classmethod
    def of_question(cls, question: CountryQuestion, asked_in: AskedIn) -> Target:
        """The target of a question as asked in its local language or in English."""
        return cls(question.groups, question.kind, canonical(question.language), asked_in)

    @property
    def language(self) -> str:
        """The language it is asked in."""
        return self.local_language if self.asked_in == "local" else ENGLISH

    def answers_by_language(
        self, group: AnswerGroup, *, reference: bool = False
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield a group's answers by language, in the order they are tried.

        Asked in the local language, answers in it come first and English ones count too; asked in English, English
        ones alone. Where English is the local language both lists are English; the released code (``reference``) then
        looks only at what the file lists as English answers.
        """
        if self.local_language == ENGLISH:
            yield ENGLISH, group.en if reference else tuple(dict.fromkeys((*group.local, *group.en)))
            return
        if self.asked_in == "local":
            yield self.local_language, group.local
        yield ENGLISH, group.en


def question_id(item: Item) -> str:
    """Return the id of an item's question, which other countries' questions share; its cluster may be a group's."""
    return item.id.removeprefix(f"{item.culture}/")


class Hit(NamedTuple):
    """An answer that a reply gives: its group's index, the answer, that answer's language, the rule, its votes."""

    group: int
    answer: str
    language: str
    rule: Rule
    votes: int


class AnswerMatcher:
    """Compares replies with people's answers, each language's matcher made once."""

    def __init__(self) -> None:
        self._matchers: dict[str, Matcher] = {}
        self._words_by_languages: dict[tuple[str, ...], frozenset[str]] = {}

    def matcher(self, code: str) -> Matcher:
        """Return the matcher of a language; raise UsageError for a text that is not a language tag."""
        if code not in self._matchers:
            self._matchers[code] = Matcher(language_for(code))
        return self._matchers[code]

    def _function_words(self, *codes: str) -> frozenset[str]:
        """Function words of an answer's language and of the reply's: "eso" in Spanish is not the English answer ESO."""
        if codes not in self._words_by_languages:
            self._words_by_languages[codes] = frozenset[str]().union(
                *(self.matcher(code).language.folded_function_words for code in codes)
            )
        return self._words_by_languages[codes]

    def drop_local_matchers(self) -> None:
        """Drop what the matchers of local languages remember.

        Countries are judged one after the other, and few share a language: what one needed the next does not.
        """
        self._matchers = {code: matcher for code, matcher in self._matchers.items() if code == ENGLISH}

    def best_match(self, text: str, target: Target) -> Hit | None:
        """Return the answer that ``text`` gives best; None where it gives none.

        Best is what the strictest rule finds, and of these no answer within a longer one ("rice" of "rice cake"); of
        equals the first, in file order.
        """
        hits: list[Hit] = []
        for hit in self.matches(text, target):
            if hit.rule not in _LOOSENESS:
                return hit
            hits.append(hit)
        strictest = min((_LOOSENESS[hit.rule] for hit in hits), default=0)
        best = [hit for hit in hits if _LOOSENESS[hit.rule] == strictest]
        words = [self.matcher(hit.language).prepare(hit.answer).spaced for hit in best]
        whole = (
            hit
            for hit, words_of_hit in zip(best, words, strict=True)
            if not any(words_of_hit != one and words_of_hit in one for one in words)
        )
        return next(whole, None)

    def matches(self, text: str, target: Target) -> Iterator[Hit]:
        """Yield every answer of ``target`` that ``text`` gives, group by group in file order."""
        for index, group in enumerate(target.groups):
            for code, answers in target.answers_by_language(group):
                matcher = self.matcher(code)
                reply, function_words = matcher.prepare(text), self._function_words(code, target.language)
                for answer in answers:
                    rule = matcher.match(reply, answer, target.kind, function_words)
                    if rule is not None:
                        yield Hit(index, answer, code, rule, group.votes)

    def leave_one_out_share(self, text: str, target: Target) -> float:
        """Return the share of keys without one person's answer by which ``text`` gives an answer: one key a vote."""
        lost_of: dict[tuple[int, str], float] = {}
        for hit in self.matches(text, target):
            group = target.groups[hit.group]
            language, texts = next(target.answers_by_language(group))
            # A group of one vote is removed. Answers that others gave, too, and translations are never removed.
            losable = group.votes == 1 or hit.language == language
            lost = single_author_probability(group.votes, len(texts)) if losable else 0.0
            lost_of[hit.group, "" if group.votes == 1 else hit.answer] = lost
            if not lost or len(lost_of) > 1:
                return 1.0
        return 1 - sum(lost_of.values()) / sum(group.votes for group in target.groups) if lost_of else 0.0

    def released_weight(self, text: str, target: Target) -> float | None:
        """Return the weight the released code gives ``text``: votes of the first matching group over the first group's.

        None where nothing matches. ``text`` is what :func:`reference_reply` leaves of a reply.
        """
        for group in target.groups:
            for code, answers in target.answers_by_language(group, reference=True):
                matcher = self.matcher(code)
                reply = matcher.prepare(text)
                if any(matcher.reference_match(reply, answer) for answer in answers):
                    return group.votes / target.groups[0].votes
        return None


def single_author_probability(votes: int, wordings: int) -> float:
    """Return the chance that one of a group's ``wordings`` was written by one person alone.

    Each wording is taken to be written once, and every further vote to fall on any of them alike.
    """
    return (1 - 1 / wordings) ** max(0, votes - wordings) if wordings and votes > 1 else 1.0


_PUNCTUATION = str.maketrans({"：": ":", "、": ",", "，": ",", "。": "."})


def reference_reply(text: str, prompt: str) -> str:
    """Prepare a reply as the released code does.

    It removes the prompt where the reply repeats it, then one word with a colon from the start if the prompt has that
    word, then periods at both ends; and puts all in lower case.
    """
    text = text.replace(prompt, "").translate(_PUNCTUATION).lower() if prompt else text.translate(_PUNCTUATION).lower()
    head, colon, _ = text.partition(":")
    followed = text[len(head) + 1 : len(head) + 2].isspace()
    if colon and followed and head.isidentifier() and head in prompt.translate(_PUNCTUATION).lower():
        text = text.replace(f"{head}:", "")
    return text.strip().strip(".")


# Rules under which the reply contains an answer's own words, so that several matches are several answers.
_VERBATIM_RULES = ("exact", "phrase", "inside")


class QuestionsOfAllCountries:
    """The valid questions of a data set (code's rule), by id and country."""

    def __init__(self, questions: Iterable[CountryQuestion]) -> None:
        self._by_id: dict[str, dict[str, CountryQuestion]] = {}
        for question in questions:
            if is_valid_code(question):
                self._by_id.setdefault(question.id, {})[question.country] = question

    @property
    def countries(self) -> tuple[str, ...]:
        """Every country of the data with a valid question, in the order of the data."""
        return tuple(dict.fromkeys(country for by_country in self._by_id.values() for country in by_country))

    def questions(self) -> Iterator[CountryQuestion]:
        """Yield every valid question."""
        return (question for by_country in self._by_id.values() for question in by_country.values())

    def question(self, question_id: str, country: str) -> CountryQuestion | None:
        """Return a country's question, or None where it has no valid one of that id."""
        return self._by_id.get(question_id, {}).get(country)

    def in_other_countries(self, question_id: str, country: str) -> list[CountryQuestion]:
        """Return the same question as asked of every other country, in the order of the data."""
        return [question for name, question in self._by_id.get(question_id, {}).items() if name != country]

    def commonest_answer(self, question: CountryQuestion, language: str) -> str:
        """Return the commonest answer of a question's people, as said in ``language``; "" where that is unknown.

        Of two equally common the first in the file; of one answer's wordings the first. In the local language where
        that is ``language``, else in English, where somebody translated it.
        """
        group = question.groups[0]
        texts = group.local if canonical(question.language) == language else group.en
        return next(iter(texts), "")

    def commonest_answers(self, question_id: str, country: str, language: str, most: int) -> list[str]:
        """Return up to ``most`` answers that are usual in most other countries, as said in ``language``.

        Each other country counts once, with its own commonest answer; answers are the same when their English
        wording has the same words. Of two equally common the one met first in the data goes first.
        """
        count: Counter[tuple[str, ...]] = Counter()
        wording: dict[tuple[str, ...], str] = {}
        for other in self.in_other_countries(question_id, country):
            if english := self.commonest_answer(other, ENGLISH):
                key = words(english)
                count[key] += 1
                if key not in wording or canonical(other.language) == language:
                    wording[key] = self.commonest_answer(other, language) or english
        return [wording[key] for key, _ in count.most_common(most)]

    def all_commonest_answers(self, question_id: str, country: str, language: str) -> list[str]:
        """Return the distinct commonest answers of all other countries, in the order of the data."""
        texts = filter(
            None, (self.commonest_answer(other, language) for other in self.in_other_countries(question_id, country))
        )
        return list({words(text): text for text in texts}.values())

    def first_of_many(
        self, text: str, target: Target, question_id: str, limit: int, answer_matcher: AnswerMatcher
    ) -> str | None:
        """Return the first answer of a reply that gives more than ``limit`` known answers; None if it does not.

        For replies in which nothing separates answers ("rice bread soup"). Known are the answers of the country
        itself and the usual ones of all others. An answer within another found one (rice, rice cake) is not counted.
        """
        known = list(self._known(target, question_id))
        named = {_verbatim_words(answer_matcher, text, answer, code) for code, answer in known} - {""}
        apart = [name for name in named if not any(name != other and name in other for other in named)]
        if len(apart) <= limit:
            return None
        tokens = text.split()
        for end in range(1, len(tokens) + 1):
            start = " ".join(tokens[:end])
            if any(_verbatim_words(answer_matcher, start, answer, code) for code, answer in known):
                return start
        return tokens[0]

    def _known(self, target: Target, question_id: str) -> Iterator[tuple[str, str]]:
        for group in target.groups:
            for code, answers in target.answers_by_language(group):
                yield from ((code, answer) for answer in answers)
        for other in self._by_id.get(question_id, {}).values():
            spoken = canonical(other.language)
            for language in dict.fromkeys((target.language, ENGLISH)):
                if answer := self.commonest_answer(other, language):
                    yield language if spoken == language else ENGLISH, answer


def _verbatim_words(answer_matcher: AnswerMatcher, text: str, answer: str, code: str) -> str:
    """Return the answer's folded words if they stand in the text as they are, else ""."""
    matcher = answer_matcher.matcher(code)
    if matcher.match(text, answer) not in _VERBATIM_RULES:
        return ""
    return " ".join(matcher.prepare(answer).tokens)
