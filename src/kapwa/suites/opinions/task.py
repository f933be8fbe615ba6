"""The task ``opinions/survey``: put every question to the model for each culture, in each prompt asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import polars as pl

from kapwa.errors import UsageError, check_whole, nearest
from kapwa.records import ITEM_COLUMNS, Capability, Item, Message, Request
from kapwa.suites.base import Selection, Task, metrics_of
from kapwa.suites.choices.reader import READER_VERSION
from kapwa.suites.items import ALL_LETTERS, greedy_requests, item_columns, select
from kapwa.suites.opinions.data import OpinionSurvey, read_survey
from kapwa.suites.opinions.judging import HEADLINE, How, floors, judge, shares_words
from kapwa.suites.opinions.shares import people_of
from kapwa.suites.opinions.variants import VARIANTS
from kapwa.suites.varying import Samples, check_draws
from kapwa.value_types import JsonMapping

# What may be set for each way of asking; a reply is a letter, or a line for each option.
USUAL: Mapping[How, JsonMapping] = {
    "likelihood": {},
    "samples": {"samples": 20, "temperature": 1.0, "max_new_tokens": 16},
    "stated": {"max_new_tokens": 200},
}


def build_items(survey: OpinionSurvey, variants: Sequence[str], *, stated: bool) -> list[Item]:
    """Return every question of every culture in every variant; the cluster, which was sampled, is the question."""
    return [
        Item(
            id=f"{row.question_id}/{row.culture}",
            suite="opinions",
            culture=row.culture,
            language=row.language,
            category=row.topic,
            topic=row.topic,
            variant=variant,
            cluster=row.question_id,
            fields={
                "prompt": prompt.render(row, stated=stated),
                "options": row.options,
                "numbers": row.numbers,
                "people": row.answered,
                "names_culture": prompt.names_culture,
            },
        )
        for variant in variants
        for row in survey.opinions
        for prompt in [survey.prompt_for(variant, row.language, stated=stated)]
    ]


def letter_requests(items: Sequence[Item]) -> Iterator[Request]:
    """Yield one scoring request per item: the letters of its options."""
    for item in items:
        letters = tuple(ALL_LETTERS[: len(item.fields["options"])])
        yield Request(item.id, item.variant, "score", (Message("user", item.fields["prompt"]),), letters)


def opinion_table(items: Sequence[Item]) -> pl.DataFrame:
    """Return one row per item: its prompt, how people answered, and how many they are (null: not known)."""
    rows = [
        item_columns(item)
        | {"prompt": item.fields["prompt"], "answer": shares_words(item, people_of(item))}
        | {"people": item.fields["people"]}
        for item in items
    ]
    return pl.DataFrame(
        rows, schema=dict.fromkeys((*ITEM_COLUMNS, "prompt", "answer"), pl.String) | {"people": pl.Int64}
    )


def open_survey(name: str, data: str | Path | None, selection: Selection, options: JsonMapping) -> Task:
    """Read a survey, select among its questions and cultures, and return the task.

    ``options``: ``how`` ("likelihood" of letters, "samples" of replies, "stated" percentages; the first unless set);
    ``samples`` and ``temperature`` of draws, and ``seed``, which begins them; ``max_new_tokens``. Raises UsageError for
    values that cannot be, and for options of another way of asking.
    """
    how = cast("How", options.get("how", "likelihood"))
    if how not in USUAL:
        raise UsageError(f"There is no way {how!r} to ask {name}.", hint=nearest(str(how), USUAL))
    settings = {**USUAL[how], **{key: value for key, value in options.items() if key not in ("how", "seed")}}
    for option, value in settings.items():
        if option not in USUAL[how]:
            ways = " or ".join(f"--how {way}" for way, usual in USUAL.items() if option in usual)
            raise UsageError(f"{option} is not an option of --how {how}.", hint=f"Leave it out, or ask by {ways}.")
        if option != "temperature":
            check_whole(option, value)
    length, samples = settings.get("max_new_tokens"), settings.get("samples", 0)
    survey = read_survey(data)
    known = tuple(dict.fromkeys(prompt.id for prompt in survey.prompts))
    # "all" names the shipped prompts; of data that bring prompts, it means all of theirs.
    wanted = known if selection.variants == VARIANTS else selection.variants or known[:1]
    items = build_items(survey, [variant for variant in known if variant in wanted], stated=how == "stated")
    needs: Capability = "score" if how == "likelihood" else "generate"
    task = Task(
        name=name,
        data=survey.source(),
        selection=selection,
        selected=select(items, replace(selection, variants=wanted), known=known, default=known[:1]),
        needs=frozenset({needs}),
        headline=HEADLINE,
        groups=("topic",),
        metrics=metrics_of(name) | (metrics_of(f"{name} replies") if length else {}),
        options={"how": how} | ({"max_new_tokens": length, "reader": READER_VERSION} if length else {}),
        requests=partial(greedy_requests, max_new_tokens=length) if length else letter_requests,
        score=partial(judge, how=how),
        floors=partial(floors, samples=samples),
        item_table=opinion_table,
        takes=("frame",),  # the data hold the wordings
    )
    if not samples:
        return task
    check_draws(samples, settings["temperature"])
    return Samples(samples, float(settings["temperature"]), options.get("seed", 0)).applied_to(task)
