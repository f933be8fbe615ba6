"""What the command line asks of a studio: make a project, invite, freeze, check, serve. Settings are made before."""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from filelock import FileLock

from kapwa.errors import UsageError, nearest
from kapwa.studio.core import background, consent, erasure, evaluating, withdrawals
from kapwa.studio.core.forms import FORMS
from kapwa.studio.core.languages import checked_tag
from kapwa.studio.core.log import differences, rebuild, single_writer
from kapwa.studio.core.members import hashed, invite, new_code
from kapwa.studio.core.roles import COORDINATOR
from kapwa.studio.core.tables import Event, Invitation, Project
from kapwa.studio.core.withdrawals import undone
from kapwa.studio.settings import ADDRESS_NAME, LOCAL
from kapwa.value_types import Keywords

# Under this name stands, among migrations, after which one the current tables were made anew.
_MADE = "studio_tables"
_LOCK = 5_072_011  # a number of our own, under which PostgreSQL lets one process at a time change the tables
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


class Invited(NamedTuple):
    """A code, and the link that takes it."""

    code: str
    link: str


@contextmanager
def _only_process() -> Iterator[None]:
    """Wait for other processes that change this database's tables or projects now, and let them wait for this one.

    Two containers may start at the same moment, or somebody clicks twice.
    """
    if connection.vendor == "sqlite":
        with FileLock(settings.KAPWA_HOME / "tables.lock"):
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [_LOCK])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [_LOCK])


def prepare() -> None:
    """Bring the database's tables to this version's, and make the current ones anew from the events.

    A database of a later version stays untouched and is an error.
    """
    try:
        made = _to_be_made()
    except DatabaseError as error:
        message = f"The studio's database cannot be opened: {str(error).strip().splitlines()[0]}."
        raise UsageError(message, hint="Check --home and --database, and that the server runs.") from None
    if not made:
        return
    with single_writer(), _only_process():
        if not (made := _to_be_made()):  # another process did it meanwhile
            return
        call_command("migrate", verbosity=0, interactive=False)
        for project in Project.objects.all():
            with transaction.atomic():
                rebuild(project)
                background.count_again(project)
        # Only now: who is stopped before begins again at the next start.
        recorder = MigrationRecorder(connection)
        for migration in made - recorder.applied_migrations().keys():
            recorder.record_applied(*migration)


def _to_be_made() -> set[tuple[str, str]]:
    """Return under which names it is kept that the tables are this version's; none where they are."""
    from django.db.migrations.executor import MigrationExecutor

    executor = MigrationExecutor(connection)
    applied = executor.loader.applied_migrations.keys()
    newer = sorted(name for app, name in applied - executor.loader.disk_migrations.keys() if app == "studio")
    if newer:
        raise UsageError(f"The database was made by a newer Kapwa ({newer[-1]}).", hint="Update Kapwa.")
    leaves = executor.loader.graph.leaf_nodes()
    made = {(_MADE, name) for app, name in leaves if app == "studio"}
    return made if made - applied or executor.migration_plan(leaves) else set()


def new_project(
    slug: str,
    *,
    form: str = "kalahi",
    title: str = "",
    culture: str = "",
    language: str = "en",
    languages: Iterable[str] = (),
) -> Project:
    """Make a project with a first consent text; raise UsageError for a name that is none or is taken."""
    if form not in FORMS:
        raise UsageError(f"The studio has no form {form!r}.", hint=nearest(form, FORMS))
    tags = [checked_tag(tag) for tag in (language, *languages)]
    with single_writer(), _only_process(), transaction.atomic():
        project = Project.objects.create(
            slug=free_name(slug),
            form=form,
            title=title or slug.replace("-", " ").capitalize(),
            culture=culture or title or slug,
            language=tags[0],
            languages=list(dict.fromkeys(tags)),
        )
        consent.publish(project, consent.first_texts(form, project.licence))
        FORMS[form].begin(project)
    return project


def checked_name(slug: str) -> str:
    """Return ``slug``; raise UsageError where it cannot be a project's name."""
    if not _SLUG.fullmatch(slug):
        hint = "Small letters, digits and '-', such as my-culture."
        raise UsageError(f"{slug!r} cannot be a project's name.", hint=hint)
    return slug


def free_name(slug: str) -> str:
    """Return ``slug``; raise UsageError where it cannot be a project's name, or is one's."""
    if Project.objects.filter(slug=checked_name(slug)).exists():
        raise UsageError(f"A project {slug!r} already exists.", hint="Choose another name.")
    return slug


def start_code() -> str:
    """Return a fresh code with which whoever runs the studio begins a project; older ones open nothing.

    Nor does a visit that began with an older one: its bearer may not be whoever runs the studio now.
    """
    code = new_code()
    with single_writer(), transaction.atomic():
        Invitation.objects.filter(project=None, used=None).delete()
        Invitation.objects.create(code=hashed(code), roles=[COORDINATOR])
    return code


def find_project(slug: str) -> Project:
    """Return a project by name; raise UsageError where there is none."""
    project = Project.objects.filter(slug=slug).first()
    if project is None:
        hint = nearest(slug, Project.objects.values_list("slug", flat=True))
        raise UsageError(f"There is no project {slug!r}.", hint=hint)
    return project


def invite_people(project: Project, roles: Iterable[str], count: int, url: str) -> list[Invited]:
    """Make ``count`` invitations, each for one person; raise UsageError for a ``url`` that is no web address."""
    if url and not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", url):
        raise UsageError(f"{url!r} is not the address of a studio.", hint="Such as --url https://studio.example.org")
    with single_writer(), transaction.atomic():
        codes = [invite(project, list(roles)) for _ in range(count)]
    return [Invited(code, f"{url.rstrip('/')}/join/{code}/") for code in codes]


def check(names: Sequence[str]) -> tuple[int, int, list[str]]:
    """Return how many projects (all without ``names``) and events there are, and where tables differ from events.

    Raises UsageError for a database that holds no project, or that is damaged.
    """
    back = "Restore the projects from their archives, or the file from a copy of it."
    try:
        projects = [find_project(name) for name in names] or list(Project.objects.order_by("slug"))
        if not projects:
            raise UsageError("The studio's database holds no project: it is new, or another one was lost.", hint=back)
        _refuse_damaged()
        count = Event.objects.filter(project__in=projects).count()
        withdrawals.keep()
        withdrawn = withdrawals.known()
        lines: list[str] = []
        for project in projects:
            if any(undone(project, withdrawn)):
                lines.append(f"{project.slug}: somebody who withdrew is here again")
            lines += [
                f"{project.slug}: nobody started the evaluation in {place}" for place in evaluating.strays(project)
            ]
            lines += differences(project)
        return len(projects), count, lines
    except DatabaseError as error:
        message = f"The studio's database is damaged: {str(error).strip().splitlines()[0]}."
        raise UsageError(message, hint=back) from None


def _refuse_damaged() -> None:
    """Raise DatabaseError where the database is damaged: SQLite looks through its file, PostgreSQL at what it reads."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA integrity_check(1)")
            (verdict,) = cursor.fetchone()
        if verdict != "ok":
            raise DatabaseError(verdict)
    else:
        for table in apps.get_models(include_auto_created=True):
            deque(table._default_manager.values_list().iterator(), maxlen=0)


def clear_traces() -> str:
    """Clear traces of what was removed that could not be cleared at once; return a sentence where they still are."""
    try:
        with single_writer():
            withdrawals.keep()
            with transaction.atomic():
                for project in Project.objects.all():
                    withdrawals.redo(project, withdrawals.known())
            erasure.clear_traces()
        for project in Project.objects.all():
            evaluating.delete_outdated(project)
    except (DatabaseError, OSError) as error:
        hint = "Free some space on the disk, stop what else reads the database, and run: kapwa studio check"
        return f"Traces of what was removed are still in its files: {error}. {hint}"
    return ""


def serve(
    home: Path, *, host: str, port: int, url: str, network: Sequence[str] = (), behind_proxy: bool = False
) -> Iterator[list[str]]:
    """Serve the studio until interrupted; yields its addresses once, when the port is taken.

    ``network``: this machine's addresses in its networks, where ``host`` listens on all; invitations name the first.
    """
    import waitress
    from django.core.wsgi import get_wsgi_application

    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # a short queue is no news
    # Refused requests are none, either, and their paths may hold codes; faults of ours are told.
    logging.getLogger("django.request").setLevel(logging.ERROR)
    logging.getLogger("django.security").setLevel(logging.CRITICAL)
    options: Keywords = {
        "host": host,
        "port": port,
        "threads": 8,
        "ident": None,
        "max_request_body_size": 16_000_000,
        # Every browser that was here a moment ago keeps a connection open: with waitress's 100, the 101st person waits.
        "connection_limit": 900,
        "asyncore_use_poll": True,
        # Who opens all of them and says nothing shuts others out for no longer than that; browsers connect anew.
        "channel_timeout": 20,
        "cleanup_interval": 5,
    }
    if behind_proxy:
        options |= {
            "trusted_proxy": "127.0.0.1" if host in LOCAL else "*",  # in a container its host's
            "trusted_proxy_headers": {"x-forwarded-for", "x-forwarded-proto"},
        }
    try:
        server = waitress.create_server(get_wsgi_application(), **options)
    except ValueError:
        hint = "--host 127.0.0.1 is this machine alone, --host 0.0.0.0 every network."
        raise UsageError(f"{host} is not an address to listen on.", hint=hint) from None
    except OSError as error:
        raise UsageError(f"Port {port} of {host} cannot be used: {error.strerror}.", hint="Try --port 8001.") from None
    for project in Project.objects.all():
        evaluating.end_strays(project)
    with single_writer():
        call_command("clearsessions")  # visits that ended by their age
    local = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    addresses = [f"http://{name}:{server.effective_port}" for name in (local, *network)]
    (home / ADDRESS_NAME).write_text(f"{url or addresses[min(1, len(network))]}\n", encoding="utf-8")
    try:
        yield [url, *addresses[1:]] if url else addresses
        server.run()
    finally:
        evaluating.stop()
        server.close()
