"""The texts of a situation as one flat set of fields, so that forms, differences and erasure work field by field.

``relevant_1`` to ``relevant_6`` and ``irrelevant_1`` to ``irrelevant_6`` are responses, ``best`` the number of the best
relevant one; a name ending in ``_en`` is the gloss of the field before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.utils.translation import gettext as _

from kapwa.records import Item
from kapwa.suites.kalahi.form import PARTS, PARTS_OF, RESPONSES
from kapwa.value_types import Cells

SLOTS = 6
GLOSS = "_en"
GROUPS = {group: tuple(f"{group}_{slot}" for slot in range(1, SLOTS + 1)) for group in RESPONSES}
TEXT_FIELDS = (*PARTS, *GROUPS["relevant"], *GROUPS["irrelevant"])
# Topic and category, and the writers' own source and notes, which are never released, are neither text nor key.
_DESCRIBING = ("topic", "category", "source", "notes")
FIELDS = ("language", "best", *TEXT_FIELDS, *(name + GLOSS for name in TEXT_FIELDS), *_DESCRIBING)

# What :func:`words` makes of the name of any field.
NAMED_FIELDS = ("language", "best", *PARTS, *RESPONSES, *_DESCRIBING)

Fields = Mapping[str, str]


def changes(before: Fields, after: Fields) -> dict[str, str]:
    """Return the fields in which ``after`` differs, with "" for those that are gone."""
    return {name: after.get(name, "") for name in FIELDS if before.get(name, "") != after.get(name, "")}


def changed(before: Fields, difference: Fields) -> dict[str, str]:
    """Return ``before`` with :func:`changes` made."""
    return {name: text for name, text in {**before, **difference}.items() if text}


def responses(fields: Fields, group: str) -> tuple[str, ...]:
    """Return the filled responses of "relevant" or "irrelevant"."""
    return tuple(fields[name] for name in GROUPS[group] if fields.get(name))


def words(name: str) -> str:
    """Return a field's name as people read it."""
    stem, _under, number = name.removesuffix(GLOSS).rpartition("_")
    if not number.isdecimal():
        stem, number = name.removesuffix(GLOSS), ""
    plain = f"{_(stem.replace('_', ' '))} {number}".strip()
    return _("%(field)s (translation)") % {"field": plain} if name.endswith(GLOSS) else plain


def texts(fields: Fields, names: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return the names of fields with their texts and glosses ("" for none)."""
    return [(name, fields.get(name, ""), fields.get(name + GLOSS, "")) for name in names]


def best_response(fields: Fields) -> str:
    """Return the text of the best response, "" where none is chosen."""
    return fields.get(f"relevant_{fields.get('best', '')}", "")


def prompts(fields: Fields) -> dict[str, str]:
    """Return the prompt of each enrichment variant, as a run would ask it."""
    return {
        variant: "\n".join(fields[name] for name in PARTS if name in parts and fields.get(name))
        for variant, parts in PARTS_OF.items()
    }


def as_row(fields: Fields, item_id: str, cluster: str, *, culture: str, base: bool) -> Cells:
    """Return the row of ``situations.jsonl`` that stands for a situation; see the situation form."""
    row: Cells = {"id": item_id, "cluster": cluster, "culture": culture, "language": fields["language"]}
    row |= {name: fields.get(name, "") for name in ("category", "topic", *PARTS)}
    row |= {name + GLOSS: fields[name + GLOSS] for name in PARTS if fields.get(name) and fields.get(name + GLOSS)}
    row["best"] = best_response(fields)
    if fields.get(f"relevant_{fields['best']}{GLOSS}"):
        row["best" + GLOSS] = fields[f"relevant_{fields['best']}{GLOSS}"]
    for group, names in GROUPS.items():
        row[group] = list(responses(fields, group))
        glosses = [fields.get(name + GLOSS, "") for name in names if fields.get(name)]
        if glosses and all(glosses):
            row[group + GLOSS] = glosses
    return {**row, "base": base}


def as_item(fields: Fields, item_id: str, cluster: str, culture: str) -> Item:
    """Return a situation as the item of its full variant, for the figures that runs show beside scores."""
    parts = {"prompt": prompts(fields)["full"], "best": best_response(fields), "gloss": {}}
    parts |= {group: responses(fields, group) for group in GROUPS}
    return Item(
        id=item_id,
        suite="kalahi",
        culture=culture,
        language=fields.get("language", ""),
        category=fields.get("category", ""),
        topic=fields.get("topic", ""),
        variant="full",
        cluster=cluster,
        fields=parts,
    )
