"""What a server's answers taught of how to ask it; kept with the answers, so that a resumed run need not ask again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from kapwa.models.refusals import Refusals
from kapwa.models.thinking_settings import ServedThinking
from kapwa.value_types import JsonMapping, JsonObject


@dataclass(frozen=True, slots=True)
class Learnt:
    """What is known of a served model.

    ``model`` and ``base_url``: of which model at which address. ``thinks``: whether a thought was seen. ``room``: the
    tokens of a thought for which the server has room; None: as many as are asked. ``refused``: settings that it
    refuses, with the values that were asked first. ``groups``: whether one call may ask for several samples.
    ``length_key``: its name for the limit on an answer; "" where it is the usual one. ``continues``: whether it goes on
    with an answer that met its limit; None: nobody tried. ``continued``: how many answers were. ``answered_as``: the
    models that its answers named.
    """

    model: str
    base_url: str
    thinks: bool = False
    room: int | None = None
    refused: JsonMapping = field(default_factory=dict)
    groups: bool = True
    length_key: str = ""
    continues: bool | None = None
    continued: int = 0
    answered_as: tuple[str, ...] = ()

    def as_record(self) -> JsonObject:
        """Return plain values to keep; {} where nothing was learnt."""
        nothing = self == Learnt(self.model, self.base_url)
        return {} if nothing else {**asdict(self), "refused": dict(self.refused), "answered_as": list(self.answered_as)}

    @classmethod
    def read(cls, record: JsonMapping, model: str, base_url: str) -> Learnt:
        """Return what was kept of ``model``; what is of another model, or of no known form, counts for nothing.

        At another address only that the model thinks still holds: servers of one model differ in what they take.
        """
        nothing = cls(model, base_url)
        if record.get("model") != model or not isinstance(record.get("thinks"), bool):
            return nothing
        if record.get("base_url") != base_url:
            return cls(model, base_url, thinks=record["thinks"])
        named = record.get("answered_as")
        room, refused, groups, key = (record.get(name) for name in ("room", "refused", "groups", "length_key"))
        return cls(
            model,
            base_url,
            thinks=record["thinks"],
            room=room if isinstance(room, int) and room > 0 else None,
            refused=refused if isinstance(refused, dict) else {},
            groups=groups is not False,
            length_key=key if isinstance(key, str) else "",
            continues=record["continues"] if isinstance(record.get("continues"), bool) else None,
            continued=record["continued"] if isinstance(record.get("continued"), int) else 0,
            answered_as=tuple(name for name in named if isinstance(name, str)) if isinstance(named, list) else (),
        )


def learnt_of(model: str, base_url: str, thinking: ServedThinking, refusals: Refusals, *, groups: bool) -> Learnt:
    """Return what is known of thoughts, refused settings and samples."""
    room = thinking.room if thinking.room < thinking.wish.budget else None
    return Learnt(model, base_url, thinking.shown, room, dict(refusals.learnt), groups)


def recall(learnt: Learnt, thinking: ServedThinking, refusals: Refusals) -> None:
    """Take what was learnt of thoughts and of refused settings."""
    if learnt.thinks:
        thinking.thinks = thinking.shown = True
    if learnt.room is not None:
        thinking.room = min(thinking.room, learnt.room)
    refusals.learn(learnt.refused)
