"""``kapwa studio``: make, serve and freeze projects of Kapwa Studio."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli import studio_work
from kapwa.cli.output import note, show, show_table
from kapwa.cli.parsing import parse_list
from kapwa.cli.studio_home import EVERYWHERE, HOME, address_here, network_of, open_studio, serving_lock
from kapwa.errors import UsageError

app = typer.Typer(no_args_is_help=True)


@app.command("new")
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Lower-case letters, digits and '-', such as my-culture.")
    ],
    form: Annotated[
        str,
        typer.Option(
            metavar="FORM", help="What you will write: kalahi (situations), blend (everyday questions), eecc (prompts)."
        ),
    ] = "kalahi",
    title: Annotated[
        str, typer.Option(metavar="TEXT", help="Title that people see.", show_default="made from the name")
    ] = "",
    culture: Annotated[
        str, typer.Option(metavar="TEXT", help="The culture it is about, such as Filipino.", show_default="the title")
    ] = "",
    language: Annotated[str, typer.Option(metavar="TAG", help="The language people write in (BCP-47).")] = "en",
    languages: Annotated[str, typer.Option(metavar="TAGS", help="More languages, comma-separated.")] = "",
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Create a project, and the studio if there is none yet; print a sign-in code for the coordinator."""
    commands = open_studio(home, database, make=True)
    project = commands.new_project(
        name, form=form, title=title, culture=culture, language=language, languages=parse_list(languages)
    )
    invitation = commands.invite_people(project, ["coordinator"], 1, "")[0]
    option = f" --home {home}" if home != HOME else ""
    note(f"{project.slug} is in {home}. To serve it: kapwa studio serve{option}")
    note("The coordinator signs in with this code, which works once:")
    show(invitation.code)


@app.command("serve")
def serve(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Projects that must exist.")] = None,
    share: Annotated[
        bool, typer.Option("--share", help="Let phones on your network connect, and show the address as a QR code.")
    ] = False,
    host: Annotated[
        str, typer.Option(metavar="HOST", help="Address to listen on; 0.0.0.0 for every network.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port to listen on.")] = 8000,
    url: Annotated[
        str, typer.Option(metavar="URL", help="Address that people use, if it is a different one, such as https://….")
    ] = "",
    in_browser: Annotated[
        bool,
        typer.Option("--open", help="Open the studio in this computer's browser; create it if the folder has none."),
    ] = False,
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="Model that writers can ask about their drafts, such as smollm2.")
    ] = "",
    behind_proxy: Annotated[
        bool,
        typer.Option(
            "--behind-proxy",
            help="Requests arrive through a proxy; with --host 0.0.0.0 nothing else may reach the port.",
        ),
    ] = False,
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Serve the studio to browsers until you press Ctrl+C."""
    from kapwa.studio.settings import LOCAL, SECRET_NAME, START_PAGE

    host = "0.0.0.0" if share and host in LOCAL else host  # noqa: S104
    network, names_here = network_of(host)
    unreachable = share and host in EVERYWHERE and not (url or network)
    if unreachable and not in_browser:
        hint = "Connect it to the Wi-Fi that the phones use, or give its address with --url."
        raise UsageError("This machine is not connected to a network, so phones cannot reach it.", hint=hint)
    if model:
        from kapwa.loading import checked_spec

        checked_spec(model, {})
    lock = serving_lock(home) if in_browser or home.is_dir() else None
    if in_browser and lock is None:
        _open_running(home)
        return
    make = in_browser and not (home / SECRET_NAME).exists()
    commands = open_studio(home, database, make=make, url=url, hosts=(*network, *names_here), model=model)
    for name in names or ():
        commands.find_project(name)
    options = {"host": host, "port": port, "url": url, "network": network, "behind_proxy": behind_proxy}
    (home / START_PAGE).unlink(missing_ok=True)  # left by a studio that was killed
    try:
        if traces := commands.clear_traces():
            note(traces)
        has_projects = commands.Project.objects.exists()
        code = commands.start_code() if in_browser or not has_projects else ""
        for address, *others in commands.serve(home, **options):
            shared = url or (others or [address])[0] if share and not unreachable else ""
            _show_addresses(address, others, shared=shared)
            link = f"{address}/join/{code}/" if code else ""
            if unreachable:
                note("This machine is in no network, so phones cannot reach the studio; you can work here meanwhile.")
                note("Connect it to the Wi-Fi of the phones, then stop the studio and start it again.")
            if link:
                purpose = (
                    "create another project, restore one, or sign in to one again"
                    if has_projects
                    else "create a project"
                )
                note(f"To {purpose}, open {link} (the link works once; share it with nobody).")
            if in_browser:
                webbrowser.open(address if has_projects else _page_to_open(home, link))
    except KeyboardInterrupt:
        note("Stopped. Everything is saved.")
    finally:
        (home / START_PAGE).unlink(missing_ok=True)


def _open_running(home: Path) -> None:
    """Open the studio that is served from this folder already, or the page that leads to its first code."""
    from kapwa.studio.settings import START_PAGE

    page, address = home / START_PAGE, address_here(home)
    note(f"The studio of this folder runs already, in another window: {address or 'it is starting'}.")
    if page.is_file():
        webbrowser.open(page.resolve().as_uri())
    elif address:
        webbrowser.open(address)


def _page_to_open(home: Path, link: str) -> str:
    """Return the address of a page that redirects to ``link``: other users can read a browser's command line."""
    from kapwa.files import write_text
    from kapwa.studio.settings import START_PAGE

    page = home / START_PAGE
    write_text(page, f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={link}">\n')
    page.chmod(0o600)
    return page.resolve().as_uri()


def _show_addresses(address: str, others: list[str], *, shared: str) -> None:
    note(f"Kapwa Studio runs at {address} (press Ctrl+C to stop it).")
    if others:
        note(f"On your network: {', '.join(others)}")
    if shared:
        from kapwa.studio.core.members import as_text

        note(f"On a phone, open {shared} or scan this QR code:")
        note(as_text(shared))


@app.command("invite")
def invite(
    name: opt.Project,
    role: Annotated[
        str, typer.Option(metavar="ROLE", help="Roles, comma-separated: coordinator, writer, scribe, reviewer, ….")
    ],
    count: Annotated[int, typer.Option(min=1, max=500, metavar="N", help="Number of people.")] = 1,
    url: Annotated[
        str,
        typer.Option(metavar="URL", help="The studio's address.", show_default="the address where it was last served"),
    ] = "",
    qr: Annotated[bool, typer.Option("--qr", help="Show each link as a QR code in the terminal.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FOLDER", help="Write a page to print, with a QR code for each link."),
    ] = None,
    home: opt.Home = HOME,
    database: opt.Database = None,
) -> None:
    """Make sign-in codes and links; each works for one person and is shown only now."""
    commands = open_studio(home, database)
    project = commands.find_project(name)
    from kapwa.studio.core.inviting import too_many_invited
    from kapwa.studio.settings import remembered_address

    invitations = commands.invite_people(project, parse_list(role), count, url or remembered_address())
    show_table(("code", "link"), [(invitation.code, invitation.link) for invitation in invitations])
    for sentence in too_many_invited(project):
        note(sentence)
    if qr or output is not None:
        from kapwa.studio.core import members

        for invitation in invitations if qr else ():
            show(members.as_text(invitation.link))
        if output is not None:
            note(
                f"{members.write_page(project, parse_list(role), invitations, output)}: print it and cut it into slips."
            )


@app.command("deploy")
def deploy(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write the files to.")],
    host: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The server's host name.", show_default="none: files that start the studio on a laptop"
        ),
    ] = "",
) -> None:
    """Write files to run the studio on a server or in a container; without --host, files to double-click."""
    from kapwa.studio.deploying import write_files

    for name in write_files(folder, host):
        note(f"Written: {folder / name}")


@app.command("doctor")
def doctor(home: opt.Home = HOME, database: opt.Database = None) -> None:
    """Check the studio's address, certificate, clock, disk, fonts and backups, and suggest remedies.

    Exits with code 1 if something is missing.
    """
    open_studio(home, database)
    from kapwa.studio.doctor import examine

    findings = examine(network_of("0.0.0.0")[0])  # noqa: S104
    show_table(("what", "state", "remedy"), findings)
    if any(finding.remedy for finding in findings):
        raise typer.Exit(1)


app.registered_commands += studio_work.app.registered_commands
