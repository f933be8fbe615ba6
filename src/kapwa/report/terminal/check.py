"""The findings of a check of data, for the command line."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.datasets.findings import CheckReport, Severity, kinds_of

if TYPE_CHECKING:
    from rich.console import RenderableType

_ROWS = 3  # rows of findings of one kind that are named
_ORDER: dict[Severity, tuple[str, str]] = {
    "error": ("Errors (a run would stop)", "bold red"),
    "warning": ("Warnings (a number may change)", "yellow"),
    "note": ("Notes", "dim"),
}


def render_check(report: CheckReport, *, every: bool = False) -> RenderableType:
    """Render counts, then findings with file, rows and column, by severity; those of one kind in one line.

    ``every``: each finding has a line of its own.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    counts = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, value in report.counts.items():
        counts.add_row(name, f"{value:.6g}" if isinstance(value, float) else str(value))
    renderables: list[RenderableType] = [Text(f"{report.path}: {report.suite}", style="bold")]
    if report.counts:
        renderables.append(counts)
    ranks = list(_ORDER)
    ordered = sorted(report.findings, key=lambda finding: ranks.index(finding.severity))
    for severity, findings in groupby(ordered, key=lambda finding: finding.severity):
        title, style = _ORDER[severity]
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("file", "row", "column"):
            table.add_column(name, overflow="fold", no_wrap=name == "row")
        table.add_column("what", overflow="fold")
        for kind in kinds_of(list(findings), least=None if every else _ROWS + 1):
            finding, several = kind.findings[0], len(kind.findings)
            path, row = Path(finding.path), "" if finding.row is None else str(finding.row)
            message = kind.message
            if several > 1 and row:
                row = ", ".join(str(one.row) for one in kind.findings[:_ROWS]) + " …"
                message = f"{several} rows: {message}"
            # The first line names what was checked; here only the part by which files differ is shown.
            inside = path.is_relative_to(report.path) and path != Path(report.path)
            cells = (str(path.relative_to(report.path)) if inside else path.name, row, finding.column or "")
            # Text, not markup: a finding may quote square brackets from the data.
            table.add_row(*map(Text, cells), Text(message))
        renderables += [Text(f"\n{title}", style=style), table]
    if not every and len(report.findings) > len(kinds_of(report.findings, least=_ROWS + 1)):
        renderables.append(Text("\nFindings of one kind share one line, with … for what differs; --all lists each."))
    if not report.findings:
        renderables.append(Text("\nNo problems were found."))
    return Group(*renderables)
