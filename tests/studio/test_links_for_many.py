"""A link that is sent to many: people ask to join by it, and a coordinator lets them in or declines."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from studio_people import People, Someone, enter

from kapwa.studio import commands
from kapwa.studio.core import joining
from kapwa.studio.core.tables import GroupLink, JoinRequest
from kapwa.studio.models import Event, Membership, Person


def opened(ana: Someone, *roles: str, days: str = "7") -> str:
    """The address of a link for many that a coordinator makes."""
    page = ana.post("people/link/", {"action": "open", "roles": list(roles), "days": days})
    return re.findall(r'readonly dir="ltr" value="http://testserver([^"]+)"', page)[-1]


def arrives(address: str, who: Someone | None = None) -> Someone:
    """Somebody who opens the link and goes on."""
    who = who or Someone("baryo")
    code = re.search(r'name="code" value="([\d-]+)"', who.get(address))
    assert code
    who.act("/enter/", {"code": code[1]})
    return who


def asks(address: str, name: str) -> Someone:
    """Somebody who asks by a link, and keeps the code that they are shown."""
    who = arrives(address)
    shown = re.search(r'class="code shown">([\d-]+)<', who.post("/ask/", {"pseudonym": name, "agree": "on"}))
    assert shown
    who.code = shown[1]
    return who


def waiting(ana: Someone) -> dict[str, str]:
    """Who waits, with what a form names them by."""
    rows = re.findall(r'name="asked" value="(\d+)"> <span><bdi>([^<]+)<', ana.get("people/link/"))
    return {name: key for key, name in rows}


def decide(ana: Someone, action: str, *names: str) -> str:
    keys = waiting(ana)
    return ana.post("people/link/", {"action": action, "asked": [keys[name] for name in names]})


def test_many_ask_by_one_link_and_come_in_once_they_are_let_in(project: Any, people: People) -> None:
    from kapwa.studio.models import JoinRequest

    ana, before = people["ana"], Membership.objects.count()
    address = opened(ana, "writer", "reviewer")
    lito, mina, nemo = (asks(address, name) for name in ("Lito", "Mina", "Nemo"))
    assert Membership.objects.count() == before
    assert "A coordinator decides" in lito.get("/ask/")
    assert "3 people ask to join." in ana.get("people/")
    assert "Decide who may join" in ana.get("")
    decide(ana, "admit", "Lito", "Mina")
    decide(ana, "decline", "Nemo")
    member = Membership.objects.get(pseudonym="Lito")
    assert (member.roles, member.consent_version) == (["writer", "reviewer"], 0)
    # The one goes on where they asked, the other comes with the code from another phone.
    assert "You may come in" in lito.get("/ask/")
    assert '<section class="text"' in lito.post("/ask/")  # the consent text, before anything else
    other = Someone("baryo")
    other.act("/enter/", {"code": mina.code})
    other.agree().get("situations/new/")
    assert "does not wait any more" in nemo.get("/ask/")
    assert "This is not the code" in Someone("").post("/enter/", {"code": nemo.code}, 403)
    assert not JoinRequest.objects.exists()
    acts = Event.objects.filter(kind__regex="link|admitted|declined").order_by("seq").values_list("kind", "body")
    roles = {"roles": ["writer", "reviewer"]}
    assert list(acts) == [
        ("member.link-opened", roles | {"days": 7}),
        ("member.admitted", roles),
        ("member.admitted", roles),
        ("member.declined", {"count": 1}),
    ]
    assert "Nemo" not in str(list(Event.objects.values_list("body", flat=True)))


def test_before_they_are_let_in_they_see_nothing_and_others_nothing_of_them(project: Any, people: People) -> None:
    address = opened(people["ana"], "writer")
    stranger = arrives(address)
    page = stranger.get("/ask/")
    assert not any(name in page for name in ("Ana", "Berto", "Carla", "Dina", "Edo"))
    # Nothing is sent without the asker's word that coordinators may read it.
    assert 'id="wrong-agree"' in stranger.post("/ask/", {"pseudonym": "Lito"}, 400)
    assert 'id="wrong-pseudonym"' in stranger.post("/ask/", {"pseudonym": " ", "agree": "on"}, 400)
    assert waiting(people["ana"]) == {}
    lito = asks(address, "Ana")  # whether a member bears a name is told to nobody
    assert "Sign in" in lito.get("situations/")
    for name in ("berto", "dina", "edo"):
        people[name].get("people/link/", status=403)
        assert "Decide who may join" not in people[name].get("")
    assert "A coordinator decides" in Someone("").post("/enter/", {"code": lito.code})


def test_a_shared_phone_forgets_who_asked(project: Any, people: People) -> None:
    lito = asks(opened(people["ana"], "writer"), "Lito")
    decide(people["ana"], "admit", "Lito")
    assert "Sign out on this device" in lito.get("/ask/")
    lito.act("/leave/")
    assert "Type the code" in lito.get("/ask/")
    lito.act("/enter/", {"code": lito.code})
    lito.agree().get("situations/new/")


def test_a_name_that_is_taken_gets_a_number(project: Any, people: People) -> None:
    asks(opened(people["ana"], "writer"), "Ana")
    decide(people["ana"], "admit", "Ana")
    assert Membership.objects.filter(pseudonym="Ana 2", roles=["writer"]).exists()


def test_a_link_is_closed_remade_and_expires(project: Any, people: People) -> None:
    ana = people["ana"]
    first = opened(ana, "writer")
    assert first in ana.get("people/link/")  # a page shows it again, though its code is kept nowhere
    digits = re.sub(r"\D", "", first)
    assert not any(digits in str(row) for row in GroupLink.objects.values())
    asks(first, "Lito")
    ana.act("people/link/", {"action": "close", "link": GroupLink.objects.get().seed})
    assert first not in ana.get("people/link/")
    code = first.split("/")[2]
    assert "This is not the code" in Someone("").post("/enter/", {"code": code}, 403)
    decide(ana, "admit", "Lito")  # who asked before is decided on still
    second = opened(ana, "reviewer", days="1")
    assert second != first
    visitor = arrives(second)
    GroupLink.objects.filter(closed=None).update(until=timezone.now() - timedelta(seconds=1))
    assert "Type the code" in visitor.get("/ask/")  # also for a visit that began before
    assert "This is not the code" in Someone("").post("/enter/", {"code": second.split("/")[2]}, 403)
    assert 'id="wrong-roles"' in ana.post("people/link/", {"action": "open", "days": "7"}, 400)
    forged = {"action": "open", "days": "7", "roles": ["coordinator"]}
    assert 'id="wrong-roles"' in ana.post("people/link/", forged, 400)


def test_too_many_requests_are_refused(project: Any, people: People, monkeypatch: Any) -> None:
    monkeypatch.setattr(joining, "MOST_FROM_NETWORK", 2)
    address = opened(people["ana"], "writer")
    asks(address, "Lito")
    asks(address, "Mina")
    late = arrives(address)
    assert "Too many people ask" in late.post("/ask/", {"pseudonym": "Nemo", "agree": "on"}, 400)
    JoinRequest.objects.update(network="another")  # from elsewhere
    assert "A coordinator decides" in late.post("/ask/", {"pseudonym": "Nemo", "agree": "on"})
    monkeypatch.setattr(joining, "MOST_WAITING", 3)
    last = arrives(address)
    assert "Too many people ask" in last.post("/ask/", {"pseudonym": "Olga", "agree": "on"}, 400)


def test_a_request_that_nobody_decides_on_goes(project: Any, people: People) -> None:
    address = opened(people["ana"], "writer")
    lito = asks(address, "Lito")
    JoinRequest.objects.update(asked=timezone.now() - timedelta(days=31))
    assert waiting(people["ana"]) == {}
    assert "does not wait any more" in lito.get("/ask/")
    asks(address, "Mina")
    assert JoinRequest.objects.count() == 1


def test_who_is_in_another_project_stays_one_person(project: Any, people: People) -> None:
    commands.new_project("iba", language="fil")
    address, before = opened(people["ana"], "writer"), Person.objects.count()
    tala = enter(commands.find_project("iba"), "Tala", "writer")
    arrives(address, tala)
    assert "A coordinator decides" in tala.post("/ask/", {"pseudonym": "Tala", "agree": "on"})
    arrives(address, tala)
    tala.act("/ask/", {"pseudonym": "Tala B", "agree": "on"})  # once more: one request
    assert list(waiting(people["ana"])) == ["Tala B"]
    decide(people["ana"], "admit", "Tala B")
    assert Person.objects.count() == before + 1
    assert Membership.objects.filter(person__memberships__project__slug="iba", project=project).count() == 1
    assert "/p/baryo/" in tala.get("/projects/")
    arrives(address, tala)  # a member is led home


def test_slips_hold_project_role_code_and_picture(project: Any, people: People) -> None:
    address = opened(people["ana"], "writer")
    slips = re.search(r'href="/p/baryo/(people/link/\w+/slips/)"', people["ana"].get("people/link/"))
    assert slips
    page = people["ana"].get(slips[1] + "?n=5")
    assert page.count("data:image/svg+xml") == page.count(f"http://testserver{address}") == 5
    assert page.count("<strong><bdi>Baryo</bdi></strong>") == page.count("<p>writer</p>") == 5
    assert people["ana"].get(slips[1] + "?n=9999").count("data:image/svg+xml") == 12
    one = people["ana"].post("people/", {"action": "invite", "roles": ["writer", "rater"], "count": "2"})
    assert one.count("<strong><bdi>Baryo</bdi></strong>") == one.count("<p>writer, rater</p>") == 2


@pytest.mark.parametrize("path", ["/ask/", "/ask/0000-0000-0000-0000/"])
def test_without_a_link_there_is_nothing_to_ask(studio: Any, path: str) -> None:
    Someone("").get(path)
    Someone("").client.post("/ask/", {"pseudonym": "x", "agree": "on"})
    assert not JoinRequest.objects.exists()
