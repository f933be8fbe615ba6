"""``kapwa studio``: make, serve and freeze projects of Kapwa Studio."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kapwa.cli import options as opt
from kapwa.cli.options import option, parse_list
from kapwa.cli.output import check_place, note, show, show_table
from kapwa.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

app = typer.Typer(help="Write and review a benchmark with your community, in the browser.", no_args_is_help=True)

Home = Annotated[Path, option("FOLDER", "Where the studio keeps everything.", names="--home")]
Database = Annotated[
    str | None,
    option(
        "URL",
        "postgresql://user@host/name. Default: a SQLite file in the home folder.",
        envvar="KAPWA_STUDIO_DATABASE",
    ),
]
HOME = Path("kapwa-studio")


def _open(
    home: Path, database: str | None, *, make: bool = False, url: str = "", hosts: tuple[str, ...] = (), model: str = ""
) -> ModuleType:
    """Set Django up for the studio in ``home`` and return what can be asked of it."""
    from kapwa.studio.settings import DATABASE_NAME, SECRET_NAME, configure

    if not make and not (home / SECRET_NAME).is_file():  # a second secret would shut everybody out
        hint = "Name its folder with --home, or make a project first: kapwa studio new my-culture"
        raise UsageError(f"There is no studio in {home}: it holds no {SECRET_NAME}.", hint=hint)
    if not (make or database or (home / DATABASE_NAME).is_file()):  # an empty one in its place would hide the loss
        hint = "Restore the file from a copy, or name its folder with --home."
        raise UsageError(f"The studio in {home} has lost its database: it holds no {DATABASE_NAME}.", hint=hint)
    configure(home, database=database, url=url, hosts=hosts, model=model)
    from kapwa.studio import commands

    commands.prepare()
    return commands


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Small letters, digits and '-', such as my-culture.")],
    form: Annotated[
        str, option("FORM", "What is made: kalahi (situations), blend (everyday questions), eecc (prompts).")
    ] = "kalahi",
    title: Annotated[str, option("TEXT", "What people call it. Default: from the name.")] = "",
    culture: Annotated[str, option("TEXT", "Whose situations they are, such as Filipino. Default: the title.")] = "",
    language: Annotated[str, option("TAG", "The language people write in (BCP-47).")] = "en",
    languages: Annotated[str, option("TAGS", "Further languages, separated by commas.")] = "",
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Make a project, and the studio if there is none yet; prints the code of its coordinator."""
    commands = _open(home, database, make=True)
    made = commands.new_project(
        name, form=form, title=title, culture=culture, language=language, languages=parse_list(languages)
    )
    invited = commands.invite_people(made, ["coordinator"], 1, "")[0]
    note(f"{made.slug} is in {home}. Serve it: kapwa studio serve" + (f" --home {home}" if home != HOME else ""))
    note("Its coordinator signs in with this code, which works once:")
    show(invited.code)


@app.command("serve")
def serve(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Projects that must exist.")] = None,
    share: Annotated[
        bool, typer.Option("--share", help="Let phones of your network in, and show the address as a QR code.")
    ] = False,
    host: Annotated[str, option("HOST", "The address to listen on; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[int, option("N", "The port.", min=0, max=65535)] = 8000,
    url: Annotated[str, option("URL", "The address that people use, if it is another, such as https://….")] = "",
    model: Annotated[str, option("MODEL", "A model that writers may ask about their drafts, such as smollm2.")] = "",
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy", help="A proxy passes requests on; with --host 0.0.0.0 nothing else may reach the port."
        ),
    ] = False,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Serve the studio in the browser until interrupted (Ctrl+C)."""
    from kapwa.studio.settings import LOCAL

    host = "0.0.0.0" if share and host in LOCAL else host  # noqa: S104
    network, names_here = _network(host)
    if share and host in _EVERYWHERE and not (url or network):
        hint = "Connect it to the Wi-Fi that the phones use, or give its address with --url."
        raise UsageError("This machine is in no network, so no phone can reach it.", hint=hint)
    if model:
        from kapwa.loading import checked_spec

        checked_spec(model, {})
    commands = _open(home, database, url=url, hosts=(*network, *names_here), model=model)
    for name in names or ():
        commands.find_project(name)
    options = {"host": host, "port": port, "url": url, "network": network, "behind_proxy": behind_proxy}
    try:
        if left := commands.clear_traces():
            note(left)
        for address, *others in commands.serve(home, **options):
            note(f"Kapwa Studio is at {address} (Ctrl+C stops it).")
            if others:
                note(f"On your network: {', '.join(others)}")
            if share:
                from kapwa.studio.core.members import as_text

                shared = url or (others or [address])[0]
                note(f"Phones open {shared}, or this picture with their camera:")
                note(as_text(shared))
    except KeyboardInterrupt:
        note("Stopped. Everything is saved.")


_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104
# Phones of a laptop that is a hotspot itself (NetworkManager, Windows, macOS): it need not have a way to the Internet.
_HOTSPOTS = ("10.42.0.2", "192.168.137.2", "192.168.2.2")


def _network(host: str) -> tuple[list[str], list[str]]:
    """Return the addresses by which others in the network reach ``host``, and the names it answers to besides.

    A machine's bare name means nothing to most phones, and "NAME.local" something only where the machine announces it:
    both are answered to, and neither is promised.
    """
    import ipaddress
    import socket

    if host not in _EVERYWHERE:
        return [], [f"[{host}]" if ":" in host else host]
    host_name = socket.gethostname()
    addresses: list[str] = []
    family, far = (socket.AF_INET6, ["2001:db8::1"]) if host == "::" else (socket.AF_INET, ["192.0.2.1", *_HOTSPOTS])
    for place in far:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((place, 9))  # sends nothing; the system says from which address it would
            addresses.append(probe.getsockname()[0])
    with suppress(OSError):
        addresses += sorted(str(info[4][0]) for info in socket.getaddrinfo(host_name, None, family))
    known = [ipaddress.ip_address(text) for text in dict.fromkeys(addresses)]
    usable = [str(address) for address in known if not (address.is_loopback or address.is_link_local)]
    reachable = [f"[{address}]" if ":" in address else address for address in usable]
    return reachable, [host_name, f"{host_name.partition('.')[0]}.local"]


@app.command("invite")
def invite(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project.")],
    role: Annotated[str, option("ROLE", "Roles, separated by commas: coordinator, writer, scribe, reviewer, ….")],
    count: Annotated[int, option("N", "How many people.", min=1, max=500)] = 1,
    url: Annotated[str, option("URL", "The studio's address. Default: where it was served last.")] = "",
    qr: Annotated[bool, typer.Option("--qr", help="Draw each link for a phone's camera, in the terminal.")] = False,
    output: Annotated[
        Path | None, option("FOLDER", "Write a page to print, and a picture of each link.", names="-o --output")
    ] = None,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Make codes and links with which people sign in; each works for one person, and is shown only now."""
    commands = _open(home, database)
    project = commands.find_project(name)
    from kapwa.studio.settings import remembered_address

    made = commands.invite_people(project, parse_list(role), count, url or remembered_address())
    show_table(("code", "link"), [(invitation.code, invitation.link) for invitation in made])
    if qr or output is not None:
        from kapwa.studio.core import members

        for invitation in made if qr else ():
            show(members.as_text(invitation.link))
        if output is not None:
            note(f"{members.write_page(project, parse_list(role), made, output)}: print it, and cut it apart.")


@app.command("freeze")
def freeze(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project.")],
    release: Annotated[str, option("VERSION", "Three numbers, such as 1.0.0.")],
    output: Annotated[Path, option("FOLDER", "The folder to write the release to.", names="-o --output")] = Path(
        "releases"
    ),
    private: Annotated[
        float, option("SHARE", "Keep about this share of items private, in another folder.", min=0.0, max=0.9)
    ] = 0.0,
    date: Annotated[str | None, option("DATE", "The date of the release, such as 2026-01-31. Default: today.")] = None,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Freeze what people accepted into a suite folder; a version that was frozen before is written again as it was."""
    commands = _open(home, database)
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
    variant: opt.Variant = None


@app.command("tasks")
@opt.grouped
def tasks(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project.")],
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="The run whose texts to draw; for an audit: its draw; for the baseline: data, or nothing.",
        ),
    ] = None,
    kind: Annotated[str, option("KIND", "criteria, errors, adaptation, audit, pairs or baseline.")] = "criteria",
    second: Annotated[Path | None, option("RUN", "For pairs: the other run.")] = None,
    *,
    drawing: Drawing,
    where: opt.Where = None,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Draw texts of a run, or situations, for people to judge in the studio.

    Raters judge answers (criteria: Kalahi's seven; errors: BLEnD's six classes of wrong answers; adaptation: EECC's
    three), answers of a recorded draw (audit) and pairs of texts; validators choose among responses, which gives the
    human baseline (baseline).
    """
    commands = _open(home, database)
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
def results(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project.")],
    kind: Annotated[str, option("KIND", "criteria, errors, adaptation, audit, pairs or baseline.")],
    output: Annotated[Path, option("FOLDER", "The folder to write the files to.", names="-o --output")],
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Write what people judged, for "kapwa agreement", "kapwa ratings" and "kapwa report --people"."""
    commands = _open(home, database)
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
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project.")],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A table or pack of the project's form, sample:PACK, an archive, or an audit's proposals.csv.",
        ),
    ],
    secret: Annotated[Path | None, option("FILE", "For an archive: its secret. Default: the file next to it.")] = None,
    withdrawn: Annotated[
        Path | None,
        option("FILE", "For an archive: withdrawals.jsonl of a later release, or of another studio."),
    ] = None,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Import items (situations, questions, prompts), or restore a project from its archive under a new name."""
    if data.endswith(".zip") and not Path(data).is_file():  # before a studio is made for it
        raise UsageError(f"There is no file {data}.", hint="An archive is what kapwa studio export wrote.")
    commands = _open(home, database, make=data.endswith(".zip"))
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
def import_work(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project.")],
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Filled-in tables, ODK submissions (CSV), or files that phones saved."),
    ],
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Import work that was done on paper, in tables, with ODK Collect or on phones, for the people who did it."""
    commands = _open(home, database)
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
def export(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The project.")],
    output: Annotated[Path, option("FILE.zip", "The archive to write.", names="-o --output")],
    secret: Annotated[
        Path | None, option("FILE", "The file for the project's secret. Default: next to the archive, .secret.")
    ] = None,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Write a project with its people as one archive, to keep, or to move to another studio with "import"."""
    commands = _open(home, database)
    from kapwa.studio.core.exchange import export_project

    check_place(output)
    secret = secret or output.with_suffix(".secret")
    check_place(secret)
    events = export_project(commands.find_project(name), output, secret=secret)
    note(f"{output}: {events} events. It holds what people told about themselves: keep it as they would want it kept.")
    note(f"{secret}: the project's secret, with which removed answers could be guessed. Keep it in another place.")


@app.command("backup")
def backup(
    output: Annotated[
        Path | None, option("FOLDER", "Default: backups in the home folder.", names="-o --output")
    ] = None,
    keep: Annotated[int, option("DAYS", "Delete archives that are older.", min=1)] = 30,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Write every project as an archive with today's date into a folder, and delete old ones; for each night."""
    _open(home, database)
    from kapwa.studio.doctor import back_up

    for path in back_up(output or home / "backups", keep):
        note(f"Written: {path}")


@app.command("deploy")
def deploy(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to write the files to.")],
    host: Annotated[str, option("NAME", "The server's name. Default: none, to start a laptop's studio.")] = "",
) -> None:
    """Write files that put the studio on a server or in a container; without --host, files to double-click."""
    from kapwa.studio.deploying import write_files

    for name in write_files(folder, host):
        note(f"Written: {folder / name}")


@app.command("doctor")
def doctor(home: Home = HOME, database: Database = None) -> None:
    """Say what the studio lacks, each with a remedy: address, certificate, clock, disk, fonts, backup.

    Exit code 1 where something lacks.
    """
    _open(home, database)
    from kapwa.studio.doctor import examine

    findings = examine(_network("0.0.0.0")[0])  # noqa: S104
    show_table(("what", "state", "remedy"), findings)
    if any(finding.remedy for finding in findings):
        raise typer.Exit(1)


@app.command("check")
def check(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Projects. Default: all.")] = None,
    kept: Annotated[list[Path] | None, option("PATH", "An archive or a release's folder to compare with.")] = None,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Make every current table again from the events and compare; exit code 2 where they differ.

    A database that is lost, empty or damaged is an error. ``--kept``: the newest archive and release; the database must
    have everything that they have, which one restored from an older copy does not. Changes nothing, but clears traces
    of removed texts that could not be cleared before; exit code 2 where they stay.
    """
    commands = _open(home, database)
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
