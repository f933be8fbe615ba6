"""A model is asked about a draft: its likelihoods are those of a run, and what it said stays with the situation."""

import sys
from pathlib import Path
from typing import Any

import pytest
from studio_people import Someone, a_situation

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def parrot(studio: Path, monkeypatch: Any) -> None:
    """A model that says one thing, and likes the shortest response best."""
    from django.conf import settings

    from kapwa.studio import asking

    monkeypatch.syspath_prepend(str(ROOT / "examples" / "kapwa-examples" / "src"))
    sys.modules.pop("kapwa_examples", None)
    from kapwa_examples.backend import Parrot

    monkeypatch.setattr(settings, "KAPWA_MODEL", "parrot:Opo.")
    monkeypatch.setattr(asking, "_model", lambda: Parrot("Opo."))


def test_what_a_model_says_of_a_draft_is_kept_with_it(parrot: None, project: Any, people: dict[str, Someone]) -> None:
    from kapwa.studio.events import differences
    from kapwa.studio.models import Situation

    people["berto"].post("situations/new/", a_situation("Liza", best=""))
    people["berto"].post("situations/1/ask/", status=409)  # nothing is asked of half a situation
    people["berto"].post("situations/1/edit/", {**a_situation("Liza"), "base": "1"})
    page = people["berto"].post("situations/1/ask/")
    assert "Opo." in page
    assert "finds an irrelevant response likelier" in page  # irrelevant 3 is the shortest of those that count
    people["berto"].post("situations/1/edit/", {**a_situation("Liza", relevant_1="Batiin mo."), "base": "2"})
    page = people["berto"].post("situations/1/ask/")
    assert "finds the best likelier" in page
    seen = Situation.objects.get().model_seen
    assert [(one["revision"], one["fails"]) for one in seen] == [(2, True), (3, False)]
    size = len(b"Batiin mo.")
    assert seen[1]["likelihoods"]["relevant_1"] == pytest.approx(-0.01 * size * size / size)
    assert set(seen[1]["likelihoods"]) == {f"{group}_{n}" for group in ("relevant", "irrelevant") for n in (1, 2, 3)}
    assert differences(project) == []
    # Whoever only reviews sees it, and cannot ask.
    people["edo"].post("situations/1/ask/", status=403)


def test_without_a_model_nothing_is_offered(project: Any, people: dict[str, Someone]) -> None:
    people["berto"].post("situations/new/", a_situation("Liza"))
    assert "What a model makes of it" not in people["berto"].get("situations/1/")
    assert "No model is configured" in people["berto"].post("situations/1/ask/", status=400)
