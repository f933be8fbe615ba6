"""Options and metrics of ``blend/saq``, and its grading: read each reply, find the answer it gives, say what it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from kapwa.languages.identify import identify
from kapwa.languages.phrases import is_non_answer
from kapwa.languages.words import n_words
from kapwa.records import Answer, Item, Outcome, Response
from kapwa.suites.base import MetricInfo, metrics_of
from kapwa.suites.blend.questions import MAX_ANSWERS, top_votes
from kapwa.suites.blend.replies import Reply, declines, first_answer, read_reply
from kapwa.suites.blend.saq_match import ENGLISH, Grader, Hit, Others, Target, question_id, reference_reply
from kapwa.suites.items import grouped, lost_outcome, pair_answers
from kapwa.suites.similarity import SimilarityOptions
from kapwa.value_types import JsonObject

MAX_NEW_TOKENS = 128
SEM_B, SEM_W, SEM_B_LOO = "sem_b", "sem_w", "sem_b_loo"
SAQ_HEADLINE = (SEM_B, SEM_W)


@dataclass(frozen=True, slots=True)
class SaqOptions(SimilarityOptions):
    """Options of ``blend/saq``, and any similarity of the reply to the nearest of people's answers (``metrics``).

    ``max_new_tokens`` bounds the reply: 99.9 % of people's answers have at most 140 bytes in any of the 13 languages.
    ``max_answers``: a reply that lists more is judged by its first. Raises UsageError for impossible values.
    """

    max_new_tokens: int = MAX_NEW_TOKENS
    max_answers: int = MAX_ANSWERS

    whole: ClassVar[tuple[str, ...]] = ("max_new_tokens", "max_answers")

    def as_dict(self) -> JsonObject:
        """Return the options as plain values; they rebuild equal options. Similarities are told where there are any."""
        options = SimilarityOptions.as_dict(self)  # super() does not find its class in one with slots
        return options if self.metrics else {name: options[name] for name in self.whole}


def saq_metrics(*, judged: bool = False, counted: bool = True) -> Mapping[str, MetricInfo]:
    """Return how every metric of ``blend/saq`` reads, in the order reports show them.

    ``judged``: whether a model judges too. ``counted``: whether people's votes were counted; else none that needs them.
    """
    left_out = () if judged else ("sem_b_judge",)
    if not counted:
        left_out = (*left_out, SEM_B_LOO, *(name for name in _METRICS if name.startswith(SEM_W)))
    return {name: info for name, info in _METRICS.items() if name not in left_out}


_METRICS = metrics_of("blend/saq")
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


def to_be_judged(graded: Graded) -> bool:
    """Whether a reply holds something to compare with people's answers."""
    return graded.outcome in ("right", "wrong")


def grade(
    items: Sequence[Item], answers: Collection[Answer], options: SaqOptions, others: Others, grader: Grader
) -> list[Graded]:
    """Return every reply graded, in the order of the items; see :func:`kapwa.suites.blend.saq_tables.judge_saq`."""
    replies = list(pair_answers(items, answers))
    graded: dict[int, Graded] = {}
    for indices in grouped(range(len(replies)), lambda index: replies[index][0].culture).values():
        graded |= {index: _graded(*replies[index], options, others, grader) for index in indices}
        grader.drop_local_matchers()
    return [graded[index] for index in range(len(replies))]


def _graded(
    item: Item, sample: int, response: Response | None, options: SaqOptions, others: Others, grader: Grader
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
    reply, hit = find_answer(reply, target, question_id(item), others, grader, options.max_answers)
    first = hit is not None
    if first and len(reply.answers) > 1 and not reply.too_many:
        first = grader.best_match(first_answer(reply.answers, fields["question"]), target) is not None
    left = 0.0 if hit is None or not fields["counted"] else grader.leave_one_out_share(reply.text, target)
    local = None
    if local_asked(item):
        hits = grader.matches(reply.text, target) if hit is not None else ()
        local = any(answer.language == target.local_language for answer in hits)
    reference = grader.released_weight(reference_reply(text, fields["prompt"]), target) or 0.0
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
    reply: Reply, target: Target, question_id: str, others: Others, grader: Grader, limit: int
) -> tuple[Reply, Hit | None]:
    """Return the reply as it is judged in the end, and the answer it gives.

    A reply that is right, long and without separators may be a list all the same: if it gives more than ``limit``
    known answers, its first is judged. And what looks like a list may be just what somebody answered ("one, two,
    three, viva l'Algérie"): then it is no list.
    """
    if reply.status != "answered":
        return reply, None
    if reply.too_many:
        exact = next((hit for hit in grader.matches(reply.whole, target) if hit.rule == "exact"), None)
        if exact is not None:
            return reply._replace(text=reply.whole, too_many=False), exact
    hit = grader.best_match(reply.text, target)
    if hit is not None and not reply.too_many and n_words(reply.text) > limit:
        first = others.first_of_many(reply.text, target, question_id, limit, grader)
        if first is not None:
            reply = reply._replace(text=first, too_many=True)
            hit = grader.best_match(first, target)
    return reply, hit
