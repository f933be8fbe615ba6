"""``kapwa studio``: make, serve and freeze projects of Kapwa Studio."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import typer

from kapwa.cli import studio_work
from kapwa.cli.options import parse_list
from kapwa.cli.output import note, show, show_table
from kapwa.cli.studio_home import EVERYWHERE, HOME, Database, Home, network_of, open_studio
from kapwa.errors import UsageError

app = typer.Typer(help="Write and review a benchmark with your community, in the browser.", no_args_is_help=True)


@app.command("new")
def new(
    name: str,
    form: str = "kalahi",
    title: str = "",
    culture: str = "",
    language: str = "en",
    languages: str = "",
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Make a project, and the studio if there is none yet; prints the code of its coordinator."""
    commands = open_studio(home, database, make=True)
    made = commands.new_project(
        name, form=form, title=title, culture=culture, language=language, languages=parse_list(languages)
    )
    invited = commands.invite_people(made, ["coordinator"], 1, "")[0]
    note(f"{made.slug} is in {home}. Serve it: kapwa studio serve" + (f" --home {home}" if home != HOME else ""))
    note("Its coordinator signs in with this code, which works once:")
    show(invited.code)


@app.command("serve")
def serve(
    names: list[str] | None = None,
    share: bool = False,
    host: str = "127.0.0.1",
    port: int = 8000,
    url: str = "",
    in_browser: bool = False,
    model: str = "",
    behind_proxy: bool = False,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Serve the studio in the browser until interrupted (Ctrl+C)."""
    from kapwa.studio.settings import LOCAL, SECRET_NAME

    host = "0.0.0.0" if share and host in LOCAL else host  # noqa: S104
    network, names_here = network_of(host)
    unreachable = share and host in EVERYWHERE and not (url or network)
    if unreachable and not in_browser:
        hint = "Connect it to the Wi-Fi that the phones use, or give its address with --url."
        raise UsageError("This machine is in no network, so no phone can reach it.", hint=hint)
    if model:
        from kapwa.loading import checked_spec

        checked_spec(model, {})
    make = in_browser and not (home / SECRET_NAME).exists()
    commands = open_studio(home, database, make=make, url=url, hosts=(*network, *names_here), model=model)
    for name in names or ():
        commands.find_project(name)
    options = {"host": host, "port": port, "url": url, "network": network, "behind_proxy": behind_proxy}
    try:
        if left := commands.clear_traces():
            note(left)
        begun = commands.Project.objects.exists()
        code = commands.start_code() if in_browser or not begun else ""
        for address, *others in commands.serve(home, **options):
            shared = url or (others or [address])[0] if share and not unreachable else ""
            _show_addresses(address, others, shared=shared)
            link = f"{address}/join/{code}/" if code else ""
            if link:
                more = "another project, to bring one back, or to come into one again" if begun else "a project"
                note(f"To begin {more}, open {link} (this link works once; tell it nobody).")
            if in_browser:
                webbrowser.open(address if begun else link)
    except KeyboardInterrupt:
        note("Stopped. Everything is saved.")


def _show_addresses(address: str, others: list[str], *, shared: str) -> None:
    note(f"Kapwa Studio is at {address} (Ctrl+C stops it).")
    if others:
        note(f"On your network: {', '.join(others)}")
    if shared:
        from kapwa.studio.core.members import as_text

        note(f"Phones open {shared}, or this picture with their camera:")
        note(as_text(shared))


@app.command("invite")
def invite(
    name: str,
    role: str,
    count: int = 1,
    url: str = "",
    qr: bool = False,
    output: Path | None = None,
    home: Home = HOME,
    database: Database = None,
) -> None:
    """Make codes and links with which people sign in; each works for one person, and is shown only now."""
    commands = open_studio(home, database)
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


@app.command("deploy")
def deploy(folder: Path, host: str = "") -> None:
    """Write files that put the studio on a server or in a container; without --host, files to double-click."""
    from kapwa.studio.deploying import write_files

    for name in write_files(folder, host):
        note(f"Written: {folder / name}")


@app.command("doctor")
def doctor(home: Home = HOME, database: Database = None) -> None:
    """Say what the studio lacks, each with a remedy: address, certificate, clock, disk, fonts, backup.

    Exit code 1 where something lacks.
    """
    open_studio(home, database)
    from kapwa.studio.doctor import examine

    findings = examine(network_of("0.0.0.0")[0])  # noqa: S104
    show_table(("what", "state", "remedy"), findings)
    if any(finding.remedy for finding in findings):
        raise typer.Exit(1)


app.registered_commands += studio_work.app.registered_commands
