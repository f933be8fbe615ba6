"""Choose the options of one question for one country: right answers, wrong ones, and which of them stand together.

Options come from other countries' answers to the same question, so a question must make sense in all of them: known
everywhere, applicable everywhere, with a typical answer.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice, product
from itertools import combinations as pairs
from typing import Literal, NamedTuple

from kapwa.languages.reading import shipped
from kapwa.metrics.matching import Matcher
from kapwa.suites.blend.mcq_build.values import Value, mentioned_values, option_text
from kapwa.suites.blend.questions import AnswerGroup, CountryQuestion, Kind, top_votes
from kapwa.suites.items import grouped

Rule = Literal["code", "paper"]
# Most annotators of a country who gave no answer: the code drops at sum(idks) > 2, the paper at "more than three".
MOST_UNKNOWING: Mapping[Rule, int] = {"code": 2, "paper": 3}
WRONG_OPTIONS = 3
LEAST_VOTES = 2
# Two countries were asked the same where they share this part of the words.
_LEAST_SHARED = 0.5
# Fresh orders tried for each variant before all remaining combinations are walked through.
_TRIES = 8
# Words that two different answers may share ("at home", "at school"); English, as the options are.
_SMALL_WORDS = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "do", "for", "from", "go", "have", "in", "into", "it", "of", "on"}
    | {"or", "some", "that", "the", "their", "them", "they", "this", "to", "up", "we", "with", "you", "your"}
)
_SIGNS = re.compile(r"[\W_]+")
# Spellings without spaces are compared from this length on: shorter ones lie within too many words.
_LEAST_COMPACT = 4
_ENGLISH = shipped("en")
_MATCHER = Matcher(_ENGLISH)


class Skipped(NamedTuple):
    """A question that gave no MCQ: in one country, or (``country`` "") in all.

    ``reason``: "not_applicable" (somebody called it so), "unknown" (too many gave no answer), "single_votes" (every
    answer has one vote), "no_answer", "no_english", "format" (the commonest answer is not in the format asked for, or
    says that there is none), "too_few_options" (fewer than three answers of other countries are fit).
    """

    country: str
    question_id: str
    topic: str
    question: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """One or more texts of one meaning, prepared for comparison.

    ``spellings``: folded texts; ``compact``: the same without spaces and signs; ``keys``: keys of their words;
    ``values``: numbers, times or dates they mention, empty for kind "text".
    """

    kind: Kind
    spellings: frozenset[str]
    compact: frozenset[str]
    keys: frozenset[str]
    values: frozenset[Value]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A wrong option: its text, the cultures in which at least two people gave it, and all it may mean."""

    text: str
    cultures: tuple[str, ...]
    meaning: Meaning = field(compare=False)


@dataclass(frozen=True, slots=True)
class OptionTarget:
    """A question of one country, ready to be made into MCQs.

    ``right``: texts of the answers tied at the top; ``accepted``: one English text for each answer group that
    people gave; ``candidates``: wrong options that differ from every accepted answer.
    """

    question: CountryQuestion
    right: tuple[str, ...]
    accepted: tuple[str, ...]
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class OptionSet:
    """The right answer and three wrong ones, each with the culture whose answer it is."""

    right: str
    wrong: tuple[tuple[str, str], ...]


# Whether two texts are known to mean the same in spite of their spelling: a verdict of a model or a person.
Same = Callable[[str, str], bool]


def by_question(questions: Sequence[CountryQuestion]) -> dict[str, list[CountryQuestion]]:
    """Group questions by id, ids in the order they first come, countries by name."""
    groups = grouped(sorted(questions, key=lambda question: question.country), lambda question: question.id)
    return {name: groups[name] for name in dict.fromkeys(question.id for question in questions)}


def ineligible(group: Sequence[CountryQuestion], rule: Rule) -> Skipped | None:
    """Return why the question of ``group`` (one entry a country) is left out in all countries; None if it is kept.

    ``code``: in any country a "not applicable", more than 2 without an answer (every key of ``idks`` counts), or no
    answer with two votes. ``paper``: the same with more than 3 (section 4.2.1: "more than three annotators don't
    know"). On the released data 87 and 90 of 500 questions are kept.
    """
    for question in group:
        inapplicable, unknowing = question.idks.get("not-applicable", 0), sum(question.idks.values())
        if inapplicable:
            reason, detail = "not_applicable", f"{inapplicable} said not applicable"
        elif unknowing > MOST_UNKNOWING[rule]:
            reason, detail = "unknown", f"{unknowing} gave no answer (at most {MOST_UNKNOWING[rule]})"
        elif question.groups and top_votes(question.groups) < LEAST_VOTES:
            reason, detail = "single_votes", f"{len(question.groups)} answers of one vote each"
        else:
            continue
        return Skipped("", question.id, question.topic, neutral(question), reason, f"{question.country}: {detail}")
    return None


def neutral(question: CountryQuestion) -> str:
    """The English question with its country's name replaced, as all countries share it."""
    name = re.escape(question.country.replace("_", " "))
    return re.sub(rf"\b(?:the )?{name}\b", "[country]", question.english)


# Most answers are compared in many countries, so what was worked out is kept.
@lru_cache(1 << 14)
def meaning(texts: frozenset[str], kind: Kind) -> Meaning:
    """Prepare English ``texts``, which are taken to mean the same."""
    folded = frozenset(filter(None, map(_ENGLISH.fold, texts)))
    if kind != "text":
        values = (mentioned_values(text, kind, _ENGLISH.words) for text in texts)
        return Meaning(kind, folded, frozenset(), frozenset(), frozenset().union(*values))
    compact = frozenset(filter(None, (_SIGNS.sub("", text) for text in folded)))
    words = (_ENGLISH.keys(token) for text in folded for token in _ENGLISH.tokens(text))
    keys = (word for word in words if not word & _SMALL_WORDS)
    return Meaning(kind, folded, compact, frozenset().union(*keys), frozenset())


@lru_cache(1 << 16)
def clash(one: Meaning, other: Meaning) -> bool:
    """Whether two meanings may be the same: equal, one within the other, a shared word or value, or a match."""
    if one.spellings & other.spellings or one.compact & other.compact:
        return True
    if one.values & other.values or one.keys & other.keys:
        return True
    if one.kind == "text" and _contained(one.spellings, other.spellings, 1):
        return True
    if one.kind == "text" and _contained(one.compact, other.compact, _LEAST_COMPACT):
        return True
    match = _MATCHER.match
    return any(match(a, b, one.kind) or match(b, a, one.kind) for a, b in product(one.spellings, other.spellings))


def _contained(ones: frozenset[str], others: frozenset[str], least: int) -> bool:
    """Whether a text of one side lies within a text of the other, letter by letter ("tea" in "steak" counts)."""
    return any((len(a) >= least and a in b) or (len(b) >= least and b in a) for a, b in product(ones, others))


class Pool:
    """All answers to one question: what wrong options there are, and which words people used for one thing."""

    def __init__(self, group: Sequence[CountryQuestion]) -> None:
        self._group = group
        # By folded answer, every text that annotators of some country grouped with it: synonyms that people made.
        self._synonyms: dict[str, set[str]] = {}
        for answers in (answers for question in group for answers in question.groups):
            for text in answers.en:
                self._synonyms.setdefault(_ENGLISH.fold(text), set()).update(answers.en)
        names = (re.escape(question.country.replace("_", " ")) for question in group)
        self._names_a_country = re.compile(rf"\b(?:{'|'.join(names)})\b", re.IGNORECASE)

    def target(self, question: CountryQuestion) -> OptionTarget | Skipped:
        """Return what MCQs can be made of for the country of ``question``, or why there are none."""
        most = top_votes(question.groups)
        top = [group for group in question.groups if group.votes == most]
        right = tuple(dict.fromkeys(text for group in top if (text := _option_of(group, question)) is not None))
        if not top:
            return skipped(question, "no_answer", "")
        if not any(group.en for group in top):
            return skipped(question, "no_english", "; ".join(group.local[0] for group in top if group.local))
        if not right:
            return skipped(question, "format", "; ".join(text for group in top for text in group.en))
        accepted = meaning(frozenset(text for group in question.groups for text in group.en), question.kind)
        # Words of two languages may look alike by accident, so there only whole answers are compared.
        native = {_ENGLISH.fold(text) for group in question.groups for text in group.local}
        candidates = tuple(
            rival
            for rival in self._candidates(question)
            if not clash(rival.meaning, accepted) and not rival.meaning.spellings & native
        )
        texts = (_option_of(group, question) or next(iter(group.en), "") for group in question.groups)
        return OptionTarget(question, right, tuple(dict.fromkeys(filter(None, texts))), candidates)

    def _candidates(self, question: CountryQuestion) -> Iterator[Candidate]:
        """Answers of other countries with enough votes, one for each spelling, in alphabetical order."""
        votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
        cultures: defaultdict[str, set[str]] = defaultdict(set)
        for other in self._group:
            if other.country == question.country or not _same_question(question, other):
                continue
            for group in other.groups:
                text = _option_of(group, other)
                # "Assam football team" is no rival where another country is asked about: it says whose it is.
                if group.votes < LEAST_VOTES or text is None or self._names_a_country.search(text):
                    continue
                folded = _ENGLISH.fold(text)
                votes[folded][text] += group.votes
                cultures[folded].add(other.country)
        for folded, spelt in sorted(votes.items()):
            commonest = min(spelt, key=lambda text: (-spelt[text], text))
            texts = frozenset(spelt).union(self._synonyms.get(folded, ()))
            yield Candidate(commonest, tuple(sorted(cultures[folded])), meaning(texts, question.kind))


def _same_question(one: CountryQuestion, other: CountryQuestion) -> bool:
    """Whether two countries were asked the same thing: one form of answer, and half of the words at least.

    An id may stand for different questions (Gu-ch-38 in Indonesia); rewordings ("secondary school") still pass.
    """
    words, others = (set(re.findall(r"\w+", neutral(question).casefold())) for question in (one, other))
    return one.kind == other.kind and len(words & others) >= _LEAST_SHARED * len(words | others)


def _option_of(group: AnswerGroup, question: CountryQuestion) -> str | None:
    """The first English text of a group that can be an option."""
    return next((text for answer in group.en if (text := option_text(answer, question.kind)) is not None), None)


def skipped(question: CountryQuestion, reason: str, detail: str) -> Skipped:
    """Say why a question gives no MCQ in its country."""
    return Skipped(question.country, question.id, question.topic, question.english, reason, detail)


def choose(target: OptionTarget, same: Same, *, seed: int, most: int) -> list[OptionSet] | Skipped:
    """Choose up to ``most`` different combinations of a right answer and three wrong ones, by hashes of the seed.

    Wrong options differ from each other and, by ``same``, from every accepted answer; each stands for another
    culture; answers tied at the top take turns. Every combination is found where there are no more than ``most``.
    Equal for equal arguments, everywhere.
    """
    item = target.question.item_id
    fit = [rival for rival in target.candidates if not any(same(rival.text, text) for text in target.accepted)]

    def compatible(one: Candidate, other: Candidate) -> bool:
        return not clash(one.meaning, other.meaning) and not same(one.text, other.text)

    def combinations(right: str, attempt: int | str) -> Iterator[OptionSet]:
        """Every choice of three compatible candidates of three cultures, in an order that the attempt shuffles."""
        order = sorted(fit, key=lambda rival: rank(seed, item, attempt, rival.text))
        for i, first in enumerate(order):
            others = [rival for rival in order[i + 1 :] if compatible(rival, first)]
            for second, third in pairs(others, 2):
                if compatible(third, second) and (wrong := _with_cultures((first, second, third))) is not None:
                    yield OptionSet(right, wrong)

    turns = sorted(target.right, key=lambda text: rank(seed, item, "right", text))
    if next(combinations(turns[0], 0), None) is None:
        return skipped(target.question, "too_few_options", "; ".join(rival.text for rival in fit))
    drawn = (islice(combinations(turns[i % len(turns)], i), 1) for i in range(_TRIES * most))
    rest = (combinations(right, "all") for right in target.right)
    chosen: dict[tuple[str, frozenset[str]], OptionSet] = {}
    for choice in chain.from_iterable(chain(drawn, rest)):
        chosen.setdefault((choice.right, frozenset(text for text, _ in choice.wrong)), choice)
        if len(chosen) == most:
            break
    return list(chosen.values())


def _with_cultures(chosen: Sequence[Candidate]) -> tuple[tuple[str, str], ...] | None:
    """Give each candidate one of its cultures, no culture twice; None where that cannot be done."""
    ranked = (sorted(rival.cultures, key=lambda name: rank(rival.text, name)) for rival in chosen)
    cultures = next((names for names in product(*ranked) if len(set(names)) == WRONG_OPTIONS), None)
    return None if cultures is None else tuple(zip((rival.text for rival in chosen), cultures, strict=True))


def rank(*keys: int | str) -> bytes:
    """A place in an order that looks random and is the same on every machine and Python: 16 bytes of BLAKE2b."""
    return hashlib.blake2b(json.dumps(keys, ensure_ascii=True).encode(), digest_size=16).digest()
