"""Commands that cannot be done, by every door: a message that says what and where, exit code 2, nothing written."""

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import openpyxl
import polars as pl
import pytest
from filelock import FileLock

import kapwa
import warm
from kapwa.cli import main, system_errors
from kapwa.cli.output import check_writable
from kapwa.errors import ModelError, UsageError
from kapwa.runs.schema import RUN_TABLES
from kapwa.tables import csv_text

Refused = Callable[..., str]
SITUATION = {
    "id": "a1",
    "cluster": "a1",
    "category": "ethics",
    "topic": "food",
    "user": "A man.",
    "context": "He eats.",
    "personal_situation": "",
    "instruction": "What should he do?",
    "relevant": ["Go with them now.", "Ask them kindly first.", "Bring some food along."],
    "best": "Go with them now.",
    "irrelevant": ["Run away fast.", "Shout at them all.", "Sleep all day."],
}
PACK = Path(kapwa.__file__).parent / "suites" / "kalahi" / "packs" / "filipino"
CARD = (PACK / "card.yaml").read_text(encoding="utf-8")
ESCAPES = "\x1b]52;c;aGk=\x07 \x1b[31m \x9b2J"
LM_EVAL = Path(__file__).resolve().parents[1] / "exchange" / "lm_eval_0_4_13"

# Columns of a mapping of one question, and mappings that cannot be.
COLUMNS = {"id": "n", "culture": "land", "english": "ask", "answers": "right"}
MAPPINGS: dict[str, dict[str, object]] = {
    "join-list": {"join": {"table": "t.csv", "on": [], "columns": {"local": "ask"}}},
    "join-object": {"join": {"table": "t.csv", "on": {}, "columns": {"local": "ask"}}},
    "name-null": {"table": "t\0.csv"},
    "name-turned": {"table": "t\u202e.csv"},
    "name-lines": {"table": "t\n.csv"},
    "pattern": {"table": "a**/*.csv"},
}
# Files of answers that cannot be read.
ANSWERS = {
    "latin.csv": "item_id,text\nx,caf\xe9\n".encode("latin-1"),
    "cut.jsonl": b'{"item_id": "x", "text": "a',
    "other.csv": b"item_id,text\nx,a\n",
    "cut.xlsx": b"PK\x03\x04",
}
PIPES = (
    "pipe.jsonl",
    "pipes/situations.csv",
    "results_2026.json",
    "log.eval",
    "piped/run.json",
    "piped-t/scores.parquet",
)
# Files of a data set of situations with a value that no text can hold.
VALUES = {
    "half.yaml": json.dumps([{**SITUATION, "context": "food \ud83d"}]),
    "half.jsonl": json.dumps({**SITUATION, "context": "food \ud83d"}),
    "digits.jsonl": f'{{"id": {"9" * 4400}}}',
    "deep.jsonl": "[" * 100_000,
    "bool.yaml": "- id: !!bool x\n",
    "int.yaml": '- id: !!int ""\n',
    "date.yaml": "- id: 2024-13-45\n",
}
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
)


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one sound run, and with one of each damage that the table below names."""
    folder = tmp_path_factory.mktemp("work")
    task = kapwa.load_task("kalahi/open", data="sample:filipino", limit=2, metrics=["chrf"])
    task.item_table(task.items()).select("item_id", "variant", text="best").write_ndjson(folder / "answers.jsonl")
    kapwa.evaluate(task, f"replay:{folder / 'answers.jsonl'}", path=folder / "sound", progress=False)
    rows = [
        {"nationality": name, "concept": concept, "sample": k, "response": f"{name} {concept} {k} and so on"}
        for name in ("Korean", "French", "Filipino")
        for concept in ("rice", "rain")
        for k in range(2)
    ]
    pl.DataFrame(rows).write_ndjson(folder / "texts.jsonl")
    (folder / "afile").touch()
    for name, content in ANSWERS.items():
        (folder / name).write_bytes(content)
    lay_data(folder)
    damage_runs(folder)
    for name in PIPES:
        (folder / name).unlink(missing_ok=True)
        (folder / name).parent.mkdir(exist_ok=True)
        os.mkfifo(folder / name)
    return folder


def lay_data(folder: Path) -> None:
    """Lay out data sets with damaged situations, cards and mappings."""
    for name, text in VALUES.items():
        pack = folder / name.replace(".", "-")
        pack.mkdir()
        (pack / "card.yaml").write_text(CARD, encoding="utf-8")
        (pack / f"situations.{name.partition('.')[2]}").write_text(text, encoding="utf-8")
    bomb = folder / "bomb"
    bomb.mkdir()
    (bomb / "card.yaml").write_text(CARD + BOMB, encoding="utf-8")
    (bomb / "situations.yaml").write_text(json.dumps([SITUATION]), encoding="utf-8")
    for name, changes in MAPPINGS.items():
        (folder / name).mkdir()
        (folder / name / "t.csv").write_text("n,land,ask,right\nq-1,Peru,What?,tea\n", encoding="utf-8")
        mapping = {"form": "blend/saq", "table": "t.csv", "columns": COLUMNS, **changes}
        (folder / name / "mapping.yaml").write_text(json.dumps(mapping), encoding="utf-8")


def damage_runs(folder: Path) -> None:
    """Make copies of the sound run: with a damaged manifest, swapped tables, a column less, pipes, unfinished."""
    sound = folder / "sound"
    (folder / "unfinished").mkdir()
    shutil.copy(sound / "journal.sqlite", folder / "unfinished")
    (folder / "empty").mkdir()
    for name in (
        "second",
        "damaged",
        "piped",
        "piped-t",
        *(f"swapped-{table}" for table in TABLES),
        "no-prompt",
        "no-culture",
    ):
        shutil.copytree(sound, folder / name)
    manifest = json.loads((sound / "run.json").read_text(encoding="utf-8"))
    (folder / "damaged" / "run.json").write_text(json.dumps({**manifest, "model": {"revision": ""}}), encoding="utf-8")
    for table in TABLES:
        other = "floors" if table in ("scores", "items") else "scores"
        shutil.copy(sound / f"{other}.parquet", folder / f"swapped-{table}" / f"{table}.parquet")
    items = pl.read_parquet(sound / "items.parquet")
    for column in ("prompt", "culture"):
        items.rename({column: "values"}).write_parquet(folder / f"no-{column}" / "items.parquet")


TABLES = [*RUN_TABLES, "answers"]
MC = "run kalahi/mc --model smollm2"
SERVED = "run kalahi/open --model openai:x --base-url http://127.0.0.1:1/v1"
PLACES = ["afile", "afile/sub", "n" * 300, *(["/proc/nope"] if sys.platform == "linux" else [])]
MARGINS = ("0", "-0.02", "nan", "inf", "two", "''")
# A command, and what its message says; all are typed in the folder above.
REFUSED = [
    ("run kalahy/mc --model smollm2", "Did you mean 'kalahi'"),
    ("run kalahi/mc --model hf:./nowhere", "nowhere"),
    ("run kalahi/mc --model replay:answers.jsonl", "log-probabilities"),
    ("run kalahi/open --model smollm2 --metrics crf", "Did you mean 'chrf'"),
    (f"{MC} --data no/such/folder", "no/such/folder"),
    ("shown empty", "contains no runs"),
    ("shown nowhere", "nowhere is not a folder"),
    (f"{MC} --limit 0", "--limit"),
    (f"{MC} --where topic", "column=value"),
    (f"{MC} --dtype float31", "float31"),
    (f"{MC} --metrics chrf", "metrics"),
    (f"{MC} --extra body={{", "not valid JSON"),
    (f"{MC} --extra zz=1", "knows no option 'zz'"),
    (f"{SERVED} --extra attempts=1e400", "must be numbers"),
    (f"{SERVED} --dtype float16", "no option 'dtype'"),
    (f"{SERVED} --dry-run --samples 1000000", "samples each): too many to look at one by one"),
    (f"{SERVED} --limit 1 --extra body={'[' * 60_000}", "nested too deeply"),
    ("run kalahi/mc --model replay:answers.csv --dtype float16", "no option 'dtype'"),
    ("score kalahi/open --responses none.jsonl", "none.jsonl"),
    ("score kalahi/open --responses pipe.jsonl", "is a pipe or a device"),
    ("score kalahi/open --responses latin.csv --data sample:filipino", "latin.csv, row 2"),
    ("score kalahi/open --responses cut.jsonl --data sample:filipino", "cut.jsonl, row 1"),
    ("score kalahi/open --responses other.csv --data sample:filipino", "(here: item 'x')"),
    ("score kalahi/open --responses cut.xlsx --data sample:filipino", "XLSX"),
    ("audit sample run", "There is no verb 'audit'. It is now 'kapwa label'"),
    # Data
    ("data check nowhere", "There is no file, folder or data set 'nowhere'"),
    (f"{MC} --data half-yaml", "situations.yaml, row 1: holds half of a character (\\ud83d"),
    (f"{MC} --data half-jsonl", "situations.jsonl, row 1, column 'context': holds half of a character (\\ud83d"),
    (f"{MC} --data digits-jsonl", "situations.jsonl, row 1: is not valid JSON (a number of over 4,300 digits)"),
    (f"{MC} --data deep-jsonl", "situations.jsonl, row 1: is not valid JSON (nested too deeply)"),
    (f"{MC} --data bool-yaml", "situations.yaml, row 1: holds a value that cannot be read"),
    (f"{MC} --data int-yaml", "situations.yaml, row 1: holds a value that cannot be read"),
    (f"{MC} --data date-yaml", "month must be in 1..12"),
    (f"{MC} --data bomb", "repeats itself without end"),
    *((f"data check join-{kind}", "'join") for kind in ("list", "object")),
    *((f"data check name-{kind}", "no file's name has") for kind in ("null", "turned", "lines")),
    ("data check pattern", "'a**/*.csv' has '**' beside other letters"),
    # Labels
    ("label agree none.csv --data sample:filipino", "none.csv"),
    ("label read none.csv --rubric kalahi-criterai", "'kalahi-criteria'"),
    ("label sheets eecc --where topic=life", "its items have none"),
    ("label sheets blend --data sample", "no multiple-choice questions"),
    ("label sheets blend --data sample --variant local/inst-4", "generate"),
    ("label sheets kalahi --data pipes --out forms", "situations.csv: is a pipe or a device, not a file"),
    *(
        (f"label sheets kalahi --run no-{column} --out forms", f"it has no column '{column}'")
        for column in ("prompt", "culture")
    ),
    # Runs
    ("report empty", "not a run"),
    ("compare empty sound", "not a run"),
    ("report unfinished -o page.html", "is an unfinished run"),
    ("report piped", "is a pipe or a device"),
    ("report piped-t", "is a pipe or a device"),
    (f"report sound --answers {'9' * 5000}", "--answers is a number"),
    *(
        (words, "run.json is damaged")
        for words in (
            *("report damaged -o page.html", "compare damaged sound", "export damaged --format csv -o out"),
            *("card datasheet damaged", "words damaged", "label sheets kalahi --run damaged --out forms"),
        )
    ),
    *(
        (f"export swapped-{table} --format csv -o out", f"{table}.parquet is another table")
        for table in TABLES
    ),
    *((f"compare no-run nor-this --margin {margin}", "margin") for margin in MARGINS),
    ("compare no-run nor-this --fail-on regression", "--margin 0.02"),
    ("compare no-run nor-this --strict", "--margin 0.02"),
    ("compare no-run nor-this --junit kapwa.xml", "--margin 0.02"),
    ("compare no-run nor-this --margin 0.02 --fail-on anything", "fail-on"),
    ("compare no-run nor-this --margin 0.02 --equal-within 0.02", "Use one of them at a time"),
    ("compare no-run nor-this --margin 0.02 --markdown .", "is a folder"),
    ("compare sound second --margin 2 --fail-on regression --junit k.xml", "for 2 points write 0.02"),
    *(
        (f"{verb} --equal-within {margin}", "The margin is")
        for verb in ("compare sound second --csv bad.csv", "report sound -o bad.html")
        for margin in ("0", "-0.02", "2", "nan")
    ),
    # Where nothing can be written; said before any work is done
    *((f"export sound --format csv -o {place}", f"error: {place}") for place in PLACES),
    *((f"report sound -o {place}/x.html", f"error: {place}/x.html") for place in PLACES[:2]),
    *((f"report sound --figures {place}", f"error: {place}") for place in PLACES[:2]),
    *((f"report sound --csv {place}", f"error: {place}") for place in PLACES[:2]),
    *(
        (f"import {LM_EVAL} --format lm-eval -o {place}", f"error: {place}")
        for place in (*PLACES[:2], *PLACES[3:], *(["/proc"] if sys.platform == "linux" else []))
    ),
    *(
        (f"analyze eecc --responses texts.jsonl --permutations 19 {option} {place}", f"error: {place}")
        for option, place in (("-o", "afile/x.html"), ("--out", "afile"), ("--out", "afile/sub"))
    ),
    # Files of other tools
    ("import results_2026.json --format lm-eval", "is a pipe or a device"),
    ("import log.eval --format inspect", "is a pipe or a device"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[words[:70] for words, _ in REFUSED])
def test_a_command_that_cannot_be_done_ends_in_a_message_and_writes_nothing(
    words: str, says: str, work: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    before = contents(work)
    message = refused(*shlex.split(words))
    assert says in message
    assert ".part" not in message, "a temporary name is nobody's business"
    assert "error: afile" not in message or "Choose another path." in message
    assert contents(work) == before


def contents(folder: Path) -> dict[str, int]:
    """What lies in a folder, with the time of its last change; without locks, which readers leave, too."""
    paths = [path for path in folder.rglob("*") if not path.name.startswith(".lock") and not path.is_dir()]
    return {str(path): path.stat().st_mtime_ns for path in paths}


def test_a_server_that_is_not_there_leaves_no_result(tmp_path: Path, refused: Refused) -> None:
    asked = ("run", "kalahi/open", "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--out", tmp_path)
    assert "127.0.0.1:9" in refused(*asked)
    left = {path.name for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith(".lock")}
    assert left <= {"run.json", "journal.sqlite"}, "a report or table of a run that never was"


def test_an_unfinished_run_among_others_is_left_out(work: Path, tmp_path: Path) -> None:
    done = warm.kapwa("report", str(work / "unfinished"), str(work / "sound"), "-o", "page.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"Left out: {work / 'unfinished'} is an unfinished run" in done.stderr
    assert (tmp_path / "page.html").exists()


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A data set of one situation."""
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "card.yaml").write_text(CARD, encoding="utf-8")
    (folder / "situations.yaml").write_text(json.dumps([SITUATION]), encoding="utf-8")
    return folder


def test_an_empty_formatted_cell_in_the_last_corner_of_a_workbook(pack: Path) -> None:
    (pack / "situations.yaml").unlink()
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(list(SITUATION))
    sheet.append([";".join(cell) if isinstance(cell, list) else cell for cell in SITUATION.values()])
    sheet["XFD1048576"].font = openpyxl.styles.Font(bold=True)
    book.save(pack / "situations.xlsx")
    (read,) = kapwa.load_task("kalahi/mc", data=pack, variant="full").items()
    assert read.id == "a1"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "gbk"])
def test_a_terminal_of_another_encoding(encoding: str, tmp_path: Path) -> None:
    for words in (["data", "check", PACK], ["data", "check", PACK, "--json"]):
        command = [warm.programs() / "kapwa", *words]
        settings = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
        done = subprocess.run(command, env=settings, cwd=tmp_path, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode(encoding))["findings"]


def test_a_place_that_is_no_utf8_is_refused_before_anything_is_asked(tmp_path: Path, refused: Refused) -> None:
    place = os.fsdecode(os.fsencode(tmp_path) + b"/runs\xff")
    assert "is not UTF-8" in refused(*shlex.split(MC), "--out", place)
    assert not Path(place).exists()


def test_nothing_steers_the_terminal(pack: Path) -> None:
    (pack / "card.yaml").write_text(CARD.replace("title: ", f"title: {json.dumps(ESCAPES)} #"), encoding="utf-8")
    row = {**SITUATION, "category": ESCAPES}
    (pack / "situations.yaml").write_text(json.dumps([row]), encoding="utf-8")
    named = "no\x1b]0;title\x07where"
    for words in (
        ["data", "check", "pack"],
        ["data", "check", "pack", "--json"],
        ["card", "datasheet", "pack"],
        ["data", "check", named],
    ):
        done = warm.kapwa(*words, cwd=pack.parent)
        shown = done.stdout + done.stderr
        assert not set(shown) & set("\x1b\x07\x9b"), words
        assert done.stdout or r"no\x1b]0;title\x07where" in shown


def test_a_card_cannot_write_markdown_into_a_datasheet(pack: Path) -> None:
    title = "<script>alert(1)</script> [link](http://x)"
    (pack / "card.yaml").write_text(CARD.replace("title: ", f"title: {json.dumps(title)} #"), encoding="utf-8")
    sheet = warm.kapwa("card", "datasheet", "pack", cwd=pack.parent).stdout
    assert "alert(1)" in sheet
    assert "<script>" not in sheet
    assert "[link]" not in sheet


def test_places_that_can_be_written_pass(tmp_path: Path) -> None:
    (tmp_path / "old.html").touch()
    check_writable(None)
    check_writable(tmp_path / "old.html")
    check_writable(tmp_path / "new" / "deep" / "page.html")
    check_writable(tmp_path, folder=True)
    check_writable(tmp_path / "new" / "deep", folder=True)
    assert [path.name for path in tmp_path.iterdir()] == ["old.html"]
    with pytest.raises(UsageError, match="is a folder"):
        check_writable(tmp_path)
    with pytest.raises(UsageError, match="is a file, not a folder"):
        check_writable(tmp_path / "old.html", folder=True)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is read-only to root")
def test_a_read_only_folder_is_told_at_once(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(UsageError, match="is read-only"):
        check_writable(tmp_path / "page.html")


@pytest.mark.parametrize("number", system_errors._PATH)
def test_errors_without_a_path_are_no_fault_of_a_path(number: int) -> None:
    assert system_errors.explained(OSError(number, "said")) is None
    assert str(system_errors.explained(OSError(number, "said", "here"))).startswith("here cannot be used: ")
    assert str(system_errors.explained(OSError(number, "said", "old", None, "new"))).startswith("new cannot be used: ")
    assert system_errors.explained(OSError(errno.ECONNREFUSED, "said", "here")) is None


FULL = pl.exceptions.ComputeError("parquet: underlying IO error: No space left on device (os error 28)")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError(), "Out of memory"),
        (ImportError("libopenblas.so: failed to map segment from shared object"), "Out of memory"),
        (RuntimeError("can't start new thread"), "Out of memory"),
        (pl.exceptions.PanicException("Cannot allocate memory (os error 12)"), "Out of memory"),
        (FULL, "the disk is full"),
    ],
)
def test_memory_or_a_disk_that_is_full(
    error: BaseException, says: str, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    def full(**settings: object) -> None:
        raise error

    monkeypatch.setattr(main, "app", full)
    assert says in refused()


def test_wide_signs_and_headers_start_no_formula() -> None:
    written = csv_text(["=cmd", "a"], [["＝1+1", "＋1"], ["＠x", "－1"], ["-", "x"]])
    assert written.splitlines() == ["'=cmd,a", "'＝1+1,'＋1", "'＠x,'－1", "'-,x"]


KILLS = """
import os, random, signal, shutil, sys, time
from pathlib import Path
from kapwa.cli import main
folder, words = Path(sys.argv[1]), sys.argv[1:]
killed = 0
randomly = random.Random(3)
moments = [(moment, n) for moment in ("fsync", "rename", "mkdir", "close", "replace", "open") for n in (1, 3)]
for moment, n in [("none", 0), *moments, *[("", randomly.uniform(0, 0.9)) for _ in range(4)]]:
    began = time.monotonic()
    child = os.fork()
    if not child:
        calls, plain = 0, getattr(os, moment, None)
        def counted(*args, **named):
            global calls
            calls += 1
            if calls == n:
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*args, **named)
        if plain:
            setattr(os, moment, counted)
        sys.argv = ["kapwa", *words[1:]]
        main.run()
    if not moment:  # at any time of what the command takes here when nobody stops it
        time.sleep(n * whole)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if moment == "none":
        whole = time.monotonic() - began
    killed += os.WIFSIGNALED(status)
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    assert not names or names == WHOLE, (moment, n, names)  # all or nothing
    shutil.rmtree(folder, ignore_errors=True)
print(killed)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "whole"),
    [
        (
            ["label", "sheets", "kalahi", "--data", "sample:filipino", "--items", "3", "--people", "2", "--out"],
            "choices-instructions.md choices-key.csv choices-p1.csv choices-p1.xlsx choices-p2.csv choices-p2.xlsx",
        ),
        (["suite", "new", "kalahi"], "README.md card.yaml situations.csv"),
    ],
)
def test_a_folder_of_forms_or_data_is_written_whole_or_not_at_all(tmp_path: Path, words: list[str], whole: str) -> None:
    folder = tmp_path / "folder"
    script = KILLS.replace("WHOLE", repr(set(whole.split())))
    line = [str(warm.programs() / "python"), "-c", script, str(folder), *words, str(folder)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) >= 7  # else little was tried
    assert warm.kapwa(*words, str(folder), cwd=tmp_path).returncode == 0


def test_another_command_holds_the_list_of_suites(
    pack: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAPWA_CONFIG", str(pack / "config"))
    (pack / "config").mkdir()
    monkeypatch.setattr("filelock.FileLock", lambda path, timeout: FileLock(path, timeout=0.1))
    with FileLock(pack / "config" / ".suites.json.lock"):
        assert "Another command is changing" in refused("suite", "add", pack, "--name", "mine")


def test_a_user_without_a_home(pack: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("KAPWA_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert kapwa.load_task("kalahi/mc", data=pack).items()
    assert "There is no home folder" in refused("suite", "add", pack, "--name", "mine")


def test_a_password_in_an_address_without_a_scheme(refused: Refused) -> None:
    words = ["run", "kalahi/open", "--model", "openai:x", "--base-url", "user:pw-never-show@127.0.0.1:1/v1"]
    assert "pw-never-show" not in refused(*words)


def test_a_thousand_people_choose(tmp_path: Path) -> None:
    lines = [f"fil0{item}a,r{person},{1 + (person + item) % 2}" for item in (2, 5) for person in range(1000)]
    (tmp_path / "choices.csv").write_text("\n".join(["item_id,rater,choice", *lines]) + "\n", encoding="utf-8")
    done = warm.kapwa("label", "agree", "choices.csv", "--data", "sample:filipino", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["agreement"]
    assert "not computed for more than 100 people" in next(row["note"] for row in rows if row["coefficient"] == "cohen")


@pytest.mark.usefixtures("needs_torch")
@pytest.mark.parametrize("damage", ["truncated", "pickled"])
def test_weights_of_an_encoder_that_cannot_be_used(damage: str, tmp_path: Path) -> None:
    import torch
    import transformers

    from kapwa.metrics.neural import BertScore

    config = transformers.BertConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    model = transformers.BertModel(config)
    model.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n", encoding="utf-8")
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    weights = tmp_path / "model.safetensors"
    if damage == "truncated":
        weights.write_bytes(weights.read_bytes()[:-500])
    else:
        weights.unlink()
        torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match="cannot load"):
        BertScore(str(tmp_path), layer=1).score_pairs(["a"], ["a"])
