"""``kapwa build``: make a benchmark from what people answered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import options as opt
from kapwa.cli.options import option
from kapwa.cli.output import note, show_json

app = typer.Typer(help="Make questions from what people answered.", no_args_is_help=True)
Out = Annotated[Path, option("-o --output", "FOLDER", "The folder to write.", show_default=True)]
Rule = Annotated[
    str, option("--rule", "RULE", "Which questions to keep: code (as released) or paper.", show_default=True)
]
Seed = Annotated[int, option("--seed", "N", "Seed of the draw and of the order of options.", show_default=True)]
Variants = Annotated[
    int, option("--max-variants", "N", "Most multiple-choice items for a question.", min=1, show_default=True)
]
Judge = Annotated[str | None, option("--judge", "MODEL", "A model that says whether two options mean the same.")]
Review = Annotated[
    Path | None, option("--review", "FILE", "verdicts.csv of an earlier build, with a person's overrides.")
]


@app.callback()
def build() -> None:
    """Make questions from what people answered."""


@app.command("mcq")
def mcq(
    data: opt.Data = None,
    output: Out = Path("mcq"),
    rule: Rule = "code",
    seed: Seed = 0,
    max_variants: Variants = 5,
    judge: Judge = None,
    review: Review = None,
    json: opt.Json = False,
) -> None:
    """Build multiple-choice questions: the answer of one culture among the answers of others.

    The same seed gives the same questions everywhere. Pairs of options that might mean the same are listed in
    verdicts.csv, where a person can overrule them.
    """
    from kapwa import api

    built = api.build_mcq(data, output, rule=rule, seed=seed, max_variants=max_variants, judge=judge, review=review)
    if json:
        show_json(built._asdict() | {"folder": str(built.folder), "skipped": [row._asdict() for row in built.skipped]})
        return
    note(f"{built.items} items from {built.questions} questions about {built.countries} cultures: {built.folder}")
    note(f"{len(built.skipped)} questions of a culture could not be used; {built.folder / 'skipped.csv'} says why.")
