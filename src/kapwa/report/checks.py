"""Show what ``kapwa data check`` found, the gravest first."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.suites.base import CheckReport, Finding, Severity

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_ORDER: dict[Severity, tuple[str, str]] = {
    "error": ("Errors (a run would stop)", "bold red"),
    "warning": ("Warnings (a number may change)", "yellow"),
    "note": ("Notes", "dim"),
}


def render_check(report: CheckReport) -> RenderableType:
    """Render counts, then each finding with file, row and column, by severity."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    counts = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, value in report.counts.items():
        counts.add_row(name, f"{value:.6g}" if isinstance(value, float) else str(value))
    parts: list[RenderableType] = [Text(f"{report.path}: {report.suite}", style="bold")]
    if report.counts:
        parts.append(counts)
    ranks = list(_ORDER)
    ordered = sorted(report.findings, key=lambda finding: ranks.index(finding.severity))
    for severity, findings in groupby(ordered, key=lambda finding: finding.severity):
        title, style = _ORDER[severity]
        table = Table(box=None, padding=(0, 2, 0, 0))
        for name in ("file", "row", "column"):
            table.add_column(name, no_wrap=True)
        table.add_column("what")
        for finding in findings:
            table.add_row(*_cells(finding, report.path))
        parts += [Text(f"\n{title}", style=style), table]
    if not report.findings:
        parts.append(Text("\nNothing odd was found."))
    return Group(*parts)


def _cells(finding: Finding, checked: str) -> tuple[Text, Text, Text, Text]:
    from rich.text import Text

    path = Path(finding.path)
    # What was checked stands in the first line already; here only the part that tells files apart.
    name = str(path.relative_to(checked)) if path.is_relative_to(checked) and path != Path(checked) else path.name

    row = "" if finding.row is None else str(finding.row)
    # Text, not markup: a finding may quote square brackets from the data.
    return Text(name), Text(row), Text(finding.column or ""), Text(finding.message)
