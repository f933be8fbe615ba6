"""Who may do what: the roles of a project, and sets of them that pages name."""

from __future__ import annotations

COORDINATOR, WRITER, SCRIBE, REVIEWER = "coordinator", "writer", "scribe", "reviewer"
ANSWERER, TRANSLATOR, VALIDATOR, RATER = "answerer", "translator", "validator", "rater"
# Each role, and what the people who have it do.
ROLES = {
    COORDINATOR: "sets up the project, invites people, freezes releases",
    WRITER: "answers the questionnaire and writes situations",
    SCRIBE: "runs a focus group and writes down what it decided",
    REVIEWER: "reads, votes on and discusses situations of others",
    ANSWERER: "answers everyday questions",
    TRANSLATOR: "translates and localises",
    VALIDATOR: "answers finished items, as people's own score",
    RATER: "rates texts",
}
EVERYONE = frozenset(ROLES)
NOBODY: frozenset[str] = frozenset()
WRITERS = frozenset({COORDINATOR, WRITER, SCRIBE})
REVIEWERS = frozenset({REVIEWER, WRITER, SCRIBE})
MODERATORS = frozenset({COORDINATOR, SCRIBE})
READERS = WRITERS | REVIEWERS
COORDINATORS = frozenset({COORDINATOR})
