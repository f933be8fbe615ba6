"""All tables of the studio, where Django looks for them; each stands with the part of the studio that it is of."""

from __future__ import annotations

from kapwa.studio.core.aside import Aside
from kapwa.studio.core.comments import Comment
from kapwa.studio.core.notices import NewsRead, Notice
from kapwa.studio.core.tables import (
    APPROVED,
    ID,
    OUTDATED,
    PROPOSED,
    ConsentText,
    Current,
    Event,
    GroupLink,
    InterfaceText,
    Invitation,
    JoinRequest,
    Lease,
    Membership,
    PeopleCounted,
    Person,
    Project,
    Release,
    Term,
    Topic,
    TracesDue,
    WrongCode,
    new_author,
)
from kapwa.studio.prompts.tables import PromptPart
from kapwa.studio.questions.tables import (
    ANSWERED,
    NO_ANSWER,
    NOT_APPLICABLE,
    UNKNOWN,
    Answer,
    Decision,
    Question,
    Wording,
)
from kapwa.studio.ratings.tables import Drawn, Judgement, TaskSet
from kapwa.studio.situations.tables import Elicited, Revision, Situation, Vote
