"""A model is asked about a draft: its likelihoods are those of a run, and what it said stays with the situation."""

import sys
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from studio_people import People, a_situation

from kapwa.errors import ModelError
from kapwa.studio.core.log import differences
from kapwa.studio.models import Situation
from kapwa.studio.situations import asking
from kapwa.studio.situations.views import writing

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def parrot(studio: Path, monkeypatch: Any) -> None:
    """A model that says one thing, and likes the shortest response best."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "kapwa-examples" / "src"))
    sys.modules.pop("kapwa_examples", None)
    from kapwa_examples.backend import Parrot

    monkeypatch.setattr(settings, "KAPWA_MODEL", "parrot:Opo.")
    monkeypatch.setattr(asking, "_model", lambda: Parrot("Opo."))


def test_what_a_model_says_of_a_draft_is_kept_with_it(parrot: None, project: Any, people: People) -> None:
    people["berto"].act("situations/new/", a_situation("Liza", best=""))
    page = people["berto"].client.post("/p/baryo/ask/", {"number": "1"}).getvalue().decode()
    assert "It is not finished: best: no relevant response is chosen as the best." in page
    assert Situation.objects.get().model_seen == []  # nothing is asked of half a situation
    people["berto"].act("situations/1/edit/", {**a_situation("Liza"), "base": "1"})
    page = people["berto"].ask(1)
    assert "Opo." in page
    assert "finds an irrelevant response as likely as" in page  # irrelevant 3 is the shortest of those that count
    people["berto"].act("situations/1/edit/", {**a_situation("Liza", relevant_1="Batiin mo."), "base": "2"})
    page = people["berto"].ask(1)
    assert "finds the best response likelier" in page
    seen = Situation.objects.get().model_seen
    assert [(one["revision"], one["fails"]) for one in seen] == [(2, True), (3, False)]
    size = len(b"Batiin mo.")
    assert seen[1]["likelihoods"]["relevant_1"] == pytest.approx(-0.01 * size * size / size)
    assert set(seen[1]["likelihoods"]) == {f"{group}_{n}" for group in ("relevant", "irrelevant") for n in (1, 2, 3)}
    assert differences(project) == []
    # Whoever only reviews sees it, and cannot ask.
    people["edo"].post("ask/", {"number": "1"}, status=403)


def test_many_are_asked_about_one_after_another_and_each_answer_shows_at_once(
    parrot: None, project: Any, people: People, monkeypatch: Any
) -> None:
    def asked() -> list[int]:
        return [len(one.model_seen) for one in Situation.objects.order_by("number")]

    for number in range(1, 4):
        people["berto"].act("situations/new/", a_situation("Liza", context=f"Ika-{number} na araw sa palengke."))
    people["berto"].act("situations/new/", a_situation("Liza", best=""))  # not whole
    people["carla"].act("situations/new/", a_situation("Tomas"))
    assert "Ask parrot:Opo. about many" in people["berto"].get("situations/")
    assert "3 situations are complete" in people["berto"].get("ask/")
    assert "4 situations are complete" in people["dina"].get("ask/")
    answer = people["berto"].client.post("/p/baryo/ask/")
    assert answer.headers["X-Accel-Buffering"] == "no"
    pieces = iter(answer.streaming_content)
    assert b"adds a line below" in next(pieces)
    assert asked() == [0, 0, 0, 0, 0]
    line = next(pieces).decode()
    assert "1 of 3" in line
    assert asked() == [1, 0, 0, 0, 0]
    answer.close()  # the browser went away: what was answered is kept
    assert "2 situations are complete" in people["berto"].get("ask/")

    def broken(fields: Any) -> Any:
        raise ModelError("It is <b>gone</b>.")

    with monkeypatch.context() as patch:
        patch.setattr(writing, "ask", broken)
        page = people["berto"].client.post("/p/baryo/ask/").getvalue().decode()
    assert page.count("<li>Situation 2: It is &lt;b&gt;gone&lt;/b&gt;. No more situations are asked.</li>") == 1
    page = people["berto"].client.post("/p/baryo/ask/").getvalue().decode()
    assert page.rstrip().endswith("</html>")
    assert asked() == [1, 1, 1, 0, 0]
    assert "There is nothing left to ask" in people["berto"].get("ask/")
    assert "There is nothing left to ask" in people["berto"].post("ask/")
    # What another model was asked is not what this one was.
    monkeypatch.setattr("django.conf.settings.KAPWA_MODEL", "parrot:Hindi.")
    assert "3 situations are complete" in people["berto"].get("ask/")
    monkeypatch.setattr("django.conf.settings.KAPWA_MODEL", "parrot:Opo.")
    # Who withdraws meanwhile writes nothing any more.
    pieces = iter(people["carla"].client.post("/p/baryo/ask/").streaming_content)
    next(pieces)
    people["carla"].act("withdraw/", {"depth": "identity", "sure": "yes"})
    assert b"You are signed out. Sign in again. No more situations are asked." in next(pieces)
    assert asked() == [1, 1, 1, 0, 0]
