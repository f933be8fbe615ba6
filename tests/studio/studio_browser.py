"""People's browsers, in a studio that the test serves or a process of its own; and what is wrong with a page."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import warm

if TYPE_CHECKING:  # tests elsewhere, which have no studio in their own process, use these browsers, too
    from studio_people import Someone

api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PICTURES = os.environ.get("KAPWA_PICTURES")  # a folder: keep a picture of every page that is looked at
DESKTOP, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}
PATIENCE = 240_000  # milliseconds: a busy machine is no fault of the code
# Names of this machine that are none to a browser, so that it has no secure context there.
ELSEWHERE = ("testserver", "studio.test")


# What a reader sees amiss on a page that holds every rule: words that a line's end tears, days that are torn or turned
# around beside Arabic letters, fields that cut their text, commands that are wider than the screen.
AMISS = """() => {
  const found = [], range = document.createRange();
  const walk = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const boxes = (node, start, end) => {
    range.setStart(node, start);
    range.setEnd(node, end);
    return [...range.getClientRects()].filter((box) => box.width > 0);
  };
  const lines = (node, start, end) => new Set(boxes(node, start, end).map((box) => Math.round(box.bottom))).size;
  while (walk.nextNode()) {
    const node = walk.currentNode, place = node.parentElement;
    const hidden = place.closest('thead') && getComputedStyle(place.closest('thead')).position === 'absolute';
    if (!place.checkVisibility() || hidden || place.closest('textarea, option, .unseen')) continue;
    for (const day of node.data.matchAll(/\\d{4}-\\d\\d-\\d\\d/g)) {
      const [first] = boxes(node, day.index, day.index + 1), [last] = boxes(node, day.index + 9, day.index + 10);
      if (lines(node, day.index, day.index + 10) > 1 || first.left > last.left) found.push(`day ${node.data}`);
    }
    if (!place.closest('th, td, label, button, summary, legend, h1, h2, h3, .button, .state, .pages, .code')) continue;
    for (const word of node.data.matchAll(/[\\p{L}\\p{M}]{1,20}/gu))
      if (lines(node, word.index, word.index + word[0].length) > 1) found.push(`torn ${word[0]}`);
  }
  for (const field of document.querySelectorAll('textarea, pre')) {
    if (!field.checkVisibility()) continue;
    if (field.scrollWidth > field.clientWidth) found.push(`wide ${field.textContent}`);
    if (field.scrollHeight > field.clientHeight + 1) found.push(`cut ${field.textContent}`);
  }
  return found;
}"""


def kapwa(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = warm.kapwa(*arguments, cwd=cwd, KAPWA_CONFIG=str(cwd / "config"))
    assert done.returncode == 0, done.stderr
    return done


def invited(folder: Path, project: str, roles: str) -> str:
    """A code for somebody, as the command line gives it."""
    table = kapwa("studio", "invite", project, "--role", roles, cwd=folder).stdout
    return re.findall(r"\d{4}(?:-\d{4}){3}", table)[0]


def launched(chromium: Any, *flags: str, **options: Any) -> Any:
    """Start Chromium; without a GPU, which is made up here, pages take a fifth less of the processor."""
    rules = ",".join(f"MAP {name} 127.0.0.1" for name in ELSEWHERE)
    arguments = ["--no-sandbox", "--disable-gpu", f"--host-resolver-rules={rules}", *flags]
    return chromium.launch(executable_path=CHROMIUM, args=arguments, **options)


def signed_in(context: Any, who: "Someone", address: str, language: str = "en") -> list[str]:
    """Let somebody be here who came in before, in place of who was; returns what will go wrong in their pages."""
    context.clear_cookies()
    context.set_default_timeout(PATIENCE)
    visit = {"django_language": language}
    visit |= {name: who.client.cookies[name].value for name in ("sessionid", "kapwa_here")}
    context.add_cookies([{"name": name, "value": value, "url": address} for name, value in visit.items()])
    complaints: list[str] = []

    def hear(said: Any) -> None:
        if said.type == "error":
            complaints.append(f"{said.text} ({said.location['url']})")

    context.on("console", hear)
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    return complaints


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


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait up to two minutes until something holds."""
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def look(page: Any, label: str, *, colours: bool = True) -> None:
    """Hold a page against axe, refuse sideways scrolling, and keep a picture."""
    assert violations(page, colours=colours) == [], label
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{label} scrolls sideways by {wide}"
    assert page.evaluate(AMISS) == [], label
    if PICTURES:
        file = re.sub(r"\W+", "-", f"{label}-{page.viewport_size['width']}").strip("-")
        page.screenshot(path=Path(PICTURES) / f"{file}.png", full_page=True)
