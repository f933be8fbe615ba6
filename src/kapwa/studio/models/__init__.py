"""The tables: people apart, the append-only log of events, and the current tables made from it.

A current table has no key but texts that come from events, so that it can be made again and compared.
"""

from kapwa.studio.models.everyday import Answer, Decision, Question, Wording
from kapwa.studio.models.foundation import (
    ID,
    ConsentText,
    Current,
    Event,
    InterfaceText,
    Invitation,
    Lease,
    Membership,
    Person,
    Project,
    TracesDue,
    WrongCode,
    new_author,
)
from kapwa.studio.models.prompts import PromptPart
from kapwa.studio.models.ratings import Drawn, Judgement, TaskSet
from kapwa.studio.models.situations import Elicited, Release, Revision, Situation, Topic, Vote
