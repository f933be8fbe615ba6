"""Items: every template with every chosen concept for every chosen identity, concept by concept."""

from __future__ import annotations

from collections.abc import Sequence

from kapwa.errors import UsageError, nearest
from kapwa.languages import places as place_names
from kapwa.records import Item
from kapwa.suites.base import Selection
from kapwa.suites.eecc.data import Prompts, file_of, lines_of, read_identities
from kapwa.suites.eecc.form import REFERENCE, Concept, Identity, Template
from kapwa.suites.items import select

ALL = "all"


def choose_concepts(prompts: Prompts, wanted: Sequence[str] | None) -> None:
    """Keep the concepts named ("honesty", or "moral_values/honesty"), in the data's order; None or "all" keeps all.

    Capitals make no difference. One name that is a file stands for the names in it, one a line.
    Raises UsageError naming the nearest concept for one that the data does not hold.
    """
    if wanted is None or list(wanted) == [ALL]:
        return
    file = file_of(wanted)
    names = {name.casefold(): name for name in (wanted if file is None else lines_of(file))}
    if not names:
        raise UsageError("No concept is named.", hint="Name some, or leave the option out for all.")
    known = [{concept.name.casefold(), f"{concept.topic}/{concept.name}".casefold()} for concept in prompts.concepts]
    for folded, name in names.items():
        if not any(folded in names_of for names_of in known):
            hint = nearest(name, {concept.name for concept in prompts.concepts})
            raise UsageError(f"The data holds no concept {name!r}.", hint=hint)
    pairs = zip(prompts.concepts, known, strict=True)
    prompts.concepts = [concept for concept, names_of in pairs if names_of & set(names)]


def choose_identities(prompts: Prompts, wanted: Sequence[str] | None) -> None:
    """Keep the identities named, in the data's order; None or "all" keeps all.

    One name that is a file takes the place of the data's identities: one a line (.txt), or a table as in a pack, whose
    column is named after the attribute. Identities that the data holds keep what it says of them. The file becomes one
    of the data's files, so that their digest covers it.
    Raises UsageError for a name that the data does not hold, DataError for a file that is not of the form.
    """
    if wanted is None or list(wanted) == [ALL]:
        return
    file = file_of(wanted)
    if file is not None:
        attribute, listed = read_identities(file, prompts.attribute)
        known = {who.name: who for who in prompts.identities} if attribute == prompts.attribute else {}
        # The data may give what the file leaves out (a country, a spelling).
        prompts.identities = [known.get(who.name, who) if not (who.country or who.texts) else who for who in listed]
        prompts.attribute = attribute
        prompts.note_file(file, f"identities of {file.name}")
        return
    names = [who.name for who in prompts.identities]
    chosen = {name.casefold(): name for name in wanted}
    for folded, name in chosen.items():
        if folded not in {known.casefold() for known in names}:
            hint = f"{nearest(name, names)} Others: name a file that lists them."
            raise UsageError(f"The data holds no {prompts.attribute} {name!r}.", hint=hint)
    prompts.identities = [who for who in prompts.identities if who.name.casefold() in chosen]


def variants_of(prompts: Prompts) -> tuple[str, ...]:
    """Return every variant the templates give, the first template's own first."""
    return tuple(variant for template in prompts.templates for variant in template.variants())


def build_items(prompts: Prompts, selection: Selection) -> list[Item]:
    """Return the selected items; without named variants, those of the first template.

    Within a variant the identities of one concept follow one another, so that texts can be compared concept by
    concept. Ids are ``<topic>/<concept>/<identity>``; the cluster, which intervals are drawn over, is the concept.
    """
    known = variants_of(prompts)
    wanted = selection.variants or known[:1]
    # The country an identity means: as the data says, else by its name where that means only one.
    meant = [place_names.resolve(who.name, attribute=prompts.attribute) for who in prompts.identities]
    named = (place.country if isinstance(place, place_names.Place) else "" for place in meant)
    countries = [who.country or name for who, name in zip(prompts.identities, named, strict=True)]
    items = [
        _item(prompts, template, concept, identity, country, variant)
        for template in prompts.templates
        for variant in template.variants()
        if variant in wanted
        for concept in prompts.concepts
        for identity, country in zip(prompts.identities, countries, strict=True)
    ]
    return select(items, selection, known=known, default=known[:1])


def _item(
    prompts: Prompts, template: Template, concept: Concept, identity: Identity, country: str, variant: str
) -> Item:
    who = (identity.name, identity.written_in(template.language), country)
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
            "prompt": template.render(concept, identity, reference=variant.endswith(REFERENCE)),
            "attribute": prompts.attribute,
            "country": country,
            "template": template.name,
            # The words that name the identity in a text: its own, and its country's.
            "names": tuple(dict.fromkeys(name for name in who if name)),
        },
    )
