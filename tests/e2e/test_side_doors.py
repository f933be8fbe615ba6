"""Every path goes through the guards of the main road: each case of an adversarial trial, by name."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import openpyxl
import polars as pl
import pytest

import kapwa
import warm
from kapwa.cli import main

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


def command(*words: object, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Run ``kapwa`` in a process of its own, as a user does."""
    line = [sys.executable, "-m", "kapwa", *map(str, words)]
    return subprocess.run(line, env={**os.environ, **variables}, capture_output=True, check=False, timeout=300)


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """Run a command that must stop as a user's error does; return what it says."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["kapwa", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main.run()
    assert stop.value.code == 2
    return capsys.readouterr().err


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "card.yaml").write_text(CARD, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of two open items."""
    folder = tmp_path_factory.mktemp("run")
    task = kapwa.load_task("kalahi/open", data="sample:filipino", limit=2)
    task.item_table(task.items()).select("item_id", "variant", text="best").write_ndjson(folder / "answers.jsonl")
    return kapwa.evaluate(task, kapwa.load_model(f"replay:{folder / 'answers.jsonl'}"), out=folder).path


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("situations.yaml", json.dumps([{**SITUATION, "context": "food \ud83d"}]), "half of a character (\\ud83d"),
        ("situations.jsonl", json.dumps({**SITUATION, "context": "food \ud83d"}), "half of a character (\\ud83d"),
        ("situations.jsonl", f'{{"id": {"9" * 4400}}}', "a number of over 4,300 digits"),
        ("situations.jsonl", "[" * 100_000, "nested too deeply"),
        ("situations.yaml", "- id: !!bool x\n", "cannot be read"),
        ("situations.yaml", '- id: !!int ""\n', "cannot be read"),
        ("situations.yaml", "- id: 2024-13-45\n", "month must be in 1..12"),
    ],
)
def test_values_that_no_text_can_hold(
    pack: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, said: str
) -> None:
    (pack / name).write_text(content, encoding="utf-8")
    message = refused(capsys, "run", "kalahi/mc", "--model", "smollm2", "--data", pack)
    assert f"{name}, row 1" in message
    assert said in message


def test_a_card_with_aliases_of_aliases(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    (pack / "card.yaml").write_text(CARD + bomb, encoding="utf-8")
    (pack / "situations.yaml").write_text(json.dumps([SITUATION]), encoding="utf-8")
    assert "repeats itself without end" in refused(capsys, "run", "kalahi/mc", "--model", "smollm2", "--data", pack)


def test_an_empty_formatted_cell_in_the_last_corner_of_a_workbook(pack: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(list(SITUATION))
    sheet.append([";".join(cell) if isinstance(cell, list) else cell for cell in SITUATION.values()])
    sheet["XFD1048576"].font = openpyxl.styles.Font(bold=True)
    book.save(pack / "situations.xlsx")
    (read,) = kapwa.load_task("kalahi/mc", data=pack, variant="full").items()
    assert read.id == "a1"


def test_a_pipe_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "answers.jsonl")
    message = refused(capsys, "score", "kalahi/open", "--responses", tmp_path / "answers.jsonl")
    assert "is a pipe or a device" in message


def test_an_unfinished_run_among_others_is_left_out(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    unfinished, page = tmp_path / "a-run", tmp_path / "report.html"
    unfinished.mkdir()
    shutil.copy(run / "journal.sqlite", unfinished)
    assert "is an unfinished run" in refused(capsys, "report", unfinished, "-o", page)
    assert not page.exists()
    monkeypatch.setattr(sys, "argv", ["kapwa", "report", str(unfinished), str(run), "-o", str(page)])
    with pytest.raises(SystemExit) as stop:
        main.run()
    assert not stop.value.code
    assert f"Left out: {unfinished} is an unfinished run" in capsys.readouterr().err
    assert page.exists()


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "gbk"])
def test_a_terminal_of_another_encoding(encoding: str) -> None:
    settings = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for words in (["data", "check", PACK], ["data", "check", PACK, "--json"]):
        done = command(*words, **settings)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode(encoding))["findings"]


def test_a_place_that_is_no_utf8_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    place = os.fsdecode(os.fsencode(tmp_path) + b"/runs\xff")
    done = command("run", "kalahi/mc", "--model", "smollm2", "--out", place)
    assert done.returncode == 2
    assert b"is not UTF-8" in done.stderr
    assert not Path(place).exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--model", "smollm2", "--extra", "zz=1"], "knows no option 'zz'"),
        (
            ["--model", "openai:x", "--base-url", "http://127.0.0.1:1/v1", "--extra", "attempts=1e400"],
            "must be numbers",
        ),
        (["--model", "openai:x", "--base-url", "http://127.0.0.1:1/v1", "--dtype", "float16"], "no option 'dtype'"),
        (["--model", "replay:answers.csv", "--dtype", "float16"], "no option 'dtype'"),
    ],
)
def test_an_option_of_a_model_that_would_be_ignored(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, "run", "kalahi/mc", *words)


def test_nothing_steers_the_terminal(pack: Path) -> None:
    (pack / "card.yaml").write_text(CARD.replace("title: ", f"title: {json.dumps(ESCAPES)} #"), encoding="utf-8")
    row = {**SITUATION, "category": ESCAPES}
    (pack / "situations.yaml").write_text(json.dumps([row]), encoding="utf-8")
    for words in (["data", "check", pack], ["data", "check", pack, "--json"], ["card", "datasheet", pack]):
        done = command(*words)
        assert done.stdout, done.stderr
        assert not set((done.stdout + done.stderr).decode()) & set("\x1b\x07\x9b"), words


def test_a_card_cannot_write_markdown_into_a_datasheet(pack: Path) -> None:
    title = "<script>alert(1)</script> [link](http://x)"
    (pack / "card.yaml").write_text(CARD.replace("title: ", f"title: {json.dumps(title)} #"), encoding="utf-8")
    (pack / "situations.yaml").write_text(json.dumps([SITUATION]), encoding="utf-8")
    sheet = command("card", "datasheet", pack).stdout.decode()
    assert "alert(1)" in sheet
    assert "<script>" not in sheet
    assert "[link]" not in sheet


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("libopenblas.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
        pl.exceptions.PanicException("Cannot allocate memory (os error 12)"),
    ],
)
def test_memory_that_is_full(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(**settings: object) -> None:
        raise error

    monkeypatch.setattr(main, "app", full)
    assert "Out of memory" in refused(capsys)


def test_wide_signs_and_headers_start_no_formula() -> None:
    from kapwa.tables import csv_text

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
    print(words[0], done.stdout)
    assert int(done.stdout.split()[-1]) >= 7  # else little was tried
    assert command(*words, folder).returncode == 0


def test_every_command_refuses_a_run_whose_manifest_is_damaged(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    manifest = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    (folder / "run.json").write_text(json.dumps({**manifest, "model": {"revision": ""}}), encoding="utf-8")
    for words in (
        ["report", folder, "-o", tmp_path / "page.html"],
        ["compare", folder, run],
        ["export", folder, "--format", "csv", "-o", tmp_path / "out"],
        ["card", "datasheet", folder],
        ["words", folder],
        ["label", "sheets", "kalahi", "--run", folder, "--out", tmp_path / "forms"],
    ):
        assert "run.json is damaged" in refused(capsys, *words), words


@pytest.mark.parametrize("table", ["scores", "estimates", "floors", "items", "comparisons", "answers"])
def test_swapped_tables(table: str, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    other = "floors" if table in ("scores", "items") else "scores"
    shutil.copy(folder / f"{other}.parquet", folder / f"{table}.parquet")
    assert f"{table}.parquet is another table" in refused(
        capsys, "export", folder, "--format", "csv", "-o", tmp_path / "out"
    )


def test_another_command_holds_the_list_of_suites(
    pack: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from filelock import FileLock

    monkeypatch.setenv("KAPWA_CONFIG", str(pack / "config"))
    (pack / "config").mkdir()
    (pack / "situations.yaml").write_text(json.dumps([SITUATION]), encoding="utf-8")
    monkeypatch.setattr("filelock.FileLock", lambda path, timeout: FileLock(path, timeout=0.1))
    with FileLock(pack / "config" / ".suites.json.lock"):
        assert "Another command is changing" in refused(capsys, "suite", "add", pack, "--name", "mine")


def test_a_user_without_a_home(pack: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("KAPWA_CONFIG", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    (pack / "situations.yaml").write_text(json.dumps([SITUATION]), encoding="utf-8")
    assert kapwa.load_task("kalahi/mc", data=pack).items()
    assert "There is no home folder" in refused(capsys, "suite", "add", pack, "--name", "mine")


def test_a_password_in_an_address_without_a_scheme(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "kalahi/open", "--model", "openai:x", "--base-url", "user:pw-never-show@127.0.0.1:1/v1"]
    assert "pw-never-show" not in refused(capsys, *words)


@pytest.mark.usefixtures("needs_torch")
@pytest.mark.parametrize("damage", ["truncated", "pickled"])
def test_weights_of_an_encoder_that_cannot_be_used(damage: str, tmp_path: Path) -> None:
    import torch
    import transformers

    from kapwa.errors import ModelError
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


def test_a_full_disk_while_polars_writes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def full(**settings: object) -> None:
        raise pl.exceptions.ComputeError("parquet: underlying IO error: No space left on device (os error 28)")

    monkeypatch.setattr(main, "app", full)
    assert "the disk is full" in refused(capsys)


def test_a_thousand_people_choose(tmp_path: Path) -> None:
    lines = [f"fil0{item}a,r{person},{1 + (person + item) % 2}" for item in (2, 5) for person in range(1000)]
    (tmp_path / "choices.csv").write_text("\n".join(["item_id,rater,choice", *lines]) + "\n", encoding="utf-8")
    done = command("label", "agree", tmp_path / "choices.csv", "--data", "sample:filipino", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["agreement"]
    assert "not computed for more than 100 people" in next(row["note"] for row in rows if row["coefficient"] == "cohen")


def test_a_pattern_of_tables_that_no_system_takes(pack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = {name: name for name in SITUATION}
    mapping = {"form": "kalahi", "table": "a**/*.csv", "columns": columns}
    (pack / "mapping.yaml").write_text(json.dumps(mapping), encoding="utf-8")
    message = refused(capsys, "run", "kalahi/mc", "--model", "smollm2", "--data", pack)
    assert "mapping.yaml" in message
    assert "'a**/*.csv' has '**' beside other letters" in message
