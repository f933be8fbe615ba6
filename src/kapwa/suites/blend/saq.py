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

import polars as pl

from kapwa.records import Answer, Item
from kapwa.suites.base import Judged
from kapwa.suites.blend.confusion import confusion_table
from kapwa.suites.blend.judge import Judge, judge_agreement, judge_replies
from kapwa.suites.blend.others import Others
from kapwa.suites.blend.saq_grading import grade
from kapwa.suites.blend.saq_match import Grader
from kapwa.suites.blend.saq_metrics import SaqOptions
from kapwa.suites.blend.saq_tables import answer_table, case_table, judge_table, score_table


def judge_saq(
    items: Sequence[Item],
    answers: Collection[Answer],
    options: SaqOptions | None = None,
    *,
    others: Others | None = None,
    grader: Grader | None = None,
    judge: Judge | None = None,
) -> Judged:
    """Judge replies: one score row per item, sample and metric of :func:`kapwa.suites.blend.saq_metrics.saq_metrics`.

    ``others``: what other countries answered, for the guard against unseparated lists and for the confusion table;
    without it the guard knows the item's own answers only. A reply that is empty, declined or unreadable scores 0
    with that outcome; failed and missing replies have null values. Tables: ``answers`` (one row a reply, with the
    group, answer and rule that matched), ``cases`` (the worst reply of each item), ``confusion`` (with ``others``),
    ``judge_agreement`` (with ``judge``, which adds its verdicts to ``answers`` and the metric ``sem_b_judge``).
    Raises UsageError for answers to unknown items and for two answers to one request.
    """
    grader = grader or Grader()
    graded = grade(items, answers, options or SaqOptions(), others or Others(()), grader)
    scores = score_table(graded)
    tables = {"answers": answer_table(graded), "cases": case_table(graded)}
    if others is not None:
        tables["confusion"] = confusion_table(graded, others, grader)
    if judge is not None:
        verdicts = judge_replies(judge, graded)
        scores = pl.concat([scores, judge_table(graded, verdicts)])
        tables["answers"] = tables["answers"].with_columns(pl.Series("judged_right", verdicts, dtype=pl.Boolean))
        tables["judge_agreement"] = judge_agreement(graded, verdicts)
    return Judged(scores, tables)
