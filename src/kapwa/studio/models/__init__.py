"""The tables: people apart, the append-only log of events, and the current tables made from it.

A current table has no key but texts that come from events, so that it can be made again and compared.
"""

from __future__ import annotations

from kapwa.studio.models.answers import Answer, Merging
from kapwa.studio.models.everyday import Question, Wording
from kapwa.studio.models.foundation import (
    ID,
    ConsentText,
    Current,
    Event,
    Invitation,
    Lease,
    Membership,
    Person,
    Project,
    TracesDue,
    WrongCode,
    current_tables,
    new_author,
)
from kapwa.studio.models.interface import InterfaceText
from kapwa.studio.models.prompts import PromptPart
from kapwa.studio.models.ratings import Drawn, Judgement, TaskSet
from kapwa.studio.models.situations import Elicited, Release, Remark, Revision, Session, Situation, Topic, Vote

__all__ = (
    "ID",
    "Answer",
    "ConsentText",
    "Current",
    "Drawn",
    "Elicited",
    "Event",
    "InterfaceText",
    "Invitation",
    "Judgement",
    "Lease",
    "Membership",
    "Merging",
    "Person",
    "Project",
    "PromptPart",
    "Question",
    "Release",
    "Remark",
    "Revision",
    "Session",
    "Situation",
    "TaskSet",
    "Topic",
    "TracesDue",
    "Vote",
    "Wording",
    "WrongCode",
    "current_tables",
    "new_author",
)
