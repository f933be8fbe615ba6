"""A desk of the tests' own: questions about food, whose texts change, for answerers."""

from collections.abc import Mapping
from typing import Any

from kapwa.studio.core.desks import DeskTask, Field, Option, Shown, Work, done_by
from kapwa.studio.models import Event, Membership, Project

BUTTONS = (Option("answer", "Answer"), Option("unknown", "I don't know"))
FIELDS = (
    Field("text", "Your answer", "long", required=True, language="fil", only_with=("answer",)),
    Field("how", "How sure are you?", "choice", (Option("sure", "Sure"), Option("not", "ليس", "ar")), required=True),
    Field("when", "When?", "choice", (Option("day", "By day"), Option("night", "By night"))),
    Field("place", "Where?", "text", language="fil"),
)


class FoodDesk:
    """Questions ``food-1`` to ``food-N``; ``revision`` is the one shown now."""

    name = "food"
    kind = "food.answered"
    roles = frozenset({"answerer"})

    def __init__(self, count: int = 3) -> None:
        self.count, self.revision = count, 1

    def title(self) -> str:
        return "Questions about food"

    def offered(self, project: Project) -> bool:
        return True

    def _task(self, number: int, revision: int) -> DeskTask:
        text = f"Ano ang kinakain sa umaga, {number}? ({revision})"
        return DeskTask(self.name, f"food-{number}", str(revision), (Shown("Question", text, "fil"),), FIELDS, BUTTONS)

    def _waiting(self, member: Membership) -> list[int]:
        own = Event.objects.filter(project=member.project, kind=self.kind, actor=member.author)
        done = set(own.values_list("subject", flat=True))
        return [number for number in range(1, self.count + 1) if f"food-{number}" not in done]

    def draw(self, member: Membership, count: int) -> Work:
        waiting = self._waiting(member)
        return Work([self._task(number, self.revision) for number in waiting[:count]], len(waiting))

    def find(self, member: Membership, subject: str, seen: str) -> DeskTask | None:
        number = subject.removeprefix("food-")
        known = number.isdecimal() and 1 <= int(number) <= self.count
        shown = seen.isdecimal() and 1 <= int(seen) <= self.revision
        return self._task(int(number), int(seen)) if known and shown else None

    def left(self, member: Membership) -> int:
        return len(self._waiting(member))

    def body(self, member: Membership, task: DeskTask, values: Mapping[str, Any]) -> dict[str, Any]:
        return {**values, "seen": task.seen}

    def said(self, event: Event) -> tuple[str, dict[str, str]]:
        return event.body["seen"], {name: text for name, text in event.body.items() if name != "seen"}

    def done(self, member: Membership) -> Any:
        return done_by(member, self.kind)

    def languages_asked(self, member: Membership) -> list[str]:
        return []

    def languages_open(self, member: Membership) -> list[str]:
        return []


def answers() -> list[tuple[str, dict[str, Any]]]:
    """What was answered at the desk, by question."""
    return list(Event.objects.filter(kind=FoodDesk.kind).order_by("seq").values_list("subject", "body"))
