"""What people did at a desk, as signals are made of it: in their own words at one desk, by choices at the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import product
from math import inf
from typing import Any

from kapwa.studio.core.desks import DESKS
from kapwa.studio.core.tables import Event, Project
from kapwa.studio.questions.events import PROMPT
from kapwa.studio.questions.merging import Merged, merged_answers
from kapwa.studio.questions.suggesting import matcher_of
from kapwa.studio.questions.tables import DESK, Answer, Wording
from kapwa.studio.ratings.drawing import BASELINE, PAIRS, YES_OR_NO
from kapwa.studio.ratings.tables import Judgement


@dataclass(slots=True)
class Material:
    """``answers``: by item and author, those that mean the same in the same words; ``options``: among how many.

    By author: ``checks`` (whether each check question was answered rightly), ``repeats`` (whether a second answer meant
    the same), ``words`` (what they wrote, by item), ``moments`` (when they finished a task, by their device or else by
    the studio), and ``rows`` for whoever reads them: what was asked, the answer, and whether it was right or the same.
    """

    options: float = inf
    answers: dict[str, dict[str, str]] = field(default_factory=partial(defaultdict, dict))
    checks: dict[str, list[bool]] = field(default_factory=partial(defaultdict, list))
    repeats: dict[str, list[bool]] = field(default_factory=partial(defaultdict, list))
    words: dict[str, dict[str, str]] = field(default_factory=partial(defaultdict, dict))
    moments: dict[str, list[datetime]] = field(default_factory=partial(defaultdict, list))
    rows: dict[str, list[tuple[Any, Any, bool | None]]] = field(default_factory=partial(defaultdict, list))


def material(project: Project, desk: str) -> Material:
    """Return what people did at a desk; answers to former texts of a question are not among it."""
    made = Material()
    if desk == DESK:
        wordings = Wording.objects.filter(project=project).exclude(question__kind=PROMPT)
        for merged in merged_answers(project, wordings):
            _add_answers(made, merged)
    else:
        _add_judgements(made, project, desk)
    events = Event.objects.filter(project=project, kind=DESKS[desk].kind, erased=False, actor__in=list(made.rows))
    for actor, by_device, by_studio in events.values_list("actor", "device_time", "server_time"):
        made.moments[actor].append(by_device or by_studio)
    return made


def _means(texts: Iterable[str], accepted: Collection[str], wording: Wording) -> bool:
    """Whether one of ``texts`` gives one of ``accepted``, by the rules by which replies of models are read."""
    match, kind = matcher_of(wording.language).match, wording.question.kind
    return any(match(text, right, kind) for text, right in product(texts, accepted))


def _add_answers(made: Material, merged: Merged) -> None:
    wording, accepted = merged.wording, merged.wording.question.accepted.get(merged.wording.language, ())
    for answer in merged.counted:
        right = None
        if wording.is_check:
            right = _means(answer.texts, accepted, wording)
            made.checks[answer.author].append(right)
        elif answer.again:
            right = _same(answer, merged)
            made.repeats[answer.author].append(right)
        made.rows[answer.author].append((wording, answer, right))
        if answer.texts:
            made.words[answer.author][wording.id] = answer.texts[0].casefold()
    if not wording.is_check:
        made.answers[wording.id] = merged.first


def _same(answer: Answer, merged: Merged) -> bool:
    """Whether somebody said the same when asked again: none for the same reason, or an answer of the same group."""
    outcome, *texts = answer.again
    groups = [group for group in merged.groups if answer.author in group.people]
    alike = [text for group in groups for text in group.texts.values()]
    return outcome == answer.outcome and (not texts or _means(texts, alike, merged.wording))


def _add_judgements(made: Material, project: Project, desk: str) -> None:
    made.options = 2.0 if desk in YES_OR_NO else 4.0 if desk == PAIRS else inf
    judgements = Judgement.objects.filter(project=project, drawn__set__kind=desk).exclude(author="")
    for judgement in judgements.select_related("drawn"):
        if desk == BASELINE:
            made.options = min(made.options, float(len(judgement.drawn.texts)))
        for name, value in judgement.values.items():
            if value != "":
                made.answers[f"{judgement.drawn_id}/{name}"][judgement.author] = str(value)
        made.rows[judgement.author].append((judgement.drawn, judgement, None))
