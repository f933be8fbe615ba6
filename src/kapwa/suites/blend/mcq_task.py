"""The task ``blend/mcq``: everyday knowledge by multiple choice.

Asked by generation, the reply is read for a letter; by likelihood, option texts and letters are scored (see
:mod:`kapwa.suites.blend.mcq_judging`). Source: BLEnD section 4.2.2 and appendix C.3.3; likelihoods are ours.
Floors take no cultural knowledge: chance, always one letter, the longest option, the alphabet (in which the released
set lists its options). A trick that ties scores the share it would win by drawing among the tied options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import polars as pl

from kapwa.errors import UsageError, check_whole, nearest
from kapwa.records import ITEM_COLUMNS, Floor, Item, Message, Request
from kapwa.suites.base import Selection, Task
from kapwa.suites.blend.mcq_data import ChoiceQuestion, read_mcq
from kapwa.suites.blend.mcq_judging import (
    HEADLINES,
    HOWS,
    MAX_NEW_TOKENS,
    METRICS,
    READER,
    How,
    generate_prompt,
    judge_generate,
    judge_likelihood,
    letter_prompt,
    text_prompt,
)
from kapwa.suites.items import by_culture, greedy_requests, item_columns, select


def item_of(question: ChoiceQuestion, how: How) -> Item:
    """Return the item that asks ``question`` by generation or by likelihood; its cluster is the question's id."""
    return Item(
        id=question.id,
        suite="blend",
        culture=question.country,
        language=question.language,
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
            "messages": question.messages,
            "media": question.media,
        },
    )


def likelihood_requests(items: Sequence[Item]) -> Iterator[Request]:
    """Yield two scorings of each item: the texts of its options, then their letters."""
    for item in items:
        question, options = item.fields["question"], item.fields["options"]
        for prompt, continuations in (
            (text_prompt(question), options),
            (letter_prompt(question, options), item.fields["letters"]),
        ):
            yield Request(item.id, item.variant, "score", (Message("user", prompt),), tuple(continuations))


def mcq_item_table(items: Sequence[Item]) -> pl.DataFrame:
    """Return one row per question: prompt, options, the right letter, whose answers the options are."""
    texts: dict[str, Any] = dict.fromkeys((*ITEM_COLUMNS, "prompt", "question", "answer"), pl.String)
    schema = texts | dict.fromkeys(("options", "option_cultures"), pl.List(pl.String))
    rows = [{**item_columns(item), **item.fields, "option_cultures": item.fields["cultures"]} for item in items]
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)


def tricks(item: Item, letters: Sequence[str]) -> dict[str, float]:
    """Return what every trick scores on an item, in [0, 1]; ties are shared. ``letters``: all of the set."""
    options, answer = item.fields["options"], item.fields["answer"]
    right = options[item.fields["letters"].index(answer)]
    lengths = [len(text) for text in options]
    shared = 1.0 / lengths.count(len(right))
    first = min(options, key=lambda text: (text.casefold(), text))
    return {
        "chance": 1.0 / len(options),
        **{f"always {letter}": float(answer == letter) for letter in letters},
        "longest": shared if len(right) == max(lengths) else 0.0,
        "shortest": shared if len(right) == min(lengths) else 0.0,
        "alphabetical first": float(right == first),
    }


def mcq_floors(items: Sequence[Item]) -> list[Floor]:
    """Return every floor of every metric present, over all items (``note`` "") and for each of several cultures.

    Values are means over items, in [0, 1]. There is no ceiling: nobody asked people these questions.
    """
    floors: list[Floor] = []
    for how in HOWS:
        asked = [item for item in items if item.variant == how]
        letters = sorted({letter for item in asked for letter in item.fields["letters"]})
        scores = {item.id: tricks(item, letters) for item in asked}
        for note, group in by_culture(asked).items():
            for name in scores[group[0].id]:
                each = [scores[item.id][name] for item in group]
                known = None if name == "chance" else each  # chance is no estimate
                floors += [Floor(metric, how, name, fmean(each), note=note, by_item=known) for metric in METRICS[how]]
    return floors


def open_mcq_task(data: str | Path | None, selection: Selection, options: Mapping[str, Any]) -> Task:
    """Read multiple-choice questions, select among them, and return the task.

    ``options``: ``how`` ("generate" or "likelihood"; else the variant selected) and ``max_new_tokens``. Raises
    UsageError for unknown options or values, and when ``data`` is None: there is no set without people's answers.
    """
    how = _how(options.get("how"), selection)
    length = options.get("max_new_tokens", MAX_NEW_TOKENS)
    check_whole("max_new_tokens", length)
    if data is None:
        raise UsageError(
            "blend/mcq needs its questions: --data.",
            hint="Build them from people's answers with 'kapwa build mcq --data … -o mcq/', or give the hub id "
            "nayeon212/BLEnD.",
        )
    questions, source = read_mcq(data)
    items = [item_of(question, how) for question in questions]
    task = Task(
        name="blend/mcq",
        data=source,
        selection=selection,
        selected=select(items, selection, known=HOWS, default=(how,)),
        needs=frozenset({"score"}),
        headline=HEADLINES[how],
        groups=("topic",),
        metrics=METRICS[how],
        options={"how": how},
        requests=likelihood_requests,
        score=judge_likelihood,
        floors=mcq_floors,
        item_table=mcq_item_table,
    )
    if how == "likelihood":
        return task
    return replace(
        task,
        needs=frozenset({"generate"}),
        options={"how": how, "max_new_tokens": length, "reader": READER},
        requests=partial(greedy_requests, max_new_tokens=length),
        score=judge_generate,
    )


def _how(wanted: Any, selection: Selection) -> How:
    """The way of asking: the option, else the one variant selected, else generation."""
    named = tuple(selection.variants or ())
    choice = wanted if wanted is not None else named[0] if len(named) == 1 else "generate"
    if choice not in HOWS:
        raise UsageError(f"There is no way {choice!r} to ask blend/mcq.", hint=nearest(str(choice), HOWS))
    if named and set(named) != {choice}:
        raise UsageError(
            f"how={choice!r} and the variants {', '.join(named)} do not fit together.",
            hint="Run blend/mcq once for each way of asking.",
        )
    return cast("How", choice)
