"""Files to put the studio on a server or in a container, or to start it on a laptop; each a template in ``deploy``."""

from __future__ import annotations

import re
import secrets
from importlib.metadata import version
from pathlib import Path

from kapwa.errors import UsageError
from kapwa.files import filling, read_text
from kapwa.studio.settings import HERE

_HOST = re.compile(r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+")


def write_files(folder: Path, host: str) -> list[str]:
    """Write the files of a server called ``host`` into ``folder``, or with "" those that start a laptop's studio.

    Returns their names. The password of the server's database is made anew. Raises UsageError for a ``host`` that is no
    name of a server, and for a ``folder`` in which such files are already: their password is the database's.
    """
    if host and not _HOST.fullmatch(host):
        hint = "Give it without https://, such as --host studio.example.org"
        raise UsageError(f"{host!r} is not the name of a server.", hint=hint)
    templates = HERE / "deploy" / ("server" if host else "laptop")
    names = sorted(path.relative_to(templates).as_posix() for path in templates.rglob("*") if path.is_file())
    if there := [name for name in names if (folder / name).exists()]:
        raise UsageError(f"{folder / there[0]} already exists.", hint="Name another folder, or delete that one.")
    words = {"host": host, "version": version("kapwa"), "password": secrets.token_hex(24)}
    with filling(folder) as fresh:
        for name in names:
            text = read_text(templates / name).replace("\r\n", "\n")
            for word, value in words.items():
                text = text.replace(f"{{{word}}}", value)
            path = fresh / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\r\n" if path.suffix == ".bat" else "\n")
            runs = text.startswith("#!") or path.suffix == ".desktop"
            path.chmod(0o600 if name == ".env" else 0o755 if runs else 0o644)
    return names
