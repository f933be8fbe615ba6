"""``kapwa label sheets``, ``read`` and ``agree``: sheets for people, and what they chose and rated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import note, show, show_json
from kapwa.cli.parsing import parse_where

if TYPE_CHECKING:
    from kapwa.report.tables.table import PageSection


def sheets(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="The suite to write forms for, e.g. kalahi.")],
    data: opt.Data = None,
    variant: opt.Variant = None,
    where: opt.Where = None,
    items_n: Annotated[
        int | None,
        typer.Option("--items", min=1, metavar="N", help="Number of items, drawn at random.", show_default="all"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the random choice and of every shuffle.")] = 1,
    people: Annotated[int, typer.Option(min=1, metavar="N", help="People who complete each form.")] = 3,
    groups: Annotated[
        int, typer.Option(min=1, metavar="N", help="Split the answers to rate among this many groups of people.")
    ] = 1,
    answers: Annotated[
        list[Path] | None,
        typer.Option(
            "--answers", "--run", metavar="RUN", help="Write rating forms for the answers of this run; repeatable."
        ),
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="Rate by this rubric of yes-or-no questions (see kapwa rubrics).",
            show_default="the suite's",
        ),
    ] = None,
    per_country: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Write forms to classify errors, with this many wrong answers of each culture."
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the sheets and the key.")
    ] = Path("forms"),
) -> None:
    """Write blinded sheets for people to fill in.

    Writes shuffled CSV and XLSX sheets, and the key, which raters must not see. Without --answers, people choose among
    the responses to each situation; with it, they rate models' answers.
    """
    import kapwa

    written = kapwa.write_forms(
        suite,
        out,
        data=data,
        variant=variant,
        where=parse_where(where),
        items_n=items_n,
        seed=seed,
        people=people,
        groups=groups,
        answers=answers or [],
        rubric=rubric,
        per_country=per_country,
    )
    for form in written:
        for sheet in form.sheets:
            note(f"Sheet: {sheet}")
        note(f"Key (do not show it to the people who fill in the sheets): {form.key}")
        note(f"Instructions: {form.instructions}")
        for line in form.notes:
            note(f"Note: {line}")


def agree(
    choices: Annotated[
        list[Path],
        typer.Argument(
            metavar="CHOICES",
            help="Completed choice forms, or a table with the columns item_id, rater and choice (or answer).",
        ),
    ],
    task: Annotated[
        str, typer.Option(metavar="TASK", help="The multiple-choice task that the items belong to.")
    ] = "kalahi/mc",
    data: opt.Data = None,
    variant: opt.Variant = None,
    where: opt.Where = None,
    key: opt.Key = None,
    json: opt.Json = False,
    seed: opt.BootstrapSeed = 1,
) -> None:
    """Analyse which responses people chose.

    Shows each person's accuracy, how many chose the best response, and kappa and alpha with intervals. For free-text
    answers, which need no --task, it shows how far people agree.
    """
    import kapwa
    from kapwa.labels.choices.baseline import human_baseline
    from kapwa.labels.open_answers import answer_agreement, holds_answers
    from kapwa.report.tables.people import answer_block, choice_block

    if holds_answers(choices):
        answers = answer_agreement(choices, seed=seed)
        _show(answers, lambda: answer_block(answers), json=json)
        return
    items = kapwa.load_task(task, data=data, variant=variant, where=parse_where(where)).items()
    baseline = human_baseline(choices, items, key=key, some=bool(where), seed=seed)
    _show(baseline, lambda: choice_block(baseline, task, f"{task}, {baseline.variant}", ("item", "items")), json=json)


def _show(result: Any, block: Callable[[], PageSection], *, json: bool) -> None:
    """Print a result as JSON, or as the report shows it."""
    from kapwa.report.tables.forms import render_block

    if json:
        show_json(result.to_dict())
    else:
        show(render_block(block()))


def read(
    ratings: Annotated[
        list[Path],
        typer.Argument(metavar="RATINGS", help="Completed rating forms, or a table with a column for each criterion."),
    ],
    rubric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="The rubric whose criteria the columns are.",
            show_default="the suite's rubric that has them",
        ),
    ] = None,
    key: opt.Key = None,
    json: opt.Json = False,
    seed: opt.BootstrapSeed = 1,
) -> None:
    """Analyse how people rated answers.

    Shows, for each criterion, the share of answers that a majority (2/3) rated as good, and the agreement.
    """
    from kapwa.labels.ratings.analysis import human_ratings
    from kapwa.report.tables.people import rating_block

    judged = human_ratings(ratings, rubric=rubric, key=key, seed=seed)
    _show(judged, lambda: rating_block(judged), json=json)
