"""The task ``blend/mcq``: everyday knowledge by multiple choice.

Asked by generation, in words of ours or the paper's, the reply is read for a letter; by likelihood, option texts and
letters are scored (see :mod:`kapwa.suites.blend.mcq_judging`). Source: BLEnD section 4.2.2 and appendix C.3.3;
likelihoods are ours. Floors take no cultural knowledge: chance, always one letter, the longest option, the alphabet (in
which the released set lists its options). A trick that ties scores the share it would win by drawing among the tied
options.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from operator import mul
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import polars as pl

from kapwa.errors import UsageError, check_whole, nearest
from kapwa.records import ITEM_COLUMNS, Floor, Item, Message, Request
from kapwa.suites.base import Selection, Task
from kapwa.suites.blend.choice_scales import DISTANCES, ScaleChoice, right_letters
from kapwa.suites.blend.mcq_data import ChoiceQuestion, read_mcq, scales
from kapwa.suites.blend.mcq_judging import (
    HEADLINES,
    HOWS,
    MAX_NEW_TOKENS,
    WRITTEN,
    How,
    generate_prompt,
    judge_generate,
    judge_likelihood,
    letter_prompt,
    metrics_for,
    paper_prompt,
    text_prompt,
)
from kapwa.suites.choices.reader import READER_VERSION
from kapwa.suites.items import ALL_LETTERS, by_culture, greedy_requests, grouped, item_columns, select, shuffle_key
from kapwa.value_types import Cells, JsonMapping, Schema

log = logging.getLogger(__name__)
# From this number of items on, a note gives the number before they are asked.
MANY = 10_000


def item_of(question: ChoiceQuestion, how: How, *, several: bool = False, scale: Sequence[str] = ()) -> Item:
    """Return the item that asks ``question`` in one of the ways; its cluster is the question's id.

    A prompt of its own, as released questions have it, is asked in every way in which the model writes.
    ``several``: questions of the set have several right options. ``scale``: the labels that all have in the language.
    """
    asked = (question.question, question.options)
    prompt = paper_prompt(*asked) if how == "paper" else generate_prompt(*asked, several=several)
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
            "prompt": question.prompt or prompt,
            "options": question.options,
            "letters": question.letters,
            "answer": question.answer,
            "cultures": question.cultures,
            **({"group": question.group, "step": question.step} if question.group else {}),
            "several": several,
            "scale": scale,
            "options_are": question.options_are,
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
            (letter_prompt(question, options, several=item.fields["several"]), item.fields["letters"]),
        ):
            yield Request(item.id, item.variant, "score", (Message("user", prompt),), tuple(continuations))


def mcq_item_table(items: Sequence[Item]) -> pl.DataFrame:
    """Return one row per question: prompt, options, the right letter, whose answers the options are."""
    texts: Schema = dict.fromkeys((*ITEM_COLUMNS, "prompt", "question", "answer"), pl.String)
    schema = texts | dict.fromkeys(("options", "option_cultures"), pl.List(pl.String))
    rows = [{**item_columns(item), **item.fields, "option_cultures": item.fields["cultures"]} for item in items]
    return pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)


def tricks(item: Item, letters: Sequence[str]) -> dict[str, list[float]]:
    """Return how likely every trick chooses each option of an item; ties are shared. ``letters``: all of the set."""
    options = item.fields["options"]
    lengths = [len(text) for text in options]
    first = min(options, key=lambda text: (text.casefold(), text))

    def among(chosen: Sequence[bool]) -> list[float]:
        count = max(sum(chosen), 1)
        return [each / count for each in chosen]

    return {
        "chance": among([True] * len(options)),
        **{f"always {letter}": among([each == letter for each in item.fields["letters"]]) for letter in letters},
        "longest": among([length == max(lengths) for length in lengths]),
        "shortest": among([length == min(lengths) for length in lengths]),
        "alphabetical first": among([text == first for text in options]),
    }


def trick_scores(item: Item, letters: Sequence[str], *, ordered: bool) -> dict[tuple[str, bool], float]:
    """Return what every trick scores on an item: how likely it is right, and with True its mean distance from that."""
    shown, right = item.fields["letters"], right_letters(item)
    worth = {False: [float(letter in right) for letter in shown]}
    if ordered:
        worth[True] = [ScaleChoice(item, "", letter).distance or 0.0 for letter in shown]
    pairs = product(tricks(item, letters).items(), worth.items())
    return {(name, kind): sum(map(mul, likely, values)) for (name, likely), (kind, values) in pairs}


def mcq_floors(items: Sequence[Item]) -> list[Floor]:
    """Return every floor of every metric present, over all items (``note`` "") and for each of several cultures.

    Values are means over items, in [0, 1], and in steps those of distances. There is no ceiling: nobody asked people
    these questions.
    """
    floors: list[Floor] = []
    for how in HOWS:
        of_variant = [item for item in items if item.variant == how]
        letters = sorted({letter for item in of_variant for letter in item.fields["letters"]})
        ordered = bool(of_variant) and bool(of_variant[0].fields["options_are"])
        kinds = grouped(metrics_for(how, ordered=ordered), lambda metric: metric in DISTANCES.values())
        scores = {item.id: trick_scores(item, letters, ordered=ordered) for item in of_variant}
        for note, group in by_culture(of_variant).items():
            for name, kind in scores[group[0].id]:
                each = [scores[item.id][name, kind] for item in group]
                known = None if name == "chance" else each  # chance is no estimate
                floors += [Floor(metric, how, name, fmean(each), note=note, by_item=known) for metric in kinds[kind]]
    return floors


def shuffled(question: ChoiceQuestion, seed: int) -> ChoiceQuestion:
    """Return the question with its options in an order drawn for it and its culture."""
    if question.prompt is not None:
        hint = "Leave --shuffle out."
        raise UsageError(f"The prompt of {question.id!r} shows its options: their order cannot be changed.", hint=hint)
    indices = range(len(question.options))
    order = sorted(indices, key=lambda index: shuffle_key(seed, question.country, question.id, ALL_LETTERS[index]))
    return replace(
        question,
        options=tuple(question.options[index] for index in order),
        cultures=tuple(question.cultures[index] for index in order),
        answer=",".join(ALL_LETTERS[new] for new, index in enumerate(order) if ALL_LETTERS[index] in question.right),
    )


def open_mcq_task(data: str | Path | None, selection: Selection, options: JsonMapping) -> Task:
    """Read multiple-choice questions, select among them, and return the task.

    ``options``: ``how`` ("generate", "paper" or "likelihood"; else the variants selected), ``max_new_tokens``,
    ``shuffle`` (a seed; the order of the data where it is left out) and ``per_question`` (see :func:`capped`). Raises
    UsageError for unknown options or values, for a shuffle of prompts that show their options, and when ``data`` is
    None: there is no set without people's answers.
    """
    ways = _ways(options.get("how"), selection)
    length = options.get("max_new_tokens", MAX_NEW_TOKENS)
    check_whole("max_new_tokens", length)
    if data is None:
        raise UsageError(
            "blend/mcq needs its questions: --data.",
            hint="Build them from people's answers with 'kapwa build mcq --data … -o mcq/', or give the hub id "
            "nayeon212/BLEnD.",
        )
    questions, source = read_mcq(data)
    cap = options.get("per_question")
    if cap is not None:
        check_whole("per_question", cap)
        questions = capped(questions, cap)
    several = any(len(question.right) > 1 for question in questions)
    labels, seed = scales(questions), options.get("shuffle")
    if seed is not None:
        check_whole("shuffle", seed, least=0)
        questions = [shuffled(question, seed) for question in questions]
    items = [
        item_of(each, way, several=several, scale=labels.get(each.language, ())) for way in ways for each in questions
    ]
    selected = select(items, selection, known=HOWS, default=ways)
    if cap is None:
        _say_how_many([item for item in selected if item.variant == ways[0]])
    writes = ways[0] in WRITTEN
    # If items were asked in several ways, the variants name the way.
    settings: Cells = {"how": ways[0]} if len(ways) == 1 else {}
    settings |= {"max_new_tokens": length, "reader": READER_VERSION} if writes else {}
    return Task(
        name="blend/mcq",
        data=source,
        selection=selection,
        selected=selected,
        needs=frozenset({"generate" if writes else "score"}),
        headline=HEADLINES[ways[0]],
        groups=("topic",),
        metrics=metrics_for(ways[0], ordered=any(question.options_are for question in questions)),
        options=settings
        | {name: value for name, value in (("shuffle", seed), ("per_question", cap)) if value is not None},
        requests=partial(greedy_requests, max_new_tokens=length) if writes else likelihood_requests,
        score=judge_generate if writes else judge_likelihood,
        floors=mcq_floors,
        item_table=mcq_item_table,
    )


def capped(questions: Sequence[ChoiceQuestion], most: int) -> list[ChoiceQuestion]:
    """Return at most ``most`` sets of options of each question and culture, drawn by their ids, in the data's order.

    The released file asks each question with every three of the other cultures' answers, some hundreds of times; its
    clusters are questions, so that more sets narrow no interval much. All items of a group stay together.
    """
    sets = grouped(questions, lambda each: (each.country, each.question_id))
    questions_kept: set[tuple[str, str]] = set()
    for group in sets.values():
        names = sorted(dict.fromkeys(each.group or each.id for each in group), key=partial(shuffle_key, 0))
        questions_kept.update((group[0].country, name) for name in names[:most])
    return [each for each in questions if (each.country, each.group or each.id) in questions_kept]


def _say_how_many(items: Sequence[Item]) -> None:
    """Warn, before they are asked, of so many items as only many sets of options of a question make."""
    n_asked = len({(item.culture, item.cluster) for item in items})
    if len(items) < MANY or len(items) < 2 * n_asked:
        return
    log.warning(
        "%s choice questions are to be asked: %s questions of people, each with about %d sets of options. "
        "--per-question 5 asks at most %s.",
        *(f"{len(items):,}", f"{n_asked:,}", round(len(items) / n_asked), f"{5 * n_asked:,}"),
    )


def _ways(wanted: Any, selection: Selection) -> tuple[How, ...]:
    """The ways of asking: the option, else the variants selected, else generation; several where the model writes."""
    named = tuple(dict.fromkeys(selection.variants or ()))
    chosen = (wanted,) if wanted is not None else named or WRITTEN[:1]
    for way in chosen:
        if way not in HOWS:
            raise UsageError(f"There is no way {way!r} to ask blend/mcq.", hint=nearest(str(way), HOWS))
    if named and set(named) != set(chosen):
        raise UsageError(
            f"how={wanted!r} and the variants {', '.join(named)} do not fit together.",
            hint="Leave one of them out.",
        )
    if len(chosen) > 1 and not set(chosen) <= set(WRITTEN):
        raise UsageError(
            f"The variants {', '.join(chosen)} do not fit together: likelihoods are another measurement.",
            hint="Run blend/mcq once for what the model writes and once for likelihoods.",
        )
    return cast("tuple[How, ...]", chosen)
