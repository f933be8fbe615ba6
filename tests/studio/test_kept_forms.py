"""The server's part of what browsers keep: a form that is sent again is taken once, and tells where to go on."""

from typing import Any

from studio_answers import answer, ask, member_of, merged
from studio_people import People, Someone, a_situation, enter

from kapwa.studio.models import Event, Question

NUMBER = "3f2b8a60-5a0e-4a52-9d3f-0a1b2c3d4e{:02x}"


def kept(who: Someone, path: str, fields: dict[str, Any], place: int, attempt: str = "once") -> Any:
    """Send a form as the script does; ``place`` makes its number."""
    fields = {**fields, "uuid": NUMBER.format(place)}
    return who.client.post(who.full(path), fields, headers={"Kapwa-Kept": attempt})


def events() -> int:
    return int(Event.objects.count())


def twice(who: Someone, path: str, fields: dict[str, Any], place: int) -> str:
    """Send a form, and again as if the answer had been lost; return where the first answer leads."""
    first = kept(who, path, fields, place)
    assert first.status_code == 204, first.content.decode()
    who.agree()  # to a new consent text, if it was one
    count = events()
    again = kept(who, path, fields, place, "again")
    assert (again.status_code, events()) == (204, count), again.content.decode()
    return str(first.headers["Kapwa-Onward"])


def test_a_form_that_is_sent_again_is_taken_once_on_every_page(project: Any, people: People) -> None:
    ana, berto, carla, dina = (people[name] for name in ("ana", "berto", "carla", "dina"))
    assert twice(berto, "situations/new/", a_situation("Liza"), 1) == "/p/baryo/situations/1/"
    changed = {**a_situation("Liza", user="Guro ako."), "base": "1"}
    twice(berto, "situations/1/edit/", changed, 2)
    twice(berto, "situations/1/submit/", {}, 3)
    twice(carla, "situations/1/vote/", {"round": "1", "choice": "accept", "best": "1", "remark": "oo"}, 4)
    twice(dina, "situations/1/reveal/", {}, 5)
    twice(carla, "situations/1/discuss/", {"text": "hindi", "dissent": "yes"}, 6)
    twice(berto, "topics/", {"name": "pista", "pasted": "kasal, aklat\nbinyag"}, 7)
    twice(berto, "elicit/", {"question": "experience", "text": "Noong bata ako", "language": "fil"}, 8)
    consent = {"action": "consent", "consent_fil": "Bagong kasunduan.", "consent_ar": "", "consent_en": "A new one."}
    twice(ana, "settings/", consent, 9)
    assert project.consents.order_by("version").last().version == 2
    berto.agree()
    twice(ana, "settings/", {"action": "project", "title": "Bagong baryo", "languages": "fil ar"}, 10)
    twice(berto, "me/", {"action": "profile", "pseudonym": "Bertong bago"}, 11)


def test_questions_wordings_and_answers_are_taken_once(everyday: Any, askers: People) -> None:
    minji, huda, omar = (askers[name] for name in ("minji", "huda", "omar"))
    many = {"kind": "text", "topic": "Food", "language": "ko", "text": "{때}에 뭘 먹나요?", "fillings": "설날\n추석"}
    twice(minji, "questions/new/", many, 1)
    assert Question.objects.filter(topic="Food").count() == 2
    asked = ask(everyday, "아침에 뭘 먹나요?")
    source = Question.objects.get(id=asked.id)
    path = f"translate/ar/{source.number}/"
    proposed = {"action": "propose", "text": "ماذا تأكل صباحًا؟", "source": source.text_event, "base": "", "note": ""}
    twice(huda, path, proposed, 2)
    wording = source.wordings.get(language="ar")
    twice(askers["jun"], path, {"action": "agree", "wording": wording.text_event}, 3)
    for name, text in (("A", "밥"), ("B", "흰밥")):
        answer(member_of(enter(everyday, name, "answerer")), asked, text)
    page = f"answers/{source.number}/?language=ko"
    keys = {group.head: group.key for group in groups(everyday, "ko")}
    twice(askers["ana"], page, {"action": "english", **{f"english_{key}": "rice" for key in keys.values()}}, 4)
    assert omar.get("me/")


def groups(project: Any, tag: str) -> list[Any]:
    return [group for one in merged(project, tag) for group in one.groups]


def test_another_content_or_person_is_never_taken_for_what_was_sent(project: Any, people: People) -> None:
    berto, carla = people["berto"], people["carla"]
    assert kept(berto, "elicit/", {"question": "experience", "text": "una"}, 1).status_code == 204
    count = events()
    # A first try with a number that is taken is no repetition: whoever typed it is told.
    assert kept(berto, "elicit/", {"question": "experience", "text": "iba"}, 1).status_code == 409
    assert kept(carla, "elicit/", {"question": "experience", "text": "una"}, 1, "again").status_code == 409
    assert kept(carla, "elicit/", {"question": "experience", "text": ""}, 1, "again").status_code == 400
    assert events() == count


def test_only_what_was_taken_leads_onward(project: Any, people: People) -> None:
    """Neither a refusal nor the way to the consent text is taken for an answer."""
    berto = people["berto"]
    assert kept(berto, "elicit/", {"question": "experience", "text": ""}, 1).status_code == 400
    people["ana"].act("settings/", {"action": "consent", "consent_fil": "Iba na."})
    asked = kept(berto, "elicit/", {"question": "experience", "text": "una"}, 2)
    assert (asked.status_code, asked.headers["Location"]) == (302, "/p/baryo/consent/")
    berto.agree()
    assert kept(berto, "elicit/", {"question": "experience", "text": "una"}, 2).status_code == 204
    berto.client.logout()
    assert kept(berto, "elicit/", {"question": "experience", "text": "una"}, 3).status_code == 403
