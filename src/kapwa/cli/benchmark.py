"""``kapwa data``, ``build`` and ``card``: check data, make questions of what people answered, describe data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from kapwa.cli import options as opt
from kapwa.cli.options import All, Json, group, option
from kapwa.cli.output import note, show, show_check, show_json, show_table, tell

data = typer.Typer(help="List sample packs, or check data.", invoke_without_command=True)


@data.callback()
def packs(context: typer.Context) -> None:
    """List the sample packs that ship with Kapwa (illustrative, not reviewed by native speakers)."""
    if context.invoked_subcommand is not None:
        return
    from kapwa.inventory import suites

    rows = [
        (f"sample:{name}", suite.name, str(suite.packs / name)) for suite in suites() for name in suite.pack_names()
    ]
    show_table(("--data", "suite", "folder"), rows)
    show(
        "\nIllustrative, not reviewed by native speakers. Your own data: --data FOLDER (see: kapwa data check FOLDER)."
    )


@data.command("check")
def check(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file or folder, or the name of a suite you added.")],
    every: All = False,
    json: Json = False,
) -> None:
    """List everything odd in a data file or folder, with row numbers as a spreadsheet shows them.

    Exit code 2 when a run would stop at one of them.
    """
    from kapwa.api import check_data

    report = check_data(path)
    show_check(report, report, json=json, every=every)


build = group("Make questions from what people answered.")


@build.command("mcq")
def mcq(
    data: opt.Data = None,
    output: Annotated[Path, option("FOLDER", "The folder to write.", names="-o --output")] = Path("mcq"),
    rule: Annotated[str, option("RULE", "Which questions to keep: code (as released) or paper.")] = "code",
    seed: Annotated[int, option("N", "Seed of the draw and of the order of options.", min=0)] = 0,
    max_variants: Annotated[int, option("N", "The most multiple-choice items made from one question.", min=1)] = 5,
    judge: Annotated[str | None, option("MODEL", "A model that says whether two options mean the same.")] = None,
    judge_option: opt.JudgeOption = None,
    review: Annotated[
        Path | None, option("FILE", "verdicts.csv of an earlier build, with a person's overrides.")
    ] = None,
    json: Json = False,
) -> None:
    """Build multiple-choice questions: the answer of one culture among the answers of others.

    The same seed gives the same questions everywhere. Pairs of options that might mean the same are listed in
    verdicts.csv, where a person can overrule them.
    """
    import kapwa

    settings: dict[str, Any] = {"rule": rule, "seed": seed, "max_variants": max_variants, "review": review}
    asking = opt.judge_settings(judge_option) if judge_option else None
    built = kapwa.build_mcq(data, output, judge=judge, judge_options=asking, **settings)
    if json:
        show_json(built._asdict() | {"folder": str(built.folder), "skipped": [row._asdict() for row in built.skipped]})
        return
    note(f"{built.items} items from {built.questions} questions about {built.countries} cultures: {built.folder}")
    note(f"{len(built.skipped)} questions of a culture could not be used; {built.folder / 'skipped.csv'} says why.")


card = group("Write documents that travel with a dataset.")


@card.command("datasheet")
def datasheet(
    path: Annotated[
        Path, typer.Argument(metavar="RUN_OR_FOLDER", help="A run, a data pack of any suite, or a folder of responses.")
    ],
    out: Annotated[Path | None, option("FILE.md", "Write to this file, not to stdout.", names="-o --out")] = None,
    attribute: Annotated[
        str | None, option("COLUMN", "For responses: the column that was varied, if several columns could be it.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE.md, and what people wrote in it.")
    ] = False,
) -> None:
    """Write a datasheet: the questions of Gebru et al. (2021), answered as far as files can.

    Each number names its source. What only people know is left as a marked question; nothing is made up.
    """
    from kapwa.analysis.datasheet import TO_ANSWER, datasheet, write_datasheet

    if out is None:
        tell(datasheet(path, attribute=attribute).rstrip())
        return
    written = write_datasheet(path, out, attribute=attribute, overwrite=overwrite)
    open_ones = written.read_text(encoding="utf-8").count(f"> **{TO_ANSWER}:**")
    note(f"{written}: {open_ones} questions are left for people to answer.")
