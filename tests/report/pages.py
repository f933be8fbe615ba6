"""A page taken apart, for the tests of reports and of analyses."""

import base64
import hashlib
import io
import itertools
import json
import re
import tempfile
import warnings
import zlib
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from rich.console import Console

from kapwa.report.page.analysis import build_analysis_report
from kapwa.report.page.runs import build_report


class Page(HTMLParser):
    """Elements with what they stand in, visible text, and the scripts of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in ("style", "script"):
            self._inside = tag
            if tag == "script":
                self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif not self._inside:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def all(self, *tags: str) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.elements if tag in tags]


def assert_sound(page: Page) -> None:
    """Headings descend one level at a time, ids and downloads have names of their own, links lead somewhere."""
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = [attrs["id"] for _, attrs in page.elements if attrs.get("id")]
    assert len(ids) == len(set(ids))
    anchors = {(a["href"] or "")[1:] for a in page.all("a", "use") if (a.get("href") or "").startswith("#")}
    assert anchors <= set(ids)
    names = [attrs["download"] for attrs in page.all("a") if "download" in attrs]
    assert len(names) == len(set(names))
    pictures = [attrs for _, attrs in page.elements if attrs.get("role") in ("img", "region")]
    assert pictures
    assert all((attrs.get("aria-label") or "").strip() for attrs in pictures)


LOCAL = ("#", "data:text/csv;", "data:application/json;", "data:image/png;")


def assert_closed(html: str, script: str = "") -> None:
    """The page loads nothing, and its policy admits its own style and script, known by their hashes, alone."""
    page = Page(html)
    policy = next(meta["content"] or "" for meta in page.all("meta") if meta.get("http-equiv"))
    css = html.partition("<style>")[2].partition("</style>")[0]
    style, code = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, script))
    own = f"script-src 'sha256-{code}'; img-src data:; media-src data:; " if script else ""
    assert policy == f"default-src 'none'; style-src 'sha256-{style}'; {own}base-uri 'none'; form-action 'none'"
    assert not page.all("link", "iframe", "object", "embed", "img", "base", "form")
    for tag, attrs in page.elements:
        assert not [name for name in attrs if name in ("src", "style") or name.startswith("on")], tag
        assert (attrs.get("href") or "#").startswith(LOCAL), tag
    assert not re.search(r"url\(|@import|@font-face", css)
    addresses = set(re.findall(r"https?://[^\"'< ]+", html))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def poisoned_tree(value: Any, canary: str, keys: Sequence[str] = ()) -> Any:
    """A manifest with ``canary`` behind every text, and behind the ``keys``."""
    if isinstance(value, dict):
        return {key + canary * (key in keys): poisoned_tree(one, canary, keys) for key, one in value.items()}
    if isinstance(value, list):
        return [poisoned_tree(one, canary, keys) for one in value]
    return value + canary if isinstance(value, str) else value


def printed(thing: Any, width: int = 140) -> str:
    """What the terminal shows; nothing may warn."""
    out = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Console(file=out, width=width, force_terminal=False).print(thing)
    return out.getvalue()


def unpacked(text: str) -> Any:
    """What ``kapwa.report.wording.pack`` packed."""
    return json.loads(zlib.decompress(base64.b64decode(text, validate=True)))


def render_page(runs: Sequence[Any]) -> str:
    """The text of a report."""
    with tempfile.TemporaryDirectory() as folder:
        return build_report(runs, Path(folder) / "page.html").read_text(encoding="utf-8")


def render_analysis(analysis: Any) -> str:
    """The text of an analysis' report."""
    with tempfile.TemporaryDirectory() as folder:
        return build_analysis_report(analysis, Path(folder) / "page.html").read_text(encoding="utf-8")
