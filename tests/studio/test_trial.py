"""The whole trial: from an empty folder to the report of a model by buttons alone, on phones that lose the network.

Seeded; KAPWA_CUTS=200 for as many cuts as issue 26 asks for.
"""

import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
from studio_browser import CHROMIUM, PATIENCE, PHONE, api, kapwa
from studio_cuts import LOSSES, Network
from studio_people import Someone, a_situation, accepted, enter
from test_kept import HERE, HOST, OUT, SENT, UNSENT, Person, Served

CADDY, CERTUTIL = shutil.which("caddy"), shutil.which("certutil")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
CUTS = int(os.environ.get("KAPWA_CUTS", "20"))
EACH = max(1, CUTS // 20)  # situations that each of the two writes
PROJECT = "ang-buhay-natin"
T0 = time.monotonic()
TYPING = ("closed tab", "reload", "restart", "no network", "ended visit")
SENDING = (*LOSSES, "killed", "no network", "closed tab", "ended visit")


class Studio(Served):
    """A studio in an empty folder, reached by a network that fails; ``outside``: the address that people use."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.network = Network(self.port)
        self.address, self.options = f"http://{HOST}:{self.network.port}", ("--open",)
        self.link = ""

    def start(self) -> None:
        super().start()
        assert self.process is not None
        assert self.process.stderr is not None
        self.link = re.search(r"/join/\S+/", self.process.stderr.readline())[0]


class Trial:
    """What people do, and which of it is cut: so many of all acts, chosen by a seed."""

    def __init__(self, studio: Studio, browser: Any, acts: int) -> None:
        self.studio, self.browser, self.rng = studio, browser, random.Random(26)
        self.left = [True] * CUTS + [False] * (acts - CUTS)
        self.rng.shuffle(self.left)
        self.happened: list[str] = []
        self.typed: list[str] = []

    def cut(self, kinds: tuple[str, ...]) -> str:
        """Return what happens at the next act, "" for nothing; each kind comes as often as others."""
        if not self.left.pop():
            return ""
        rarest = min(map(self.happened.count, kinds))
        kind = self.rng.choice([kind for kind in kinds if self.happened.count(kind) == rarest])
        self.happened.append(kind)
        return kind

    def say(self, what: str) -> None:
        print(f"{time.monotonic() - T0:.1f} {what}", flush=True)

    def text(self, words: str) -> str:
        """Return a text that nobody typed before, to be looked for in the log."""
        self.typed.append(f"{words} {len(self.typed)} ({self.rng.random()})")
        return self.typed[-1]

    def restart(self) -> None:
        self.studio.kill()
        self.studio.start()

    def phone(self, code: str, name: str) -> Person:
        person = Person(self.browser.new_context(viewport=PHONE), self.studio)
        person.arrive(code, name)
        return person

    def type(self, who: Person, path: str, field: str, text: str) -> Any:
        """Type a text on a page, of which something may happen; it is there when the page is opened again."""
        page = who.open(path)
        page.locator(field).press_sequentially(text)
        page.locator(".kept:not([data-writing])", has_text=HERE).wait_for()
        kind = self.cut(TYPING)
        self.say(f"typed {path} {kind}")
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

    def send(self, who: Person, button: Any) -> None:
        """Press a button, of which something may happen, until what was typed has arrived."""
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
            killing.finished.wait(20)
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
            page = who.page if kind == "no network" else who.open(f"/p/{PROJECT}/")
        self.arrived(page)
        assert self.acts() == before + 1, self.happened
        self.say(f"sent {kind}")

    def arrived(self, page: Any) -> None:
        """Wait until a page says that the studio has what was sent; the device notices its network in between."""
        end = time.monotonic() + PATIENCE / 1000
        while not page.get_by_text(SENT).first.is_visible():
            assert time.monotonic() < end, (self.happened, page.url, page.locator("main").inner_text()[:2000])
            with suppress(api.Error):  # the page changes
                page.evaluate("dispatchEvent(new Event('online'))")
            page.wait_for_timeout(100)

    def acts(self) -> int:
        return len(self.studio.bodies())


def begin(trial: Trial) -> tuple[Person, list[str]]:
    """Let the coordinator begin the project by the form; returns them, and the codes of who is invited."""
    ana = Person(trial.browser.new_context(viewport=PHONE), trial.studio)
    page = ana.page
    page.goto(trial.studio.address + trial.studio.link)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Title").fill("Ang buhay natin")
    page.get_by_label("Whose culture").fill("Filipino")
    page.get_by_label("Languages people write in").fill("Klingonish!")
    page.get_by_label("Situations from people's lives").check()
    for role in ("Writer", "Reviewer"):
        page.get_by_label(role).fill("2")
    page.get_by_role("button", name="Begin").click()
    assert "is not the tag of a language" in page.locator("#wrong-languages").inner_text()
    page.get_by_label("Languages people write in").fill("Filipino, Cebuano")
    trial.restart()
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("A name that others will see").fill("Ana")
    trial.restart()
    page.locator("main").get_by_role("button", name="Continue").click()
    ana.code = page.locator(".code.shown").inner_text()
    shown = re.findall(r"\d{4}(?:-\d{4}){3}", page.locator(".invitations").inner_text())
    page.get_by_role("link", name="I have saved it, continue").click()
    ana.agree()
    return ana, list(dict.fromkeys(shown))


def write(trial: Trial, who: Person, fields: dict[str, str]) -> None:
    """Write a situation at the desk, and send it to review."""
    page = trial.type(who, f"/p/{PROJECT}/situations/new/", "#context", fields["context"])
    for name in ("language", "topic", "category"):
        page.locator(f"#{name}").select_option(fields[name])
    for name, text in fields.items():
        if name not in ("language", "topic", "category", "context", "best"):
            page.locator(f"#{name}").fill(text)
    page.get_by_label(f"Response {fields['best']} is the best").check()
    trial.send(who, page.get_by_role("button", name="Save", exact=True))


def review(trial: Trial, number: int, ana: Person, voters: list[Person]) -> None:
    """Let two people vote, reveal their votes, talk about them, and accept the situation."""
    path = f"/p/{PROJECT}/situations/{number}/"
    for who in voters:
        page = trial.type(who, path, "#remark", trial.text("sang-ayon"))
        page.get_by_label("Accept as it is").check()
        page.locator("input[name=best]").first.check()
        trial.send(who, page.get_by_role("button", name="Vote", exact=True))
    trial.send(ana, ana.open(path).get_by_role("button", name="Reveal the votes"))
    page = trial.type(voters[0], path, "#say", trial.text("usapan"))
    trial.send(voters[0], page.get_by_role("button", name="Send", exact=True))
    trial.send(ana, ana.open(path).get_by_role("button", name="Accept", exact=True))


def evaluated(trial: Trial, ana: Person) -> None:
    """Make a release, and let the studio's computer evaluate it; the studio dies of the one and during the other."""
    page, path = ana.open(f"/p/{PROJECT}/releases/"), f"/p/{PROJECT}/releases/1.0.0/evaluation/"
    page.get_by_label("Version").fill("1.0.0")
    page.get_by_role("button", name="Make a release").click()
    page.get_by_role("button", name="Evaluate smollm2 on kalahi/mc").click()
    page.get_by_text("running").wait_for()
    trial.restart()
    page = ana.open(path)
    page.get_by_role("button", name="Evaluate smollm2 on kalahi/mc").click()
    try:
        page.get_by_text("finished").wait_for()
    finally:
        print(page.locator("main").inner_text()[:1500])


def walk(studio: Studio, browser: Any) -> Trial:
    """Go from an empty folder to a report that a writer reads."""
    studio.start()
    trial = Trial(studio, browser, acts=4 + 2 * EACH * 11)
    ana, codes = begin(trial)
    berto, carla, dina, edo = (
        trial.phone(code, name) for code, name in zip(codes, ("Berto", "Carla", "Dina", "Edo"), strict=True)
    )
    for who in (berto, carla):
        page = trial.type(who, f"/p/{PROJECT}/topics/", "#topic-name", trial.text("paksa"))
        trial.send(who, page.get_by_role("button", name="Add", exact=True))
    topics = list(trial.typed)
    for place in range(2 * EACH):
        who = (berto, carla)[place % 2]
        fields = a_situation(f"Liza {place}", context=trial.text("Nakita ko siya."), topic=topics[place % 2])
        write(trial, who, fields)
        page = who.open(f"/p/{PROJECT}/situations/{place + 1}/")
        trial.send(who, page.get_by_role("button", name="Send to review"))
        review(trial, place + 1, ana, [dina, edo])
    evaluated(trial, ana)
    page = berto.open(f"/p/{PROJECT}/")
    page.locator("a[href*=evaluation]").first.click()
    page.get_by_role("link", name="Show the report").click()
    page.wait_for_load_state()
    assert "Ang buhay natin" in page.content()
    return trial


@pytest.fixture
def open_studio(tmp_path: Path) -> Iterator[tuple[Studio, Any]]:
    """A studio over plain HTTP by a name that is not this machine's, and a browser."""
    studio = Studio(tmp_path)
    rules = f"--host-resolver-rules=MAP {HOST} 127.0.0.1"
    with api.sync_playwright() as started:
        yield studio, started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", rules])
    studio.kill()


def test_a_trial_over_http(open_studio: tuple[Studio, Any]) -> None:
    trial = walk(*open_studio)
    bodies = trial.studio.bodies()
    assert [sum(text in body for body in bodies) for text in trial.typed] == [1] * len(trial.typed)
