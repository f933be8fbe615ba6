"""Who may do what: the roles of a project, and sets of them that pages name."""

from __future__ import annotations

from pathlib import Path

from django.utils.translation import gettext_noop

from kapwa.files import table_rows

COORDINATOR, WRITER, SCRIBE = gettext_noop("coordinator"), gettext_noop("writer"), gettext_noop("scribe")
REVIEWER, ANSWERER, TRANSLATOR = gettext_noop("reviewer"), gettext_noop("answerer"), gettext_noop("translator")
VALIDATOR, RATER = gettext_noop("validator"), gettext_noop("rater")
# Each role, and what the people who have it do.
ROLES = {row["role"]: row["does"] for row in table_rows(Path(__file__).with_name("roles.csv"))}
EVERYONE = frozenset(ROLES)
NOBODY: frozenset[str] = frozenset()
WRITERS = frozenset({COORDINATOR, WRITER, SCRIBE})
REVIEWERS = frozenset({REVIEWER, WRITER, SCRIBE})
MODERATORS = frozenset({COORDINATOR, SCRIBE})
READERS = WRITERS | REVIEWERS
# Who writes what is in several languages, and who agrees to it.
WORDERS = WRITERS | {TRANSLATOR}
AGREERS = WORDERS | REVIEWERS
# Who decides which answers mean the same.
MERGERS = frozenset({COORDINATOR, SCRIBE, TRANSLATOR})
COORDINATORS = frozenset({COORDINATOR})
TRANSLATORS = frozenset({TRANSLATOR})
# Who says what they think of questions and their wordings, and who reads how those came to be.
AGREEING = REVIEWERS | TRANSLATORS
QUESTION_READERS = READERS | TRANSLATORS
# Who judges models' words, or chooses among responses: what runs say of these is not for them.
JUDGES = frozenset({VALIDATOR, RATER})
# Who words the interface itself.
INTERPRETERS = COORDINATORS | {TRANSLATOR}
