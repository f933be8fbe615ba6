"""A studio in an empty folder, and people who go through it by buttons and typing alone while the network fails."""

import random
import re
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from studio_browser import PATIENCE, PHONE, api
from studio_cuts import HOST, LOSSES, Network, Person, Served
from test_kept import HERE, OUT, SENT, UNSENT

EMPTY = 50  # looks, ten a second, at a page that stays empty: a page that is still loading is none
TYPING = ("closed tab", "reload", "restart", "no network", "ended visit")
SENDING = (*LOSSES, "killed", "no network", "closed tab", "ended visit")
# What befalls the network and the phone alone.
NETWORK = {TYPING: ("closed tab", "reload", "no network"), SENDING: (*LOSSES, "no network", "closed tab")}


class Made(NamedTuple):
    """A project as the form to begin one is filled in; ``kind``: the words of the form, ``roles``: how many of each."""

    slug: str
    title: str
    culture: str
    languages: str
    kind: str
    roles: dict[str, int]


class Studio(Served):
    """A studio in an empty folder, reached by a network that fails; ``outside``: the address that people use."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.network = Network(self.port)
        self.address, self.options = f"http://{HOST}:{self.network.port}", ("--open",)
        self.link = ""  # by which whoever runs it begins a project

    def start(self) -> None:
        super().start()
        assert self.process is not None
        assert self.process.stderr is not None
        printed = re.search(r"/join/\S+/", self.process.stderr.readline())
        assert printed
        self.link = printed[0]


class Trial:
    """What people do in a project, and which of it is cut: ``cuts`` of all acts, chosen by a seed.

    Without ``cuts`` every act is, by what befalls the network alone.
    """

    def __init__(self, studio: Studio, browser: Any, made: Made, acts: int = 0, cuts: int | None = None) -> None:
        self.studio, self.browser, self.made, self.rng = studio, browser, made, random.Random(26)
        self.every = cuts is None
        self.left = [True] * (cuts or 0) + [False] * (acts - (cuts or 0))
        self.rng.shuffle(self.left)
        self.happened: list[str] = []
        self.typed: list[str] = []
        self.codes: dict[str, list[str]] = {}  # of who is invited, by role

    def cut(self, kinds: tuple[str, ...]) -> str:
        """Return what happens at the next act, "" for nothing; each kind comes as often as others."""
        if not self.every and not self.left.pop():
            return ""
        kinds = NETWORK[kinds] if self.every else kinds
        rarest = min(map(self.happened.count, kinds))
        kind = self.rng.choice([kind for kind in kinds if self.happened.count(kind) == rarest])
        self.happened.append(kind)
        return kind

    def text(self, words: str) -> str:
        """Return a text that nobody typed before, to be looked for in the log."""
        self.typed.append(f"{words} {len(self.typed)} ({self.rng.random()})")
        return self.typed[-1]

    def path(self, place: str = "") -> str:
        """Return the address of a page of the project."""
        return f"/p/{self.made.slug}/{place}"

    def restart(self) -> None:
        self.studio.kill()
        self.studio.start()

    def fill_in(self, page: Any) -> None:
        """Fill in the form to begin a project."""
        page.get_by_label("Title").fill(self.made.title)
        page.get_by_label("Whose culture").fill(self.made.culture)
        page.get_by_label("Languages people write in").fill(self.made.languages)
        page.get_by_label(self.made.kind).check()
        for role, count in self.made.roles.items():
            page.get_by_label(role.capitalize(), exact=True).fill(str(count))

    def begin(self, viewport: dict[str, int] = PHONE) -> Person:
        """Let the coordinator open the link that the start printed, and begin the project."""
        ana = Person(self.browser.new_context(viewport=viewport), self.studio)
        ana.page.goto(self.studio.address + self.studio.link)
        ana.page.get_by_role("button", name="Continue").click()
        self.fill_in(ana.page)
        ana.page.get_by_role("button", name="Begin").click()
        ana.page.get_by_label("A name that others will see").fill("Ana")
        self.come_in(ana)
        return ana

    def come_in(self, ana: Person) -> None:
        """Let the coordinator, who has a name, keep the codes and agree."""
        ana.page.locator("main").get_by_role("button", name="Continue").click()
        ana.code = ana.page.locator(".code.shown").inner_text()
        self.read_codes(ana)
        ana.look("codes")
        ana.page.get_by_role("link", name="I have saved it, continue").click()
        ana.agree()

    def read_codes(self, who: Person) -> None:
        """Read from a page which codes somebody made."""
        slips = who.page.locator(".invitations > li")
        slips.first.wait_for()
        for slip in slips.all_inner_texts():
            roles = [role for role in (*self.made.roles, "rater") if re.search(rf"^{role}$", slip, re.MULTILINE)]
            found = re.search(r"\d{4}(?:-\d{4}){3}", slip)
            assert found, slip
            assert roles, slip
            self.codes.setdefault(roles[0], []).append(found[0])

    def phone(self, role: str, name: str, viewport: dict[str, int] = PHONE) -> Person:
        """Let somebody come in by the next code of a role."""
        person = Person(self.browser.new_context(viewport=viewport), self.studio)
        person.arrive(self.codes[role].pop(0), name)
        return person

    def reach(self, who: Person, *names: str | re.Pattern[str]) -> str:
        """Press from home one link after another, by their names; return the address of the page they lead to."""
        page = who.open(self.path())
        for name in names:
            within = page.locator("main").get_by_role("link", name=name)
            link = within.first if within.count() else page.get_by_role("link", name=name).first
            if not link.is_visible():  # on phones, pages are behind "Menu"
                page.locator("label.menu").click()
            with page.expect_navigation():
                link.click()
            page.locator("html[data-keeps]").wait_for(state="attached")
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, f"{page.url} scrolls sideways by {wide} at {page.viewport_size}"
        return str(page.url.removeprefix(self.studio.address))

    def type(
        self, who: Person, path: str, field: str, text: str, unfold: Callable[[Any], None] = lambda page: None
    ) -> Any:
        """Type a text on a page, of which something may happen; it is there when the page is opened again.

        ``unfold``: makes the field visible, where it is not at first.
        """
        page = who.open(path)
        unfold(page)
        page.locator(field).press_sequentially(text)
        page.locator(".kept:not([data-writing])", has_text=HERE).wait_for()
        kind = self.cut(TYPING)
        if kind == "closed tab":
            who.anew()
        elif kind == "restart":
            self.restart()
        elif kind == "no network":
            who.context.set_offline(True)
            page.locator("details.person summary").click()
            page.get_by_role("link", name="Me", exact=True).click()
            page.get_by_text("The studio does not answer now.").wait_for()
            who.context.set_offline(False)
        elif kind == "ended visit":
            who.end_visit()
            who.sign_in(path)
        page = who.open(path) if kind else page
        assert page.locator(field).input_value() == text, self.happened
        return page

    def send(self, who: Person, button: Any, acts: int = 1) -> None:
        """Press a button, of which something may happen, until what was typed has arrived, as so many ``acts``."""
        kind, page = self.cut(SENDING), who.page
        before = self.acts()
        if kind in LOSSES:
            self.studio.network.next = kind
        elif kind == "killed":
            killing = threading.Timer(self.rng.random() / 20, self.studio.kill)
            self.studio.network.then = killing.start
        elif kind == "ended visit":
            who.end_visit()
        elif kind:
            who.context.set_offline(True)
        button.click()
        if kind == "killed":
            killing.finished.wait(PATIENCE / 1000)
            killing.join()
            self.studio.start()
        elif kind == "ended visit":
            page.get_by_text(OUT).wait_for()
            who.come_again()
        elif kind in ("no network", "closed tab"):
            page.get_by_text(UNSENT).wait_for()
            if kind == "closed tab":
                who.anew()
            who.context.set_offline(False)
            page = who.page if kind == "no network" else who.open(self.path())
        self.arrived(page, before + acts)
        assert (self.acts(), self.studio.network.next) == (before + acts, ""), self.happened

    def arrived(self, page: Any, acts: int) -> None:
        """Wait until a page says that the studio has what was sent; the device notices its network in between.

        ``acts``: how many there are then, for the page may still say it of what was sent before.
        """
        end, empty = time.monotonic() + PATIENCE / 1000, 0
        while not page.get_by_text(SENT).first.is_visible() or self.acts() < acts:
            assert time.monotonic() < end, (self.happened, page.url, page.locator("body").inner_text()[:2000])
            with suppress(api.Error):  # the page changes
                empty = 0 if page.locator("main").count() else empty + 1
                if empty == EMPTY:  # the studio went away after it had the text: who reads an empty page tries again
                    page.reload()
                page.evaluate("dispatchEvent(new Event('online'))")
            page.wait_for_timeout(100)

    def acts(self) -> int:
        return len(self.studio.bodies())


def release(trial: Trial, ana: Person, version: str = "1.0.0") -> Path:
    """Let the coordinator make a release; return it as it was downloaded."""
    trial.reach(ana, "Make a release")
    ana.page.get_by_label("Version").fill(version)
    ana.page.get_by_role("button", name="Make a release").click()
    ana.page.get_by_role("heading", name=f"How a model does on release {version}").wait_for()
    with ana.page.expect_download() as loading:
        ana.page.get_by_role("link", name=f"{version} (ZIP)").click()
    archive = trial.studio.folder / f"{trial.made.slug}.zip"
    loading.value.save_as(archive)
    return archive
