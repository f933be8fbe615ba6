"""``kapwa analyze``: compare many texts with each other, and with survey values."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kapwa.cli import options as opt
from kapwa.cli.options import option
from kapwa.cli.output import check_place, note, show, show_json

if TYPE_CHECKING:
    from kapwa.analysis.result import Analysis

app = typer.Typer(help="Compare many texts with each other, and with survey values.", no_args_is_help=True)
_READING = "Reading answers"
_COMPUTING = "Computing"
_SURVEYS = "Surveys"

Runs = Annotated[
    list[Path] | None, typer.Argument(metavar="[RUN]...", help="Run folders, or files of answers.", show_default=False)
]
Responses = Annotated[
    list[Path] | None,
    option(
        "--responses",
        "PATH",
        "Answers from elsewhere: a jsonl, Parquet, CSV or TSV file, a folder of them, or the released layout; "
        "repeatable.",
    ),
]
Values = Annotated[
    list[Path] | None, option("--values", "FILE", "A survey of cultural values, one row a country; repeatable.")
]
Control = Annotated[
    list[str] | None,
    option(
        "--control",
        "NAME",
        "Hold this fixed in partial Mantel tests: geography, region, language, or a table of distances between "
        "countries; repeatable.",
    ),
]
Keep = Annotated[
    list[str] | None,
    option(
        "--keep",
        "COLUMN",
        "Keep this question of a survey although it looks like a code; TABLE:COLUMN means that of one table; "
        "repeatable.",
        panel=_SURVEYS,
    ),
]
Drop = Annotated[
    list[str] | None,
    option("--drop", "COLUMN", "Leave this question of a survey out, named as for --keep; repeatable.", panel=_SURVEYS),
]
Choose = Annotated[
    list[str] | None,
    option(
        "--choose",
        "NAME=CODE",
        "Which country an ambiguous identity or row of a survey is, e.g. Congolese=COD; nothing after = leaves "
        "it out; repeatable.",
        panel=_SURVEYS,
    ),
]
CountryColumn = Annotated[
    str | None,
    option(
        "--country-column",
        "COLUMN",
        "The column that names the rows of the surveys, where its header does not say so.",
        panel=_SURVEYS,
    ),
]
Out = Annotated[Path, option("--out", "FOLDER", "Folder that holds the analyses.", show_default=True)]
Report = Annotated[Path | None, option("-o --output", "FILE", "Also write the report as a page.", dir_okay=False)]
Attribute = Annotated[
    str | None,
    option(
        "--attribute",
        "COLUMN",
        "The column that was varied in the prompt \\[default: nationality, or its like].",
        panel=_READING,
    ),
]
Task = Annotated[
    str | None, option("--task", "NAME", "Only answers of this task; files that name none are of it.", panel=_READING)
]
Label = Annotated[
    str | None, option("--label", "NAME", "What to call the model of files that name none.", panel=_READING)
]
Seed = Annotated[int, option("--seed", "N", "Seed of everything random; recorded.", min=0, show_default=True)]
Workers = Annotated[
    int | None,
    option(
        "--workers",
        "N",
        "Processes \\[default: one a core]; with --engine ray, tasks at a time.",
        panel=_COMPUTING,
        min=1,
    ),
]
Permutations = Annotated[
    int, option("--permutations", "N", "Permutations of every test.", panel=_COMPUTING, min=19, show_default=True)
]
Pairs = Annotated[
    int | None,
    option(
        "--pairs",
        "N",
        "Estimate variance from so many pairs of identities, drawn for each concept \\[default: all pairs, up to "
        "2,000 identities].",
        panel=_COMPUTING,
        min=2,
    ),
]
Brevity = Annotated[
    str,
    option(
        "--brevity",
        "RULE",
        "Which reference's length BLEU takes: nmt (the shortest, as released), closest, average.",
        panel=_COMPUTING,
        show_default=True,
    ),
]
Backend = Annotated[
    str, option("--backend", "NAME", "Kernels: auto, numba, rapidfuzz.", panel=_COMPUTING, show_default=True)
]


@app.callback()
def analyze() -> None:
    """Compare many texts with each other, and with survey values."""


@app.command("eecc")
def eecc(
    runs: Runs = None,
    responses: Responses = None,
    values: Values = None,
    control: Control = None,
    out: Out = Path("analyses"),
    output: Report = None,
    json: opt.Json = False,
    attribute: Attribute = None,
    task: Task = None,
    label: Label = None,
    seed: Seed = 0,
    workers: Workers = None,
    permutations: Permutations = 999,
    pairs: Pairs = None,
    brevity: Brevity = "nmt",
    backend: Backend = "auto",
    keep: Keep = None,
    drop: Drop = None,
    choose: Choose = None,
    country_column: CountryColumn = None,
    engine: opt.Engine = "local",
    address: opt.Address = None,
) -> None:
    """Say how texts change with nationality (or another attribute), and whether they do so as values do.

    Compares every two texts of a concept: variance within and across identities, tests, words that mark an identity,
    and correlation with surveys. Killed at any moment, the same command goes on where it stopped.
    """
    from kapwa import api
    from kapwa.errors import UsageError

    sources = [*(runs or ()), *(responses or ())]
    if not sources:
        raise UsageError("Nothing to analyze is named.", hint="Name run folders, or answers with --responses PATH.")
    check_place(out, folder=True)
    check_place(output)
    try:
        found = api.analyze(
            sources,
            values=values or (),
            controls=control or (),
            out=out,
            progress=True,
            attribute=attribute,
            task=task,
            label=label,
            seed=seed,
            workers=workers,
            permutations=permutations,
            pairs=pairs,
            brevity=brevity,
            backend=backend,
            keep=keep or (),
            drop=drop or (),
            choose=_chosen(choose or ()),
            country_column=country_column,
            engine=opt.open_engine(engine, address),
        )
    except KeyboardInterrupt:
        note("Stopped. What was compared is kept: the same command goes on from here.")
        raise typer.Exit(130) from None
    if json:
        show_json(found.as_dict())
    else:
        from kapwa.report.analysis.terminal import render_analysis

        show(render_analysis(found))
    for line in _left_out(found, values or (), choose or ()):
        note(line)
    note(f"Analysis: {found.path}")
    if output is not None:
        from kapwa.report.analysis.page import build_analysis_report

        note(f"Report: {build_analysis_report(found, output)}")


_FEW = 3


def _left_out(found: Analysis, values: Sequence[Path], choose: Sequence[str]) -> Iterator[str]:
    """Say of each survey, in one line, which rows and questions nobody asked to leave out are not in the analysis."""
    from kapwa.analysis.values import read_values

    settled = {*_chosen(choose), *found.values["identity"]}
    dropped = {told["path"]: told["dropped"] for told in found.manifest["values"]}
    for path in values:
        table = read_values(path, country=found.manifest["settings"].get("country_column"))
        rows = [row.country for row in table.rows if row.place is None and settled.isdisjoint(row.labels)]
        questions = [name for name, why in dropped.get(str(table.path), {}).items() if why != "left out as asked"]
        told = " and ".join(part for part in (_some("row", rows), _some("question", questions)) if part)
        if told:
            yield f"Note: {path}: {told} left out. See why with: kapwa values check {shlex.quote(str(path))}"


def _some(noun: str, names: Sequence[str]) -> str:
    """Count names and show the first: "2 rows ('Germny', 'Congo')"; "" for none."""
    if not names:
        return ""
    shown = ", ".join(repr(name) for name in names[:_FEW]) + (", …" if len(names) > _FEW else "")
    return f"{len(names):,} {noun}{'' if len(names) == 1 else 's'} ({shown})"


def _chosen(pairs: Sequence[str]) -> dict[str, str]:
    """Turn ``name=code`` options into what names mean."""
    from kapwa.errors import UsageError

    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, code = pair.partition("=")
        if not name or not equals:
            raise UsageError(f"--choose {pair!r} is not of the form name=code.", hint="For example: Congolese=COD")
        found[name.strip()] = code.strip()
    return found
