"""What a served studio lacks, each with a remedy (address, certificate, clock, disk, fonts, backup), and backups."""

from __future__ import annotations

import ipaddress
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from django.conf import settings

from kapwa.files import write_text
from kapwa.studio.core.exchange import export_project
from kapwa.studio.core.tables import Event, Project
from kapwa.studio.settings import LOCAL, remembered_address

BACKUPS, KEPT_DAYS = "backups", 30  # where backups lie in the home folder, and for how long
BACKED_UP = "backed-up.txt"  # in the home folder: where the newest backup lies; its age is the file's
_LEAST = 1_000_000_000  # bytes that should be free
_RENEWED = timedelta(days=14)  # before its end a certificate should have been renewed
_PATIENCE = 10.0  # seconds
_AGE = timedelta(days=1)


class Diagnosis(NamedTuple):
    """What was looked at, what it is like, and a remedy; "" where nothing lacks."""

    name: str
    state: str
    remedy: str = ""


def examine(addresses: Sequence[str]) -> list[Diagnosis]:
    """Look at the studio that is configured; ``addresses``: those by which its network reaches this machine."""
    home: Path = settings.KAPWA_HOME
    url = remembered_address()
    looks = _reach(url, addresses), _answer(url), _certificate(url), _clock(), _disk(home), _fonts(), _backup(home)
    return [finding for finding in looks if finding is not None]


def _reach(url: str, addresses: Sequence[str]) -> Diagnosis:
    """Whether phones can reach the address that invitations name."""
    name = urlsplit(url).hostname or ""
    if name in LOCAL:
        return Diagnosis("address", f"{url} is this machine alone", "Serve with: kapwa studio serve --share")
    numeric = name.replace(".", "").isdigit() or ":" in name
    if numeric and name not in [address.strip("[]") for address in addresses]:
        remedy = "The network gave this machine another address: serve anew with --share, and make new invitations."
        return Diagnosis("address", f"{url} is no address of this machine now", remedy)
    return Diagnosis("address", url)


def _answer(url: str) -> Diagnosis:
    try:
        with urlopen(f"{url}/enter/", timeout=_PATIENCE) as answer:  # noqa: S310 - an address of web pages
            answer.read()
    except HTTPError as error:
        return Diagnosis("server", f"{url} answers with {error.code}", "Look at the proxy, and at what serve printed.")
    except (URLError, OSError) as error:
        reason = getattr(error, "reason", error)
        return Diagnosis("server", f"{url} does not answer: {reason}", "Start it: kapwa studio serve; open its port.")
    return Diagnosis("server", f"{url} answers")


def _certificate(url: str) -> Diagnosis | None:
    parts = urlsplit(url)
    if parts.scheme != "https":
        room = parts.hostname in LOCAL or _private(parts.hostname or "")
        remedy = "" if room else "Serve with HTTPS: kapwa studio deploy FOLDER --host NAME"
        return Diagnosis("certificate", "none: whoever listens on the network reads what is sent", remedy)
    try:
        place = (parts.hostname or "", parts.port or 443)
        with (
            socket.create_connection(place, timeout=_PATIENCE) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=parts.hostname) as secure,
        ):
            ends = str((secure.getpeercert() or {})["notAfter"])
    except ssl.SSLError as error:
        return Diagnosis("certificate", f"refused: {error.reason}", "Let Caddy fetch one: kapwa studio deploy --help")
    except OSError:
        return None  # it does not answer, which is said already
    left = timedelta(seconds=ssl.cert_time_to_seconds(ends) - time.time())
    remedy = "Look at the proxy's messages: it should have renewed it." if left < _RENEWED else ""
    return Diagnosis("certificate", f"valid for {left.days} more days", remedy)


def _private(name: str) -> bool:
    """Whether an address is one of a room's own network."""
    try:
        return ipaddress.ip_address(name).is_private
    except ValueError:
        return False


def _clock() -> Diagnosis:
    """Whether the clock is behind what was written last, as that of a laptop with an empty battery is."""
    now, last = datetime.now(UTC), Event.objects.order_by("-server_time").first()
    state = f"{now:%Y-%m-%d %H:%M} UTC"
    if last is not None and last.server_time > now:
        remedy = "Set the clock: dates of what people write would be wrong."
        return Diagnosis("clock", f"{state} is before the newest entry, of {last.server_time:%Y-%m-%d %H:%M}", remedy)
    return Diagnosis("clock", state)


def _disk(home: Path) -> Diagnosis:
    free = shutil.disk_usage(home).free
    remedy = "" if free >= _LEAST else "Free some space: what people send cannot be saved on a full disk."
    return Diagnosis("disk", f"{free / 1e9:.1f} GB free", remedy)


def _fonts() -> Diagnosis | None:
    """Whether this machine has fonts to show and print the projects' languages; None where it cannot be asked."""
    if (lists := shutil.which("fc-list")) is None:
        return None
    tags = sorted({tag.partition("-")[0] for project in Project.objects.all() for tag in project.languages})
    lacking = []
    for tag in tags:
        asked = subprocess.run([lists, f":lang={tag}", "family"], capture_output=True, check=False)  # noqa: S603
        lacking += [] if asked.stdout.strip() else [tag]
    remedy = "Install fonts for them, such as Noto, before you print from this machine." if lacking else ""
    return Diagnosis("fonts", f"none for {', '.join(lacking)}" if lacking else f"for {', '.join(tags)}", remedy)


def _backup(home: Path) -> Diagnosis:
    remedy, mark = "Make one now, and each night: kapwa studio backup", home / BACKED_UP
    if not mark.is_file():
        return Diagnosis("backup", "none was made", remedy)
    age = timedelta(seconds=time.time() - mark.stat().st_mtime)
    state = f"{age.total_seconds() / 3600:.0f} hours old, in {mark.read_text(encoding='utf-8').strip()}"
    return Diagnosis("backup", state, remedy if age > _AGE else "")


def back_up(folder: Path, keep: int, projects: Iterable[Project] | None = None) -> list[Path]:
    """Write an archive of each project into ``folder``, and delete those older than ``keep`` days; return the new.

    The projects' secrets go to the folder ``secrets`` in it. Whoever has both could guess answers that were removed.
    """
    (folder / "secrets").mkdir(parents=True, exist_ok=True, mode=0o700)
    written, now = [], datetime.now(UTC)
    for project in Project.objects.order_by("slug") if projects is None else projects:
        path = folder / f"{project.slug}-{now:%Y-%m-%d}.zip"
        export_project(project, path, secret=folder / "secrets" / f"{project.slug}.secret")
        written.append(path)
        for old in folder.glob(f"{project.slug}-????-??-??.zip"):
            with suppress(ValueError):
                made = datetime.strptime(old.stem[-10:], "%Y-%m-%d").replace(tzinfo=UTC)
                if now - made > timedelta(days=keep):
                    old.unlink()
    write_text(settings.KAPWA_HOME / BACKED_UP, f"{folder.resolve()}\n")
    return written
