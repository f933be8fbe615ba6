"""The templates, and charts drawn by them as SVG."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from kapwa.files import slug
from kapwa.report.charts import elements
from kapwa.report.charts.worldmap import world
from kapwa.report.wording import COMMON_FONTS, isolate, label_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_RANGE = re.compile(r"[−+]?\d[\d.]*(?:–| to )[−+]?\d[\d.]*%?")


@cache
def environment() -> Environment:
    """The templates, each compiled once in a process."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    made = Environment(
        loader=PackageLoader("kapwa.report"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"unbroken": unbroken, "slug": slug, "label": lambda name: isolate(label_text(name))}
    made.globals |= {name: getattr(elements, name) for name in ("SERIES", "SHAPES", "STEP", "DARK_FROM", "heat_step")}
    made.globals |= {"text": elements.text_svg, "wrapped": wrapped, "world": world, "FONTS": COMMON_FONTS}
    return made


def draw(macro: str, *what: object) -> str:
    """Draw with a macro of ``drawing.svg.j2``, such as ``draw("row", chart, line)``."""
    return str(getattr(environment().get_template("drawing.svg.j2").module, macro)(*what))


def wrapped(text: str, most: int, lines: int = 2) -> list[str]:
    """``text`` in lines that fit a fixed column of a picture; characters of East Asia are twice as wide."""
    plain = label_text(text)
    wide = any(unicodedata.east_asian_width(char) in "WF" for char in plain)
    return textwrap.wrap(plain, most * 6 // 11 if wide else most, max_lines=lines, placeholder="…") or [""]


def unbroken(text: str) -> Markup:
    """Escape ``text`` and keep its number ranges ("7–43%") on one line."""
    from markupsafe import Markup, escape

    return Markup(_RANGE.sub(r'<span class="unbroken">\g<0></span>', str(escape(text))))  # noqa: S704 - escaped above
