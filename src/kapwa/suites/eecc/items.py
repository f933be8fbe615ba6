"""Items: every template with every concept for every identity, concept by concept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from kapwa.records import Item
from kapwa.suites.base import Selection
from kapwa.suites.eecc import names as place_names
from kapwa.suites.eecc.parts import REFERENCE, Concept, Identity, PromptSet, Template, written_in
from kapwa.suites.selection import select

ITEM_TEXTS = ("prompt", "attribute", "country", "template")


def variants_of(prompts: PromptSet) -> tuple[str, ...]:
    """Return every variant the templates give, the first template's own first."""
    return tuple(variant for template in prompts.templates for variant in template.variants())


def build_items(prompts: PromptSet, selection: Selection) -> list[Item]:
    """Return the selected items; without named variants, those of the first template.

    Within a variant the identities of one concept follow one another, so that texts can be compared concept by
    concept. Ids are ``<topic>/<concept>/<identity>``; the cluster, which intervals are drawn over, is the concept.
    """
    known = variants_of(prompts)
    wanted = selection.variants or known[:1]
    identities = [_placed(identity, prompts.attribute) for identity in prompts.identities]
    items = [
        _item(prompts, template, concept, identity, variant)
        for template in prompts.templates
        for variant in template.variants()
        if variant in wanted
        for concept in prompts.concepts
        for identity in identities
    ]
    return select(items, selection, known=known, default=known[:1])


def _placed(identity: Identity, attribute: str) -> Identity:
    """Give an identity the country it means, where the data does not say and the name means only one."""
    place = None if identity.country else place_names.resolve(identity.name, attribute=attribute)
    return replace(identity, country=place.country) if isinstance(place, place_names.Place) else identity


def _item(prompts: PromptSet, template: Template, concept: Concept, identity: Identity, variant: str) -> Item:
    reference = variant.endswith(REFERENCE)
    return Item(
        id=f"{concept.topic}/{concept.name}/{identity.name}",
        suite="eecc",
        culture=identity.name,
        language=template.language,
        category=concept.topic,
        topic=concept.name,
        variant=variant,
        cluster=concept.name,
        fields={
            "prompt": template.render(concept, identity, reference=reference),
            "attribute": prompts.attribute,
            "country": identity.country,
            "template": template.name,
            "names": _names(identity, template.language),
        },
    )


def _names(identity: Identity, language: str) -> tuple[str, ...]:
    """The words that name the identity in a text: its own, and its country's."""
    found = (identity.name, written_in(identity, language), identity.country)
    return tuple(dict.fromkeys(name for name in found if name))


def item_rows(items: Sequence[Item]) -> Iterator[dict[str, Any]]:
    """Yield what readers of a report, and of the texts, need to know of each item."""
    for item in items:
        yield {
            "item_id": item.id,
            "variant": item.variant,
            "culture": item.culture,
            "language": item.language,
            "category": item.category,
            "topic": item.topic,
            "cluster": item.cluster,
            **{name: item.fields[name] for name in ITEM_TEXTS},
        }
