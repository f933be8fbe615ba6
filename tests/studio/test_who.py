"""Who took part: a coordinator who reads the page before and after an act of theirs, or a newcomer, learns nothing."""

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from studio_people import People, Someone, author_of, enter

from kapwa.stats.disclosure import tells
from kapwa.studio.core.background import count_again, count_people, groups_of, shown_before, who_took_part
from kapwa.studio.core.exchange import export_project, import_project
from kapwa.studio.models import Membership, Project, Release


def tell(project: Any, role: str, answer: str, session: str = "") -> Any:
    """Let somebody new in who tells one thing of themselves, as their form does."""
    with transaction.atomic():
        member = Membership.objects.create(project=project, roles=[role], consent_scopes=["publish"])
        Membership.objects.filter(pk=member.pk).update(
            background={"locality": answer}, background_groups=groups_of(project, member), background_public=True
        )
        count_again(project)
    return member


def tables(who: Someone) -> str:
    """What the page tells, without the form beneath."""
    return who.get("who/").partition("<h1>")[2].partition("What people are asked about themselves")[0]


@pytest.fixture
def asking(project: Any, people: People) -> Any:
    people["ana"].act("who/", {"background": ["locality"]})
    project.refresh_from_db()
    return project


def test_what_people_tell_by_their_form_is_counted_when_five_did(asking: Any, people: People) -> None:
    for number in range(14):
        who = enter(asking, f"Tao {number}", "writer")
        who.act("about/", {"locality": "Sagada" if number % 2 else "Baguio", "agree": "on"})
        page = tables(people["ana"])
        if number < 4:
            assert "0 people told" in page
        elif number < 9:
            assert "5 people told" in page
            assert "Not shown" in page  # all five in one row would be told
        else:
            assert "10 people told" in page
            assert '<bdi>Sagada</bdi></th><td class="n">5<' in page


def test_changing_a_role_tells_nothing(asking: Any, people: People) -> None:
    """A role that is changed, and the page read between: of every person, whatever they said."""
    ana = people["ana"]
    for number in range(26):
        who = enter(asking, f"Tao {number}", "writer" if number % 2 else "reviewer")
        who.act("about/", {"locality": "Sagada" if number % 4 < 2 else "Baguio", "agree": "on"})
    before = tables(ana)
    assert "writer" in before
    for number in range(0, 26, 3):
        for roles in (["rater"], ["scribe", "writer"]):
            ana.act("people/", {"action": "roles", "author": author_of(f"Tao {number}"), "roles": roles})
            assert tables(ana) == before
    ana.act("sessions/", {"title": "pulong", "attendees": [author_of(f"Tao {n}") for n in range(5)]})
    assert tables(ana) == before


def test_newcomers_and_who_leaves_change_nothing_before_there_are_five(
    asking: Any, people: People, tmp_path: Path
) -> None:
    for number in range(20):
        tell(asking, "writer", "Sagada" if number % 2 else "Baguio")
    before = tables(people["ana"])
    assert "20 people told" in before
    for number in range(4):
        who = enter(asking, f"Bago {number}", "writer")
        who.act("about/", {"locality": "Sagada", "agree": "on"})
        assert tables(people["ana"]) == before
    who.act("withdraw/", {"depth": "identity", "sure": "yes"})
    assert tables(people["ana"]) == before
    for _ in range(2):
        tell(asking, "writer", "Sagada")
    # Five changed: all of them said one thing, so that the new counts beside the old would tell it of each.
    page = tables(people["ana"])
    assert "25 people told" in page
    assert [line for line in page.splitlines() if "<td" in line] == [
        line for line in before.splitlines() if "<td" in line
    ]


def test_pages_and_releases_together_tell_of_no_few(asking: Any, people: People) -> None:
    """Whatever is shown on pages and in releases over a project's life: the attack on all of it together fails."""
    chance, shown = random.Random(4), 0
    for turn in range(60):
        tell(asking, chance.choice(("writer", "reviewer")), chance.choice(("Sagada", "Baguio")))
        if turn % 12 == 11:
            everybody = set(Membership.objects.values_list("author", flat=True))
            facts = _facts(asking, everybody)
            Release.objects.create(id=str(turn), project=asking, version=f"1.{turn}.0", date="2026-01-01", facts=facts)
        together = shown_before(asking, "locality")
        shown = max(shown, len(together))
        assert not tells(together)
    assert shown >= 2


def _facts(project: Any, authors: set[str]) -> dict[str, Any]:
    """What a release's facts say of people, of everybody there is."""
    public = list(Membership.objects.filter(project=project, author__in=authors).exclude(background={}))
    table = count_people(project, public, "locality", shown=shown_before(project, "locality"))
    return {"people": {}, "counted": {"locality": table.to_json()} if table else {}}


def test_counting_takes_no_long_time_where_much_was_shown(asking: Any, people: People) -> None:
    begun = time.process_time()
    for number in range(60):
        tell(asking, ("writer", "reviewer", "rater")[number % 3], ("Sagada", "Baguio", "Ifugao")[number // 3 % 3])
    assert time.process_time() - begun < 30


def test_what_was_shown_travels_in_whole_archives_alone(asking: Any, people: People, tmp_path: Path) -> None:
    import zipfile

    for number in range(20):
        tell(asking, "writer", "Sagada" if number % 2 else "Baguio")
    told, before = who_took_part(asking), shown_before(asking, "locality")
    assert before
    export_project(asking, tmp_path / "page.zip", whole=False)
    export_project(asking, tmp_path / "whole.zip", secret=tmp_path / "secret")
    with zipfile.ZipFile(tmp_path / "page.zip") as archive:
        assert archive.read("counts.jsonl") == b""
        members = [json.loads(line) for line in archive.read("members.jsonl").splitlines()]
        assert not any(member["background"] or member["background_groups"] for member in members)
    # An archive of an earlier version has no such file.
    with zipfile.ZipFile(tmp_path / "whole.zip") as archive, zipfile.ZipFile(tmp_path / "old.zip", "w") as old:
        for name in archive.namelist():
            if name != "counts.jsonl":
                old.writestr(name, archive.read(name))
    for name, kept in (("whole", True), ("old", False)):
        Project.objects.all().delete()
        back = import_project("baryo", tmp_path / f"{name}.zip", secret=tmp_path / "secret")
        assert (shown_before(back, "locality") == before) is kept
        assert who_took_part(back) == told
