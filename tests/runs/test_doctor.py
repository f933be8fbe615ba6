"""Damage in a journal: never a wrong answer, never a traceback; and what SQL can read is saved."""

import contextlib
import errno
import hashlib
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import warm
from kapwa.errors import RunError
from kapwa.records import Response
from kapwa.runs.doctor import examine, salvage
from kapwa.runs.store import AnswerStore

IDENTITY = "a" * 32
N, COMMIT, PAGE = 400, 50, 4096


def key(i: int) -> str:
    return hashlib.blake2b(str(i).encode(), digest_size=16).hexdigest()


def response(i: int) -> Response:
    """Mostly short answers, some over several pages, some errors."""
    long = "y" * 9000 if i % 50 == 0 else ""
    return Response(key(i), error=f"bad {i}") if i % 9 == 0 else Response(key(i), text=f"sagot {i} {'x' * i}{long}")


WHOLE = {key(i): response(i) for i in range(N)}
ERRORS = sum(answer.failed for answer in WHOLE.values())
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """The files of a journal while a process holds it ("log"), and after it was closed ("closed")."""
    folder = tmp_path_factory.mktemp("made")
    with AnswerStore(folder / "journal.sqlite", identity=IDENTITY) as journal:
        for start in range(0, N, COMMIT):
            journal.commit([response(i) for i in range(start, start + COMMIT)], {"environment": {"device": "cpu"}})
        log = {file.name: file.read_bytes() for file in folder.iterdir()}
    return {"log": log, "closed": {file.name: file.read_bytes() for file in folder.iterdir()}}


def laid(files: Files, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def resumed(folder: Path) -> int:
    """Do with the journal all that a run does; return how much it had to ask."""
    with AnswerStore(folder / "journal.sqlite", identity=IDENTITY) as journal:
        missing = set(journal.missing(WHOLE))
        for wanted in set(WHOLE) - missing:
            assert next(journal.read_raw([wanted])) == WHOLE[wanted], "a wrong answer was accepted"
        journal.counts(), journal.sessions(), list(journal.errors())
        journal.commit([WHOLE[wanted] for wanted in missing])
        assert list(journal.read_raw(WHOLE)) == list(WHOLE.values())
        return len(missing)


@settings(max_examples=30)
@given(
    st.sampled_from(["closed", "log"]),
    st.sampled_from(["flip", "cut", "blank"]),
    st.one_of(st.integers(0, 120), st.integers(0, 1 << 20)),
    st.integers(0, 7),
)
def test_damage_anywhere_is_reported_or_harmless_and_salvage_saves_the_rest(
    made: dict[str, Files], tmp_path: Path, state: str, harm: str, at: int, bit: int
) -> None:
    folder = laid(made[state], tmp_path / "run")
    path = folder / "journal.sqlite"
    raw = bytearray(path.read_bytes())
    at %= len(raw)
    if harm == "flip":
        raw[at] ^= 1 << bit
    elif harm == "blank":
        raw[at : at + PAGE] = bytes(min(PAGE, len(raw) - at))
    else:
        del raw[at:]
    path.write_bytes(raw)
    with contextlib.suppress(RunError):
        resumed(folder)
        return
    examine(folder)
    with contextlib.suppress(RunError):  # where SQL can read nothing
        saved = salvage(folder)
        assert saved.answers + saved.errors <= N
        with contextlib.suppress(RunError):  # the run's own name was hit: another run's, as far as can be told
            resumed(folder)


def test_salvage_of_a_whole_journal_keeps_everything(made: dict[str, Files], tmp_path: Path) -> None:
    folder = laid(made["log"], tmp_path / "run")
    assert examine(folder) == (N - ERRORS, ERRORS, 0, None)
    with AnswerStore(folder / "journal.sqlite", identity=IDENTITY) as journal:
        sessions = journal.sessions()
    assert [session.record for session in sessions] == [{"environment": {"device": "cpu"}}]
    assert salvage(folder) == (N - ERRORS, ERRORS, folder / "journal.damaged.sqlite")
    with AnswerStore(folder / "journal.sqlite", identity=IDENTITY) as journal:
        assert list(journal.read_raw(WHOLE)) == list(WHOLE.values())
        assert journal.sessions() == sessions
    assert salvage(folder).kept == folder / "journal.damaged1.sqlite"


def test_a_lost_page_costs_its_rows_and_the_rest_is_asked_again(made: dict[str, Files], tmp_path: Path) -> None:
    folder = laid(made["closed"], tmp_path / "run")
    path = folder / "journal.sqlite"
    raw = bytearray(path.read_bytes())
    at = raw.index(b"sagot 77 ") // PAGE * PAGE
    raw[at : at + PAGE] = bytes(PAGE)
    path.write_bytes(raw)
    with pytest.raises(RunError, match="is damaged"):
        resumed(folder)
    assert path.read_bytes() == raw
    saved = salvage(folder)
    assert saved.kept.read_bytes() == raw
    lost = N - saved.answers - saved.errors
    assert 1 < lost < 40
    assert lost <= resumed(folder) <= lost + ERRORS


def test_a_journal_that_lost_its_name_is_adopted(made: dict[str, Files], tmp_path: Path) -> None:
    folder = laid(made["closed"], tmp_path / "run")
    path = folder / "journal.sqlite"
    path.write_bytes(path.read_bytes().replace(b"identity", b"idenXity"))
    assert resumed(folder) == ERRORS
    with pytest.raises(RunError, match="belongs to another run"):
        AnswerStore(path, identity="b" * 32)


@pytest.mark.parametrize("state", ["closed", "log"])
def test_a_salvage_without_room_leaves_the_journal_where_it_was(
    made: dict[str, Files], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """Some file systems say only when all is written that there is no room."""
    folder = laid(made[state], tmp_path / "run")

    def full(_file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match="No space left"):
        salvage(folder)
    monkeypatch.undo()
    assert not list(folder.glob(".*.part*")) + list(folder.glob("*.damaged*"))
    assert resumed(folder) == ERRORS


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_a_salvage_killed_midway_leaves_the_old_journal_or_the_new_one(made: dict[str, Files], tmp_path: Path) -> None:
    """Killed before each renaming (log and journal kept aside, the new file twice), and at random times."""
    script = textwrap.dedent(
        """
        import os, pathlib, signal, sys, threading, time
        from kapwa.runs.doctor import salvage
        at, calls, real = float(sys.argv[2]), [], pathlib.Path.replace
        def kill(seconds=0):
            time.sleep(seconds)
            os.kill(os.getpid(), signal.SIGKILL)
        def killed(*names):
            calls.append(names)
            if len(calls) == at:
                kill()
            return real(*names)
        pathlib.Path.replace = killed
        if at < 1:
            threading.Thread(target=kill, args=(at,), daemon=True).start()
        salvage(pathlib.Path(sys.argv[1]))
        time.sleep(60)
        """
    )
    randomly = random.Random(5)
    for at in (1, 2, 3, 4, *(randomly.uniform(0, 0.05) for _ in range(8))):
        folder = laid(made["log"], tmp_path / "run")
        words = [str(warm.programs() / "python"), "-c", script, str(folder), str(at)]
        done = subprocess.run(words, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert examine(folder) == (N - ERRORS, ERRORS, 0, None)
        assert salvage(folder)[:2] == (N - ERRORS, ERRORS)
        assert resumed(folder) == ERRORS


def test_a_flipped_bit_in_the_log_costs_what_follows_it_but_journal_and_log_are_kept_as_they_were(
    made: dict[str, Files], tmp_path: Path
) -> None:
    """SQLite takes a log for ended where a checksum fails, and drops the rest of it without a word."""
    raw = bytearray(made["log"]["journal.sqlite-wal"])
    raw[len(raw) // 2] ^= 1
    folder = laid({**made["log"], "journal.sqlite-wal": bytes(raw)}, tmp_path / "run")
    saved = salvage(folder)
    assert 0 < saved.answers < N - ERRORS
    assert saved.kept.read_bytes() == made["log"]["journal.sqlite"]
    assert Path(f"{saved.kept}-wal").read_bytes() == raw
    assert not (folder / "journal.sqlite-wal").exists()
    assert resumed(folder) == N - saved.answers


@pytest.mark.parametrize("state", ["closed", "log"])
def test_in_a_read_only_folder_a_journal_is_examined_but_not_replaced(
    made: dict[str, Files], tmp_path: Path, request: pytest.FixtureRequest, state: str
) -> None:
    folder = laid(made[state], tmp_path / "run")
    folder.chmod(0o555)
    request.getfixturevalue("nobody")
    with pytest.raises(RunError, match="Make it writable, or work on a copy"):
        salvage(folder)
    found = examine(folder)
    if state == "closed":
        assert found == (N - ERRORS, ERRORS, 0, None)
    else:
        assert "its folder must be writable" in (found.damage or "")


def test_a_journal_without_answers_holds_nothing_to_save(tmp_path: Path) -> None:
    AnswerStore(tmp_path / "journal.sqlite", identity=IDENTITY).close()
    with pytest.raises(RunError, match="There is nothing to save"):
        salvage(tmp_path)


def test_a_trigger_planted_in_a_journal_is_refused(made: dict[str, Files], tmp_path: Path) -> None:
    """A run folder may come from somebody else; nothing in it may act when we write."""
    path = laid(made["closed"], tmp_path / "run") / "journal.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TRIGGER t AFTER INSERT ON responses BEGIN DELETE FROM responses; END")
    with pytest.raises(RunError, match="its tables are not those of Kapwa"):
        resumed(path.parent)


def test_a_clock_that_steps_back_does_no_harm(made: dict[str, Files], tmp_path: Path) -> None:
    path = laid(made["closed"], tmp_path / "run") / "journal.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute("UPDATE sessions SET started = ended + 3600")
    assert resumed(path.parent) == ERRORS
