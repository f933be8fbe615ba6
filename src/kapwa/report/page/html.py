"""Templates filled: one script and style of our own, known by their hashes; no network, no fonts."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from kapwa.files import slug, write_text
from kapwa.report.charts.drawing import environment
from kapwa.report.tables.table import Table
from kapwa.runs.csv_and_notebook import BOM

if TYPE_CHECKING:
    pass


def render(
    template: str,
    styles: Sequence[str],
    scripts: Sequence[str] = (),
    *,
    downloads_folder: Path | None = None,
    **facts: object,
) -> str:
    """Fill a template with our own style sheets and scripts; the page's policy admits exactly these bytes.

    Everything is escaped but labels of drawings, which :func:`kapwa.report.charts.elements.text_svg` escapes itself.
    Tables are downloaded from the page itself, or from the folder ``downloads_folder``, where they are written.
    """
    texts = resources.files("kapwa.report").joinpath("templates")
    css, code = (
        "".join(texts.joinpath(name).read_text(encoding="utf-8") for name in names) for names in (styles, scripts)
    )
    style, run = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, code))
    scripted = f"script-src 'sha256-{run}'; img-src data:; media-src data:; " if code else ""
    facts |= {"downloads": partial(downloads, folder=downloads_folder, written=Counter()), "css": css, "script": code}
    policy = f"default-src 'none'; style-src 'sha256-{style}'; {scripted}base-uri 'none'; form-action 'none'"
    return environment().get_template(template).render(facts, policy=policy)


class Download(NamedTuple):
    """One form of a table: what it is called, the name it is saved by, and its address."""

    form: str
    name: str
    href: str


def downloads(
    table: Table, folder: Path | None = None, written: Counter[str] | None = None, under: str = "tables/"
) -> list[Download]:
    """A table's CSV and JSON: addresses that hold their texts, or of files ``under`` a ``folder``, written here.

    ``written`` counts the files of each name: two names that differ in signs alone have files of their own. A
    byte-order mark makes spreadsheets read CSV as UTF-8.
    """
    stem, written = slug(table.key), Counter() if written is None else written
    written[stem] += 1
    name = f"{stem}-{written[stem]}" if folder is not None and written[stem] > 1 else stem
    made = []
    for form, kind, text in (
        ("CSV", "text/csv", BOM + table.csv),
        # One object, its columns by name, each a list; what is no number is null.
        ("JSON", "application/json", table.frame.select(pl.all().implode()).write_json()[1:-1]),
    ):
        file = f"{name}.{form.lower()}"
        if folder is None:
            coded = base64.b64encode(text.encode("utf-8", "replace")).decode()
            made.append(Download(form, file, f"data:{kind};charset=utf-8;base64,{coded}"))
        else:
            write_text(folder / f"{under}{file}", text)
            made.append(Download(form, file, f"{under}{file}"))
    return made
