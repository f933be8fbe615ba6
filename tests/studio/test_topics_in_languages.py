"""Topics that a form offers are read in the language of the page; labels are not doubled."""

import re
from typing import Any

import pytest
from studio_people import Someone, a_situation
from test_links_for_many import arrives, asks, opened

from kapwa.studio.core.interface import catalog
from kapwa.studio.models import Situation


@pytest.mark.parametrize("tag", ["am", "ar", "fil", "ko"])
def test_topics_are_read_in_the_language_of_the_page_and_kept_as_they_are(
    project: Any, people: dict[str, Someone], tag: str
) -> None:
    berto, read = people["berto"], catalog(tag).find("friendship").msgstr
    assert read not in ("", "friendship")
    berto.client.cookies["django_language"] = tag
    assert f'<option value="friendship">{read}</option>' in berto.get("situations/new/")
    berto.act("situations/new/", a_situation("Liza", topic="friendship"))
    assert Situation.objects.get().fields["topic"] == "friendship"
    for path in ("situations/1/", "situations/", "topics/"):
        page = berto.get(path)
        assert f"<bdi>{read}</bdi>" in page, path
        assert "<bdi>friendship</bdi>" not in page
    berto.act("topics/", {"name": "pista ng San Isidro", "usual": "drop"})
    assert "<bdi>pista ng San Isidro</bdi>" in berto.get("topics/")  # a project's own stay as they were typed


def test_a_label_has_the_english_beside_it_where_people_agree_and_nowhere_else(
    project: Any, people: dict[str, Someone]
) -> None:
    doubled = re.compile(r"Magpatuloy \[")
    stranger, edo = Someone(""), people["edo"]
    stranger.client.cookies["django_language"] = edo.client.cookies["django_language"] = "fil"
    page = stranger.get("/join/0000-0000-0000-0000/")
    assert "Magpatuloy" in page
    assert not doubled.search(page)
    assert "[" not in re.sub(r"<[^>]*>", "", edo.get("").partition("<main")[2].partition("</main>")[0])
    assert doubled.search(edo.get("consent/"))
    # Who asks to join agrees to something, too, and who lets them in decides.
    people["ana"].client.cookies["django_language"] = "fil"
    link = opened(people["ana"], "writer")
    asks(link, "Lito")
    assert "Papasukin sila [\u2066Let them in\u2069]" in people["ana"].get("people/link/")
    arrives(link, stranger)
    assert "[\u2066Coordinators may see this name, to decide" in stranger.get("/ask/")
