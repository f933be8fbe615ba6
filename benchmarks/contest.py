"""What the benchmarks share: running contestants in their own processes, in turns, and summing up."""

from __future__ import annotations

import json
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any


def measured(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Run ``work`` and return its result with CPU-seconds (all threads), wall seconds and peak memory (MB)."""
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    result = work()
    after, stop = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return result, {"cpu_s": cpu, "wall_s": stop - start, "peak_mb": after.ru_maxrss / 1024}


def warm(job: Mapping[str, Any]) -> bool:
    """Whether all of the work is done once before it is timed: a GPU loads kernels when they are first needed."""
    return job.get("device", "cpu") not in ("auto", "cpu")


def finish(result: Any, times: Mapping[str, float], **facts: Any) -> None:
    """Report one contestant's round on stdout, for the process that started it."""
    print("RESULT " + json.dumps({"result": result, **times, **facts}))


def run_round(script: str, contestant: str, python: str, job: Mapping[str, Any]) -> dict[str, Any]:
    """Run one contestant in its own process and return what it reported."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(job, file)
        file.flush()
        command = [python, script, "--contestant", contestant, "--job", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if done.returncode or not lines:
        sys.exit(f"{contestant} failed:\n{done.stderr[-3000:]}")
    report: dict[str, Any] = json.loads(lines[-1].removeprefix("RESULT "))
    return report


def compete(
    script: str, contestants: Mapping[str, str], job: Mapping[str, Any], repeats: int
) -> dict[str, list[dict[str, Any]]]:
    """Run every contestant once a repeat, the order reversed every other repeat; rounds are paired by repeat."""
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in contestants}
    for repeat in range(repeats):
        order: Sequence[str] = list(contestants) if repeat % 2 == 0 else list(reversed(contestants))
        for name in order:
            report = run_round(script, name, contestants[name], job)
            rounds[name].append(report)
            print(f"{repeat + 1}/{repeats} {name}: {report['cpu_s']:.1f} CPU-s, {report['wall_s']:.1f} s", flush=True)
    return rounds


def summary(rounds: Mapping[str, list[dict[str, Any]]], against: str) -> dict[str, dict[str, Any]]:
    """Return each contestant's medians, and the median over repeats of its ratios to ``against``."""
    table: dict[str, dict[str, Any]] = {}
    for name, reports in rounds.items():
        row = {key: round(statistics.median(r[key] for r in reports), 2) for key in ("cpu_s", "wall_s", "peak_mb")}
        for key in ("cpu_s", "wall_s"):
            pairs = zip(rounds[against], reports, strict=True)
            row[f"{key[:-2]}_ratio_to_{against}"] = round(statistics.median(r[key] / a[key] for a, r in pairs), 3)
        table[name] = row
    return table


def machine() -> dict[str, Any]:
    """Return what the figures depend on besides the code."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = info.read_text(encoding="utf-8").splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
        flags = next((line for line in lines if line.startswith("flags")), "")
        return {"cpu": name, "avx512_bf16": "avx512_bf16" in flags, "python": platform.python_version()}
    return {"cpu": name, "python": platform.python_version()}


def write(path: Path, results: Mapping[str, Any]) -> None:
    """Write the results as JSON and print them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=2, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
    print(text)
