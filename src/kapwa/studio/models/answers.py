"""The current tables of answers to everyday questions (BLEnD), and of what people decided on which mean the same."""

from __future__ import annotations

from django.db import models

from kapwa.studio.models.foundation import ID, Current
from kapwa.suites.blend.questions import IDK_KEYS

# How somebody finished: with answers, or without any for one of the answer form's reasons.
ANSWERED = "answered"
UNKNOWN, NO_ANSWER, NOT_APPLICABLE = IDK_KEYS
OUTCOMES = (ANSWERED, UNKNOWN, NOT_APPLICABLE, NO_ANSWER)


class Answer(Current):
    """What one person answered to one question in one language; their last answer is the one there is.

    ``outcome``: one of OUTCOMES; only with ANSWERED there are ``texts``. ``depends``: what it depends
    on, in their words. ``question_revision`` and ``wording_revision``: of what they were shown.
    """

    question = models.CharField(max_length=ID, db_index=True)
    language = models.CharField(max_length=80)
    question_revision = models.PositiveIntegerField()
    wording_revision = models.PositiveIntegerField()
    outcome = models.CharField(max_length=16)
    texts = models.JSONField(default=list)
    depends = models.TextField(blank=True)
    author = models.CharField(max_length=16, blank=True)


class Merging(Current):
    """What was decided on the answers to a question in a language, in order; its id is ``QUESTION:LANGUAGE``.

    ``decisions``: bodies of events with their ``id``, ``kind`` and ``author``, but those that were undone. They name
    answers by keys, never by their words, so that these can be erased.
    """

    question = models.CharField(max_length=ID, db_index=True)
    language = models.CharField(max_length=80)
    decisions = models.JSONField(default=list)
