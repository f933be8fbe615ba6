"""Invitations on paper: links as pictures for a phone's camera, in the terminal and on a page to print."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import segno

from kapwa.files import filling


class Link(Protocol):
    """A code, and the link that takes it."""

    @property
    def code(self) -> str:
        """The digits."""

    @property
    def link(self) -> str:
        """The address."""


def as_text(link: str) -> str:
    """Return the link's QR code in block characters."""
    out = io.StringIO()
    segno.make(link, error="m").terminal(out, compact=True, border=2)
    return out.getvalue()


def write_page(title: str, roles: Sequence[str], made: Sequence[Link], folder: Path) -> Path:
    """Write ``invitations.html`` to print, and a PNG of each link; return the page."""
    slips = []
    with filling(folder) as fresh:
        for one in made:
            code = segno.make(one.link, error="m")
            code.save(str(fresh / f"{one.code}.png"), scale=8, border=4)
            slips.append(
                f'<li><img src="{one.code}.png" alt="" width="160"><p class="code">{one.code}</p>'
                f"<p>{html.escape(one.link)}</p></li>"
            )
        page = _PAGE.format(title=html.escape(title), roles=html.escape(", ".join(roles)), slips="".join(slips))
        (fresh / "invitations.html").write_text(page, encoding="utf-8")
    return folder / "invitations.html"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.4 system-ui, "Noto Sans", sans-serif; margin: 1.5rem; }}
ul {{ list-style: none; padding: 0; display: grid; gap: 1rem;
  grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); }}
li {{ border: 1px dashed #777; padding: 1rem; break-inside: avoid; text-align: center; overflow-wrap: anywhere; }}
.code {{ font: 600 1.3rem monospace; }}
</style></head><body><h1 dir="auto">{title}</h1>
<p>Each lets one person in, as {roles}.</p><ul>{slips}</ul></body></html>
"""
