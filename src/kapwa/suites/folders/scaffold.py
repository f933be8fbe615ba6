"""Start a folder of a form: a card, example rows to be replaced, and a README for the people who will write it."""

from __future__ import annotations

import shlex
from pathlib import Path

from kapwa import registry
from kapwa.errors import UsageError, nearest
from kapwa.registered import fitting_name

FORMS = ("kalahi", "blend", "eecc")
SCAFFOLDS = Path(__file__).parent / "scaffolds"
# Example rows begin their notes with this word, so that a check can say which are still there.
EXAMPLE = "EXAMPLE"


def new_suite(form: str, folder: str | Path) -> list[Path]:
    """Write the files of a new folder of ``form`` ("kalahi", "blend" or "eecc") and return them.

    Raises UsageError for an unknown form, and for a folder that holds anything already.
    """
    if form not in FORMS:
        raise UsageError(f"There is no form {form!r}.", hint=nearest(form, FORMS))
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise UsageError(f"{place} is a file.", hint="Name a folder that is not there yet.")
    if place.is_dir() and any(place.iterdir()):
        raise UsageError(f"{place} is not empty.", hint="Name a folder that is empty or not there yet.")
    place.mkdir(parents=True, exist_ok=True)
    written = []
    for source in sorted((SCAFFOLDS / form).iterdir()):
        target = place / source.name
        # "x": never over a file that came to be meanwhile.
        with target.open("x", encoding="utf-8", newline="") as file:
            file.write(source.read_text(encoding="utf-8"))
        written.append(target)
    return written


def next_commands(folder: str | Path) -> tuple[str, str]:
    """Return the commands that check and add ``folder``, for a shell; its name is given where the folder's cannot be.

    A suite is called after its folder unless ``--name`` says otherwise; see :func:`kapwa.registered.check_name`.
    """
    own = Path(folder).resolve().name.lower()
    name = fitting_name(own)
    if name in registry.installed("suites"):
        name = f"my-{name}"
    place = shlex.quote(str(folder))
    return f"kapwa data check {place}", f"kapwa suite add {place}" + ("" if name == own else f" --name {name}")
