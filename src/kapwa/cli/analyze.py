"""``kapwa analyze``: compare many texts with each other, and with survey values."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kapwa.cli import options as opt
from kapwa.cli.output import check_place, note, show, show_json

if TYPE_CHECKING:
    from kapwa.analysis.result import Analysis

app = opt.group("Compare many texts with each other, and with survey values.")


@dataclass(kw_only=True)
class AnalysisOptions:
    """How texts are read and compared: fields of :class:`kapwa.analysis.inputs.Settings`."""

    seed: int = 0
    attribute: str | None = None
    task: str | None = None
    label: str | None = None
    workers: int | None = None
    permutations: int = 999
    pairs: int | None = None
    brevity: str = "nmt"
    backend: str = "auto"
    keep: list[str] | None = None
    drop: list[str] | None = None
    choose: list[Any] | None = None
    country_column: str | None = None


@app.command("eecc")
def eecc(
    runs: list[Path] | None = None,
    responses: list[Path] | None = None,
    values: list[Path] | None = None,
    control: list[str] | None = None,
    out: Path = Path("analyses"),
    output: Path | None = None,
    json: bool = False,
    *,
    chosen: AnalysisOptions,
    engine: str = "local",
    address: str | None = None,
) -> None:
    """Say how texts change with nationality (or another attribute), and whether they follow values.

    Compares every pair of texts of a concept: variance within and across identities, tests, words that mark an
    identity, and correlation with surveys. It may be stopped at any moment: the same command then continues.
    """
    import kapwa
    from kapwa.errors import UsageError

    sources = [*(runs or ()), *(responses or ())]
    if not sources:
        raise UsageError("Nothing to analyze is named.", hint="Name run folders, or answers with --responses PATH.")
    check_place(out, folder=True)
    check_place(output)
    choose = dict(chosen.choose or ())
    settings = {**vars(chosen), "keep": chosen.keep or (), "drop": chosen.drop or (), "choose": choose}
    where = opt.open_engine(engine, address=address)
    try:
        analysis = kapwa.analyze(
            sources, values=values or (), controls=control or (), out=out, progress=True, engine=where, **settings
        )
    except KeyboardInterrupt:
        note("Stopped. What was compared is kept: the same command continues from here.")
        raise typer.Exit(130) from None
    _tell(analysis, values or (), choose, output, shown=not json)
    if json:
        show_json(analysis.as_dict())


_FEW = 3


def _tell(
    analysis: Analysis, values: Sequence[Path], choose: Mapping[str, str], output: Path | None, *, shown: bool
) -> None:
    """Show an analysis, say what it left out and where it is, and write the report if one was asked for."""
    from kapwa.report.analysis.page import build_analysis_report
    from kapwa.report.analysis.terminal import render_analysis

    if shown:
        show(render_analysis(analysis))
    for line in _left_out(analysis, values, choose):
        note(line)
    note(f"Analysis: {analysis.path}")
    if output is not None:
        note(f"Report: {build_analysis_report(analysis, output)}")


def _left_out(analysis: Analysis, values: Sequence[Path], choose: Mapping[str, str]) -> Iterator[str]:
    """Say of each survey, in one line, which rows and questions nobody asked to leave out are not in the analysis."""
    from kapwa.analysis.values.table import read_values

    settled = {*choose, *analysis.values["identity"]}
    dropped = {survey["path"]: survey["dropped"] for survey in analysis.manifest["values"]}
    for path in values:
        table = read_values(path, country=analysis.manifest["settings"].get("country_column"))
        rows = [row.country for row in table.rows if row.place is None and settled.isdisjoint(row.labels)]
        questions = [name for name, why in dropped.get(str(table.path), {}).items() if why != "left out as asked"]
        lost = " and ".join(part for part in (_some("row", rows), _some("question", questions)) if part)
        if lost:
            yield f"Note: {path}: {lost} left out. See why with: kapwa values check {shlex.quote(str(path))}"


def _some(noun: str, names: Sequence[str]) -> str:
    """Count names and show the first: "2 rows ('Germny', 'Congo')"; "" for none."""
    if not names:
        return ""
    shown = ", ".join(repr(name) for name in names[:_FEW]) + (", …" if len(names) > _FEW else "")
    return f"{len(names):,} {noun}{'' if len(names) == 1 else 's'} ({shown})"
