"""Break what users hand in, and see that each command ends as it should: done, or a message and exit code 2.

Usage: python benchmarks/fuzz.py [--cases 1500] [--seed 1]

Every case takes sound files (packs, answers, choices, a finished run), spoils one of them or an option, and runs one
command on them in a process of its own. A traceback, another exit code, no message, more than 30 seconds or more than
1 GB is a failure, and is printed with what to repeat it: the seed and the number of the case.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import kapwa
from kapwa.cli import main

SECONDS, BYTES = 30, 1_000_000_000
SUITES = Path(kapwa.__file__).parent / "suites"
NASTY = [
    *("", " ", "0", "-1", "1e999", "NaN", "null", "None", "true", "[]", "{}", "9" * 5000, "x" * 70_000, "\0"),
    *("=1+1", "＝1+1", "'", '"', ";", ",,,", "\r\n", "../../etc/passwd", "<script>alert(1)</script>", "[bold]", "%s"),
    *("\ufeff", "\u202e", "\ud83d", "\uffff", "🍚", "ሰላም", "سلام", "안녕", "নমস্কাৰ", "!!bool x", "2024-13-45", "*a"),
    *("&a [*a]", "{0}", "\x1b]52;c;aGk=\a"),
]  # fmt: skip


class Ended(NamedTuple):
    """How a command ended: exit code (negative: a signal), what it printed, seconds, most bytes of memory."""

    code: int
    said: str
    seconds: float
    memory: int
    good: tuple[int, ...]

    @property
    def fault(self) -> str:
        """What is wrong with that; "" where nothing is."""
        if "Traceback (most recent call last)" in self.said:
            return "traceback"
        if self.code not in self.good:
            return f"exit code {self.code}"
        if self.code == 2 and not self.said.strip():
            return "no message"
        if self.seconds > SECONDS:
            return f"{self.seconds:.0f} seconds"
        return f"{self.memory / 1e6:.0f} MB" if self.memory > BYTES else ""


def run(words: list[str], folder: Path) -> Ended:
    """Run a command of Kapwa in a fork of this process, in ``folder``."""
    log = folder / "printed.txt"
    began = time.monotonic()
    child = os.fork()
    if not child:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        os.chdir(folder)
        signal.alarm(SECONDS + 5)
        sys.argv = ["kapwa", *words]
        code = 1
        try:
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
    good = (0, 1, 2) if words[0] == "doctor" else (0, 2)  # 1: there is damage, and its remedy is said
    return Ended(os.waitstatus_to_exitcode(status), said, time.monotonic() - began, used.ru_maxrss * 1024, good)


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
    if path.name == "run.json":
        ways += [lambda raw: _spoil_json(raw, draw)] * 12
    number = draw.randrange(len(ways))
    path.write_bytes(ways[number](path.read_bytes()))
    return f"{path.name}, way {number}"


def _insert(raw: bytes, draw: random.Random, more: bytes) -> bytes:
    place = draw.randrange(len(raw) + 1)
    return raw[:place] + more + raw[place + draw.choice([0, len(more)]) :]


def _spoil_cells(raw: bytes, draw: random.Random) -> bytes:
    rows = list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    row, column = draw.randrange(len(rows)), draw.randrange(len(rows[0]))
    way = draw.choice(["cell", "cell", "cell", "row", "column", "double", "swap"])
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


def _spoil_json(raw: bytes, draw: random.Random) -> bytes:
    value = json.loads(raw)
    inside = value
    while True:
        name = draw.choice(list(inside))
        if isinstance(inside[name], dict) and inside[name] and draw.random() < 0.6:
            inside = inside[name]
            continue
        inside[name] = draw.choice([None, [], {}, 1, -1, "x", float("inf"), [[]], True, "../x"])
        if draw.random() < 0.3:
            del inside[name]
        return json.dumps(value).encode()


def material(folder: Path) -> None:
    """Make the sound files: a pack of each form, answers, choices and a finished run."""
    for suite, pack in (("kalahi", "filipino"), ("blend", "us"), ("eecc", "cities")):
        shutil.copytree(SUITES / suite / "packs" / pack, folder / suite)
    rows = list(csv.DictReader((folder / "kalahi" / "situations.csv").open(encoding="utf-8")))
    with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [("item_id", "variant", "text"), *((row["id"], "full", row["best"]) for row in rows)]
        )
    with (folder / "choices.csv").open("w", encoding="utf-8", newline="") as file:
        chosen = [(row["id"], f"p{person}", 1 + person % 2) for row in rows for person in range(3)]
        csv.writer(file).writerows([("item_id", "rater", "choice"), *chosen])
    ended = run(["score", "kalahi/open", "--data", "kalahi", "--responses", "answers.csv", "--metrics", "chrf"], folder)
    assert not ended.code, ended.said
    (made,) = (folder / "runs").iterdir()
    made.rename(folder / "run")


# The files that a command reads, and the command.
TRIED: list[tuple[list[str], str]] = [
    (["kalahi/situations.csv", "kalahi/card.yaml"], "data check kalahi"),
    (["kalahi/situations.csv", "kalahi/card.yaml"], "data check kalahi --json"),
    (["blend/questions.csv", "blend/answers.csv", "blend/card.yaml"], "data check blend"),
    (["eecc/templates.csv", "eecc/concepts.csv", "eecc/identities.csv"], "data check eecc"),
    (["kalahi/situations.csv", "kalahi/card.yaml"], "card datasheet kalahi"),
    (["kalahi/situations.csv"], "forms kalahi --data kalahi --items 3 --people 1 --out forms"),
    (["blend/questions.csv", "blend/answers.csv"], "build mcq --data blend -o mcq"),
    (
        ["answers.csv", "kalahi/situations.csv"],
        "score kalahi/open --data kalahi --responses answers.csv --metrics chrf",
    ),
    (["choices.csv"], "agreement choices.csv --data kalahi"),
    (["run/run.json", "run/scores.parquet", "run/estimates.parquet", "run/journal.sqlite"], "report run -o page.html"),
    (["run/run.json", "run/items.parquet", "run/answers.parquet"], "export run --format csv -o out"),
    (["run/run.json", "run/journal.sqlite"], "doctor run"),
    (["run/run.json", "run/items.parquet"], "card datasheet run"),
    (["run/run.json", "run/scores.parquet"], "compare run run"),
]
OPTIONS = [
    "--limit",
    "--seed",
    "--where",
    "--variant",
    "--data",
    "--country",
    "--items",
    "--people",
    "--format",
    "--out",
    "-o",
]


def one(number: int, seed: int, sound: Path, scratch: Path) -> tuple[str, Ended]:
    """Run the case ``number``; return what was spoiled, and how it ended."""
    draw = random.Random(f"{seed}/{number}")  # noqa: S311 - to be repeated, not kept secret
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(sound, scratch)
    files, command = draw.choice(TRIED)
    words = command.split()
    if draw.random() < 0.15:
        value = draw.choice([one for one in NASTY if "\0" not in one and "\ud83d" not in one])
        words += [draw.choice(OPTIONS), value]
        what = repr(value[:40])
    else:
        there = [scratch / name for name in files if (scratch / name).exists()]
        what = " and ".join(spoil(file, draw) for file in draw.sample(there, min(len(there), draw.choice([1, 1, 2]))))
    return f"{' '.join(word[:40] for word in words)}, {what}", run(words, scratch)


def fuzz(cases: int, seed: int, tell: Callable[[str], None] = print) -> Counter[str]:
    """Run so many cases; return how often each fault came ("": none), telling of each."""
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        sound, scratch = Path(place) / "sound", Path(place) / "case"
        sound.mkdir()
        material(sound)
        for number in range(cases):
            what, ended = one(number, seed, sound, scratch)
            found[ended.fault] += 1
            if ended.fault:
                tell(f"case {number} of seed {seed}: {ended.fault}: {what}\n{ended.said[-600:]}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Break what users hand in, and see that each command ends well.")
    parser.add_argument("--cases", type=int, default=1500)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    counts = fuzz(wanted.cases, wanted.seed)
    good = counts.pop("", 0)
    print(f"{wanted.cases} cases, {good} ended as they should; faults: {dict(counts) or 'none'}")
    sys.exit(good < wanted.cases)
