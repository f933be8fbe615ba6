"""The page of a desk: one task after another; what is wrong is said at the field, and what was typed stays."""

from typing import Any

import pytest
from studio_desk import answers
from studio_people import People, Someone
from studio_ratings import task_of

from kapwa.studio.core.desks import DeskTask, Field, Option, Shown, Work


def test_tasks_come_one_after_another_until_nothing_is_left(food: Any, answerer: Someone) -> None:
    assert "Questions about food (3)" in answerer.get("")
    assert "You have 3 tasks to do" in answerer.get("work/")
    filled = {"field_text": " pan de sal ", "field_how": "sure", "field_when": "night", "button": "answer"}
    page = answerer.get("work/food/")
    assert 'lang="fil" dir="ltr">Ano ang kinakain sa umaga, 1? (1)</p>' in page
    assert '<span lang="ar" dir="rtl">ليس</span>' in page
    page = answerer.post("work/food/", {**task_of(page)[0], **filled})
    assert "Saved." in page
    assert "umaga, 2?" in page
    # Another button needs no answer, and what stands in a field that does not count with it is not sent.
    page = answerer.post("work/food/", {**task_of(page)[0], **filled, "button": "unknown"})
    page = answerer.post("work/food/", {**task_of(page)[0], **filled})
    assert "There is nothing more for you to do here now" in page
    given = {"text": "pan de sal", "how": "sure", "when": "night", "place": "", "seen": "1"}
    assert answers() == [
        ("food-1", {**given, "button": "answer"}),
        ("food-2", {**given, "button": "unknown", "text": ""}),
        ("food-3", {**given, "button": "answer"}),
    ]
    assert "There is nothing for you to do" in answerer.get("work/")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"field_text": ""}, "Your answer: this field is empty."),
        ({"field_text": "x" * 4001}, "Your answer: A text has 4,001 characters"),
        ({"field_how": "maybe"}, "How sure are you?: “maybe” is not one of the choices."),
        ({"field_when": "dusk"}, "When?: “dusk” is not one of the choices."),
        ({"button": ""}, "How you finish the task: this field is empty."),
        ({"button": "other"}, "How you finish the task: “other” is not one of the choices."),
        ({"uuid": "no"}, "number is damaged"),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_stays(
    changed: dict[str, Any], said: str, food: Any, answerer: Someone
) -> None:
    filled = {"field_text": "kanin", "field_how": "sure", "field_when": "day", "field_place": "sa bahay"}
    sent = {**task_of(answerer.get("work/food/"))[0], **filled, "button": "answer", **changed}
    page = answerer.post("work/food/", sent, status=400)
    assert said in page.replace("&#x27;", "'")
    assert 'value="sa bahay"' in page
    assert "umaga, 1?" in page
    name = next(iter(changed))
    if name.startswith("field_"):
        assert f'id="wrong-{name.removeprefix("field_")}"' in page
    assert answers() == []


def test_the_text_that_was_seen_travels_with_the_answer(food: Any, answerer: Someone) -> None:
    sent = {**task_of(answerer.get("work/food/"))[0], "field_text": "kanin", "field_how": "sure", "button": "answer"}
    food.revision = 2
    assert "umaga, 2? (2)" in answerer.post("work/food/", sent)
    assert [body["seen"] for _, body in answers()] == ["1"]
    # Sent again it counts once; with another content it is refused, and stays in the form.
    answerer.act("work/food/", sent)
    page = answerer.post("work/food/", {**sent, "field_text": "lugaw"}, status=409)
    assert "already sent with different content" in page
    assert "lugaw</textarea>" in page
    assert len(answers()) == 1


def test_a_desk_is_for_its_roles_and_a_task_must_have_been_shown(
    project: Any, food: Any, answerer: Someone, people: People
) -> None:
    assert ">Work<" not in people["berto"].get("")
    assert "work/food/" not in people["berto"].get("work/")
    sent = {"subject": "food-1", "seen": "1", "field_text": "x", "field_how": "sure", "button": "answer"}
    for path in ("work/food/", "work/other/"):
        people["berto"].get(path, status=400)
        people["berto"].post(path, sent, status=400)
    for wrong in ({"subject": "food-9"}, {"seen": "2"}, {"subject": ""}):
        assert "There is no such task" in answerer.post("work/food/", {**sent, **wrong}, status=400)
    assert answers() == []


def test_what_people_wrote_is_text_on_every_page_of_a_desk(food: Any, answerer: Someone, monkeypatch: Any) -> None:
    bad = "\"'><script>alert(7)</script>{{7777*7}}</textarea>=1+1"
    fields = (Field("text", bad, "long"), Field("how", bad, "choice", (Option(bad, bad, bad),)))
    task = DeskTask("food", "food-1", bad, (Shown(bad, bad, bad),), fields, (Option("answer", bad, "fil"),))
    monkeypatch.setattr(food, "draw", lambda member, count: Work([task], 1))
    monkeypatch.setattr(food, "find", lambda member, subject, seen: task)
    monkeypatch.setattr(food, "title", lambda: bad)
    sent = {"subject": "food-1", "seen": bad, "field_text": bad, "field_how": "other", "button": "answer"}
    pages = [answerer.get(path) for path in ("", "work/", "work/food/", "work/food/sheet/", "work/food/batch/")]
    pages += [answerer.get("sync/"), answerer.post("work/food/", sent, status=400)]
    for page in pages:
        assert "alert(7)" in page
        assert "<script>alert" not in page
        assert "</textarea>=" not in page
        assert "54439" not in page
