"""``kapwa data``, ``build`` and ``card``: check data, build questions from people's answers, describe data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import note, show, show_check, show_json, show_table, show_text
from kapwa.cli.parsing import judge_settings

data = typer.Typer(invoke_without_command=True)


@data.callback()
def packs(context: typer.Context) -> None:
    """List available data, or check a data file.

    Without a command: fetched benchmarks, and the sample packs (illustrative, not reviewed by native speakers).
    """
    if context.invoked_subcommand is not None:
        return
    from kapwa.catalog.hub import in_megabytes
    from kapwa.catalog.lookup import all_fetched
    from kapwa.inventory import suites

    fetched = [
        (
            each.name,
            each.revision[:12],
            each.when[:10],
            each.licence or "not stated",
            in_megabytes(each.bytes),
            f"{each.missing} is missing: kapwa fetch {each.name}" if each.missing else "complete",
        )
        for each in all_fetched().values()
    ]
    if fetched:
        show_table(("fetched", "revision", "on", "licence", "size", "state"), fetched)
        show("\nFolder of each, and SHA-256 of its files: kapwa fetch NAME --json\n")
    rows = [
        (f"sample:{name}", suite.name, str(suite.packs / name)) for suite in suites() for name in suite.pack_names()
    ]
    show_table(("--data", "suite", "folder"), rows)
    show(
        "\nSample packs are illustrative, not reviewed by native speakers. Published benchmarks: kapwa fetch --list. "
        "Your own data: --data FOLDER (see: kapwa data check FOLDER)."
    )


@data.command("check")
def check(
    path: Annotated[
        str,
        typer.Argument(
            metavar="DATA", help="A file, a folder, or whatever --data takes; or the name of a suite you added."
        ),
    ],
    every: opt.AllFindings = False,
    json: opt.Json = False,
) -> None:
    """List every problem in a data file or folder, with row numbers as a spreadsheet shows them.

    Exits with code 2 if one of them would stop a run.
    """
    from kapwa.api import check_data

    report = check_data(path)
    show_check(report, report, json=json, every=every)


build = typer.Typer(no_args_is_help=True)


@build.command("mcq")
def mcq(
    data: opt.Data = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write to.")] = Path("mcq"),
    rule: Annotated[
        str, typer.Option(metavar="RULE", help="Which questions to use: code (as released) or paper (as published).")
    ] = "code",
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the random choice and of the order of options.")
    ] = 0,
    max_variants: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum multiple-choice items per question.")
    ] = 5,
    judge: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A model that decides whether two options mean the same.")
    ] = None,
    judge_option: opt.JudgeOption = None,
    review: Annotated[
        Path | None, typer.Option(metavar="FILE", help="verdicts.csv of an earlier build, corrected by a person.")
    ] = None,
    json: opt.Json = False,
) -> None:
    """Build multiple-choice questions from people's answers: one culture's answer among those of other cultures.

    The same seed gives the same questions on every machine. Pairs of options that might mean the same are listed in
    verdicts.csv, where a person can correct them.
    """
    import kapwa

    built = kapwa.build_mcq(
        data,
        output,
        judge=judge,
        judge_options=judge_settings(judge_option) if judge_option else None,
        rule=rule,
        seed=seed,
        max_variants=max_variants,
        review=review,
    )
    if json:
        show_json(built._asdict() | {"folder": str(built.folder), "skipped": [row._asdict() for row in built.skipped]})
        return
    note(f"{built.items} items from {built.questions} questions about {built.countries} cultures: {built.folder}")
    note(f"{len(built.skipped)} questions of a culture could not be used; see {built.folder / 'skipped.csv'}.")


card = typer.Typer(no_args_is_help=True)


@card.command("datasheet")
def datasheet(
    path: Annotated[
        str,
        typer.Argument(metavar="RUN_OR_DATA", help="A run, data by whatever --data takes, or a folder of responses."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE.md", help="Write to this file instead of standard output."),
    ] = None,
    attribute: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="For responses: the column that the prompts vary, if there are several candidates."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE.md, including what people wrote in it.")
    ] = False,
) -> None:
    """Write a datasheet: the questions of Gebru et al. (2021), answered as far as the files allow.

    Each number names its source. Questions that only people can answer are marked and left open.
    """
    from kapwa.analysis.datasheet import TO_ANSWER, datasheet, write_datasheet

    if out is None:
        show_text(datasheet(path, attribute=attribute).rstrip())
        return
    written = write_datasheet(path, out, attribute=attribute, overwrite=overwrite)
    unanswered = written.read_text(encoding="utf-8").count(f"> **{TO_ANSWER}:**")
    note(f"{written}: {unanswered} questions are left for people to answer.")
