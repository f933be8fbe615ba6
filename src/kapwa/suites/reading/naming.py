"""What a user may name as data: a file, a folder, a sample pack, a data set of the hub."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from kapwa.errors import UsageError, nearest

SAMPLE = "sample"
_SHOWN = 200


def existing(text: str) -> Path | None:
    """Return the file or folder that ``text`` names, None where there is none."""
    try:
        path = Path(text).expanduser()
        return path if text.strip() and path.exists() else None
    except (OSError, RuntimeError, ValueError):  # a name too long, a home that is not there, a NUL
        return None


def no_such_data(text: str, packs: Iterable[str], *, hub_id: str | None = None) -> UsageError:
    """Return the error for a name that is no data; the nearest of packs, neighbours and ``hub_id`` is suggested."""
    known = [SAMPLE, *(f"{SAMPLE}:{name}" for name in packs), *([hub_id] if hub_id else [])]
    with contextlib.suppress(OSError, ValueError):
        known += [str(sibling) for sibling in Path(text).parent.iterdir() if not sibling.name.startswith(".")]
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    others = " Another hub data set is written hub:OWNER/NAME." if hub_id else ""
    return UsageError(f"There is no file, folder or data set {shown!r}.", hint=nearest(text, known) + others)
