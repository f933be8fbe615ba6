"""``kapwa run`` on a full disk, in a read-only folder, on a damaged journal: a message, exit code 2, answers kept."""

import contextlib
import json
import os
import shlex
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import kapwa as kapwa_package
import warm

ANSWERS = 96 * 24
TEXT = "Tatawag ako mamaya. " * 20
Kapwa = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of answers to every question of a task that costs little to judge."""
    folder = tmp_path_factory.mktemp("faults")
    task = kapwa_package.load_task("eecc/stories", samples=24)
    with (folder / "answers.jsonl").open("w", encoding="utf-8") as file:
        for i, request in enumerate(task.requests(task.items())):
            text = f"{i:05} {TEXT}"
            row = {"item_id": request.item_id, "variant": request.variant, "sample": request.sample, "text": text}
            file.write(json.dumps(row) + "\n")
    assert i + 1 == ANSWERS
    return folder


@pytest.fixture
def kapwa(work: Path) -> Kapwa:
    return partial(warm.kapwa, cwd=work)


def evaluate(out: Path) -> tuple[str, ...]:
    return ("run", "eecc/stories", "--samples", "24", "--model", "replay:answers.jsonl", "--out", str(out))


def stopped(done: subprocess.CompletedProcess[str], *said: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("error: ") == 1
    assert "Traceback" not in done.stderr
    for text in said:
        assert text in " ".join(done.stderr.split()), done.stderr


def answers_in(journal: Path) -> dict[bytes, str]:
    with contextlib.closing(sqlite3.connect(journal)) as base:
        return dict(base.execute("SELECT key, payload FROM responses WHERE failed = 0"))


def the_run(out: Path) -> Path:
    (folder,) = out.iterdir()
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A real file system whose size is given; skips where none can be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = False

    def mount(size: str) -> Path:
        nonlocal mounted
        options = f"size={size}" if not mounted else f"remount,size={size}"
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("mounting a small file system needs root and Linux")
        mounted = True
        return folder

    yield mount
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_while_answers_come(small_disk: Callable[[str], Path], kapwa: Kapwa) -> None:
    out = small_disk("1100k") / "runs"
    stopped(kapwa(*evaluate(out)), "cannot grow: the disk is full.", "Every answer committed before is kept.")
    small_disk("64m")
    folder = the_run(out)
    kept = answers_in(folder / "journal.sqlite")
    assert 500 < len(kept) < ANSWERS
    done = kapwa(*evaluate(out), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["manifest"]["counts"]["answered"] == ANSWERS
    assert answers_in(folder / "journal.sqlite").items() >= kept.items()
    with contextlib.closing(sqlite3.connect(folder / "journal.sqlite")) as base:
        assert base.execute("SELECT count(*) FROM sessions").fetchone() == (2,)


def test_a_disk_that_is_full_when_results_are_written(small_disk: Callable[[str], Path], kapwa: Kapwa) -> None:
    out = small_disk("64m") / "runs"
    assert kapwa(*evaluate(out)).returncode == 0
    folder = the_run(out)
    manifest = (folder / "run.json").read_bytes()
    kept = answers_in(folder / "journal.sqlite")
    with contextlib.suppress(OSError), (out.parent / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(1 << 12))
    stopped(kapwa(*evaluate(out)), "No space left on device. Every answer committed before is kept.")
    (out.parent / "ballast").unlink()
    assert answers_in(folder / "journal.sqlite") == kept
    assert kapwa(*evaluate(out)).returncode == 0
    assert json.loads((folder / "run.json").read_bytes())["status"] == json.loads(manifest)["status"] == "complete"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_results_that_cannot_be_printed(kapwa: Kapwa, work: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kapwa.cli.main", *evaluate(tmp_path / "runs"), "--json"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=work, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    stopped(done, "the disk is full")
    assert len(answers_in(the_run(tmp_path / "runs") / "journal.sqlite")) == ANSWERS


@pytest.fixture
def frozen(small_disk: Callable[[str], Path], tmp_path: Path) -> Callable[[Path], None]:
    """Make a folder read-only: for root a read-only file system, because nothing less stops root."""
    if os.name != "posix":
        pytest.skip("needs POSIX permissions")

    def freeze(folder: Path) -> None:
        if os.geteuid() == 0:
            small_disk("64m,ro")
        else:
            for place in (folder, *folder.rglob("*")):
                place.chmod(0o555 if place.is_dir() else 0o444)

    return freeze


def test_a_read_only_folder(
    small_disk: Callable[[str], Path], frozen: Callable[[Path], None], kapwa: Kapwa, tmp_path: Path
) -> None:
    out = (small_disk("64m") if os.geteuid() == 0 else tmp_path) / "runs"
    assert kapwa(*evaluate(out)).returncode == 0
    before = {place: place.read_bytes() for place in out.rglob("*") if place.is_file()}
    frozen(out)
    try:
        stopped(kapwa(*evaluate(out)), "ead-only" if os.geteuid() == 0 else "cannot be")
        done = kapwa("report", str(the_run(out)), "-o", str(tmp_path / "report.html"))
        assert done.returncode == 0, f"what is there can still be read: {done.stderr}"
        assert {place: place.read_bytes() for place in out.rglob("*") if place.is_file()} == before
    finally:
        for place in () if os.geteuid() == 0 else (out, *out.rglob("*")):
            place.chmod(0o755)


def pages_of(journal: Path, kind: int) -> list[int]:
    """Where the pages of a kind lie: 13 leaf of a table, 5 inside of a table, 10 leaf of an index, 2 inside of one."""
    raw = journal.read_bytes()
    return [at for at in range(0, len(raw), 4096) if raw[at + (100 if at == 0 else 0)] == kind]


@pytest.fixture(scope="module")
def finished(work: Path) -> Path:
    assert warm.kapwa(*evaluate(work / "finished"), cwd=work).returncode == 0
    return the_run(work / "finished")


@pytest.fixture
def copy(finished: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / finished.name
    folder.mkdir(parents=True)
    for file in finished.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


@pytest.mark.parametrize(("where", "most_lost"), [("leaf of a table", 12), ("leaf of an index", 0)])
def test_a_damaged_page_is_reported_and_what_can_be_read_is_saved(
    kapwa: Kapwa, copy: Path, where: str, most_lost: int
) -> None:
    journal = copy / "journal.sqlite"
    whole = answers_in(journal)
    tables = {file.name: file.read_bytes() for file in copy.glob("*.parquet")}
    kinds = {"leaf of a table": 13, "leaf of an index": 10}
    raw = bytearray(journal.read_bytes())
    pages = pages_of(journal, kinds[where])
    at = pages[min(5, len(pages) - 1)]
    raw[at : at + 4096] = os.urandom(4096)
    journal.write_bytes(raw)
    stopped(kapwa(*evaluate(copy.parent)), "journal.sqlite is damaged: ", f"kapwa doctor {copy} --salvage")
    assert journal.read_bytes() == raw, "a damaged journal is left as it is"
    assert kapwa("doctor", str(copy)).returncode == 1
    assert journal.read_bytes() == raw
    done = kapwa("doctor", str(copy), "--salvage", "--json")
    assert done.returncode == 0, done.stderr
    saved = json.loads(done.stdout)
    assert Path(saved["kept"]).read_bytes() == raw
    assert answers_in(journal).items() <= whole.items()
    assert saved["answers"] == len(answers_in(journal)) >= ANSWERS - most_lost
    assert saved["answers"] > 0
    again = kapwa(*evaluate(copy.parent))
    assert again.returncode == 0, again.stderr
    assert answers_in(journal) == whole
    assert {file.name: file.read_bytes() for file in copy.glob("*.parquet")} == tables


def test_doctor_says_what_it_needs(kapwa: Kapwa, tmp_path: Path) -> None:
    stopped(kapwa("doctor", "--salvage"), "--salvage needs a run folder")
    stopped(kapwa("doctor", str(tmp_path)), "holds no journal.sqlite")
    (tmp_path / "journal.sqlite").write_bytes(b"nothing of ours" * 1000)
    stopped(kapwa("doctor", str(tmp_path), "--salvage"), "no answer in it can be read")
    assert (tmp_path / "journal.sqlite").read_bytes() == b"nothing of ours" * 1000


def test_a_sound_journal_is_not_replaced(kapwa: Kapwa, copy: Path) -> None:
    before = {place.name: place.read_bytes() for place in copy.iterdir()}
    done = kapwa("doctor", str(copy), "--salvage")
    assert done.returncode == 0, done.stderr
    assert "2,304 answers and 0 errors, all intact" in done.stdout
    assert "damaged" not in done.stdout + done.stderr
    saved = json.loads(kapwa("doctor", str(copy), "--salvage", "--json").stdout)
    assert (saved["answers"], saved["errors"], saved["kept"]) == (ANSWERS, 0, None)
    left = {place.name: place.read_bytes() for place in copy.iterdir() if not place.name.startswith(".lock")}
    assert left == {name: raw for name, raw in before.items() if not name.startswith(".lock")}


def test_a_hint_quotes_a_path_that_a_shell_would_split(kapwa: Kapwa, copy: Path) -> None:
    folder = copy.rename(copy.with_name("it's a run"))
    journal = folder / "journal.sqlite"
    journal.write_bytes(journal.read_bytes().replace(b"01234 Tatawag ako", b"01234 Tatawag aka"))
    done = kapwa("doctor", str(folder))
    assert done.returncode == 1
    hint = next(line for line in done.stdout.splitlines() if "--salvage" in line)
    command = hint.partition(": ")[2]
    assert shlex.split(command) == ["kapwa", "doctor", str(folder), "--salvage"]
    assert kapwa(*shlex.split(command)[1:]).returncode == 0
