import contextlib
import hashlib
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.errors import RunError
from kapwa.records import ContinuationScore, Response, Usage
from kapwa.runs.store import FORMAT, AnswerCounts, AnswerStore

ID = "run-1"


def key(i: int) -> str:
    return hashlib.blake2b(str(i).encode(), digest_size=16).hexdigest()


def text(i: int, size: int = 40) -> Response:
    return Response(key(i), text=f"sagot {i} " + "x" * size)


def error(i: int) -> Response:
    return Response(key(i), error="sorry")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@contextlib.contextmanager
def opened(path: Path) -> Iterator[AnswerStore]:
    with AnswerStore(path, identity=ID) as journal:
        yield journal


def test_missing_keeps_the_order_and_counts_errors_as_missing(path: Path) -> None:
    with opened(path) as journal:
        journal.commit([text(1), error(2)])
        assert list(journal.missing(key(i) for i in (3, 2, 1, 0))) == [key(3), key(2), key(0)]


def test_missing_is_lazy(path: Path) -> None:
    taken = 0

    def keys() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield key(taken)

    with opened(path) as journal:
        assert next(journal.missing(keys())) == key(1)
    assert taken <= 1000


def test_a_commit_that_fails_half_way_leaves_nothing_of_itself(path: Path) -> None:
    with opened(path) as journal:
        journal.commit([text(1)])
        with pytest.raises(ValueError, match="hexadecimal"):
            journal.commit([text(2), Response("not hex", text="x")])
        assert journal.counts() == AnswerCounts(1, 0)
        journal.commit([text(2)])
        assert journal.counts() == AnswerCounts(2, 0)


def test_reading_what_was_never_answered_is_an_error(path: Path) -> None:
    with opened(path) as journal, pytest.raises(RunError, match="holds no answer"):
        list(journal.read_raw([key(1)]))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=5), max_size=6))
def test_the_journal_behaves_as_a_dictionary_that_prefers_answers(
    tmp_path_factory: pytest.TempPathFactory, commits: list[list[tuple[int, bool]]]
) -> None:
    path = tmp_path_factory.mktemp("journal") / "journal.sqlite"
    model: dict[str, Response] = {}
    for n, commit in enumerate(commits):
        batch = [text(i, n) if good else error(i) for i, good in commit]
        with opened(path) as journal:
            journal.commit(batch)
            for response in batch:
                if not response.failed or model.get(response.request_key, response).failed:
                    model[response.request_key] = response
            assert {r.request_key: r for r in journal.read_raw(model)} == model
            failed = {k for k, r in model.items() if r.failed}
            assert set(journal.missing(map(key, range(7)))) == {key(i) for i in range(7)} - (set(model) - failed)
            assert journal.counts() == AnswerCounts(len(model) - len(failed), len(failed))
            assert journal.errors() == [("sorry", len(failed))] * bool(failed)


def test_sessions_count_only_processes_that_committed(path: Path) -> None:
    with opened(path) as journal:
        journal.commit([text(1)])
        journal.commit([text(2)])
    with opened(path):
        pass
    with opened(path) as journal:
        journal.commit([text(3)])
        first, second = journal.sessions()
    assert first.started <= first.ended <= second.started <= second.ended


def test_the_first_answers_asked_for_and_the_first_from_a_cache_were_waited_for_since_the_opening(path: Path) -> None:
    records: list[dict[str, object]] = [
        {"cache": {"id": "1", "name": "c"}},
        {"environment": {"a": 1}},
        {"environment": {"a": 2}},
    ]
    with opened(path) as journal:
        for i, record in enumerate(records):
            time.sleep(0.02)
            journal.commit([text(i)], record)
        cached, asked, later = journal.sessions()
    assert cached.started == asked.started < asked.ended - 0.03
    assert later.started > asked.ended


def test_every_commit_reaches_the_disk_before_it_counts(path: Path) -> None:
    with opened(path) as journal:
        ask = journal._connection.execute
        assert ask("PRAGMA journal_mode").fetchone() == ("wal",)
        assert ask("PRAGMA synchronous").fetchone() == (2,)  # FULL: the log is synced at each commit
        assert ask("PRAGMA fullfsync").fetchone() == (1,)


def test_a_copy_taken_between_commits_holds_all_of_them(path: Path, tmp_path: Path) -> None:
    """What lies in the files right after commit() is what a killed process leaves behind."""
    with opened(path) as journal:
        for i in range(5):
            journal.commit([text(i)])
            copy = tmp_path / f"copy{i}"
            copy.mkdir()
            for file in tmp_path.glob("journal.sqlite*"):
                shutil.copy(file, copy / file.name)
            with opened(copy / "journal.sqlite") as left:
                assert left.counts().answered == i + 1


def filled(path: Path, n: int = 3000) -> bytes:
    with opened(path) as journal:
        journal.commit(text(i, 500) for i in range(n))
    return path.read_bytes()


def damage(path: Path, at: int, what: bytes) -> bytes:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(what)
    return path.read_bytes()


def test_a_flipped_letter_inside_an_answer_is_noticed(path: Path) -> None:
    whole = filled(path, 50)
    at = whole.index(b"sagot 33")
    damage(path, at, b"S")
    with opened(path) as journal:
        assert next(journal.read_raw([key(32)])) == text(32, 500)
        with pytest.raises(RunError, match=rf"the answer {key(33)} has a wrong checksum"):
            next(journal.read_raw([key(33)]))


def test_a_damaged_mark_of_failure_is_counted_as_a_failure(path: Path) -> None:
    filled(path, 3)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE responses SET failed = 1e999 WHERE id = 2")
        other.commit()
    with opened(path) as journal:
        assert journal.counts() == AnswerCounts(2, 1)


@pytest.mark.parametrize("content", [b"hello", b"x" * 9000, b"SQLite format 3\0"])
def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(RunError, match="is damaged: it does not begin"), opened(path):
        pass
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_another_programs_database_is_refused_and_left_alone(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs(a)")
        other.commit()
    before = path.read_bytes()
    with pytest.raises(RunError, match="database of another program"), opened(path):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize(("step", "who"), [(1, "a newer"), (-1, "an older")])
def test_the_journal_of_another_version_is_refused(path: Path, step: int, who: str) -> None:
    filled(path, 1)
    damage(path, 60, (FORMAT + step).to_bytes(4, "big"))
    with pytest.raises(RunError, match=f"written by {who} Kapwa") as caught, opened(path):
        pass
    assert "the Kapwa that wrote it" in (caught.value.hint or "")


def test_the_journal_of_another_run_is_refused(path: Path) -> None:
    filled(path, 1)
    with pytest.raises(RunError, match="belongs to another run"), AnswerStore(path, identity="run-2"):
        pass


def test_an_orphaned_log_is_not_replayed_into_a_new_journal(path: Path) -> None:
    log = path.with_name("journal.sqlite-wal")
    log.write_bytes(b"answers")
    with pytest.raises(RunError, match=r"its log journal[.]sqlite-wal is there"), opened(path):
        pass
    assert log.read_bytes() == b"answers"
    assert not path.exists()


def test_an_empty_file_becomes_a_journal(path: Path) -> None:
    path.touch()
    with opened(path) as journal:
        journal.commit([text(1)])
        assert journal.counts().answered == 1


def test_a_journal_held_by_another_program_is_refused(path: Path) -> None:
    filled(path, 1)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(RunError, match="is in use by another program"), opened(path):
            pass


def test_a_full_disk_stops_the_run_and_keeps_what_was_committed(path: Path) -> None:
    with opened(path) as journal:
        journal.commit(text(i, 500) for i in range(100))
        pages = journal._connection.execute("PRAGMA page_count").fetchone()[0]
        journal._connection.execute(f"PRAGMA max_page_count = {pages + 4}")
        with pytest.raises(RunError, match=r"the disk is full[.] Every answer committed before is kept"):
            journal.commit(text(i, 500) for i in range(100, 1000))
        assert journal.counts() == AnswerCounts(100, 0)
        journal._connection.execute("PRAGMA max_page_count = 1000000")
        journal.commit(text(i, 500) for i in range(100, 1000))
    with opened(path) as journal:
        assert list(journal.read_raw(map(key, range(1000)))) == [text(i, 500) for i in range(1000)]


@pytest.mark.parametrize("begun", [False, True])
def test_a_read_only_folder_is_refused(path: Path, request: pytest.FixtureRequest, begun: bool) -> None:
    if begun:
        filled(path, 1)
    path.parent.chmod(0o555)
    request.getfixturevalue("nobody")
    with pytest.raises(RunError, match="cannot be written: it is read-only") as caught, opened(path):
        pass
    assert caught.value.hint


numbers, counts = st.floats(allow_nan=False), st.integers(0, 2**40)
boundaries = st.sampled_from(["clean", "merged"])
tokens = st.lists(numbers, max_size=3).map(tuple)
scores = st.builds(ContinuationScore, numbers, counts, counts, counts, boundaries, st.none() | numbers, tokens)
texts = st.text(st.characters(exclude_categories=["Cs"]))
usages = st.none() | st.builds(Usage, counts, counts)


@given(
    st.one_of(
        st.builds(lambda t, f, u: Response(key(1), text=t, finish_reason=f, usage=u), texts, st.none() | texts, usages),
        st.builds(lambda s, u: Response(key(1), logprobs=tuple(s), usage=u), st.lists(scores, max_size=4), usages),
        st.builds(lambda e: Response(key(1), error=e), texts),
    )
)
def test_what_is_stored_is_what_was_answered_to_the_last_bit(response: Response) -> None:
    with AnswerStore(None) as store:
        store.commit([response])
        assert list(store.read_raw([key(1)])) == [response]


def test_lone_surrogates_become_replacement_characters_and_pairs_their_character() -> None:
    with AnswerStore(None) as store:
        store.commit([Response(key(1), text="a\ud800b\ud83d\ude00")])
        assert next(store.read_raw([key(1)])).text == "a\ufffdb\U0001f600"


@pytest.mark.parametrize(("after", "rows"), [("BEGIN IMMEDIATE", 0), ("INSERT", 0), ("COMMIT", 1)])
def test_an_interrupt_leaves_no_transaction_open(after: str, rows: int) -> None:
    class Interrupted:
        """A connection on which Ctrl-C comes as a statement has just been done."""

        def __init__(self, real: sqlite3.Connection) -> None:
            self.real = real

        def __getattr__(self, name: str) -> object:
            return getattr(self.real, name)

        def execute(self, sql: str, *values: object) -> sqlite3.Cursor:
            done = self.real.execute(sql, *values)  # type: ignore[arg-type]
            if sql.startswith(after):
                raise KeyboardInterrupt
            return done

    with AnswerStore(None) as store:
        store._connection = real = Interrupted(store._connection)  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            store.commit([text(1)])
        assert not real.in_transaction
        store._connection = real.real
        assert store.counts().answered == rows
        store.commit([text(2)])
        assert store.counts().answered == rows + 1
