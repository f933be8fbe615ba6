"""A served studio, and people's browsers that look at every page they come to."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import warm

api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = os.environ.get("KAPWA_PICTURES")  # a folder: keep a picture of every page that is looked at
DESKTOP, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}
PATIENCE = 240_000  # milliseconds: a busy machine is no fault of the code


def kapwa(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = warm.kapwa(*arguments, cwd=cwd, KAPWA_CONFIG=str(cwd / "config"))
    assert done.returncode == 0, done.stderr
    return done


@contextmanager
def serving(folder: Path, *projects: str) -> Iterator[str]:
    """Serve the studio in ``folder`` and give its address."""
    command = [str(warm.programs() / "kapwa"), "studio", "serve", *projects, "--port", "0"]
    server = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        found = re.search(r"http://\S+", server.stderr.readline())
        assert found
        yield found[0]
    finally:
        server.terminate()
        server.wait(timeout=120)


def launched(started: Any, *flags: str, **options: Any) -> Any:
    """Start Chromium; without a GPU, which is made up here, pages take a fifth less of the processor."""
    arguments = ["--no-sandbox", "--disable-gpu", *flags]
    return started.chromium.launch(executable_path=CHROMIUM, args=arguments, **options)


@contextmanager
def browsing() -> Iterator[Any]:
    """Start Chromium."""
    with api.sync_playwright() as started:
        chromium = launched(started)
        yield chromium
        chromium.close()


def invited(folder: Path, project: str, roles: str, count: int = 1) -> list[str]:
    """Codes for so many people, as the command line gives them."""
    table = kapwa("studio", "invite", project, "--role", roles, "--count", str(count), cwd=folder).stdout
    found = list(dict.fromkeys(re.findall(r"\d{4}(?:-\d{4}){3}", table)))
    assert len(found) == count
    return found


def violations(page: Any, *, colours: bool) -> list[Any]:
    """What axe finds on the page: each rule that is broken and where.

    ``colours``: hold colours against each other, too; that takes most of its time, and none depends on the width.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe.Axe().axe_script)
    rules = json.dumps({"color-contrast": {"enabled": colours}})
    run = f"axe.run({{resultTypes: ['violations'], preload: false, rules: {rules}}})"
    broken: list[Any] = page.evaluate(f"{run}.then(r => r.violations.map(v => [v.id, v.nodes.map(n => n.html)]))")
    return broken


def look(page: Any, label: str) -> None:
    """Hold a page against axe on a desk and on a phone, and refuse sideways scrolling."""
    before = page.viewport_size
    for viewport, size in (("wide", DESKTOP), ("phone", PHONE)):
        page.set_viewport_size(size)
        assert violations(page, colours=viewport == "wide") == [], f"{label} ({viewport})"
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{label} scrolls sideways by {wide} ({viewport})"
        if PICTURES:
            file = re.sub(r"\W+", "-", f"{label}-{viewport}").strip("-")
            page.screenshot(path=Path(PICTURES) / f"{file}.png", full_page=True)
    page.set_viewport_size(before)


# Pages that were looked at, by studio, label and kind of people.
_LOOKED: set[tuple[str, str, str]] = set()


class Browser:
    """One person's browser, which looks at every page it comes to with axe, wide and narrow."""

    def __init__(self, context: Any, address: str, name: str) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.address, self.name = address, name
        self.complaints: list[str] = []
        self.page.on("console", self.hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def hear(self, message: Any) -> None:
        """Note an error that the page told the console, and what it is of.

        Not of one known race: while somebody comes in, several answers set a token, and the last counts. On a page that
        has another the check of what is being typed is refused; what is sent asks for the new one first.
        """
        told = f"{message.text} ({message.location['url']}, seen at {self.page.url})"
        if message.type == "error" and not ("403" in message.text and "/check/" in told):
            self.complaints.append(told)

    def go(self, path: str) -> None:
        self.page.goto(self.address + path)
        self.look(path)

    def look(self, label: str) -> None:
        look(self.page, f"{self.name}-{label}")

    def look_once(self, label: str, kind: str = "") -> None:
        """Look at what is the same for all people of a ``kind`` when the first of them comes."""
        if (key := (self.address, label, kind)) not in _LOOKED:
            _LOOKED.add(key)
            self.look(label)

    def press(self, name: str) -> None:
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=name, exact=True).click()

    def follow(self, name: str) -> None:
        """Go where a link leads; it may end in words for those who hear it alone."""
        with self.page.expect_navigation():
            self.page.get_by_role("link", name=name).click()

    def arrive(self, code: str, name: str) -> "Browser":
        """Come in by a code through the pages for it, and look at them."""
        self.page.goto(self.address)
        self.look("/")
        self.page.get_by_label("Code").fill(code)
        self.press("Sign in")
        self.look("join")
        self.page.get_by_label("A name that others will see").fill(name)
        self.press("Continue")
        self.look("code")
        self.follow("I have saved it, continue")
        self.look("consent")
        self.page.get_by_label("What I write may be published").check()
        self.page.get_by_label("I have read this and want to take part.").check()
        self.press("Continue")
        self.look("home")
        return self

    def come_in(self, code: str, name: str) -> "Browser":
        """Come in by what these pages would send."""
        self.send("/enter/", code=code)
        home = re.search(r'class="button" href="(/p/[\w-]+/)"', self.send("/join/", pseudonym=name))
        assert home
        consent = f"{home[1]}consent/"
        self.send(consent, version=self.field(consent, "version"), agree="yes", scope_publish="yes")
        self.page.goto(self.address + home[1])
        self.look_once("home", self.name.rstrip("0123456789"))
        return self

    def field(self, path: str, name: str) -> str:
        """What a hidden field of a page holds, which is not shown."""
        page = self.page.request.get(self.address + path).text()
        hidden = re.search(rf'name="{name}" value="(\w+)"', page)
        assert hidden, page
        return hidden[1]

    def send(self, path: str, **fields: str) -> str:
        """Send a page's form without showing the page; returns the page that follows."""
        form = {"csrfmiddlewaretoken": self.field(path, "csrfmiddlewaretoken"), **fields}
        answer = self.page.request.post(self.address + path, form=form)
        assert answer.ok, answer.text()
        return str(answer.text())


def judge(who: Browser, path: str, choice: str = "") -> int:
    """Do all that waits at a desk on a phone; ``choice``: the value taken in each field, else each in turn."""
    page, done = who.page, 0
    page.goto(f"{who.address}{path}")
    who.look_once(path)
    while page.locator("form.work").count():
        page.set_viewport_size(PHONE)
        page.locator("form.work textarea").fill("<b>비고</b> ملاحظة")
        with page.expect_navigation():  # by the last choice
            for field in page.locator("form.work fieldset").all():
                options = field.locator(f"input[value={choice}]" if choice else "input")
                options.nth(done % options.count()).click()
        done += 1
    who.look_once(f"{path} done")
    return done
