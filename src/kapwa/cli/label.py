"""``kapwa label``: what people say of answers: sheets, their reading, agreement, and audits that correct scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.label_people import agree, read, sheets
from kapwa.cli.output import note, show, show_json

app = typer.Typer(no_args_is_help=True)
app.command("sheets")(sheets)
app.command("read")(read)
app.command("agree")(agree)


@app.command("plan")
def plan(
    runs: opt.AuditedRuns,
    half_width: Annotated[
        float,
        typer.Option(min=0, max=1, metavar="SHARE", help="Half-width of each culture's interval: 0.05 is ± 5 points."),
    ] = 0.05,
    pilot: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="Labels of a small sample, and the folder of that sample; repeatable."),
    ] = None,
    agreement: Annotated[
        float,
        typer.Option(
            min=0, max=1, metavar="SHARE", help="Without a pilot: how often people and the scorer are assumed to agree."
        ),
    ] = 0.85,
    seconds: Annotated[float, typer.Option(min=1, metavar="N", help="Time that a person needs for one answer.")] = 30.0,
    metric: opt.AuditedMetric = None,
    variant: opt.AuditedVariant = None,
    json: opt.Json = False,
) -> None:
    """Plan an audit: how many answers people must label in each culture and language, and how long that takes.

    "No saving" means that using the scorer would not reduce the labels needed.
    """
    import kapwa

    planned = kapwa.audit_plan(
        runs, half_width=half_width, pilot=pilot, agreement=agreement, seconds=seconds, metric=metric, variant=variant
    )
    if json:
        show_json(planned.to_dicts())
        return
    from kapwa.report.board.audit import plan_table
    from kapwa.report.tables.forms import render_block
    from kapwa.report.tables.table import PageSection

    show(render_block(PageSection(tables=[plan_table(planned, half_width)])))


@app.command("sample")
def sample(
    runs: opt.AuditedRuns,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="A new folder for the sheets, the sample and its key.")
    ],
    n: Annotated[int, typer.Option("--n", min=1, metavar="N", help="Questions of each culture and language.")] = 60,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the sample; it is recorded.")] = 1,
    people: Annotated[
        int, typer.Option(min=1, metavar="N", help="People who label each answer, and sheets for each culture.")
    ] = 2,
    metric: opt.AuditedMetric = None,
    variant: opt.AuditedVariant = None,
    rubric: Annotated[
        str, typer.Option(metavar="RUBRIC", help="What people decide: a rubric with one yes-or-no question.")
    ] = "correct",
    doubtful: Annotated[
        bool | None,
        typer.Option(
            "--doubtful/--no-doubtful",
            help="Sample questions four times as often if their answers are probably misjudged.",
            show_default="for matchers",
        ),
    ] = None,
) -> None:
    """Sample answers at random for people to label, and write blinded sheets.

    Questions are sampled in each culture and language, with the answers of all runs to them. The sample is recorded
    with the probability of every answer; labels of other answers cannot correct a score.
    """
    import kapwa
    from kapwa.report.wording import count

    written = kapwa.audit_sample(
        runs, out, n=n, seed=seed, people=people, rubric=rubric, doubtful=doubtful, metric=metric, variant=variant
    )
    for folder in dict.fromkeys(sheet.parent for sheet in written.sheets):
        note(f"Sheets for {people} people: {folder}")
    note(f"Key (do not show it to the people who label): {written.key}")
    for line in written.notes:
        note(f"Note: {line}")
    key = written.draw.key
    texts = key["answer"].n_unique()
    answers = f"{count(len(key), 'answer')} of {count(len(runs), 'run')}"
    show(f"Sample {written.draw.id}: {count(texts, 'text')} to label, {answers}.")


@app.command("apply")
def apply(
    runs: opt.AuditedRuns,
    labels: Annotated[
        list[Path],
        typer.Option(metavar="PATH", help="The folder of the sample, and files or folders of labels; repeatable."),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FOLDER", help="Write a page, tables and labels to this folder."),
    ] = None,
    scorer: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Use a judge's verdicts instead of the metric; repeatable."),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Show labels that belong to no sample; correct nothing.")
    ] = False,
    metric: opt.AuditedMetric = None,
    variant: opt.AuditedVariant = None,
    json: opt.Json = False,
) -> None:
    """Correct scores with people's labels.

    Shows the scorer's score, people's score and the corrected score with intervals, and the scorer's bias, by culture
    and on average over cultures; jointly corrected differences between runs; and each rater's severity and agreement.
    """
    import kapwa

    audit = kapwa.audit_apply(runs, labels, out=out, scorer=scorer, read_only=read_only, metric=metric, variant=variant)
    if json:
        show_json(audit.to_dict())
        return
    from kapwa.report.board.audit import audit_block
    from kapwa.report.tables.forms import render_block

    show(render_block(audit_block(audit)))
    if out is not None:
        note(f"Page: {out / 'audit.html'}")


@app.command("carry")
def carry(
    earlier: Annotated[
        Path, typer.Argument(metavar="EARLIER", help="The earlier audit: a folder written by kapwa label apply -o.")
    ],
    later: Annotated[Path, typer.Argument(metavar="LATER", help="The later audit: of a new model, judge or prompt.")],
    margin: Annotated[
        float, typer.Option(min=0, max=1, metavar="SHARE", help="How far the bias may have moved: 0.05 is 5 points.")
    ] = 0.05,
    json: opt.Json = False,
) -> None:
    """Test whether the bias measured by an earlier audit carries over to other answers or another judge.

    Both audits need labels by the same rubric; the later one needs only a few. Results are shown by culture and system,
    and refused for scores of which the earlier audit has no labels.
    """
    from kapwa.labels.audits.carrying import carried_audits, read_audited

    carried = carried_audits(read_audited(earlier), read_audited(later), margin=margin)
    if json:
        show_json(carried.to_dicts())
        return
    from kapwa.report.board.audit import carried_block
    from kapwa.report.tables.forms import render_block

    show(render_block(carried_block(carried, margin)))
