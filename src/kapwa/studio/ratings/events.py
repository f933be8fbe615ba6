"""What happens to ratings and the human baseline: texts are drawn for people, and people judge them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence

from django.utils.translation import gettext as _

from kapwa.labels.choices.sheets import asked_of, options_of
from kapwa.records import Item
from kapwa.studio.core.kinds import common, kind, row_or_refused
from kapwa.studio.core.tables import Event, Project
from kapwa.studio.ratings.tables import Drawn, Judgement, TaskSet
from kapwa.studio.situations.fields import Fields, as_item
from kapwa.studio.situations.tables import Revision, Situation
from kapwa.value_types import JsonMapping, JsonObject


def mark_of(project: Project, fields: Fields) -> str:
    """Return a hash of what validators read of a situation, with the project's secret: it tells nobody a word of it."""
    item = as_item(fields, "", "", "")
    words = "\0".join((asked_of(item), *options_of(item)))
    return hashlib.blake2b(words.encode(), key=project.salt.encode(), digest_size=16).hexdigest()


@kind("tasks.drawn", counted="project", stays=True, repeats=True)
def tasks_drawn(event: Event, *, live: bool) -> None:
    """Body: ``kind``, ``seed``, ``sample``, ``raters``, ``runs``, and what was drawn, as ``texts``.

    Each of these has ``item``, ``shown`` and ``texts``, or for the project's own situations ``situation``,
    ``revision``, ``mark`` and ``culture``. What an erasure took the words of is there no more.
    """
    columns = {name: event.body[name] for name in ("number", "kind", "seed", "sample", "raters", "runs")}
    TaskSet.objects.create(**common(event), **columns)
    made = []
    for number, text in enumerate(event.body["texts"], start=1):
        drawn = _of_situation(event.project, text) if "situation" in text else text
        if drawn and all(drawn["texts"]) and any(text for _, text, _ in drawn["shown"]):
            row = common(event) | {"id": drawn_id(event.uuid, number), "set_id": str(event.uuid)} | drawn
            made.append(Drawn(**row, number=number))
    Drawn.objects.bulk_create(made)


def drawn_id(event: uuid.UUID, number: int) -> str:
    """Return the id of what was drawn as the ``number``th (from 1)."""
    return str(uuid.uuid5(event, str(number)))


def _of_situation(project: Project, reference: JsonMapping) -> JsonObject | None:
    """Return what is drawn of a situation at a revision; None where an erasure took it or changed its words."""
    revision = Revision.objects.filter(id=f"{reference['situation']}:{reference['revision']}", project=project).first()
    if revision is None or mark_of(project, revision.fields) != reference["mark"]:
        return None
    situation = Situation.objects.get(id=reference["situation"])
    item = as_item(revision.fields, situation.id, situation.cluster, reference["culture"])
    return {**drawn_item(item, options_of(item)), "situation": situation.id, "mark": reference["mark"]}


def drawn_item(item: Item, texts: Sequence[str]) -> JsonObject:
    """Return what is kept of an item that people read above ``texts``."""
    about = {name: getattr(item, name) for name in ("id", "culture", "language", "variant", "cluster")}
    return {"item": about, "shown": [["prompt", asked_of(item), item.language]], "texts": list(texts)}


@kind("text.judged", remarks=("remark",))
def text_judged(event: Event, *, live: bool) -> None:
    """The subject is what was drawn. Body: ``seen``, ``order``, ``values``, ``remark``; ``situation`` where it is one.

    The last that a person says of a thing counts.
    """
    row_or_refused(Drawn, event, _("This text no longer exists."), hint=_("Continue with the next one."))
    key = {"id": f"{event.subject}:{event.actor}", "drawn_id": event.subject, "author": event.actor}
    judgement = {name: event.body[name] for name in ("order", "values", "remark")}
    Judgement(**common(event) | key | judgement).save()
