"""The page that works without a network, in a real browser whose network is cut: nothing lost, nothing twice."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.templatetags.static import static
from studio_answers import ask, merged, revise
from studio_browser import CHROMIUM, ELSEWHERE, PHONE, look, signed_in, wait_until
from studio_people import Someone, enter, speak

from kapwa.studio import commands
from kapwa.studio.models import Event

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


class Phone:
    """A phone with one browser, which several people may use."""

    def __init__(self, browser: Any, address: str, project: str = "baryo") -> None:
        self.project, self.address = project, address
        self.context = browser.new_context(viewport=PHONE, locale="en-GB", accept_downloads=True)
        self.complaints: list[str] = []
        self.context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def enter(self, who: Someone, language: str = "en") -> None:
        """Let somebody be here, who reads ``language``; who was here before is gone."""
        signed_in(self.context, who, self.address, language)

    def open(self) -> Any:
        self.page = self.context.new_page()
        self.page.goto(f"{self.address}/p/{self.project}/phone/")
        return self.page

    def ready(self) -> Any:
        page = self.open()
        page.locator("#ready").wait_for()
        page.locator("#desks li").first.wait_for()
        return page

    def answer(self, text: str, button: str = "Answer") -> None:
        self.page.get_by_label("Your answer").fill(text)
        self.page.get_by_label("Sure", exact=True).check()
        self.page.get_by_role("button", name=button, exact=True).click()

    def begin(self, name: str = "Questions about food") -> None:
        self.page.get_by_role("button", name=name).click()

    def unsent(self, n: int) -> None:
        self.page.get_by_text(f"not sent yet: {n}.").wait_for()


def answers() -> list[tuple[str, str, str]]:
    """Who answered which task with which text."""
    found = Event.objects.filter(kind="food.answered").order_by("seq")
    return [(event.actor, event.subject, event.body["text"]) for event in found]


def kept(page: Any) -> list[list[int]]:
    """How many answers and how many tasks each person's database on the phone holds."""
    found = page.evaluate(
        """async () => {
      const { openDB } = await import("IDB");
      return Promise.all((await indexedDB.databases()).map(async ({ name }) => {
        const database = await openDB(name);
        const batches = await database.getAll("batches");
        const tasks = batches.reduce((sum, batch) => sum + batch.tasks.length, 0);
        const records = await database.count("records");
        database.close();
        return [records, tasks];
      }));
    }""".replace("IDB", static("studio/vendor/idb-8.0.3.js"))
    )
    return list(found)


def test_thirty_answers_without_a_network_arrive_once(project: Any, food: Any, address: str, browser: Any) -> None:
    food.count = 30
    phone = Phone(browser, address)
    phone.enter(enter(project, "Gina", "answerer"))
    page = phone.ready()
    phone.begin()
    look(page, "task")
    page.get_by_role("button", name="Answer", exact=True).click()
    page.get_by_text("This field is empty. Fill it in").wait_for()
    phone.context.set_offline(True)
    for n in range(15):
        phone.answer(f"kanin {n}")
        phone.unsent(n + 1)
    # The page is closed and opened again, still without a network.
    page.close()
    page = phone.open()
    phone.unsent(15)
    page.get_by_text("There is no network now").wait_for()
    phone.begin("Questions about food (15)")
    for n in range(15, 30):
        phone.answer(f"kanin {n}", "Answer" if n % 2 else "I don't know")
        phone.unsent(n + 1)
    page.get_by_text("Thank you.").wait_for()
    look(page, "offline")
    assert answers() == []
    phone.context.set_offline(False)  # the browser says that it is online again
    phone.unsent(0)
    found = answers()
    assert [subject for _, subject, _ in found] == [f"food-{n}" for n in range(1, 31)]
    assert found[0][2] == "kanin 0"
    page.reload()
    phone.unsent(0)
    assert len(answers()) == 30
    assert phone.complaints == []


def test_what_cannot_be_saved_stays_in_the_form(project: Any, food: Any, address: str, browser: Any) -> None:
    phone = Phone(browser, address)
    phone.enter(enter(project, "Gina", "answerer"))
    page = phone.ready()
    phone.begin()
    phone.context.set_offline(True)
    full = "() => { throw new DOMException('', 'QuotaExceededError'); }"
    page.evaluate(f"() => {{ window.add = IDBObjectStore.prototype.add; IDBObjectStore.prototype.add = {full} }}")
    phone.answer("kanin")
    page.get_by_text("This could not be saved on the phone").wait_for()
    assert page.get_by_label("Your answer").input_value() == "kanin"
    page.evaluate("() => { IDBObjectStore.prototype.add = window.add }")
    page.get_by_role("button", name="Answer", exact=True).dblclick()
    phone.unsent(1)
    phone.context.set_offline(False)
    phone.unsent(0)
    assert [text for _, _, text in answers()] == ["kanin"]


def test_without_https_the_page_says_so_and_offers_sheets(project: Any, food: Any, address: str, browser: Any) -> None:
    """A name that is not this machine's, over plain HTTP, as on a network without certificates."""
    gina = enter(project, "Gina", "answerer")
    phone = Phone(browser, address.replace("127.0.0.1", ELSEWHERE[0]))
    phone.enter(gina)
    page = phone.open()
    page.get_by_text("This address is not secure").wait_for()
    look(page, "insecure")
    page.get_by_role("link", name="All work").click()
    page.get_by_text("Take tasks with you").click()
    page.get_by_role("button", name="As pages to print").click()
    page.get_by_text("umaga, 3?").wait_for()
    assert phone.complaints == []


def test_two_people_on_one_phone_never_mix(project: Any, food: Any, address: str, browser: Any) -> None:
    food.count = 6
    gina, hana = enter(project, "Gina", "answerer"), enter(project, "Hana", "answerer")
    phone = Phone(browser, address)
    phone.enter(gina)
    page = phone.ready()
    phone.begin()
    phone.context.set_offline(True)
    for n in range(3):
        phone.answer(f"Gina {n}")
        phone.unsent(n + 1)
    # Somebody else comes in on the same phone, while a form of the first is still open: it saves nothing for them.
    phone.enter(hana)
    phone.answer("Gina's, but Hana is here")
    phone.unsent(0)
    phone.context.set_offline(False)
    page.get_by_role("button", name="Send and fetch now").click()
    phone.begin("Questions about food (6)")
    phone.answer("Hana 0")
    page.get_by_role("button", name="Questions about food (5)").wait_for()
    phone.unsent(0)
    assert [text for _, _, text in answers()] == ["Hana 0"]
    # Nobody is here: nothing is shown or sent. Then the first comes back, and theirs is sent.
    phone.context.clear_cookies()
    assert sorted(kept(page)) == [[0, 5], [3, 3]]
    page.reload()  # to the door, at which the tasks of whoever left go; what they filled in stays
    wait_until(lambda: sorted(kept(page)) == [[0, 0], [3, 0]])
    phone.enter(gina)
    phone.open()
    phone.unsent(0)
    found = answers()
    assert [text for _, _, text in found] == ["Hana 0", "Gina 0", "Gina 1", "Gina 2"]
    assert len({actor for actor, _, _ in found[1:]}) == 1
    assert found[0][0] != found[1][0]


def test_a_visit_that_ended_pauses_all_and_loses_nothing(project: Any, food: Any, address: str, browser: Any) -> None:
    gina = enter(project, "Gina", "answerer")
    phone = Phone(browser, address)
    phone.enter(gina)
    phone.ready()
    phone.begin()
    cookies = gina.client.cookies.copy()
    phone.context.set_offline(True)
    phone.answer("kanin")
    phone.unsent(1)
    gina.client.session.flush()  # somewhere else, such as by a new code
    phone.context.set_offline(False)
    phone.page.get_by_text("You are signed out. Nothing is lost").wait_for()
    phone.unsent(1)
    assert answers() == []
    gina.client.cookies = cookies
    gina.act("/enter/", {"code": gina.code})
    phone.enter(gina)
    phone.page.get_by_role("button", name="Send and fetch now").click()
    phone.unsent(0)
    assert [text for _, _, text in answers()] == ["kanin"]


def test_a_refused_record_stops_no_other_and_can_be_kept_or_deleted(
    project: Any, food: Any, address: str, browser: Any
) -> None:
    phone = Phone(browser, address)
    phone.enter(enter(project, "Gina", "answerer"))
    page = phone.ready()
    phone.begin()
    phone.context.set_offline(True)
    for n in range(3):
        phone.answer(f"kanin {n}")
        phone.unsent(n + 1)
    find = food.find
    food.find = lambda member, subject, seen: None if subject == "food-2" else find(member, subject, seen)
    phone.context.set_offline(False)
    page.get_by_text("Not accepted by the studio").wait_for()
    phone.unsent(0)
    assert [subject for _, subject, _ in answers()] == ["food-1", "food-3"]
    refused = page.locator("#refused li")
    refused.get_by_text("There is no such task").wait_for()
    refused.get_by_text("kanin 1").wait_for()
    look(page, "refused")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the answers to a file").click()
    file = json.loads(Path(download.value.path()).read_text())
    assert [(one["subject"], one["values"]["text"]) for one in file["records"]] == [("food-2", "kanin 1")]
    page.get_by_role("button", name="Try again").click()
    refused.get_by_text("There is no such task").wait_for()
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Delete").click()
    assert refused.count() == 1
    food.find = find
    page.get_by_role("button", name="Try again").click()
    page.locator("#export").wait_for(state="hidden")
    page.locator("#outbox").wait_for(state="hidden")
    assert sorted(subject for _, subject, _ in answers()) == ["food-1", "food-2", "food-3"]
    assert phone.complaints == []


def test_an_answer_to_what_was_edited_meanwhile_is_marked_as_one_to_an_older_text(
    project: Any, food: Any, address: str, browser: Any
) -> None:
    """The real desk of everyday questions, read in Arabic."""
    food.roles = frozenset()
    blend = commands.new_project("qahira", form="blend", title="القاهرة", culture="Egypt", language="ar")
    speak(blend, "ar", {"Work without a network": "العمل بلا شبكة", "Your answer": "إجابتك"})
    first, second = ask(blend, "ماذا تأكل في الصباح؟"), ask(blend, "متى تنام؟")
    phone = Phone(browser, address, "qahira")
    phone.enter(enter(blend, "هدى", "answerer"), "ar")
    page = phone.ready()
    assert page.locator("html").get_attribute("dir") == "rtl"
    phone.context.set_offline(True)
    page.locator("#desks button").click()
    page.get_by_label("إجابتك").wait_for()
    look(page, "arabic-task")
    for n in (1, 2):
        page.locator("#field_answer_1").fill("فول")
        page.locator("button[value=answered]").click()
        page.locator("#unsent", has_text=f"{n}.").wait_for()  # the next task is shown by then
    page.locator("#task .lead").wait_for()
    look(page, "arabic-offline")
    revise(blend, first, "ماذا تأكل عادة في الصباح؟")
    phone.context.set_offline(False)
    page.locator("#export").wait_for(state="hidden")
    found = {one.wording.question_id: one for one in merged(blend, "ar")}
    assert (len(found[first.id].old), len(found[second.id].old)) == (1, 0)
    # It is asked for again, as it reads now.
    page.locator("#desks button").click()
    page.get_by_text("ماذا تأكل عادة في الصباح؟").wait_for()
    assert phone.complaints == []


def test_the_first_load_is_small(project: Any, food: Any, address: str, browser: Any) -> None:
    """All that a phone fetches for its first page, as it travels."""
    gina = enter(project, "Gina", "answerer")
    for path in ("/enter/", "/p/baryo/", "/p/baryo/work/food/", "/p/baryo/phone/"):
        phone = Phone(browser, address)
        if path != "/enter/":
            phone.enter(gina)
        page = phone.context.new_page()
        requests: list[Any] = []
        page.on("requestfinished", lambda one, found=requests: found.append(one))
        page.goto(address + path)
        page.wait_for_load_state("networkidle")
        sizes = [one.sizes() for one in requests]
        total = sum(size["responseBodySize"] + size["responseHeadersSize"] for size in sizes)
        print(f"first load of {path}: {len(sizes)} requests, {total:,} bytes")
        assert 5_000 < total <= 150_000


def test_nothing_of_who_withdrew_is_left_on_the_phone(project: Any, food: Any, address: str, browser: Any) -> None:
    """Neither their tasks nor what they filled in and never sent; what others filled in waits for them."""
    food.count = 6
    gina, hana = enter(project, "Gina", "answerer"), enter(project, "Hana", "answerer")
    phone = Phone(browser, address)
    for who in (hana, gina):
        phone.enter(who)
        page = phone.ready()
        phone.begin()
        phone.context.set_offline(True)
        phone.answer("hindi naipadala")
        phone.unsent(1)
        page.close()
        phone.context.set_offline(False)
        if who is hana:  # as if the network came back only when she is here again
            phone.context.clear_cookies()
    # Gina's answer is not sent on this page, either: she withdraws first.
    page = phone.context.new_page()
    page.goto(f"{address}/p/{phone.project}/withdraw/")
    page.get_by_label("Remove my contributions, too.").check()
    page.get_by_label("I am sure.").check()
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_text("What you asked for has been done").wait_for()
    wait_until(lambda: sorted(kept(page)) == [[0, 0], [1, 0]])
    assert "hindi naipadala" not in [text for _, _, text in answers()]
    phone.enter(hana)
    phone.open()
    phone.unsent(0)
    assert [text for _, _, text in answers()] == ["hindi naipadala"]
