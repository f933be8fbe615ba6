"""A project with one of everything, and the addresses of its pages."""

import re
from typing import Any

from studio_answers import member_of
from studio_people import People, accepted, send_to_review

from kapwa.studio.models import GroupLink, PromptPart, Topic
from kapwa.studio.ratings.drawing import draw


def fill(project: Any, people: People) -> dict[str, str]:
    """Make one of everything; returns what stands for the parts of addresses."""
    people["ana"].act("prompts/identity/", {"identity": "Ugandan"})
    people["ana"].act("topics/", {"name": "friendship"})
    people["ana"].act("people/link/", {"action": "open", "roles": ["writer"], "days": "7"})
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    author = member_of(people["dina"]).author
    people["dina"].act("sessions/", {"title": "pulong", "attendees": [author]})
    people["ana"].act("releases/", {"version": "1.0.0"})
    people["berto"].act("questions/new/", {"language": "fil", "text": "Ano ang almusal?", "topic": "x", "kind": "text"})
    draw(project, "baseline")
    return {
        "project": project.slug,
        "number": "1",
        "topic": Topic.objects.get().id,
        "version": "1.0.0",
        "tag": "fil",
        "code": "000000000000",
        "desk": "food",
        "kind": "baseline",
        "role": "identity",
        "part": PromptPart.objects.get().id,
        "link": GroupLink.objects.get().seed,
    }


def address_of(path: str, parts: dict[str, str]) -> str:
    """The address of a page, with these parts in place of what it captures."""
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda match: parts.get(match[1], "x"), path)
