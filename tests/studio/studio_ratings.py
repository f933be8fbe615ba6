"""Runs to draw from, and people who judge what was drawn through the pages."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from studio_people import People, Someone, accepted, send_to_review

import kapwa
from kapwa.models.base import Model
from kapwa.records import ContinuationScore, Request, Response, Usage

CULTURE = {"culture": "Philippines"}
Values = dict[str, str]


def answered(folder: Path, task: Any, text: Callable[[Any], str], name: str = "secretive-1b") -> Path:
    """A run whose answers are given by ``text``; returns its folder."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.jsonl"
    rows = [{"item_id": item.id, "variant": item.variant, "text": text(item)} for item in task.items()]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = kapwa.load_model(f"replay:{path}")
    return kapwa.evaluate(task, model, out=folder / "runs", progress=False, label=name).path


class Shortest(Model):
    """Finds the shortest response the likeliest: quick to run, and no worse here than any other rule."""

    id, revision = "test/shortest", "r1"
    capabilities = frozenset({"score"})

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"id": self.id, "revision": self.revision}

    @property
    def description(self) -> dict[str, Any]:
        return {"what": "a rule"}

    def generate(self, batch: Iterable[Request]) -> Iterator[Response]:
        raise NotImplementedError

    def score(self, batch: Iterable[Request]) -> Iterator[Response]:
        for one in batch:
            found = [
                ContinuationScore(-float(len(c) ** 2), 3, len(c.encode()), len(c), "clean", None, (-0.1, -0.2))
                for c in one.continuations
            ]
            yield Response(one.key, logprobs=tuple(found), usage=Usage(5, 0))

    def close(self) -> None:
        pass


def short_answers(folder: Path, name: str = "secretive-1b", **options: Any) -> Path:
    task = kapwa.load_task("blend/saq", data="sample", language="local", where=CULTURE, **options)
    return answered(folder, task, lambda item: f"bato {item.id} =1+1", name)


def task_of(page: str) -> tuple[Values, dict[str, list[tuple[str, str]]]]:
    """The hidden fields of a desk's form, and the choices of each field: (value, text)."""
    form = page.split('class="work"')[1].split("</form>", maxsplit=1)[0]
    hidden = dict(re.findall(r'type="hidden" name="(uuid|subject|seen)" value="([^"]*)"', form))
    choices: dict[str, list[tuple[str, str]]] = {}
    for name, value, text in re.findall(
        r'type="radio" name="field_(\w+)" value="(\w+)"[^>]*> <span[^>]*>([^<]*)<', form
    ):
        choices.setdefault(name, []).append((value, text))
    return hidden, choices


def work(who: Someone, kind: str, say: Callable[[str, Any], Values], most: int = 1000) -> int:
    """Do all that waits at a desk; ``say`` gets the page and its choices and returns the fields. Returns how many."""
    page = who.get(f"work/{kind}/")
    for done in range(most):
        if 'class="work"' not in page:
            return done
        hidden, choices = task_of(page)
        said = say(page, choices)
        fields = {f"field_{name}": value for name, value in said.items() if name != "button"}
        page = who.post(f"work/{kind}/", {**hidden, **fields, "button": said.get("button", "save")})
        assert "Saved." in page
    return most


def some_accepted(people: People, count: int = 6) -> None:
    """So many accepted situations, by Berto and Carla in turn."""
    names = ("Liza", "Tomas", "Rosa", "Pedro", "Luz", "Ben", "Nena", "Isko")
    for number in range(1, count + 1):
        writer, other = (("berto", "carla"), ("carla", "berto"))[number % 2]
        send_to_review(people[writer], number, names[number - 1])
        accepted(people, number, other, "edo")
