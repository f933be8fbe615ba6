"""``kapwa data``, ``build`` and ``card``: check data, make questions of what people answered, describe data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from kapwa.cli import options as opt
from kapwa.cli.options import group
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
def check(path: Path, every: bool = False, json: bool = False) -> None:
    """List everything odd in a data file or folder, with row numbers as a spreadsheet shows them.

    Exit code 2 when a run would stop at one of them.
    """
    from kapwa.api import check_data

    report = check_data(path)
    show_check(report, report, json=json, every=every)


build = group("Make questions from what people answered.")


@build.command("mcq")
def mcq(
    data: str | None = None,
    output: Path = Path("mcq"),
    rule: str = "code",
    seed: int = 0,
    max_variants: int = 5,
    judge: str | None = None,
    judge_option: list[Any] | None = None,
    review: Path | None = None,
    json: bool = False,
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
def datasheet(path: Path, out: Path | None = None, attribute: str | None = None, overwrite: bool = False) -> None:
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
