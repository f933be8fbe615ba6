"""A page opened in a real browser, from disk, for the tests of reports and of analyses."""

import html
import json
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next((found for name in NAMES if (found := shutil.which(name))), None)
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
# Keeps what goes wrong in the page's own script.
WATCH = "<script>window.failed=[];onerror=(...told)=>failed.push(String(told[0]));</script>"
AROUND = """<!doctype html><pre id="probe"></pre>{frames}<script>
const frames = [...document.querySelectorAll("iframe")], told = {};
onmessage = e => {
  told[frames.find(one => one.contentWindow === e.source).width] = JSON.parse(e.data);
  if (Object.keys(told).length === frames.length)
    document.getElementById("probe").textContent = JSON.stringify(told);
};
</script>"""


def browse(page: Path, *flags: str) -> str:
    command = [BROWSER, *QUIET, f"--user-data-dir={page.parent / 'profile'}", *flags, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout


def without_policy(page: Path, more: str = "", instead: str = "") -> Path:
    """A copy of the page without its policy, with a script of the test in it."""
    text, found = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', instead, page.read_text("utf-8"))
    assert found == 1
    copy = page.with_name("open.html")
    copy.write_text(text.replace("</body>", more + "</body>"), encoding="utf-8")
    return copy


def probed(page: Path, *flags: str) -> dict[str, Any]:
    """What the script of the test wrote into the element "probe"; on a busy machine it is given more time."""
    for budget in (8_000, 30_000, 90_000):
        dom = browse(page, f"--virtual-time-budget={budget}", "--dump-dom", *flags)
        told = html.unescape(dom.partition('id="probe">')[2].partition("</pre>")[0])
        if told:
            break
    found: dict[str, Any] = json.loads(told)
    return found


def laid_out(page: Path, script: str, *widths: int, flags: Sequence[str] = ()) -> dict[int, dict[str, Any]]:
    """By width, how the page looks in a window of so many pixels (an iframe: windows cannot be that narrow)."""
    around, name = page.with_name("around.html"), without_policy(page, script).name
    frames = "".join(f'<iframe src="{name}" width="{width}" height="800"></iframe>' for width in widths)
    around.write_text(AROUND.replace("{frames}", frames), encoding="utf-8")
    return {int(width): seen for width, seen in probed(around, *flags).items()}


def printed(page: Path) -> str:
    """The text of the page on paper; "" where no reader of PDF is installed."""
    target = page.with_suffix(".pdf")
    browse(page, "--virtual-time-budget=5000", f"--print-to-pdf={target}", "--no-pdf-header-footer")
    assert target.read_bytes().startswith(b"%PDF")
    reader = shutil.which("pdftotext")
    command = [reader or "", str(target), "-"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout if reader else ""
