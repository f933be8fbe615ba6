"""``kapwa doctor``: what is installed and what is missing; whether a run's answers are whole, and saving them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli.options import Json
from kapwa.cli.output import show_json, show_table, tell


def doctor(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN", help="A run's folder, whose journal is read through, or that of an audit's draw."
        ),
    ] = None,
    salvage: Annotated[
        bool, typer.Option("--salvage", help="Replace RUN's damaged journal by one with every answer that can be read.")
    ] = False,
    json: Json = False,
) -> None:
    """Check this installation, the answers of a run, or how many labels an audit lacks.

    Every answer is compared with its checksum; exit code 1 when the journal is damaged. With --salvage, a damaged
    journal is kept under another name, and the command that made the run asks for what was lost.
    """
    from kapwa.datasets.sheets import DRAW
    from kapwa.errors import UsageError

    if run is not None and (run / DRAW).is_file():
        if salvage:
            raise UsageError(f"{run} is a draw, which has no journal.", hint="--salvage needs a run's folder.")
        _labels(run, json)
    elif run is not None:
        _journal(run, salvage, json)
    elif salvage:
        raise UsageError("--salvage needs a run's folder.", hint="kapwa doctor RUN --salvage")
    else:
        _installation(json)


def _installation(json: bool) -> None:
    from kapwa.inventory import checks

    results = list(checks())
    if json:
        show_json([check._asdict() for check in results])
        return
    rows = []
    for check in results:
        remedy = f"\n{check.remedy}" if check.remedy and check.status != "ok" else ""
        rows.append((check.status, check.name, check.detail + remedy))
    show_table(("", "", ""), rows)


def _labels(folder: Path, json: bool) -> None:
    from kapwa.exchange.labels import label_counts

    counts = label_counts(folder)
    if json:
        show_json(counts.to_dicts())
        return
    rows = []
    for *place, drawn, labelled, questions, missing in counts.rows():
        allows = _allowed(questions, labelled, missing)
        rows.append((" / ".join(place), str(drawn), str(labelled), str(missing), allows))
    show_table(("Culture, language, variant", "Drawn", "Labelled", "Missing", "What this allows"), rows)


def _allowed(questions: int, labelled: int, missing: int) -> str:
    """What labels of so many of a culture's questions allow, and how many of those drawn or not yet drawn lack."""
    from kapwa.stats.corrected import FEW_LABELS

    lacking = FEW_LABELS - labelled
    if lacking <= 0:
        return "a corrected score"
    if questions < FEW_LABELS:
        return f"people's share alone: a corrected score takes {FEW_LABELS} questions, and there are {questions}"
    larger = "" if lacking <= missing else ", from a larger draw (kapwa audit sample --n)"
    return f"people's share alone; a corrected score takes {lacking} more{larger}"


def _journal(run: Path, save: bool, json: bool) -> None:
    from kapwa.runs.doctor import examine, salvage

    examined = examine(run)
    whole = f"{run}: {examined.answers:,} answers and {examined.errors:,} errors, all as they were written."
    if not save:
        if json:
            show_json({"run": str(run), **examined._asdict()})
        elif examined.damage is None:
            tell(whole)
        else:
            again = f"kapwa doctor {shlex.quote(str(run))} --salvage"
            tell(f"{examined.damage}\nSave every answer that can be read with: {again}")
        if examined.damage is not None:
            raise typer.Exit(1)
    elif examined.damage is None:
        if json:
            show_json({"run": str(run), "answers": examined.answers, "errors": examined.errors, "kept": None})
        else:
            tell(f"{whole} There is nothing to save: the journal stays as it is.")
    else:
        saved = salvage(run)
        if json:
            show_json({"run": str(run), **saved._asdict(), "kept": str(saved.kept)})
            return
        tell(f"{run}: {saved.answers:,} answers and {saved.errors:,} errors saved.")
        tell(f"The damaged journal is now {saved.kept}. Run again with the same command to ask for what is missing.")
