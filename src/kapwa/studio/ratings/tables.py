"""The current tables of ratings and the human baseline: what was drawn, and what people said of it."""

from __future__ import annotations

from django.db import models

from kapwa.studio.core.tables import ID, Authored, Current


class TaskSet(Current):
    """What was drawn for ``raters`` people each; ``runs``: label, signature and folder of each run drawn from."""

    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=20, db_index=True)
    seed = models.BigIntegerField(default=0)
    sample = models.PositiveIntegerField()
    raters = models.PositiveIntegerField()
    runs = models.JSONField(default=list)


class Drawn(Current):
    """One drawn thing. ``item``: its id, variant, culture, cluster and the like; ``shown``: [name, text, language].

    ``texts``: the answer to be rated, the two to be compared (in the order of the set's runs), or the options, the best
    first. ``situation``: the project's own that it is, and ``mark`` a keyed hash of it as it was drawn.
    """

    set = models.ForeignKey(TaskSet, models.CASCADE, related_name="drawn")
    number = models.PositiveIntegerField()
    item = models.JSONField(default=dict)
    shown = models.JSONField(default=list)
    texts = models.JSONField(default=list)
    situation = models.CharField(max_length=ID, blank=True)
    mark = models.CharField(max_length=64, blank=True)


class Judgement(Authored):
    """What one person said of one drawn thing, the last time they did; its id is ``DRAWN:AUTHOR``.

    ``order``: of the texts as they stood before the person; ``values``: yes, no or "" by criterion, or ``chosen``: the
    place in ``texts``, "tie", "bad" (both), or "" where they could not say.
    """

    drawn = models.ForeignKey(Drawn, models.CASCADE, related_name="judgements")
    order = models.JSONField(default=list)
    values = models.JSONField(default=dict)
    remark = models.TextField(blank=True)
