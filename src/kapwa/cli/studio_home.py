"""The folder of a studio, and the addresses at which a network reaches it."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kapwa.errors import UsageError

if TYPE_CHECKING:
    from types import ModuleType

    from filelock import BaseFileLock

HOME = Path("kapwa-studio")
# Held while a studio is served from its folder.
_LOCK = "serving.lock"
_STARTING = 60  # seconds in which a studio that starts in another window writes its address


def open_studio(
    home: Path, database: str | None, *, make: bool = False, url: str = "", hosts: tuple[str, ...] = (), model: str = ""
) -> ModuleType:
    """Set up Django for the studio in ``home`` and return :mod:`kapwa.studio.commands`."""
    from kapwa.studio.settings import DATABASE_NAME, SECRET_NAME, configure

    if not make and not (home / SECRET_NAME).is_file():  # a second secret would shut everybody out
        hint = "Give its folder with --home, or make a project first: kapwa studio new my-culture"
        raise UsageError(f"There is no studio in {home}: it contains no {SECRET_NAME}.", hint=hint)
    if not (make or database or (home / DATABASE_NAME).is_file()):  # a new, empty one would hide the loss
        hint = "Restore the file from a backup, or give its folder with --home."
        raise UsageError(f"The studio in {home} has lost its database: it contains no {DATABASE_NAME}.", hint=hint)
    configure(home, database=database, url=url, hosts=hosts, model=model)
    from kapwa.studio import commands

    commands.prepare()
    return commands


def serving_lock(home: Path) -> BaseFileLock | None:
    """Hold the lock of who serves the studio in ``home``, as long as the result lives; None where another process does.

    On a disk that knows no locks nobody is kept out.
    """
    from filelock import FileLock, Timeout

    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = FileLock(home / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    except (OSError, NotImplementedError):
        pass
    return lock


def address_here(home: Path) -> str:
    """Return where a studio that another process serves is reached from this machine, "" where nobody can tell.

    Browsers know people by the address, so it is the one that the first start opened.
    """
    from kapwa.studio.settings import ADDRESS_NAME

    path, end = home / ADDRESS_NAME, time.monotonic() + _STARTING
    while not path.is_file() and time.monotonic() < end:
        time.sleep(0.2)
    address = path.read_text(encoding="utf-8").strip() if path.is_file() else ""
    url = urlsplit(address)
    numbers = (url.hostname or "").replace(".", "").isdecimal()
    return f"http://127.0.0.1:{url.port}" if numbers and url.port else address


EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104
# Phones of a laptop that is a hotspot itself (NetworkManager, Windows, macOS): it need not have a way to the Internet.
_HOTSPOTS = ("10.42.0.2", "192.168.137.2", "192.168.2.2")


def network_of(host: str) -> tuple[list[str], list[str]]:
    """Return the addresses at which others in the network reach ``host``, and the names it also answers to.

    A machine's bare name means nothing to most phones, and "NAME.local" something only where the machine announces it:
    both are answered to, and neither is promised.
    """
    import ipaddress
    import socket

    if host not in EVERYWHERE:
        return [], [f"[{host}]" if ":" in host else host]
    host_name = socket.gethostname()
    addresses: list[str] = []
    if host == "::":
        family, remote = socket.AF_INET6, ["2001:db8::1"]
    else:
        family, remote = socket.AF_INET, ["192.0.2.1", *_HOTSPOTS]
    for address in remote:
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))  # sends nothing; the system says from which address it would
            addresses.append(probe.getsockname()[0])
    with suppress(OSError):
        addresses += sorted(str(info[4][0]) for info in socket.getaddrinfo(host_name, None, family))
    parsed = [ipaddress.ip_address(text) for text in dict.fromkeys(addresses)]
    usable = [str(address) for address in parsed if not (address.is_loopback or address.is_link_local)]
    reachable = [f"[{address}]" if ":" in address else address for address in usable]
    return reachable, [host_name, f"{host_name.partition('.')[0]}.local"]
