"""The current tables of everyday questions (BLEnD): questions, wordings, answers, and decisions on answers."""

from __future__ import annotations

from django.db import models

from kapwa.studio.core.agreeing import AgreedText
from kapwa.studio.core.tables import ID, Authored, Current
from kapwa.suites.blend.questions import IDK_KEYS

# The desk at which people answer.
DESK = "answers"
# How somebody finished: with answers, or without any for one of the answer form's reasons.
ANSWERED = "answered"


UNKNOWN, NO_ANSWER, NOT_APPLICABLE = IDK_KEYS


class Question(Authored):
    """A question about everyday life as it is now. ``revision`` grows with its text; wordings of older ones are old.

    ``text_event``: the event that its text came by; ``name``: its id in the table that it was imported from, else "".
    ``accepted``: by language, known answers that make it a check there: everybody is asked it, and no release has it.
    ``accepted_of``: the event of the text to which they were said.
    """

    number = models.PositiveIntegerField()
    name = models.CharField(max_length=200, blank=True)
    topic = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=16, default="text")
    text = models.TextField()
    language = models.CharField(max_length=80)
    revision = models.PositiveIntegerField(default=1)
    text_event = models.CharField(max_length=ID, blank=True)
    retired = models.BooleanField(default=False)
    accepted = models.JSONField(default=dict)
    accepted_of = models.CharField(max_length=ID, blank=True)


class Wording(AgreedText):
    """A question as it is asked in one language, its own included; its id is ``QUESTION:LANGUAGE``.

    ``revision``: a number that no other wording of the question in the language has or had. Only an approved one is
    asked or released. ``counted``: the revisions of question and wording to which answers count for it as it is now,
    ``people`` of them.
    """

    question = models.ForeignKey(Question, models.CASCADE, related_name="wordings")
    language = models.CharField(max_length=80)
    text = models.TextField()
    note = models.TextField(blank=True)
    revision = models.PositiveIntegerField(default=1)
    counted = models.JSONField(default=list)
    people = models.PositiveIntegerField(default=0)

    @property
    def is_check(self) -> bool:
        """Whether it has known answers, for checks: no release has it, and nobody merges its answers."""
        return self.language in self.question.accepted


class Answer(Current):
    """What one person answered to one question in one language; their last answer is the one there is.

    ``outcome``: ANSWERED, or one of IDK_KEYS and no ``texts``. ``depends``: what it depends on, in their words.
    ``question_revision`` and ``wording_revision``: of what they were shown. ``again``: outcome and texts of the same
    person to the same question asked a second time, which counts for nothing else.
    """

    question = models.CharField(max_length=ID, db_index=True)
    language = models.CharField(max_length=80)
    question_revision = models.PositiveIntegerField()
    wording_revision = models.PositiveIntegerField()
    outcome = models.CharField(max_length=16)
    texts = models.JSONField(default=list)
    depends = models.TextField(blank=True)
    again = models.JSONField(default=list)
    author = models.CharField(max_length=16, blank=True, db_index=True)

    @property
    def revisions(self) -> list[int]:
        """The revisions of question and wording that the person was shown."""
        return [self.question_revision, self.wording_revision]


class Decision(Authored):
    """What somebody decided on the answers to a wording, ``QUESTION:LANGUAGE``, and did not undo: an event of ``kind``.

    It names answers by keys, never by their words, so that these can be erased.
    """

    wording = models.CharField(max_length=80, db_index=True)
    kind = models.CharField(max_length=40)
    body = models.JSONField(default=dict)
