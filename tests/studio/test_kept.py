"""Over plain HTTP, on a phone: what is typed at the desks is kept, and sent once, whatever is cut, closed or killed."""

import http.client
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
from studio_browser import CHROMIUM, PATIENCE, PHONE, PICTURES, api, invited, kapwa, launched, violations

import warm
from ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
HOST = "studio.test"  # no name of this machine, so no secure context: neither a service worker nor crypto.subtle
ROUNDS = int(os.environ.get("KAPWA_CUTS", "8")) // 2  # each has a cut while somebody types, and one while they send
HERE, SENT = "Saved on this device. Not sent yet.", "Sent. The studio has it."
UNSENT, OUT = "Not sent: the studio does not answer.", "Not sent: you are signed out."


class Served:
    """A studio in a process of its own, which can be killed and started again at the same address."""

    options: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"http://{HOST}:{self.port}"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [str(warm.programs() / "kapwa"), "studio", "serve", "--port", str(self.port), "--url", self.address]
        here = {**os.environ, "BROWSER": "true"}
        command += self.options
        self.process = subprocess.Popen(command, cwd=self.folder, env=here, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        assert self.address in self.process.stderr.readline()

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None
            while self.answers():  # what ran for it ends a moment later
                time.sleep(0.01)

    def answers(self) -> bool:
        with socket.socket() as asks:
            return asks.connect_ex(("127.0.0.1", self.port)) == 0

    def take(self, request: Any) -> None:
        """Let the studio take what the browser would send."""
        headers = {name: value for name, value in request.all_headers().items() if name != "content-length"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST", urlsplit(request.url).path, request.post_data_buffer, headers)
        assert connection.getresponse().status in (200, 204)
        connection.close()

    def events(self) -> list[tuple[str, str]]:
        """What was recorded: the kind of each event, and its body."""
        with closing(sqlite3.connect(self.folder / "kapwa-studio" / "studio.sqlite")) as database:
            return database.execute("SELECT kind, body FROM studio_event ORDER BY seq").fetchall()

    def bodies(self) -> list[str]:
        """What was recorded, as JSON with its own letters."""
        return [json.dumps(json.loads(body), ensure_ascii=False) for _kind, body in self.events()]


class Desk(NamedTuple):
    """A page where something is typed: its path, the field of the text, its button, and what else is filled in."""

    path: str
    field: str
    button: str
    others: Callable[[Any], None]

    @property
    def home(self) -> str:
        """The page of its project."""
        return "/".join(self.path.split("/")[:3]) + "/"


def _question(page: Any) -> None:
    page.get_by_label("Topic").select_option(index=1)


DESKS = {
    "situations": Desk(
        "/p/bayan/situations/new/", "#context", "form.desk button:not([type=button], [name])", lambda page: None
    ),
    "questions": Desk("/p/araw/questions/new/", "#text", "main form button:not([type=button])", _question),
    "prompts": Desk(
        "/p/misr/prompts/concept/",
        "[name=concept]",
        "main form:has([name=concept]) button:not([type=button])",
        lambda page: page.locator("[name=topic]").first.fill("food"),
    ),
    "ratings": Desk(
        "/p/bayan/work/baseline/",
        "form.work textarea",
        "form.work input[type=radio]",  # the last choice sends
        lambda page: None,
    ),
}


class Person:
    """Somebody with one phone, who comes in again where their visit has ended."""

    def __init__(self, context: Any, studio: Served) -> None:
        self.context, self.studio = context, studio
        context.set_default_timeout(PATIENCE)
        self.page = context.new_page()
        self.code = ""

    def arrive(self, code: str, name: str) -> None:
        self.page.goto(f"{self.studio.address}/enter/")
        self.page.get_by_label("Code").fill(code)
        self.page.get_by_role("button", name="Sign in").click()
        if not self.code:
            self.page.get_by_label("A name that others will see").fill(name)
        self.page.locator("main").get_by_role("button", name="Continue").click()
        if not self.code:
            self.code = self.page.locator(".code.shown").inner_text()
            self.page.get_by_role("link", name="I have saved it, continue").click()
        self.agree()

    def agree(self) -> None:
        """Agree to taking part and to publication, and come to the first page."""
        self.page.get_by_label("What I write may be published").check()
        self.page.get_by_label("I have read this and want to take part.").check()
        self.page.locator("main").get_by_role("button", name="Continue").click()
        self.page.locator("#keep").wait_for(state="attached")

    def sign_in(self, path: str) -> Any:
        """Come in again on a phone on which nobody is here, on the way to a page."""
        self.page.goto(self.studio.address + path)
        self.page.get_by_label("Code").fill(self.code)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator("html[data-keeps]").wait_for(state="attached")
        return self.page

    def sign_out(self, *, delete: bool) -> None:
        """End the visit on purpose; what is not sent is deleted, or nothing happens."""
        asked = []

        def reply(dialog: Any) -> None:
            asked.append(dialog.message)
            _ = dialog.accept() if delete else dialog.dismiss()

        self.page.once("dialog", reply)
        if not (out := self.page.get_by_role("button", name="Sign out on this device")).is_visible():
            self.page.locator("details.person summary").click()
        out.click()
        while not asked:  # it is asked once the rest was sent
            self.page.wait_for_timeout(50)

    def look(self, label: str) -> None:
        """Hold the page against axe, keep a picture, and refuse sideways scrolling."""
        assert violations(self.page, colours=True) == [], label
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, label
        if PICTURES:
            self.page.screenshot(path=Path(PICTURES) / f"kept-{label}.png")

    def open(self, path: str) -> Any:
        self.page.goto(self.studio.address + path)
        self.page.locator("html[data-keeps]").wait_for(state="attached")
        return self.page

    def anew(self) -> None:
        self.page.close()
        self.page = self.context.new_page()

    def end_visit(self) -> None:
        self.context.clear_cookies(name="sessionid")

    def come_again(self) -> None:
        self.page.get_by_role("link", name="Sign in").last.click()
        self.page.get_by_label("Code").fill(self.code)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator("html[data-keeps]").wait_for(state="attached")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    tmp_path = tmp_path_factory.mktemp("served")
    kapwa("studio", "new", "bayan", "--language", "fil", cwd=tmp_path)
    kapwa("studio", "new", "araw", "--form", "blend", "--language", "ko", cwd=tmp_path)
    kapwa("studio", "new", "misr", "--form", "eecc", "--language", "ar", cwd=tmp_path)
    kapwa("studio", "tasks", "bayan", "sample:filipino", "--kind", "baseline", cwd=tmp_path)
    served = Served(tmp_path)
    served.start()
    yield served
    served.kill()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    rules = f"--host-resolver-rules=MAP {HOST} 127.0.0.1"
    with api.sync_playwright() as started:
        yield launched(started, rules)


@pytest.fixture
def ana(chromium: Any, studio: Served) -> Person:
    """Somebody who works at all four desks."""
    person = Person(chromium.new_context(viewport=PHONE), studio)
    for project, roles in (("bayan", "writer,validator"), ("araw", "writer"), ("misr", "writer,translator")):
        person.arrive(invited(studio.folder, project, roles)[0], "Ana")
    assert person.page.evaluate("window.isSecureContext") is False
    return person


def cut_while_typing(kind: str, who: Person, path: str) -> None:
    """Let something happen to a page on which something was typed, and open the page again."""
    if kind == "closed tab":
        who.anew()
    elif kind == "Back":
        who.page.go_back()
    elif kind == "ended visit":
        who.end_visit()
        who.sign_in(path)
    elif kind == "restart":
        who.studio.kill()
        who.studio.start()
    elif kind == "no network":
        who.context.set_offline(True)
        who.page.locator("details.person summary").click()
        who.page.get_by_role("link", name="Me", exact=True).click()
        who.page.get_by_text("The studio does not answer now.").wait_for()  # and not the browser's page of errors
        who.context.set_offline(False)
    who.open(path)


def cut_while_sending(kind: str, who: Person, home: str, press: Callable[[], None]) -> None:
    """Let something happen to what is sent, until it has arrived."""
    page = who.page
    posts = lambda address: True  # noqa: E731 - Playwright asks it of every address
    if kind == "no network":
        who.context.set_offline(True)
        press()
        page.get_by_text(UNSENT).wait_for()
        who.context.set_offline(False)
    elif kind == "answer lost":

        def lose(route: Any) -> None:
            if route.request.method == "POST":
                who.studio.take(route.request)
                route.abort()
                page.unroute(posts)
            else:
                route.continue_()

        page.route(posts, lose)
        press()
    elif kind == "killed":
        who.studio.kill()
        press()
        page.get_by_text(UNSENT).wait_for()
        who.studio.start()
    elif kind == "closed tab":
        who.context.set_offline(True)
        press()
        page.get_by_text(UNSENT).wait_for()
        who.anew()
        who.context.set_offline(False)
        page = who.open(home)  # any page of the project sends it
    else:
        who.end_visit()
        press()
        page.get_by_text(OUT).wait_for()
        who.come_again()
    try:
        page.get_by_text(SENT).first.wait_for()
    except Exception:
        print(page.url, page.locator("main").inner_text()[:3000])
        raise


def test_nothing_typed_is_lost_and_nothing_is_sent_twice(studio: Served, ana: Person) -> None:
    """Seeded; KAPWA_CUTS=200 cuts it as often."""
    rng = random.Random(26)
    typing = ("closed tab", "reload", "Back", "ended visit", "restart", "no network")
    sending = ("no network", "answer lost", "killed", "closed tab", "ended visit")
    desks, happened, texts = list(DESKS), list[tuple[str, str, str]](), list[str]()
    for n in range(ROUNDS):
        name = desks[n % 4]
        while True:
            desk = DESKS[name]
            page = ana.open(desk.path)
            if page.locator(desk.field).count():
                break
            name = "situations"  # all was rated
        happened.append((name, typing[(n + n // 6) % 6], rng.choice(sending) if n >= 5 else sending[n]))
        text = f"salita {n} · 말 · كلمة · {rng.random()}"
        texts.append(text)
        page.locator(desk.field).first.press_sequentially(text)
        page.locator(".kept:not([data-writing])", has_text=HERE).wait_for()
        started = time.monotonic()
        cut_while_typing(happened[-1][1], ana, desk.path)
        page = ana.page
        assert page.locator(desk.field).first.input_value() == text, happened[-1]
        assert page.get_by_text(HERE).is_visible(), happened[-1]
        desk.others(page)
        cut_while_sending(happened[-1][2], ana, desk.home, page.locator(desk.button).first.click)
        print(f"{n}: {' / '.join(happened[-1])}: {time.monotonic() - started:.1f} s", flush=True)
        recorded = studio.bodies()
        assert [sum(text in body for body in recorded) for text in texts] == [1] * len(texts), happened[-1]
    for desk in DESKS.values():
        assert ana.open(desk.home).locator("#keep").is_hidden()  # nothing waits


# What the databases of everybody on the phone hold.
EVERYTHING = """async () => {
  const { openDB } = await import("/static/studio/vendor/idb-8.0.3.js");
  const found = await Promise.all((await indexedDB.databases()).map(async ({ name }) => {
    const database = await openDB(name);
    const facts = await database.getAll("facts");
    database.close();
    return facts;
  }));
  return JSON.stringify(found);
}"""


def test_what_is_kept_is_its_authors_alone_and_goes_when_they_leave(studio: Served, chromium: Any) -> None:
    """Two people on one phone."""
    context = chromium.new_context(viewport=PHONE)
    berto, carla = Person(context, studio), Person(context, studio)
    path, field, button = DESKS["situations"][:3]
    berto.arrive(invited(studio.folder, "bayan", "writer")[0], "Berto")
    page = berto.open(path)
    page.locator(field).fill("lihim ni Berto")  # what the checks say of it comes while Carla comes in
    berto.page.locator(".kept:not([data-writing])", has_text=HERE).wait_for()
    context.clear_cookies()  # as when a visit ends by its age
    carla.arrive(invited(studio.folder, "bayan", "writer")[0], "Carla")
    for page in (carla.open("/p/bayan/"), carla.open(path)):
        assert "lihim" not in page.content()
        assert page.locator("#keep").is_hidden()
    # Berto's page is still open in another window, and sends nothing in her name.
    berto.page.locator(button).click()
    berto.page.get_by_text(OUT).wait_for()
    carla.page.locator(field).fill("lihim ni Carla")
    carla.page.locator(".kept:not([data-writing])", has_text=HERE).wait_for()
    carla.sign_out(delete=False)
    assert carla.page.locator(field).input_value() == "lihim ni Carla"
    carla.arrive(invited(studio.folder, "araw", "writer")[0], "Carla")  # what she typed in another project goes, too
    carla.open(DESKS["questions"].path).locator(DESKS["questions"].field).fill("ikalawa ni Carla")
    carla.page.locator(".kept:not([data-writing])", has_text=HERE).wait_for()
    carla.open("/p/bayan/")
    carla.sign_out(delete=True)
    carla.page.get_by_label("Code").wait_for()
    assert "Carla" not in carla.page.evaluate(EVERYTHING)
    assert "lihim ni Berto" in carla.page.evaluate(EVERYTHING)
    assert not any("lihim" in body for body in studio.bodies())
    berto.page.close()
    berto.page = carla.page
    berto.sign_in("/p/bayan/").get_by_text(SENT).wait_for()  # what he had pressed the button for
    assert sum("lihim ni Berto" in body for body in studio.bodies()) == 1
    berto.open(path).locator(field).fill("hindi naipadala")
    berto.page.locator(".kept:not([data-writing])", has_text=HERE).wait_for()
    berto.page.goto(f"{studio.address}/p/bayan/withdraw/")
    berto.page.get_by_text(HERE[:20]).wait_for()
    berto.page.get_by_label("Remove my contributions, too.").check()
    berto.page.get_by_label("I am sure.").check()
    berto.page.get_by_role("button", name="Withdraw").click()
    berto.page.get_by_text("What you asked for has been done").wait_for()
    berto.page.wait_for_function(f"async () => !(await ({EVERYTHING})()).includes('hindi')")
    context.close()


def test_the_page_says_which_it_is_in_the_readers_language(studio: Served, chromium: Any) -> None:
    """Saved here, not sent, sent; also where the device is full; in Arabic, for catalogs hold every text."""
    language = "ar"
    who = Person(chromium.new_context(viewport=PHONE, has_touch=True), studio)
    path, field, button = DESKS["situations"][:3]
    who.arrive(invited(studio.folder, "bayan", "writer")[0], f"Dina {language}")
    who.context.add_cookies([{"name": "django_language", "value": language, "url": studio.address}])
    page = who.open(path)
    page.locator(field).fill(f"{language} ሰላም مرحبا")
    page.locator(".kept:not([data-writing]) .hint").wait_for()
    who.look(f"{language}-saved-here")
    page.reload()
    page.locator(".kept button").wait_for()
    who.look(f"{language}-back")
    who.context.set_offline(True)
    page.locator(button).click()
    page.locator(".kept .warn").wait_for()
    who.look(f"{language}-not-sent")
    who.context.set_offline(False)
    page.locator("#keep .hint").wait_for()
    who.look(f"{language}-sent")
    # A device without room: it says so, and what is typed can still be sent.
    page = who.open(path)
    full = "() => { throw new DOMException('', 'QuotaExceededError'); }"
    page.evaluate(f"() => {{ IDBObjectStore.prototype.put = {full} }}")
    page.locator(field).fill(f"{language} puno")
    page.locator(".kept .warn").wait_for()
    who.look(f"{language}-full")
    with page.expect_navigation():
        page.locator(button).click()
    assert sum(f"{language} puno" in body for body in studio.bodies()) == 1
    # What is not sent is named on every other page.
    page = who.open(path)
    page.locator(field).fill(f"{language} ሌላ")
    page.locator(".kept:not([data-writing]) .hint").wait_for()
    page = who.open("/p/bayan/")
    page.locator("#keep li a").wait_for()
    who.look(f"{language}-elsewhere")
    who.context.close()
