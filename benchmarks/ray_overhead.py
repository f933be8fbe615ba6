"""Time one run in this process and through one replica on a Ray of this machine, with the same threads.

    python benchmarks/ray_overhead.py                        # some minutes
    python benchmarks/ray_overhead.py --limit 2 --repeats 1  # a trial: writes no results

Both contestants are `kapwa.evaluate` of `kalahi/mc` on the embedded model, in a process of their own, and take turns;
their tables must be the same bytes. `wall_s` and `cpu_s` hold asking, judging and writing, after the model is loaded
and has answered once; `loading_s` and `ending_s` hold Ray's start and end. Processor time is of all processes, Ray's
own among them. `per_batch_ms`: what a batch costs that takes no time to answer, in a row of a few thousand.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from contest import compete, finish, machine, summary, write
from kapwa.models.base import Model
from kapwa.records import Message, Request, Response

RESULTS = Path(__file__).parent / "results" / "ray_overhead.json"
LOCAL, RAY = "local", "ray"
BATCHES = 3000


class Idle(Model):
    """A model whose answers take no time."""

    id, revision, atomic_batches = "idle", "1", True
    fingerprint = {"backend": "idle"}  # noqa: RUF012 - of one class, and not changed

    def plan(self, requests: Sequence[Any]) -> list[list[int]]:
        """Every request is a batch."""
        return [[i] for i in range(len(requests))]

    def generate(self, batch: Sequence[Any]) -> Iterator[Any]:
        """Yield a text of usual length for each request."""
        return (Response(request.key, text="x" * 600, finish_reason="stop") for request in batch)


def per_batch() -> float:
    """Return milliseconds a batch, for batches of one request."""
    from kapwa.parallel.base import Ray
    from kapwa.parallel.ray_model import RayModel

    sys.modules["ray_overhead"] = sys.modules[__name__]
    model = RayModel(Ray(address="local", cpus_per_replica=1, replicas=1), Idle, ())
    said = (Message("user", "x" * 400),)
    requests = [[Request(str(i), "full", "generate", said, key=f"{i:032x}")] for i in range(BATCHES)]
    for _ in model.run_batches("generate", requests[:100]):
        pass
    start = time.perf_counter()
    answered = sum(1 for _ in model.run_batches("generate", requests))
    seconds = time.perf_counter() - start
    model.close()
    if answered != BATCHES:
        sys.exit(f"{answered} of {BATCHES} batches were answered")
    return 1000 * seconds / BATCHES


def processor_seconds() -> float:
    """Processor time of this process and of all it has started that live."""
    import psutil

    own = psutil.Process()
    total = 0.0
    for process in [own, *own.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def evaluate(contestant: str, job: dict[str, Any]) -> None:
    """Run one contestant's round and report it."""
    import psutil

    import kapwa
    from kapwa.parallel.base import Ray

    begun = time.perf_counter()
    engine = Ray(address="local", replicas=1, cpus_per_replica=job["threads"]) if contestant == RAY else None
    model = kapwa.load_model("smollm2", engine=engine)
    loaded = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        kapwa.evaluate(kapwa.load_task("kalahi/mc", limit=1), model, path=Path(folder) / "warm", progress=False)
        cpu, start = processor_seconds(), time.perf_counter()
        task = kapwa.load_task("kalahi/mc", limit=job["limit"], variant="all")
        run = kapwa.evaluate(task, model, path=Path(folder) / "run", progress=False)
        wall, cpu = time.perf_counter() - start, processor_seconds() - cpu
        answers = run.manifest["counts"]["answered"]
        tables = {name: digest(run.path / f"{name}.parquet") for name in ("scores", "estimates", "continuations")}
    ending = time.perf_counter()
    model.close()
    times = {
        "wall_s": wall,
        "cpu_s": cpu,
        "peak_mb": psutil.Process().memory_info().rss / 2**20,
        "loading_s": loaded - begun,
        "ending_s": time.perf_counter() - ending,
    }
    finish(tables, times, answers=answers, threads=model.description["threads"] if contestant == LOCAL else None)


def digest(path: Path) -> str:
    """Return a digest of a file."""
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=10, help="situations of each culture and variant")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--contestant", help=argparse.SUPPRESS)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.contestant:
        evaluate(chosen.contestant, json.loads(chosen.job.read_text(encoding="utf-8")))
        return
    os.environ["OMP_NUM_THREADS"] = str(chosen.threads)
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)  # workers load this module's model
    rounds = compete(
        __file__,
        {LOCAL: sys.executable, RAY: sys.executable},
        {"limit": chosen.limit, "threads": chosen.threads},
        chosen.repeats,
    )
    if len({json.dumps(report["result"]) for reports in rounds.values() for report in reports}) != 1:
        sys.exit("the engines gave different tables")
    table = summary(rounds, LOCAL)
    for name, reports in rounds.items():
        for key in ("loading_s", "ending_s"):
            table[name][key] = round(sorted(report[key] for report in reports)[len(reports) // 2], 2)
    results = {
        "contestants": table,
        "per_batch_ms": round(per_batch(), 2),
        "answers": rounds[LOCAL][0]["answers"],
        "threads": chosen.threads,
        "repeats": chosen.repeats,
        "machine": machine(),
    }
    if chosen.repeats > 1:
        write(RESULTS, results)
    else:
        print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
