"""The file of a cache: made once, shared, pruned, and never mistaken for another."""

import contextlib
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from kapwa.errors import RunError
from kapwa.records import Response
from kapwa.runs.cache import contents, open_cache, prune, size_of
from kapwa.runs.store import AnswerStore


def key(i: int) -> str:
    return f"{i:032x}"


def keys(n: int) -> list[str]:
    return [key(i) for i in range(n)]


def filled(folder: Path, n: int, name: str = "m", revision: str = "r", size: int = 20, at: int = 0) -> AnswerStore:
    store, _ = open_cache(folder)
    record = {"model": {"id": name, "revision": revision, "fingerprint": {"dtype": "float32"}}}
    store.commit((Response(key(at + i), text="x" * size) for i in range(n)), record)
    return store


def answers(store: AnswerStore) -> dict[str, int]:
    return {f"{one.name}@{one.revision}": one.answers for one in contents(store)}


def test_answers_are_found_again(tmp_path: Path) -> None:
    with filled(tmp_path / "new" / "c", 3) as store:
        name = store.identity
    with open_cache(tmp_path / "new" / "c")[0] as store:
        assert store.identity == name
        assert {k: r and r.text for k, r in store.find(keys(3000)).items()} == dict.fromkeys(keys(3), "x" * 20)


def test_a_writer_waits_for_another(tmp_path: Path) -> None:
    filled(tmp_path, 1).close()
    base = sqlite3.connect(tmp_path / "answers.sqlite", check_same_thread=False, isolation_level=None)
    with open_cache(tmp_path)[0] as store, contextlib.closing(base) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        threading.Timer(0.5, lambda: other.execute("COMMIT")).start()
        store.commit([Response(key(5), text="waited")])
        assert time.monotonic() - began > 0.2


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for n, name, revision, size, at in ((3, "a", "r", 20, 0), (2, "b", "r1", 500, 100), (2, "b", "r2", 20, 200)):
        filled(tmp_path / "c", n, name, revision, size, at).close()
    return tmp_path / "c"


def test_contents_are_told_by_model(three: Path) -> None:
    with open_cache(three)[0] as store:
        found = contents(store)
    assert [(one.name, one.revision, one.answers) for one in found] == [("b", "r1", 2), ("a", "r", 3), ("b", "r2", 2)]
    assert found[0].fingerprint == {"dtype": "float32"}
    assert abs(found[0].added_first - time.time()) < 60


@pytest.mark.parametrize(("model", "left"), [("b", 3), ("b@r1", 5), ("a", 4), ("nobody", 7)])
def test_pruning_by_model(three: Path, model: str, left: int) -> None:
    with open_cache(three)[0] as store:
        assert prune(store, model=model).answers == 7 - left
        assert sum(answers(store).values()) == left


def test_pruning_by_age_and_model(three: Path) -> None:
    with contextlib.closing(sqlite3.connect(three / "answers.sqlite")) as base, base:
        base.execute("UPDATE sessions SET ended = ended - 90000 WHERE id < 3")
    day_ago = time.time() - 86_400
    with open_cache(three)[0] as store:
        assert prune(store, before=day_ago, model="b").answers == 2
        assert prune(store, before=day_ago).answers == 3
        assert answers(store) == {"b@r2": 2}


def test_pruning_by_size_takes_the_oldest_and_gives_the_room_back(tmp_path: Path) -> None:
    filled(tmp_path, 5000, size=800).close()
    before = (tmp_path / "answers.sqlite").stat().st_size
    with open_cache(tmp_path)[0] as store:
        gone = prune(store, most_bytes=1_000_000)
        assert gone.bytes_before > 4_000_000
        assert gone.bytes_after == size_of(store) <= 1_000_000
        assert 3500 < gone.answers < 4500
        assert sorted(store.find(keys(5000))) == keys(5000)[gone.answers :]
    assert (tmp_path / "answers.sqlite").stat().st_size < 1_100_000 < before


@pytest.mark.parametrize(("count", "size", "share"), [(90, 30_000, 0.9), (120, 20_000, 0.95), (300, 8_000, 0.95)])
def test_pruning_takes_few_long_answers_where_few_are_too_many(
    tmp_path: Path, count: int, size: int, share: float
) -> None:
    filled(tmp_path, count, size=size).close()
    with open_cache(tmp_path)[0] as store:
        gone = prune(store, most_bytes=int(share * size_of(store)))
    assert 0 < gone.answers < 3 * (1 - share) * count


def test_pruning_while_others_read_and_write(tmp_path: Path) -> None:
    with filled(tmp_path, 3000, size=300) as writer, open_cache(tmp_path)[0] as store:
        prune(store, most_bytes=0)
        assert writer.find([key(1)]) == {}
        writer.commit(
            [Response(key(1), text="again")],
            {"model": {"id": "m", "revision": "r", "fingerprint": {"dtype": "float32"}}},
        )
        assert answers(store) == {"m@r": 1}


def test_looking_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="There is no folder"):
        open_cache(tmp_path / "c", create=False)
    (tmp_path / "d").mkdir()
    with pytest.raises(RunError, match="is not a cache of answers"):
        open_cache(tmp_path / "d", create=False)
    assert [path.name for path in tmp_path.rglob("*")] == ["d"]


def test_the_cache_of_an_older_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "answers.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE answers(x)")
        base.execute(f"PRAGMA application_id = {0x4B434143}")
    before = path.read_bytes()
    with pytest.raises(RunError, match="is a database of another program, or of an older Kapwa") as caught:
        open_cache(tmp_path)
    assert "another folder" in (caught.value.hint or "")
    assert path.read_bytes() == before


def test_a_scribbled_page_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    filled(tmp_path, 2000, size=300).close()
    with (tmp_path / "answers.sqlite").open("r+b") as file:
        file.seek(8192 * 3)
        file.write(b"\xa5" * 8192 * 20)
    with pytest.raises(RunError, match="is damaged") as caught, open_cache(tmp_path)[0] as store:
        store.find(keys(2000))
    assert "run without --cache" in (caught.value.hint or "")


@pytest.mark.parametrize("written", [False, True])
def test_a_read_only_cache_is_read(tmp_path: Path, request: pytest.FixtureRequest, written: bool) -> None:
    """Also one that another process is writing to."""
    writer = filled(tmp_path / "c", 3)
    if not written:
        writer.close()
    (tmp_path / "c").chmod(0o555)
    request.getfixturevalue("nobody")
    store, read_only = open_cache(tmp_path / "c")
    with store:
        assert read_only
        assert len(store.find(keys(9))) == 3
        if written:
            writer.commit([Response(key(5), text="later")])
            assert len(store.find(keys(9))) == 4
    writer.close()


@pytest.mark.parametrize(
    "damage", ["record = 'x'", "record = '{\"model\": []}'", 'record = \'{"model": {"id": 1}}\'', "ended = 1e300"]
)
def test_a_damaged_session_of_a_cache_is_of_an_unknown_model(three: Path, damage: str) -> None:
    with contextlib.closing(sqlite3.connect(three / "answers.sqlite")) as base, base:
        base.execute(f"UPDATE sessions SET {damage} WHERE id = 1")
    with open_cache(three)[0] as store:
        before = answers(store)
        assert sum(before.values()) == 7
        assert sum(n for name, n in before.items() if name.startswith("?")) > 0
        assert prune(store, model="?").answers == before["?@"]
