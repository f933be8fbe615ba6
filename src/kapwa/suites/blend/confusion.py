"""Whose answer a wrong reply gives: the other countries whose people answered the same question so.

Answers are compared where they can be: in English with every country's English wording; in a local language with
countries that share it (the two Koreas, Spain and Mexico), and with all others through English, by what annotators
themselves wrote: a reply that is word for word an answer in that language, to any question, stands for its English
wording. Replies outside these word lists cannot be attributed, so shares in local languages are lower bounds, and are
not to be compared with those in English. A wrong reply that many countries give (rice) says little about any one of
them: ``split`` shares it out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl

from kapwa.languages.codes import canonical
from kapwa.metrics.matching import Matcher
from kapwa.stats.clusters import FloatArray
from kapwa.stats.intervals import mean_estimates
from kapwa.suites.blend.questions import CountryQuestion
from kapwa.suites.blend.saq_grading import Graded
from kapwa.suites.blend.saq_match import ENGLISH, AnswerMatcher, QuestionsOfAllCountries, Target, question_id
from kapwa.suites.items import grouped
from kapwa.value_types import Schema

CONFUSION_SCHEMA: Schema = {
    **dict.fromkeys(("culture", "language", "variant", "other"), pl.String),
    **dict.fromkeys(("wrong", "matches"), pl.Int64),
    **dict.fromkeys(("share", "low", "high", "split"), pl.Float64),
}


def confusion_frame(rows: Iterable[tuple[object, ...]]) -> pl.DataFrame:
    """Return rows of :data:`CONFUSION_SCHEMA` sorted by culture, variant and share, the largest first."""
    table = pl.DataFrame(list(rows), schema=CONFUSION_SCHEMA, orient="row")
    return table.sort("culture", "variant", "share", "other", descending=[False, False, True, False])


def confusion_rows(gives: FloatArray, split: FloatArray, clusters: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield wrong, matches, share, low, high and split of each column of ``gives``; see :func:`confusion_table`.

    ``gives``: 1 where a wrong reply (row) is another culture's answer (column), 0 where not, NaN where it could not be.
    """
    estimates = mean_estimates(gives, np.array(clusters), share=[True] * gives.shape[1])
    for index, share in enumerate(estimates):
        count = int((~np.isnan(gives[:, index])).sum())
        total = float(np.nansum(split[:, index]))
        yield count, int(np.nansum(gives[:, index])), share.value, share.low, share.high, total / max(count, 1)


def confusion_table(
    graded: Sequence[Graded], all_questions: QuestionsOfAllCountries, answer_matcher: AnswerMatcher
) -> pl.DataFrame:
    """Count, by country, variant and other country, the wrong replies that are right for the other.

    ``wrong``: wrong replies to questions that the other country has a valid one of; ``matches``: those that give an
    answer of the other's people; ``share`` their quotient with its 95 % interval, clustered by question; ``split``: the
    same with a reply that fits k countries counting 1/k for each. Replies that are empty, refused or unreadable are
    not wrong in this sense. Sorted by :func:`confusion_frame`.
    """
    wrong = grouped(
        (reply for reply in graded if reply.outcome == "wrong"), lambda reply: (reply.item.culture, reply.item.variant)
    )
    # Read for each language once: it goes through every question.
    wordings = cache(partial(english_wordings, all_questions, answer_matcher))
    return confusion_frame(
        row for mine in wrong.values() for row in _rows(mine, all_questions, answer_matcher, wordings)
    )


Wordings = Mapping[str, Mapping[str, None]]


def english_wordings(all_questions: QuestionsOfAllCountries, answer_matcher: AnswerMatcher, language: str) -> Wordings:
    """Return, for each folded answer in ``language``, the English wordings that annotators wrote beside it."""
    fold = answer_matcher.matcher(language).language.fold
    words: dict[str, dict[str, None]] = {}
    for question in all_questions.questions():
        if canonical(question.language) == language:
            for group in question.groups:
                for answer in group.local:
                    words.setdefault(fold(answer), {}).update(dict.fromkeys(group.en))
    return words


def _rows(
    wrong: Sequence[Graded],
    all_questions: QuestionsOfAllCountries,
    answer_matcher: AnswerMatcher,
    wordings: Callable[[str], Wordings],
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of one country and variant."""
    item = wrong[0].item
    names = [country for country in all_questions.countries if country != item.culture]
    if not names:
        return
    gives = np.full((len(wrong), len(names)), np.nan)
    index_of = {name: index for index, name in enumerate(names)}
    for row, graded in enumerate(wrong):
        texts = list(_sayings(graded, answer_matcher, wordings))
        for other in all_questions.in_other_countries(question_id(graded.item), graded.item.culture):
            gives[row, index_of[other.country]] = any(_gives(*saying, other) for saying in texts)
    fits = np.nansum(gives, axis=1, keepdims=True)
    split = np.divide(gives, fits, out=np.zeros_like(gives), where=fits > 0)
    for name, cells in zip(names, confusion_rows(gives, split, [graded.item.cluster for graded in wrong]), strict=True):
        if cells[0]:
            yield (item.culture, item.language, item.variant, name, *cells)


def _sayings(
    graded: Graded, answer_matcher: AnswerMatcher, wordings: Callable[[str], Wordings]
) -> Iterator[tuple[Matcher, str, str]]:
    """The texts of a reply in the languages in which it can be compared: its own, English, and its English wording."""
    language, reply = Target.of_item(graded.item).language, graded.reply
    matcher, english = answer_matcher.matcher(language), answer_matcher.matcher(ENGLISH)
    yield matcher, reply.text, language
    if language != ENGLISH:
        texts = dict.fromkeys([reply.text])
        for text in (reply.text, *(() if reply.too_many else reply.answers)):
            texts |= wordings(language).get(matcher.language.fold(text), {})
        yield from ((english, wording, ENGLISH) for wording in texts)


def _gives(matcher: Matcher, text: str, language: str, question: CountryQuestion) -> bool:
    """Whether ``text`` gives an answer of a country's people, among those known in ``language``."""
    if language not in (ENGLISH, canonical(question.language)):
        return False
    words = matcher.prepare(text)
    return any(
        matcher.match(words, answer, question.kind) is not None
        for group in question.groups
        for answer in (group.en if language == ENGLISH else group.local)
    )
