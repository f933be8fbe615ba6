"""What the project page tells of the whole: coverage as numbers and plots, and agreement with what it rests on."""

import re
from typing import Any

from studio_people import Someone, a_situation, accepted

from kapwa.studio.models import Topic


def test_coverage_is_drawn_as_it_is_counted(project: Any, people: dict[str, Someone]) -> None:
    people["ana"].act("topics/", {"name": "friendship", "target": "8"})
    people["ana"].act("topics/", {"name": "<b>food</b>"})
    for word in ("Liza", "Tomas"):
        people["berto"].act("situations/new/", a_situation(word, context=f"Dumating si {word} nang hindi inaasahan."))
    people["berto"].act("situations/1/submit/")
    accepted(people, 1, "carla", "edo")
    page = people["edo"].get("")
    topics, categories = (part.split("</table>")[0] for part in page.split('class="coverage"')[1:])
    row = topics[topics.index(">friendship<") :].split("</tr>")[0]
    assert re.findall(r'<td class="n">(\d+)', row) == ["2", "1", "8"]
    # On an axis to 8: written to a quarter, accepted to an eighth, a mark at its end.
    assert 'class="zone" x="0%" width="25%"' in row
    assert 'class="chance" x="0%" width="12.5%"' in row
    assert 'class="ceiling" x1="100%"' in row
    assert "<b>food" not in page
    assert ">ethics<" in categories
    assert "wanted" not in categories  # nobody said how many
    assert "style=" not in page


def test_a_place_at_which_the_best_response_mostly_stands_is_told(project: Any, people: dict[str, Someone]) -> None:
    words = ("Liza", "Tomas", "Nena", "Pedro", "Rosa", "Isko")
    for number, word in enumerate(words, start=1):
        assert "is number" not in people["ana"].get("")
        context = f"Dumating si {word} nang hindi inaasahan."
        people["berto"].act("situations/new/", a_situation(word, context=context, best="1" if number > 1 else "2"))
    assert "The best response is number 1 in 5 of 6 situations." in people["ana"].get("")
    people["berto"].act("situations/new/", a_situation("Luz", context="Umalis si Luz.", best="2"))
    people["berto"].act("situations/new/", a_situation("Ben", context="Umalis si Ben.", best="2"))
    assert "is number" not in people["ana"].get("")  # 5 of 8


def test_topics_are_pasted_as_a_sheet_copies_them_or_as_csv(project: Any, people: dict[str, Someone]) -> None:
    lines = (
        "Pagkain\tSurvey 2024, table 3",
        "Pagkain, inumin\t",
        '"Kasal, binyag", "Ang ""Kalahi"" na papel"',
        "Bayanihan, Census 2020, p. 4",
        "",
        "Bayanihan, again",
        '"Paaralan',
    )
    people["ana"].act("topics/", {"pasted": "\r\n".join(lines)})
    assert dict(Topic.objects.values_list("name", "source")) == {
        "Pagkain": "Survey 2024, table 3",
        "Pagkain, inumin": "",
        "Kasal, binyag": 'Ang "Kalahi" na papel',
        "Bayanihan": "Census 2020, p. 4",
        "Paaralan": "",
    }
