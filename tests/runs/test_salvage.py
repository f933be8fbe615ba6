"""Damage anywhere in a journal or its log: never a wrong answer, never a traceback; and what can be read is saved."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kapwa.errors import RunError
from kapwa.records import Response
from kapwa.runs import journal as journals
from kapwa.runs.journal import PAGE, Journal
from kapwa.runs.journal_log import lost_transactions
from kapwa.runs.salvage import examine, salvage

IDENTITY = "a" * 32
N = 400
COMMIT = 50


def key(i: int) -> str:
    return hashlib.blake2b(str(i).encode(), digest_size=16).hexdigest()


def response(i: int) -> Response:
    """Mostly short answers, some over several pages, some errors."""
    long = "y" * 9000 if i % 50 == 0 else ""
    return Response(key(i), error=f"bad {i}") if i % 9 == 0 else Response(key(i), text=f"sagot {i} {'x' * i}{long}")


WHOLE = {key(i): response(i) for i in range(N)}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """The files of a journal while a process holds it ("log"), and after it was closed ("closed")."""
    folder = tmp_path_factory.mktemp("made")
    with Journal.open(folder / "journal.sqlite", identity=IDENTITY) as journal:
        journal.tell({"device": "cpu"})
        for start in range(0, N, COMMIT):
            rows = [response(i) for i in range(start, start + COMMIT)]
            journal.commit(rows, origin="team 1" if start == COMMIT else None)
        log = {file.name: file.read_bytes() for file in folder.iterdir()}
    return {"log": log, "closed": {file.name: file.read_bytes() for file in folder.iterdir()}}


def laid(files: dict[str, bytes], folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def resumed(folder: Path) -> int:
    """Do with the journal all that a run does; return how much it had to ask."""
    with Journal.open(folder / "journal.sqlite", identity=IDENTITY) as journal:
        missing = set(journal.missing(WHOLE))
        for wanted in set(WHOLE) - missing:
            assert next(journal.read([wanted])) == WHOLE[wanted], "a wrong answer was accepted"
        journal.counts(), journal.sessions(), journal.origins(), list(journal.errors())
        journal.commit([WHOLE[wanted] for wanted in missing])
        assert list(journal.read(WHOLE)) == list(WHOLE.values())
        return len(missing)


def harmless(folder: Path) -> bool:
    try:
        resumed(folder)
    except RunError:
        return False
    return True


ERRORS = sum(answer.failed for answer in WHOLE.values())


def flip(raw: bytearray, at: int, bit: int) -> None:
    raw[at % len(raw)] ^= 1 << bit


def cut(raw: bytearray, at: int, _bit: int) -> None:
    del raw[at % len(raw) :]


def blank(raw: bytearray, at: int, _bit: int) -> None:
    raw[at % len(raw) : at % len(raw) + PAGE] = bytes(min(PAGE, len(raw) - at % len(raw)))


def scribble(raw: bytearray, at: int, bit: int) -> None:
    for i in range(20):
        flip(raw, at + i * i * 37, (bit + i) % 8)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["closed", "log"]),
    st.booleans(),
    st.sampled_from([flip, flip, cut, blank, scribble]),
    st.one_of(st.integers(0, 120), st.integers(0, 1 << 20)),
    st.integers(0, 7),
)
@example("closed", False, flip, 18, 3)  # the version of the file's format
@example("closed", False, flip, 59, 1)  # its text encoding
def test_damage_anywhere_is_reported_or_harmless_and_salvage_saves_the_rest(
    made: dict[str, dict[str, bytes]],
    tmp_path: Path,
    state: str,
    in_log: bool,
    harm: Callable[[bytearray, int, int], None],
    at: int,
    bit: int,
) -> None:
    folder = laid(made[state], tmp_path / "run")
    path = folder / ("journal.sqlite-wal" if in_log and state == "log" else "journal.sqlite")
    raw = bytearray(path.read_bytes())
    harm(raw, at, bit)
    path.write_bytes(raw)
    if not harmless(folder):
        with contextlib.suppress(RunError):  # an emptied file holds nothing
            saved = salvage(folder)
            assert saved.answers + saved.errors <= N
            with contextlib.suppress(RunError):  # the run's own name was hit: another run's, as far as can be told
                resumed(folder)


# -- the log --------------------------------------------------------------------------------------


def frame(n: int) -> int:
    return 32 + n * (24 + PAGE)


def test_a_whole_log_has_lost_nothing(made: dict[str, dict[str, bytes]], tmp_path: Path) -> None:
    folder = laid(made["log"], tmp_path / "run")
    assert lost_transactions(folder / "journal.sqlite-wal") == 0
    assert resumed(folder) == ERRORS


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_log_cut_short_as_by_a_power_cut_is_no_damage(
    made: dict[str, dict[str, bytes]], tmp_path: Path, share: float
) -> None:
    folder = laid(made["log"], tmp_path / "run")
    log = folder / "journal.sqlite-wal"
    log.write_bytes(log.read_bytes()[: int(log.stat().st_size * share)])
    assert lost_transactions(log) == 0


def test_a_torn_last_transaction_is_no_damage(made: dict[str, dict[str, bytes]], tmp_path: Path) -> None:
    """It was never confirmed: its frames may have reached the disk in any order."""
    folder = laid(made["log"], tmp_path / "run")
    log = folder / "journal.sqlite-wal"
    raw = bytearray(log.read_bytes())
    frames = (len(raw) - 32) // (24 + PAGE)
    commits = [n for n in range(frames) if any(raw[frame(n) + 4 : frame(n) + 8])]
    assert len(commits) == N // COMMIT
    first = commits[-2] + 1
    raw[frame(first) + 24 : frame(first + 1)] = bytes(PAGE)
    log.write_bytes(raw)
    assert lost_transactions(log) == 0
    assert resumed(folder) == COMMIT + sum(response(i).failed for i in range(N - COMMIT))


@pytest.mark.parametrize("at", [9, 17, 32 + 5, 32 + 9, 32 + 17, 32 + 24 + 1000, 5 * 4120 + 99])
def test_damage_in_the_midst_of_a_log_is_refused_and_everything_is_saved(
    made: dict[str, dict[str, bytes]], tmp_path: Path, at: int
) -> None:
    folder = laid(made["log"], tmp_path / "run")
    log = folder / "journal.sqlite-wal"
    raw = bytearray(log.read_bytes())
    raw[at] ^= 4
    log.write_bytes(raw)
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(RunError, match=r"is damaged: its log journal\.sqlite-wal is"):
        resumed(folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
    saved = salvage(folder)
    assert saved.answers + saved.errors >= N - 10
    assert {saved.kept.name, f"{saved.kept.name}-wal"} <= {file.name for file in folder.iterdir()}
    resumed(folder)


def test_the_sums_of_a_log_are_sqlites_own(made: dict[str, dict[str, bytes]], tmp_path: Path) -> None:
    """Every single flipped bit of a frame's page is noticed; so the fast sums are the format's."""
    folder = laid(made["log"], tmp_path / "run")
    log = folder / "journal.sqlite-wal"
    raw = log.read_bytes()
    for at in range(32 + 24, 32 + 24 + PAGE, 97):
        log.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
        assert lost_transactions(log) == N // COMMIT


# -- salvage --------------------------------------------------------------------------------------


def test_salvage_of_a_whole_journal_keeps_everything(made: dict[str, dict[str, bytes]], tmp_path: Path) -> None:
    folder = laid(made["closed"], tmp_path / "run")
    assert examine(folder) == (N - ERRORS, ERRORS, 0, None)
    with Journal.open(folder / "journal.sqlite", identity=IDENTITY) as journal:
        sessions, origins = journal.sessions(), journal.origins()
    assert [session.circumstances for session in sessions] == [{"device": "cpu"}]
    saved = salvage(folder)
    assert (saved.answers, saved.errors, saved.lost) == (N - ERRORS, ERRORS, 0)
    assert saved.kept == folder / "journal.damaged.sqlite"
    with Journal.open(folder / "journal.sqlite", identity=IDENTITY) as journal:
        assert list(journal.read(WHOLE)) == list(WHOLE.values())
        assert (journal.sessions(), journal.origins()) == (sessions, origins)
        assert origins["team 1"] >= COMMIT - ERRORS
    assert salvage(folder).kept == folder / "journal.damaged1.sqlite"


def test_what_no_page_leads_to_any_more_is_found(made: dict[str, dict[str, bytes]], tmp_path: Path) -> None:
    """Head, schema and every inner page gone: all rows are still on their own pages."""
    folder = laid(made["closed"], tmp_path / "run")
    path = folder / "journal.sqlite"
    raw = bytearray(path.read_bytes())
    for at in range(0, len(raw), PAGE):
        if at == 0 or raw[at] in (2, 5):
            raw[at : at + PAGE] = bytes(PAGE)
    path.write_bytes(raw)
    assert salvage(folder)[:2] == (N - ERRORS, ERRORS)
    assert resumed(folder) == ERRORS


def test_a_journal_that_lost_its_name_is_adopted(made: dict[str, dict[str, bytes]], tmp_path: Path) -> None:
    folder = laid(made["closed"], tmp_path / "run")
    path = folder / "journal.sqlite"
    path.write_bytes(path.read_bytes().replace(b"identity", b"idenXity"))
    with pytest.raises(RunError, match="does not say which run it belongs to"):
        resumed(folder)
    assert "does not say which run" in (examine(folder).damage or "")
    salvage(folder)
    assert examine(folder).damage is None
    with Journal.reading(path) as journal, pytest.raises(RunError, match="Run again with the same command"):
        _ = journal.identity
    assert resumed(folder) == ERRORS
    with Journal.reading(path) as journal:
        assert journal.identity == IDENTITY
    with pytest.raises(RunError, match="belongs to another run"), Journal.open(path, identity="b" * 32):
        pass


def test_lost_rows_are_counted_where_their_keys_remain(made: dict[str, dict[str, bytes]], tmp_path: Path) -> None:
    folder = laid(made["closed"], tmp_path / "run")
    path = folder / "journal.sqlite"
    raw = bytearray(path.read_bytes())
    at = raw.index(b"sagot 77 ") // PAGE * PAGE
    raw[at : at + PAGE] = bytes(PAGE)
    path.write_bytes(raw)
    saved = salvage(folder)
    assert saved.lost == N - saved.answers - saved.errors > 1


@pytest.mark.parametrize("header", ["sound", "damaged"])
def test_what_an_earlier_round_left_in_the_log_replaces_nothing(
    header: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Rounds of 8 pages rather than 32,000, and answers that are longer than a page and change: as those do that failed.
    rounds = [s for s in journals._SETTINGS if not s.startswith("wal_autocheckpoint")] + ["wal_autocheckpoint = 8"]
    monkeypatch.setattr(journals, "_SETTINGS", rounds)
    (tmp_path / "run").mkdir()
    with Journal.open(tmp_path / "run" / "journal.sqlite", identity=IDENTITY) as journal:
        for turn in range(6):
            for i in range(12):
                journal.commit([Response(key(i), text=f"turn {turn} of {i}: {turn * 'abc'}" * (900, 300)[turn % 2])])
        files = {file.name: file.read_bytes() for file in (tmp_path / "run").iterdir()}
        last = {answer.request_key: answer for answer in journal.read([key(i) for i in range(12)])}
    log = bytearray(files["journal.sqlite-wal"].replace(b"turn 5 of 6:", b"turn 5 of X:"))
    if header == "damaged":
        log[20] ^= 1
    spoilt = {name: raw.replace(b"turn 5 of 6:", b"turn 5 of X:") for name, raw in files.items()}
    folder = laid(spoilt | {"journal.sqlite-wal": bytes(log)}, tmp_path / "spoilt")
    salvage(folder)
    with Journal.open(folder / "journal.sqlite", identity=IDENTITY) as journal:
        missing = set(journal.missing(last))
        assert {answer.request_key: answer for answer in journal.read(set(last) - missing)} == {
            name: answer for name, answer in last.items() if name not in missing
        }
    assert missing <= {key(6)}


@pytest.mark.parametrize("state", ["closed", "log"])
def test_a_salvage_that_fails_at_its_end_leaves_the_journal_where_it_was(
    made: dict[str, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """Some file systems say only when all is written that there is no room."""
    folder = laid(made[state], tmp_path / "run")

    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="No space left"):
        salvage(folder)
    assert {name: (folder / name).read_bytes() for name in made[state]} == made[state]
    assert not list(folder.glob("*damaged*"))


@pytest.mark.parametrize("state", ["closed", "log"])
def test_in_a_read_only_folder_a_journal_is_examined_but_not_replaced(
    made: dict[str, dict[str, bytes]], tmp_path: Path, request: pytest.FixtureRequest, state: str
) -> None:
    folder = laid(made[state], tmp_path / "run")
    folder.chmod(0o555)
    request.getfixturevalue("nobody")
    with pytest.raises(RunError, match="Make it writable, or work on a copy"):
        salvage(folder)
    if state == "closed":
        assert examine(folder) == (N - ERRORS, ERRORS, 0, None)
        return
    for look in (examine, lambda run: Journal.reading(run / "journal.sqlite")):
        with pytest.raises(RunError, match="its folder must be writable"):
            look(folder)


def test_a_whole_journal_without_answers_is_not_called_damaged(tmp_path: Path) -> None:
    with Journal.open(tmp_path / "journal.sqlite", identity=IDENTITY):
        pass
    with pytest.raises(RunError, match="There is nothing to save"):
        salvage(tmp_path)


# -- other people's files -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t", "sqlite-t", "sqlite_t"])
def test_a_trigger_planted_in_a_journal_is_refused(
    made: dict[str, dict[str, bytes]], tmp_path: Path, name: str
) -> None:
    """A run folder may come from somebody else; nothing in it may act when we write."""
    path = laid(made["closed"], tmp_path / "run") / "journal.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TRIGGER t AFTER INSERT ON responses BEGIN DELETE FROM responses; END")
        # Names that SQLite keeps to itself can be written past it.
        base.execute("PRAGMA writable_schema = ON")
        base.execute(
            "UPDATE sqlite_master SET name = ?, sql = replace(sql, ' t ', ?) WHERE name = 't'", (name, f' "{name}" ')
        )
    with pytest.raises(RunError, match="its tables are not those of a journal"):
        resumed(path.parent)


def test_a_journal_of_the_first_release_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute(f"PRAGMA application_id = {0x4B415057}")
        base.execute("PRAGMA user_version = 1")
        base.executescript("""
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions(id INTEGER PRIMARY KEY, started REAL NOT NULL, ended REAL NOT NULL);
-- Rows are appended; only the small index of 16-byte keys is written at random places.
CREATE TABLE responses(
  id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, failed INTEGER NOT NULL, payload TEXT NOT NULL, sum INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS origins(key BLOB PRIMARY KEY, cache TEXT NOT NULL) WITHOUT ROWID;
""")
        base.execute("INSERT INTO meta VALUES ('identity', ?)", (IDENTITY,))
    assert resumed(tmp_path) == N


@pytest.mark.parametrize("values", [("x", 1.0), (1.0, "x"), (-5.0, 1.0), (9e99, 9e99), (2.0, 1.0)])
def test_times_that_no_clock_says_are_reported(
    made: dict[str, dict[str, bytes]], tmp_path: Path, values: tuple[object, object]
) -> None:
    path = laid(made["closed"], tmp_path / "run") / "journal.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute("UPDATE sessions SET started = ?, ended = ?", values)
    with Journal.open(path, identity=IDENTITY) as journal, pytest.raises(RunError, match="is damaged") as caught:
        journal.sessions()
    assert journals.FORM.remedy(path) == caught.value.hint
    assert "times that are none" in (examine(path.parent).damage or "")


def test_hints_quote_folders_with_spaces() -> None:
    assert "kapwa doctor 'my runs/a run' --salvage." in journals.FORM.remedy(Path("my runs/a run/journal.sqlite"))
