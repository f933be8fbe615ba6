"""The menu of a project: a few places by role, and the pages of the place where the visitor is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop as _n

from kapwa.studio.core.forms import form_of
from kapwa.studio.core.security import Visit

# Pages by their names, with what the menu calls them.
Pages = Sequence[tuple[str, str]]
_HOME: Pages = (("home", _n("Home")),)
_WORK: Pages = (("work", _n("My work")),)
_PEOPLE: Pages = (
    ("people", _n("People")),
    ("group_links", _n("A link for many")),
    ("activity", _n("What members have done")),
    ("who", _n("Who took part")),
    ("share", _n("Remind the group")),
)
_MANAGE: Pages = (
    ("releases", _n("Releases")),
    ("results", _n("Ratings")),
    ("settings", _n("Settings")),
    ("backup", _n("Backup")),
    ("log", _n("Log")),
)
_SEARCH: Pages = (("search", _n("Search")),)


class Link(NamedTuple):
    """A link of the menu: its text and address, and where the visitor is: "page", "true" (beneath it) or ""."""

    text: str
    address: str
    current: str = ""


class Menu(NamedTuple):
    """The places to which the visitor may go, and the pages of the one where they are, if it has several."""

    places: list[Link]
    pages: list[Link]


def menu(visit: Visit) -> Menu:
    """Return the menu as the visitor sees it from the page that they ask for."""
    path = visit.request.path
    places, here = list[Link](), list[Link]()
    named = ((_n("Items"), form_of(visit.project).menu), (_n("People"), _PEOPLE), (_n("Manage"), _MANAGE))
    for title, pages in (("", _HOME), ("", _WORK), *named, ("", _SEARCH)):
        links = [Link(_(text), address) for name, text in pages if (address := visit.link(name))]
        if not links or not visit.link(pages[0][0]):
            continue
        inside = [link for link in links if _is_beneath(path, link.address, visit)]
        nearest = max(inside, key=lambda link: len(link.address), default=None)
        if nearest is not None and len(links) > 1:
            here = [link._replace(current=_current(path, link, nearest)) for link in links]
        current = "" if nearest is None else "true" if len(links) > 1 else _current(path, links[0], nearest)
        places.append(Link(_(title) if title else links[0].text, links[0].address, current))
    return Menu(places, here)


def _is_beneath(path: str, address: str, visit: Visit) -> bool:
    """Whether a page is the one at an address or beneath it; beneath the home of a project are all others."""
    return path == address or (path.startswith(address) and address != visit.link("home"))


def _current(path: str, link: Link, nearest: Link) -> str:
    return "" if link is not nearest else "page" if path == link.address else "true"
