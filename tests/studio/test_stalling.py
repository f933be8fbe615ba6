"""Small inputs that would hold everybody up: many columns, many tables, many topics, many presses on one button."""

import io
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from studio_people import Someone, a_situation, enter

IMPORT = "import/"


def sent(name: str, content: bytes) -> dict[str, Any]:
    return {"file": SimpleUploadedFile(name, content)}


def zipped(files: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.fixture
def no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever passes the gate fails the test: columns are guessed and shown after it."""
    from kapwa.studio.core.views import importing

    def read(*arguments: Any) -> None:
        raise AssertionError("it passed the gate")

    monkeypatch.setattr(importing, "read_place", read)


def columns(n: int) -> bytes:
    return ",".join(f"c{i}" for i in range(n)).encode() + b"\n" + b"," * (n - 1) + b"x\n"


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "xlsx", "zip"])
def test_columns_count_at_the_gate(people: dict[str, Someone], no_reading: None, kind: str, tmp_path: Path) -> None:
    wide = columns(45_000)
    if kind == "tsv":
        wide = wide.replace(b",", b"\t")
    if kind == "jsonl":  # each row names others
        rows = (b"{%s}\n" % b",".join(b'"c%d": "x"' % (50 * i + j) for j in range(50)) for i in range(900))
        wide = b"".join(rows)
    if kind == "xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        book.active.append([f"c{i}" for i in range(600)])
        book.active.append(["x"] * 600)
        book.save(tmp_path / "t.xlsx")
        wide = (tmp_path / "t.xlsx").read_bytes()
    if kind == "zip":
        wide = zipped({"t.csv": wide})
    page = people["berto"].post(IMPORT, sent(f"t.{kind}", wide), 400)
    assert "has more than 500 columns" in page


def test_tables_count_at_the_gate(people: dict[str, Someone], no_reading: None) -> None:
    many = zipped({f"t{i}.csv": b"context\nx\n" for i in range(4_000)})
    assert "has more than 50 tables" in people["berto"].post(IMPORT, sent("t.zip", many), 400)
    # Fifty tables of many columns are as much work as one of very many; so are rows of many tables.
    together = zipped({f"t{i}.csv": columns(490) for i in range(50)})
    assert "in its tables" in people["berto"].post(IMPORT, sent("t.zip", together), 400)
    rows = zipped({f"t{i}.csv": b"context\n" + b"x\n" * 1_500 for i in range(2)})
    assert "in its tables" in people["berto"].post(IMPORT, sent("t.zip", rows), 400)
    files = [SimpleUploadedFile(f"t{i}.csv", columns(300)) for i in range(2)]
    assert "in its tables" in people["berto"].post(IMPORT, {"file": files}, 400)


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_an_archive_that_is_packed_strangely_is_refused(
    people: dict[str, Someone], no_reading: None, packing: int, tmp_path: Path, project: Any
) -> None:
    from kapwa.errors import DataError
    from kapwa.studio.core.exchange import export_project, read_archive

    packed = zipped({"t.csv": b"context\nx\n"}, packing)
    assert "cannot be unpacked" in people["berto"].post(IMPORT, sent("t.zip", packed), 400)
    assert "cannot be unpacked" in people["berto"].post(IMPORT, sent("t.xlsx", packed), 400)
    export_project(project, tmp_path / "archive.zip")
    with zipfile.ZipFile(tmp_path / "archive.zip") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (tmp_path / "strange.zip").write_bytes(zipped(parts, packing))
    with pytest.raises(DataError, match="cannot be unpacked"):
        read_archive(tmp_path / "strange.zip")


def test_topics_pass_the_gate_and_hold_nobody_up(people: dict[str, Someone], monkeypatch: pytest.MonkeyPatch) -> None:
    from kapwa.studio.core.views import topics
    from kapwa.studio.models import Topic

    held: list[int] = []
    lock, record = topics.lock_project, topics.record
    monkeypatch.setattr(topics, "lock_project", lambda project: (held.append(0), lock(project)))

    def counted(*arguments: Any, **named: Any) -> Any:
        held[-1] += 1
        return record(*arguments, **named)

    monkeypatch.setattr(topics, "record", counted)
    pasted = "\n".join(f"t{n}" for n in range(15_000))
    assert "There are more than 2,000 lines" in people["berto"].post("topics/", {"pasted": pasted}, 400)
    assert held == []
    pasted = "\n".join(f"t{n}, aklat" for n in range(450))
    people["berto"].act("topics/", {"pasted": pasted, "name": "t7"})
    assert held == [200, 200, 50]
    people["berto"].act("topics/", {"pasted": "t1\nt2\nbago"})
    assert Topic.objects.count() == 451


@pytest.fixture
def two_at_work() -> Iterator[None]:
    """Two people are at long work."""
    from kapwa.studio.core.long_work import LongWork

    places = [LongWork(), LongWork()]
    yield
    for place in places:
        place.leave()


def test_a_third_at_long_work_is_told_and_holds_nothing(
    project: Any, people: dict[str, Someone], two_at_work: None
) -> None:
    ana = people["ana"]
    for who, path, data in (
        ("berto", IMPORT, sent("t.csv", b"context\nx\n")),
        ("berto", "bring/", sent("t.csv", b"[task]\nx\n")),
        ("berto", "ask/", {}),
        ("ana", "releases/", {"version": "1.0.0"}),
        ("ana", "backup/", {}),
        ("ana", "results/", {"run": ""}),
    ):
        answer = people[who].client.post(f"/p/baryo/{path}", data)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10"), path
        assert "Try again in a minute." in answer.content.decode()
    for path in ("releases/", "backup/", IMPORT, "people/"):
        ana.get(path)


def test_long_work_leaves_its_place_however_it_ends(people: dict[str, Someone]) -> None:
    for _ in range(5):
        people["berto"].post(IMPORT, sent("t.csv", b""), 400)
        people["ana"].post("releases/", {"version": "x"}, 400)
        people["ana"].client.post("/p/baryo/backup/")
    people["berto"].post(IMPORT, sent("t.csv", b"context\nx\n"))


def test_many_presses_on_one_button_wait_for_nobody(people: dict[str, Someone], monkeypatch: Any) -> None:
    """Eight people ask the model at once: one is answered, nobody waits for that, and the page is left unread."""
    from django.conf import settings

    from kapwa.studio.situations import asking

    monkeypatch.setattr(settings, "KAPWA_MODEL", "replay:none.jsonl", raising=False)
    people["berto"].act("situations/new/", a_situation("Liza"))
    asking._BUSY.acquire()
    try:
        for _ in range(8):
            answer = people["berto"].client.post("/p/baryo/ask/", {"number": "1"})
            assert "The model is answering somebody else" in b"".join(answer.streaming_content).decode()
    finally:
        asking._BUSY.release()
    for _ in range(3):  # who goes away before a line came holds no place
        people["berto"].client.post("/p/baryo/ask/", {"number": "1"}).close()
    assert threading.active_count() < 20
    people["berto"].post(IMPORT, sent("t.csv", b"context\nx\n"))


def test_nobody_agrees_to_more_at_once_than_a_page_shows(people: dict[str, Someone], everyday: Any) -> None:
    jun = enter(everyday, "Jun", "translator")
    shown = [f"{n}:{n}" for n in range(2_500)]
    assert "Send less at once" in jun.post("translate/ko/", {"shown": shown}, 400)
