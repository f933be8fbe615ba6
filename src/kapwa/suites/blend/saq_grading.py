"""Grade replies of ``blend/saq``: read each reply, find which of people's answers it gives, say what it is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from kapwa.languages.identify import identify
from kapwa.languages.phrases import is_non_answer
from kapwa.languages.words import n_words
from kapwa.records import Answer, Item, Outcome, Response
from kapwa.suites.blend.questions import top_votes
from kapwa.suites.blend.replies import Reply, declines, first_answer, read_reply
from kapwa.suites.blend.saq_match import (
    ENGLISH,
    AnswerMatcher,
    Hit,
    QuestionsOfAllCountries,
    Target,
    question_id,
    reference_reply,
)
from kapwa.suites.blend.saq_options import SaqOptions
from kapwa.suites.items import grouped, lost_outcome, pair_answers

_NO_REPLY = Reply("", (), too_many=False, status="empty")


class Graded(NamedTuple):
    """One reply and what was found in it; ``text`` is None when the model gave none (failed, or never asked).

    ``first``: whether the first answer alone gives one. ``leave_one_out_share``: the share of keys without one
    person's answer by which the reply gives one. ``local``: whether it gives an answer in the local language; None
    where that is not asked (see :func:`local_asked`). ``reference``: the released weight, 0 without a match.
    ``declined``: it reads as a refusal or "I don't know".
    """

    item: Item
    sample: int
    response: Response | None
    text: str | None = None
    reply: Reply = _NO_REPLY
    hit: Hit | None = None
    first: bool = False
    leave_one_out_share: float = 0.0
    local: bool | None = None
    reference: float = 0.0
    declined: bool = False
    identified: tuple[str | None, float | None] = (None, None)

    @property
    def outcome(self) -> Outcome:
        """Right, wrong, or why there is nothing to call so; a reply that is no answer scores 0."""
        if self.text is None:
            return lost_outcome(self.response)
        if self.hit is not None:
            return "right"
        if self.declined:
            return "refused"
        return "wrong" if self.reply.status == "answered" else self.reply.status

    @property
    def weight(self) -> float:
        """SEM-W of the reply, in [0, 1]."""
        return self.hit.votes / top_votes(self.item.fields["answers"]) if self.hit else 0.0


def local_asked(item: Item) -> bool:
    """Whether an item is asked in a local language other than English, so that either language may be answered in."""
    return bool(item.fields["asked_in"] == "local" and item.fields["local_language"] != ENGLISH)


def is_comparable(graded: Graded) -> bool:
    """Whether a reply holds something to compare with people's answers."""
    return graded.outcome in ("right", "wrong")


def grade(
    items: Sequence[Item],
    answers: Collection[Answer],
    options: SaqOptions,
    all_questions: QuestionsOfAllCountries,
    answer_matcher: AnswerMatcher,
) -> list[Graded]:
    """Return every reply graded, in the order of the items; see :func:`kapwa.suites.blend.saq_judging.judge_saq`."""
    replies = list(pair_answers(items, answers))
    graded: dict[int, Graded] = {}
    for indices in grouped(range(len(replies)), lambda index: replies[index][0].culture).values():
        graded |= {index: _graded(*replies[index], options, all_questions, answer_matcher) for index in indices}
        answer_matcher.drop_local_matchers()
    return [graded[index] for index in range(len(replies))]


def _graded(
    item: Item,
    sample: int,
    response: Response | None,
    options: SaqOptions,
    all_questions: QuestionsOfAllCountries,
    answer_matcher: AnswerMatcher,
) -> Graded:
    if response is None or response.unanswered:
        return Graded(item, sample, response)
    text = response.text or ""
    if response.state == "declined":
        return Graded(item, sample, response, text, declined=True, identified=identify(text))
    target, fields = Target.of_item(item), item.fields
    reply = read_reply(
        text,
        language=target.language,
        kind=target.kind,
        question=fields["question"],
        prefixes=fields["prefixes"],
        limit=options.max_answers,
    )
    reply, hit = find_answer(reply, target, question_id(item), all_questions, answer_matcher, options.max_answers)
    first = hit is not None
    if first and len(reply.answers) > 1 and not reply.too_many:
        first = answer_matcher.best_match(first_answer(reply.answers, fields["question"]), target) is not None
    left = 0.0 if hit is None or not fields["counted"] else answer_matcher.leave_one_out_share(reply.text, target)
    local = None
    if local_asked(item):
        hits = answer_matcher.matches(reply.text, target) if hit is not None else ()
        local = any(answer.language == target.local_language for answer in hits)
    reference = answer_matcher.released_weight(reference_reply(text, fields["prompt"]), target) or 0.0
    declined = hit is None and (declines(text) or is_non_answer(reply.text, target.language))
    return Graded(
        item=item,
        sample=sample,
        response=response,
        text=text,
        reply=reply,
        hit=hit,
        first=first,
        leave_one_out_share=left,
        local=local,
        reference=reference,
        declined=declined,
        identified=identify(text),
    )


def find_answer(
    reply: Reply,
    target: Target,
    question_id: str,
    all_questions: QuestionsOfAllCountries,
    answer_matcher: AnswerMatcher,
    limit: int,
) -> tuple[Reply, Hit | None]:
    """Return the reply as it is judged in the end, and the answer it gives.

    A reply that is right, long and without separators may be a list all the same: if it gives more than ``limit``
    known answers, its first is judged. And what looks like a list may be just what somebody answered ("one, two,
    three, viva l'Algérie"): then it is no list.
    """
    if reply.status != "answered":
        return reply, None
    if reply.too_many:
        exact = next((hit for hit in answer_matcher.matches(reply.whole, target) if hit.rule == "exact"), None)
        if exact is not None:
            return reply._replace(text=reply.whole, too_many=False), exact
    hit = answer_matcher.best_match(reply.text, target)
    if hit is not None and not reply.too_many and n_words(reply.text) > limit:
        first = all_questions.first_of_many(reply.text, target, question_id, limit, answer_matcher)
        if first is not None:
            reply = reply._replace(text=first, too_many=True)
            hit = answer_matcher.best_match(first, target)
    return reply, hit
