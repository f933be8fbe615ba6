"""What a user may name as data: a file, a folder, a sample pack, a data set of the hub."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from pathlib import Path

from kapwa.errors import UsageError, nearest

SAMPLE = "sample"
_SHOWN = 200
# Tables that people save and Kapwa does not read.
_OTHER_TABLES = (".xls", ".xlsm", ".xlsb", ".ods", ".fods", ".numbers", ".gsheet", ".txt", ".json", ".docx", ".html")


def existing(text: str) -> Path | None:
    """Return the file or folder that ``text`` names, None where there is none."""
    try:
        path = Path(text).expanduser()
        return path if text.strip() and path.exists() else None
    except (OSError, RuntimeError, ValueError):  # a name too long, a home that is not there, a NUL
        return None


def odd_names(folder: Path, stems: Iterable[str], suffixes: Collection[str]) -> str | None:
    """Say which file of ``folder`` would be one of ``stems`` with a name of small letters and a kind that is read.

    None where there is none; ``suffixes``: the kinds that are read.
    """
    wanted = tuple(stems)
    with contextlib.suppress(OSError):
        for file in sorted(folder.iterdir()):
            stem, suffix = file.stem.strip().casefold(), file.suffix.lower()
            if stem not in wanted or not file.is_file():
                continue
            if suffix not in suffixes and suffix in _OTHER_TABLES:
                return f"{file.name} is of a kind that is not read: save it as {stem}.xlsx, or as {stem}.csv in UTF-8."
            if suffix in suffixes and file.name != stem + suffix:
                return f"Rename {file.name} to {stem}{suffix}: names of files are in small letters."
    return None


def no_such_data(text: str, packs: Iterable[str], *, hub_id: str | None = None) -> UsageError:
    """Return the error for a name that is no data; the nearest of packs, neighbours and ``hub_id`` is suggested."""
    known = [SAMPLE, *(f"{SAMPLE}:{name}" for name in packs), *([hub_id] if hub_id else [])]
    with contextlib.suppress(OSError, ValueError):
        known += [str(sibling) for sibling in Path(text).parent.iterdir() if not sibling.name.startswith(".")]
    shown = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    others = " Another hub data set is written hub:OWNER/NAME." if hub_id else ""
    return UsageError(f"There is no file, folder or data set {shown!r}.", hint=nearest(text, known) + others)
