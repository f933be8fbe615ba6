"""A studio for each test: an empty database of this version's tables, and people who came in by codes."""

import os
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
from kapwa.studio.settings import configure

# Set by test_postgresql, which runs tests of this folder a second time on a server.
POSTGRESQL = os.environ.get("KAPWA_TEST_POSTGRESQL")
# The one studio of the process, set up before tests import its tables.
HOME = TemporaryDirectory(prefix="kapwa-studio-")
configure(Path(HOME.name), database=POSTGRESQL, hosts=("testserver",))

from django.conf import settings  # noqa: E402 - all of these need the settings
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import translation  # noqa: E402
from studio_desk import FoodDesk  # noqa: E402
from studio_kept import Prepared, empty_the_server  # noqa: E402
from studio_pages import fill  # noqa: E402
from studio_people import People, Someone, come, enter  # noqa: E402

from kapwa.studio import commands  # noqa: E402
from kapwa.studio.core import security, withdrawals  # noqa: E402
from kapwa.studio.core.desks import DESKS  # noqa: E402
from kapwa.studio.core.kinds import KINDS, Kind  # noqa: E402


@pytest.fixture(scope="session")
def empty_database() -> Path:
    """A file with tables and nothing in them; the process's studio lies beside it."""
    if POSTGRESQL:
        commands.prepare()
        return Path(HOME.name)
    options = connection.settings_dict["OPTIONS"]  # nobody cuts the power here, so nothing waits for the disk
    options["init_command"] = options["init_command"].replace("synchronous=FULL", "synchronous=OFF")
    commands.prepare()
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


@pytest.fixture(autouse=True)
def in_english() -> None:
    """Forget the language of the page that the test before asked for: the process keeps it."""
    translation.deactivate()


@pytest.fixture
def studio(empty_database: Path, tmp_path: Path, acts_are_logged: None) -> Iterator[Path]:
    """A database of the test's own; returns its file."""
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
    return commands.new_project("baryo", title="Baryo", culture="Filipino", language="fil", languages=["ar"])


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Makes what a fixture returns once, and gives each test a copy."""
    return Prepared(tmp_path_factory.mktemp("prepared"))


SITUATION_PEOPLE = {
    "ana": ("Ana", "coordinator"),
    "berto": ("Berto", "writer", "reviewer"),
    "carla": ("Carla", "writer", "reviewer"),
    "dina": ("Dina", "scribe"),
    "edo": ("Edo", "reviewer"),
}
QUESTION_PEOPLE = {
    "ana": ("Ana", "coordinator"),
    "minji": ("민지", "writer", "translator"),
    "huda": ("هدى", "translator"),
    "jun": ("준", "translator"),
    "omar": ("عمر", "answerer"),
}


@pytest.fixture
def people(project: Any, prepared: Prepared) -> People:
    """A coordinator, two writers, a scribe and a reviewer."""
    return prepared("people", project, lambda: come(project, SITUATION_PEOPLE))


@pytest.fixture
def filled(project: Any, people: People, prepared: Prepared) -> dict[str, str]:
    """A project with one of everything, and what stands for the parts of addresses."""
    return prepared("filled", project, lambda: fill(project, people))


@pytest.fixture
def address(studio: Path) -> Iterator[str]:
    """The address of the test's own studio, served by this process."""
    waitress = pytest.importorskip("waitress", reason="the extra 'studio' is not installed")
    server = waitress.create_server(get_wsgi_application(), host="127.0.0.1", port=0, threads=4)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.effective_port}"
    server.close()
    thread.join(timeout=10)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    from studio_browser import api, launched

    # Playwright keeps a loop in this thread, in which Django would refuse to ask its database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with api.sync_playwright() as started:
        yield launched(started.chromium)
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def browser(chromium: Any, address: str) -> Iterator[Any]:
    """A browser without windows; what it keeps goes with the test."""
    yield chromium
    for context in chromium.contexts:
        context.close()


@pytest.fixture
def food(studio: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A desk of three questions about food, offered to answerers while the test runs."""
    desk = FoodDesk()
    monkeypatch.setitem(DESKS, desk.name, desk)
    monkeypatch.setitem(KINDS, desk.kind, Kind(lambda event, *, live: None))
    return desk


@pytest.fixture
def answerer(project: Any, food: Any, prepared: Prepared) -> Someone:
    """Somebody who works at the desk of food."""
    return prepared("answerer", project, lambda: enter(project, "Gina", "answerer"))


@pytest.fixture
def blend(studio: Path) -> Any:
    """A project of everyday questions whose own language most people speak."""
    return commands.new_project("seoul", form="blend", culture="Korea", language="ko", languages=["ar"])


@pytest.fixture
def everyday(studio: Path) -> Any:
    """A project of everyday questions in Korean and Arabic."""
    return commands.new_project("araw", form="blend", culture="Seoul and Cairo", language="ko", languages=["ar"])


@pytest.fixture
def askers(everyday: Any, prepared: Prepared) -> People:
    """A coordinator, a writer who translates, two translators, and somebody who answers."""
    return prepared("askers", everyday, lambda: come(everyday, QUESTION_PEOPLE))
