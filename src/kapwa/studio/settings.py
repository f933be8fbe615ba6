"""Django's settings for a studio in a home folder, made in code: one database, one secret, no foreign origin."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
import tomllib
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from kapwa.errors import MissingDependencyError, UsageError
from kapwa.value_types import JsonObject

DATABASE_NAME = "studio.sqlite"
SECRET_NAME = "secret.key"  # noqa: S105 - a file's name
ADDRESS_NAME = "address.txt"
START_PAGE = "open.html"  # while the studio is served, until a project is begun: leads the browser to the start link
LOCAL = ("127.0.0.1", "localhost", "::1")  # this machine alone
HERE = Path(__file__).parent


def configure(
    home: Path, *, database: str | None = None, url: str = "", hosts: tuple[str, ...] = (), model: str = ""
) -> None:
    """Set up Django for the studio in ``home``, making the folder and its secret where there are none.

    ``database``: a ``postgresql://`` URL; None takes the SQLite file in ``home``. ``url``: the address that people's
    browsers use, which decides whether cookies need HTTPS. ``hosts``: further names the studio answers to. ``model``:
    the one that writers may ask, as ``kapwa run --model`` takes it. Raises MissingDependencyError without Django,
    UsageError for a database of another kind. A process has one studio.
    """
    if find_spec("django") is None:
        raise MissingDependencyError("django", extra="studio", purpose="Kapwa Studio")
    import django
    from django.conf import settings

    if settings.configured:
        return
    settings.configure(**settings_of(home, database=database, url=url, hosts=hosts), KAPWA_MODEL=model)
    django.setup()


def settings_of(home: Path, *, database: str | None = None, url: str = "", hosts: tuple[str, ...] = ()) -> JsonObject:
    """Return the settings that :func:`configure` sets."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)  # names and texts are nobody else's business
    address = urlsplit(url)
    secure = address.scheme == "https"
    names = {"localhost", "127.0.0.1", "[::1]", *hosts, *([address.hostname] if address.hostname else [])}
    return _SAME_EVERYWHERE | {
        "KAPWA_HOME": home,
        "SECRET_KEY": secret_of(home),
        "ALLOWED_HOSTS": sorted(names),
        "CSRF_TRUSTED_ORIGINS": [f"{address.scheme}://{address.netloc}"] if address.netloc else [],
        "DATABASES": {"default": _postgresql(database) if database else _sqlite(home / DATABASE_NAME)},
        "LANGUAGE_COOKIE_SECURE": secure,
        "SESSION_COOKIE_SECURE": secure,
        "CSRF_COOKIE_SECURE": secure,
        "SECURE_HSTS_SECONDS": 31_536_000 if secure else 0,
        **_mail(),
        "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https") if secure else None,
    }


def _let_worker_serve_pages(headers: Any, path: str, url: str) -> None:
    """Let the script that keeps the page for phones be in charge of that page, which is no neighbour of its file."""
    if url.endswith("/studio/worker.js"):
        headers["Service-Worker-Allowed"] = "/p/"


def static_address(files: Path = HERE / "static") -> str:
    """Return where the static files in a folder are served: another place once any of them holds something else.

    So browsers keep them for good, and none is of another version than the page that asks for it. They move together,
    because scripts name each other by where they lie.
    """
    held = blake2b(digest_size=6)
    for path in sorted(path for path in files.rglob("*") if path.is_file()):
        for part in (path.relative_to(files).as_posix().encode(), path.read_bytes()):
            held.update(len(part).to_bytes(8))
            held.update(part)
    return f"/static/{held.hexdigest()}/"


# What is the same for every studio.
_SAME_EVERYWHERE: JsonObject = tomllib.loads((HERE / "django.toml").read_text(encoding="utf-8")) | {
    "LOGGING_CONFIG": None,
    "STATIC_URL": static_address(),
    "WHITENOISE_ADD_HEADERS_FUNCTION": _let_worker_serve_pages,
}


def secret_of(home: Path) -> str:
    """Return the studio's secret, made at the first call in a file that only its owner may read.

    Raises UsageError for a file that cannot be read, or that holds too little to be a secret.
    """
    path = home / SECRET_NAME
    if not path.exists():
        _make_secret(path)
    try:
        secret = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        secret = ""
    if not re.fullmatch(r"[!-~]{32,}", secret):
        hint = "Restore it from a copy of the folder. Without it nobody can sign in with their code."
        raise UsageError(f"{path} is damaged: it holds no secret.", hint=hint)
    return secret


def remembered_address() -> str:
    """Return the address under which the studio was served last, which is the one that others reach."""
    from django.conf import settings

    path: Path = settings.KAPWA_HOME / ADDRESS_NAME
    return path.read_text(encoding="utf-8").strip() if path.is_file() else "http://127.0.0.1:8000"


def _make_secret(path: Path) -> None:
    """Write a new secret, whole or not at all; one that another process made meanwhile stays."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # only its owner may read it
    with open(handle, "w") as file:
        file.write(secrets.token_urlsafe(48))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(name, path)
    except FileExistsError:
        pass  # another process was first, and its secret counts
    except OSError:  # a disk that knows no links, such as a memory stick
        os.replace(name, path)
    Path(name).unlink(missing_ok=True)


def _sqlite(path: Path) -> JsonObject:
    # Django's own defaults lose writes when many write at once: the lock must be taken when a transaction begins.
    # What is deleted is overwritten with zeros; corners that moving rows leave are cleared after an erasure.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))  # made by us, so that nobody else may read it
    options = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=ON",
    }
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": path, "CONN_MAX_AGE": None, "OPTIONS": options}


# Django's own settings of e-mail, taken from the environment with KAPWA_ before them.
_MAIL = (
    *("EMAIL_HOST", "EMAIL_PORT", "EMAIL_HOST_USER", "EMAIL_HOST_PASSWORD", "EMAIL_USE_SSL", "DEFAULT_FROM_EMAIL"),
    *("EMAIL_BACKEND", "EMAIL_FILE_PATH"),
)


def _mail() -> JsonObject:
    """Return the settings of e-mail; without a server's host, or a backend of Django's such as files, none is sent.

    The connection is encrypted: from the first byte with ``EMAIL_USE_SSL``, else once the server was greeted, but not
    to a server on this machine.
    """
    mail: JsonObject = {name: os.environ.get(f"KAPWA_{name}", "") for name in _MAIL}
    filled = {name: value for name, value in mail.items() if value}
    encrypted = {"EMAIL_USE_TLS": not mail["EMAIL_USE_SSL"] and mail["EMAIL_HOST"] not in LOCAL, "EMAIL_TIMEOUT": 30}
    return filled | encrypted | {"KAPWA_MAIL": bool(mail["EMAIL_HOST"] or mail["EMAIL_BACKEND"])}


def _postgresql(url: str) -> JsonObject:
    # The address may hold a password, so no part of it is in a message.
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        message = "The database's address cannot be read: its port is not a number, or a bracket is missing."
        raise UsageError(message, hint="Give postgresql://user@host:5432/name.") from None
    if parts.scheme not in ("postgresql", "postgres"):
        hint = "Give postgresql://user@host/name, or nothing for a file of its own."
        raise UsageError("The studio does not know this kind of database.", hint=hint)
    if find_spec("psycopg") is None:
        raise MissingDependencyError("psycopg", extra="studio", purpose="A PostgreSQL database")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(port or ""),
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": dict(parse_qsl(parts.query)),
    }
