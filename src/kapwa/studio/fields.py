"""The texts of a situation as one flat set of fields, so that forms, differences and erasure work field by field.

``relevant_1`` to ``relevant_6`` and ``irrelevant_1`` to ``irrelevant_6`` are responses, ``best`` the number of the best
relevant one; a name ending in ``_en`` is the gloss of the field before it.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from kapwa.errors import UsageError
from kapwa.records import Item
from kapwa.studio.languages import checked_tag
from kapwa.suites.kalahi.form import PARTS, PARTS_OF, RESPONSES
from kapwa.tables_io import printable

SLOTS = 6
LONGEST = 4000  # characters of one field
GLOSS = "_en"
RESPONSE_FIELDS = tuple(f"{group}_{slot}" for group in RESPONSES for slot in range(1, SLOTS + 1))
TEXT_FIELDS = (*PARTS, *RESPONSE_FIELDS)
SETTING_FIELDS = ("language", "topic", "category", "best")
OWN_FIELDS = ("source", "notes")  # the writers' own; never released
FIELDS = (*SETTING_FIELDS, *TEXT_FIELDS, *(name + GLOSS for name in TEXT_FIELDS), *OWN_FIELDS)
# What changes the key or the text of an item, as opposed to how it is described.
_DESCRIBING = frozenset({"topic", "category", *OWN_FIELDS})

Fields = Mapping[str, str]


def tidy(text: str, longest: int = LONGEST) -> str:
    """Return a text that somebody typed without spaces around it, in Unicode normal form C and with plain line ends.

    Raises UsageError for one that is longer than ``longest`` characters.
    """
    clean = unicodedata.normalize("NFC", printable(text)).strip()
    if len(clean) > longest:
        raise UsageError(
            _("A text has %(n)s characters; at most %(most)s fit.") % {"n": f"{len(clean):,}", "most": f"{longest:,}"},
            hint=_("Make it shorter."),
        )
    return clean


def tidy_line(text: str, longest: int) -> str:
    """Return a name or title that somebody typed as :func:`tidy` does, on one line."""
    return " ".join(tidy(text, longest).split())


def read_fields(posted: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a posted form that are not empty."""
    fields = {name: tidy(posted.get(name, "")) for name in FIELDS}
    if fields["language"]:
        fields["language"] = checked_tag(fields["language"])
    if fields["best"] and fields["best"] not in {str(slot) for slot in range(1, SLOTS + 1)}:
        raise UsageError(
            _("“%(text)s” is no number of a response.") % {"text": fields["best"]},
            hint=_("Choose one of the relevant responses."),
        )
    return {name: text for name, text in fields.items() if text}


def changes(before: Fields, after: Fields) -> dict[str, str]:
    """Return the fields in which ``after`` differs, with "" for those that are gone."""
    return {name: after.get(name, "") for name in FIELDS if before.get(name, "") != after.get(name, "")}


def changed(before: Fields, difference: Fields) -> dict[str, str]:
    """Return ``before`` with :func:`changes` made."""
    return {name: text for name, text in {**before, **difference}.items() if text}


def responses(fields: Fields, group: str) -> list[tuple[str, str]]:
    """Return the filled responses of "relevant" or "irrelevant" with their glosses ("" for none)."""
    names = [f"{group}_{slot}" for slot in range(1, SLOTS + 1)]
    return [(fields[name], fields.get(name + GLOSS, "")) for name in names if fields.get(name)]


def best_response(fields: Fields) -> str:
    """Return the text of the best response, "" where none is chosen."""
    return fields.get(f"relevant_{fields.get('best', '')}", "")


def prompts(fields: Fields) -> dict[str, str]:
    """Return the prompt of each enrichment variant, as a run would ask it."""
    return {
        variant: "\n".join(fields[name] for name in PARTS if name in parts and fields.get(name))
        for variant, parts in PARTS_OF.items()
    }


def as_row(fields: Fields, item_id: str, cluster: str, *, culture: str, base: bool) -> dict[str, Any]:
    """Return the row of ``situations.jsonl`` that stands for a situation; see the situation form."""
    row: dict[str, Any] = {"id": item_id, "cluster": cluster, "culture": culture, "language": fields["language"]}
    row |= {name: fields.get(name, "") for name in ("category", "topic", *PARTS)}
    row |= {name + GLOSS: fields[name + GLOSS] for name in PARTS if fields.get(name) and fields.get(name + GLOSS)}
    row["best"] = best_response(fields)
    if fields.get(f"relevant_{fields['best']}{GLOSS}"):
        row["best" + GLOSS] = fields[f"relevant_{fields['best']}{GLOSS}"]
    for group in RESPONSES:
        found = responses(fields, group)
        row[group] = [text for text, _ in found]
        if found and all(gloss for _, gloss in found):
            row[group + GLOSS] = [gloss for _, gloss in found]
    return {**row, "base": base}


def as_item(fields: Fields, item_id: str, cluster: str, culture: str) -> Item:
    """Return a situation as the item of its full variant, for the figures that runs show beside scores."""
    texts = {group: tuple(text for text, _ in responses(fields, group)) for group in RESPONSES}
    own = {"prompt": prompts(fields)["full"], "best": best_response(fields), "gloss": {}, **texts}
    settings = (fields.get("language", ""), fields.get("category", ""), fields.get("topic", ""))
    return Item(item_id, "kalahi", culture, *settings, "full", cluster, own)


def key_text(fields: Fields) -> str:
    """Return what a release must keep the same unless it is a new major version: texts, responses and the key."""
    kept = {name: text for name, text in fields.items() if name not in _DESCRIBING}
    return json.dumps(kept, ensure_ascii=False, sort_keys=True)
