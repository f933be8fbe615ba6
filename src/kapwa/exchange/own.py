"""What an export of Kapwa's own keeps of the run it was made from, read back and checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kapwa.errors import DataError, UsageError
from kapwa.records import Floor
from kapwa.runs.manifest import FORMAT
from kapwa.runs.redact import plain
from kapwa.runs.signature import signature


def refuse_told(told: Sequence[str], file: Path) -> None:
    """Raise UsageError where the user says (``told``: "culture", "language") what the results tell themselves."""
    if told:
        options = " and ".join(f"--{name}" for name in told)
        raise UsageError(
            f"{file}: Kapwa's own results tell the {' and '.join(told)} of each item.", hint=f"Leave out {options}."
        )


_MANIFEST = ("task", "suite", "options", "headline", "groups", "seed", "signature", "kapwa")


def own_manifest(kept: Any, file: Path, note: str) -> tuple[dict[str, Any], list[Floor]]:
    """Return the manifest that an import's run gets, with ``note``, and the floors, from what an export ``kept``.

    Raises DataError where it was damaged, or written by a newer Kapwa.
    """
    try:
        manifest = dict(kept["manifest"])
        floors = [Floor(**row) for row in kept["floors"]]
        newer = int(manifest["format"]) > FORMAT
        whole = manifest["status"] in ("complete", "failed_items") and int(manifest["counts"]["failed"]) >= 0
        whole = whole and all(info["name"] and info["title"] for info in manifest["metrics"].values())
        signature(manifest).full()
    except (AttributeError, KeyError, TypeError, ValueError):
        newer, whole = False, False
    if newer:
        raise DataError("was written by a newer Kapwa.", path=file, hint="Upgrade: pip install -U kapwa")
    if not whole or not all(name in manifest for name in _MANIFEST):
        raise DataError("is not as Kapwa wrote it.", path=file, column="kapwa", hint="Export the run again.")
    known = {name: value for name, value in manifest.items() if name != "tables"}
    known["notes"] = [*known.get("notes", ()), note]
    known["imported"] = {"from": "kapwa", "version": manifest["kapwa"], "file": file.name}
    return plain(known), floors
