"""The menu by role, Home as a path with news, lists that can be searched, and errors beside their fields."""

import re
from typing import Any

import pytest
from studio_answers import ask
from studio_people import Someone, a_situation, author_of, enter

from kapwa.studio.core.forms import form_of
from kapwa.studio.models import Event, Situation


def places(who: Someone, path: str = "") -> list[str]:
    """What the menu offers on a page."""
    bar = who.get(path).partition('<nav aria-label="Project">')[2].partition("</nav>")[0]
    return re.findall(r'<a href="[^"]+"[^>]*>([^<]+)</a>', bar)


def pages(who: Someone, path: str) -> list[str]:
    """The pages of the place in which a page is, the current one with a star."""
    row = who.get(path).partition('<nav class="pages"')[2].partition("</nav>")[0]
    return [text + "*" * bool(mark) for mark, text in re.findall(r'<a href="[^"]+"([^>]*)>([^<]+)</a>', row)]


def test_the_menu_has_a_few_places_by_role(project: Any, people: dict[str, Someone]) -> None:
    assert places(people["ana"]) == ["Home", "My work", "Items", "People", "Manage", "Search"]
    assert places(people["berto"]) == ["Home", "My work", "Items", "Search"]
    assert places(enter(project, "Vina", "validator")) == ["Home", "My work", "Search"]
    assert pages(people["berto"], "situations/new/") == ["Situations*", "Questions", "Topics", "Sessions"]
    assert pages(people["edo"], "topics/") == ["Situations", "Topics*", "Sessions"]  # whose pages one may read
    assert pages(people["ana"], "log/") == ["Releases", "Ratings", "Settings", "Backup", "Log*"]
    assert pages(people["ana"], "") == []


def test_home_leads_who_moderates_to_drafts_that_were_imported(project: Any, people: dict[str, Someone]) -> None:
    form_of(project).take_in(project, "sample:filipino")
    begins = people["ana"].get("").partition("Write a situation")[0]
    assert "/situations/1/" in begins
    assert "Send to review" in begins
    assert "Send to review" not in people["berto"].get("")  # a writer, of whom they are not


def found(who: Someone, query: str, path: str = "situations/") -> list[str]:
    table = who.get(f"{path}?{query}").partition('<table class="list">')[2].partition("</table>")[0]
    return re.findall(r'<th scope="row"[^>]*><a [^>]*>([^<]+)</a>', table)


def test_a_list_is_searched_filtered_and_paged(project: Any, people: dict[str, Someone]) -> None:
    for number, (name, word, topic) in enumerate((("berto", "Liza", "friendship"), ("carla", "Tomás", "health")), 1):
        context = f"Nakita ko si {word} kahapon."
        people[name].act("situations/new/", a_situation(word, context=context, topic=topic))
        if number == 1:
            people[name].act("situations/1/submit/")
    edo = people["edo"]
    assert found(edo, "") == ["1", "2"]
    assert found(edo, "q=Tomás") == found(edo, "fields__topic=health") == found(edo, "state=draft") == ["2"]
    assert found(edo, f"author={author_of('Berto')}") == ["1"]
    assert found(edo, "fields__language=fil") == ["1", "2"]
    assert "No situation fits this." in edo.get("situations/?q=nowhere")
    assert found(edo, "state=no+such+state") == ["1", "2"]  # what is no choice chooses nothing
    first = Situation.objects.get(number=1)
    for number in range(3, 54):
        first.pk, first.number = f"row-{number}", number
        first.save(force_insert=True)
    assert len(found(edo, "")) == 50
    assert found(edo, "page=2") == ["51", "52", "53"]
    assert "state=in+review&amp;page=2" in edo.get("situations/?state=in+review")


def test_questions_are_found_by_their_words_topic_and_state(everyday: Any, askers: dict[str, Someone]) -> None:
    ask(everyday, "아침에 무엇을 먹나요?", "ar")
    askers["minji"].act("questions/new/", {"text": "언제 자나요?", "language": "ko", "topic": "Sleep", "kind": "text"})
    jun = askers["jun"]
    assert found(jun, "", "questions/") == ["Prompt 1", "Prompt 2", "Question 3", "Question 4"]
    assert found(jun, "q=아침", "questions/") == found(jun, "topic=Food", "questions/") == ["Question 3"]
    assert found(jun, "state=proposed", "questions/") == ["Question 4"]
    assert found(jun, "state=approved&language=ar", "questions/") == ["Question 3"]


@pytest.mark.parametrize(
    ("who", "path", "typed", "field"),
    [
        ("dina", "sessions/", {"title": "Unang pulong"}, "attendees"),
        ("berto", "glossary/", {"name": "pista", "text": "", "language": "en"}, "text"),
        ("berto", "elicit/", {"question": "experience", "text": " ", "language": "fil"}, "text"),
        ("berto", "topics/", {"name": "pista", "target": "many"}, "target"),
        ("ana", "settings/", {"action": "work", "quorum": "0"}, "quorum"),
        ("ana", "settings/", {"action": "languages", "languages": "Klingonish!"}, "languages"),
        ("ana", "people/", {"action": "invite", "count": "2"}, "roles"),
        ("edo", "me/", {"action": "profile", "pseudonym": "Ana"}, "pseudonym"),
    ],
)
def test_an_error_stands_beside_its_field_and_what_was_typed_stays(
    people: dict[str, Someone], who: str, path: str, typed: dict[str, str], field: str
) -> None:
    before = Event.objects.count()
    page = people[who].post(path, typed, 400)
    assert re.findall(r'class="wrong" id="wrong-(\w+)" role="alert"', page) == [field]
    assert Event.objects.count() == before
    assert "<h1>That did not work</h1>" not in page
