"""Who took part: what a project asks, what a person agrees to, and tables that tell of nobody."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from studio_answers import member_of
from studio_people import People, recorded, send_to_review

from kapwa.studio.core.background import asked, count_again, who_took_part
from kapwa.studio.core.erasure import erase_author
from kapwa.studio.core.exchange import export_project
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.log import record
from kapwa.studio.models import Event, Membership, PeopleCounted, Situation


@pytest.fixture
def asking(project: Any, people: People) -> People:
    """A project that asks for an age, a place, and one thing of its own."""
    own = "Sa bayan o sa baryo?: bayan； baryo\nAno ang trabaho mo?"
    people["ana"].act("who/", {"background": ["age_band", "locality"], "background_own": own})
    people["ana"].post("who/", {"background": ["secret"]}, 400)
    project.refresh_from_db()
    return people


def about(**more: str) -> dict[str, str]:
    return {"age_band": "25-34", "locality": "Sagada", "Sa bayan o sa baryo?": "baryo", "agree": "on", **more}


def test_a_project_asks_what_it_chose_and_people_say_what_they_want_to(project: Any, asking: People) -> None:
    assert [(question.text, len(question.choices)) for question in asked(project)] == [
        ("Age", 6),
        ("Where you live", 0),
        ("Sa bayan o sa baryo?", 2),
        ("Ano ang trabaho mo?", 0),
    ]
    berto = asking["berto"]
    assert "What the project asks about you" in berto.get("me/")
    page = berto.post("about/", about(agree=""), status=400)  # not kept without their word, and nothing typed is lost
    assert "Agree to this, or empty all fields." in page
    assert 'value="Sagada"' in page
    assert member_of(berto).background == {}
    berto.post("about/", about(age_band="7"), status=400)
    berto.act("about/", about())
    member = member_of(berto)
    assert member.background == {"age_band": "25-34", "locality": "Sagada", "Sa bayan o sa baryo?": "baryo"}
    assert not member.background_public
    event = Event.objects.last()
    assert (event.kind, event.body["scopes"]) == ("member.changed", ["background"])
    assert "Sagada" not in json.dumps(list(Event.objects.values_list("body", flat=True)), ensure_ascii=False)
    # Whoever empties all fields has nothing kept.
    berto.act("about/", {"locality": " ", "agree": "on", "public": "on"})
    member = member_of(berto)
    assert (member.background, member.background_public) == ({}, False)


def test_nothing_asked_is_nothing_shown(project: Any, people: People) -> None:
    assert "asks about you" not in people["berto"].get("me/")
    assert "asks nothing about you" in people["berto"].get("about/")
    people["berto"].act("about/", {"locality": "Sagada", "agree": "on"})
    assert member_of(people["berto"]).background == {}
    for name in ("berto", "dina", "edo"):
        people[name].get("who/", status=403)


def crowd(project: Any, *groups: tuple[int, str, str]) -> list[str]:
    """People of a place and a role who agreed that both is counted and published."""
    authors = []
    for n, place, role in groups:
        for number in range(n):
            authors.append(f"{len(authors):04d}{place[:4]:_<12}")
            Membership.objects.create(
                project=project,
                author=authors[-1],
                roles=[role],
                consent_scopes=["publish"],
                background={"locality": place.upper() if number == 0 else place},
                background_public=True,
            )
    return authors


def test_tables_by_group_and_session_merge_small_groups(project: Any, asking: People) -> None:
    authors = crowd(
        project,
        (6, "Sagada", "writer"),
        (7, "Sagada", "answerer"),
        (5, "Baguio", "writer"),
        (3, "Baguio", "answerer"),
        (3, "Ifugao", "answerer"),
    )

    def meet(title: str, attendees: list[str]) -> None:
        recorded(project, "session.opened", {"title": title, "attendees": attendees, "scribe": ""}, actor="")

    def tables() -> tuple[Any, dict[str, Any]]:
        PeopleCounted.objects.all().delete()
        Membership.objects.update(background_groups={})  # as if they told it only now
        assert count_again(project)
        told = {question.key: (counts, dict(by_group)) for question, counts, by_group in who_took_part(project)}
        return told["locality"]

    meet("pulong", authors[:6] + authors[13:18])
    meet("ikalawa", authors[5:9])  # a second session: everybody stands in their first
    counts, crossings = tables()
    # Three of Ifugao would be too few, so the next smallest group joins them; spelling tells nobody apart.
    assert counts == {"SAGADA": 13, "others, or not said": 11}
    assert crossings["Role"] == {
        "SAGADA": {"answerer": 7, "writer": 6},
        "others, or not said": {"answerer": 6, "writer": 5},
    }
    assert crossings["Session"] == {
        "SAGADA": {"pulong": 6, "others, or not said": 7},
        "others, or not said": {"pulong": 5, "others, or not said": 6},
    }
    page = asking["ana"].get("who/")
    assert "Ifugao" not in page.upper().title()
    assert not any(author in page for author in authors)
    # With one writer fewer and one answerer more in it, both tables together would tell where that writer lives.
    Event.objects.filter(kind="session.opened").delete()
    meet("pulong", authors[:5] + authors[13:19])
    assert list(tables()[1]) == ["Role"]


def test_a_writer_is_not_known_by_a_table_without_writers(project: Any, asking: People) -> None:
    crowd(project, (12, "Sagada", "reviewer"), (8, "Baguio", "reviewer"), (5, "Baguio", "writer"))
    count_again(project)
    told = {question.key: (counts, dict(by_group)) for question, counts, by_group in who_took_part(project)}
    # "Sagada: reviewer 12, writer 0" would say of each writer where they do not live.
    assert told["locality"] == ({"BAGUIO": 13, "SAGADA": 12}, {})


def test_a_release_counts_only_who_agreed_to_that(project: Any, asking: People, tmp_path: Path) -> None:
    send_to_review(asking["berto"], 1)
    Situation.objects.update(state="in review")
    for author in crowd(project, (6, "Sagada", "reviewer"), (5, "Bontoc", "reviewer"), (5, "Baguio", "reviewer")):
        with transaction.atomic():
            body = {"round": 1, "choice": "accept"}
            record(project, "situation.voted", body, actor=author, subject=Situation.objects.get().id)
    Situation.objects.update(state="accepted")
    Membership.objects.filter(background__locality__in=("Baguio", "BAGUIO")).update(background_public=False)
    sheet = (freeze(project, "1.0.0", tmp_path).folder / "DATASHEET.md").read_text()
    assert "SAGADA | 6" in sheet
    assert "Baguio" not in sheet.title()


def test_a_withdrawal_takes_it_and_no_backup_has_it(project: Any, asking: People, tmp_path: Path) -> None:
    asking["berto"].act("about/", about(public="on"))
    author = member_of(asking["berto"]).author
    for whole in (True, False):
        export_project(project, tmp_path / "archive.zip", whole=whole)
        with zipfile.ZipFile(tmp_path / "archive.zip") as archive:
            assert (b"Sagada" in archive.read("members.jsonl")) is whole
    asking["berto"].act("withdraw/", {"depth": "identity", "sure": "yes"})
    assert Membership.objects.get(author=author).background == {}


def test_who_ticks_a_box_is_not_who_wrote_the_questions(project: Any, asking: People) -> None:
    asking["ana"].act("who/", {"background": ["age_band"], "background_own": project.background_own})
    asking["ana"].act("who/", {"background": ["age_band"], "background_own": project.background_own})
    names = [event.body["names"] for event in Event.objects.filter(kind="project.changed").order_by("seq")]
    assert names == [["background", "background_own"], ["background"]]


def test_a_question_goes_with_the_coordinator_who_worded_it(project: Any, asking: People) -> None:
    erase_author(project, member_of(asking["ana"]).author)
    project.refresh_from_db()
    assert [question.key for question in asked(project)] == ["age_band", "locality"]
