"""What one has to do, one's drafts and what one has done; and how far a long import is."""

import re
from typing import Any

from studio_answers import answer, ask, member_of
from studio_people import Someone, a_situation, send_to_review

from kapwa.studio.models import Event, Situation

HEAD = "topic,context,instruction,best,relevant_1,irrelevant_1"


def listed(who: Someone, queue: str) -> list[tuple[str, str]]:
    """The titles and states of a queue of one's own."""
    page = re.sub("[\u2068\u2069]", "", who.get(f"work/?show={queue}"))
    rows = re.findall(r"<bdi>([^<]+)</bdi></a></th>.*?<span class=\"state\">([^<]+)<", page)
    assert page.count('aria-current="page"') >= 1
    return rows


def test_drafts_and_what_is_done_are_ones_own(project: Any, people: dict[str, Someone]) -> None:
    berto, carla = people["berto"], people["carla"]
    send_to_review(berto, 1)
    berto.act("situations/new/", a_situation("Tomas", context="Iba naman ito."))
    assert listed(berto, "drafts") == [("Situation 2", "draft")]
    assert listed(berto, "done") == [("Situation 1", "in review")]
    assert listed(carla, "drafts") == listed(carla, "done") == []
    assert "You have no drafts." in carla.get("work/?show=drafts")
    assert "You have finished nothing yet." in carla.get("work/?show=done")
    assert 'href="/p/baryo/work/?show=drafts"' in berto.get("work/")


def test_answers_are_found_again_and_corrected(everyday: Any, askers: dict[str, Someone]) -> None:
    question = ask(everyday, "아침에 무엇을 먹나요?", "ar")
    omar = askers["omar"]
    answer(member_of(omar), question, "خبز", language="ar")
    link = re.search(r'href="([^"]+again=[^"]+)">[^<]+: Correct it<', omar.get("work/?show=done"))
    assert link
    assert "خبز" in omar.get("work/?show=done")
    assert 'value="خبز"' in omar.get(link[1])
    assert "خبز" not in askers["jun"].get("work/?show=done")
    minji = listed(askers["minji"], "done")
    assert ("Question 3, 한국어", "agreed") in minji or minji == []


def test_ratings_at_desks_of_one_kind_lead_each_to_its_own(answerer: Someone) -> None:
    answerer.act(
        "work/food/", {"field_subject": "food-1", "field_seen": "1", "field_button": "unknown", "field_how": "sure"}
    )
    page = answerer.get("work/?show=done")
    assert "/work/food/?again=food-1" in page


def rows_of(count: int, first: int = 1) -> str:
    lines = (f"pista,Pista sa barangay {n}.,Ano ang gagawin mo?,Pupunta ako.,Pupunta ako.,Aalis." for n in range(count))
    return "\n".join([HEAD, *lines])


def test_a_long_import_says_how_far_it_is(project: Any, people: dict[str, Someone]) -> None:
    berto = people["berto"]
    sent = {"pasted": rows_of(450), "role": "situations", "action": "import"}
    answer = berto.client.post(berto.full("import/"), sent)
    assert answer.streaming
    parts = [part.decode() for part in answer.streaming_content]
    told = [
        re.search(r'(\d+) of (\d+)</p><progress max="450" value="(\d+)" aria-label="[^"]+">', part) for part in parts
    ]
    assert [found.groups() for found in told if found] == [
        ("200", "450", "200"),
        ("400", "450", "400"),
        ("450", "450", "450"),
    ]
    assert "450 rows were imported." in parts[-2]
    assert parts[-1].rstrip().endswith("</html>")
    assert Situation.objects.filter(project=project).count() == 450
    assert Event.objects.get(kind="items.brought").body == {"new": 450}
    again = b"".join(berto.client.post(berto.full("import/"), sent).streaming_content).decode()
    assert "0 rows were imported. 450 were already here." in again
    small = berto.client.post(berto.full("import/"), sent | {"pasted": rows_of(200)})
    assert not small.streaming
