"""The file of a cache: made once, shared, pruned, and never mistaken for another."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kapwa.errors import RunError
from kapwa.runs.cache_store import CacheStore


def key(i: int) -> bytes:
    return i.to_bytes(16, "big")


def filled(folder: Path, n: int, name: str = "m", revision: str = "r", size: int = 20, at: int = 0) -> CacheStore:
    store = CacheStore.open(folder)
    number = store.model(f"{name}@{revision}", name, revision, '{"dtype":"float32"}')
    store.add(number, [(key(at + i), "x" * size) for i in range(n)])
    return store


def test_answers_are_found_again_and_the_first_one_stays(tmp_path: Path) -> None:
    with CacheStore.open(tmp_path / "new" / "c") as store:
        number = store.model("d", "m", "r", "{}")
        assert store.add(number, [(key(1), "én"), (key(2), "two")]) == 2
        assert store.add(number, [(key(1), "other"), (key(3), "three")]) == 1
        assert store.model("d", "m", "r", "{}") == number
        assert store.model("e", "m", "s", "{}") != number
        name = store.id
    with CacheStore.open(tmp_path / "new" / "c") as store:
        assert store.read([key(i) for i in (3, 1, 9)]) == {key(1): "én", key(3): "three"}
        assert store.id == name
        assert len(store.read([key(i) for i in range(3000)])) == 3


def test_damaged_rows_are_told_from_missing_ones(tmp_path: Path) -> None:
    filled(tmp_path, 4).close()
    with contextlib.closing(sqlite3.connect(tmp_path / "answers.sqlite")) as base, base:
        base.execute("UPDATE answers SET payload = x'ff' WHERE id = 1")
        base.execute("UPDATE answers SET key = ? WHERE id = 2", (key(77),))
    with CacheStore.open(tmp_path) as store:
        found = store.read([key(i) for i in (0, 1, 2, 77)])
        assert found == {key(0): None, key(2): "x" * 20, key(77): None}
        store.drop([key(0)])
        assert store.add(1, [(key(0), "new")]) == 1
        assert store.read([key(0)]) == {key(0): "new"}


def test_many_threads_and_connections_lose_nothing(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work(part: int) -> None:
        try:
            with CacheStore.open(tmp_path / "c") as store:
                number = store.model("d", "m", "r", "{}")
                for i in range(40):
                    store.add(number, [(key(part * 1000 + i * 10 + j), f"{part} {i}") for j in range(5)])
                    assert store.read([key(part * 1000 + i * 10)])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(part,)) for part in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    with CacheStore.open(tmp_path / "c") as store:
        assert [one.answers for one in store.contents()] == [6 * 40 * 5]


def test_a_writer_waits_for_another(tmp_path: Path) -> None:
    store = filled(tmp_path, 1)
    with contextlib.closing(sqlite3.connect(tmp_path / "answers.sqlite", check_same_thread=False)) as other:
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        threading.Timer(0.5, lambda: other.execute("COMMIT")).start()
        assert store.add(1, [(key(5), "waited")]) == 1
        assert time.monotonic() - began > 0.2
    store.close()


# -- what is in it, and taking out ----------------------------------------------------------------


def test_contents_are_told_by_model(tmp_path: Path) -> None:
    filled(tmp_path, 3, "a").close()
    filled(tmp_path, 2, "b", "r1", size=500, at=100).close()
    filled(tmp_path, 2, "b", "r2", at=200).close()
    with CacheStore.open(tmp_path) as store:
        found = store.contents()
    assert [(one.name, one.revision, one.answers, one.bytes) for one in found] == [
        ("b", "r1", 2, 1000),
        ("a", "r", 3, 60),
        ("b", "r2", 2, 40),
    ]
    assert found[0].fingerprint == {"dtype": "float32"}
    assert abs(found[0].added_first - time.time()) < 60


@pytest.mark.parametrize(("model", "left"), [("b", 3), ("b@r1", 5), ("a", 4), ("nobody", 7)])
def test_pruning_by_model(tmp_path: Path, model: str, left: int) -> None:
    for n, name, revision, at in ((3, "a", "r", 0), (2, "b", "r1", 100), (2, "b", "r2", 200)):
        filled(tmp_path, n, name, revision, at=at).close()
    with CacheStore.open(tmp_path) as store:
        gone = store.prune(model=model)
        assert (gone.answers, sum(one.answers for one in store.contents())) == (7 - left, left)


def test_pruning_by_age_and_model(tmp_path: Path) -> None:
    filled(tmp_path, 6000, "a").close()
    filled(tmp_path, 10, "b", at=10_000).close()
    now = time.time()
    with contextlib.closing(sqlite3.connect(tmp_path / "answers.sqlite")) as base, base:
        base.execute("UPDATE answers SET added = ? WHERE id % 2 = 0", (int(now) - 90_000,))
    with CacheStore.open(tmp_path) as store:
        assert store.prune(before=now - 86_400, model="b").answers == 5
        gone = store.prune(before=now - 86_400)
        assert gone.answers == 3000
        assert {one.name: one.answers for one in store.contents()} == {"a": 3000, "b": 5}


def test_pruning_by_size_takes_the_oldest_and_gives_the_room_back(tmp_path: Path) -> None:
    filled(tmp_path, 5000, size=800).close()
    before = (tmp_path / "answers.sqlite").stat().st_size
    with CacheStore.open(tmp_path) as store:
        assert store.size > 4_000_000
        gone = store.prune(most_bytes=1_000_000)
        assert gone.bytes_before > 4_000_000
        assert gone.bytes_after == store.size <= 1_000_000
        assert 3500 < gone.answers < 4500
        assert store.read([key(i) for i in range(gone.answers)]) == {}
        assert len(store.read([key(i) for i in range(gone.answers, 5000)])) == 5000 - gone.answers
    assert (tmp_path / "answers.sqlite").stat().st_size < 1_100_000 < before
    with CacheStore.open(tmp_path) as store:
        assert store.prune(most_bytes=1_000_000).answers == 0


def test_pruning_while_others_read_and_write(tmp_path: Path) -> None:
    filled(tmp_path, 3000, size=300).close()
    with CacheStore.open(tmp_path) as reader, CacheStore.open(tmp_path) as store:
        assert reader.read([key(1)])
        store.prune(most_bytes=0)
        assert reader.read([key(1)]) == {}
        # The pruned model's entry is gone too; a run under way enters it anew.
        assert reader.add(reader.model("m@r", "m", "r", "{}"), [(key(1), "again")]) == 1
        assert [one.answers for one in store.contents()] == [1]


# -- files that are no cache ----------------------------------------------------------------------


def test_a_folder_of_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match=r"is no cache of answers\. It holds thesis\.txt") as caught:
        CacheStore.open(tmp_path)
    assert "new or empty folder" in (caught.value.hint or "")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("x")
    with pytest.raises(RunError, match="is a file; a cache is a folder"):
        CacheStore.open(tmp_path / "c")


def test_looking_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="There is no folder"):
        CacheStore.open(tmp_path / "c", create=False)
    (tmp_path / "d").mkdir()
    with pytest.raises(RunError, match="is no cache of answers"):
        CacheStore.open(tmp_path / "d", create=False)
    assert [path.name for path in tmp_path.rglob("*")] == ["d"]


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"thesis" * 100, b"\0" * 4096])
def test_a_damaged_head_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "answers.sqlite").write_bytes(content)
    with pytest.raises(RunError, match="is damaged: it does not begin as a cache does") as caught:
        CacheStore.open(tmp_path)
    assert "run without --cache" in (caught.value.hint or "")
    assert (tmp_path / "answers.sqlite").read_bytes() == content


def test_another_programs_database_and_a_newer_cache_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE thesis(x)")
    with pytest.raises(RunError, match="is a database of another program"):
        CacheStore.open(tmp_path)
    path.unlink()
    filled(tmp_path, 1).close()
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("PRAGMA user_version = 99")
    with pytest.raises(RunError, match="has cache format 99"):
        CacheStore.open(tmp_path)


def test_a_trigger_planted_in_a_cache_is_refused(tmp_path: Path) -> None:
    """A cache may come from somebody else; nothing in it may act when we write."""
    filled(tmp_path, 1).close()
    with contextlib.closing(sqlite3.connect(tmp_path / "answers.sqlite")) as base, base:
        base.execute("CREATE TRIGGER t AFTER INSERT ON answers BEGIN DELETE FROM answers; END")
    with pytest.raises(RunError, match="its tables are not those of a cache"):
        CacheStore.open(tmp_path)


def test_a_scribbled_page_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    filled(tmp_path, 2000, size=300).close()
    with (tmp_path / "answers.sqlite").open("r+b") as file:
        file.seek(8192 * 3)
        file.write(b"\xa5" * 8192 * 20)
    with CacheStore.open(tmp_path) as store, pytest.raises(RunError, match="is damaged") as caught:
        store.read([key(i) for i in range(2000)])
    assert "Delete the folder" in (caught.value.hint or "")


# -- no room, no right ----------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of four megabytes; skips where none can be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    try:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small file system needs root and Linux")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_really_fills_up_keeps_what_was_added(small_disk: Path) -> None:
    store = filled(small_disk / "c", 0)
    kept = 0

    def fill() -> None:
        nonlocal kept
        for i in range(10_000):
            store.add(1, [(key(i), "x" * 500)])
            kept = i + 1

    with pytest.raises(RunError, match="cannot grow: the disk is full"):
        fill()
    store.close()
    assert kept > 100
    with CacheStore.open(small_disk / "c") as again:
        found = again.read([key(i) for i in range(kept)])
        assert len(found) == kept
        assert None not in found.values()


def test_a_read_only_cache_is_read_and_not_pruned(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    filled(tmp_path / "c", 3).close()
    for parent in (tmp_path, *list(tmp_path.parents)[:2]):
        parent.chmod(0o755)
    (tmp_path / "c").chmod(0o555)
    request.getfixturevalue("nobody")
    with CacheStore.open(tmp_path / "c") as store:
        assert store.read_only
        assert len(store.read([key(i) for i in range(9)])) == 3
        assert store.model("d", "m", "r", "{}") == 0
        with pytest.raises(RunError, match="cannot be written, so nothing can be taken out"):
            store.prune(most_bytes=0)


def test_a_cache_that_another_is_writing_can_be_read_without_the_right_to_write(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    writer = filled(tmp_path / "c", 3)
    for parent in (tmp_path, *list(tmp_path.parents)[:2]):
        parent.chmod(0o755)
    (tmp_path / "c").chmod(0o555)
    request.getfixturevalue("nobody")
    with CacheStore.open(tmp_path / "c") as store:
        assert len(store.read([key(i) for i in range(9)])) == 3
        writer.add(1, [(key(5), "later")])
        assert len(store.read([key(i) for i in range(9)])) == 4
    writer.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.one_of(st.integers(0, 110), st.integers(0, 1 << 18)),
    harm=st.sampled_from(["flip", "blank", "cut"]),
    bit=st.integers(0, 7),
)
def test_damage_anywhere_gives_no_wrong_answer_and_no_other_error(tmp_path: Path, at: int, harm: str, bit: int) -> None:
    folder = tmp_path / "c"
    path = folder / "answers.sqlite"
    for left in tmp_path.rglob("answers*"):
        left.unlink()
    filled(folder, 200, size=100).close()
    raw = bytearray(path.read_bytes())
    at %= len(raw)
    if harm == "flip":
        raw[at] ^= 1 << bit
    elif harm == "blank":
        raw[at : at + 4096] = bytes(len(raw[at : at + 4096]))
    else:
        del raw[at:]
    path.write_bytes(raw)
    with contextlib.suppress(RunError), CacheStore.open(folder) as store:
        found = store.read([key(i) for i in range(200)])
        assert set(found.values()) <= {"x" * 100, None}
        store.drop([name for name, text in found.items() if text is None])
        store.add(store.model("d", "m", "r", "{}"), [(key(i), "x" * 100) for i in range(200)])
        store.contents()
        store.prune(most_bytes=0)
