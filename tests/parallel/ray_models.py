"""Models for the replicas of the tests: the rule-based one of the runner's tests, and ways to misbehave."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "runs"))
from tiny_suite import TinyModel

from kapwa.errors import ModelError
from kapwa.records import Request, Response


class Misbehaving(TinyModel):
    """Misbehaves where a question says so."""

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        if self.fails and self.fails in request.messages[-1].content:
            self.misbehave()
        return super().answer(request, batch)


class Deadly(Misbehaving):
    def misbehave(self) -> None:
        time.sleep(0.5)  # what it answered before has left by then
        os.kill(os.getpid(), signal.SIGKILL)


class Refusing(Misbehaving):
    def misbehave(self) -> None:
        raise ModelError("The server refused the key.", hint="Name another.")


class Broken(Misbehaving):
    def misbehave(self) -> None:
        raise ZeroDivisionError("a bug")


class Skewed(TinyModel):
    @property
    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint, "weights": os.getpid()}


class Telling(TinyModel):
    """Answers with a variable of its process, or with its threads."""

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        name = self.log or ""
        value = os.environ.get(name, "None")
        # A key is told backwards: it arrived, and what is written of it is not the key.
        return Response(request.key, text=f"{name} is {value[::-1] if name.endswith('KEY') else value}")

    def _all(self, batch: Sequence[Request]) -> Iterator[Response]:
        return (self.answer(request, batch) for request in batch)  # ``log`` names no file


class Unloadable(TinyModel):
    def __init__(self, **_: Any) -> None:
        raise ModelError("There are no such weights.", hint="Name others.")


class DeadOnLoading(TinyModel):
    def __init__(self, **_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def make(kind: str, settings: dict[str, Any]) -> TinyModel:
    """Load a model by the name of its class."""
    found: TinyModel = {"TinyModel": TinyModel, **globals()}[kind](**settings)
    return found
