"""Every page in a real browser, wide in English and on a phone from right to left; and what scripts add to pages."""

from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from django.db import transaction
from studio_answers import answer, answerers, ask
from studio_browser import CHROMIUM, DESKTOP, PHONE, api, launched, look, signed_in
from studio_pages import address_of
from studio_people import People, a_situation, enter, send_to_review

from kapwa.studio.core.log import record
from kapwa.studio.core.security import PAGES
from kapwa.studio.models import Event, Judgement, Question, Situation, Vote

pytestmark = [pytest.mark.slow(60), pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
# The left and right ends of what stands in the bar, in the order of the page.
ENDS = """[...document.querySelector('.bar').children].map((part) => part.getBoundingClientRect())
    .filter((place) => place.width > 1).map((place) => [place.left, place.right, place.top, place.bottom])"""


def fill_more(project: Any, people: People) -> None:
    """Hidden and revealed votes, comments, wordings and answers in two languages, set aside and refused things."""
    for number, context in ((2, "Iba naman ito."), (3, "Sa bahay ito.")):
        send_to_review(people["berto"], number, f"Tao{number}", context=context)
        people["edo"].act(f"situations/{number}/vote/", {"round": "1", "choice": "change", "remark": "<b>ayaw</b>"})
    people["dina"].act("situations/2/reveal/")
    people["edo"].act("situations/2/discuss/", {"text": "Sa amin, iba ang sinasabi, @Berto.", "dissent": "yes"})
    question = ask(project, "Ano ang tanghalian?", "ar")
    first = Question.objects.get(number=1)
    body = {"language": "ar", "text": "ماذا؟", "note": "", "source": first.text_event, "base": ""}
    seen = {"question_revision": 1, "wording_revision": 1, "outcome": "answered", "depends": ""}
    with transaction.atomic():
        for number, texts in enumerate((["kanin"], ["Kanin"], ["ulam", "kanin"])):
            for tag in ("fil", "ar"):
                given = seen | {"texts": texts, "language": tag}
                record(project, "answer.given", given, actor=f"{number:016}", subject=question.id)
        record(project, "wording.proposed", body, actor="writer", subject=first.id)


def test_every_page_is_for_everybody(
    project: Any, filled: dict[str, str], people: People, food: Any, address: str, browser: Any
) -> None:
    """From the list of pages itself: axe, sideways scrolling, and errors in the console, such as of the policy."""
    fill_more(project, people)
    project.background = ["age_band", "locality"]
    project.save()
    every = enter(project, "Gina Marie de la Cruz", "coordinator", "writer", "reviewer", "translator", "answerer")
    wide, phone = browser.new_context(viewport=DESKTOP), browser.new_context(viewport=PHONE)
    complaints = [signed_in(wide, every, address), signed_in(phone, every, address, "ar")]
    paths = [address_of(page.path, filled) for page in PAGES.values() if page.read or page.public]
    more = ("situations/2/", "situations/3/", "translate/ar/1/", "answers/2/", "answers/?language=ar", "search/?q=iba")
    paths += [f"/p/baryo/{path}" for path in (*more, "work/?show=done")]
    desk, small, seen = wide.new_page(), phone.new_page(), 0
    for path in paths:
        got = every.client.get(path)
        if got.status_code == 200 and got.headers["Content-Type"].startswith("text/html") and "/leave/" not in path:
            desk.goto(address + path)
            look(desk, path)
            small.goto(address + path)
            assert small.locator("html").get_attribute("dir") == "rtl"
            look(small, f"ar {path}", colours=False)
            seen += 1
    assert seen > 45
    assert complaints == [[], []]
    desk.goto(f"{address}/p/baryo/situations/99/")  # the page that says what was wrong
    look(desk, "problem")
    stranger = browser.new_context(viewport=PHONE).new_page()
    for path in ("/enter/", "/join/0000-0000-0000-0000/"):
        stranger.goto(address + path)
        look(stranger, f"stranger {path}")


def test_back_shows_nothing_of_whoever_left_a_shared_phone(people: People, address: str, browser: Any) -> None:
    # As people's browsers do, keep whole pages for "Back".
    keeping = launched(browser.browser_type, ignore_default_args=["--disable-back-forward-cache"])
    context = keeping.new_context()
    signed_in(context, people["berto"], address)
    page = context.new_page()
    for path in ("", "me/"):
        page.goto(f"{address}/p/baryo/{path}")
    assert "Berto" in page.locator("body").inner_html()
    page.locator("details.person summary").click()
    with page.expect_navigation():
        page.get_by_role("button", name="Sign out on this device").click()
    for _ in range(3):
        with suppress(api.Error):  # what a form was answered with is not even asked for again
            page.go_back()
        assert "Berto" not in page.locator("body").inner_html()
    keeping.close()


def test_the_header_is_one_row_and_paper_has_no_buttons(project: Any, food: Any, address: str, browser: Any) -> None:
    project.title = "Mga sitwasyon sa baryo at sa lungsod, ikalawang taon"
    project.save()
    gina = enter(project, "Gina Marie de la Cruz", "coordinator", "writer", "reviewer", "answerer")
    for language in ("en", "ar", "fil"):
        context = browser.new_context()
        signed_in(context, gina, address, language)
        page = context.new_page()
        for width in (1280, 1100, 360):
            page.set_viewport_size({"width": width, "height": 740})
            page.goto(f"{address}/p/baryo/people/")
            places = sorted(page.evaluate(ENDS))
            assert len(places) == 5, (language, width)  # project, links or "Menu", bell, person, language
            assert all(one[1] <= other[0] for one, other in pairwise(places)), places
            assert max(place[3] for place in places) - min(place[2] for place in places) < 60, places
            current = page.locator(".bar nav [aria-current]")
            if width == 360:
                assert not current.is_visible()
                page.locator("#menu").focus()
                page.keyboard.press("Space")
                look(page, f"menu {language}")
            assert current.is_visible()
            assert current.get_attribute("href") == "/p/baryo/people/"
    page.goto(f"{address}/p/baryo/work/food/")
    page.emulate_media(media="print")
    assert page.locator("button:visible").count() == 0
    assert page.locator(".top").is_hidden()
    assert page.locator("textarea:visible").count() == 1


def test_a_link_for_many_is_copied_without_https(people: People, address: str, browser: Any) -> None:
    """As on a laptop that phones reach by plain HTTP, where scripts have no clipboard."""
    people["ana"].act("people/link/", {"action": "open", "roles": ["writer"], "days": "7"})
    plain, context = address.replace("127.0.0.1", "testserver"), browser.new_context()
    signed_in(context, people["ana"], plain)
    page = context.new_page()
    page.goto(f"{plain}/p/baryo/people/link/")
    assert not page.evaluate("isSecureContext")
    page.get_by_role("button", name="Copy").click()
    page.get_by_text("Copied.").wait_for()
    page.evaluate("document.querySelector('main').append(document.createElement('textarea'))")
    page.locator("textarea").focus()
    page.keyboard.press("Control+V")
    assert page.locator("textarea").input_value() == page.locator("#address-1").input_value() != ""


def test_the_desk_says_how_it_reads_before_it_is_saved(people: People, address: str, browser: Any) -> None:
    context = browser.new_context(viewport=DESKTOP)
    complaints = signed_in(context, people["berto"], address)
    page = context.new_page()
    page.goto(f"{address}/p/baryo/situations/new/")
    fields = a_situation("Liza") | {"language": "ar"}
    for name in ("language", "topic", "category"):
        page.locator(f"#{name}").select_option(fields[name])
    page.locator("#context").fill("هذا سياق.")
    page.locator("#told section[aria-label=full]").get_by_text("هذا سياق.").wait_for()  # before anything is saved
    with page.expect_navigation():
        page.get_by_role("button", name="Save", exact=True).click()
    page.goto(f"{address}/p/baryo/situations/1/edit/")
    assert page.locator("#context").evaluate("e => getComputedStyle(e).direction") == "rtl"
    look(page, "desk")
    assert complaints == []


def test_keys_vote_and_go_on_and_a_field_says_its_room(people: People, address: str, browser: Any) -> None:
    for number in (1, 2):
        send_to_review(people["berto"], number, f"Tao{number}", context=f"Ika-{number} na araw.")
    context = browser.new_context()
    complaints = signed_in(context, people["edo"], address)
    page = context.new_page()
    page.goto(f"{address}/p/baryo/situations/1/")
    page.locator("html[data-keeps]").wait_for()
    remark = page.locator("#remark")
    remark.fill("a" * 3400)
    assert page.get_by_text("3400 of 4000 characters").is_visible()
    remark.fill("b" * 4001)
    page.get_by_role("button", name="Accept as it is").click()
    assert page.get_by_text("4001 of 4000 characters").is_visible()  # it is not sent, and the form stays
    remark.fill("")
    remark.press_sequentially("32 x")  # keys are text here
    assert page.locator("input[name=best]:checked").count() == 0
    remark.blur()
    page.keyboard.press("2")
    assert page.locator("input[name=best]:checked").input_value() == "2"
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.wait_for_url("**/situations/2/")  # the next one
    page.locator("html[data-keeps]").wait_for()
    page.get_by_role("button", name="Turn the keys off").click()
    page.get_by_role("button", name="Turn the keys on").blur()
    page.keyboard.press("1")
    assert page.locator("input:checked").count() == 0
    assert complaints == []


def test_who_agrees_to_many_texts_had_each_on_the_screen(
    everyday: Any, askers: People, address: str, browser: Any
) -> None:
    for number in range(12):
        text = {"text": f"아침에 무엇을 먹나요, {number}?", "language": "ko", "topic": "Food", "kind": "text"}
        askers["minji"].act("questions/new/", text)
    context = browser.new_context(viewport=PHONE)
    complaints = signed_in(context, askers["huda"], address)
    page = context.new_page()
    page.goto(f"{address}/p/araw/translate/ko/")
    page.locator("html[data-keeps]").wait_for()
    assert page.locator("input[name=shown]:disabled").count() > 0  # what nobody has scrolled to yet
    for tick in page.get_by_label("I do not agree").all():
        tick.scroll_into_view_if_needed()
    page.locator("input[name=shown]:disabled").first.wait_for(state="detached")
    with page.expect_navigation():
        page.get_by_role("button", name="Agree to all that are not ticked").click()
    assert page.locator("input[name=shown]").count() == 0
    assert complaints == []


def test_a_spreadsheet_comes_in_by_keyboard_alone(people: People, address: str, browser: Any) -> None:
    table = "Blg,Paksa,Sitwasyon,Ano raw,Pinakamahusay,Mabuting sagot,Maling sagot\n"
    table += "".join(f"{n},pista,Pista {n}.,Ano ang gagawin?,Pupunta ako.,Tutulong ako.,Aalis.\n" for n in range(3))
    context = browser.new_context(viewport=DESKTOP)
    signed_in(context, people["berto"], address)
    page = context.new_page()
    page.goto(f"{address}/p/baryo/import/")
    page.locator("#file").set_input_files({"name": "amin.csv", "mimeType": "text/csv", "buffer": table.encode()})
    page.locator("#pasted").focus()
    with page.expect_navigation():
        for key in ("Tab", "Enter"):
            page.keyboard.press(key)
    look(page, "columns")
    page.get_by_label("Ano raw").select_option("instruction")
    with page.expect_navigation():
        page.get_by_role("button", name="Show the rows again").press("Enter")
    assert all("Ano ang gagawin?" in row for row in page.locator("tbody tr").all_inner_texts())
    with page.expect_navigation():
        page.get_by_role("button", name="Import", exact=True).press("Enter")
    page.get_by_text("3 rows were imported").wait_for()


def reach(page: Any, selector: str) -> Any:
    """Go by Tab alone to what ``selector`` names, and return it; its focus can be seen."""
    for _press in range(250):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            look_of = "e => { const s = getComputedStyle(e); return s.outlineStyle + s.outlineWidth + s.boxShadow; }"
            assert page.evaluate(f"({look_of})(document.activeElement)") != "none0pxnone", selector
            return page.locator(selector)
    raise AssertionError(f"no Tab leads to {selector}")


def test_writing_voting_answering_merging_and_rating_take_no_pointer(
    project: Any, filled: dict[str, str], people: People, address: str, browser: Any, request: Any
) -> None:
    context = browser.new_context(viewport=DESKTOP)
    complaints = signed_in(context, people["berto"], address)
    page = context.new_page()

    def press(selector: str) -> None:
        reach(page, selector)
        with page.expect_navigation():
            page.keyboard.press("Enter")

    page.goto(f"{address}/p/baryo/situations/new/")
    page.locator("html[data-keeps]").wait_for()
    for name, text in {**a_situation("Nena"), "context": "Bago ito."}.items():
        if name in ("language", "topic", "category"):
            assert reach(page, f"#{name}").evaluate("e => e.tagName") == "SELECT"
            page.keyboard.type(text)
            assert page.locator(f"#{name}").input_value() == text
        elif name != "best":
            page.locator(f"#{name}").evaluate("e => e.closest('details') && (e.closest('details').open = true)")
            reach(page, f"#{name}")
            page.keyboard.insert_text(text)
    page.locator("#step-3-title").evaluate("e => { e.tabIndex = -1; e.focus(); }")
    reach(page, "input[name=best]")
    page.keyboard.press("Space")
    press("button[name=send]")
    made = Situation.objects.get(fields__context="Bago ito.")
    assert made.state == "in review"

    signed_in(context, people["edo"], address)
    page.goto(f"{address}/p/baryo/situations/{made.number}/")
    page.locator("html[data-keeps]").wait_for()
    reach(page, "input[name=best]")
    page.keyboard.press("Space")
    reach(page, "#remark")
    page.keyboard.type("Ganyan nga.")
    press("button[name=choice][value=accept]")
    assert Vote.objects.filter(situation=made.id, choice="accept", best="1", remark="Ganyan nga.").exists()

    signed_in(context, enter(project, "Vina", "validator"), address)
    page.goto(f"{address}/p/baryo/work/baseline/")
    page.locator("html[data-keeps]").wait_for()
    reach(page, "input[type=radio]")
    page.keyboard.press("Space")  # a key may be on its way to another choice, so it saves nothing yet
    press("form.work button")
    assert Judgement.objects.count() == 1

    everyday, askers = request.getfixturevalue("everyday"), request.getfixturevalue("askers")
    question = ask(everyday, "점심에 무엇을 먹나요?")
    signed_in(context, askers["omar"], address)
    page.goto(f"{address}/p/araw/work/answers/")
    page.locator("html[data-keeps]").wait_for()
    reach(page, "#field_answer_1")
    page.keyboard.insert_text("국수")
    press("button[name=button][value=answered]")
    assert Event.objects.get(kind="answer.given").body["texts"] == ["국수"]
    (other,) = answerers(everyday, 1)
    answer(other, question, "면")
    signed_in(context, askers["ana"], address)
    page.goto(f"{address}/p/araw/answers/{question.number}/?language=ko")
    page.locator("html[data-keeps]").wait_for()
    for _answer in range(2):
        reach(page, "form.merging input[name=key]:not(:checked)")
        page.keyboard.press("Space")
    press("button[name=action][value=merge]")
    assert Event.objects.filter(kind="answers.merged").count() == 1
    assert complaints == []
