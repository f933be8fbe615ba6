"""What ``blend/saq`` gives to replies that know nothing of the country, and what people themselves would score.

Per country and asked language; every reply goes the way of a model's reply (read, guarded, matched). Means are over
the selected questions for which the trick has a reply, each counting once. Exact definitions:

- **other cultures' usual answer**: each other country's commonest answer to the same question, of which the one that
  most countries share (:meth:`kapwa.suites.blend.saq_match.Others.usual_of_others`): what a model that knows the world
  but not the country would say. On the release, in English, SEM-B is 0.415 on average over countries.
- **one other culture's usual answer**: the same for each other country alone, averaged over them (0.300).
- **usual answer in the US**: the commonest answer of the country called US (0.340 on average over the other 15).
- **another question's answer**: the country's own commonest answer to another question, the next five in an order
  of hashes of their ids, averaged.
- **other cultures' usual answers in one reply**: the distinct commonest answers of all other countries, joined by
  commas; a long list is judged by its first. Only of questions that more other countries were asked than a reply may
  list answers: a shorter list is a guess that is allowed.
- **repeating the question**: the question itself.
- **saying that there is no answer**: as many of the language's ways to say so as a reply may list ("no answer, I don't
  know, none").
- **a person (leave one out)**, the ceiling: each vote is taken for the reply of one person and judged against the
  others' votes. SEM-B is the share of votes in groups of two votes or more; SEM-W weighs by the votes left in the
  group over the most votes left in any. On the release 0.617 and 0.511 over the questions of the code's rule.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from statistics import fmean
from typing import Literal, NamedTuple

from kapwa.languages.phrases import non_answers
from kapwa.records import Floor, Item
from kapwa.suites.blend import AskedIn
from kapwa.suites.blend.questions import MAX_ANSWERS, Group, Question
from kapwa.suites.blend.replies import read_reply
from kapwa.suites.blend.saq_grading import find_answer
from kapwa.suites.blend.saq_match import Grader, Others, Target, said_in
from kapwa.suites.blend.saq_task import SEM_B, SEM_W

UNITED_STATES = "US"
USUAL = "other cultures' usual answer"
ONE_OTHER = "one other culture's usual answer"
US_USUAL = "usual answer in the US"
SHUFFLED = "another question's answer"
ALL_OTHERS = "other cultures' usual answers in one reply"
REPEATED = "repeating the question"
NO_ANSWER = "saying that there is no answer"
PERSON = "a person (leave one out)"
_SHUFFLES = 5


class Sem(NamedTuple):
    """SEM-B and SEM-W, each in [0, 1]."""

    b: float
    w: float


NOTHING = Sem(0.0, 0.0)
Kind = Literal["floor", "ceiling"]


def leave_one_out(groups: Sequence[Group]) -> Sem:
    """Return what one of the people who answered would score against the others, on average over votes."""
    votes = [group.votes for group in groups]
    total = sum(votes)
    if not total:
        return NOTHING
    b = w = 0.0
    for i, own in enumerate(votes):
        left = [own - 1, *votes[:i], *votes[i + 1 :]]
        b += own * (own > 1)
        w += own * (own - 1) / max(left) if max(left) else 0.0
    return Sem(b / total, w / total)


class FloorMaker:
    """Judges replies made of people's answers, each reply to one country's question once."""

    def __init__(self, others: Others, grader: Grader, limit: int) -> None:
        self._others, self._grader, self._limit = others, grader, limit
        self._known: dict[tuple[str, str, AskedIn, str], Sem] = {}

    def judge(self, question: Question, asked_in: AskedIn, text: str) -> Sem:
        """Return SEM-B and SEM-W of a reply to a question."""
        key = (question.country, question.id, asked_in, text)
        if key not in self._known:
            target, asked = Target.of_question(question, asked_in), question.text(asked_in)
            reply = read_reply(text, language=target.language, kind=target.kind, question=asked, limit=self._limit)
            _, hit = find_answer(reply, target, question.id, self._others, self._grader, self._limit)
            self._known[key] = NOTHING if hit is None else Sem(1.0, hit.votes / question.top_votes)
        return self._known[key]

    def means(self, questions: Sequence[Question], asked_in: AskedIn) -> Iterator[tuple[str, Kind, Sem, int]]:
        """Yield name, kind, mean and count of every floor and of the ceiling over one country's questions."""
        self._known.clear()
        language = Target.of_question(questions[0], asked_in).language
        shuffled = self._shuffled(questions, language)
        tricks: dict[str, Callable[[Question], list[str]]] = {
            USUAL: lambda q: [self._others.usual_of_others(q.id, q.country, language)],
            ONE_OTHER: lambda q: [self._others.usual(other, language) for other in self._others.of(q.id, q.country)],
            US_USUAL: lambda q: [
                self._others.usual(other, language)
                for other in self._others.of(q.id, q.country)
                if other.country == UNITED_STATES
            ],
            SHUFFLED: lambda q: shuffled[q.id],
            ALL_OTHERS: lambda q: self._listed(q, language),
            REPEATED: lambda q: [q.text(asked_in)],
            NO_ANSWER: lambda _: [", ".join(non_answers(language)[: self._limit])],
        }
        for name, trick in tricks.items():
            judged = [[self.judge(q, asked_in, text) for text in trick(q) if text] for q in questions]
            yield name, "floor", _mean([_mean(values) for values in judged if values]), sum(map(bool, judged))
        # Answers without votes are right ones that somebody listed: they say nothing of what a person would score.
        counted = [q for q in questions if q.counted]
        yield PERSON, "ceiling", _mean([leave_one_out(q.groups) for q in counted]), len(counted)

    def _listed(self, question: Question, language: str) -> list[str]:
        """Return all others' usual answers as one reply; none where a reply may list that many."""
        if few_others(self._others, question, self._limit):
            return []
        return [", ".join(self._others.all_usual(question.id, question.country, language))]

    def _shuffled(self, questions: Sequence[Question], language: str) -> dict[str, list[str]]:
        """Return, for each question, commonest answers to the questions after it in an order of hashes."""

        def rank(question: Question) -> bytes:
            return hashlib.blake2b(f"0\0{question.item_id}".encode(), digest_size=16).digest()

        order = sorted(questions, key=rank)
        count = min(_SHUFFLES, len(order) - 1)
        said = [next(iter(said_in(q.groups[0], q.language, language)), "") for q in order]
        return {
            q.id: [said[(place + step) % len(order)] for step in range(1, count + 1)] for place, q in enumerate(order)
        }


def few_others(others: Others, question: Question, limit: int) -> bool:
    """Whether a reply may list as many answers as there are other countries that were asked the question."""
    return len(others.of(question.id, question.country)) <= limit


def left_out(items: Sequence[Item], others: Others, limit: int) -> list[str]:
    """Say, for readers of a run, of how many questions the list of others' answers is no floor; [] where of none."""
    found = {item.id: others.question(item.cluster, item.culture) for item in items}
    asked = [question for question in found.values() if question is not None]
    few = sum(few_others(others, question, limit) for question in asked)
    if not few:
        return []
    return [
        f"The floor “{ALL_OTHERS}” is not computed for {few} of {len(asked)} questions: it needs more than {limit} "
        f"other cultures that were asked the same, as a reply may list {limit} answers."
    ]


def saq_floors(items: Sequence[Item], others: Others, grader: Grader, limit: int = MAX_ANSWERS) -> list[Floor]:
    """Return floors and ceiling of ``sem_b`` and ``sem_w`` for every variant; see the module for definitions.

    ``note`` is "" for means over all items of a variant, and names the culture where there are several. Values do not
    depend on the prompt, only on the language asked in.
    """
    maker = FloorMaker(others, grader, limit)
    chosen: dict[str, dict[str, list[Question]]] = {}
    asked: dict[str, AskedIn] = {}
    for item in items:
        question = others.question(item.cluster, item.culture)
        if question is not None:
            asked[item.variant] = item.fields["asked_in"]
            chosen.setdefault(item.variant, {}).setdefault(item.culture, []).append(question)
    known: dict[tuple[AskedIn, tuple[str, ...]], list[tuple[str, Kind, Sem, int]]] = {}
    rows: dict[str, list[tuple[str, Kind, Sem, int, str]]] = {variant: [] for variant in chosen}
    for culture in dict.fromkeys(item.culture for item in items):
        for variant, by_culture in chosen.items():
            questions = by_culture.get(culture, [])
            key = (asked[variant], tuple(question.item_id for question in questions))
            if questions and key not in known:
                known[key] = list(maker.means(questions, asked[variant]))
            rows[variant] += [(*found, culture) for found in known.get(key, ())]
        known.clear()
        grader.forget()
    made = (_variant_floors(variant, mine, several=len(chosen[variant]) > 1) for variant, mine in rows.items())
    weighs = any(item.fields["counted"] for item in items)
    return [floor for floor in chain.from_iterable(made) if weighs or floor.metric != SEM_W]


def _variant_floors(variant: str, rows: Sequence[tuple[str, Kind, Sem, int, str]], *, several: bool) -> Iterator[Floor]:
    """Yield floors over all cultures, questions counting alike, then each culture's own."""
    for name, kind in dict.fromkeys((name, kind) for name, kind, *_ in rows):
        mine = [(sem, count, culture) for one, _, sem, count, culture in rows if one == name]
        total = sum(count for _, count, _ in mine)
        if not total:
            continue
        whole = Sem(*(sum(sem[side] * count for sem, count, _ in mine) / total for side in (0, 1)))
        for sem, count, culture in [(whole, total, ""), *(mine if several else ())]:
            if count:
                yield Floor(SEM_B, variant, name, sem.b, kind, culture)
                yield Floor(SEM_W, variant, name, sem.w, kind, culture)


def _mean(values: Sequence[Sem]) -> Sem:
    if not values:
        return NOTHING
    return Sem(fmean(value.b for value in values), fmean(value.w for value in values))
