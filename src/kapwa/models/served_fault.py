"""What may go wrong with one call to a server."""

from __future__ import annotations


class CallError(Exception):
    """One call failed. ``retry``: asking again may help. ``fatal``: every other request would fail alike.

    ``busy``: the server cannot keep up. ``down``: it was not even reached. ``hint``: what to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        retry: bool = False,
        busy: bool = False,
        fatal: bool = False,
        down: bool = False,
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.retry, self.busy, self.fatal, self.down = retry, busy, fatal, down
        self.hint = hint
        self.wait: float | None = None
        self.status = 0
        self.param = ""
        self.code = ""
