"""``kapwa studio``: what people made (releases, ratings, tables), and projects to keep: archives, backups, checks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import typer

from kapwa.cli import options as opt
from kapwa.cli.output import check_place, note, show
from kapwa.cli.studio_home import HOME, Database, Home, open_studio
from kapwa.errors import UsageError

app = typer.Typer()


@app.command("freeze")
def freeze(
    name: str,
    release: str,
    output: Path = Path("releases"),
    private: float = 0.0,
    date: str | None = None,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Freeze what people accepted into a suite folder; a version that was frozen before is written again as it was."""
    commands = open_studio(home, database)
    from kapwa.studio.core.freeze import freeze as frozen

    made = frozen(commands.find_project(name), release, output, date=date, private=private)
    show(str(made.folder))
    note(f"{made.rows} item{'s' * (made.rows != 1)}, version {release}.")
    if made.held:
        note(f"{made.held} accepted left out: somebody whose words they contain has not agreed to publication.")
    if made.withdrawn:
        note(f"withdrawn.jsonl names {made.withdrawn} that earlier releases had and that their authors withdrew.")
    note(f"Now: kapwa suite add {made.folder} --name {name}")


@dataclass(kw_only=True)
class Drawing:
    """What is drawn for people to judge, besides its source: keywords of :func:`kapwa.studio.ratings.drawing.draw`."""

    sample: int | None = None
    seed: int = 1
    raters: int = 3
    variant: str | None = None


@app.command("tasks")
@opt.grouped
def tasks(
    name: str,
    source: str | None = None,
    kind: str = "criteria",
    second: Path | None = None,
    *,
    drawing: Drawing,
    where: list[str] | None = None,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Draw texts of a run, or situations, for people to judge in the studio.

    Raters judge answers (criteria: Kalahi's seven; errors: BLEnD's six classes of wrong answers; adaptation: EECC's
    three), answers of a recorded draw (audit) and pairs of texts; validators choose among responses, which gives the
    human baseline (baseline).
    """
    commands = open_studio(home, database)
    from kapwa.studio.core.roles import RATER, VALIDATOR
    from kapwa.studio.ratings.drawing import draw, naming

    project = commands.find_project(name)
    drawing.sample = drawing.sample or 0
    sources = [path for path in (source, second) if path is not None]
    made = draw(project, kind, *sources, where=opt.parse_where(where), **vars(drawing))
    people = "person" if made.raters == 1 else "people"
    note(f"Draw {made.number}: {made.sample} for {made.raters} {people} each, seed {made.seed}.")
    if n_naming := naming(made):
        note(f"{n_naming} of them name the model that wrote them, so raters can tell.")
    note(f"They are under Work for: kapwa studio invite {name} --role {VALIDATOR if kind == 'baseline' else RATER}")


@app.command("results")
def results(name: str, kind: str, output: Path, home: Home = HOME, database: Database = None) -> None:
    """Write what people judged, for "kapwa agreement", "kapwa ratings" and "kapwa report --people"."""
    commands = open_studio(home, database)
    from kapwa.datasets.sheets import write_files
    from kapwa.studio.ratings.views import result_tables

    paths = write_files(result_tables(commands.find_project(name), kind), output)
    for path in paths:
        note(f"Written: {path}")
    if kind == "baseline":
        note(f"Now: kapwa agreement {output} --data THE-RELEASE, or kapwa report RUN --people {output}")
    elif kind == "audit":
        for path in paths:
            note(f"Now: kapwa audit apply RUN --labels THE-DRAW --labels {path}")
    else:
        before = "" if kind == "pairs" else f"kapwa ratings {output}, or "
        note(f"Now: {before}kapwa report RUN --people {output}")


@app.command("import")
def import_(
    name: str,
    data: str,
    secret: Path | None = None,
    withdrawn: Path | None = None,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Import items (situations, questions, prompts), or restore a project from its archive under a new name."""
    if data.endswith(".zip") and not Path(data).is_file():  # before a studio is made for it
        raise UsageError(f"There is no file {data}.", hint="An archive is what kapwa studio export wrote.")
    commands = open_studio(home, database, make=data.endswith(".zip"))
    from kapwa.studio.core import exchange

    if data.endswith(".zip"):
        secret_file = Path(data).with_suffix(".secret")
        secret = secret or (secret_file if secret_file.is_file() else None)
        files = {"secret": secret, "withdrawn": withdrawn}
        made = exchange.import_project(commands.checked_name(name), Path(data), **files)
        note(f"{made.slug} is restored, with everything that was in {data} and that nobody has withdrawn since.")
        if secret is None:
            note("Without its secret, decisions on answers, the private share and the human baseline are made again.")
        return
    project = commands.find_project(name)
    from kapwa.studio.core.forms import form_of

    note(form_of(project).take_in(project, data))


@app.command("import-work")
def import_work(name: str, files: list[Path], home: Home = HOME, database: Database = None) -> None:
    """Import work that was done on paper, in tables, with ODK Collect or on phones, for the people who did it."""
    commands = open_studio(home, database)
    from kapwa.studio.core.intake import take_in

    project, refused = commands.find_project(name), False
    for path in files:
        counts = take_in(project, path)
        note(f"{path}: {counts.new} new answer{'s' * (counts.new != 1)}, {counts.known} known before.")
        for line in counts.refused:
            note(line)
        refused |= bool(counts.refused)
    if refused:
        raise typer.Exit(2)


@app.command("export")
def export(name: str, output: Path, secret: Path | None = None, home: Home = HOME, database: Database = None) -> None:
    """Write a project with its people as one archive, to keep, or to move to another studio with "import"."""
    commands = open_studio(home, database)
    from kapwa.studio.core.exchange import export_project

    check_place(output)
    secret = secret or output.with_suffix(".secret")
    check_place(secret)
    events = export_project(commands.find_project(name), output, secret=secret)
    note(f"{output}: {events} events. It holds what people told about themselves: keep it as they would want it kept.")
    note(f"{secret}: the project's secret, with which removed answers could be guessed. Keep it in another place.")


@app.command("backup")
def backup(output: Path | None = None, keep: int = 30, home: Home = HOME, database: Database = None) -> None:
    """Write every project as an archive with today's date into a folder, and delete old ones; for each night."""
    open_studio(home, database)
    from kapwa.studio.doctor import back_up

    for path in back_up(output or home / "backups", keep):
        note(f"Written: {path}")


@app.command("remind")
def remind(home: Home = HOME, database: Database = None) -> None:
    """Send everybody who gave an e-mail address for it what waits for them, once; for a timer.

    KAPWA_EMAIL_HOST and KAPWA_DEFAULT_FROM_EMAIL name the mail server and the sender. Exit code 1 where the server did
    not take all of the e-mails.
    """
    open_studio(home, database)
    from kapwa.studio.core.reminders import remind as send

    n_sent, n_wanted = send()
    note(f"{n_sent} of {n_wanted} e-mails were sent.")
    if n_sent < n_wanted:
        raise typer.Exit(1)


@app.command("check")
def check(
    names: list[str] | None = None, kept: list[Path] | None = None, home: Home = HOME, database: Database = None
) -> None:
    """Make every current table again from the events and compare; exit code 2 where they differ.

    A database that is lost, empty or damaged is an error. ``--kept``: the newest archive and release; the database must
    have everything that they have, which one restored from an older copy does not. Changes nothing, but clears traces
    of removed texts that could not be cleared before; exit code 2 where they stay.
    """
    commands = open_studio(home, database)
    projects, events, differences = commands.check(names or ())
    from kapwa.studio.core.exchange import lacking

    differences += [line for path in kept or () for line in lacking(path)]
    for line in differences:
        show(line)
    left = commands.clear_traces()
    if left:
        show(left)
    if differences or left:
        raise typer.Exit(2)
    note(f"{projects} project{'s' * (projects != 1)}, {events} events: every table agrees with its events.")
