"""Judge ``blend/saq``: does a short reply give one of the answers that people gave?

Source: BLEnD section 4.1 and its appendix C.2.2. SEM-B is 1 for a reply that gives an answer of any group, SEM-W the
votes of the first group it gives, in file order (the commonest first), over the votes of the commonest. Values are
shares in [0, 1]; the paper prints per cent. A reply in the local language may also give an English answer, as in the
released code; how often that alone made it right is ``answered_in_english``, and ``sem_b_local`` counts without it.

Only questions that the code's rule keeps are judged; ``_paper`` metrics are over those the paper's rule keeps too.
``_reference`` metrics are what the released code computes, on Kapwa's languages: see
:meth:`kapwa.metrics.matching.Matcher.reference_match`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from kapwa.records import ITEM_COLUMNS, SCORE_COLUMNS, Answer, Item, Outcome
from kapwa.suites.base import Judged
from kapwa.suites.blend.confusion import confusion_table
from kapwa.suites.blend.judge import Judge, judge_agreement
from kapwa.suites.blend.questions import AnswerGroup, answers_line, top_votes
from kapwa.suites.blend.saq_floors import floors_left_out
from kapwa.suites.blend.saq_grading import Graded, grade, is_comparable, local_asked
from kapwa.suites.blend.saq_keys import key_table
from kapwa.suites.blend.saq_match import AnswerMatcher, QuestionsOfAllCountries
from kapwa.suites.blend.saq_options import SEM_B, SaqOptions, saq_metrics
from kapwa.suites.items import ABOUT_ANSWER, SCORE_SCHEMA, about_answer, item_columns, score_frame, worst_first
from kapwa.suites.similarity import ComparedText, similarity_rows
from kapwa.value_types import Cells, Schema

ANSWER_SCHEMA: Schema = {
    **{"item_id": pl.String, "variant": pl.String, "culture": pl.String, "sample": pl.Int64, "text": pl.String},
    **{"judged_text": pl.String, "n_answers": pl.Int64, "too_many": pl.Boolean},
    **{"refused": pl.Boolean, "outcome": pl.String, "matched_group": pl.Int64, "matched_answer": pl.String},
    **{"matched_language": pl.String, "rule": pl.String, "votes": pl.Int64, "top_votes": pl.Int64},
    **{"weight_reference": pl.Float64, "language_asked": pl.String, "language_answered": pl.String},
    **{"language_confidence": pl.Float64, "truncated": pl.Boolean},
    **ABOUT_ANSWER,
}
Judgement = tuple[float | None, Outcome]


def judge_saq(
    items: Sequence[Item],
    answers: Collection[Answer],
    options: SaqOptions,
    *,
    all_questions: QuestionsOfAllCountries,
    answer_matcher: AnswerMatcher,
    judge: Judge | None = None,
    tools: pl.DataFrame | None = None,
) -> Judged:
    """Judge replies: one score row per item, sample and metric of :func:`kapwa.suites.blend.saq_options.saq_metrics`.

    ``all_questions``: with what other countries answered, for the guard against unseparated lists and the confusions.
    A reply that is empty, declined or unreadable scores 0 with that outcome; failed and missing replies have null
    values. Tables: ``answers`` (one row a reply, with the group, answer and rule that matched), ``cases`` (the worst
    reply of each item), ``confusion``, ``keys`` (:mod:`kapwa.suites.blend.saq_keys`), ``judge_agreement`` (with
    ``judge``, which adds its verdicts to ``answers`` and the metric ``sem_b_judge``), and ``tools`` as they are.
    Raises UsageError for answers to unknown items and for two answers to one request.
    """
    graded = grade(items, answers, options, all_questions, answer_matcher)
    judged = judge.verdicts(graded) if judge is not None else None
    verdicts = judged.values if judged is not None else None
    scores = score_table(graded, verdicts)
    if options.metrics:
        compared = [ComparedText(reply.item, reply.sample, reply.text, _references(reply.item)) for reply in graded]
        scores = pl.concat([scores, score_frame(similarity_rows(options, compared))])
    rows = [_answer_row(reply) for reply in graded]
    tables = {
        "answers": pl.DataFrame(rows, schema=ANSWER_SCHEMA, orient="row"),
        "cases": worst_first(_case(reply) for reply in graded if reply.text is not None),
        "confusion": confusion_table(graded, all_questions, answer_matcher),
        "keys": key_table(graded),
    }
    if verdicts is not None:
        tables["answers"] = tables["answers"].with_columns(pl.Series("judged_right", verdicts, dtype=pl.Boolean))
        tables["judge_agreement"] = judge_agreement(graded, verdicts)
    if tools is not None:
        tables["tools"] = tools
    warnings = [judged.warning] if judged is not None and judged.warning else []
    return Judged(scores, tables, floors_left_out(items, all_questions, options.max_answers), warnings)


def _references(item: Item) -> list[str]:
    """People's answers in the languages that the item may be answered in."""
    groups: Sequence[AnswerGroup] = item.fields["answers"]
    english = [text for group in groups for text in group.en]
    if item.fields["asked_in"] == "en" and english:
        return english
    return [*(text for group in groups for text in group.local), *english]


def score_table(graded: Sequence[Graded], verdicts: Sequence[bool | None] | None = None) -> pl.DataFrame:
    """Return the score rows of all replies: metric by metric, replies in order within each.

    ``verdicts``: a judging model's, for ``sem_b_judge``. Made by columns: hundreds of thousands of rows as dictionaries
    would take most of the time and memory of judging.
    """
    schema = {name: SCORE_SCHEMA[name] for name in (*ITEM_COLUMNS, "sample")}
    rows = [(*item_columns(reply.item).values(), reply.sample) for reply in graded]
    shared = pl.DataFrame(rows, schema=schema, orient="row")
    judged = [_judgements(reply) for reply in graded]
    for reply, verdict, judgements in zip(graded, verdicts or (), judged, strict=False):
        judgements["sem_b_judge"] = _verdict(reply, verdict)
    return pl.concat([_metric_rows(shared, judged, name) for name in saq_metrics(judged=verdicts is not None)])


def _metric_rows(shared: pl.DataFrame, judged: Sequence[dict[str, Judgement]], metric: str) -> pl.DataFrame:
    """The rows of one metric: of the replies that it measures."""
    scored = [index for index, judgements in enumerate(judged) if metric in judgements]
    rows = shared[scored].with_columns(
        pl.lit(metric).alias("metric"),
        pl.Series("value", [judged[index][metric][0] for index in scored], dtype=pl.Float64),
        pl.Series("outcome", [judged[index][metric][1] for index in scored], dtype=pl.String),
        pl.lit(None, pl.String).alias("state"),
    )
    return rows.select(SCORE_COLUMNS)


def _judgements(graded: Graded) -> dict[str, Judgement]:
    """Value and outcome of a reply by every metric that measures it; the item's own language alone has two more."""
    outcome, fields = graded.outcome, graded.item.fields
    weighed: Outcome = "scored" if outcome in ("right", "wrong") else outcome
    first: Outcome = "wrong" if outcome == "right" and not graded.first else outcome
    judged: dict[str, Judgement] = {
        "sem_b": (float(graded.hit is not None), outcome),
        "sem_b_first": (float(graded.first), first),
        "sem_b_reference": (float(graded.reference > 0), "right" if graded.reference > 0 else "wrong"),
        "too_many": (float(graded.reply.too_many), "scored"),
        "refused": (float(outcome == "refused"), "scored"),
        "empty": (float(outcome == "empty"), "scored"),
    }
    if fields["counted"]:  # nobody's votes give no weight
        judged["sem_b_loo"] = graded.leave_one_out_share, weighed
        judged["sem_w"] = graded.weight, weighed
        judged["sem_w_reference"] = graded.reference, "scored"
    if local_asked(graded.item):
        local: Outcome = "wrong" if outcome == "right" and not graded.local else outcome
        judged["sem_b_local"] = float(bool(graded.local)), local
        judged["answered_in_english"] = float(graded.hit is not None and not graded.local), "scored"
    if fields["valid_paper"]:
        judged |= {f"{name}_paper": judged[name] for name in ("sem_b", "sem_w") if name in judged}
    return dict.fromkeys(judged, (None, outcome)) if graded.text is None else judged


def _verdict(graded: Graded, verdict: bool | None) -> Judgement:
    """A judge's verdict on a reply; a reply without anything to judge keeps the matcher's outcome."""
    if graded.text is None:
        return None, graded.outcome
    if not is_comparable(graded):
        return 0.0, graded.outcome
    return (None, "unparsed") if verdict is None else (float(verdict), "right" if verdict else "wrong")


def _answer_row(graded: Graded) -> tuple[Any, ...]:
    """A reply: its text, what of it was judged, and what matched by which rule."""
    item, response, hit, reply = graded.item, graded.response, graded.hit, graded.reply
    answered = graded.text is not None
    return (
        *(item.id, item.variant, item.culture, graded.sample, graded.text),
        reply.text if reply.status == "answered" else None,
        *((len(reply.answers), reply.too_many, graded.declined) if answered else (None,) * 3),
        graded.outcome,
        *((hit.group, hit.answer, hit.language, hit.rule, hit.votes) if hit else (None,) * 5),
        top_votes(item.fields["answers"]),
        graded.reference if answered else None,
        *(item.language, *graded.identified),
        response.state == "unfinished" if response and response.state != "unknown" else None,
        *about_answer(response).values(),
    )


def _case(graded: Graded) -> Cells:
    """A row of the case table; the margin of a right reply is its SEM-W, that of a wrong one below 0.

    To miss what everybody says is worse than to miss what people differ on: of a wrong reply it is less the share of
    votes that the commonest answer has.
    """
    fields, english = graded.item.fields, answers_line(graded.item.fields["answers"], english=True)
    texts = {"prompt": fields["question"], "expected": english}
    if graded.item.language != "en":
        texts |= {"prompt_gloss": fields["question_en"]}
        texts |= {"expected": answers_line(fields["answers"]), "expected_gloss": english}
    groups: Sequence[AnswerGroup] = fields["answers"]
    margin = graded.weight if graded.hit is not None else -top_votes(groups) / sum(group.votes for group in groups)
    return {**item_columns(graded.item), "metric": SEM_B, "margin": margin, **texts, "got": graded.text}
