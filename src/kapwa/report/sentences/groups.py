"""Sentences on the scores of groups of items and the gains on ladders."""

from __future__ import annotations

from kapwa.report import wording
from kapwa.report.view.means import scores_by_system
from kapwa.report.view.reference_scores import is_unranked
from kapwa.report.view.tasks import TaskView
from kapwa.suites.base import LEADING


def group_sentences(view: TaskView) -> list[str]:
    """Return a sentence for each system and metric of groups and ladders; [] for items that form none."""
    names = [name for name in view.headline if name.startswith(LEADING)]
    sentences = []
    for label, estimates in scores_by_system([(view, name) for name in names]).items():
        for name, row in zip(names, estimates, strict=True):
            if row is None or not wording.known(row["value"]) or is_unranked(row):
                continue
            info, base = view.metrics[name], view.marks(view.only_culture, name, run=row["run"]).baseline
            value, between = wording.amount(row["value"], info), wording.interval(row["low"], row["high"], info)
            if not wording.is_share(info):
                value = f"{wording.change(row['value'], wording.SHARE)} points"
                between = wording.change_interval(row["low"], row["high"], wording.SHARE)
            ends = "95% interval " * wording.known(row["low"]) + between
            guess = f"; {base.words} would give {wording.amount(base.value, info)}" if base else ""
            sentences.append(f"{view.titles[name]}: {wording.isolate(label)} {value} ({ends}){guess}.")
    return sentences
