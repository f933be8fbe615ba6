"""Ask and judge multiple choice: prompts, replies read for a letter, log-probabilities, whose answers were chosen.

There are three ways of asking: two in which the model writes a letter, in words of ours and in the paper's (BLEnD
appendix C.3.3), and one by likelihood, with prompts and metrics of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from kapwa.languages.phrases import is_refusal
from kapwa.metrics.likelihood import NORMS, Vector, normalised
from kapwa.records import Answer, ContinuationScore, Item, Outcome, Response
from kapwa.suites.base import Judged, MetricInfo, metrics_of
from kapwa.suites.blend.choice_scales import DISTANCES, ScaleChoice, distance_rows, right_letters, scale_tables
from kapwa.suites.blend.confusion import confusion_frame, confusion_rows
from kapwa.suites.choices.reader import ChoiceRead, read_choice
from kapwa.suites.items import (
    ABOUT_ANSWER,
    ALL_LETTERS,
    about_answer,
    accuracy,
    grouped,
    item_columns,
    lost_outcome,
    pair_answers,
    score_frame,
    score_row,
    unknown_item,
    worst_first,
)
from kapwa.value_types import Cells, Schema

How = Literal["generate", "paper", "likelihood"]
HOWS: tuple[How, ...] = ("generate", "paper", "likelihood")
# In which the model writes a letter.
WRITTEN: tuple[How, ...] = ("generate", "paper")
MAX_NEW_TOKENS = 128
HEADLINES: Mapping[How, tuple[str, ...]] = {
    **dict.fromkeys(WRITTEN, ("mcq_acc",)),
    "likelihood": ("mcq_text", "mcq_letter"),
}

GENERATE_METRICS, LIKELIHOOD_METRICS = metrics_of("blend/mcq generate"), metrics_of("blend/mcq likelihood")
METRICS: Mapping[How, dict[str, MetricInfo]] = {
    **dict.fromkeys(WRITTEN, GENERATE_METRICS),
    "likelihood": LIKELIHOOD_METRICS,
}
# The instruction of the paper's prompt, to the letter: with other words it would not be the paper's.
_PAPER_INSTRUCTION = (
    "Without any explanation, choose only one from the given alphabet choices(e.g., A, B, C). "
    'Provide as JSON format: {"answer_choice":""}'
)


def metrics_for(how: How, *, ordered: bool) -> Mapping[str, MetricInfo]:
    """The metrics of a way of asking; of the steps of an ordered scale also how far off the choice is."""
    kind = "generate" if how in WRITTEN else how
    return METRICS[how] | metrics_of(f"blend/mcq {kind} ordered") if ordered else METRICS[how]


def lettered(options: Sequence[str]) -> str:
    """The options as a prompt shows them, one a line: "A. …"."""
    return "".join(f"{chr(ord('A') + i)}. {option}\n" for i, option in enumerate(options))


def generate_prompt(question: str, options: Sequence[str], *, several: bool = False) -> str:
    """The prompt that asks for a letter in JSON, as the paper's does in other words (appendix C.3.3).

    ``several``: the set has questions with several right options, of which one is asked for.
    """
    right = "One or more of the options below are right. Reply with the letter of one of these"
    right = right if several else "Exactly one of the options below is right. Reply with its letter"
    return (
        f"{question}\n\n{right}, as JSON and without any "
        f'explanation: {{"answer_choice": ""}}\n\n{lettered(options)}\nAnswer:'
    )


def paper_prompt(question: str, options: Sequence[str]) -> str:
    """The paper's prompt (appendix C.3.3), as the released questions have it."""
    return f"{question} {_PAPER_INSTRUCTION}\n\n{lettered(options)}\nAnswer:"


def letter_prompt(question: str, options: Sequence[str], *, several: bool = False) -> str:
    """The prompt after which each letter's likelihood is measured; ``several`` as in :func:`generate_prompt`."""
    which = "a" if several else "the"
    return f"{question}\n\n{lettered(options)}\nReply with the letter of {which} right option.\n\nAnswer:"


def text_prompt(question: str) -> str:
    """The prompt after which each option's likelihood is measured; it does not show the options."""
    return f"{question}\n\nReply with a short answer and nothing else.\n\nAnswer:"


ANSWER_SCHEMA: Schema = {
    **{"item_id": pl.String, "variant": pl.String, "culture": pl.String, "sample": pl.Int64, "text": pl.String},
    **dict.fromkeys(("letter", "read_as", "letter_reference", "right_letter"), pl.String),
    **dict.fromkeys(("chosen", "chosen_culture", "outcome"), pl.String),
    **ABOUT_ANSWER,
}
OPTION_SCHEMA: Schema = {
    **{"item_id": pl.String, "variant": pl.String, "culture": pl.String, "letter": pl.String, "right": pl.Boolean},
    **{"option": pl.String, "option_culture": pl.String, "logprob_text": pl.Float64},
    **{"n_tokens": pl.Int64, "n_bytes": pl.Int64, "n_chars": pl.Int64, "logprob_letter": pl.Float64},
}
_NO_CHOICE = ChoiceRead(None, "none")
# Wrong replies stand first among the cases, right ones last.
_MARGINS: Mapping[Outcome, float] = {"wrong": -1.0, "right": 1.0}


class _McqReply(NamedTuple):
    """One reply to an item; ``text`` is None when there is none."""

    item: Item
    sample: int
    response: Response | None
    text: str | None
    read: ChoiceRead
    reference: str

    @property
    def outcome(self) -> Outcome:
        if self.text is None:
            return lost_outcome(self.response)
        if self.response is not None and self.response.state == "declined":
            return "refused"
        if self.read.letter is not None:
            return "right" if self.read.letter in right_letters(self.item) else "wrong"
        return "empty" if not self.text.strip() else "refused" if is_refusal(self.text) else "unparsed"


def option_of(item: Item, letter: str | None) -> tuple[str | None, str | None]:
    """The text of an option and whose answer it is."""
    if letter is None:
        return None, None
    index = item.fields["letters"].index(letter)
    return item.fields["options"][index], item.fields["cultures"][index]


def case_of(item: Item, metric: str, margin: float, got: str | None) -> Cells:
    """One row of the report's cases: what was expected and what the model gave."""
    prompt = f"{item.fields['question']}\n{lettered(item.fields['options'])}".strip()
    expected = " / ".join(str(option_of(item, letter)[0]) for letter in right_letters(item))
    case = {"margin": margin, "prompt": prompt, "expected": expected, "got": got}
    return {**item_columns(item), "metric": metric, **case}


def judge_generate(items: Sequence[Item], answers: Collection[Answer]) -> Judged:
    """Judge replies: one row per item, sample and metric of ``GENERATE_METRICS``.

    A reply that names no one option has outcome "unparsed" (or "refused", "empty"): it is 0 in ``mcq_acc``, so that
    silence earns nothing, and null in ``mcq_acc_parsed``. Failed and missing replies have null values. Tables:
    ``answers`` (what each reply was read as, and whose answer was chosen), ``cases`` (one row an item, wrong first),
    ``confusion`` (whose answers are chosen where the choice is wrong).
    Raises UsageError for answers to unknown items and for two answers to one request.
    """
    replies = [_reply(item, sample, response) for item, sample, response in pair_answers(items, answers)]
    rows = [row for reply in replies for row in _generate_rows(reply)]
    read = pl.DataFrame([_answer_row(reply) for reply in replies], schema=ANSWER_SCHEMA, orient="row")
    cases = worst_first(_case(reply) for reply in replies if reply.text is not None)
    tables = {"answers": read, "cases": cases, "confusion": choice_confusion(items, read)}
    chosen = [ScaleChoice(reply.item, "mcq_acc", reply.read.letter, reply.outcome, reply.sample) for reply in replies]
    return Judged(score_frame([*rows, *distance_rows(chosen)]), tables | scale_tables(chosen))


def _reply(item: Item, sample: int, response: Response | None) -> _McqReply:
    if response is None or response.unanswered:
        return _McqReply(item, sample, response, None, _NO_CHOICE, "")
    text, options = response.text or "", item.fields["options"]
    if response.state == "declined":
        return _McqReply(item, sample, response, text, _NO_CHOICE, "")
    reference = reference_choice(text, options, item.fields["prompt"])
    return _McqReply(item, sample, response, text, read_choice(text, options, item.language), reference)


def _generate_rows(reply: _McqReply) -> Iterator[Cells]:
    item, outcome, sample = reply.item, reply.outcome, reply.sample
    if reply.text is None:
        yield from (score_row(item, name, None, outcome, sample) for name in GENERATE_METRICS)
        return
    value = float(outcome == "right")
    yield score_row(item, "mcq_acc", value, outcome, sample)
    yield score_row(item, "mcq_acc_parsed", None if reply.read.letter is None else value, outcome, sample)
    released = reply.reference in right_letters(item)
    yield score_row(item, "mcq_acc_reference", float(released), "right" if released else "wrong", sample)


def _case(reply: _McqReply) -> Cells:
    chosen, _ = option_of(reply.item, reply.read.letter)
    return case_of(reply.item, "mcq_acc", _MARGINS.get(reply.outcome, 0.0), chosen or reply.text)


def _answer_row(reply: _McqReply) -> tuple[Any, ...]:
    item, letter = reply.item, reply.read.letter
    return (
        *(item.id, item.variant, item.culture, reply.sample, reply.text),
        *(letter, reply.read.how if reply.text is not None else None),
        # The released code keeps a whole reply in which it finds no capital letter.
        reply.reference if len(reply.reference) == 1 else None,
        *(item.fields["answer"], *option_of(item, letter), reply.outcome),
        *about_answer(reply.response).values(),
    )


def reference_choice(reply: str, options: Sequence[str], prompt: str = "") -> str:
    """Return what the released code takes for the answer: a letter, or the whole reply where it finds none.

    The first JSON object's ``answer_choice``, of which the first capital letter counts; in prose, the first capital
    letter of all, so that "The answer is B" is T. ``prompt`` is the text asked, in which the code looks for the
    letter with a full stop (evaluation/multiple_choice_evaluation.py).
    """
    shown = prompt or lettered(options)
    first = _first_json(reply)
    if not (isinstance(first, dict) and "answer_choice" in first):
        capitals = re.findall("[A-Z]", first) if isinstance(first, str) else []
        return capitals[0] if capitals else reply
    value = first["answer_choice"]
    capitals = re.findall("[A-Z]", str(value))
    if capitals and f"{capitals[0]}." in shown:
        return str(capitals[0])
    return next((letter for letter, text in zip(ALL_LETTERS, options, strict=False) if text == value), reply)


def _first_json(reply: str) -> object:
    """The first flat JSON object of a reply; its text where it is broken; the reply where there is none."""
    flat = reply.replace("\n", "")
    texts = re.findall("{[^}]+}", flat)
    if not texts:
        return flat
    text = texts[0].replace("```json", "").replace("`", "").replace(",}", "}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


Scores = tuple[ContinuationScore, ...]


class _ScoredOptions(NamedTuple):
    """The log-probabilities of an item's option texts and letters; None where that request failed."""

    item: Item
    texts: Scores | None
    letters: Scores | None

    def measures(self) -> Iterator[tuple[str, Vector | None]]:
        """The value of each option by which each metric compares them; None if its request failed."""
        by_norm = {"mcq_text" if norm == "byte" else f"mcq_text_{norm}": norm for norm in NORMS}
        for metric, norm in by_norm.items():
            yield metric, None if self.texts is None else normalised(self.texts, norm)
        # Letters are one character each: nothing is to be normalised.
        yield "mcq_letter", None if self.letters is None else normalised(self.letters, "sum")

    def margin(self, values: Vector) -> float:
        """By how much the likeliest right option is above the best wrong one."""
        right = np.isin(list(self.item.fields["letters"]), right_letters(self.item))
        return float(values[right].max() - values[~right].max())

    def choices(self) -> Iterator[ScaleChoice]:
        """The likeliest option by texts and by letters; none where several are equally likely."""
        for metric, values in self.measures():
            if metric not in DISTANCES:
                continue
            pairs = () if values is None else zip(self.item.fields["letters"], values == values.max(), strict=True)
            best = [letter for letter, likeliest in pairs if likeliest]
            outcome: Outcome = "failed" if values is None else "tie"
            yield ScaleChoice(self.item, metric, best[0] if len(best) == 1 else None, outcome)

    def rows(self) -> Iterator[Cells]:
        """A score row for each metric."""
        for metric, values in self.measures():
            if values is None:
                yield score_row(self.item, metric, None, "failed")
            else:
                yield score_row(self.item, metric, *accuracy(self.margin(values)))

    def case(self) -> Cells:
        """What the likelihoods of texts, which are there, found likeliest."""
        values = normalised(self.texts or (), "byte")
        return case_of(self.item, "mcq_text", self.margin(values), self.item.fields["options"][int(values.argmax())])


def judge_likelihood(items: Sequence[Item], answers: Collection[Answer]) -> Judged:
    """Judge log-probabilities: one row per item and metric of ``LIKELIHOOD_METRICS``.

    The right option must be strictly likelier than every other: a tie is 0, with the outcome "tie". Where a request
    failed or is missing, its metrics are null. Tables: ``options`` (each option's log-probabilities), ``cases``.
    Raises UsageError for answers to unknown items.
    """
    shown = {(item.id, item.variant): lettered(item.fields["options"]) for item in items}
    scores: dict[tuple[str, str, bool], Scores | None] = {}
    for request, response in answers:
        key = (request.item_id, request.variant)
        if key not in shown:
            raise unknown_item(request)
        if not response.unanswered:
            # Options may be letters themselves, and a question may list them: the prompts show it.
            prompt = request.messages[-1].content
            scores[*key, shown[key] in prompt and text_prompt("") not in prompt] = response.logprobs
    scored = [
        _ScoredOptions(item, *(scores.get((item.id, item.variant, for_letters)) for for_letters in (False, True)))
        for item in items
    ]
    options = pl.DataFrame([row for each in scored for row in _option_rows(each)], schema=OPTION_SCHEMA, orient="row")
    tables = {"options": options, "cases": worst_first(each.case() for each in scored if each.texts is not None)}
    chosen = [choice for each in scored if each.item.fields["scale"] for choice in each.choices()]
    rows = [row for each in scored for row in each.rows()]
    return Judged(score_frame([*rows, *distance_rows(chosen)]), tables | scale_tables(chosen))


def _option_rows(scored: _ScoredOptions) -> Iterator[tuple[Any, ...]]:
    item, texts, letters = scored
    for index, letter in enumerate(item.fields["letters"] if texts or letters else ()):
        text = texts[index] if texts else None
        yield (
            *(item.id, item.variant, item.culture, letter, letter in right_letters(item), *option_of(item, letter)),
            *((text.logprob_sum, text.n_tokens, text.n_bytes, text.n_chars) if text else (None,) * 4),
            letters[index].logprob_sum if letters else None,
        )


def choice_confusion(items: Sequence[Item], answers: pl.DataFrame) -> pl.DataFrame:
    """Count, by culture, variant and other culture, the wrong choices that are the other culture's answer.

    ``answers``: columns ``item_id, variant, chosen_culture, outcome`` (the table ``answers`` of
    :func:`kapwa.suites.blend.mcq_judging.judge_generate`). ``wrong``: wrong choices where an option of the other
    culture was offered; ``matches``: how many chose it; ``share`` their quotient with its 95 % interval, clustered by
    question; with three wrong options a blind wrong choice gives 1/3. ``split``: the part of all wrong choices of the
    culture and variant, so that they sum to 1 at most. Returned by
    :func:`~kapwa.suites.blend.confusion.confusion_frame`.
    """
    known = {(item.id, item.variant): item for item in items}
    chosen = answers.filter(pl.col("chosen_culture").is_not_null(), outcome="wrong")
    names = chosen.select("item_id", "variant", "chosen_culture").iter_rows()
    choices = [(known[name, variant], culture) for name, variant, culture in names]
    wrong = grouped(choices, lambda choice: (choice[0].culture, choice[0].language, choice[0].variant))
    return confusion_frame((*key, *row) for key, group in wrong.items() for row in _rows(key[0], group))


def _rows(culture: str, chosen: Sequence[tuple[Item, str]]) -> list[tuple[Any, ...]]:
    """For one culture and variant: other culture, wrong, matches, share, low, high, split."""
    others = list(
        dict.fromkeys(name for item, _ in chosen for name in item.fields["cultures"] if name not in ("", culture))
    )
    if not others:
        return []
    gives = np.full((len(chosen), len(others)), np.nan)
    for i, (item, name) in enumerate(chosen):
        for j, other in enumerate(others):
            if other in item.fields["cultures"]:
                gives[i, j] = float(name == other)
    rows = confusion_rows(gives, gives, [item.cluster for item, _ in chosen])
    return [(other, *row[:-1], row[1] / len(chosen)) for other, row in zip(others, rows, strict=True)]
