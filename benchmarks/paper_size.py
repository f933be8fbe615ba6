"""Analyse a corpus of the paper's full size from end to end, kill it in the middle, and resume it.

    python benchmarks/paper_size.py FOLDER                 # 4,033,700 made-up texts; about 6 GB in FOLDER, half an hour
    python benchmarks/paper_size.py FOLDER --scale 0.05 --identities 48     # a small trial, which writes no results

Eleven configurations × (345 short + 35 long concepts) × 193 nationalities × 5 samples. The analysis is the command
`kapwa analyze eecc` in a process of its own with all its workers; memory is the sum over that tree of processes, shared
pages counted once (PSS), twice a second. It is ended by SIGKILL when half the parts are there, and run again. Then the
cost is measured at three sizes in concepts and three in identities, with one process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contest import machine, write
from synthetic import QA, Shape, nationalities, paper_shapes, write_corpora, write_values

RESULTS = Path(__file__).parent / "results" / "paper_size.json"
SIZES = (1, 2, 4)
_EVERY = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Watched:
    """A tree of processes: its clock, its processors' time, and the most memory it held."""

    root: int
    cpu: dict[int, float] = field(default_factory=dict)
    peak_mb: float = 0.0

    def look(self) -> None:
        """Add what the tree uses now; processes that ended keep the time last seen."""
        memory = 0.0
        for pid in tree(self.root):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
                self.cpu[pid] = (int(fields[11]) + int(fields[12])) / _TICKS
                memory += _pss_mb(pid)
            except OSError:  # it ended while we looked
                continue
        self.peak_mb = max(self.peak_mb, memory)


def tree(root: int) -> list[int]:
    """Return ``root`` and all its descendants."""
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
            waiting += [int(child) for child in children.split()]
        except OSError:
            continue
    return found


def _pss_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def analyse(folder: Path, out: Path, *options: str, stop: Callable[[], bool] = lambda: False) -> dict[str, Any]:
    """Run the analysis of ``folder`` and return its costs; kill it as soon as ``stop`` says so."""
    command = [str(Path(sys.executable).with_name("kapwa")), "analyze", "eecc", "--json", "--out", str(out), *options]
    sources = sorted(str(path) for path in folder.glob("*.parquet"))
    began = time.monotonic()
    with (
        (out.parent / "analysis.log").open("a", encoding="utf-8") as log,
        (out.parent / "last.json").open("w") as answer,
    ):
        process = subprocess.Popen([*command, *sources], stdout=answer, stderr=log)
        watched = Watched(process.pid)
        killed = False
        while process.poll() is None:
            watched.look()
            if not killed and stop():
                workers = tree(process.pid)[1:]
                process.send_signal(signal.SIGKILL)
                killed = True
            time.sleep(_EVERY)
    if killed:
        _gone(workers)
    elif process.returncode:
        sys.exit(f"The analysis failed; see {out.parent / 'analysis.log'}.")
    return {
        "wall_s": round(time.monotonic() - began, 1),
        "cpu_s": round(sum(watched.cpu.values()), 1),
        "peak_mb": round(watched.peak_mb),
        "killed": killed,
    }


def _gone(workers: list[int]) -> None:
    """Wait until the workers of a killed analysis have left, as they must on their own."""
    limit = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in workers):
        if time.monotonic() > limit:
            sys.exit("Workers outlived the process that started them.")
        time.sleep(0.05)


def parts(out: Path) -> int:
    """Count the parts that are there."""
    return sum(1 for _ in (out / "parts").glob("*/*.npz"))


def full_size(folder: Path, scale: float, identities: int, workers: int) -> dict[str, Any]:
    """Make the corpus, analyse it with a kill in the middle, analyse it again with what is there."""
    shapes = paper_shapes(scale, identities)
    corpus, out = folder / f"corpus-{scale:g}-{identities}", folder / f"analyses-{scale:g}-{identities}"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    began = time.monotonic()
    texts = write_corpora(corpus, shapes, workers)
    made = round(time.monotonic() - began, 1)
    values = write_values(folder / "values.csv", nationalities(identities))
    options = ("--values", str(values), "--control", "geography", "--workers", str(workers))
    whole = sum(sum(shape.topics) for shape in shapes)
    first = analyse(corpus, out, *options, stop=lambda: parts(out) >= whole // 2)
    kept = parts(out)
    print(f"killed after {first['wall_s']} s with {kept} of {whole} parts", flush=True)
    second = analyse(corpus, out, *options)
    found = json.loads((out.parent / "last.json").read_text(encoding="utf-8"))
    if found["manifest"]["parts"]["kept"] < kept:
        sys.exit("Parts were computed again after the kill.")
    print(f"resumed for {second['wall_s']} s", flush=True)
    again = analyse(corpus, out, *options)
    return {
        "texts": texts,
        "parts": whole,
        "corpora": len(shapes),
        "workers": workers,
        "making_the_texts_s": made,
        "until_the_kill": first | {"parts_kept": kept},
        "after_the_kill": second | {"seconds": found["manifest"]["seconds"], "parts": found["manifest"]["parts"]},
        "again_with_all_parts": again,
        "wall_s": round(first["wall_s"] + second["wall_s"], 1),
        "cpu_s": round(first["cpu_s"] + second["cpu_s"], 1),
        "peak_mb": max(first["peak_mb"], second["peak_mb"]),
        "parts_mb": round(sum(path.stat().st_size for path in (out / "parts").glob("*/*.npz")) / 1e6),
        "tau": [row for row in found["correlations"] if row["topic"] == "all" and row["method"].startswith("tau")][:2],
        "versions": found["manifest"]["versions"],
    }


def growth(folder: Path, scale: float, identities: int) -> dict[str, list[dict[str, Any]]]:
    """Measure one process at several sizes in concepts, and in identities."""
    base = max(1, round(2 * min(1.0, 10 * scale)))
    concepts = [_sized(folder, identities, base * many) for many in SIZES]
    people = [_sized(folder, round(identities * many / 2), base) for many in SIZES]
    return {"in_concepts": concepts, "in_identities": people}


def _sized(folder: Path, identities: int, per_topic: int) -> dict[str, Any]:
    task, length, topics = QA
    shape = Shape("made-up", 0.7, task, length, (per_topic,) * len(topics), nationalities(identities))
    corpus, out = folder / f"sized-{identities}-{per_topic}", folder / f"sized-{identities}-{per_topic}-out"
    write_corpora(corpus, [shape], 1)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    cost = analyse(corpus, out, "--workers", "1")
    seconds = json.loads((out.parent / "last.json").read_text(encoding="utf-8"))["manifest"]["seconds"]
    concepts = per_topic * len(topics)
    return {"identities": identities, "concepts": concepts, "texts": shape.texts, **cost, "seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where texts, parts and logs go")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the paper's concepts")
    parser.add_argument("--identities", type=int, default=193, help="nationalities")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--keep", action="store_true", help="keep texts and parts afterwards")
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    size = chosen.scale, chosen.identities
    results = {"scale": chosen.scale, "machine": machine(), "growth": growth(folder, *size)}
    results |= full_size(folder, *size, chosen.workers)
    if not chosen.keep:
        for path in folder.glob("*"):
            if path.is_dir() and path.name.startswith(("corpus-", "analyses-", "sized-")):
                shutil.rmtree(path)
    if size == (1, 193):
        write(RESULTS, results)
    else:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
