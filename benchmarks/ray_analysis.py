"""Time one analysis in processes of this machine and on a Ray of this machine, with the same processors.

    python benchmarks/ray_analysis.py FOLDER                    # some minutes a round; about 1 GB in FOLDER
    python benchmarks/ray_analysis.py FOLDER --configurations 1 --repeats 1 --scale 0.1   # a trial: writes no results

Made-up texts of the paper's shape (`synthetic.py`): of each configuration 345 short and 35 long concepts × 193
nationalities × 5 samples. Both contestants are the call `kapwa.analyze` in a process of its own, from nothing to the
finished tables; Ray's time holds starting and ending Ray. They take turns, and all their tables must be the same bytes.
Processor time and memory are of the whole tree of processes, Ray's own among them; shared pages are counted once (PSS).
`comparing`: the first stage alone. Summing up runs on Ray, too, from 256 concepts on.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from contest import compete, finish, machine, summary, write
from paper_size import Watched
from synthetic import nationalities, paper_shapes, write_corpora, write_values

RESULTS = Path(__file__).parent / "results" / "ray_analysis.json"
LOCAL, RAY = "local", "ray"
REPEATS = 3


def analyse(contestant: str, job: dict[str, Any]) -> None:
    """Run one contestant's round and report it."""
    import kapwa
    from kapwa.parallel.base import Ray

    out = Path(job["folder"]) / f"analyses-{contestant}"
    shutil.rmtree(out, ignore_errors=True)
    options = {"values": job["values"], "out": out, "progress": False}
    engine = {"engine": Ray(address="local")} if contestant == RAY else {"workers": job["workers"]}
    began = time.perf_counter()
    with watching() as watched:
        found = kapwa.analyze(job["sources"], **options, **engine)
        watched.look()
    times = {"cpu_s": sum(watched.cpu.values()), "wall_s": time.perf_counter() - began, "peak_mb": watched.peak_mb}
    digests = {name: file_digest(found.path / f"{name}.parquet") for name in found.names}
    finish(digests, times, seconds=found.manifest["seconds"], parts=found.manifest["parts"]["computed"])
    shutil.rmtree(out)


@contextmanager
def watching() -> Iterator[Watched]:
    """Look at this process and all that it starts, twice a second."""
    watched, ended = Watched(os.getpid()), threading.Event()

    def look() -> None:
        while not ended.wait(0.5):
            watched.look()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield watched
    finally:
        ended.set()
        thread.join()


def file_digest(path: Path) -> str:
    """Return a digest of a file."""
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="where texts and analyses go")
    parser.add_argument("--configurations", type=int, default=2, help="of the paper's eleven")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the paper's concepts")
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--contestant", help=argparse.SUPPRESS)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.contestant:
        analyse(chosen.contestant, json.loads(chosen.job.read_text(encoding="utf-8")))
        return
    if chosen.folder is None:
        parser.error("name a FOLDER")
    workers = len(os.sched_getaffinity(0))
    folder = chosen.folder.resolve()
    shapes = paper_shapes(chosen.scale)[: 2 * chosen.configurations]
    corpus = folder / f"corpus-{chosen.scale:g}-{chosen.configurations}"
    texts = write_corpora(corpus, shapes, workers)
    values = write_values(folder / "values.csv", nationalities(193))
    job = {
        "folder": str(folder),
        "sources": sorted(str(path) for path in corpus.glob("*.parquet")),
        "values": str(values),
        "workers": workers,
    }
    rounds = compete(__file__, dict.fromkeys((LOCAL, RAY), sys.executable), job, chosen.repeats)
    check_same(rounds)
    results = {
        "machine": machine(),
        "workers": workers,
        "texts": texts,
        "parts": rounds[LOCAL][0]["parts"],
        "repeats": chosen.repeats,
        "contestants": summary(rounds, LOCAL),
        "comparing_s": {name: [report["seconds"]["comparing"] for report in rounds[name]] for name in rounds},
        "summing_s": {name: [report["seconds"]["summing"] for report in rounds[name]] for name in rounds},
    }
    if chosen.repeats >= REPEATS and chosen.scale == 1:
        write(RESULTS, results)
    else:
        print(json.dumps(results, indent=2))


def check_same(rounds: dict[str, list[dict[str, Any]]]) -> None:
    """End where a table of one contestant or round is not that of every other."""
    told = [report["result"] for reports in rounds.values() for report in reports]
    for name in told[0]:
        if len({digests[name] for digests in told}) > 1:
            sys.exit(f"The table {name} is not the same everywhere.")


if __name__ == "__main__":
    main()
