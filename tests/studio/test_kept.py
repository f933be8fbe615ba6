"""Over plain HTTP, on a phone: what is typed at the desks is kept, and sent once, whatever is cut or closed.

What is killed or lost on the way stands in test_trial.
"""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.templatetags.static import static
from studio_answers import answer, answerers, ask
from studio_browser import CHROMIUM, ELSEWHERE, PHONE, look, signed_in, wait_until
from studio_people import People, Someone, enter

from kapwa.studio import commands
from kapwa.studio.core.members import invite
from kapwa.studio.models import Event, PromptPart

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
HERE, SENT = "Saved on this device. Not sent yet.", "Sent. The studio has it."
UNSENT, OUT = "Not sent: the studio does not answer.", "Not sent: you are signed out."


class Desk(NamedTuple):
    """A page where something is typed: its path, the field of the text, its button, and what else is filled in."""

    path: str
    field: str
    button: str
    others: Callable[[Any], None] = lambda page: None


SITUATIONS = Desk("situations/new/", "#context", "form.desk button:not([type=button], [name])")
DESKS = (
    SITUATIONS,
    Desk(
        "questions/new/",
        "#text",
        "main form button:not([type=button])",
        lambda page: page.get_by_label("Topic").select_option(index=1),
    ),
    Desk(
        "prompts/concept/",
        "[name=concept]",
        "main form:has([name=concept]) button:not([type=button])",
        lambda page: page.locator("[name=topic]").first.fill("food"),
    ),
    Desk("work/baseline/", "form.work textarea", "form.work input[type=radio]"),  # the last choice sends
    Desk(
        "elicit/",
        "textarea[name=text]",
        "main form button:not([type=button])",
        lambda page: page.locator("main [type=radio]").first.check(),
    ),
    Desk("topics/", "#topic-name", "main form:has(#topic-name) button:not([type=button])"),
    Desk(
        "glossary/",
        "main [name=name]",
        "main form:has([name=note]) button:not([type=button])",
        lambda page: page.locator("main [name=text]").fill("adobo"),
    ),
    Desk("situations/1/", "#say", "main form:has(#say) button:not([type=button])"),
    Desk("translate/ar/1/", "#text", "main form:has(#note) button:not([type=button])"),
)
# Of everyday questions that are asked and answered.
ANSWERED = (
    Desk("work/answers/", "#field_answer_1", "button[name=button][value=answered]"),
    Desk("answers/3/?language=ko", "form.merging [name^=english_]", ".bottom [value=english]"),
    Desk("translate/ko/4/", "#reason", "main form:has(#reason) button:not([type=button])"),
    Desk("translate/ar/3/", "#say", "main form:has(#say) button:not([type=button])"),
)
# Of prompts across cultures; the addresses of templates are their ids.
OF_PROMPTS = (
    Desk("prompts/identity/", "main [name=identity]", "main form:has([name=identity]) button:not([type=button])"),
    Desk("prompts/template/PART/", "#say", "main form:has(#say) button:not([type=button])"),
    Desk("prompts/template/PART/", "main [name=name]", "main form:has([name=base]) button:not([type=button])"),
)


class Phone:
    """A phone with one browser, on which people come and go."""

    def __init__(self, browser: Any, address: str, viewport: Any = PHONE) -> None:
        self.context = browser.new_context(viewport=viewport, has_touch=True)
        # No name of this machine, so no secure context: neither a service worker nor crypto.subtle.
        self.address = address.replace("127.0.0.1", ELSEWHERE[0])

    def enter(self, who: Someone, language: str = "en") -> None:
        signed_in(self.context, who, self.address, language)

    def open(self, path: str, project: str = "baryo") -> Any:
        page = self.context.new_page()
        page.goto(f"{self.address}/p/{project}/{path}")
        page.locator("html[data-keeps]").wait_for(state="attached")
        return page

    def type(self, desk: Desk, text: str, project: str = "baryo") -> Any:
        """Type a text, and wait until the phone has it."""
        page = self.open(desk.path, project)
        field = page.locator(desk.field).first
        field.evaluate("e => e.closest('details') && (e.closest('details').open = true)")
        field.fill("")
        field.press_sequentially(text)
        page.locator(".kept:not([data-writing])", has_text=HERE).wait_for()
        return page


@pytest.fixture
def phone(browser: Any, address: str) -> Phone:
    return Phone(browser, address)


def recorded(text: str) -> int:
    """How many events hold a text."""
    bodies = Event.objects.values_list("body", flat=True)
    return sum(text in json.dumps(body, ensure_ascii=False) for body in bodies)


def sign_out(page: Any, *, delete: bool) -> None:
    """End the visit on purpose; what is not sent is deleted, or nothing happens."""
    asked = []

    def reply(dialog: Any) -> None:
        asked.append(dialog.message)
        _ = dialog.accept() if delete else dialog.dismiss()

    page.once("dialog", reply)
    if not (out := page.get_by_role("button", name="Sign out on this device")).is_visible():
        page.locator("details.person summary").click()
    out.click()
    while not asked:  # it is asked once the rest was sent
        page.wait_for_timeout(50)


def cut(phone: Phone, desk: Desk, text: str, project: str = "baryo") -> None:
    """Close the page of what is typed, send it without a network, and find it in the studio once."""
    page = phone.type(desk, text, project)
    assert page.evaluate("window.isSecureContext") is False
    page.close()
    page = phone.open(desk.path, project)
    assert page.locator(desk.field).first.input_value() == text
    assert page.get_by_text(HERE).first.is_visible(), desk
    desk.others(page)
    phone.context.set_offline(True)
    page.locator(desk.button).first.click()
    page.get_by_text(UNSENT).wait_for()
    phone.context.set_offline(False)
    page.get_by_text(SENT).first.wait_for()
    assert recorded(text) == 1, desk
    page.close()


WIDTHS = pytest.mark.parametrize("viewport", [PHONE, {"width": 1280, "height": 800}], ids=["360", "1280"])


@WIDTHS
def test_nothing_typed_is_lost_at_any_desk_and_nothing_is_sent_twice(
    project: Any, filled: dict[str, str], browser: Any, address: str, viewport: Any
) -> None:
    phone = Phone(browser, address, viewport)
    phone.enter(enter(project, "Gina", "writer", "translator", "validator"))
    for place, desk in enumerate(DESKS):
        cut(phone, desk, f"salita {place} · 말 · كلمة")
    assert phone.open("").locator("#keep").is_hidden()  # nothing waits


@WIDTHS
def test_nothing_typed_is_lost_at_desks_of_answers(
    everyday: Any, askers: People, browser: Any, address: str, viewport: Any
) -> None:
    question = ask(everyday, "아침에 무엇을 먹나요?", "ar")
    for who, text in zip(answerers(everyday, 2), ("밥", "빵"), strict=True):
        answer(who, question, text)
    askers["minji"].act("questions/new/", {"language": "ko", "text": "점심은요?", "topic": "Food", "kind": "text"})
    phone = Phone(browser, address, viewport)
    phone.enter(enter(everyday, "Gina", "translator", "answerer"))
    for place, desk in enumerate(ANSWERED):
        cut(phone, desk, f"말 {place} · كلمة", "araw")


@WIDTHS
def test_nothing_typed_is_lost_at_desks_of_prompts(studio: Any, browser: Any, address: str, viewport: Any) -> None:
    project = commands.new_project("mundo", form="eecc", culture="many", language="en")
    berto = enter(project, "Berto", "writer")
    berto.act("prompts/template/", {"name": "direct", "language": "en", "template": "Tell {identity} of {concept}."})
    part = PromptPart.objects.get()
    phone = Phone(browser, address, viewport)
    phone.enter(berto)
    for place, desk in enumerate(OF_PROMPTS):
        cut(phone, desk._replace(path=desk.path.replace("PART", part.id)), f"word{place}", "mundo")


# What the databases of everybody on the phone hold.
EVERYTHING = """async () => {
  const { openDB } = await import("IDB");
  const found = await Promise.all((await indexedDB.databases()).map(async ({ name }) => {
    const database = await openDB(name);
    const facts = await database.getAll("facts");
    database.close();
    return facts;
  }));
  return JSON.stringify(found);
}""".replace("IDB", static("studio/vendor/idb-8.0.3.js"))


def test_what_is_kept_is_its_authors_alone_and_goes_when_they_leave(project: Any, people: People, phone: Phone) -> None:
    """Two people on one phone."""
    berto, carla = people["berto"], people["carla"]
    carla.act("/enter/", {"code": invite(commands.new_project("iba", language="fil"), ["writer"])})
    carla.act("/join/", {"pseudonym": "Carla"})
    there = carla.again()
    there.project = "iba"
    there.agree()
    phone.enter(berto)
    left_open = phone.type(SITUATIONS, "lihim ni Berto")
    phone.enter(carla)  # as when a visit ends by its age
    for path in ("", SITUATIONS.path):
        page = phone.open(path)
        assert "lihim" not in page.content()
        assert page.locator("#keep").is_hidden()
    # Berto's page is still open in another window, and sends nothing in her name.
    left_open.locator(SITUATIONS.button).click()
    left_open.get_by_text(OUT).wait_for()
    page = phone.type(SITUATIONS, "lihim ni Carla")
    sign_out(page, delete=False)
    assert page.locator(SITUATIONS.field).input_value() == "lihim ni Carla"
    phone.type(SITUATIONS, "ikalawa ni Carla", "iba")  # what she typed in another project goes, too
    page = phone.open("")
    sign_out(page, delete=True)
    page.get_by_label("Code").wait_for()
    assert "Carla" not in page.evaluate(EVERYTHING)
    assert "lihim ni Berto" in page.evaluate(EVERYTHING)
    assert recorded("lihim") == 0
    left_open.close()
    phone.enter(berto)
    phone.open("").get_by_text(SENT).wait_for()  # what he had pressed the button for
    assert recorded("lihim ni Berto") == 1
    phone.type(SITUATIONS, "hindi naipadala").close()
    page = phone.context.new_page()
    page.goto(f"{phone.address}/p/baryo/withdraw/")
    page.get_by_text(HERE[:20]).wait_for()
    page.get_by_label("Remove my contributions, too.").check()
    page.get_by_label("I am sure.").check()
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_text("What you asked for has been done").wait_for()
    wait_until(lambda: "hindi" not in page.evaluate(EVERYTHING))


def test_the_page_says_which_it_is_in_the_readers_language(people: People, phone: Phone) -> None:
    """Saved here, not sent, sent; also where the device is full; in Arabic, for catalogs hold every text."""
    phone.enter(people["berto"], "ar")
    _, field, button, _ = SITUATIONS
    page = phone.open(SITUATIONS.path)
    page.locator(field).fill("ሰላም مرحبا")
    page.locator(".kept:not([data-writing]) .hint").wait_for()
    look(page, "saved-here")
    page.reload()
    page.locator(".kept button").wait_for()
    look(page, "back")
    phone.context.set_offline(True)
    page.locator(button).click()
    page.locator(".kept .warn").wait_for()
    look(page, "not-sent")
    phone.context.set_offline(False)
    page.locator("#keep .hint").wait_for()
    look(page, "sent")
    # A device without room: it says so, and what is typed can still be sent.
    page = phone.open(SITUATIONS.path)
    full = "() => { throw new DOMException('', 'QuotaExceededError'); }"
    page.evaluate(f"() => {{ IDBObjectStore.prototype.put = {full} }}")
    page.locator(field).fill("puno")
    page.locator(".kept .warn").wait_for()
    look(page, "full")
    with page.expect_navigation():
        page.locator(button).click()
    assert recorded("puno") == 1
    # What is not sent is named on every other page.
    page = phone.open(SITUATIONS.path)
    page.locator(field).fill("ሌላ")
    page.locator(".kept:not([data-writing]) .hint").wait_for()
    page = phone.open("")
    page.locator("#keep li a").wait_for()
    look(page, "elsewhere")
