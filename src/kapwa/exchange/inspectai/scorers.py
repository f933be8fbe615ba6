"""Kapwa's scorers for Inspect: each hands the sample's answers to Kapwa's task, which judges them.

They find the item by the sample's metadata and read the answers from its output, so that they score a log again
(``inspect score LOG --scorer kapwa/kalahi_mc``) with neither the model nor its weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from statistics import fmean
from typing import Any

from inspect_ai.scorer import Metric, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from kapwa.exchange.inspectai.exchanged import answers_of
from kapwa.exchange.inspectai.metrics import group_mean, group_stderr, mean, stderr
from kapwa.exchange.inspectai.opened import Found, find, plainly
from kapwa.suites.base import Judged

_REASONS = {"unparsed": "invalid_response_format", "refused": "refusal", "empty": "no_response"}


def measures(
    headline: Sequence[str], binary: Sequence[str], other: Sequence[str] = (), grouped: Sequence[str] = ()
) -> dict[str, list[Metric]]:
    """Return what is said of each of a task's metrics, by name or pattern; the first pattern that fits counts.

    ``headline``: these come first. ``binary``: those of right and wrong. ``other``: those that a pattern of ``binary``
    would take for such and that are none. ``grouped``: those told by group too (none: the first of ``headline``).
    """
    said: dict[str, list[Metric]] = {}
    for name in headline:
        flag = any(fnmatchcase(name, pattern) for pattern in binary)
        said[name] = [mean(), stderr(binary=flag)]
        if name in (grouped or headline[:1]):
            said[name] += [group_mean(), group_stderr(binary=flag)]
    said |= {name: [mean(), stderr()] for name in other}
    said |= {name: [mean(), stderr(binary=True)] for name in binary if name not in headline}
    return {**said, "*": [mean(), stderr()]}


@scorer(metrics=measures(("mc1", "mc2"), ("mc1", "mc1_*"), ("mc1_shared",)))
def kalahi_mc(data: str | None = None) -> Scorer:
    """Judge log-probabilities as ``kalahi/mc`` does. ``data``: where the data are now, if they were moved."""
    return _judge("kalahi/mc", data)


@scorer(
    metrics=measures(
        ("chrfpp_acc", "chrfpp_diff"),
        ("*_acc", "*_acc_reference", "answered_other_language", "refused", "empty"),
    )
)
def kalahi_open(data: str | None = None) -> Scorer:
    """Judge texts as ``kalahi/open`` does. ``data``: where the data are now, if they were moved."""
    return _judge("kalahi/open", data)


@scorer(
    metrics=measures(
        ("sem_b", "sem_w"),
        ("sem_b", "sem_b_*", "answered_in_english", "too_many", "refused", "empty"),
    )
)
def blend_saq(data: str | None = None) -> Scorer:
    """Judge replies as ``blend/saq`` does. ``data``: where the data are now, if they were moved."""
    return _judge("blend/saq", data)


@scorer(metrics=measures(("mcq_acc", "mcq_text"), ("mcq_*",), grouped=("mcq_acc", "mcq_text")))
def blend_mcq(data: str | None = None) -> Scorer:
    """Judge letters or likelihoods as ``blend/mcq`` does. ``data``: where the data are now, if they were moved."""
    return _judge("blend/mcq", data)


@scorer(metrics=measures(("named", "words"), ()))
def eecc_qa(data: str | None = None) -> Scorer:
    """Describe texts as ``eecc/qa`` does. ``data``: where the data are now, if they were moved."""
    return _judge("eecc/qa", data)


@scorer(metrics=measures(("named", "words"), ()))
def eecc_stories(data: str | None = None) -> Scorer:
    """Describe texts as ``eecc/stories`` does. ``data``: where the data are now, if they were moved."""
    return _judge("eecc/stories", data)


def _judge(task: str, data: str | None) -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:  # noqa: ARG001 - Inspect's signature
        with plainly():
            found = find(state.metadata, data, task)
            requests = found.opened.requests(found.item)
            answers = answers_of(requests, state.output)
            if not answers or any(answer.response.failed for answer in answers):
                why = next((answer.response.error for answer in answers), "there is no answer to judge")
                return Score.unscored(reason="scoring_failed", explanation=why)
            judged = found.opened.task.score([found.item], answers)
        return _score(found, judged, state.output.completion)

    return score


def _score(found: Found, judged: Judged, said: str) -> Score:
    task = found.opened.task
    values: dict[str, list[float]] = {}
    outcomes: dict[str, str] = {}
    for metric, value, outcome in judged.scores.select("metric", "value", "outcome").iter_rows():
        outcomes.setdefault(metric, outcome)
        if value is not None:
            values.setdefault(metric, []).append(value)
    names = [*task.headline, *(name for name in task.metrics if name not in task.headline)]
    first = outcomes.get(task.headline[0], "failed")
    case = _case(judged)
    return Score(
        value={name: fmean(values[name]) if name in values else math.nan for name in names},
        answer=str(case.get("got") or said),
        explanation=_explanation(first, case),
        reason=_REASONS.get(first),
        metadata={"outcomes": outcomes},
    )


def _case(judged: Judged) -> Mapping[str, Any]:
    cases = judged.tables.get("cases")
    return {} if cases is None or not cases.height else cases.row(0, named=True)


def _explanation(outcome: str, case: Mapping[str, Any]) -> str:
    expected = case.get("expected")
    return f"{outcome}; expected: {expected}" if expected else outcome
