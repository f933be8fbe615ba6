"""What leads people: the menu, their next step, lists, the task after a task, their own work, a visit that ended."""

import html
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from studio_answers import answer, answerers, ask, decide, member_of
from studio_people import URL, People, Someone, a_situation, accepted, author_of, enter, recorded, send_to_review
from test_links_for_many import arrives, asks, opened

from kapwa.studio import commands
from kapwa.studio.core.desks import DESKS
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.interface import catalog
from kapwa.studio.core.log import differences
from kapwa.studio.core.text import key_of
from kapwa.studio.core.views.listing import FEW
from kapwa.studio.models import Elicited, Event, Question, Situation, Topic

DOCS = Path(__file__).parents[2] / "docs"
HELP = Path(__file__).parents[2] / "src/kapwa/studio/templates/studio/help"


def first_step(who: Someone) -> tuple[str, str]:
    """The name and the address of what home says that somebody does next."""
    button = r'<a class="button" href="([^"]+)">([^<]+?) *(?:<span class="state">\d+</span>)?</a>'
    found = re.search(button, who.get(""))
    return (html.unescape(found[2]), found[1].removeprefix(f"/p/{who.project}/")) if found else ("", "")


def stages(who: Someone) -> list[str]:
    """The stages of the project as home shows them, without markup."""
    shown = who.get("").partition('<ol class="path">')[2].partition("</ol>")[0]
    shown = re.sub("<progress[^>]*></progress>", "", shown)
    return [" ".join(re.sub("<[^>]+>", " ", stage).split()) for stage in shown.split("</li>")[:-1]]


def test_home_says_the_next_step_of_each_and_for_whom_each_stage_waits(project: Any, people: People) -> None:
    ana, berto, carla, dina, edo = (people[name] for name in ("ana", "berto", "carla", "dina", "edo"))
    assert first_step(berto) == ("Write a situation", "situations/new/")
    assert "There is nothing for you to do now." in edo.get("")
    assert stages(edo)[:2] == ["Topics 0 Waiting for: writers", "Situations written 0 Waiting for: writers"]
    berto.act("situations/new/", a_situation("Liza"))
    assert first_step(berto) == ("Finish your draft 1", "situations/1/")
    berto.act("situations/1/submit/")
    assert first_step(edo) == ("Vote on situation 1", "situations/1/")
    assert "Situation 1: 0 of 3 have voted." in stages(edo)[2]  # Carla, Dina and Edo may
    for who in (carla, dina, edo):
        who.act("situations/1/vote/", {"round": "1", "choice": "accept", "best": "1"})
    assert first_step(dina) == ("Reveal the votes on situation 1", "situations/1/")
    assert "Situation 1: 3 of 3 have voted. Reveal the votes." in stages(edo)[2]
    assert "Situation 1" not in enter(project, "Vina", "validator").get("")
    dina.act("situations/1/reveal/")
    assert first_step(carla) == ("Discuss situation 1", "situations/1/")
    dina.act("situations/1/accept/")
    assert first_step(ana)[1] == "releases/"
    mine = edo.get("").partition("What you have done")[2]
    assert "voted on a situation: 1" in mine
    assert "Thank you." in mine
    assert "What you have done" not in enter(project, "Nena", "reviewer").get("")


def test_every_form_tells_its_path(everyday: Any, askers: People) -> None:
    assert stages(askers["omar"])[0] == "Questions written 0 Waiting for: writers"
    assert 'href="/p/araw/questions/"' not in askers["omar"].get("")  # who answers reads no list
    assert first_step(askers["minji"])[1] == "translate/ko/1/"  # the two prompts are to be worded
    mundo = commands.new_project("mundo", form="eecc", culture="many", language="en")
    writer = enter(mundo, "W", "writer")
    assert first_step(writer) == ("Add: Concepts", "prompts/concept/")
    assert stages(writer) == [f"{name} 0 Waiting for: writers" for name in ("Concepts", "Identities", "Templates")] + [
        "Releases 0 Waiting for: coordinators"
    ]


def test_questions_that_a_release_lacks_are_awaited_of_writers_first(everyday: Any, askers: People) -> None:
    lacks = re.compile(r'<a href="([^"]+)">questions to which two people agree</a><p class="hint">Waiting for: (\w+)')
    assert lacks.findall(askers["ana"].get("")) == [("/p/araw/questions/", "writers")]
    askers["minji"].act("questions/new/", {"text": "언제 자나요?", "language": "ko", "topic": "Sleep", "kind": "text"})
    assert lacks.findall(askers["ana"].get("")) == [("/p/araw/translate/", "translators")]


def test_the_next_task_follows_a_task(project: Any, people: People) -> None:
    for word in ("Liza", "Tomas", "Rosa"):
        people["berto"].act("situations/new/", a_situation(word, context=f"Dumating si {word} nang hindi inaasahan."))
    after = people["berto"].client.post("/p/baryo/situations/1/submit/")
    assert after["Location"] == "/p/baryo/situations/2/"  # the next draft
    for number in (2, 3):
        people["berto"].act(f"situations/{number}/submit/")
    vote = {"round": "1", "choice": "accept", "best": "1"}
    places = [people["edo"].client.post(f"/p/baryo/situations/{n}/vote/", vote)["Location"] for n in (1, 2, 3)]
    assert places == ["/p/baryo/situations/2/", "/p/baryo/situations/3/", "/p/baryo/"]


@pytest.fixture
def worded(everyday: Any, askers: People) -> list[str]:
    """26 questions whose words wait for agreement; their texts."""
    texts = [f"아침에 무엇을 먹나요, {place}?" for place in range(1, 27)]
    for text in texts:
        askers["minji"].act("questions/new/", {"text": text, "language": "ko", "topic": "Food", "kind": "text"})
    return texts


def shown(page: str) -> list[str]:
    return re.findall(r'name="shown" value="([^"]+)"', page)


def test_26_wordings_are_agreed_to_with_one_press_and_exceptions(
    everyday: Any, askers: People, worded: list[str]
) -> None:
    jun = askers["jun"]
    page = jun.get("translate/ko/")
    texts = shown(page)
    assert len(texts) == 26
    assert all(text in page for text in worded)  # nothing is agreed to unseen
    changed = Question.objects.get(text=worded[4])
    body = {"text": "점심에 무엇을 먹나요?", "topic": "Food", "kind": "text", "base": changed.text_event}
    askers["minji"].act(f"questions/{changed.number}/edit/", body)
    except_two = {"uuid": "11111111-1111-4111-8111-111111111111", "shown": texts[:25], "except": texts[:2]}
    assert "Write what is wrong with the text" in jun.post("translate/ko/", except_two, 400)
    assert not Event.objects.filter(kind__in=("wording.agreed", "wording.refused")).exists()  # all of it, or nothing
    except_two |= {f"reason_{one.partition(':')[0]}": "Not so here." for one in texts[:2]}
    for _twice in range(2):
        after = jun.post("translate/ko/", except_two)
        assert "1 text was changed while you read it." in after
        agreed = Event.objects.filter(kind="wording.agreed")
        assert agreed.count() == 22  # 26, less two exceptions, one that was not shown, and one that changed
        refused = Event.objects.filter(kind="wording.refused")
        assert list(refused.values_list("body__reason", flat=True)) == ["Not so here."] * 2
    assert Counter(agreed.values_list("subject", flat=True)).most_common(1)[0][1] == 1
    # What was refused does not come back: the next press would agree to it.
    assert sorted(shown(after)) == sorted([texts[25], *(one for one in shown(after) if one not in texts)])
    assert len(shown(after)) == 2
    after = askers["minji"].post("translate/ko/", {"shown": texts[:1]})  # one's own words
    assert agreed.count() == 22
    assert differences(everyday) == []


def test_after_a_wording_comes_the_next(askers: People, worded: list[str]) -> None:
    numbers = list(Question.objects.filter(text__in=worded).order_by("number").values_list("number", flat=True))
    word = Question.objects.get(number=numbers[2]).text_event
    path = f"/p/araw/translate/ko/{numbers[2]}/"
    after = askers["jun"].client.post(path, {"action": "agree", "wording": word})
    assert after["Location"] == f"/p/araw/translate/ko/{numbers[3]}/"


OURS = {"origin": URL, "referer": f"{URL}/p/baryo/elicit/"}


def test_an_ended_visit_keeps_what_was_typed_for_the_same_person(project: Any, people: People) -> None:
    berto = people["berto"]
    page = berto.get("elicit/")
    uuid = re.search(r'name="uuid" value="([^"]+)"', page)
    question = re.search(r'name="question" value="([^"]+)"', page)
    assert uuid
    assert question
    typed = {"uuid": uuid[1], "question": question[1], "text": "rice", "language": "fil"}
    berto.client.cookies["sessionid"] = ""
    page = berto.client.post(berto.full("elicit/"), typed, headers=OURS).content.decode()
    assert "Come in again" in page
    assert ">rice</pre>" in page
    assert 'name="next" value="/p/baryo/elicit/"' in page
    kept = html.unescape(re.search(r'name="kept" value="([^"]+)"', page)[1])  # type: ignore[index]
    wrong = berto.post("/enter/", {"code": "0000-0000-0000-0000", "kept": kept, "next": "/p/baryo/elicit/"}, status=403)
    assert html.escape(kept) in wrong
    stranger = people["carla"].again()
    stranger.client.cookies["sessionid"] = ""
    assert "rice" not in stranger.post("/enter/", {"code": people["carla"].code, "kept": kept, "next": ""})
    page = berto.post("/enter/", {"code": berto.code, "kept": kept, "next": "/p/baryo/elicit/"})
    assert "You are signed in again" in page
    assert ">rice</textarea>" in page
    assert 'action="/p/baryo/elicit/"' in page
    again = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page.partition('id="typed"')[2]))
    berto.act("elicit/", again | {"text": "rice"})
    assert Elicited.objects.get().text == "rice"
    # A form of another site is not kept to be sent.
    berto.client.cookies["sessionid"] = ""
    foreign = berto.client.post(berto.full("elicit/"), typed, headers={"origin": "https://evil.test"}).content.decode()
    assert 'name="kept"' not in foreign
    broken = berto.post("/enter/", {"code": berto.code, "kept": '["https://evil.test/", "x", 3]', "next": ""})
    assert "signed in again" not in broken


def test_a_refused_form_stays_a_form(project: Any, people: People) -> None:
    edo = people["edo"]
    sent = {"text": "x" * 4001, "dissent": "yes"}
    people["berto"].act("situations/new/", a_situation("Liza"))
    page = edo.client.post(edo.full("situations/1/discuss/"), sent, headers=OURS).content.decode()
    assert "it may have 4,000" in page
    assert '<form method="post" action="/p/baryo/situations/1/discuss/">' in page
    assert f"{sent['text']}</textarea>" in page
    assert 'name="dissent" value="yes" checked' in page
    # So does one whose token is too old, as after another person's visit in the same browser.
    careful = Client(enforce_csrf_checks=True)
    careful.cookies = edo.client.cookies
    page = careful.post(edo.full("situations/1/discuss/"), {"text": "oo"}, headers=OURS).content.decode()
    assert "This form is too old" in page
    assert ">oo</textarea>" in page
    page = careful.post(edo.full("situations/1/discuss/"), {"text": "oo"}).content.decode()
    assert "</textarea>" not in page  # it may come from anywhere
    assert ">oo</pre>" in page


def test_a_table_that_is_imported_has_languages_by_name(people: People) -> None:
    page = people["berto"].post("import/", {"pasted": "topic\tcontext\nfriendship\tNakita ko si Ana.\n"})
    field = re.search(r'<input id="every-\d+-language" name="(\w+)" value="Filipino"', page)
    assert field
    assert "<bdi>Filipino</bdi>" in page
    seen = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page)
    seen += re.findall(r'<select [^>]*name="(\w+)">.*?<option value="(\w*)" selected', page)
    sent = {name: html.unescape(value) for name, value in seen}
    for typed in ("العربية", "Arabic", "ar"):
        page = people["berto"].post("import/", sent | {field[1]: typed, "action": "again"})
        assert "<bdi>العربية</bdi>" in page


def test_what_stands_beside_tasks_stands_in_the_docs() -> None:
    pages = [path.read_text(encoding="utf-8").replace(">", " ") for path in DOCS.rglob("*.md")]  # quotations
    docs = " ".join(" ".join(pages).split())
    texts = {path.stem: re.findall(r'{% translate "(.+?)" %}</p>', path.read_text()) for path in HELP.glob("*.html")}
    assert texts.keys() >= {desk for desk in DESKS if desk != "food"}
    for name, lines in texts.items():
        assert len(lines) == 2 or name == "none", name
        for line in lines:
            assert line in docs, line


def places(who: Someone, path: str = "") -> list[str]:
    """What the menu offers on a page."""
    bar = who.get(path).partition('<nav aria-label="Project">')[2].partition("</nav>")[0]
    return re.findall(r'<a href="[^"]+"[^>]*>([^<]+)</a>', bar)


def pages(who: Someone, path: str) -> list[str]:
    """The pages of the place in which a page is, the current one with a star."""
    row = who.get(path).partition('<nav class="pages"')[2].partition("</nav>")[0]
    return [text + "*" * bool(mark) for mark, text in re.findall(r'<a href="[^"]+"([^>]*)>([^<]+)</a>', row)]


def test_the_menu_has_a_few_places_by_role(project: Any, people: People) -> None:
    assert places(people["ana"]) == ["Home", "My work", "Items", "People", "Manage", "Search"]
    assert places(people["berto"]) == ["Home", "My work", "Items", "Search"]
    assert places(enter(project, "Vina", "validator")) == ["Home", "My work", "Search"]
    assert pages(people["berto"], "situations/new/") == ["Situations*", "Questions", "Topics", "Sessions"]
    assert pages(people["edo"], "topics/") == ["Situations", "Topics*", "Sessions"]  # whose pages one may read
    assert pages(people["ana"], "log/") == ["Releases", "Ratings", "Settings", "Backup", "Log*"]
    assert pages(people["ana"], "") == []


def test_home_leads_who_moderates_to_drafts_that_were_imported(project: Any, people: People) -> None:
    form_of(project).take_in(project, "sample:filipino")
    begins = people["ana"].get("").partition("Write a situation")[0]
    assert "/situations/1/" in begins
    assert "Send to review" in begins
    assert "Send to review" not in people["berto"].get("")  # a writer, of whom they are not


def found(who: Someone, query: str, path: str = "situations/") -> list[str]:
    table = who.get(f"{path}?{query}").partition('<table class="list">')[2].partition("</table>")[0]
    return re.findall(r'<th scope="row"[^>]*><a [^>]*>([^<]+)</a>', table)


def test_a_list_is_searched_filtered_and_paged(project: Any, people: People) -> None:
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


FILTERS = 'class="filters"'


def test_a_short_list_has_no_filters_unless_something_of_it_is_hidden(project: Any, people: People) -> None:
    """Of situations, questions and parts of prompts."""
    edo, ana = people["edo"], people["ana"]
    people["berto"].act("situations/new/", a_situation("Liza"))
    ana.act("prompts/identity/", {"identity": "Ugandan"})
    people["berto"].act("questions/new/", {"language": "fil", "text": "Ano ang almusal?", "topic": "x", "kind": "text"})
    for who, path in ((edo, "situations/"), (ana, "prompts/identity/"), (ana, "questions/")):
        assert FILTERS not in who.get(path), path
        assert FILTERS in who.get(f"{path}?q=nowhere"), path
    first = Situation.objects.get()
    for number in range(2, FEW + 1):
        assert FILTERS not in edo.get("situations/")
        first.pk, first.number = f"row-{number}", number
        first.save(force_insert=True)
    assert FILTERS in edo.get("situations/")


def test_a_question_of_the_questionnaire_is_called_by_its_number(people: People) -> None:
    people["ana"].client.cookies["django_language"] = "ar"
    labels = re.findall(r'<label for="id_question_\w+">([^<]+)<', people["ana"].get("settings/"))
    assert len(set(labels)) == len(labels) > 5
    assert all(re.fullmatch(r"[^a-z]+ \d", label) for label in labels)


def test_questions_are_found_by_their_words_topic_and_state(everyday: Any, askers: People) -> None:
    ask(everyday, "아침에 무엇을 먹나요?", "ar")
    askers["minji"].act("questions/new/", {"text": "언제 자나요?", "language": "ko", "topic": "Sleep", "kind": "text"})
    jun = askers["jun"]
    assert found(jun, "", "questions/") == ["Prompt 1", "Prompt 2", "Question 3", "Question 4"]
    assert found(jun, "q=아침", "questions/") == found(jun, "topic=Food", "questions/") == ["Question 3"]
    assert found(jun, "state=proposed", "questions/") == ["Question 4"]
    assert found(jun, "state=approved&language=ar", "questions/") == ["Question 3"]
    assert found(jun, f"author={author_of('민지')}", "questions/") == ["Question 4"]


def test_a_question_has_a_state_in_the_languages_of_the_project_and_its_own(everyday: Any, askers: People) -> None:
    ask(everyday, "아침에 무엇을 먹나요?", "ar")
    rows = re.findall(r"<tr><th scope=\"row\">.*?</tr>", askers["jun"].get("questions/?q=아침"), re.DOTALL)
    assert [("العربية" in row, "English" in row) for row in rows] == [(True, False)]
    assert "English" in askers["jun"].get("questions/?q=Question:").partition('<table class="list">')[2]


def test_cells_of_tables_name_their_columns(everyday: Any, askers: People) -> None:
    table = askers["jun"].get("translate/").partition('<table class="stacked">')[2].partition("</table>")[0]
    rows = [re.findall(r'data-label="([^"]*)"', row) for row in table.partition("<tbody>")[2].split("<tr>")[1:]]
    heads = re.findall(r"<th scope=\"col\"[^>]*>([^<]+)</th>", table)
    assert len(heads) == 6
    assert rows == [heads] * 3


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
    people: People, who: str, path: str, typed: dict[str, str], field: str
) -> None:
    before = Event.objects.count()
    page = people[who].post(path, typed, 400)
    assert re.findall(r'class="wrong" id="wrong-(\w+)" role="alert"', page) == [field]
    assert Event.objects.count() == before
    assert "<h1>That did not work</h1>" not in page


HEAD = "topic,context,instruction,best,relevant_1,irrelevant_1"


def listed(who: Someone, queue: str) -> list[tuple[str, str]]:
    """The titles and states of a queue of one's own."""
    page = re.sub("[\u2068\u2069]", "", who.get(f"work/?show={queue}"))
    rows = re.findall(r"<bdi>([^<]+)</bdi></a></th>.*?<span class=\"state\">([^<]+)<", page)
    assert page.count('aria-current="page"') >= 1
    return rows


def test_drafts_and_what_is_done_are_ones_own(project: Any, people: People) -> None:
    berto, carla = people["berto"], people["carla"]
    send_to_review(berto, 1)
    berto.act("situations/new/", a_situation("Tomas", context="Iba naman ito."))
    assert listed(berto, "drafts") == [("Situation 2", "draft")]
    assert listed(berto, "done") == [("Situation 1", "in review")]
    assert listed(carla, "drafts") == listed(carla, "done") == []
    assert "You have no drafts." in carla.get("work/?show=drafts")
    assert "You have finished nothing yet." in carla.get("work/?show=done")
    assert 'href="/p/baryo/work/?show=drafts"' in berto.get("work/")


def decided(who: Someone) -> list[tuple[str, str]]:
    """What somebody decided on, and how, as their list of what they did has it."""
    page = re.sub("[\u2068\u2069]", "", who.get("work/?show=done"))
    return re.findall(r"<li><a href=\"[^\"]+\"><bdi>([^<]+)</bdi></a>.*?<p dir=\"auto\">([^<]+)<", page)


def test_votes_are_among_what_somebody_did_and_nobody_elses_are(project: Any, people: People) -> None:
    send_to_review(people["berto"], 1)
    vote = {"round": "1", "choice": "accept", "best": "1"}
    people["edo"].act("situations/1/vote/", vote | {"choice": "reject", "remark": "Hindi ganyan."})
    people["edo"].act("situations/1/vote/", vote)
    assert decided(people["edo"]) == [("Situation 1", "voted on a situation")]  # once, and before they are revealed
    for name in ("berto", "carla", "dina", "ana"):
        assert decided(people[name]) == [], name
    people["carla"].act("situations/1/vote/", vote)
    people["dina"].act("situations/1/reveal/")
    people["dina"].act("situations/1/accept/", {"reason": "Napag-usapan namin."})
    acts = ["accepted a situation", "revealed the votes on a situation"]
    assert decided(people["dina"]) == [("Situation 1", act) for act in acts]
    assert decided(people["edo"]) == [("Situation 1", "voted on a situation")]


def test_agreements_and_merges_are_among_what_somebody_did(everyday: Any, askers: People) -> None:
    question = ask(everyday, "아침에 무엇을 먹나요?")
    for who, text in zip(answerers(everyday, 2), ("밥", "쌀밥"), strict=True):
        answer(who, question, text)
    for name, act in (("huda", "wording.agreed"), ("jun", "wording.refused")):
        body = {"language": "ko", "wording": question.text_event} | ({"reason": "왜요?"} if name == "jun" else {})
        recorded(everyday, act, body, actor=member_of(askers[name]).author, subject=question.id)
    keys = [key_of(everyday, text) for text in ("밥", "쌀밥")]
    decide(everyday, question, "merged", member_of(askers["ana"]).author, keys=keys)
    title = f"Question {question.number}"
    assert decided(askers["huda"]) == [(title, "agreed to a wording")]
    assert decided(askers["jun"]) == [(title, "refused a wording")]
    assert decided(askers["ana"]) == [(title, "merged answers")]


def test_answers_are_found_again_and_corrected(everyday: Any, askers: People) -> None:
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


def rows_of(count: int, first: int = 1) -> str:
    lines = (f"pista,Pista sa barangay {n}.,Ano ang gagawin mo?,Pupunta ako.,Pupunta ako.,Aalis." for n in range(count))
    return "\n".join([HEAD, *lines])


def test_a_long_import_says_how_far_it_is(project: Any, people: People) -> None:
    berto = people["berto"]
    sent = {"pasted": rows_of(250), "role": "situations", "action": "import"}
    answer = berto.client.post(berto.full("import/"), sent)
    assert answer.streaming
    parts = [part.decode() for part in answer.streaming_content]
    told = [
        re.search(r'(\d+) of (\d+)</p><progress max="250" value="(\d+)" aria-label="[^"]+">', part) for part in parts
    ]
    assert [found.groups() for found in told if found] == [
        ("200", "250", "200"),
        ("250", "250", "250"),
    ]
    assert "250 rows were imported." in parts[-2]
    assert parts[-1].rstrip().endswith("</html>")
    assert Situation.objects.filter(project=project).count() == 250
    assert Event.objects.get(kind="items.brought").body == {"new": 250}
    again = b"".join(berto.client.post(berto.full("import/"), sent).streaming_content).decode()
    assert "0 rows were imported. 250 were already here." in again
    small = berto.client.post(berto.full("import/"), sent | {"pasted": rows_of(200)})
    assert not small.streaming


def test_coverage_is_drawn_as_it_is_counted(project: Any, people: People) -> None:
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


def test_topics_are_pasted_as_a_sheet_copies_them_or_as_csv(project: Any, people: People) -> None:
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


@pytest.mark.parametrize("tag", ["ar", "fil"])
def test_topics_are_read_in_the_language_of_the_page_and_kept_as_they_are(
    project: Any, people: People, tag: str
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


def test_a_label_has_the_english_beside_it_where_people_agree_and_nowhere_else(project: Any, people: People) -> None:
    doubled = re.compile("Magpatuloy \u2066\\[")
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
    assert "Papasukin sila \u2066[Let them in]\u2069" in people["ana"].get("people/link/")
    arrives(link, stranger)
    assert "\u2066[Coordinators may see this name, to decide" in stranger.get("/ask/")
