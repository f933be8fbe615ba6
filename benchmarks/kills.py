"""Kill commands at any moment, run them again, and see that nothing is lost, asked twice or left half.

Usage: python benchmarks/kills.py [--kills 200] [--seed 1] [--first 0] [--sound FOLDER]

Each case takes the sound files of ``fuzz.py`` and one verb in its turn, and ends it at one moment: before or after a
file is opened, renamed or made durable, or answers are committed, or at any time of the processor. Then the same
command runs to its end in the same folder, with ``--overwrite`` where it names that as the remedy for the files that
are there. It must end well (or be refused, where all was written before), what it wrote must be what an undisturbed
command writes, answers that were durable at the kill must be there and must not have been asked for again, and what
the command only reads must be as it was. Where two undisturbed commands differ in a file (in times, say), that it is
there again is all that is asked of it. Each case is printed with what repeats it (the seed and its number) and with
what went wrong, and faults are counted at the end.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import fuzz

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "studio"))

JUDGED = "--matcher judge --judge openai:stub"
RUN = "run kalahi/open --data kalahi --metrics chrf --out killed --model"
SERVED = f"{RUN} openai:stub --revision v1 --limit 8 --concurrency 2 --cache"
SCORE = "score blend/saq --data blend/us --responses saq.csv --limit 8 --variant local/inst-4 --out killed"
STUDIO = "--home house"
CALLS = ("open", "mkdir", "rename", "replace", "fsync", "unlink")
ASKED, COUNTED = "asked.txt", "counted.json"
PASSING = (ASKED, COUNTED, "printed.txt", "passing")  # what a case leaves for itself


class Verb(NamedTuple):
    """A command; where it writes; the store of its answers; ``whole``: all it writes appears at once."""

    words: str
    writes: str
    store: str = ""
    whole: bool = False


VERBS = [
    Verb(f"{RUN} replay:answers.csv", "killed", "killed/*/journal.sqlite"),
    Verb(f"{SERVED} fresh", "killed fresh", "killed/*/journal.sqlite"),
    Verb(f"{SERVED} half", "killed half", "killed/*/journal.sqlite"),
    Verb("score kalahi/open --data kalahi --responses answers.csv --metrics chrf --out killed", "killed"),
    Verb(f"{SCORE} {JUDGED}", "killed", "killed/judge-answers.sqlite"),
    Verb("build mcq --data blend --judge openai:stub -o new", "new", "new.answers.sqlite"),
    Verb("build mcq --data blend -o new", "new", whole=True),
    Verb("import lm-eval --format lm-eval -o killed", "killed"),
    Verb("import inspect --format inspect -o killed", "killed", whole=True),
    *[Verb(f"export kalahi-open --format {form} -o out", "out") for form in ("csv", "lm-eval", "inspect")],
    Verb("export kalahi-open --format eee -o out --organization us", "out"),
    Verb("analyze eecc --responses texts --permutations 19 --workers 1 --out killed", "killed"),
    Verb("label sheets kalahi --data kalahi --items 3 --people 2 --out out", "out", whole=True),
    Verb("label sheets kalahi --data kalahi --run kalahi-open --items 3 --people 2 --out out", "out", whole=True),
    Verb("suite new blend fresh", "fresh", whole=True),
    Verb("suite add kalahi --name mine", "config"),
    Verb("suite remove four", "config"),
    Verb("cache prune half --model openai:stub", "half"),
    Verb("doctor kalahi-open --salvage", "kalahi-open"),
    Verb("report kalahi-open --csv out -o page.html", "out page.html"),
    Verb("report analysis -o page.html", "page.html"),
    Verb("card datasheet kalahi-open -o sheet.md", "sheet.md"),
    Verb(f"studio export demo -o demo.zip {STUDIO}", "demo.zip demo.secret house"),
    Verb(f"studio import demo sample:egyptian {STUDIO}", "house"),
    Verb(f"studio freeze demo --release 1.0.0 --date 2026-01-31 {STUDIO}", "house releases"),
    Verb("studio import demo demo.archive.zip --home second", "second"),
    Verb(f"studio new other --title Other --culture Filipino --language fil {STUDIO}", "house"),
]  # fmt: skip
HALF_CACHED = SERVED.replace("--limit 8", "--limit 4").replace("killed", "filled") + " half"
PREPARED = [
    f"studio new demo --title Demo --culture Filipino --language fil {STUDIO}",
    f"studio import demo sample:filipino {STUDIO}",
    f"studio export demo -o demo.archive.zip {STUDIO}",
]


def collected(house: Path) -> None:
    """In a process of its own: let people come into the project, and write and accept a situation."""
    from kapwa.studio.settings import configure

    configure(house, hosts=("testserver",))
    from studio_people import a_situation, accepted, enter  # its tables need the settings

    from kapwa.studio.models import Project, Situation

    roles = {"berto": "writer", "carla": "reviewer", "edo": "reviewer", "dina": "scribe"}
    project = Project.objects.get(slug="demo")
    people = {name: enter(project, name.title(), role) for name, role in roles.items()}
    people["berto"].post("situations/new/", a_situation("Liza"))
    number = Situation.objects.filter(project=project).latest("number").number
    people["berto"].post(f"situations/{number}/submit/")
    accepted(people, number, "carla", "edo")


def watched(moment: tuple[str, int] | None, seconds: float) -> None:
    """In the command's process: count calls, note what is asked, and end it at ``moment`` or after ``seconds``.

    Runs before the command. ``seconds`` are of the processor; 0: never.
    """
    from kapwa.models.replay import ReplayModel
    from kapwa.runs.store import AnswerStore

    counts: Counter[str] = Counter()
    place = Path.cwd()

    def passes(name: str) -> None:
        counts[name] += 1
        if (name, counts[name]) == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    def wrap(owner: Any, attribute: str, name: str) -> None:
        real = getattr(owner, attribute)

        def called(*args: Any, **named: Any) -> Any:
            passes(f"before {name}")
            done = real(*args, **named)
            passes(f"after {name}")
            return done

        setattr(owner, attribute, called)

    asks = ReplayModel.generate

    def noted(self: Any, batch: Iterable[Any]) -> Any:
        batch = list(batch)
        with (place / ASKED).open("a", encoding="utf-8") as file:
            file.writelines(f"{request.key}\n" for request in batch)
        return asks(self, batch)

    def ends(code: int, leave: Callable[[int], None] = os._exit) -> None:
        (place / COUNTED).write_text(json.dumps(counts), encoding="utf-8")
        leave(code)

    ReplayModel.generate = noted  # type: ignore[method-assign]
    wrap(AnswerStore, "commit", "a commit")
    for name in CALLS:
        wrap(os, name, name)
    os._exit = ends  # type: ignore[assignment]
    if seconds:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # its default action ends the process at once


def content(path: Path) -> str:
    """A digest of what a file says: of archives the members, of stores the answers, else the bytes."""
    if path.suffix == ".sqlite":
        with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
            tables = [name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            if "responses" in tables:
                return str(sorted(base.execute("SELECT key, failed, payload FROM responses")))
            # Of the studio: how much there is of each thing.
            return str(sorted((name, *base.execute(f'SELECT count(*) FROM "{name}"').fetchone()) for name in tables))  # noqa: S608
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return str([(name, hashlib.sha256(archive.read(name)).hexdigest()) for name in sorted(archive.namelist())])
    return hashlib.sha256(path.read_bytes()).hexdigest()


def written(folder: Path, places: Iterable[str]) -> dict[str, str]:
    """What every file in these places says; hidden files, logs of databases and locks are none."""
    files = [file for place in places for file in [folder / place, *(folder / place).rglob("*")] if file.is_file()]
    names = {file.relative_to(folder): file for file in files if not file.name.endswith(("-wal", "-shm"))}
    kept = {name: file for name, file in names.items() if not any(part.startswith(".") for part in name.parts)}
    return {str(name): content(file) for name, file in kept.items() if ".damaged" not in name.name}


def others(folder: Path, verb: Verb) -> dict[str, str]:
    """What every file says that the verb does not write."""
    places = [file.name for file in folder.iterdir() if file.name not in (*PASSING, *verb.writes.split())]
    return written(folder, [name for name in places if not name.startswith(verb.store or "\0")])


def durable(folder: Path, verb: Verb) -> set[str]:
    """The keys of the answers that are committed, read from a copy so that the store stays as the kill left it."""
    copy = folder / "passing"
    for store in folder.glob(verb.store) if verb.store else ():
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for file in store.parent.glob(f"{store.name}*"):
            shutil.copyfile(file, copy / file.name)
        answered = "SELECT key FROM responses WHERE NOT failed"
        with contextlib.closing(sqlite3.connect(copy / store.name)) as base, contextlib.suppress(sqlite3.Error):
            return {key.hex() for (key,) in base.execute(answered)}  # an error: its tables are not there yet
    return set()


class Undisturbed(NamedTuple):
    """What a verb does when nobody stops it."""

    counts: dict[str, int]
    seconds: float
    files: dict[str, str]
    same: frozenset[str]  # files that are the same each time


def undisturbed(verb: Verb, sound: Path, scratch: Path) -> Undisturbed:
    """Run a verb twice, each time anew."""
    both = []
    for again in range(2):
        time.sleep(1.1 * again)  # so that a time in whole seconds differs
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(sound, scratch)
        ended = fuzz.run(verb.words.split(), scratch, lambda: watched(None, 0))
        assert not ended.code, (verb.words, ended.said)
        both.append(written(scratch, verb.writes.split()))
    first, second = both
    assert first.keys() == second.keys()
    counts = json.loads((scratch / COUNTED).read_text(encoding="utf-8"))
    return Undisturbed(counts, ended.seconds, second, frozenset(name for name in first if first[name] == second[name]))


def killed(
    verb: Verb, usual: Undisturbed, draw: random.Random, sound: Path, scratch: Path, judge: fuzz.StubProcess
) -> tuple[str, str]:
    """Kill a verb once and run it again; return what is wrong, and when it was killed.

    Wrong: "" where nothing is, "missed" where the command ended before.
    """
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(sound, scratch)
    name = draw.choice(["time", "time", *sorted(usual.counts)])
    moment = (name, draw.randint(1, usual.counts.get(name, 1)))
    seconds = draw.uniform(0.0, usual.seconds) + 1e-4 if name == "time" else 0.0
    at = f"{name} {moment[1] if not seconds else f'{seconds:.3f} s'}"
    before = others(scratch, verb)
    ended = fuzz.run(verb.words.split(), scratch, lambda: watched(moment, seconds))
    if ended.code >= 0:
        return "missed", at
    kept, left = durable(scratch, verb), written_or_torn(scratch, verb)
    (scratch / ASKED).unlink(missing_ok=True)
    asked = len(judge.arrivals())
    again = fuzz.run(verb.words.split(), scratch, lambda: watched(None, 0))
    if again.code == 2 and "--overwrite" in again.said:  # the remedy that it names
        again = fuzz.run([*verb.words.split(), "--overwrite"], scratch)
    asked = len(judge.arrivals()) - asked
    now = written(scratch, verb.writes.split())
    own = set((scratch / ASKED).read_text(encoding="utf-8").split()) if (scratch / ASKED).exists() else set()
    there = durable(scratch, verb)
    faults = {
        f"ended with {again.code}: {again.said[-600:]}": again.code and not (again.code == 2 and left == now),
        "lost what was durable": not kept <= there,
        "asked again what was durable": kept & own or ("openai:" in verb.words and asked > len(there - kept)),
        "left half": verb.whole and left and left.keys() != usual.files.keys(),
        f"other files: {sorted(now.keys() ^ usual.files.keys())}": now.keys() != usual.files.keys(),
        f"files differ: {[n for n in usual.same if now.get(n) != usual.files[n]]}": any(
            now.get(one) != usual.files[one] for one in usual.same
        ),
        "changed what it only reads": others(scratch, verb) != before,
    }
    return "; ".join(what for what, wrong in faults.items() if wrong), at


def written_or_torn(folder: Path, verb: Verb) -> dict[str, str]:
    """What the kill left; a database whose file alone says nothing yet counts as torn."""
    with contextlib.suppress(sqlite3.Error):
        return written(folder, verb.writes.split())
    return {"torn": ""}


def prepare(sound: Path, *lines: str) -> None:
    """Run commands that add to the sound files."""
    for words in lines:
        ended = fuzz.run(words.split(), sound)
        assert not ended.code, (words, ended.said)


def kills(wanted: int, seed: int, first: int = 0, kept: Path | None = None) -> Counter[str]:
    """Kill until so many commands were struck; return how often each verb was, and "fault" how often one failed."""
    struck: Counter[str] = Counter()
    with fuzz.served(delay=0.02) as judge, tempfile.TemporaryDirectory() as place:
        sound, scratch = Path(place) / "sound", Path(place) / "case"
        fuzz.sound_files(sound, kept)
        prepare(sound, HALF_CACHED)
        usual: dict[Verb, Undisturbed] = {}
        number = first
        while struck.total() - struck["fault"] < wanted:
            verb = VERBS[number % len(VERBS)]
            if verb.words.startswith("studio") and not (sound / "house").exists():
                prepare(sound, *PREPARED)
                fuzz.apart(lambda: collected(sound / "house"))
            if verb not in usual:
                usual[verb] = undisturbed(verb, sound, scratch)
            draw = random.Random(f"{seed}/{number}")  # noqa: S311 - to be repeated, not kept secret
            fault, at = killed(verb, usual[verb], draw, sound, scratch, judge)
            struck[" ".join(verb.words.split()[:2])] += fault != "missed"
            struck["fault"] += fault not in ("", "missed")
            done = f"{struck.total() - struck['fault']}/{wanted}"
            print(f"{done}: case {number} of seed {seed}: {verb.words} (at {at}): {fault or 'clean'}", flush=True)
            number += 1
    return struck


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Kill commands at any moment and run them again.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--sound", type=Path, help="a folder to keep the sound files in, or of an earlier call")
    chosen = parser.parse_args()
    counts = kills(chosen.kills, chosen.seed, chosen.first, chosen.sound)
    faults = counts.pop("fault", 0)
    print(f"{counts.total()} kills of {len(counts)} verbs, {faults} faults: {dict(counts)}")
    sys.exit(bool(faults))
