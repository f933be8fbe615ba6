"""Nobody inside can betray anybody: coming back, backups, what was withdrawn."""

import re
from typing import Any

import pytest
from studio_people import Someone


def author_of(name: str) -> str:
    from kapwa.studio.models import Membership

    return Membership.objects.get(pseudonym=name).author


def asked_back(who: Someone, name: str) -> str:
    """Let a coordinator make a code for a member who lost theirs; return it."""
    page = who.post("people/", {"action": "again", "author": author_of(name)})
    found = re.search(r'<p class="code">([\d-]+)<', page)
    assert found
    return found[1]


def answer_back(who: Someone, answer: str, status: int = 200) -> None:
    found = re.search(r'name="asked" value="(\w+)"', who.get("back/"))
    assert found
    who.post("back/", {"asked": found[1], "answer": answer}, status=status)


@pytest.mark.parametrize("second", ["edo", "dina"])
def test_a_coordinator_alone_becomes_no_member(project: Any, people: dict[str, Someone], second: str) -> None:
    from kapwa.studio.models import Event, Invitation

    ana, edo = people["ana"], people["edo"]
    edo.post("me/", {"action": "profile", "pseudonym": "Edo", "name": "Eduardo", "contact": "0917 555"})
    code = asked_back(ana, "Edo")
    intruder = Someone(project.slug)
    assert "opens nothing yet" in intruder.post("/enter/", {"code": code}, status=403)
    ana.post("back/", {"asked": Invitation.objects.latest("pk").code, "answer": "agree"}, status=404)
    people["berto"].post("back/", {"asked": Invitation.objects.latest("pk").code, "answer": "agree"}, status=404)
    assert "member.return" in edo.get("me/")
    # The member's own code and visit live; who agrees is another than who asked.
    Someone(project.slug).post("/enter/", {"code": edo.code})
    answer_back(people[second], "agree")
    assert edo.client.get(edo.full("")).status_code == 200
    back = Someone(project.slug).arrive(code, "")
    assert "Eduardo" in back.get("me/")
    assert "member.return-agreed" in back.get("me/")
    Someone(project.slug).post("/enter/", {"code": edo.code}, status=403)
    kinds = list(Event.objects.filter(subject=author_of("Edo")).order_by("seq").values_list("kind", "actor"))
    who = {name: author_of(name.capitalize()) for name in people}
    returned = [(kind, actor) for kind, actor in kinds if "return" in kind]
    assert returned == [
        ("member.return", who["ana"]),
        ("member.return-agreed", who[second]),
        ("member.returned", who["edo"]),
    ]


def test_a_code_that_is_refused_opens_nothing(project: Any, people: dict[str, Someone]) -> None:
    code = asked_back(people["ana"], "Edo")
    answer_back(people["edo"], "refuse")
    Someone(project.slug).post("/enter/", {"code": code}, status=403)
    assert people["edo"].client.get("/p/baryo/").status_code == 200
    # A session that held an invitation before it was made anew is worth nothing either.
    first = asked_back(people["ana"], "Edo")
    asked_back(people["ana"], "Edo")
    answer_back(people["dina"], "agree")
    Someone(project.slug).post("/enter/", {"code": first}, status=403)


def test_every_act_of_a_coordinator_on_people_is_in_the_log(project: Any, people: dict[str, Someone]) -> None:
    from kapwa.studio.models import Event

    ana, edo = people["ana"], author_of("Edo")
    Event.objects.all().delete()
    ana.post("people/", {"action": "invite", "roles": ["writer"], "count": "3"})
    ana.post("people/", {"action": "roles", "author": edo, "roles": ["writer", "scribe"]})
    ana.post("people/", {"action": "again", "author": edo})
    found = list(Event.objects.order_by("seq").values_list("kind", "actor", "subject", "body"))
    own = author_of("Ana")
    assert found == [
        ("member.invited", own, "", {"roles": ["writer"], "count": 3}),
        ("member.roles", own, edo, {"roles": ["writer", "scribe"]}),
        ("member.return", own, edo, {}),
    ]
    page = ana.get("log/")
    assert all(kind in page for kind, *_rest in found)
