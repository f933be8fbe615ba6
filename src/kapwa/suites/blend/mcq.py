"""What ``blend/mcq`` asks: items, prompts and requests, by generation or by likelihood; and its metrics.

By generation, the reply is read for a letter (:mod:`kapwa.suites.blend.mcq_generation`); by likelihood, option texts
and letters are scored (:mod:`kapwa.suites.blend.mcq_likelihood`). Source: BLEnD section 4.2.2 and appendix C.3.3;
likelihoods are Kapwa's addition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

from kapwa.errors import UsageError
from kapwa.records import Answer, Item, Message, Params, Request
from kapwa.suites.base import MetricInfo
from kapwa.suites.blend.mcq_data import ChoiceQuestion

How = Literal["generate", "likelihood"]
HOWS: tuple[How, ...] = ("generate", "likelihood")
MAX_NEW_TOKENS = 128
_PAPER, _CODE = "BLEnD §4.2.2", "the released BLEnD code"

GENERATE_HEADLINE, LIKELIHOOD_HEADLINE = ("mcq_acc",), ("mcq_text", "mcq_letter")


def _info(
    name: str, title: str, phrase: str, *, reference: bool = False, source: str = "Kapwa"
) -> tuple[str, MetricInfo]:
    told = f"{phrase} {{value}} of {{items}}"
    return name, MetricInfo(
        name,
        title,
        0.0,
        1.0,
        binary=True,
        reference=reference,
        source=source,
        phrase=told,
        higher_is_better=True,
    )


_CHOSE, _LIKELIEST = "chose the right option in", "found the right option the likeliest text in"
_LETTER = "gave the right letter the highest likelihood in"

GENERATE_METRICS: Mapping[str, MetricInfo] = dict(
    (
        _info("mcq_acc", "Right option chosen (unparsed counts as not chosen)", _CHOSE, source=_PAPER),
        _info("mcq_acc_parsed", "Right option chosen, among replies that choose one", _CHOSE),
        _info("mcq_acc_reference", "Right option chosen, as released", _CHOSE, reference=True, source=_CODE),
    )
)
LIKELIHOOD_METRICS: Mapping[str, MetricInfo] = dict(
    (
        _info("mcq_text", "Right option is the likeliest text (per UTF-8 byte)", _LIKELIEST),
        _info("mcq_text_char", "Right option is the likeliest text (per character)", _LIKELIEST),
        _info("mcq_text_token", "Right option is the likeliest text (per token)", _LIKELIEST),
        _info("mcq_text_sum", "Right option is the likeliest text (summed)", _LIKELIEST),
        _info("mcq_letter", "Right option has the likeliest letter", _LETTER),
    )
)


def item_of(question: ChoiceQuestion, how: How) -> Item:
    """Return the item that asks ``question`` by generation or by likelihood; its cluster is the question's id."""
    return Item(
        id=question.id,
        suite="blend",
        culture=question.country,
        language="en",
        category=question.topic,
        topic=question.topic,
        variant=how,
        cluster=question.question_id,
        fields={
            "question": question.question,
            "question_id": question.question_id,
            "prompt": question.prompt or generate_prompt(question.question, question.options),
            "options": question.options,
            "letters": question.letters,
            "answer": question.answer,
            "cultures": question.cultures,
        },
    )


def lettered(options: Sequence[str]) -> str:
    """The options as a prompt shows them, one a line: "A. …"."""
    return "".join(f"{chr(ord('A') + i)}. {option}\n" for i, option in enumerate(options))


def generate_prompt(question: str, options: Sequence[str]) -> str:
    """The prompt that asks for a letter in JSON, as the paper's does in other words (appendix C.3.3)."""
    return (
        f"{question}\n\nExactly one of the options below is right. Reply with its letter, as JSON and without any "
        f'explanation: {{"answer_choice": ""}}\n\n{lettered(options)}\nAnswer:'
    )


def letter_prompt(question: str, options: Sequence[str]) -> str:
    """The prompt after which each letter's likelihood is measured."""
    return f"{question}\n\n{lettered(options)}\nReply with the letter of the right option.\n\nAnswer:"


def text_prompt(question: str) -> str:
    """The prompt after which each option's likelihood is measured; it does not show the options."""
    return f"{question}\n\nReply with a short answer and nothing else.\n\nAnswer:"


def mcq_requests(items: Sequence[Item], max_new_tokens: int = MAX_NEW_TOKENS) -> Iterator[Request]:
    """Yield what to ask: one greedy generation an item, or two scorings (option texts, then letters)."""
    for item in items:
        fields = item.fields
        if item.variant == "generate":
            params = Params(max_new_tokens=max_new_tokens)
            yield Request(item.id, item.variant, "generate", (Message("user", fields["prompt"]),), params=params)
            continue
        for prompt, continuations in (
            (text_prompt(fields["question"]), tuple(fields["options"])),
            (letter_prompt(fields["question"], fields["options"]), tuple(fields["letters"])),
        ):
            yield Request(item.id, item.variant, "score", (Message("user", prompt),), continuations)


def answers_by_item(items: Sequence[Item], answers: Collection[Answer]) -> dict[tuple[str, str], list[Answer]]:
    """Group answers by item id and variant, in item order; raise UsageError for an answer to an unknown item."""
    found: dict[tuple[str, str], list[Answer]] = {(item.id, item.variant): [] for item in items}
    for answer in answers:
        key = (answer.request.item_id, answer.request.variant)
        if key not in found:
            raise UsageError(
                f"An answer names item {key[0]!r} (variant {key[1]!r}), which is not among the items judged.",
                hint="Judge with the data and selection the answers were made from.",
            )
        found[key].append(answer)
    return found


def option_of(item: Item, letter: str | None) -> tuple[str | None, str | None]:
    """The text of an option and whose answer it is."""
    if letter is None:
        return None, None
    place = item.fields["letters"].index(letter)
    return item.fields["options"][place], item.fields["cultures"][place]


def case_of(item: Item, metric: str, margin: float, got: str | None) -> dict[str, Any]:
    """One row of the report's cases: what was expected and what the model gave."""
    return {
        "item_id": item.id,
        "variant": item.variant,
        "culture": item.culture,
        "metric": metric,
        "margin": margin,
        "prompt": f"{item.fields['question']}\n{lettered(item.fields['options'])}".strip(),
        "prompt_gloss": None,
        "expected": option_of(item, item.fields["answer"])[0],
        "expected_gloss": None,
        "got": got,
        "got_gloss": None,
    }
