"""Releases of prompts across cultures (EECC): templates, concepts and identities in the perturbation form."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from kapwa.datasets.withdrawn import withdrawn_hash
from kapwa.studio.core.release import Items, Lack, Published, ReleaseForm, public_salt
from kapwa.studio.core.tables import APPROVED, Event, Release
from kapwa.studio.prompts.events import CONCEPT, IDENTITY, PLURALS, parts_of
from kapwa.studio.prompts.tables import PromptPart
from kapwa.value_types import JsonMapping, JsonObject

_OWN = ("notes", "source")  # the writers' own; never released


class PromptRelease(ReleaseForm):
    """Parts of prompts that are in use; of each the event that its text came by, and the hash of its name."""

    about = "Prompts that ask for the same texts for different people: {culture}."
    remedy = gettext_noop("Write some, and let others agree to them.")
    mechanism = "Kapwa Studio: lists of concepts, identities and templates."
    collected = "Written in Kapwa Studio; two others agreed to each template and identity."
    files = tuple(f"{plural}.jsonl" for plural in PLURALS.values())
    model = PromptPart
    describing: ClassVar[frozenset[str]] = frozenset()

    def items(self, unwilling: Collection[str]) -> JsonObject:
        """Return the text of each part; the hash says that it was withdrawn when its name is erased."""
        salt, items = public_salt(self.project), {}
        for part in parts_of(self.project):
            if not unwilling or set(unwilling).isdisjoint(part.authors):
                if part.state == APPROVED:  # "concept/salt" is how a list of withdrawn items names a row
                    items[part.id] = [part.text_event, withdrawn_hash(salt, f"{part.role}/{part.name}")]
                elif self.last is not None and part.id in self.last.items:
                    items[part.id] = self.last.items[part.id]
        return items

    def lacks(self) -> list[Lack]:
        """Return of which parts there is none that people agreed to."""
        there = {part.role for part in parts_of(self.project) if part.state == APPROVED}
        lacks = []
        for role, plural in PLURALS.items():
            if role not in there:
                written = role != CONCEPT and any(part.role == role for part in parts_of(self.project))
                who = _("two other people who agree") if written else _("writers")
                lacks.append(Lack(_(plural.capitalize()), "prompt_parts", who, (role,)))
        return lacks

    def ready(self) -> set[str]:
        """Return the parts in use to which people agreed since the newest release."""
        agreed = [part for part in parts_of(self.project) if part.state == APPROVED]
        last = {text for text, _hash in self.last.items.values()} if self.last else set()
        return {part.id for part in agreed if part.text_event not in last}

    def held(self, unwilling: Collection[str]) -> set[str]:
        """Return the parts in use that hold words of the authors ``unwilling``."""
        return {part.id for part in parts_of(self.project) if not set(unwilling).isdisjoint(part.authors)}

    def decided_against(self, items: Items) -> dict[str, list[str]]:
        """Return, by part, the events that changed a text to which people had agreed."""
        texts = {text: pk for pk, (text, _hash) in items.items()}
        changes = Event.objects.filter(uuid__in=list(texts), erased=False, body__has_key="against").order_by("seq")
        return {texts[str(event.uuid)]: [str(event.uuid)] for event in changes}

    def published(self, items: Items, facts: JsonMapping) -> list[Published]:
        """Return a row for each part; concepts may be private, templates and identities are in every part."""
        events = Event.objects.filter(uuid__in=[text for text, _hash in items.values()], erased=False)
        texts = {str(event.uuid): event.body["fields"] for event in events}
        parts = [part for part in PromptPart.objects.filter(id__in=list(items)) if items[part.id][0] in texts]
        published = []
        for role, file in zip(PLURALS, self.files, strict=True):
            mine = [(part.id, items[part.id][0]) for part in parts if part.role == role]
            # Every row has the same columns, as tables have.
            names = dict.fromkeys(name for _, text in mine for name in texts[text] if name not in _OWN)
            for pk, text in mine:
                row = {facts["attribute"] if n == IDENTITY else n: texts[text].get(n, "") for n in names}
                published.append(Published(pk, pk, text, pk if role == CONCEPT else "", {file: [row]}))
        return published

    def facts(self, items: Items) -> JsonObject:
        """Return what identities are, which names their column."""
        return {"attribute": self.project.attribute}

    def withdrawn(self, release: Release) -> set[str]:
        """Return the hashes of names that earlier releases had, whose text is erased, and that this one has not."""
        befores = Release.objects.filter(project=self.project, seq__lt=release.seq)
        texts = {text: digest for before in befores for text, digest in before.items.values()}
        erased = Event.objects.filter(uuid__in=list(texts), erased=True).values_list("uuid", flat=True)
        return {texts[str(uuid)] for uuid in erased} - {digest for _text, digest in release.items.values()}
