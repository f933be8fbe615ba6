"""The progress of downloads by the hub's library: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import io
import sys
import time
from typing import Any, ClassVar

from huggingface_hub.utils import tqdm  # type: ignore[attr-defined]

from kapwa.catalog.hub import in_megabytes

# Seconds between two lines where there is no terminal, so that a log is not long.
BETWEEN_LINES = 10.0


class Bar(tqdm):
    """A bar of bytes on stderr; without a terminal a line now and then, and one at the end."""

    _last_written: ClassVar[str] = ""

    def __init__(self, *values: Any, **settings: Any) -> None:
        settings["disable"] = settings.get("unit") != "B"  # a bar of the number of files would say little
        settings.pop("name", None)
        self._on_terminal = sys.stderr.isatty()
        if not self._on_terminal:
            settings["file"] = io.StringIO()  # the control characters of a bar would fill a log
        self._last_line = time.monotonic()
        super().__init__(*values, **settings)  # type: ignore[no-untyped-call]

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Draw the bar, or write a line where one is due."""
        if self._on_terminal:
            super().display(msg, pos)
            return
        total = self.total or 0
        if (total and self.n >= total) or time.monotonic() - self._last_line >= BETWEEN_LINES:
            self._last_line = time.monotonic()
            of = f" of {in_megabytes(total)} ({self.n / total:.0%})" if total else ""
            line = f"  {in_megabytes(self.n)}{of}\n"
            if line != Bar._last_written:  # the library has several bars of the same bytes
                Bar._last_written = line
                sys.stderr.write(line)
