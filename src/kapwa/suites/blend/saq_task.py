"""The task ``blend/saq``: everyday knowledge by short answers, in the local language and in English."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from kapwa.errors import UsageError
from kapwa.files import digest
from kapwa.languages.codes import canonical
from kapwa.languages.fallback import has_rules, language_for
from kapwa.metrics.matching import VERSION
from kapwa.records import ITEM_COLUMNS, Item
from kapwa.suites.base import Selection, Task
from kapwa.suites.blend.data import BlendData, read_data
from kapwa.suites.blend.judge import Judge
from kapwa.suites.blend.prompts import PromptBook, default_variants, split_variant
from kapwa.suites.blend.questions import CountryQuestion, answers_line, is_valid_code, is_valid_paper
from kapwa.suites.blend.saq_floors import saq_floors
from kapwa.suites.blend.saq_judging import judge_saq
from kapwa.suites.blend.saq_match import ENGLISH, AnswerMatcher, QuestionsOfAllCountries
from kapwa.suites.blend.saq_options import SAQ_HEADLINE, SaqOptions, saq_metrics
from kapwa.suites.blend.variants import SAQ_VARIANTS, AskedIn
from kapwa.suites.items import greedy_requests, item_columns, select, wanted_values
from kapwa.suites.similarity import similarity_infos
from kapwa.value_types import JsonMapping, Schema


def saq_task(
    data: BlendData,
    selection: Selection,
    items: Sequence[Item],
    options: SaqOptions,
    *,
    judge: Judge | None = None,
    answer_matcher: AnswerMatcher | None = None,
) -> Task:
    """Return ``blend/saq``: does a short reply give an answer that people of the country gave? (BLEnD section 4.1).

    ``data``: all of it, not only ``items``: floors and confusion need what other countries answered. ``judge``: a model
    that judges replies beside the matcher, see :mod:`kapwa.suites.blend.judge`. Its options are what was set, the
    matcher, the judging model, and a digest of the weights of similarities that have some. ``matcher``: the version of
    the rules, and a hash of what normalises the languages at work (the table ``tools`` lists it): numbers made with
    other lexicons have another signature. ``no_rules``: the languages asked in, if any, that only the fallback knows.
    """
    answer_matcher, all_questions = (
        answer_matcher or AnswerMatcher(),
        QuestionsOfAllCountries(data.questions),
    )  # made once: other tools judge one item a call
    tools = tools_at_work(items)
    versions = {f"{name} {version}" for _, name, version, _ in tools.iter_rows()}
    without = sorted({item.language for item in items if not has_rules(item.language)})
    counted = any(item.fields["counted"] for item in items)
    metrics = saq_metrics(judged=judge is not None, counted=counted)
    return Task(
        name="blend/saq",
        data=data.source,
        selection=selection,
        selected=items,
        needs=frozenset({"generate"}),
        headline=SAQ_HEADLINE if counted else SAQ_HEADLINE[:1],
        groups=("topic",),
        metrics={**metrics, **{info.name: info for info in similarity_infos(options)}},
        options={
            **options.as_dict(),
            **options.encoders(),
            "matcher": f"{VERSION}-{digest({'tools': chr(10).join(sorted(versions)).encode()})[:6]}",
            **({"no_rules": without} if without else {}),
            **({"judge": judge.name} if judge else {}),
        },
        requests=partial(greedy_requests, max_new_tokens=options.max_new_tokens),
        score=partial(
            judge_saq,
            options=options,
            all_questions=all_questions,
            answer_matcher=answer_matcher,
            judge=judge,
            tools=tools,
        ),
        floors=partial(
            saq_floors, all_questions=all_questions, answer_matcher=answer_matcher, limit=options.max_answers
        ),
        item_table=saq_item_table,
    )


def saq_item_table(items: Sequence[Item]) -> pl.DataFrame:
    """Return one row per question and variant: the question, its English, the prompt, and the answers of people."""
    texts = ("prompt", "question", "question_en", "asked_in", "prompt_id", "kind")
    rows = [
        {
            **item_columns(item),
            **{name: item.fields[name] for name in texts},
            "answers": answers_line(item.fields["answers"]),
            "answers_en": answers_line(item.fields["answers"], english=True),
            "gloss": None if item.language == ENGLISH else item.fields["question_en"],
            "valid_paper": item.fields["valid_paper"],
        }
        for item in items
    ]
    schema: Schema = dict.fromkeys((*ITEM_COLUMNS, *texts, "answers", "answers_en", "gloss"), pl.String)
    return pl.DataFrame(rows, schema=schema | {"valid_paper": pl.Boolean})


def tools_at_work(items: Sequence[Item]) -> pl.DataFrame:
    """Return what normalises each language of ``items``: language, tool, version, licence.

    Raises UsageError for a text that is not a language tag.
    """
    schema = dict.fromkeys(("language", "tool", "version", "licence"), pl.String)
    codes = sorted({ENGLISH, *(item.fields["local_language"] for item in items)})
    rows = [(code, *tool) for code in codes for tool in language_for(code).info.tools]
    return pl.DataFrame(rows, schema=schema, orient="row")


def open_saq_task(data: str | Path | None, selection: Selection, options: JsonMapping) -> Task:
    """Read questions, select among them, and return the task.

    ``options``: those of :class:`SaqOptions`; ``prompts``, a prompt file or folder in place of the data's own; and
    ``judge``, a :class:`kapwa.suites.blend.judge.Judge`. Only questions that the code's rule keeps are asked. Of the
    default variants those are taken that the data can ask; raises UsageError for a variant named that it cannot.
    What would be asked twice is asked once (:func:`asked_once`).
    """
    settings = dict(options)
    judge, prompts = settings.pop("judge", None), settings.pop("prompts", None)
    if judge is not None and not isinstance(judge, Judge):
        hint = "Give kapwa.suites.blend.judge.Judge(model), or what kapwa.load_judge returns."
        raise UsageError(f"judge is a {type(judge).__name__}, not a Judge.", hint=hint)
    chosen_options = SaqOptions(**settings)
    chosen_options.signatures()  # a missing encoder is found now, not after every question was asked
    read = read_data(data, prompts)
    items = saq_items(read, selection)
    present = [
        variant for variant in default_variants(read.prompts.every_id) if any(item.variant == variant for item in items)
    ]
    variants = tuple(dict.fromkeys((*SAQ_VARIANTS, *(item.variant for item in items))))
    where = {column: values for column, values in selection.where.items() if column != "culture" or not items}
    chosen = select(items, replace(selection, where=where), known=variants, default=present)
    return saq_task(read, selection, asked_once(chosen), chosen_options, judge=judge)


def asked_once(items: Sequence[Item]) -> list[Item]:
    """Return ``items`` without those that ask in English, by the same prompt, what was asked in English before.

    Where English is the local language, a question has two English texts: the one that its people were asked, and the
    one for all countries ("in the UK", "in UK"). The variant that comes first asks it, as in the paper, whose short
    answers are of 16 countries in English and of 14 in another language.
    """
    first: dict[tuple[str, str, str], Item] = {}
    for item in items:
        first.setdefault((item.id, item.language.partition("-")[0], item.fields["prompt_id"]), item)
    return list(first.values())


def saq_items(read: BlendData, selection: Selection) -> list[Item]:
    """Return the items of every valid question, in the variants that ``selection`` names (None: the defaults).

    A variant that is named must be there for each selected country; of the defaults, a country has those it can.
    """
    named = selection.variants
    named_cultures = selection.where.get("culture")
    questions = [q for q in read.questions if is_valid_code(q)]
    if named_cultures is not None:
        cultures = wanted_values("culture", named_cultures, {q.country for q in questions})
        questions = [q for q in questions if q.country in cultures]
    items: list[Item] = []
    for variant in named or default_variants(read.prompts.every_id):
        asked_in, prompt_id = split_variant(variant)
        offered = {
            country: bool(named) or read.prompts.find(country, asked_in, prompt_id) != ""
            for country in dict.fromkeys(question.country for question in questions)
        }
        for question in questions:
            if offered[question.country] and question.text(asked_in):
                items.append(saq_item(question, read.prompts, asked_in, prompt_id))
    return items


def saq_item(question: CountryQuestion, prompts: PromptBook, asked_in: AskedIn, prompt_id: str) -> Item:
    """Return one question as asked in one language with one prompt; its cluster is the question's id.

    Raises UsageError where the data has no such prompt.
    """
    text, local = question.text(asked_in), canonical(question.language)
    return Item(
        id=question.item_id,
        suite="blend",
        culture=question.country,
        language=local if asked_in == "local" else ENGLISH,
        category=question.topic,
        topic=question.topic,
        variant=f"{asked_in}/{prompt_id}",
        cluster=question.id,
        fields={
            "question": text,
            "question_en": question.english,
            "prompt": prompts.render(question.country, asked_in, prompt_id, text),
            "prefixes": prompts.reply_prefixes(question.country, asked_in, prompt_id),
            "asked_in": asked_in,
            "prompt_id": prompt_id,
            "answers": question.groups,
            "idks": question.idks,
            "counted": question.counted,
            "kind": question.kind,
            "valid_code": is_valid_code(question),
            "valid_paper": is_valid_paper(question),
            "local_language": local,
            **({"group": question.group, "step": question.step} if question.group else {}),
            "messages": question.messages,
            "media": question.media,
        },
    )
