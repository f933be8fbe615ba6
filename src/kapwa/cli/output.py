"""Results go to stdout, as tables for people or JSON for programs; everything else goes to stderr."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kapwa.errors import UsageError
from kapwa.value_types import JsonObject

if TYPE_CHECKING:
    from rich.console import RenderableType


# Names and answers from elsewhere may hold characters that steer a terminal: the control characters of ASCII and
# Latin-1, but for tab and line feed. They are shown as U+FFFD.
_STEERING = dict.fromkeys({*range(0x20), *range(0x7F, 0xA0)} - {0x09, 0x0A}, "\N{REPLACEMENT CHARACTER}")
# Tables of numbers are laid out to be whole at this many columns. A narrower terminal breaks their lines; it would
# be worse if it cut numbers off.
_LEAST_WIDTH = 80


def show(renderable: RenderableType) -> None:
    """Print a rich renderable to stdout, for at least 80 columns; strings are shown as they are.

    Names, folders and remedies hold square brackets and colons (``kapwa[local]``), which rich would take for markup.
    """
    from rich.console import Console
    from rich.segment import Segment, Segments

    console = Console(markup=False, emoji=False)
    console.width = max(console.width, _LEAST_WIDTH)
    # Cleaned when laid out: before, texts are deep inside tables; after, styles have become control characters too.
    segments = [
        Segment(text.translate(_STEERING), style, control) for text, style, control in console.render(renderable)
    ]
    console.print(Segments(segments), crop=False, end="")


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: int = 0) -> None:
    """Print rows under their names, without lines; the last ``numbers`` columns are set to the right."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=any(columns))
    for number, name in enumerate(columns):
        table.add_column(name, overflow="fold", justify="right" if number >= len(columns) - numbers else "left")
    for row in rows:
        table.add_row(*row)
    show(table)


def show_check(checked: Any, report: Any, *, json: bool, every: bool = True) -> None:
    """Print what a check of data found, each finding in a line or (not ``every``) each kind; exit code 2 for errors.

    For programs the first of these is the error, beside all findings.
    """
    import typer

    errors = [finding for finding in report.findings if finding.severity == "error"]
    if json:
        remedy = f"Correct that; {len(errors) - 1} more of the findings stop a run." if errors[1:] else "Correct that."
        shown = checked.as_dict()
        for first in errors[:1]:
            shown["error"] = error_object(first.message, first.path, first.row, first.column, remedy=remedy)
        show_json(shown)
    else:
        from kapwa.report.terminal.check import render_check

        show(render_check(report, every=every))
    if errors:
        raise typer.Exit(2)


def error_object(
    what: str,
    file: str | Path | None = None,
    row: int | None = None,
    column: str | None = None,
    *,
    remedy: str,
    exit_code: int = 2,
) -> JsonObject:
    """What programs are told of an error, under the key "error"."""
    where = {"file": None if file is None else str(file), "row": row, "column": column}
    return {"what": what, "where": where, "remedy": remedy, "exit_code": exit_code}


def show_json(value: object) -> None:
    """Print ``value`` as JSON; numbers that JSON does not know (NaN) become null."""
    wide = (sys.stdout.encoding or "").lower().startswith("utf")
    sys.stdout.write(json.dumps(_json_value(value), ensure_ascii=not wide, indent=2).translate(_STEERING) + "\n")


def show_text(text: str) -> None:
    """Print a result in words to stdout."""
    sys.stdout.write(text.translate(_STEERING) + "\n")


def note(text: str) -> None:
    """Print a line for people to stderr."""
    sys.stderr.write(text.translate(_STEERING) + "\n")


class HarmlessFormatter(logging.Formatter):
    """Log records in which nothing steers a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line to be shown."""
        return super().format(record).translate(_STEERING)


def check_writable(path: Path | None, *, folder: bool = False) -> None:
    """Raise UsageError where a file (or, if asked, a folder) can plainly not be written, before any work for it.

    None is no place to check; see :func:`kapwa.files.in_the_way`.
    """
    if path is None:
        return
    if path.is_dir() and not folder:
        raise UsageError(f"{path} is a folder, but a file is needed.", hint="Name a file.")
    from kapwa.files import in_the_way

    why = in_the_way(path if folder else path.parent)
    if why is not None:
        raise UsageError(f"{path} cannot be written: {why}.", hint="Choose another path.")


def _json_value(value: object) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
