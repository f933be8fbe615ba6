"""Break what users hand in, and see that each command ends as it should: done, or a message and exit code 2.

Usage: python benchmarks/fuzz.py [--cases 1500] [--seed 1] [--first 0] [--sound FOLDER]

Every case takes sound files (packs in each file kind, answers, forms, keys, mappings, surveys, verdicts, results of
other tools, weights and encoders, a finished run with its journal, a cache, an analysis), spoils one or two of them or
an option, and runs one command on them in a process of its own. Files are spoiled as bytes, as cells, as values of
another type, as rows of a database, as members of an archive, or a pipe takes their place. Every fourth case spoils a
field of ``run.json``, each in its turn. A traceback, another exit code, a message without a file, a row or a remedy,
over 30 seconds of the processor or over 1.5 GB is a failure, and is printed with what to repeat it: the seed and the
number of the case.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.util
import io
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import scipy.stats  # noqa: F401 - what takes longest to load and starts no thread that a fork would lose
import typer

import kapwa
from kapwa.cli import main
from kapwa.languages.base import lemma

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "models_served"))
from served_tools import StubProcess

# Of the processor, so that a busy machine is no fault; what only waits is stopped after a quarter of an hour.
SECONDS, BYTES, HANGS = 30, 1_500_000_000, 900
SUITES = Path(kapwa.__file__).parent / "suites"
NASTY = [
    *("", " ", "0", "-1", "1e999", "NaN", "null", "None", "true", "[]", "{}", "9" * 5000, "x" * 70_000, "\0"),
    *("=1+1", "＝1+1", "'", '"', ";", ",,,", "\r\n", "../../etc/passwd", "<script>alert(1)</script>", "[bold]", "%s"),
    *("\ufeff", "\u202e", "\ud83d", "\uffff", "🍚", "ሰላም", "سلام", "안녕", "নমস্কাৰ", "!!bool x", "2024-13-45", "*a"),
    *("&a [*a]", "{0}", "\x1b]52;c;aGk=\a", "[" * 100_000, "~nobody/x", "/dev/full", "**/*", "(((a+)+)+)+$", "a=b"),
]  # fmt: skip
PLAIN = ["1", "7", "all", "kalahi", "blend", "run", "answers.csv", "x=1", "0.5", "en", "auto", "code", "nowhere"]
KINDS = [".csv", ".tsv", ".jsonl", ".json", ".yaml", ".xlsx", ".parquet"]
ONE_CELL = ", one cell"
ROW = r"\b(row|rows|line)\b|no choice is filled in|the concept "  # nothing filled in; a group of rows
NOT_TRIED = {"--help", "--address", "--install-completion", "--show-completion"}


class Ended(NamedTuple):
    """How a command ended: exit code (negative: a signal), what it printed, processor seconds, most memory."""

    code: int
    said: str
    seconds: float
    memory: int
    good: tuple[int, ...]
    names: tuple[str, ...] = ()  # of the files that were spoiled: a message names one, or its folder
    one_cell: bool = False  # a single cell of a table was spoiled: a message names its row

    @property
    def fault(self) -> str:
        """What is wrong with that; "" where nothing is."""
        if "Traceback (most recent call last)" in self.said or "panicked at" in self.said:
            return "traceback"
        if self.code not in self.good:
            return f"exit code {self.code}"
        if self.code == 2 and not self.said.strip():
            return "no message"
        words = "".join(self.said.split())  # a table breaks long names
        if self.code == 2 and self.names and not any(name in words for name in self.names):
            return "no file named"
        if self.code == 2 and self.one_cell and not re.search(ROW, self.said):
            return "no row named"
        if "error:" in self.said and "\n  " not in self.said.partition("error:")[2]:
            return "no remedy"
        if self.seconds > SECONDS:
            return f"{self.seconds:.0f} seconds"
        return f"{self.memory / 1e6:.0f} MB" if self.memory > BYTES else ""


def run(words: list[str], folder: Path, first: Callable[[], None] = lambda: None) -> Ended:
    """Run a command of Kapwa in a fork of this process, in ``folder``, which does ``first`` before."""
    log = folder / "printed.txt"
    child = os.fork()
    if not child:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(folder)
        os.environ.update(HF_HUB_OFFLINE="1", KAPWA_CONFIG=str(folder / "config"))
        signal.alarm(HANGS)
        sys.argv = ["kapwa", *words]
        code = 1
        try:
            first()
            main.run()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        except BaseException:  # noqa: BLE001 - what a user would see of it
            import traceback

            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    _, status, used = os.wait4(child, 0)
    said = log.read_text(encoding="utf-8", errors="replace")
    # 1: there is damage, or some questions got no answer; its remedy is said
    good = (0, 1, 2) if words[0] in ("doctor", "run", "score") else (0, 2)
    return Ended(os.waitstatus_to_exitcode(status), said, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, good)


@contextlib.contextmanager
def served(**config: Any) -> Iterator[StubProcess]:
    """Have a server that answers as the model ``openai:stub``."""
    stub = StubProcess(config)
    os.environ.update(OPENAI_BASE_URL=stub.url, OPENAI_API_KEY="none", NO_PROXY="127.0.0.1")
    try:
        yield stub
    finally:
        stub.stop()


# --- the sound files ------------------------------------------------------------------------------------------


def sound_files(folder: Path, kept: Path | None = None) -> None:
    """Copy the sound files that an earlier call made in ``kept``; where there are none, make them."""
    for language in ("ar", "en", "es", "tl"):  # forks have the dictionaries of the sample packs from here
        lemma("a", language)
    if kept is None:
        folder.mkdir()
        material(folder)
        return
    if not kept.exists():
        kept.mkdir()
        material(kept)
    shutil.copytree(kept, folder)


def material(folder: Path) -> None:
    """Make the sound files, most by Kapwa itself; the model ``openai:stub`` is :func:`served`."""
    for suite, pack in (("kalahi", "filipino"), ("eecc", "cities")):
        shutil.copytree(SUITES / suite / "packs" / pack, folder / suite)
    shutil.copytree(SUITES / "blend" / "packs", folder / "blend")
    rows = list(csv.DictReader((folder / "kalahi" / "situations.csv").open(encoding="utf-8")))
    _table(folder / "answers.csv", "item_id variant text", [(row["id"], "full", row["best"]) for row in rows])
    chosen = [(row["id"], f"p{person}", 1 + person % 2) for row in rows for person in range(3)]
    _table(folder / "choices.csv", "item_id rater choice", chosen)
    _table(folder / "saq.csv", "item_id variant text", [(f"US/k{i:02}", "local/inst-4", "bread") for i in range(1, 9)])
    cities = ["Athens", "Cairo", "Lima", "Oslo", "Seoul"]
    texts = [(c, one, f"{c} {one} post goes {i} there") for i, c in enumerate(cities) for one in ("mail", "keys")]
    (folder / "texts").mkdir()
    _table(
        folder / "texts" / "texts.csv", "city topic concept text", [(c, "post", one, text) for c, one, text in texts]
    )
    _table(folder / "survey.csv", "country power_distance individualism", [("Chile", 63, 23), ("Egypt", 70, 25)])
    things, people = (
        list(csv.DictReader((folder / "eecc" / name).open(encoding="utf-8")))
        for name in ("concepts.csv", "identities.csv")
    )
    asked = [f"{one['topic']}/{one['concept']}/{who['city']}" for one in things for who in people]
    _table(folder / "cities.csv", "item_id variant text", [(one, "direct", f"Go {one} there.") for one in asked])
    (folder / "who.txt").write_text("Chilean\nEgyptian\n", encoding="utf-8")
    _mapped(folder / "four")
    for words in SOUND:
        ended = run(words.split(), folder)
        assert not ended.code, (words, ended.said)
        for place, name in (("runs", words.split()[1].replace("/", "-")), ("analyses", "analysis")):
            for made in (folder / place).glob("*-*/"):
                made.rename(folder / name)
    shutil.copytree(Path(__file__).parents[1] / "tests" / "exchange" / "lm_eval_0_4_13", folder / "lm-eval")
    (log,) = (folder / "inspect").iterdir()
    with zipfile.ZipFile(log) as old, zipfile.ZipFile(folder / "inspect" / "log.eval", "w") as new:
        for name in old.namelist():  # else it is known as an export of Kapwa's own
            new.writestr(name, old.read(name).replace(b'"manifest"', b'"other"'))
    log.unlink()
    for name, file in (("choices", "sheets/choices-p1.csv"), ("ratings", "rated/ratings-p1.csv")):
        _fill(folder / file, name)
    if importlib.util.find_spec("torch"):
        apart(lambda: _weights(folder / "weights"))


SERVED = "run kalahi/open --data kalahi --model openai:stub --revision v1 --limit 6 --cache team"
SOUND = [
    "score kalahi/open --data kalahi --responses answers.csv --metrics chrf --limit 6",
    "score blend/saq --data blend/us --responses saq.csv --limit 8 --variant local/inst-4",
    "label sheets kalahi --data kalahi --items 3 --people 1 --out sheets",
    "label sheets kalahi --data kalahi --run kalahi-open --items 3 --people 1 --out rated",
    "build mcq --data blend -o mcq",
    "export kalahi-open --format inspect -o inspect",
    "analyze eecc --responses texts --permutations 19 --workers 1 --out analyses",
    "run kalahi/open --data kalahi --model replay:answers.csv --metrics chrf --out other",
    f"{SERVED} --metrics chrf --out served",
    "score eecc/qa --data eecc --responses cities.csv --samples 1 --variant direct",
    "suite add four --name four",
]


def _table(path: Path, header: str, rows: list[Any]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header.split(), *rows])


def _mapped(folder: Path) -> None:
    """Make somebody else's table with a mapping."""
    folder.mkdir()
    _table(
        folder / "four.csv", "n land ask a b c d right", [(1, "Peru", "What?", *("wool", "water", "rice", "salt"), "A")]
    )
    columns = {"id": "n", "country": "land", "question": "ask", "answer": "right"}
    columns |= {f"option_{one.upper()}": one for one in "abcd"}
    mapping = {"form": "blend/mcq", "table": "four.csv", "columns": columns}
    (folder / "mapping.yaml").write_text(json.dumps(mapping, indent=1), encoding="utf-8")


def _fill(path: Path, kind: str) -> None:
    """Fill a sheet as a person would."""
    rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
    for row in rows[1:]:
        row[-1:] = ["1"] if kind == "choices" else row[-1:]
        row[4:] = row[4:] if kind == "choices" else ["1"] * len(row[4:])
    path.write_text("", encoding="utf-8")
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def _weights(folder: Path) -> None:
    """Make a tiny encoder."""
    import transformers

    config = transformers.BertConfig(
        vocab_size=30, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    transformers.BertModel(config).save_pretrained(folder)
    _parts_of_an_encoder(folder)
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n", encoding="utf-8")
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)


def _parts_of_an_encoder(folder: Path) -> None:
    """Add the files that say how an encoder makes one embedding of a text."""
    import torch
    from safetensors.torch import save_file

    parts = ["Transformer", "Pooling", "Dense"]
    files: dict[str, Any] = {
        "modules.json": [{"type": f"any.{part}", "path": part if n else ""} for n, part in enumerate(parts)],
        "Pooling/config.json": {"pooling_mode_mean_tokens": True},
        "Dense/config.json": {"activation_function": "torch.nn.modules.activation.Tanh"},
        "sentence_bert_config.json": {"max_seq_length": 6},
        "config_sentence_transformers.json": {"prompts": {"query": "a"}, "default_prompt_name": "query"},
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    save_file({"linear.weight": torch.ones(4, 8), "linear.bias": torch.ones(4)}, folder / "Dense" / "model.safetensors")


# --- what spoils them -----------------------------------------------------------------------------------------


def spoil(path: Path, draw: random.Random) -> str:
    """Spoil one file in one way; say which."""
    ways: list[Callable[[bytes], bytes]] = [
        lambda raw: raw[: draw.randrange(len(raw) + 1)],
        lambda _: b"",
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw.decode("utf-8", "replace").encode("utf-16"),
        lambda raw: raw.decode("utf-8", "replace").encode("cp1252", "replace"),
        lambda raw: _insert(raw, draw, bytes(draw.randrange(256) for _ in range(draw.choice([1, 8])))),
        lambda raw: _insert(raw, draw, draw.choice(NASTY).encode("utf-8", "surrogatepass")),
        lambda raw: raw + raw,
    ]
    if path.suffix == ".csv":
        ways += [lambda raw: _spoil_cells(raw, draw)] * 8
    if path.suffix in (".json", ".jsonl") or path.name == "mapping.yaml":  # which is written as JSON
        ways += [lambda raw: _spoil_json(raw, draw)] * 8
    if path.suffix in (".xlsx", ".eval"):
        ways += [lambda raw: _spoil_archive(raw, draw)] * 8
    if draw.random() < 0.02:
        path.unlink()
        os.mkfifo(path)
        return f"{path.name}, a pipe"
    if path.suffix in (".parquet", ".sqlite") and draw.random() < 0.7:
        (_spoil_column if path.suffix == ".parquet" else _spoil_session)(path, draw)
        return f"{path.name}, values"
    number = draw.randrange(len(ways))
    raw = path.read_bytes()
    try:
        path.write_bytes(ways[number](raw))
    except (ValueError, IndexError, csv.Error, zipfile.BadZipFile, RecursionError):  # it was spoiled before
        path.write_bytes(raw[:-1])
    return f"{path.name}, way {number}"


def _insert(raw: bytes, draw: random.Random, more: bytes) -> bytes:
    place = draw.randrange(len(raw) + 1)
    return raw[:place] + more + raw[place + draw.choice([0, len(more)]) :]


def _spoil_cells(raw: bytes, draw: random.Random, way: str = "", first: int = 0) -> bytes:
    """Spoil a table in one ``way``, or in any, from the row ``first`` on (0: the header)."""
    rows = list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    row, column = draw.randrange(first, len(rows)), draw.randrange(len(rows[0]))
    way = way or draw.choice(["cell", "cell", "cell", "row", "column", "double", "swap"])
    if way == "cell":
        rows[row][column] = draw.choice(NASTY).encode("utf-8", "replace").decode()
    elif way == "row":
        rows[row] = rows[row][: draw.randrange(len(rows[row]) + 1)]
    elif way == "column":
        rows = [cells[:column] + cells[column + 1 :] for cells in rows]
    elif way == "double":
        rows.insert(row, list(rows[draw.randrange(len(rows))]))
    else:
        rows[0][column], rows[0][0] = rows[0][0], rows[0][column]
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=draw.choice(",,,;\t")).writerows(rows)
    return out.getvalue().encode()


def _spoil_column(path: Path, draw: random.Random) -> None:
    """Give a column of a table values of another type, or take it out, or set one cell."""
    values = [7, 1e300, "x" * 300, "=1+1", None, True, [1], {"a": 1}, b"bytes", "\x1b]52;", -1]
    value, way, place = draw.choice(values), draw.choice(["all", "all", "one", "drop"]), draw.random()

    def work() -> None:
        import polars as pl

        frame = pl.read_parquet(path)
        name = frame.columns[int(place * frame.width)]
        if way == "drop":
            frame = frame.drop(name)
        elif way == "one" and frame.height:
            cells = frame[name].to_list()
            cells[int(place * len(cells))] = value
            frame = frame.with_columns(pl.Series(name, cells, strict=False))
        else:
            frame = frame.with_columns(pl.Series(name, [value] * frame.height, strict=False))
        frame.write_parquet(path)

    apart(work)


def _spoil_session(path: Path, draw: random.Random) -> None:
    """Change what a store says of who committed its answers, or of an answer."""
    texts = [
        "x",
        "[]",
        "3",
        "null",
        '{"model": 3}',
        '{"model": {"id": 1}}',
        '{"environment": []}',
        '{"cache": "c"}',
        "[" * 9999,
    ]
    values = [*texts, None, 1e300, -1.0, b"\xff\xfe", 2**62, *NASTY[:14]]
    table, column = draw.choice(
        [("sessions", "started"), ("sessions", "ended"), *[("sessions", "record")] * 3, ("meta", "value")]
        + [("responses", name) for name in ("payload", "sum", "failed", "session")]
    )
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute(f"UPDATE {table} SET {column} = ?", (draw.choice(values),))  # noqa: S608 - both are ours


def _spoil_archive(raw: bytes, draw: random.Random) -> bytes:
    """Spoil one member of a workbook or a log."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        chosen = draw.choice(old.namelist())
        for name in old.namelist():
            inside = old.read(name)
            if name == chosen and name.endswith(".json") and inside[:1] in b"{[":
                inside = _spoil_json(inside, draw)
            elif name == chosen and name.startswith("xl/worksheets") and draw.random() < 0.3:
                inside = re.sub(
                    rb'r="[A-Z]+(\d+)"', draw.choice([rb'r="XFD\1"', rb'r="A\g<1>000000"', rb'r="ZZZ\1"']), inside
                )
            elif name == chosen:
                more = draw.choice(NASTY).encode("utf-8", "replace")
                inside = _insert(inside[: draw.choice([len(inside), draw.randrange(len(inside) + 1)])], draw, more)
            new.writestr(name, inside)
    return out.getvalue()


def _spoil_json(raw: bytes, draw: random.Random, at: int | None = None) -> bytes:
    """Spoil the value at the place ``at``, or at any; of JSON lines, that of one line."""
    # Each line of JSON lines begins an object; of other files, only the first does.
    lines = raw.splitlines() if all(line[:1] == b"{" and line[-1:] == b"}" for line in raw.splitlines()) else [raw]
    line = draw.randrange(len(lines))
    value = json.loads(lines[line])
    places = list(_places(value))
    inside, name = places[at % len(places) if at is not None else draw.randrange(len(places))]
    inside[name] = draw.choice([None, [], {}, 1, -1, "x", 1e999, [[]], True, "../x", 10**400, "\ud83d", {"a": [1]}])
    if draw.random() < 0.25:
        del inside[name]
    lines[line] = json.dumps(value).encode()
    return b"\n".join(lines)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place within a value of JSON: what holds it, and its name there."""
    for name in list(value) if isinstance(value, dict) else range(min(len(value), 3)):
        yield value, name
        if isinstance(value[name], dict | list):
            yield from _places(value[name])


def convert(path: Path, suffix: str) -> Path:
    """Write a CSV table as another kind of file in its place."""
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))
    target = path.with_suffix(suffix)
    if suffix == ".tsv":
        with target.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter="\t").writerows([list(rows[0]), *(list(row.values()) for row in rows)])
    elif suffix == ".jsonl":
        target.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    elif suffix in (".json", ".yaml"):
        target.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    elif suffix == ".xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        for cells in [list(rows[0]), *(list(row.values()) for row in rows)]:
            book.worksheets[0].append(cells)
        book.save(target)
    else:
        target.touch()  # left empty where Polars refuses the rows
        apart(lambda: __import__("polars").DataFrame(rows).write_parquet(target))
    path.unlink()
    return target


def apart(work: Callable[[], object]) -> None:
    """Do ``work`` in a fork: threads of libraries that it loads would be lost in later forks of this process."""
    child = os.fork()
    if not child:
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


# The files that a command reads, and the command. A table is spoiled in any of the kinds of file.
RUN = ["kalahi-open/items.parquet", "kalahi-open/scores.parquet", "kalahi-open/answers.parquet"]
TRIED: list[tuple[list[str], str]] = [
    (["kalahi/situations.csv", "kalahi/card.yaml"], "data check kalahi"),
    (["kalahi/situations.csv", "kalahi/card.yaml"], "data check kalahi --json"),
    (["kalahi/situations.csv", "kalahi/card.yaml"], "suite add kalahi --name mine"),
    (["blend/us/questions.csv", "blend/us/answers.csv", "blend/us/prompts.csv"], "data check blend/us"),
    (["eecc/templates.csv", "eecc/concepts.csv", "eecc/identities.csv", "eecc/card.yaml"], "data check eecc"),
    (["four/four.csv", "four/mapping.yaml"], "data check four"),
    (["four/mapping.yaml", "four/four.csv"], "suite add four --name other"),
    (["config/suites.json"], "suite list"),
    (["config/suites.json"], "suite remove four"),
    (["config/suites.json"], "suites"),
    ([], "suite new blend fresh"),
    ([], "languages"),
    ([], "models"),
    ([], "lm-eval-path"),
    (["mcq/mcq.csv", "mcq/card.yaml"], "data check mcq"),
    (["kalahi/situations.csv", "kalahi/card.yaml"], "card datasheet kalahi"),
    (["kalahi/situations.csv"], "label sheets kalahi --data kalahi --items 3 --people 1 --out forms"),
    (RUN, "label sheets kalahi --data kalahi --run kalahi-open --items 3 --people 1 --out forms"),
    (["blend/us/questions.csv", "blend/us/answers.csv"], "build mcq --data blend -o new"),
    (["mcq/verdicts.csv"], "build mcq --data blend -o new --review mcq/verdicts.csv"),
    (
        ["answers.csv", "kalahi/situations.csv"],
        "score kalahi/open --data kalahi --responses answers.csv --metrics chrf",
    ),
    (["saq.csv", "blend/us/answers.csv"], "score blend/saq --data blend/us --responses saq.csv"),
    (["answers.csv"], "run kalahi/open --data kalahi --model replay:answers.csv --metrics chrf"),
    (["choices.csv"], "label agree choices.csv --data kalahi"),
    (["sheets/choices-p1.csv", "sheets/choices-key.csv"], "label agree sheets/choices-p1.csv --data kalahi"),
    (["sheets/*.csv"], "label agree sheets/choices-p1.csv --data kalahi --key sheets/choices-key.csv"),
    (["rated/ratings-p1.csv", "rated/ratings-key.csv"], "label read rated/ratings-p1.csv --key rated/ratings-key.csv"),
    (["kalahi-open/scores.parquet", "kalahi-open/estimates.parquet"], "report kalahi-open -o page.html"),
    (["analysis/analysis.json", "analysis/*.parquet"], "report analysis -o page.html"),
    (RUN, "export kalahi-open --format csv -o out"),
    (RUN, "export kalahi-open --format lm-eval -o out"),
    (RUN, "export kalahi-open --format eee -o out --organization us"),
    (["lm-eval/*.json", "lm-eval/*.jsonl"], "import lm-eval --format lm-eval"),
    (["inspect/log.eval"], "import inspect --format inspect"),
    (["kalahi-open/journal.sqlite"], "doctor kalahi-open"),
    (["kalahi-open/journal.sqlite"], "doctor kalahi-open --salvage"),
    (["kalahi-open/*.parquet", "kalahi-open/journal.sqlite"], "runs ."),
    (["kalahi-open/*.parquet"], "report kalahi-open --answers all -o page.html"),
    (["kalahi-open/*.parquet"], "report kalahi-open --csv out -o page.html"),
    (["kalahi-open/*.parquet"], "plan kalahi-open --difference 0.05"),
    (RUN, "export kalahi-open --format inspect -o out"),
    (["other/*/journal.sqlite"], "run kalahi/open --data kalahi --model replay:answers.csv --metrics chrf --out other"),
    (["kalahi-open/items.parquet"], "card datasheet kalahi-open"),
    (["kalahi-open/scores.parquet"], "compare kalahi-open kalahi-open"),
    (["texts/texts.csv"], "words --responses texts"),
    (["texts/texts.csv"], "analyze eecc --responses texts --permutations 19 --workers 1"),
    (["texts/texts.csv"], "card datasheet texts"),
    (["survey.csv", "who.txt"], "values check survey.csv --identities who.txt"),
    (["survey.csv"], "values check survey.csv"),
    (["team/answers.sqlite"], "cache ls team"),
    (["team/answers.sqlite"], "cache prune team --model openai:stub"),
    (["team/answers.sqlite"], SERVED),
]  # fmt: skip
# Commands that read a run's manifest.
READ = [words for _, words in TRIED if "kalahi-open" in words] + ["words eecc-qa", "analyze eecc eecc-qa --workers 1"]
# What takes seconds to begin: a tenth as often as the others.
SLOW = [
    (
        ["weights/model.safetensors", "weights/config.json", "weights/tokenizer.json", "weights/tokenizer_config.json"],
        "score kalahi/open --responses answers.csv --limit 1 --metrics bertscore --bertscore-model weights",
    ),
    (["weights/*.*"], "run kalahi/open --limit 1 --model hf:weights --metrics chrf"),
    *[
        (
            ["weights/*.json", "weights/*/*"],
            "score kalahi/open --responses answers.csv --limit 1 --metrics sentence --sentence-model weights",
        )
    ]
    * 2,
]


def one(number: int, seed: int, sound: Path, scratch: Path) -> tuple[str, Ended]:
    """Run the case ``number``; return what was spoiled, and how it ended."""
    draw = random.Random(f"{seed}/{number}")  # noqa: S311 - to be repeated, not kept secret
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(sound, scratch)
    if number % 4 == 0:
        command = draw.choice(READ)
        words = command.split()
        (manifest,) = [scratch / word / "run.json" for word in words if (scratch / word / "run.json").exists()][:1]
        manifest.write_bytes(_spoil_json(manifest.read_bytes(), draw, number // 4))
        return f"{command}, run.json", run(words, scratch)._replace(names=_named_by(words))
    slow = draw.random() < 0.05 and (scratch / "weights").exists()
    files, command = draw.choice(SLOW if slow else TRIED)
    words = command.split()
    way, names = draw.random(), ()
    there = [file for name in files for file in sorted(scratch.glob(name))]
    if way < 0.25 or not there:
        what = f"the option {_option(words, draw)[:60]!r}"
    elif way < 0.28:
        words[draw.randrange(1, len(words) + 1) :] = [what := _value(draw)]
    else:
        chosen = draw.sample(there, min(len(there), draw.choice([1, 1, 2])))
        what = " and ".join(_spoiled(file, words, scratch, draw) for file in chosen)
        names = tuple(name for file in chosen for name in (file.stem, file.parent.name))
    ended = run(words, scratch)._replace(names=names, one_cell=what.endswith(ONE_CELL) and " and " not in what)
    return f"{' '.join(word[:40] for word in words)}, {what[:200]!r}", ended


def _named_by(words: list[str]) -> tuple[str, ...]:
    """Names that a message about a spoiled manifest may hold; a plan may also find too little in the pilot's scores."""
    return () if words[0] == "plan" else ("run.json", "kalahi-open", "eecc-qa")


def _spoiled(file: Path, words: list[str], scratch: Path, draw: random.Random) -> str:
    """Spoil a file; some tables as another kind of file, which the command is then told to read."""
    if file.suffix != ".csv" or draw.random() < 0.3:
        return spoil(file, draw)
    if draw.random() < 0.25:
        file.write_bytes(_spoil_cells(file.read_bytes(), draw, "cell", 1))
        return f"{file.name}{ONE_CELL}"
    if draw.random() < 0.7:
        with contextlib.suppress(csv.Error, IndexError):
            file.write_bytes(_spoil_cells(file.read_bytes(), draw).replace(b"\t", b","))
    name = str(file.relative_to(scratch))
    with contextlib.suppress(Exception):  # what is no table now stays as it is
        file = convert(file, draw.choice(KINDS[1:]))
    words[:] = [str(file.relative_to(scratch)) if word == name else word for word in words]
    return spoil(file, draw) if draw.random() < 0.5 else f"{file.name}, cells"


def _value(draw: random.Random) -> str:
    value = draw.choice([draw.choice(NASTY), draw.choice(PLAIN)])
    return value.replace("\0", "0") if "\ud83d" not in value else "\udcff"  # a byte that is no UTF-8


def _option(words: list[str], draw: random.Random) -> str:
    """Add one of the command's own options, with some value."""
    command: click.Command = typer.main.get_command(main.app)
    for word in words:
        if isinstance(command, click.Group):
            command = command.commands[word]
    options = [one for one in command.params if isinstance(one, click.Option) and not NOT_TRIED & set(one.opts)]
    chosen = draw.choice(options) if options else None
    words += [] if chosen is None else [chosen.opts[-1]] if chosen.is_flag else [chosen.opts[-1], _value(draw)]
    return "none" if chosen is None else " ".join(words[-2:])


def fuzz(cases: int, seed: int, first: int = 0, kept: Path | None = None) -> Counter[str]:
    """Run so many cases; return how often each fault came ("": none), telling of each, and of the extremes."""
    found: Counter[str] = Counter()
    codes: Counter[int] = Counter()
    slowest = largest = Ended(0, "", 0.0, 0, ())
    with served(), tempfile.TemporaryDirectory() as place:
        sound, scratch = Path(place) / "sound", Path(place) / "case"
        sound_files(sound, kept)
        for number in range(first, first + cases):
            what, ended = one(number, seed, sound, scratch)
            found[ended.fault] += 1
            codes[ended.code] += 1
            slowest = max(slowest, ended, key=lambda one: one.seconds)
            largest = max(largest, ended, key=lambda one: one.memory)
            if ended.fault:
                print(f"case {number} of seed {seed}: {ended.fault}: {what}\n{ended.said[-1500:]}", flush=True)
            if (done := number + 1 - first) % 100 == 0 or done == cases:
                most = f"slowest {slowest.seconds:.1f} s; most memory {largest.memory / 1e6:.0f} MB"
                print(f"{done} cases, {found['']} good; exit codes {dict(codes)}; {most}", flush=True)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Break what users hand in, and see that each command ends well.")
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--sound", type=Path, help="a folder to keep the sound files in, or of an earlier call")
    wanted = parser.parse_args()
    counts = fuzz(wanted.cases, wanted.seed, wanted.first, wanted.sound)
    good = counts.pop("", 0)
    print(f"{wanted.cases} cases, {good} ended as they should; faults: {dict(counts) or 'none'}")
    sys.exit(good < wanted.cases)
