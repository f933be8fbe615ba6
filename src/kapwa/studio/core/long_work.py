"""Work that takes long is done by two at a time, so that the studio's other threads answer everybody else.

Who comes third does not wait, for whoever waits holds a thread, too: they are told to try again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import BoundedSemaphore
from typing import TypeVar

from django.utils.translation import gettext as _

from kapwa.errors import KapwaError

MOST_AT_ONCE = 2
_PLACES = BoundedSemaphore(MOST_AT_ONCE)
Piece = TypeVar("Piece")


class BusyError(KapwaError):
    """Two people are at long work already; nothing was done."""


class LongWork:
    """One of the two places, until it is left; leaving it again does nothing. Raises BusyError where none is free."""

    def __init__(self) -> None:
        self._here = _PLACES.acquire(blocking=False)
        if not self._here:
            message = _("The studio is busy with other people's long work, and nothing was saved.")
            raise BusyError(message, hint=_("Try again in a minute."))

    def leave(self) -> None:
        """Let somebody else come."""
        if self._here:
            self._here = False
            _PLACES.release()


class Pieces(Iterable[Piece]):
    """The pieces of an answer that grows: the place is left when it is closed, also where nobody read it."""

    def __init__(self, pieces: Iterable[Piece], work: LongWork) -> None:
        self._pieces, self._work = iter(pieces), work

    def __iter__(self) -> Iterator[Piece]:
        return self._pieces

    def close(self) -> None:
        """Leave the place."""
        self._work.leave()
