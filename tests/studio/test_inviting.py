"""Who invites more people than there is work for is told so; who finds no work is led to what waits elsewhere."""

from typing import Any

import pytest
from django.conf import settings
from django.utils.html import escape
from studio_answers import answer, answerers, ask
from studio_people import People, Someone, enter
from typer.testing import CliRunner

from kapwa.cli.studio import app
from kapwa.studio import commands
from kapwa.studio.core.inviting import too_many_invited

CROWDED = "have the role “answerer” or are invited to it, and there is work for 4"
FULL = (
    "In \u2068한국어\u2069, enough people have answered every question."
    " People are still wanted in: \u2068العربية\u2069."
)


@pytest.fixture
def half_full(everyday: Any) -> Any:
    """A project whose question two people answered in Korean, as many as are wanted, and nobody in Arabic."""
    everyday.people_each = 2
    everyday.save()
    question = ask(everyday, "아침에 무엇을 먹나요?", "ar")
    for who in answerers(everyday, 2):
        answer(who, question, "밥")
    return everyday


def test_who_invites_is_told_on_every_page_and_by_the_command(half_full: Any, askers: People) -> None:
    ana = askers["ana"]
    assert too_many_invited(half_full) == [FULL]  # with Omar there are three, and there is work for four
    page = ana.post("people/", {"action": "invite", "roles": ["answerer"], "count": "2"})
    for shown in (page, ana.get("people/"), ana.get("people/link/")):
        assert f"5 people {CROWDED}" in shown
        assert escape(FULL) in shown
    ana.post("people/link/", {"action": "open", "roles": ["answerer"], "days": "1"})
    done = CliRunner().invoke(app, ["invite", half_full.slug, "--role", "answerer", "--home", str(settings.KAPWA_HOME)])
    assert f"6 people {CROWDED}" in " ".join(done.stderr.split())
    assert "6 people" not in done.stdout


def test_who_begins_with_more_people_than_there_is_work_for_is_told_with_the_codes(studio: Any) -> None:
    ana = Someone("")
    ana.act("/enter/", {"code": commands.start_code()})
    made = {"action": "new", "title": "Araw", "culture": "Korea", "languages": "Korean", "form": "blend"}
    ana.act("/begin/", made | {"answerer": "6"})
    page = ana.post("/join/", {"pseudonym": "Ana"})
    assert "6 people have the role “answerer” or are invited to it, and there is work for 5" in page


def test_who_finds_no_work_is_led_to_what_waits_in_another_language(half_full: Any, askers: People) -> None:
    """At home, among their work, at the desk and on a phone."""
    half_full.people_each = 1
    half_full.save()
    new = enter(half_full, "Nara", "answerer")
    offer = "There is work in another language, if you speak it:"
    for path in ("", "work/", "work/answers/"):
        assert offer in new.get(path), path
    assert new.client.get(new.full("sync/")).json()["also"] == f"{offer} \u2068العربية\u2069"
    new.act("work/answers/also/", {"language": "ar"})
    assert offer not in new.get("")
    assert new.client.get(new.full("sync/")).json()["also"] == ""
