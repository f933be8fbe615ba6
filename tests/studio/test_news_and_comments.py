"""The bell tells people of their own things; comments on any item, which may name members."""

import re
from typing import Any

from studio_answers import ask
from studio_people import People, Someone, accepted, author_of, enter, send_to_review

from kapwa.studio import commands
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.log import differences
from kapwa.studio.models import Event, PromptPart


def told(who: Someone) -> list[str]:
    """What the page of news says, the newest first."""
    listed = who.get("news/").partition("<main")[2]
    return [re.sub("[\u2068\u2069]", "", text) for text in re.findall(r'<li><a href="[^"]+">([^<]+)</a>', listed)]


def unread(who: Someone, path: str = "") -> int:
    """The number at the bell of a page."""
    found = re.search(r'<span class="count" aria-hidden="true">(\d+)<', who.get(path))
    return int(found[1]) if found else 0


def comments(who: Someone, path: str) -> list[str]:
    talk = who.get(path).partition('id="talk"')[2].partition("<form")[0]
    return re.findall(r'<p class="text"[^>]*>([^<]*)</p>', talk)


def test_the_bell_counts_what_became_of_ones_own_items(project: Any, people: People) -> None:
    send_to_review(people["berto"], 1)
    accepted(people, 1, "carla", "edo")
    berto = people["berto"]
    assert told(berto) == ["Your situation 1 was accepted.", "The votes on your situation 1 are revealed."]
    assert unread(berto) == unread(berto, "topics/") == 2
    assert [unread(people[name]) for name in ("ana", "carla", "dina", "edo")] == [0, 0, 0, 0]
    page = berto.post("news/")  # the bell is a button
    assert page.count('<span class="state">new</span>') == 2
    assert unread(berto) == 0
    people["ana"].act("releases/", {"version": "1.0.0"})
    assert told(berto)[0] == "Release 1.0.0 has what you did."
    assert unread(berto) == 1
    assert berto.post("news/").count('<span class="state">new</span>') == 1
    assert "Ana" not in "".join(told(berto))  # who decided stands on the item's page, not here


def test_who_is_named_in_a_comment_is_told(project: Any, people: People) -> None:
    enter(project, "Ana Maria", "writer")
    enter(project, "Rita", "rater")  # who reads no situation
    people["berto"].act("situations/new/", {"language": "fil", "topic": "pista", "context": "Isang pista."})
    text = "Tingnan mo, @ana maria, at @EDO; hindi @Anabel, @Rita o edo@example.org."
    people["carla"].act("situations/1/discuss/", {"text": text})
    assert told(people["edo"]) == ["Somebody mentions you in a comment: Situation 1."]
    assert told(people["berto"]) == ["A comment on what you wrote: Situation 1."]
    assert told(people["ana"]) == told(people["carla"]) == []
    event = Event.objects.get(kind="situation.discussed")
    assert event.body["mentions"] == [author_of("Ana Maria"), author_of("Edo")]
    assert comments(people["edo"], "situations/1/") == [text]


def test_while_votes_are_hidden_a_comment_is_its_authors_alone(project: Any, people: People) -> None:
    send_to_review(people["berto"], 1)
    said = "Hindi ganito sa amin, @Carla."
    people["edo"].act("situations/1/discuss/", {"text": said})
    assert comments(people["edo"], "situations/1/") == [said]
    assert "Only you see this" in people["edo"].get("situations/1/").replace("only you", "Only you")
    for name in ("ana", "berto", "carla", "dina"):
        assert comments(people[name], "situations/1/") == []
        assert "Hindi ganito" not in people[name].get("search/?q=ganito")
        assert told(people[name]) == []
    assert people["edo"].get("search/?q=ganito").count("Hindi ganito") == 1
    rows = re.findall(r"<td[^>]*>discussed a situation</td>", people["ana"].get("log/"))
    assert len(rows) == 1  # in the sums of what people do alone, without a name
    assert str(Event.objects.get(kind="situation.discussed").uuid) in form_of(project).hidden(project)
    accepted(people, 1, "carla", "edo")
    assert comments(people["berto"], "situations/1/") == [said]
    assert "Somebody mentions you in a comment: Situation 1." in told(people["carla"])
    assert unread(people["carla"]) == 1  # also where they had read all before the reveal
    assert form_of(project).hidden(project) == set()
    assert differences(project) == []


def test_a_comment_goes_with_its_author(project: Any, people: People) -> None:
    people["berto"].act("situations/new/", {"language": "fil", "topic": "pista", "context": "Isang pista."})
    people["edo"].act("situations/1/discuss/", {"text": "Salamat, @Berto."})
    people["carla"].act("situations/1/discuss/", {"text": "Sang-ayon ako kay @Edo."})
    people["edo"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert comments(people["carla"], "situations/1/") == ["Sang-ayon ako kay @Edo."]
    assert [event.body["mentions"] for event in Event.objects.filter(kind="situation.discussed", erased=False)] == [[]]
    assert told(people["berto"]) == ["A comment on what you wrote: Situation 1."]


def test_questions_and_prompts_have_comments_too(everyday: Any, askers: People, studio: Any) -> None:
    ask(everyday, "아침에 무엇을 먹나요?", "ar")
    jun, minji = askers["jun"], askers["minji"]
    minji.act("questions/new/", {"text": "언제 자나요?", "language": "ko", "topic": "Sleep", "kind": "text"})
    jun.act("questions/4/discuss/", {"text": "@민지 언제가 맞나요?"})
    assert comments(minji, "translate/ko/4/") == ["@민지 언제가 맞나요?"]
    assert told(minji) == ["Somebody mentions you in a comment: Question 4."]
    askers["omar"].post("questions/4/discuss/", {"text": "x"}, 403)
    assert "맞나요" in minji.get("search/?q=맞나요")
    text = re.search(r'name="wording" value="([^"]+)"', jun.get("translate/ko/4/"))
    assert text
    jun.act("translate/ko/4/", {"action": "refuse", "wording": text[1], "reason": "말이 어색합니다"})
    assert told(minji)[0] == "Somebody does not agree to your words in: Question 4."
    minji.act("questions/4/retire/", {"reason": "둘입니다"})  # nobody is told of what they did themselves
    assert len(told(minji)) == 2

    other = commands.new_project("mga-tao", form="eecc", language="fil")
    tala, tomas = enter(other, "Tala", "writer"), enter(other, "Tomas", "reviewer")
    tala.act("prompts/identity/", {"identity": "Ugandan"})
    part = PromptPart.objects.get(project=other).id
    tomas.act(f"prompts/identity/{part}/discuss/", {"text": "Bakit ito, @Tala?"})
    assert comments(tala, f"prompts/identity/{part}/") == ["Bakit ito, @Tala?"]
    assert told(tala) == ["Somebody mentions you in a comment: Ugandan."]
