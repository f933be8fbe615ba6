"""Where ``kapwa studio`` finds a studio, and how a network reaches it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kapwa.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

Home = Annotated[Path, typer.Option("--home", metavar="FOLDER", help="Where the studio keeps everything.")]
_PLACE = "postgresql://user@host/name. Default: a SQLite file in the home folder."
Database = Annotated[str | None, typer.Option(metavar="URL", help=_PLACE, envvar="KAPWA_STUDIO_DATABASE")]
HOME = Path("kapwa-studio")


def open_studio(
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


EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104
# Phones of a laptop that is a hotspot itself (NetworkManager, Windows, macOS): it need not have a way to the Internet.
_HOTSPOTS = ("10.42.0.2", "192.168.137.2", "192.168.2.2")


def network_of(host: str) -> tuple[list[str], list[str]]:
    """Return the addresses by which others in the network reach ``host``, and the names it answers to besides.

    A machine's bare name means nothing to most phones, and "NAME.local" something only where the machine announces it:
    both are answered to, and neither is promised.
    """
    import ipaddress
    import socket

    if host not in EVERYWHERE:
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
