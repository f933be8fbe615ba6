"""``kapwa studio``: releases, ratings and tables of a project; archives, backups and checks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import check_writable, note, show
from kapwa.cli.parsing import parse_where
from kapwa.cli.studio_home import HOME, open_studio
from kapwa.errors import UsageError

app = typer.Typer()

TaskKind = Annotated[str, typer.Option(metavar="KIND", help="criteria, errors, adaptation, audit, pairs or baseline.")]


@app.command("freeze")
def freeze(
    name: opt.Project,
    release: Annotated[str, typer.Option(metavar="VERSION", help="Version: three numbers, such as 1.0.0.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder to write the release to.")
    ] = Path("releases"),
    private: Annotated[
        float,
        typer.Option(
            min=0, max=0.9, metavar="SHARE", help="Share of items to withhold, in a separate folder (approximate)."
        ),
    ] = 0.0,
    date: Annotated[
        str | None, typer.Option(metavar="DATE", help="Date of the release, such as 2026-01-31.", show_default="today")
    ] = None,
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Write accepted items to a suite folder as a release; an earlier version is written again unchanged."""
    commands = open_studio(home, database)
    from kapwa.studio.core.freeze import freeze as write_release

    written = write_release(commands.find_project(name), release, output, date=date, private=private)
    show(str(written.folder))
    note(f"{written.rows} item{'s' * (written.rows != 1)}, version {release}.")
    if written.held:
        note(f"{written.held} accepted items left out: somebody who wrote part of them has not agreed to publication.")
    if written.withdrawn:
        note(f"withdrawn.jsonl lists {written.withdrawn} items of earlier releases that their authors withdrew.")
    note(f"Next: kapwa suite add {written.folder} --name {name}")


@app.command("tasks")
def tasks(
    name: opt.Project,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="The run whose texts to sample; for an audit, its sample; for the baseline, data or nothing.",
        ),
    ] = None,
    kind: TaskKind = "criteria",
    second: Annotated[Path | None, typer.Option(metavar="RUN", help="For pairs: the other run.")] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1, max=100_000, metavar="N", help="Number of texts.", show_default="60; for the baseline, all"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**62, metavar="N", help="Seed of the sample; it is recorded.")] = 1,
    raters: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="People who judge each text.")] = 3,
    variant: opt.Variant = None,
    where: opt.Where = None,
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Sample texts of a run, or situations, for people to judge in the studio.

    Raters judge answers (criteria: Kalahi's seven; errors: BLEnD's six classes of wrong answers; adaptation: EECC's
    three), the answers of a recorded sample (audit), or pairs of texts (pairs). Validators choose among responses,
    which gives the human baseline (baseline).
    """
    commands = open_studio(home, database)
    from kapwa.studio.core.roles import RATER, VALIDATOR
    from kapwa.studio.ratings.drawing import draw, naming

    project = commands.find_project(name)
    sources = [path for path in (source, second) if path is not None]
    drawn = draw(
        project, kind, *sources, where=parse_where(where), sample=sample or 0, seed=seed, raters=raters, variant=variant
    )
    people = "person" if drawn.raters == 1 else "people"
    note(f"Sample {drawn.number}: {drawn.sample} for {drawn.raters} {people} each, seed {drawn.seed}.")
    if n_naming := naming(drawn):
        note(f"{n_naming} of them name the model that wrote them, so raters can recognize it.")
    note(
        f"Invite people to work on them: kapwa studio invite {name} --role {VALIDATOR if kind == 'baseline' else RATER}"
    )


@app.command("results")
def results(
    name: opt.Project,
    kind: TaskKind,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder to write the files to.")],
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Write people's judgements, for "kapwa label agree", "kapwa label read" and "kapwa report --people"."""
    commands = open_studio(home, database)
    from kapwa.datasets.sheets import write_files
    from kapwa.studio.ratings.views import result_tables

    paths = write_files(result_tables(commands.find_project(name), kind), output)
    for path in paths:
        note(f"Written: {path}")
    if kind == "baseline":
        note(f"Next: kapwa label agree {output} --data THE-RELEASE, or kapwa report RUN --people {output}")
    elif kind == "audit":
        for path in paths:
            note(f"Next: kapwa label apply RUN --labels THE-SAMPLE --labels {path}")
    else:
        ratings = "" if kind == "pairs" else f"kapwa label read {output}, or "
        note(f"Next: {ratings}kapwa report RUN --people {output}")


@app.command("import")
def import_(
    name: opt.Project,
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A table or pack in the project's form, sample:PACK, an archive, or an audit's proposals.csv.",
        ),
    ],
    secret: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="For an archive: its secret.", show_default="the .secret file beside the archive"
        ),
    ] = None,
    withdrawn: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="For an archive: withdrawals.jsonl of a later release, or of another studio."
        ),
    ] = None,
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Import items (situations, questions, prompts), or restore a project from its archive under a new name."""
    if data.endswith(".zip") and not Path(data).is_file():  # before a studio is created for it
        raise UsageError(f"There is no file {data}.", hint="An archive is written by: kapwa studio export")
    commands = open_studio(home, database, make=data.endswith(".zip"))
    from kapwa.studio.core import exchange

    if data.endswith(".zip"):
        secret_file = Path(data).with_suffix(".secret")
        secret = secret or (secret_file if secret_file.is_file() else None)
        files = {"secret": secret, "withdrawn": withdrawn}
        restored = exchange.import_project(commands.checked_name(name), Path(data), **files)
        note(f"{restored.slug} is restored from {data}, except for what people have withdrawn since.")
        if secret is None:
            note(
                "Without its secret, decisions on answers, the private items and the human baseline must be made again."
            )
        return
    project = commands.find_project(name)
    from kapwa.studio.core.forms import form_of

    note(form_of(project).take_in(project, data))


@app.command("import-work")
def import_work(
    name: opt.Project,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Completed tables, ODK submissions (CSV), or files saved by phones."),
    ],
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Import work done on paper, in tables, with ODK Collect or on phones, in the name of those who did it."""
    commands = open_studio(home, database)
    from kapwa.studio.core.intake import take_in

    project, refused = commands.find_project(name), False
    for path in files:
        counts = take_in(project, path)
        note(f"{path}: {counts.new} new answer{'s' * (counts.new != 1)}, {counts.known} already known.")
        for line in counts.refused:
            note(line)
        refused |= bool(counts.refused)
    if refused:
        raise typer.Exit(2)


@app.command("export")
def export(
    name: opt.Project,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.zip", help="The archive to write.")],
    secret: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File for the project's secret.", show_default="a .secret file beside the archive"
        ),
    ] = None,
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Write a project and its members to an archive, as a backup or to import into another studio."""
    commands = open_studio(home, database)
    from kapwa.studio.core.exchange import export_project

    check_writable(output)
    secret = secret or output.with_suffix(".secret")
    check_writable(secret)
    events = export_project(commands.find_project(name), output, secret=secret)
    note(f"{output}: {events} events. It contains personal data of the members: protect it accordingly.")
    note(f"{secret}: the project's secret, with which removed answers could be guessed. Store it separately.")


@app.command("backup")
def backup(
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FOLDER",
            help="Folder for the archives.",
            show_default="backups in the studio's folder",
        ),
    ] = None,
    keep: Annotated[int, typer.Option(min=1, metavar="DAYS", help="Delete archives older than this.")] = 30,
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Write an archive of every project, with today's date, and delete old archives; run it every night."""
    open_studio(home, database)
    from kapwa.studio.doctor import back_up

    for path in back_up(output or home / "backups", keep):
        note(f"Written: {path}")


@app.command("remind")
def remind(home: opt.Home = HOME, database: opt.Database = None) -> None:
    """E-mail everybody who asked for reminders what work is waiting for them; run it from a timer.

    KAPWA_EMAIL_HOST and KAPWA_DEFAULT_FROM_EMAIL name the mail server and the sender. Exits with code 1 if the server
    did not accept every e-mail.
    """
    open_studio(home, database)
    from kapwa.studio.core.reminders import remind as send

    n_sent, n_wanted = send()
    note(f"{n_sent} of {n_wanted} e-mails were sent.")
    if n_sent < n_wanted:
        raise typer.Exit(1)


@app.command("check")
def check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Projects.", show_default="all")
    ] = None,
    copies: Annotated[
        list[Path] | None,
        typer.Option(
            "--kept", metavar="PATH", help="An archive, or the folder of a release, to compare with; repeatable."
        ),
    ] = None,
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Rebuild every table from the events and compare; exit with code 2 if they differ.

    A database that is missing, empty or damaged is an error. With --kept, give the newest archive and release: the
    database must contain everything in them, which one restored from an older copy does not. Changes no data, except
    that it retries deleting traces of removed texts; exits with code 2 if traces remain.
    """
    commands = open_studio(home, database)
    projects, events, differences = commands.check(names or ())
    from kapwa.studio.core.exchange import lacking

    differences += [line for path in copies or () for line in lacking(path)]
    for line in differences:
        show(line)
    traces = commands.clear_traces()
    if traces:
        show(traces)
    if differences or traces:
        raise typer.Exit(2)
    note(f"{projects} project{'s' * (projects != 1)}, {events} events: all tables match their events.")
