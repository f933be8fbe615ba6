"""The same on a real PostgreSQL server: the whole walk, erasure, archives, many people at once."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import warm

pytest.importorskip("psycopg", reason="the extra 'studio' is not installed")
HERE = Path(__file__).parent
# PostgreSQL refuses to run as root.
AS_SERVER = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
BIN = next((path for path in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
pytestmark = [pytest.mark.slow(60), pytest.mark.skipif(BIN is None, reason="no PostgreSQL server on this machine")]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a fresh server that listens on a socket alone."""
    assert BIN is not None
    # The path of a socket must be short.
    place = Path(subprocess.check_output(["mktemp", "-d", "/tmp/kapwa-pg.XXXX"], text=True).strip())
    if AS_SERVER:
        shutil.chown(place, "postgres")
    data = str(place / "data")
    subprocess.run(
        [*AS_SERVER, BIN / "initdb", "-D", data, "-U", "kapwa", "--auth=trust"], check=True, capture_output=True
    )
    # Nobody cuts the power here, so nothing waits for the disk.
    options = f"-k {place} -c listen_addresses='' -c fsync=off -c synchronous_commit=off -c full_page_writes=off"
    log = str(place / "log")
    subprocess.run([*AS_SERVER, BIN / "pg_ctl", "-D", data, "-w", "-l", log, "-o", options, "start"], check=True)
    try:
        subprocess.run([BIN / "createdb", "-h", str(place), "-U", "kapwa", "studio"], check=True)
        yield f"postgresql://kapwa@/studio?host={place}"
    finally:
        subprocess.run(
            [*AS_SERVER, BIN / "pg_ctl", "-D", data, "-m", "immediate", "stop"], check=True, capture_output=True
        )
        shutil.rmtree(place)


def options_of(data: str) -> str:
    """How the server in ``data`` was started."""
    return " ".join(Path(data, "postmaster.opts").read_text().split()[3:]).replace('"', "")


# Tests of what a database has a part in: every table, orders of names, locks, traces, transactions that are taken back.
ON_A_SERVER = {
    "walk": "topic_to_a_release",
    "erasure": "behind after_a_release forgetting scribe_and model traces nobody_stays topic_that_somebody",
    "exchange": "project_comes_back ratings_and_signs archive_that_is_strange",
    "assigning": "covers_all_evenly lease_is_renewed twenty_people course[0]",
    "answers": "every_way_to_finish answer_is_stale people_are_asked how_many_answered few_statements",
    "merging": "course[0] whoever_merges audit_proposes",
    "sync": "fifty_tasks counted_once kept_beside_the_first words_of_others",
    "release": "how_it_came_about between_a_migration is_whole_situations does_not_want",
    "everyday_release": "slow_recount after_a_withdrawal whatever_order once_merged",
    "studio_ratings": "never_changes last_rating nobody_validates rater_who_leaves",
    "security": "character_that_no_database",
    "trust": "at_the_same_moment",
}


def test_the_walk_erasure_and_archives_on_a_server(server: str) -> None:
    chosen = [f"(test_{file} and ({' or '.join(words.split())}))" for file, words in ON_A_SERVER.items()]
    files = [HERE / f"test_{file}.py" for file in ON_A_SERVER]
    for file, words in zip(files, ON_A_SERVER.values(), strict=True):  # a test may have another name by now
        assert [word for word in words.split() if word.partition("[")[0] not in file.read_text("utf-8")] == [], file
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", " or ".join(chosen), *map(str, files)],
        env={**os.environ, "KAPWA_TEST_POSTGRESQL": server},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    assert "skipped" not in done.stdout


def test_many_people_on_a_server(server: str, tmp_path: Path) -> None:
    import importlib.util

    spec = importlib.util.spec_from_file_location("studio_load", HERE.parents[1] / "benchmarks" / "studio_load.py")
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    found = bench.measure(tmp_path, clients=5, seconds=600, most=30, database=server, through="sync", questions=40)
    assert (found["errors"], found["lost"], found["twice"]) == (0, 0, 0), found["first_errors"]
    assert found["writes"] >= 30


def test_of_starts_at_the_same_moment_one_makes_the_project(server: str, tmp_path: Path) -> None:
    """In containers of their own, which have the database alone in common."""
    assert BIN is not None
    subprocess.run([BIN / "createdb", "-h", server.partition("host=")[2], "-U", "kapwa", "together"], check=True)
    url = server.replace("/studio?", "/together?")

    def start(place: int) -> tuple[int, str]:
        done = warm.kapwa("studio", "new", "baryo", "--home", f"home-{place}", "--database", url, cwd=tmp_path)
        return done.returncode, done.stderr

    with ThreadPoolExecutor(3) as starts:
        done = sorted(starts.map(start, range(3)))
    assert [code for code, _said in done] == [0, 2, 2]
    assert all("already exists" in said for _code, said in done[1:]), done


def test_check_refuses_a_lost_and_an_empty_database_and_reports_a_damaged_one(server: str, tmp_path: Path) -> None:
    assert BIN is not None
    place = server.partition("host=")[2]
    connect, data = ("-h", place, "-U", "kapwa"), f"{place}/data"

    def kapwa(database: str, *arguments: str) -> tuple[int, str]:
        url = server.replace("/studio?", f"/{database}?")
        done = warm.kapwa("studio", *arguments, "--home", "home", cwd=tmp_path, KAPWA_STUDIO_DATABASE=url)
        assert "Traceback" not in done.stderr
        return done.returncode, " ".join((done.stdout + done.stderr).split())

    def damage(table: str, content: bytes) -> bytes:
        """Write other pages over a table's while the server is stopped; return what was there."""
        asked = [BIN / "psql", *connect, "-Atc", f"CHECKPOINT; SELECT pg_relation_filepath('{table}')", "kept"]
        found = subprocess.check_output(asked, text=True).split()[-1]
        subprocess.run([*AS_SERVER, BIN / "pg_ctl", "-D", data, "-w", "-m", "fast", "stop"], check=True)
        path = Path(data) / found
        before = path.read_bytes()
        path.write_bytes(content * (len(before) // len(content)))
        subprocess.run(start, check=True)
        return before

    start = [*AS_SERVER, BIN / "pg_ctl", "-D", data, "-w", "-l", f"{place}/log", "-o", options_of(data), "start"]
    for name in ("kept", "empty"):
        subprocess.run([BIN / "createdb", *connect, name], check=True)
    assert kapwa("kept", "new", "baryo", "--form", "blend")[0] == 0
    assert kapwa("kept", "check")[0] == 0
    code, message = kapwa("lost", "check")
    assert (code, 'database "lost" does not exist' in message) == (2, True), message
    code, message = kapwa("empty", "check")
    assert (code, "holds no project" in message) == (2, True), message
    # A page of other signs, of each kind of table: of the log, made from it, of Django.
    tables = ("studio_event", "studio_question", "django_migrations")
    for table in tables:
        before = damage(table, b"\x55" * 8192)
        assert before, table
        code, message = kapwa("kept", "check")
        assert (code, "invalid page" in message) == (2, True), (table, message)
        damage(table, before)
    assert kapwa("kept", "check")[0] == 0
    # An empty page is none to PostgreSQL: its rows are lost without a word of the server.
    damage("studio_project", bytes(8192))
    code, message = kapwa("kept", "check")
    assert (code, "holds no project" in message) == (2, True), message
