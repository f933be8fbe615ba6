"""Small files and forms that would hold everybody up, and a studio whose database is lost or damaged."""

import io
import threading
import zipfile
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client, RequestFactory
from studio_people import People, Someone, a_situation, enter

import kapwa.studio
import warm
from kapwa.errors import DataError, UsageError
from kapwa.studio import commands
from kapwa.studio.core import gate, intake, log
from kapwa.studio.core.erasure import forget
from kapwa.studio.core.exchange import export_project, read_archive
from kapwa.studio.core.long_work import LongWork
from kapwa.studio.core.security import OneWriter
from kapwa.studio.core.views import importing, topics
from kapwa.studio.models import Event, Membership, Topic
from kapwa.studio.situations import asking
from kapwa.tables import Most, read_with_problems

IMPORT, BRING = "import/", "bring/"
LARGE, ROWS = "is too large", "has more than 2,000 rows or 100,000 cells"


def zipped(files: dict[str, bytes], packing: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def columns(n: int, rows: int = 1, sign: bytes = b",") -> bytes:
    return sign.join(b"c%d" % i for i in range(n)) + b"\n" + (sign * (n - 1) + b"x\n") * rows


def workbook(wide: int, rows: int) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in range(1, rows + 1):
        book.active.cell(row, wide, "x")
    book.save(out)
    return out.getvalue()


def parquet() -> bytes:
    out = io.BytesIO()
    pl.DataFrame({"[task]": ["food x 1 y"] * 60_000, "[text]": ["a"] * 60_000}).write_parquet(out)
    return out.getvalue()


def rows_of_others() -> bytes:
    """Rows as JSON, each of which names other columns."""
    return b"".join(b"{%s}\n" % b",".join(b'"c%d": "x"' % (50 * i + j) for j in range(50)) for i in range(900))


BOMB, WIDE, STRANGE = zipped({"xl/worksheets/sheet1.xml": b" " * 30_000_000}), 45_000, {"t.csv": b"context\nx\n"}
# What is refused before a row of it is looked at, so that nobody waits: the page, the file, and what is said.
AT_THE_GATE: list[tuple[str, str, Callable[[], bytes], str]] = [
    (IMPORT, "t.csv", lambda: columns(WIDE), "has more than 500 columns"),
    (IMPORT, "t.tsv", lambda: columns(WIDE, sign=b"\t"), "has more than 500 columns"),
    (IMPORT, "t.jsonl", rows_of_others, "has more than 500 columns"),
    (IMPORT, "t.xlsx", lambda: workbook(600, 2), "has more than 500 columns"),
    (IMPORT, "t.zip", lambda: zipped({"t.csv": columns(WIDE)}), "has more than 500 columns"),
    (IMPORT, "t.zip", lambda: zipped({f"t{i}.csv": b"context\nx\n" for i in range(4000)}), "has more than 50 tables"),
    # Fifty tables of many columns are as much work as one of very many; so are rows of many tables.
    (IMPORT, "t.zip", lambda: zipped({f"t{i}.csv": columns(490) for i in range(50)}), "in its tables"),
    (IMPORT, "t.zip", lambda: zipped({f"t{i}.csv": b"context\n" + b"x\n" * 1500 for i in range(2)}), "in its tables"),
    (IMPORT, "t.zip", lambda: zipped(STRANGE, zipfile.ZIP_LZMA), "cannot be unpacked"),
    (IMPORT, "t.xlsx", lambda: zipped(STRANGE, zipfile.ZIP_BZIP2), "cannot be unpacked"),
    (IMPORT, "t.csv", lambda: b"Sitwasyon\n" + b"Isang araw.\n" * 10_000, "more than 2,000 rows"),
    (IMPORT, "t.csv", lambda: b"Sitwasyon\n" + b"x" * 5_000_001, LARGE),
    (BRING, "g.xlsx", lambda: b"", "g.xlsx"),
    (BRING, "g.xlsx", lambda: b"no workbook", "g.xlsx"),
    (BRING, "g.xlsx", lambda: BOMB, LARGE),
    (BRING, "g.csv", lambda: b"a,b\n1,2\n", "is not a file of work from the studio"),
    (BRING, "g.csv", lambda: b"[task],[text]\n" + b"food x 1 y,a\n" * 2001, ROWS),
    (BRING, "g.csv", lambda: columns(101, 999), ROWS),
    (BRING, "g.parquet", parquet, "cannot read files"),
    (BRING, "g.json", lambda: b"[1]", "holds no answers of a phone"),
    (BRING, "😀" * 90 + ".json", lambda: b"[]", "holds no answers"),  # nor is a name too long for a file
    (BRING, "g.json", lambda: b'{"records": [' + b",".join([b"1"] * 2001) + b"]}", "holds more than 2,000 answers"),
]


NO_TABLE: list[tuple[str, bytes, str]] = [
    ("t.csv", b"", "is empty"),
    ("t.csv", b"\xff\xfe\x00\x01\x02", "t.csv"),
    ("t.csv", "Sitwasyon\nmañana\n".encode("cp1252"), "t.csv"),
    ("t.csv", b'Sitwasyon,Paksa\n"Isa,dalawa\n', "is not valid CSV"),
    ("t.xlsx", b"PK\x03\x04 no workbook", "t.xlsx"),
    ("t.zip", b"PK\x03\x04 no archive", "cannot be unpacked"),
    ("t.zip", zipped({"t.xlsx": BOMB}), LARGE),
    ("t.exe", b"x", "Choose a file of one of these kinds: .csv, .tsv, .jsonl, .xlsx, .ods, .zip."),
    ("t.parquet", b"x", "Choose a file of one of these kinds"),
    ("t.csv", b"<!doctype html><html><body>Sign in</body></html>", "is a web page"),
]


def test_what_is_no_table_is_refused_and_leaves_nothing(people: People) -> None:
    before, berto = Event.objects.count(), people["berto"]
    for name, content, message in NO_TABLE:
        sent = {"file": SimpleUploadedFile(name, content), "action": "import"}
        answer = berto.client.post(berto.full(IMPORT), sent)
        page = unescape(answer.content.decode())
        assert (answer.status_code in (200, 400), message in page) == (True, True), (name, message)
        assert "kapwa-studio-" not in page  # where it lay for a while
    assert Event.objects.count() == before


def test_what_is_too_much_is_refused_before_anybody_waits(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    def passed(*_given: Any) -> None:
        raise AssertionError("it passed the gate")

    monkeypatch.setattr(importing, "read_place", passed)
    monkeypatch.setattr(intake, "lock_project", passed)
    before, berto = Event.objects.count(), people["berto"]
    for path, name, content, message in AT_THE_GATE:
        answer = berto.client.post(berto.full(path), {"file": SimpleUploadedFile(name, content())})
        assert (answer.status_code, message in answer.content.decode()) == (400, True), (path, name, message)
    files = [SimpleUploadedFile(f"t{i}.csv", columns(300)) for i in range(2)]
    assert "in its tables" in berto.post(IMPORT, {"file": files}, 400)
    for path in (IMPORT, BRING):
        berto.post(path, status=400)
    assert Event.objects.count() == before


def test_others_wait_for_no_more_of_a_file_than_a_phone_sends(
    project: Any, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    for module, taking in ((intake, "take"), (topics, "record")):
        lock, act = module.lock_project, getattr(module, taking)

        def counted(*given: Any, act: Any = act, **named: Any) -> Any:
            held[-1] += 1
            return act(*given, **named)

        monkeypatch.setattr(module, "lock_project", lambda project, lock=lock: (held.append(0), lock(project)))
        monkeypatch.setattr(module, taking, counted)
    sent = SimpleUploadedFile("g.csv", b"[task],[text]\n" + b"food x 1 y,a\n" * 450)
    assert "g.csv, row 451: it was filled in by somebody" in people["berto"].post(BRING, {"file": sent})
    assert held == [200, 200, 50]
    held.clear()
    pasted = "\n".join(f"t{n}" for n in range(15_000))
    assert "There are more than 2,000 lines" in people["berto"].post("topics/", {"pasted": pasted}, 400)
    assert held == []
    people["berto"].act("topics/", {"pasted": "\n".join(f"t{n}, aklat" for n in range(450)), "name": "t7"})
    assert held == [200, 200, 50]
    people["berto"].act("topics/", {"pasted": "t1\nt2\nbago"})
    assert Topic.objects.count() == 451


def test_rows_of_a_workbook_are_counted_while_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.xlsx").write_bytes(workbook(900, 199))
    seen = []

    class Counting(Most):
        def counted(self, path: Path, lines: Any) -> Any:
            return super().counted(path, (seen.append(1) or line for line in lines))

    with pytest.raises(DataError, match="more than 2,000 rows or 100,000 cells"):
        read_with_problems(tmp_path / "t.xlsx", Counting(2_000, 100_000))
    assert len(seen) == 112  # rows of 900 cells


def test_every_upload_passes_the_one_gate() -> None:
    """Who reads files that are posted keeps them with ``brought``, and posts that bring one hold nobody up.

    But for whoever runs the studio, who brings a whole project back.
    """
    views = {path: path.read_text() for path in Path(kapwa.studio.__path__[0]).rglob("*.py")}
    # A form that is kept for later holds no file.
    uploading = {path: text for path, text in views.items() if "posted_files(" in text and path.name != "posted.py"}
    assert len(uploading) == 3
    for path, text in uploading.items():
        assert text.count("posted_files(") == text.count(" brought(") + text.count("(brought(") == 1
        assert ("hold_write_lock=False" in text) is (path.name != "beginning.py")


def test_questions_and_prompts_are_read_before_others_wait(askers: People, monkeypatch: Any) -> None:
    free = []
    read = gate.read_with_problems
    monkeypatch.setattr(
        gate, "read_with_problems", lambda *given: (free.append(not log._WRITER._is_owned()), read(*given))[1]
    )
    sent = SimpleUploadedFile("t.csv", b"id,topic,english\nx3,Food,What?\n")
    askers["minji"].act(IMPORT, {"file": sent})
    assert free == [True]


@pytest.mark.parametrize("packing", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_an_archive_that_is_packed_strangely_is_refused(project: Any, packing: int, tmp_path: Path) -> None:
    export_project(project, tmp_path / "archive.zip")
    with zipfile.ZipFile(tmp_path / "archive.zip") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    (tmp_path / "strange.zip").write_bytes(zipped(parts, packing))
    with pytest.raises(DataError, match="cannot be unpacked"):
        read_archive(tmp_path / "strange.zip")


@pytest.fixture
def two_at_work() -> Iterator[None]:
    """Two people are at long work."""
    places = [LongWork(), LongWork()]
    yield
    for place in places:
        place.leave()


def test_a_third_at_long_work_is_told_and_holds_nothing(people: People, two_at_work: None) -> None:
    for who, path, data in (
        ("berto", IMPORT, {"file": SimpleUploadedFile("t.csv", b"context\nx\n")}),
        ("berto", BRING, {"file": SimpleUploadedFile("t.csv", b"[task]\nx\n")}),
        ("berto", "ask/", {}),
        ("ana", "releases/", {"version": "1.0.0"}),
        ("ana", "backup/", {}),
        ("ana", "results/", {"run": ""}),
    ):
        answer = people[who].client.post(f"/p/baryo/{path}", data)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10"), path
    for path in ("releases/", "backup/", IMPORT, "people/"):
        people["ana"].get(path)


def test_long_work_leaves_its_place_however_it_ends(people: People) -> None:
    for _ in range(3):
        people["berto"].post(IMPORT, {"file": SimpleUploadedFile("t.csv", b"")}, 400)
        people["ana"].post("releases/", {"version": "x"}, 400)
        people["ana"].client.post("/p/baryo/backup/", {"action": "archive"})
    people["berto"].act(IMPORT, {"file": SimpleUploadedFile("t.csv", b"context\nx\n")})


def test_many_presses_on_one_button_wait_for_nobody(people: People, monkeypatch: Any) -> None:
    """Somebody asks the model while it answers another: nobody waits for that, and the page is left unread."""
    monkeypatch.setattr(settings, "KAPWA_MODEL", "replay:none.jsonl", raising=False)
    people["berto"].act("situations/new/", a_situation("Liza"))
    asking._BUSY.acquire()
    try:
        for _ in range(4):
            answer = people["berto"].client.post("/p/baryo/ask/", {"number": "1"})
            assert "The model is answering somebody else" in b"".join(answer.streaming_content).decode()
    finally:
        asking._BUSY.release()
    for _ in range(3):  # who goes away before a line came holds no place
        people["berto"].client.post("/p/baryo/ask/", {"number": "1"}).close()
    assert threading.active_count() < 20
    people["berto"].act(IMPORT, {"file": SimpleUploadedFile("t.csv", b"context\nx\n")})


def test_nobody_agrees_to_more_at_once_than_a_page_shows(everyday: Any) -> None:
    jun = enter(everyday, "Jun", "translator")
    shown = [f"{n}:{n}" for n in range(2_500)]
    assert "Send less at once" in jun.post("translate/ko/", {"shown": shown}, 400)


def test_an_answer_to_head_has_no_body() -> None:
    answer = OneWriter(lambda request: HttpResponse("page"))(RequestFactory().head("/"))
    assert (answer.content, answer["Content-Length"]) == (b"", "4")


def test_sync_says_in_json_that_too_much_came(answerer: Someone) -> None:
    answer = answerer.client.post(answerer.full("sync/"), b"x" * 3_000_000, content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/json")
    assert "too large" in answer.json()["error"]


def test_addresses_that_are_none_are_refused(project: Any, tmp_path: Path) -> None:
    for url in ("javascript:alert(1)", "studio.example.org", "https://"):
        with pytest.raises(UsageError, match="is not the address of a studio"):
            commands.invite_people(project, ["writer"], 1, url)
    with pytest.raises(UsageError, match=r"999\.1\.1\.1 is not an address to listen on"):
        next(commands.serve(tmp_path, host="999.1.1.1", port=0, url=""))


def test_check_refuses_a_lost_an_empty_and_a_damaged_database(tmp_path: Path) -> None:
    def kapwa(*arguments: str) -> tuple[int, str]:
        done = warm.kapwa("studio", *arguments, "--home", "home", cwd=tmp_path)
        assert "Traceback" not in done.stderr
        return done.returncode, " ".join(done.stderr.split())

    assert "There is no studio in home" in kapwa("serve")[1]
    assert kapwa("new", "baryo")[0] == 0
    assert kapwa("check")[0] == 0
    file = tmp_path / "home" / "studio.sqlite"
    content = file.read_bytes()
    for page in range(4096, len(content), 100 * 4096):
        file.write_bytes(content[:page] + bytes(4096) + content[page + 4096 :])
        code, message = kapwa("check")
        assert (code, "damaged" in message or "cannot be opened" in message) == (2, True), (page, message)
    file.write_bytes(b"")
    code, message = kapwa("check")
    assert (code, "holds no project" in message) == (2, True), message
    for path in file.parent.glob("studio.sqlite*"):
        path.unlink()
    for command in (["check"], ["serve", "--open"]):
        code, message = kapwa(*command)
        assert (code, "has lost its database" in message) == (2, True), message
    assert not file.exists()


def test_visits_on_other_devices_end_with_an_erasure(project: Any, people: People) -> None:
    member = Membership.objects.get(pseudonym="Carla")
    Client().force_login(member.person)
    before = Session.objects.count()
    forget(member)
    assert before - Session.objects.count() == 2
    people["berto"].get("")
    assert people["carla"].client.get(people["carla"].full("")).status_code == 302
