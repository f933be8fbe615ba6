"""Small pictures and recordings of a run's questions: copied beside its tables, so that reports can show them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from kapwa.files import replacing
from kapwa.records import MEDIA_TYPES, Item, Media

LARGEST = 200_000  # bytes; of a larger file the name and the words for it are kept alone
_FOLDER = "media"


def keep_media(items: Iterable[Item], folder: Path) -> None:
    """Copy what is small of the items' media into a run's folder, each file once; skip what cannot be read."""
    for item in items:
        turns = item.fields.get("messages", ())
        for media in (*item.fields.get("media", ()), *(media for turn in turns for media in turn.media)):
            _keep(media, _media_path(folder, media.path, media.sha256))


def stored_media(folder: Path, path: str, sha256: str) -> bytes | None:
    """Return the content of a file that was kept under its digest; None where it was not, or is another by now."""
    try:
        content = _media_path(folder, path, sha256).read_bytes()
    except (OSError, ValueError):
        return None
    return content if hashlib.sha256(content).hexdigest() == sha256 else None


def _media_path(folder: Path, path: str, sha256: str) -> Path:
    """Where a file of this digest is kept; of a digest that is none, nothing is."""
    ending = Path(path).suffix.lower()
    if ending not in MEDIA_TYPES or not sha256.isalnum():
        raise ValueError(path)
    return folder / _FOLDER / f"{sha256}{ending}"


def _keep(media: Media, target: Path) -> None:
    file = Path(media.file)
    if target.exists() or not file.is_file() or file.stat().st_size > LARGEST:
        return
    with replacing(target) as temporary:
        temporary.write_bytes(file.read_bytes())
