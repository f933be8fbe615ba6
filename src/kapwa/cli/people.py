"""``kapwa forms``, ``kapwa agreement`` and ``kapwa ratings``: sheets for people, and what they chose and judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kapwa.cli import options as opt
from kapwa.cli.output import note, show, show_json

if TYPE_CHECKING:
    from kapwa.report.table import Block


@dataclass(kw_only=True)
class FormOptions:
    """What stands in sheets, and for whom: keywords of :func:`kapwa.write_forms`."""

    items_n: int | None = None
    seed: int = 1
    people: int = 3
    groups: int = 1
    answers: list[Path] | None = None
    per_country: int | None = None


def forms(
    suite: str,
    data: str | None = None,
    variant: str | None = None,
    where: list[str] | None = None,
    *,
    settings: FormOptions,
    out: Path = Path("forms"),
) -> None:
    """Write blinded sheets for people to fill in.

    Writes shuffled CSV and XLSX sheets, and the key to keep back. Without --answers people choose among the
    responses of each situation; with it they rate models' answers.
    """
    import kapwa

    settings.answers = settings.answers or []
    written = kapwa.write_forms(suite, out, data=data, variant=variant, where=opt.parse_where(where), **vars(settings))
    for form in written:
        for sheet in form.sheets:
            note(f"Sheet: {sheet}")
        note(f"Key (do not show it to the people who fill in the sheets): {form.key}")
        note(f"Instructions: {form.instructions}")
        for line in form.notes:
            note(f"Note: {line}")


def agreement(
    choices: list[Path],
    task: str = "kalahi/mc",
    data: str | None = None,
    variant: str | None = None,
    where: list[str] | None = None,
    key: list[Path] | None = None,
    json: bool = False,
    seed: int = 1,
) -> None:
    """Analyse which responses people chose.

    Shows the accuracy of each person, how many chose the best response, kappa and alpha with intervals.
    For answers in people's own words, which need no --task, it shows how much people agree.
    """
    import kapwa
    from kapwa.people.answers import answer_agreement, holds_answers
    from kapwa.people.choices import human_baseline
    from kapwa.report.people import answer_block, choice_block

    if holds_answers(choices):
        answers = answer_agreement(choices, seed=seed)
        _show(answers, lambda: answer_block(answers), json=json)
        return
    items = kapwa.load_task(task, data=data, variant=variant, where=opt.parse_where(where)).items()
    baseline = human_baseline(choices, items, key=key, some=bool(where), seed=seed)
    _show(baseline, lambda: choice_block(baseline, task, f"{task}, {baseline.variant}", ("item", "items")), json=json)


def _show(result: Any, block: Callable[[], Block], *, json: bool) -> None:
    """Print a result as JSON, or the report's block of it."""
    from kapwa.report.render import render_block

    if json:
        show_json(result.to_dict())
    else:
        show(render_block(block()))


def ratings(
    ratings: list[Path], form: str | None = None, key: list[Path] | None = None, json: bool = False, seed: int = 1
) -> None:
    """Analyse how people judged answers.

    Shows, for each criterion, the share of answers that a majority (2/3) found good, and the agreement.
    """
    from kapwa.people.ratings import human_ratings
    from kapwa.report.people import rating_block

    judged = human_ratings(ratings, form=form, key=key, seed=seed)
    _show(judged, lambda: rating_block(judged.form, judged), json=json)
