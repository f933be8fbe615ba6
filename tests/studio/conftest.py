"""A studio for each test: an empty database of this version's tables, and people who came in by codes."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from studio_kept import Cast, empty_the_server
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


# Who is at which task now, up to where somebody has read, and that traces are to be cleared: no act of anybody.
UNLOGGED = {"studio_lease", "studio_newsread", "studio_tracesdue"}
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


@pytest.fixture
def studio(empty_database: Path, tmp_path: Path, acts_are_logged: None) -> Iterator[Path]:
    """A database of the test's own; returns its file."""
    from django.conf import settings
    from django.db import connection

    from kapwa.studio.core import withdrawals

    (settings.KAPWA_HOME / withdrawals.NAME).unlink(missing_ok=True)  # it lies beside the database
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


@pytest.fixture(scope="session")
def situation_cast(tmp_path_factory: pytest.TempPathFactory) -> Cast:
    return Cast(
        tmp_path_factory.mktemp("people") / "studio.sqlite",
        ana=("Ana", "coordinator"),
        berto=("Berto", "writer", "reviewer"),
        carla=("Carla", "writer", "reviewer"),
        dina=("Dina", "scribe"),
        edo=("Edo", "reviewer"),
    )


@pytest.fixture
def people(project: Any, situation_cast: Cast) -> dict[str, Someone]:
    """A coordinator, two writers, a scribe and a reviewer."""
    return situation_cast.come(project)


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
def answerer(project: Any, food: Any) -> Someone:
    """Somebody who works at the desk of food."""
    return enter(project, "Gina", "answerer")


@pytest.fixture
def blend(studio: Path) -> Any:
    """A project of everyday questions whose own language most people speak."""
    from kapwa.studio import commands

    return commands.new_project("seoul", form="blend", culture="Korea", language="ko", languages=["ar"])


@pytest.fixture
def everyday(studio: Path) -> Any:
    """A project of everyday questions in Korean and Arabic."""
    from kapwa.studio import commands

    return commands.new_project("araw", form="blend", culture="Seoul and Cairo", language="ko", languages=["ar"])


@pytest.fixture(scope="session")
def question_cast(tmp_path_factory: pytest.TempPathFactory) -> Cast:
    return Cast(
        tmp_path_factory.mktemp("askers") / "studio.sqlite",
        ana=("Ana", "coordinator"),
        minji=("민지", "writer", "translator"),
        huda=("هدى", "translator"),
        jun=("준", "translator"),
        omar=("عمر", "answerer"),
    )


@pytest.fixture
def askers(everyday: Any, question_cast: Cast) -> dict[str, Someone]:
    """A coordinator, a writer who translates, two translators, and somebody who answers."""
    return question_cast.come(everyday)
