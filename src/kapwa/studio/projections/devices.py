"""Events of devices that work without a network."""

from __future__ import annotations

from kapwa.studio.models import Event
from kapwa.studio.projections.registry import kind


@kind("work.brought", stays=True)
def work_brought(event: Event, *, live: bool) -> None:
    """Somebody brought a file. Body: ``new``: how many answers before this in the log came of it, as their people's."""


@kind("record.conflicting", rests_on=("situation",), remarks=("remark", "depends"))
def conflicting(event: Event, *, live: bool) -> None:
    """Keep what came under the number of another record; the first stands, so the current tables stay.

    Body: that of the desk's own event, with ``desk`` and the ``uuid`` that was taken.
    """
