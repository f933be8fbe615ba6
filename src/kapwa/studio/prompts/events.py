"""What happens to prompts across cultures (EECC): concepts, identities and templates are added, revised, agreed to.

The three go the same way, but that a concept is used at once, and a template or identity when two people other than
its author agree to it. A text knows the one that it was made of, so that it goes with it at an erasure.
"""

from __future__ import annotations

from django.utils.translation import gettext as _

from kapwa.studio.core.comments import say
from kapwa.studio.core.kinds import RefusedError, common, kind, row_or_refused
from kapwa.studio.core.notices import tell
from kapwa.studio.core.reading import once_a_page
from kapwa.studio.core.tables import APPROVED, PROPOSED, Event, Project, change
from kapwa.studio.prompts.tables import PromptPart

CONCEPT, IDENTITY, TEMPLATE = "concept", "identity", "template"
# The column of the form that names each.
NAMES = {CONCEPT: "concept", IDENTITY: "identity", TEMPLATE: "name"}
PLURALS = {CONCEPT: "concepts", IDENTITY: "identities", TEMPLATE: "templates"}
ROLES = tuple(PLURALS)


@once_a_page
def parts_of(project: Project) -> list[PromptPart]:
    """Return the concepts, identities and templates in use, in the order in which they came."""
    return list(PromptPart.objects.filter(project=project, retired=False).order_by("seq"))


def _part(event: Event) -> PromptPart:
    role = event.kind.partition(".")[0]
    return row_or_refused(PromptPart, event, _("This no longer exists."), role=role, retired=False)


def _write(part: PromptPart, event: Event, *, live: bool) -> None:
    """Set the text; who agreed to the one before did not agree to this one."""
    fields = event.body["fields"]
    others = PromptPart.objects.filter(project_id=event.project_id, role=part.role, retired=False).exclude(id=part.id)
    part.name = fields[NAMES[part.role]]
    same = [other for other in others.filter(name=part.name) if other.fields.get("topic") == fields.get("topic")]
    if live and same:
        message = _("“%(text)s” already exists.") % {"text": part.name}
        raise RefusedError(message, hint=_("Change that one, or choose another name."))
    part.fields, part.text_event, part.author, part.agreed = fields, str(event.uuid), event.actor, []
    part.refused = []
    part.authors = list(dict.fromkeys([*part.authors, event.actor]))
    part.state = APPROVED if part.role == CONCEPT else PROPOSED
    part.save()


@kind(*(f"{role}.added" for role in ROLES))
def added(event: Event, *, live: bool) -> None:
    """Body: ``fields``, the columns of a row of the perturbation form."""
    _write(PromptPart(**common(event), role=event.kind.partition(".")[0]), event, live=live)


@kind(*(f"{role}.revised" for role in ROLES), remarks=("reason",))
def revised(event: Event, *, live: bool) -> None:
    """Body: ``fields``, and ``base``, the event of the text that was seen.

    Where people had agreed to the text before, it has ``against``, how many, and a ``reason``.
    """
    part = _part(event)
    if live and event.body["base"] != part.text_event:
        raise RefusedError(_("Somebody else has changed this."), hint=_("Open it again: your text is below."))
    if live and event.body["fields"] == part.fields:
        raise RefusedError(_("The text is the same as before."), hint=_("Change something, then save."))
    if live:
        part.refuse_change(event)
    _write(part, event, live=live)


@kind(f"{IDENTITY}.agreed", f"{TEMPLATE}.agreed")
@kind(f"{IDENTITY}.refused", f"{TEMPLATE}.refused", remarks=("reason",))
def judged(event: Event, *, live: bool) -> None:
    """Body: ``text``, the event of the text that was seen. A refusal has a ``reason``, too; the last word counts."""
    part, agrees = _part(event), event.kind.endswith(".agreed")
    part.judge(event, event.body["text"], live=live, agrees=agrees)
    if not agrees:
        tell(event, part.id, [part.author])


@kind(*(f"{role}.retired" for role in ROLES), stays=True)
def retired(event: Event, *, live: bool) -> None:
    """Nothing new is made of it; releases that have it keep it."""
    part = _part(event)
    change(part, retired=True)
    tell(event, part.id, [part.author])


@kind("prompt.discussed", remarks=("text",))
def prompt_discussed(event: Event, *, live: bool) -> None:
    """The subject is a part of prompts. Body: ``text``, ``language``, ``dissent``, and ``mentions``."""
    part = row_or_refused(PromptPart, event, _("This no longer exists."))
    say(event, [part.author])
