"""Ask a model whether a short reply means one of people's answers; kept apart from the headline.

The matcher compares words: it misses synonyms and translations, and now and then takes a word in another sense for
the answer. A judge model reads meanings, and errs in ways of its own: in languages that it knows badly above all. So
its verdicts are a metric of their own (``sem_b_judge``), with how far they agree with the matcher beside it.

The judge's replies are kept by whoever asks them (:class:`Answerer`); verdicts are read from them each time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import polars as pl

from kapwa.records import Message, Params, Request, Response
from kapwa.stats.agreement import Coefficient, bootstrap_interval
from kapwa.suites.blend.questions import answers_line
from kapwa.suites.blend.saq_grading import Graded, is_comparable
from kapwa.suites.items import grouped
from kapwa.value_types import Schema

PROMPT = Path(__file__).with_name("judge_prompt.txt").read_text(encoding="utf-8").rstrip("\n")

_SAME = re.compile(r"\"?same\"?\s*:\s*\"?(true|yes|same|false|no|different|distinct)\b", re.IGNORECASE)
_WORD = re.compile(r"\W*(true|yes|same|false|no|different|distinct)\W*", re.IGNORECASE)
_ALL = "all"
ROOM = 256  # tokens of a reply: a verdict takes ten, and some judges say why before it
_SHOWN = 120

AGREEMENT_SCHEMA: Schema = {
    **dict.fromkeys(("culture", "language", "variant", "coefficient"), pl.String),
    **dict.fromkeys(("value", "low", "high", "undefined"), pl.Float64),
    **dict.fromkeys(("units", "clusters", "both", "matcher_only", "judge_only", "neither"), pl.Int64),
}


class Answerer(Protocol):
    """A model whose answers are kept: what was asked once is not asked again (``kapwa.runs`` has one)."""

    @property
    def id(self) -> str:
        """The model's name."""
        ...

    @property
    def revision(self) -> str:
        """Which version of it."""
        ...

    def answer(self, requests: Iterable[Request]) -> list[Response]:
        """Return a text for each request, in their order; raise ModelError if one fails (what came is kept)."""
        ...


class Judge:
    """A model that says whether replies mean one of people's answers."""

    def __init__(self, model: Answerer) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """Model and revision, for signatures."""
        return "@".join(filter(None, (self._model.id, self._model.revision)))

    def verdicts(self, graded: Sequence[Graded]) -> PromptVerdicts:
        """Return the verdict on each reply; None where it is unreadable or there was nothing to judge.

        Raises ModelError when an answer fails.
        """
        requested = ask_verdicts(self._model, (_prompt(reply) for reply in graded if is_comparable(reply)))
        verdicts = iter(requested.values)
        return requested._replace(values=[next(verdicts) if is_comparable(reply) else None for reply in graded])


class PromptVerdicts(NamedTuple):
    """A model's reply to each prompt, None if it is unreadable; ``warning``: how many are unreadable, and why."""

    values: Sequence[bool | None]
    warning: str | None = None


def ask_verdicts(model: Answerer, prompts: Iterable[str]) -> PromptVerdicts:
    """Return what a model says to each prompt that asks whether two things mean the same."""
    params = Params(max_new_tokens=ROOM)
    requests = (Request("judge", "judge", "generate", (Message("user", text),), params=params) for text in prompts)
    replies = model.answer(requests)
    values = [read_verdict(reply.text or "") for reply in replies]
    unread = [reply for reply, value in zip(replies, values, strict=True) if value is None]
    cut = sum(reply.state == "unfinished" for reply in unread)
    if not unread:
        return PromptVerdicts(values)
    warning = f"{len(unread):,} of {len(values):,} verdicts of the judge {model.id} could not be read"
    if cut:
        warning += f", {cut:,} of them because they were cut off at the limit of tokens"
    first = next((" ".join(reply.text.split())[:_SHOWN] for reply in unread if reply.text and reply.text.strip()), "")
    warning += f". The first reply: “{first}”." if first else "."
    return PromptVerdicts(values, f"{warning} What it says of those is left out.")


def read_verdict(reply: str) -> bool | None:
    """Read a verdict: the last ``"same": …`` of a reply, or a reply of one word; None for anything else."""
    single = _WORD.fullmatch(reply)
    words = _SAME.findall(reply) or ([single[1]] if single else [])
    return words[-1].casefold() in ("true", "yes", "same") if words else None


def _prompt(graded: Graded) -> str:
    fields = graded.item.fields
    return PROMPT.format(
        country=graded.item.culture.replace("_", " "),
        question=fields["question"],
        question_en=fields["question_en"],
        answers=answers_line(fields["answers"]),
        answers_en=answers_line(fields["answers"], english=True),
        reply=graded.reply.text,
    )


def judge_agreement(graded: Sequence[Graded], verdicts: Sequence[bool | None]) -> pl.DataFrame:
    """Return how far matcher and judge agree, by country and variant and over all ("all").

    Share of equal verdicts ("percent") and Cohen's kappa ("cohen"), with bootstrap intervals clustered by question;
    ``both``, ``matcher_only``, ``judge_only`` and ``neither`` count who called replies right. Replies without a
    readable verdict are left out.
    """
    judged = [(reply, verdict) for reply, verdict in zip(graded, verdicts, strict=True) if verdict is not None]
    by_subject = grouped(judged, lambda pair: (pair[0].item.culture, pair[0].item.language, pair[0].item.variant))
    groups = {(_ALL, _ALL, _ALL): judged, **by_subject} if judged else {}
    rows = [(*key, *cells) for key, pairs in groups.items() for cells in _agreement_rows(pairs)]
    return pl.DataFrame(rows, schema=AGREEMENT_SCHEMA, orient="row")


def _agreement_rows(pairs: Sequence[tuple[Graded, bool]]) -> Iterator[tuple[Any, ...]]:
    ratings = [[reply.hit is not None, verdict] for reply, verdict in pairs]
    counts = [sum(rating == [a, b] for rating in ratings) for a, b in ((1, 1), (1, 0), (0, 1), (0, 0))]
    clusters = [reply.item.cluster for reply, _ in pairs]
    coefficients: tuple[Coefficient, ...] = ("percent", "cohen")
    for coefficient in coefficients:
        known = bootstrap_interval(ratings, coefficient, clusters=clusters)
        yield coefficient, known.value, known.low, known.high, known.undefined, known.units, known.clusters, *counts
