"""Texts: those that people typed, tidied, compared and named by a key that tells nothing of them; lists of our own."""

from __future__ import annotations

import difflib
import hashlib
import unicodedata
from collections.abc import Iterable
from functools import reduce
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.files import table_rows
from kapwa.studio.core.tables import Project
from kapwa.tables import printable

LONGEST = 4000  # characters of one field
_LISTED = table_rows(Path(__file__).with_name("texts.csv"))


def listed(name: str) -> dict[str, str]:
    """Return the texts of a list of the studio by their keys, in English, which is what is translated."""
    return {row["key"]: row["text"] for row in _LISTED if row["list"] == name}


def tidy(text: str, longest: int = LONGEST) -> str:
    """Return a text that somebody typed without spaces around it, in Unicode normal form C and with plain line ends.

    Raises UsageError for one that is longer than ``longest`` characters.
    """
    clean = unicodedata.normalize("NFC", printable(text)).strip()
    if len(clean) > longest:
        sizes = {"n": f"{len(clean):,}", "most": f"{longest:,}"}
        raise UsageError(_("A text has %(n)s characters; it may have %(most)s.") % sizes, hint=_("Make it shorter."))
    return clean


def tidy_line(text: str, longest: int) -> str:
    """Return a name or title that somebody typed as :func:`tidy` does, on one line."""
    return " ".join(tidy(text, longest).split())


def key_of(project: Project, text: str) -> str:
    """Return a key of a text, such as an answer, that nobody can turn back into it without the project's secret."""
    return hashlib.blake2b(text.encode(), key=project.salt.encode(), digest_size=8).hexdigest()


# Words with "same", "gone" or "new".
Pieces = list[tuple[str, str]]


def pieces(before: str, after: str) -> Pieces:
    """Return how ``after`` came of ``before``, word by word."""
    old, new = before.split(), after.split()
    changes = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        parts = [("same", old[a:b])] if kind == "equal" else [("gone", old[a:b]), ("new", new[c:d])]
        changes += [(name, " ".join(words)) for name, words in parts if words]
    return changes


def joined(texts: Iterable[str]) -> str:
    """Return texts one after the other, with what stands between them in the reader's language, such as commas."""
    every = [*texts] or [""]
    return reduce(lambda before, text: _("%(before)s, %(next)s") % {"before": before, "next": text}, every)


def titled(question: Any) -> str:
    """Return what people call a question, or a prompt by which models are asked one."""
    name = _("Prompt %(n)s") if question.kind == "prompt" else _("Question %(n)s")
    return name % {"n": question.number}


def wording_state(state: str | None) -> str:
    """Return the state of a wording in plain words; "" is one that is not there."""
    states = {"approved": _("agreed"), "proposed": _("not agreed yet"), "outdated": _("outdated")}
    return states.get(state or "", _("no wording yet"))
