"""``kapwa audit``: people label a random draw of answers, and their labels correct the scores; items are audited."""

from __future__ import annotations

from pathlib import Path

from kapwa.cli.audit_items import items
from kapwa.cli.options import group
from kapwa.cli.output import note, show, show_json

app = group("Let people label a few answers and correct the scores; audit the items.")


@app.command("plan")
def plan(
    runs: list[Path],
    half_width: float = 0.05,
    pilot: list[Path] | None = None,
    agreement: float = 0.85,
    seconds: float = 30.0,
    metric: str | None = None,
    variant: str | None = None,
    json: bool = False,
) -> None:
    """Plan an audit: how many answers people label in each culture and language, and how long they need.

    "No saving" means that the scorer does not help: then people need to label as many answers as without it.
    """
    import kapwa

    chosen = {"metric": metric, "variant": variant}
    planned = kapwa.audit_plan(runs, half_width=half_width, pilot=pilot, agreement=agreement, seconds=seconds, **chosen)
    if json:
        show_json(planned.to_dicts())
        return
    from kapwa.report.audit import plan_table
    from kapwa.report.render import render_block
    from kapwa.report.table import Block

    show(render_block(Block(tables=[plan_table(planned, half_width)])))


@app.command("sample")
def sample(
    runs: list[Path],
    out: Path,
    n: int = 60,
    seed: int = 1,
    people: int = 2,
    metric: str | None = None,
    variant: str | None = None,
    rubric: str = "correct",
    doubtful: bool | None = None,
) -> None:
    """Draw answers at random for people to label, and write blinded sheets.

    Questions are drawn in each culture and language, with all runs' answers to them. The draw is recorded, with the
    probability of every answer: labels of other answers correct nothing.
    """
    import kapwa

    chosen = {"metric": metric, "variant": variant}
    drawn = kapwa.audit_sample(runs, out, n=n, seed=seed, people=people, rubric=rubric, doubtful=doubtful, **chosen)
    for folder in dict.fromkeys(sheet.parent for sheet in drawn.sheets):
        note(f"Sheets of {people} people: {folder}")
    note(f"Key (do not show it to the people who label): {drawn.key}")
    for line in drawn.notes:
        note(f"Note: {line}")
    key = drawn.draw.key
    show(f"Draw {drawn.draw.id}: {key['answer'].n_unique()} texts to label, {len(key)} answers of {len(runs)} runs.")


@app.command("apply")
def apply(
    runs: list[Path],
    labels: list[Path],
    out: Path | None = None,
    scorer: list[Path] | None = None,
    read_only: bool = False,
    metric: str | None = None,
    variant: str | None = None,
    json: bool = False,
) -> None:
    """Correct scores by people's labels.

    Shows the scorer's number, people's and the corrected one with intervals, and how far the scorer is off, by culture
    and over cultures; differences between runs, corrected jointly; who labelled, how mildly, and how far people agree.
    """
    import kapwa

    audit = kapwa.audit_apply(runs, labels, out=out, scorer=scorer, read_only=read_only, metric=metric, variant=variant)
    if json:
        show_json(audit.to_dict())
        return
    from kapwa.report.audit import audit_block
    from kapwa.report.render import render_block

    show(render_block(audit_block(audit)))
    if out is not None:
        note(f"Page: {out / 'audit.html'}")


@app.command("carry")
def carry(earlier: Path, later: Path, margin: float = 0.05, json: bool = False) -> None:
    """Say whether the bias that an earlier audit measured carries over to other answers, or another judge.

    Both audits need labels of the same rubric; the later one needs few. It is told by culture and system, and refused
    for scores of which the earlier audit has no labels.
    """
    from kapwa.judging.transport import carried_audits, read_audited

    carried = carried_audits(read_audited(earlier), read_audited(later), margin=margin)
    if json:
        show_json(carried.to_dicts())
        return
    from kapwa.report.audit import carried_block
    from kapwa.report.render import render_block

    show(render_block(carried_block(carried, margin)))


app.command("items")(items)
