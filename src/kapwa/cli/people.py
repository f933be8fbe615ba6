"""``kapwa forms``, ``kapwa agreement`` and ``kapwa ratings``: sheets for people, and what they chose and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import options as opt
from kapwa.cli.options import option
from kapwa.cli.output import note, show, show_json

Suite = Annotated[
    str, typer.Argument(metavar="SUITE", help="The suite whose forms to write, e.g. kalahi.", show_default=False)
]
Items = Annotated[
    int | None, option("--items", "N", "How many items to draw; all without it.", min=1, show_default=True)
]
FormSeed = Annotated[int, option("--seed", "N", "Seed of the draw and of every shuffle.", show_default=True)]
People = Annotated[int, option("--people", "N", "How many people fill each form.", min=1, show_default=True)]
Groups = Annotated[
    int, option("--groups", "N", "Split the answers to rate among so many groups.", min=1, show_default=True)
]
Answers = Annotated[
    list[Path] | None,
    option("--answers --run", "RUN", "Runs whose answers people are to rate; repeatable. Writes rating forms."),
]
PerCountry = Annotated[
    int | None,
    option(
        "--per-country",
        "N",
        "Draw so many wrong answers of each culture, for people to say what is wrong with them.",
        min=1,
    ),
]
Out = Annotated[Path, option("--out", "FOLDER", "Folder for the sheets and the key.", show_default=True)]
Choices = Annotated[
    list[Path],
    typer.Argument(
        metavar="CHOICES",
        help="Filled choice forms, or a table with the columns item_id, rater, choice.",
        show_default=False,
    ),
]
Ratings = Annotated[
    list[Path],
    typer.Argument(
        metavar="RATINGS", help="Filled rating forms, or a table with a column for each criterion.", show_default=False
    ),
]
Task = Annotated[str, option("--task", "TASK", "The multiple-choice task the items belong to.", show_default=True)]
Form = Annotated[str, option("--form", "SUITE", "Whose criteria the columns are.", show_default=True)]
BootstrapSeed = Annotated[int, option("--seed", "N", "Seed of the bootstrap intervals.", show_default=True)]


def forms(
    suite: Suite,
    data: opt.Data = None,
    variant: opt.Variant = None,
    where: opt.Where = None,
    items: Items = None,
    seed: FormSeed = 1,
    people: People = 3,
    groups: Groups = 1,
    answers: Answers = None,
    per_country: PerCountry = None,
    out: Out = Path("forms"),
) -> None:
    """Write blinded sheets for people to fill.

    Writes shuffled CSV and XLSX sheets, and the key to keep back. Without --answers people choose among the
    responses of each situation; with it they rate models' answers.
    """
    from kapwa import api

    written = api.write_forms(
        suite,
        out,
        data=data,
        variant=variant,
        where=opt.parse_where(where),
        items_n=items,
        seed=seed,
        people=people,
        groups=groups,
        answers=answers or (),
        per_country=per_country,
    )
    for form in written:
        for sheet in form.sheets:
            note(f"Sheet: {sheet}")
        note(f"Key (keep it back from the people who fill the sheets): {form.key}")
        note(f"Instructions: {form.instructions}")
        for line in form.notes:
            note(f"Note: {line}")


def agreement(
    choices: Choices,
    task: Task = "kalahi/mc",
    data: opt.Data = None,
    variant: opt.Variant = None,
    where: opt.Where = None,
    key: opt.Key = None,
    json: opt.Json = False,
    seed: BootstrapSeed = 1,
) -> None:
    """Analyse which responses people chose.

    Shows the accuracy of each person, how many chose the best response, kappa and alpha with intervals.
    """
    from kapwa import api
    from kapwa.people.choices import human_baseline, render_baseline

    items = api.load_task(task, data=data, variant=variant, where=opt.parse_where(where)).items()
    found = human_baseline(choices, items, key=key, seed=seed)
    if json:
        show_json(found.to_dict())
    else:
        show(render_baseline(found))


def ratings(
    ratings: Ratings, form: Form = "kalahi", key: opt.Key = None, json: opt.Json = False, seed: BootstrapSeed = 1
) -> None:
    """Analyse how people judged answers.

    Shows, for each criterion, the share of answers that a majority (2/3) found good, and the agreement.
    """
    from kapwa.people.ratings import human_ratings, render_ratings

    found = human_ratings(ratings, form=form, key=key, seed=seed)
    if json:
        show_json(found.to_dict())
    else:
        show(render_ratings(found))
