"""The scores in ``blend/saq`` of replies that use no knowledge of the country, and of people themselves.

Per country and asked language; every reply goes the way of a model's reply (read, guarded, matched). Means are over
the selected questions for which the trick has a reply, each counting once. Exact definitions:

- **other cultures' usual answer**: each other country's commonest answer to the same question, of which the one that
  most countries share (:meth:`~kapwa.suites.blend.saq_match.QuestionsOfAllCountries.commonest_answers`): what a model
  that knows the world but not the country would say. On the release, in English, SEM-B is 0.415 on average.
- **one other culture's usual answer**: the same for each other country alone, averaged over them (0.300).
- **usual answer in the US**: the commonest answer of the country called US (0.340 on average over the other 15).
- **another question's answer**: the country's own commonest answer to another question, the next five in an order
  of hashes of their ids, averaged.
- **other cultures' commonest answers, as many as allowed**: the three (as many as a reply may list) answers that are
  usual in most other countries, in one reply. What guessing three times gains over one guess.
- **other cultures' usual answers in one reply**: the distinct commonest answers of all other countries, joined by
  commas; a long list is judged by its first. Only of questions that more other countries were asked than a reply may
  list answers: a shorter list is a guess that is allowed.
- **repeating the question**: the question itself.
- **saying that there is no answer**: as many of the language's ways to say so as a reply may list ("no answer, I don't
  know, none").
- **a person (leave one out)**, the ceiling: each person's answer goes the way of a model's reply and is judged by the
  key that the others' answers make. A model is held against it by keys of the same size (``sem_b_loo``). The files give
  a group's wordings and its votes, not who wrote which: each wording is taken to be written once, and the votes left
  over to fall on the wordings at random (see :func:`kapwa.suites.blend.saq_match.single_author_probability`).
- **a person, by people's groups**, a ceiling without the matcher's misses: each vote is judged against the others'
  votes by the groups that people put answers in. SEM-B is the share of votes in groups of two votes or more; SEM-W
  weighs by the votes left in the group over the most votes left in any. On the release 0.617 and 0.511.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from math import isnan, nan
from statistics import fmean
from typing import Literal, NamedTuple

from kapwa.languages.phrases import non_answers
from kapwa.records import Floor, Item
from kapwa.suites.blend.questions import MAX_ANSWERS, AnswerGroup, CountryQuestion, top_votes
from kapwa.suites.blend.replies import Reply, read_reply
from kapwa.suites.blend.saq_grading import find_answer
from kapwa.suites.blend.saq_match import (
    ENGLISH,
    AnswerMatcher,
    QuestionsOfAllCountries,
    Target,
    question_id,
    single_author_probability,
)
from kapwa.suites.blend.saq_options import SEM_B, SEM_B_LOO, SEM_W
from kapwa.suites.blend.variants import AskedIn
from kapwa.suites.disk_cache import cached
from kapwa.suites.items import by_culture, grouped, shuffle_key
from kapwa.value_types import Keywords

UNITED_STATES = "US"
USUAL = "other cultures' usual answer"
ONE_OTHER = "one other culture's usual answer"
US_USUAL = "usual answer in the US"
SHUFFLED = "another question's answer"
COMMONEST = "other cultures' commonest answers, as many as allowed"
ALL_OTHERS = "other cultures' usual answers in one reply"
REPEATED = "repeating the question"
NO_ANSWER = "saying that there is no answer"
PERSON, GROUPED = "a person (leave one out)", "a person, by people's groups"
_SHUFFLES = 2
# Floors of fewer questions, over all cultures, are worked out sooner than they are looked up.
_WORTH_KEEPING = 100


class Sem(NamedTuple):
    """SEM-B and SEM-W, each in [0, 1]."""

    b: float
    w: float


NOTHING, UNKNOWN = Sem(0.0, 0.0), Sem(nan, nan)
Kind = Literal["floor", "list", "ceiling"]
LISTS = (COMMONEST, ALL_OTHERS)


class FloorScores(NamedTuple):
    """The score of a trick, or a person, on each question (by its item's id) of a country to which it has a reply."""

    name: str
    kind: Kind
    each: Mapping[str, Sem]


def leave_one_out(groups: Sequence[AnswerGroup]) -> Sem:
    """Return what one of the people who answered would score against the others, on average over votes."""
    votes = [group.votes for group in groups]
    total = sum(votes)
    if not total:
        return NOTHING
    b = w = 0.0
    for i, mine in enumerate(votes):
        left = [mine - 1, *votes[:i], *votes[i + 1 :]]
        b += mine * (mine > 1)
        w += mine * (mine - 1) / max(left) if max(left) else 0.0
    return Sem(b / total, w / total)


_TRICKS = (USUAL, ONE_OTHER, US_USUAL, SHUFFLED, COMMONEST, ALL_OTHERS, REPEATED, NO_ANSWER)


class FloorMaker:
    """Judges replies made of people's answers, each reply to one country's question once."""

    def __init__(self, all_questions: QuestionsOfAllCountries, answer_matcher: AnswerMatcher, limit: int) -> None:
        self._all_questions, self._answer_matcher, self._limit = all_questions, answer_matcher, limit
        self._known: dict[tuple[str, str, AskedIn, str], Sem] = {}
        self._replies: dict[tuple[str, str, str], Reply] = {}

    @cached_property
    def _data(self) -> str:
        """A hash of every question and its answers: others' answers make the floors of a culture."""
        texts = map(repr, self._all_questions.questions())
        return hashlib.blake2b("\0".join(texts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    def judge(self, question: CountryQuestion, asked_in: AskedIn, text: str) -> Sem:
        """Return SEM-B and SEM-W of a reply to a question."""
        key = (question.country, question.id, asked_in, text)
        if key not in self._known:
            target, question_text = Target.of_question(question, asked_in), question.text(asked_in)
            reply = self._read(text, target, question_text)
            _, hit = find_answer(reply, target, question.id, self._all_questions, self._answer_matcher, self._limit)
            self._known[key] = NOTHING if hit is None else Sem(1.0, hit.votes / top_votes(question.groups))
        return self._known[key]

    def _read(self, text: str, target: Target, question_text: str) -> Reply:
        """Read a reply; most are replies to the same question of many countries, and read the same."""
        key = (text, target.language, target.kind)
        options: Keywords = {"language": target.language, "kind": target.kind, "limit": self._limit}
        if key not in self._replies:
            self._replies[key] = read_reply(text, **options)
        # The question decides no more than which part of too long a list is judged.
        return (
            read_reply(text, question=question_text, **options) if self._replies[key].too_many else self._replies[key]
        )

    def cached_scores(self, questions: Sequence[CountryQuestion], asked_in: AskedIn) -> list[FloorScores]:
        """Return what :meth:`compute_scores` yields, kept from an earlier run of the same data where there was one."""
        languages = (ENGLISH, Target.of_question(questions[0], asked_in).local_language)
        tools = [self._answer_matcher.matcher(code).language.info.tools for code in languages]
        ids = [question.item_id for question in questions]
        follows_from = (self._data, repr(tools), str(self._limit), asked_in, *ids)
        return cached("floors", follows_from, list[FloorScores], lambda: list(self.compute_scores(questions, asked_in)))

    def compute_scores(self, questions: Sequence[CountryQuestion], asked_in: AskedIn) -> Iterator[FloorScores]:
        """Yield what every floor and ceiling scores on one country's questions."""
        self._known.clear()
        language = Target.of_question(questions[0], asked_in).language
        shuffled = self._shuffled(questions, language)
        for name in _TRICKS:
            judged: dict[str, list[Sem]] = {}
            for q in questions:
                texts = shuffled[q.id] if name == SHUFFLED else self._texts(name, q, asked_in, language)
                judged[q.item_id] = [self.judge(q, asked_in, text) for text in texts if text]
            kind: Kind = "list" if name in LISTS else "floor"
            yield FloorScores(
                name, kind, {key: Sem(*map(fmean, zip(*sems, strict=True))) for key, sems in judged.items() if sems}
            )
        # Answers without votes are right ones that somebody listed: they say nothing of what a person would score.
        counted = [q for q in questions if q.counted]
        people = ((q.item_id, self.person_share(q, asked_in)) for q in counted)
        yield FloorScores(PERSON, "ceiling", {key: Sem(share, nan) for key, share in people if share is not None})
        yield FloorScores(GROUPED, "ceiling", {q.item_id: leave_one_out(q.groups) for q in counted})

    def _texts(self, trick: str, question: CountryQuestion, asked_in: AskedIn, language: str) -> list[str]:
        """Return the replies by which a trick answers a question, in the language asked in."""
        all_questions, question_key = self._all_questions, (question.id, question.country)
        texts: list[str] = []
        if trick == USUAL:
            texts = all_questions.commonest_answers(*question_key, language, 1)
        elif trick in (ONE_OTHER, US_USUAL):
            usual = {
                other.country: all_questions.commonest_answer(other, language)
                for other in all_questions.in_other_countries(*question_key)
            }
            texts = list(usual.values()) if trick == ONE_OTHER else [usual.get(UNITED_STATES, "")]
        elif trick == COMMONEST:
            texts = [", ".join(all_questions.commonest_answers(*question_key, language, self._limit))]
        elif trick == ALL_OTHERS:
            # Where a reply may list as many answers as there are others, it is a guess that is allowed.
            few = few_others(all_questions, question, self._limit)
            texts = [] if few else [", ".join(all_questions.all_commonest_answers(*question_key, language))]
        elif trick == REPEATED:
            texts = [question.text(asked_in)]
        elif trick == NO_ANSWER:
            texts = [", ".join(non_answers(language)[: self._limit])]
        return texts

    def person_share(self, question: CountryQuestion, asked_in: AskedIn) -> float | None:
        """Return the share of a question's votes whose wording gives an answer by the key of the other votes.

        None where no wording is in the language asked in.
        """
        target, question_text = Target.of_question(question, asked_in), question.text(asked_in)
        right = total = 0.0
        for index, group in enumerate(question.groups):
            language, texts = next(target.answers_by_language(group))
            total += group.votes if texts else 0
            each = group.votes / (len(texts) or 1)
            # Votes for a wording that nobody else wrote.
            lone = min(each, single_author_probability(group.votes, len(texts)))
            for text in texts:
                right += each - lone
                if lone:
                    reply = self._read(text, target, question_text)
                    hits = self._answer_matcher.matches(reply.text, target) if reply.status == "answered" else ()
                    # Without this person's vote, a group of one has no key left, another not this wording.
                    own = None if group.votes == 1 else (language, text)
                    others = (hit.group != index or own not in (None, (hit.language, hit.answer)) for hit in hits)
                    right += lone if any(others) else 0.0
        return min(1.0, right / total) if total else None  # thirds of votes may add up to a hair more

    def _shuffled(self, questions: Sequence[CountryQuestion], language: str) -> dict[str, list[str]]:
        """Return, for each question, commonest answers to the questions after it in an order of hashes."""
        order = sorted(questions, key=lambda question: shuffle_key(0, question.item_id, size=16))
        count = min(_SHUFFLES, len(order) - 1)
        texts = [self._all_questions.commonest_answer(q, language) for q in order]
        return {
            q.id: [texts[(index + step) % len(order)] for step in range(1, count + 1)] for index, q in enumerate(order)
        }


def few_others(all_questions: QuestionsOfAllCountries, question: CountryQuestion, limit: int) -> bool:
    """Whether a reply may list as many answers as there are other countries that were asked the question."""
    return len(all_questions.in_other_countries(question.id, question.country)) <= limit


def floors_left_out(items: Sequence[Item], all_questions: QuestionsOfAllCountries, limit: int) -> list[str]:
    """Say, for readers of a run, of how many questions the list of others' answers is no floor; [] where of none."""
    questions = {item.id: all_questions.question(question_id(item), item.culture) for item in items}
    known = [question for question in questions.values() if question is not None]
    few = sum(few_others(all_questions, question, limit) for question in known)
    if not few:
        return []
    return [
        f"The floor “{ALL_OTHERS}” is not computed for {few} of {len(known)} questions: it needs more than {limit} "
        f"other cultures that were asked the same, as a reply may list {limit} answers."
    ]


def saq_floors(
    items: Sequence[Item],
    all_questions: QuestionsOfAllCountries,
    answer_matcher: AnswerMatcher,
    limit: int = MAX_ANSWERS,
) -> list[Floor]:
    """Return floors and ceiling of ``sem_b`` and ``sem_w`` for every variant; see the module for definitions.

    ``note`` is "" for means over all items of a variant, and names the culture where there are several. Values do not
    depend on the prompt, only on the language asked in.
    """
    maker = FloorMaker(all_questions, answer_matcher, limit)
    by_variant = grouped(items, lambda item: item.variant)
    measured: dict[tuple[str, str], list[FloorScores]] = {}
    cultures = list(dict.fromkeys(item.culture for item in items))
    # A culture of few questions may need a lemma dictionary for them, which takes a second to unpack.
    keeps = len({item.id for item in items}) >= _WORTH_KEEPING
    # The last first: replies were judged in the order of items, and lemma dictionaries of the last are still loaded.
    for culture in reversed(cultures):
        known: dict[tuple[AskedIn, tuple[str, ...]], list[FloorScores]] = {}
        for variant, items_of_variant in by_variant.items():
            of_culture = [item for item in items_of_variant if item.culture == culture]
            questions = [
                q for item in of_culture if (q := all_questions.question(question_id(item), culture)) is not None
            ]
            if questions:
                asked_in: AskedIn = of_culture[0].fields["asked_in"]
                key = (asked_in, tuple(question.id for question in questions))
                if key not in known:
                    known[key] = list((maker.cached_scores if keeps else maker.compute_scores)(questions, asked_in))
                measured[culture, variant] = known[key]
        answer_matcher.drop_local_matchers()
    weighs = any(item.fields["counted"] for item in items)
    floors: list[Floor] = []
    for variant, items_of_variant in by_variant.items():
        of_cultures = by_culture(items_of_variant)
        groups = {note: of_cultures[note] for note in ("", *cultures) if note in of_cultures}
        of_variant = [each for culture in cultures for each in measured.get((culture, variant), ())]
        for same in grouped((each for each in of_variant if each.each), lambda each: each.name).values():
            floors += _floors(variant, same, groups, weighs=weighs)
    return floors


def _floors(
    variant: str, measured: Sequence[FloorScores], groups: Mapping[str, Sequence[Item]], *, weighs: bool
) -> Iterator[Floor]:
    """Yield the floors that one trick gives in each of ``groups``; none of a metric that it says nothing of.

    ``measured``: what it scores in each culture; ``weighs``: whether any question's votes were counted.
    """
    name, kind, _ = measured[0]
    sems = {item_id: sem for each in measured for item_id, sem in each.each.items()}
    for metric, side in ((SEM_B, 0), (SEM_W, 1))[: 1 + weighs]:
        for note, items in groups.items():
            by_item = [sems.get(item.id, UNKNOWN)[side] for item in items]
            values = [value for value in by_item if not isnan(value)]
            if values:
                paired_with = SEM_B_LOO if name == PERSON else ""
                # Only the figure is used of people's groups: a model's replies are not grouped by them.
                each_item = None if name == GROUPED else by_item
                yield Floor(
                    metric=metric,
                    variant=variant,
                    name=name,
                    value=fmean(values),
                    kind=kind,
                    note=note,
                    low=None,
                    high=None,
                    by_item=each_item,
                    paired_with=paired_with,
                )
