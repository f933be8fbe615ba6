"""``kapwa analyze``: compare many texts with each other, and with survey values."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import check_writable, note, show, show_json
from kapwa.cli.parsing import parse_choices

if TYPE_CHECKING:
    from kapwa.analysis.result import Analysis

app = typer.Typer(no_args_is_help=True)


INPUT = "Input"
COMPUTATION = "Computation"
SURVEYS = "Surveys"


@app.command("eecc")
def eecc(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="[RUN]...", help="Run folders, or files of answers.")
    ] = None,
    responses: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PATH",
            help="Answers from elsewhere: a JSONL, Parquet, CSV or TSV file, a folder of them, or a folder in the "
            "released layout; repeatable.",
        ),
    ] = None,
    values: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A survey of cultural values with one row per country; repeatable."),
    ] = None,
    control: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Control for this in partial Mantel tests: geography, region, language, or a table of distances "
            "between countries; repeatable.",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the analyses.")] = Path("analyses"),
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Also write the report as a page.")
    ] = None,
    json: opt.Json = False,
    seed: opt.Seed = 0,
    attribute: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            rich_help_panel=INPUT,
            help="The column that the prompts vary; several that they cross, comma-separated.",
            show_default="nationality or a similar column",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=INPUT,
            help="Only answers of this task; answers without a task are counted as this one.",
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(metavar="NAME", rich_help_panel=INPUT, help="Model name for files that do not give one."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=COMPUTATION,
            help="Processes; with --engine ray, parallel tasks.",
            show_default="one per core, one for few texts",
        ),
    ] = None,
    permutations: Annotated[
        int, typer.Option(min=19, metavar="N", rich_help_panel=COMPUTATION, help="Permutations per test.")
    ] = 999,
    markers: Annotated[
        int,
        typer.Option(
            "--without-markers",
            min=0,
            metavar="N",
            rich_help_panel=COMPUTATION,
            help="Also compare texts without each identity's name and the N words that mark it most: how much of the "
            "difference is vocabulary, how much of the texts a template. Takes three times as long.",
            show_default="0, which does not",
        ),
    ] = 0,
    depicted: Annotated[
        bool,
        typer.Option(
            "--depicted",
            rich_help_panel=COMPUTATION,
            help="Also count which people the texts state, by identity: pronouns, relations, roles, ages, wealth, town "
            "or country, forms of address, names; how varied they are, and how far identities lie apart.",
        ),
    ] = False,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            rich_help_panel=COMPUTATION,
            help="Estimate variance from this many random pairs of identities per concept.",
            show_default="all pairs, up to 2,000 identities",
        ),
    ] = None,
    brevity: Annotated[
        Literal["nmt", "closest", "average"],
        typer.Option(
            metavar="RULE",
            rich_help_panel=COMPUTATION,
            help="Reference length for BLEU: nmt (the shortest, as released), closest, average.",
        ),
    ] = "nmt",
    backend: Annotated[
        Literal["auto", "numba", "rapidfuzz"],
        typer.Option(metavar="NAME", rich_help_panel=COMPUTATION, help="Kernels: auto, numba, rapidfuzz."),
    ] = "auto",
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            rich_help_panel=SURVEYS,
            help="Use this survey question even if it looks like a code; TABLE:COLUMN limits this to one table; "
            "repeatable.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            rich_help_panel=SURVEYS,
            help="Leave out this survey question, named as for --keep; repeatable.",
        ),
    ] = None,
    choose: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=CODE",
            rich_help_panel=SURVEYS,
            help="Country of an ambiguous identity or survey row, e.g. Congolese=COD; NAME= leaves it out; repeatable.",
        ),
    ] = None,
    country_column: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            rich_help_panel=SURVEYS,
            help="The column with the countries, if its header does not say so.",
        ),
    ] = None,
    engine: opt.Engine = "local",
    address: opt.Address = None,
) -> None:
    """Measure how texts change with nationality or another attribute, and whether they follow cultural values.

    Compares every pair of texts on a concept: variance within and across identities, tests, words typical of an
    identity, and correlation with surveys. You can stop it at any time; the same command continues.
    """
    import kapwa
    from kapwa.errors import UsageError
    from kapwa.parallel.base import open_engine

    sources = [*(runs or ()), *(responses or ())]
    if not sources:
        raise UsageError("There is nothing to analyze.", hint="Give run folders, or answers with --responses PATH.")
    check_writable(out, folder=True)
    check_writable(output)
    codes = parse_choices(choose)
    try:
        analysis = kapwa.analyze(
            sources,
            values=values or (),
            controls=control or (),
            out=out,
            progress=True,
            engine=open_engine(engine, address=address),
            seed=seed,
            attribute=attribute,
            task=task,
            label=label,
            workers=workers,
            permutations=permutations,
            markers=markers,
            depicted=depicted,
            pairs=pairs,
            brevity=brevity,
            backend=backend,
            keep=keep or (),
            drop=drop or (),
            choose=codes,
            country_column=country_column,
        )
    except KeyboardInterrupt:
        note("Stopped. Finished comparisons are saved; run the same command to continue.")
        raise typer.Exit(130) from None
    _show(analysis, values or (), codes, output, json=json)


_FEW = 3


def _show(
    analysis: Analysis, values: Sequence[Path], codes: Mapping[str, str], output: Path | None, *, json: bool
) -> None:
    """Show an analysis, what it left out and where it is, and write the report if one was requested."""
    from kapwa.report.page.analysis import build_analysis_report
    from kapwa.report.terminal.analysis import render_analysis

    if json:
        show_json(analysis.as_dict())
    else:
        show(render_analysis(analysis))
    for line in _left_out(analysis, values, codes):
        note(line)
    note(f"Analysis: {analysis.path}")
    if output is not None:
        note(f"Report: {build_analysis_report(analysis, output)}")


def _left_out(analysis: Analysis, values: Sequence[Path], codes: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each survey with rows or questions that are left out although nobody requested it."""
    from kapwa.analysis.values.table import read_values

    settled = {*codes, *analysis.values["identity"]}
    dropped = {survey["path"]: survey["dropped"] for survey in analysis.manifest["values"]}
    for path in values:
        table = read_values(path, country=analysis.manifest["settings"].get("country_column"))
        rows = [row.country for row in table.rows if row.place is None and settled.isdisjoint(row.labels)]
        questions = [name for name, why in dropped.get(str(table.path), {}).items() if why != "left out as asked"]
        lost = " and ".join(count for count in (_counted("row", rows), _counted("question", questions)) if count)
        if lost:
            yield f"Note: {path}: {lost} left out. See why with: kapwa values check {shlex.quote(str(path))}"


def _counted(noun: str, names: Sequence[str]) -> str:
    """Count names and show the first: "2 rows ('Germny', 'Congo')"; "" for none."""
    if not names:
        return ""
    shown = ", ".join(repr(name) for name in names[:_FEW]) + (", …" if len(names) > _FEW else "")
    return f"{len(names):,} {noun}{'' if len(names) == 1 else 's'} ({shown})"
