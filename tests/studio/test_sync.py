"""Batches to take along, and records that come from devices: each answered for alone, counted once, never another's."""

import gzip
import json
import uuid
from typing import Any

from django.db import transaction
from django.templatetags.static import static
from studio_answers import ask
from studio_people import People, Someone, enter, erase

from kapwa.studio import commands
from kapwa.studio.core.log import record
from kapwa.studio.models import Event
from kapwa.suites.kalahi.data import read_situations


def a_record(who: Someone, subject: str = "food-1", **changes: Any) -> dict[str, Any]:
    return {
        "uuid": str(uuid.uuid4()),
        "person": who.client.cookies["kapwa_here"].value,
        "desk": "food",
        "subject": subject,
        "seen": "1",
        "values": {"text": "kanin", "how": "sure", "button": "answer"},
        "device_time": "2026-11-01T08:00:00+08:00",
        **changes,
    }


def send(who: Someone, *records: Any, status: int = 200) -> list[int]:
    """Send records; returns the status of each."""
    answer = who.client.post(who.full("sync/"), json.dumps({"records": records}), content_type="application/json")
    assert answer.status_code == status, answer.content
    return [one["status"] for one in answer.json().get("records", [])]


def events(kind: str = "food.answered") -> Any:
    return Event.objects.filter(kind=kind).order_by("seq")


def travelled(who: Someone, desk: str) -> tuple[dict[str, Any], int]:
    """A batch, and its size as it travels."""
    found = who.client.get(who.full(f"work/{desk}/batch/"), headers={"accept-encoding": "gzip"})
    assert found.headers["Content-Encoding"] == "gzip"
    assert found.headers["Cache-Control"] == "no-store"
    batch = json.loads(gzip.decompress(found.content))
    print(f"a batch of {len(batch['tasks'])} tasks of {desk}: {len(found.content):,} bytes")
    return batch, len(found.content)


def test_a_batch_has_fifty_tasks_with_all_that_a_phone_shows(food: Any, answerer: Someone) -> None:
    food.count = 60
    found, size = travelled(answerer, "food")
    assert (found["desk"], found["title"], len(found["tasks"])) == ("food", "Questions about food", 50)
    assert found["directions"] == {"ar": "rtl", "fil": "ltr"}
    second = found["tasks"][1]
    assert (second["subject"], second["seen"], len(second["fields"])) == ("food-2", "1", 4)
    assert second["shown"] == [
        {"label": "Question", "text": "Ano ang kinakain sa umaga, 2? (1)", "language": "fil"},
    ]
    assert second["fields"][1]["options"][1] == {"value": "not", "text": "ليس", "language": "ar"}
    assert size < 5_000
    answer = answerer.client.get(answerer.full("work/other/batch/"))
    assert answer.json()["error"].startswith("This work is not open")


def test_a_batch_of_real_texts_fits_a_poor_network(project: Any, answerer: Someone) -> None:
    project.form = "blend"
    project.save()
    situations = [one for one in read_situations("sample:filipino")[0] if one.variant == "full"]
    for number in range(50):
        ask(project, f"{number}. {situations[number % len(situations)].fields['prompt'][:120]}")
    found, size = travelled(answerer, "answers")
    assert len(found["tasks"]) == 50
    assert size <= 100_000


def test_records_are_counted_once_and_a_refused_one_stops_no_other(food: Any, answerer: Someone) -> None:
    first, bad, second = (a_record(answerer, f"food-{n}") for n in (1, 2, 3))
    bad["values"] = {"text": "", "how": "sure", "button": "answer"}
    assert send(answerer, first, bad, second) == [200, 422, 200]
    assert send(answerer, first, second) == [200, 200]
    assert [event.subject for event in events()] == ["food-1", "food-3"]
    assert events()[0].device_time.isoformat() == "2026-11-01T00:00:00+00:00"


def test_another_content_under_the_same_number_is_kept_beside_the_first(food: Any, answerer: Someone) -> None:
    first = a_record(answerer)
    other = {**first, "values": {**first["values"], "text": "lugaw"}}
    assert send(answerer, first, other) == [200, 409]
    assert send(answerer, other, first) == [409, 200]
    assert [event.body["text"] for event in events()] == ["kanin"]
    kept = events("record.conflicting").get()
    assert (kept.body["uuid"], kept.body["text"], kept.subject) == (first["uuid"], "lugaw", "food-1")


def test_what_was_kept_beside_goes_with_its_author(project: Any, food: Any, answerer: Someone) -> None:
    first = a_record(answerer)
    send(answerer, first, {**first, "values": {**first["values"], "text": "KANARYO"}})
    erase(project, events("record.conflicting").get().actor)
    assert "KANARYO" not in str(list(events("record.conflicting").values()))


def test_what_was_kept_beside_goes_with_the_words_of_others_in_it(
    project: Any, food: Any, answerer: Someone, monkeypatch: Any
) -> None:
    words = "Batiin mo siya at kumustahin, sabi ni KANARYO."
    with transaction.atomic():
        body = {"changes": {"language": "fil", "user": words}}
        situation = record(project, "situation.drafted", body, actor="writer")
    own = food.body
    monkeypatch.setattr(
        food, "body", lambda member, task, values: own(member, task, values) | {"remark": values["place"]}
    )
    first = a_record(answerer)
    quoting = {**first, "values": {**first["values"], "place": words, "text": "lugaw"}}
    assert send(answerer, first, quoting) == [200, 409]
    kept = events("record.conflicting").get()
    assert "KANARYO" in kept.body["remark"]
    monkeypatch.setattr(food, "body", lambda *given: own(*given) | {"situation": str(situation.uuid)})
    second = a_record(answerer, "food-2")
    assert send(answerer, second, {**second, "values": {**second["values"], "text": "tuyo"}}) == [200, 409]
    erase(project, "writer")
    kept.refresh_from_db()
    assert (kept.body["remark"], kept.body["text"]) == ("", "lugaw")
    assert [one.erased for one in events("record.conflicting").order_by("seq")] == [False, True]


def test_nobody_sends_what_another_filled_in(project: Any, food: Any, answerer: Someone) -> None:
    other = enter(project, "Hana", "answerer")
    mine, theirs = a_record(answerer), a_record(other, "food-2")
    assert mine["person"] != theirs["person"]
    assert send(other, mine, theirs) == [403, 200]
    assert send(answerer, mine) == [200]
    assert len({event.actor for event in events()}) == 2
    # One phone, one after the other: the cookie follows the visit, and goes with it.
    shared = answerer.client
    shared.post("/leave/")
    assert shared.cookies["kapwa_here"].value == ""
    answer = shared.post(answerer.full("sync/"), "{}", content_type="application/json")
    assert (answer.status_code, answer.json()["error"]) == (401, "You are signed out. Sign in again.")
    code = commands.invite_people(project, ["answerer"], 1, "")[0].code
    answerer.arrive(code, "Ines").agree()
    assert shared.cookies["kapwa_here"].value not in ("", mine["person"])
    assert send(answerer, a_record(answerer, person=mine["person"])) == [403]


def test_damaged_records_are_refused_alone(food: Any, answerer: Someone) -> None:
    fields = [{"uuid": "no"}, {"uuid": 7}, {"desk": "other"}, {"subject": "food-77"}, {"subject": "x" * 300}]
    values = [None, {"text": {"a": 1}}, {"text": ["kanin"]}]
    for broken in (*fields, {"seen": "2"}, *({"values": value} for value in values)):
        statuses = send(answerer, a_record(answerer, **broken), "text", None, [], a_record(answerer))
        assert statuses == [422] * 4 + [200], broken


def test_a_strange_clock_loses_no_answer(food: Any, answerer: Someone) -> None:
    clocks = ["yesterday", "", "9999-12-31T23:59:59-12:00", "+010000-01-01T00:00:00.000Z", 1e30]
    assert send(answerer, *(a_record(answerer, device_time=clock) for clock in clocks)) == [200] * len(clocks)
    assert [event.device_time for event in events()] == [None] * len(clocks)


def test_what_is_no_list_of_records_is_refused(food: Any, answerer: Someone, monkeypatch: Any) -> None:
    for body in ("", "no", "[]", '{"records": 1}', "[" * 100_000, json.dumps({"records": [1] * 201})):
        answer = answerer.client.post(answerer.full("sync/"), body, content_type="application/json")
        assert (answer.status_code, "error" in answer.json()) == (400, True), body[:20]
    many = json.dumps({"records": ["x" * 6_000_000]})
    answer = answerer.client.post(answerer.full("sync/"), many, content_type="application/json")
    assert answer.status_code == 400
    # A fault of ours in one record is that record's alone.
    body = food.body

    def faulty(member: Any, task: Any, values: Any) -> Any:
        return 1 / 0 if task.subject == "food-1" else body(member, task, values)

    monkeypatch.setattr(food, "body", faulty)
    assert send(answerer, a_record(answerer), a_record(answerer, "food-2")) == [500, 200]


def test_the_page_that_browsers_keep_says_nothing_of_anybody(project: Any, food: Any, answerer: Someone) -> None:
    other = enter(project, "Hana", "answerer", "coordinator")
    page = answerer.get("phone/")
    assert page == other.get("phone/")
    for personal in ("Gina", "csrfmiddlewaretoken", answerer.client.cookies["kapwa_here"].value):
        assert personal not in page
    worker = answerer.client.get(static("studio/worker.js"))
    assert (worker.status_code, worker.headers["Service-Worker-Allowed"]) == (200, "/p/")
    assert "Service-Worker-Allowed" not in answerer.client.get(static("studio/phone.js")).headers
    manifest = answerer.client.get("/p/baryo/phone/manifest.json")
    assert (manifest.json()["start_url"], manifest.json()["name"]) == ("/p/baryo/phone/", "Baryo")
    assert "manifest-src 'self'" in manifest.headers["Content-Security-Policy"]


def test_who_is_here_and_what_there_is_to_do(food: Any, answerer: Someone, people: People) -> None:
    found = answerer.client.get(answerer.full("sync/")).json()
    assert found["desks"] == [{"name": "food", "title": "Questions about food", "left": 3}]
    assert found["person"] == answerer.client.cookies["kapwa_here"].value
    assert people["berto"].client.get("/p/baryo/sync/").json()["desks"] == []
