"""Small files that would stall everybody, and a studio whose database is lost or damaged."""

import io
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import RequestFactory
from studio_people import Someone, enter

import warm
from kapwa.errors import UsageError


@pytest.fixture
def parts(project: Any, food: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records were taken in each time that others had to wait."""
    from kapwa.studio.core import intake

    counts: list[int] = []
    lock_project, take = intake.lock_project, intake.take
    monkeypatch.setattr(intake, "lock_project", lambda project: (counts.append(0), lock_project(project)))

    def counted(*arguments: Any) -> Any:
        counts[-1] += 1
        return take(*arguments)

    monkeypatch.setattr(intake, "take", counted)
    return counts


def table(rows: int) -> bytes:
    return b"[task],[text]\n" + b"food x 1 y,a\n" * rows


def bring(who: Someone, name: str, content: bytes, status: int = 200) -> str:
    return who.post("bring/", {"file": SimpleUploadedFile(name, content)}, status=status)


def test_a_small_file_of_many_rows_is_refused_before_anybody_waits(project: Any, parts: list[int]) -> None:
    packed = io.BytesIO()
    pl.DataFrame({"[task]": ["food x 1 y"] * 60_000, "[text]": ["a"] * 60_000}).write_parquet(packed)
    gina = enter(project, "Gina", "answerer")
    assert "cannot read files" in bring(gina, "g.parquet", packed.getvalue(), 400)
    assert "has more than 2,000 rows or 100,000 cells" in bring(gina, "g.csv", table(2001), 400)
    wide = b",".join(b"c%d" % n for n in range(101)) + b"\n" + (b"," * 100 + b"\n") * 999
    assert "has more than 2,000 rows or 100,000 cells" in bring(gina, "g.csv", wide, 400)
    many = b'{"records": [' + b",".join([b"1"] * 2001) + b"]}"
    assert "holds more than 2,000 answers" in bring(gina, "g.json", many, 400)
    assert parts == []


def test_others_wait_for_no_more_records_of_a_file_than_a_phone_sends(project: Any, parts: list[int]) -> None:
    page = bring(enter(project, "Gina", "answerer"), "g.csv", table(450))
    assert "g.csv, row 451: it was filled in by somebody" in page
    assert parts == [200, 200, 50]


def test_rows_of_a_workbook_are_counted_while_it_is_read(tmp_path: Path) -> None:
    import openpyxl

    from kapwa.errors import DataError
    from kapwa.tables import Most, read_parts

    book = openpyxl.Workbook()
    for row in range(1, 200):
        book.active.cell(row, 900, "x")
    book.save(tmp_path / "t.xlsx")
    seen = []

    class Counting(Most):
        def counted(self, path: Path, lines: Any) -> Any:
            return super().counted(path, (seen.append(1) or line for line in lines))

    with pytest.raises(DataError, match="more than 2,000 rows or 100,000 cells"):
        read_parts(tmp_path / "t.xlsx", Counting(2_000, 100_000))
    assert len(seen) == 112  # rows of 900 cells


def test_every_upload_passes_the_one_gate() -> None:
    """Who reads ``request.FILES`` keeps it with ``brought``, and posts that bring one hold nobody up.

    But for whoever runs the studio, who brings a whole project back.
    """
    import kapwa.studio

    views = {path: path.read_text() for path in Path(kapwa.studio.__path__[0]).rglob("*.py")}
    # A form that is kept for later holds no file.
    uploading = {path: text for path, text in views.items() if "FILES" in text and path.name != "posted.py"}
    assert len(uploading) == 3
    for path, text in uploading.items():
        assert text.count("request.FILES") == text.count(" brought(") + text.count("(brought(") == 1
        assert ("hold_write_lock=False" in text) is (path.name != "beginning.py")


def test_questions_and_prompts_are_read_before_others_wait(askers: dict[str, Someone], monkeypatch: Any) -> None:
    from kapwa.studio.core import gate, log

    free = []
    read = gate.read_parts
    monkeypatch.setattr(gate, "read_parts", lambda *given: (free.append(not log._WRITER._is_owned()), read(*given))[1])
    sent = SimpleUploadedFile("t.csv", b"id,topic,english\nx3,Food,What?\n")
    askers["minji"].post("import/", {"file": sent})
    assert free == [True]


def test_an_answer_to_head_has_no_body() -> None:
    from kapwa.studio.core.security import OneWriter

    answer = OneWriter(lambda request: HttpResponse("page"))(RequestFactory().head("/"))
    assert (answer.content, answer["Content-Length"]) == (b"", "4")


def test_sync_says_in_json_that_too_much_came(project: Any, food: Any) -> None:
    gina = enter(project, "Gina", "answerer")
    answer = gina.client.post(gina.full("sync/"), b"x" * 3_000_000, content_type="application/json")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/json")
    assert "too large" in answer.json()["error"]


def test_addresses_that_are_none_are_refused(project: Any, tmp_path: Path) -> None:
    from kapwa.studio import commands

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
    for page in range(4096, len(content), 20 * 4096):
        file.write_bytes(content[:page] + bytes(4096) + content[page + 4096 :])
        code, message = kapwa("check")
        assert (code, "damaged" in message or "cannot be opened" in message) == (2, True), (page, message)
    file.write_bytes(b"")
    assert (kapwa("check")[0], "holds no project" in kapwa("check")[1]) == (2, True)
    for path in file.parent.glob("studio.sqlite*"):
        path.unlink()
    for command in (["check"], ["serve", "--open"]):
        code, message = kapwa(*command)
        assert (code, "has lost its database" in message) == (2, True), message
    assert not file.exists()


def test_visits_on_other_devices_end_with_an_erasure(project: Any) -> None:
    from django.contrib.sessions.models import Session
    from django.test import Client

    from kapwa.studio.core.erasure import forget
    from kapwa.studio.models import Membership

    gina, berto = enter(project, "Gina", "writer"), enter(project, "Berto", "writer")
    person = Membership.objects.get(pseudonym="Gina").person
    Client().force_login(person)
    before = set(Session.objects.values_list("pk", flat=True))
    forget(Membership.objects.get(pseudonym="Gina"))
    assert len(before) - Session.objects.count() == 2
    berto.get("")
    assert gina.client.get(gina.full("")).status_code == 302
