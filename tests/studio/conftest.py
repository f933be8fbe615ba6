"""A studio for each test: an empty database of this version's tables, and people who came in by codes."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from studio_people import Someone, enter

pytest.importorskip("django", reason="the extra 'studio' is not installed")

# Set by test_postgresql, which runs tests of this folder a second time on a server.
POSTGRESQL = os.environ.get("KAPWA_TEST_POSTGRESQL")


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with tables and nothing in them; the process's studio lies beside it."""
    from kapwa.studio.settings import configure

    home = tmp_path_factory.mktemp("studio")
    configure(home, database=POSTGRESQL, hosts=("testserver",))
    from django.db import connection

    from kapwa.studio import commands

    commands.prepare()
    if POSTGRESQL:
        return home
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return Path(connection.settings_dict["NAME"])


# Who is at which task now, and that traces are to be cleared: no act of anybody.
UNLOGGED = {"studio_lease", "studio_tracesdue"}
_WRITES = re.compile(r'(?:INSERT INTO|INSERT OR IGNORE INTO|UPDATE|DELETE FROM) "(studio_\w+)"')


@pytest.fixture
def acts_are_logged(empty_database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail whatever test posts to a page of a project that writes something and records no event."""
    from django.db import connection

    from kapwa.studio.core import security

    answer = security._answer

    def watched(request: Any, view: Any, *arguments: Any, **named: Any) -> Any:
        written = set()

        def note(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
            written.update(_WRITES.findall(sql))
            return execute(sql, params, many, context)

        with connection.execute_wrapper(note):
            found = answer(request, view, *arguments, **named)
        logged = "studio_event" in written or not written - UNLOGGED or not arguments or found.status_code >= 400
        assert logged, f"{view.__name__} writes {sorted(written)} and records no event"
        return found

    monkeypatch.setattr(security, "_answer", watched)


def empty_the_server() -> None:
    """Delete every row and count anew; ten times faster than Django's flush, which truncates tables that are empty."""
    from django.db import connection

    kept = {"django_migrations", "django_content_type", "auth_permission"}
    with connection.cursor() as cursor:
        tables = sorted({*connection.introspection.table_names(cursor)} - kept)
        cursor.execute(" UNION ALL ".join(f"(SELECT '{table}' FROM {table} LIMIT 1)" for table in tables))
        deletions = [f"DELETE FROM {table}" for (table,) in cursor.fetchall()]
        unchecked = "SET session_replication_role = replica"  # keys between tables, all of which end up empty
        restart = "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S'"
        checked = "SET session_replication_role = DEFAULT"
        cursor.execute("; ".join([unchecked, *deletions, restart, checked]))


@pytest.fixture
def studio(empty_database: Path, tmp_path: Path, acts_are_logged: None) -> Iterator[Path]:
    """A database of the test's own; returns its file."""
    from django.db import connection

    if POSTGRESQL:
        empty_the_server()
        yield tmp_path
        return
    own = tmp_path / "studio.sqlite"
    shutil.copyfile(empty_database, own)
    connection.close()
    connection.settings_dict["NAME"] = own
    yield own
    connection.close()
    connection.settings_dict["NAME"] = empty_database


@pytest.fixture
def project(studio: Path) -> Any:
    """A project in Filipino and Arabic."""
    from kapwa.studio import commands

    return commands.new_project("baryo", title="Baryo", culture="Filipino", language="fil", languages=["ar"])


@pytest.fixture
def people(project: Any) -> dict[str, Someone]:
    """A coordinator, two writers, a scribe and a reviewer."""
    return {
        "ana": enter(project, "Ana", "coordinator"),
        "berto": enter(project, "Berto", "writer", "reviewer"),
        "carla": enter(project, "Carla", "writer", "reviewer"),
        "dina": enter(project, "Dina", "scribe"),
        "edo": enter(project, "Edo", "reviewer"),
    }


@pytest.fixture
def food(studio: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A desk of three questions about food, offered to answerers while the test runs."""
    from studio_desk import FoodDesk

    from kapwa.studio.core.desks import DESKS
    from kapwa.studio.core.kinds import KINDS, Kind

    desk = FoodDesk()
    monkeypatch.setitem(DESKS, desk.name, desk)
    monkeypatch.setitem(KINDS, desk.kind, Kind(lambda event, *, live: None))
    return desk


@pytest.fixture
def everyday(studio: Path) -> Any:
    """A project of everyday questions in Korean and Arabic."""
    from kapwa.studio import commands

    return commands.new_project("araw", form="blend", culture="Seoul and Cairo", language="ko", languages=["ar"])


@pytest.fixture
def askers(everyday: Any) -> dict[str, Someone]:
    """A coordinator, a writer who translates, two translators, and somebody who answers."""
    return {
        "ana": enter(everyday, "Ana", "coordinator"),
        "minji": enter(everyday, "민지", "writer", "translator"),
        "huda": enter(everyday, "هدى", "translator"),
        "jun": enter(everyday, "준", "translator"),
        "omar": enter(everyday, "عمر", "answerer"),
    }
