"""Measure the journal at the paper's size: append answers, then open it and find what is missing.

    python benchmarks/journal.py --rows 3700000

Rows hold texts of about 600 bytes and are committed in the groups the runner uses. Peak memory is the process's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from kapwa.files import write_json
from kapwa.records import Response, Usage
from kapwa.runs.execute import GROUP
from kapwa.runs.store import AnswerStore

RESULTS = Path(__file__).parent / "results" / "journal.json"
TEXT = "kapwa " * 100


def keys(rows: int) -> Iterator[str]:
    for i in range(rows):
        yield hashlib.blake2b(i.to_bytes(8, "big"), digest_size=16).hexdigest()


def append(path: Path, rows: int, group: int) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    with AnswerStore(path, identity="benchmark") as journal:
        waiting: list[Response] = []
        for key in keys(rows):
            waiting.append(Response(key, text=TEXT, finish_reason="stop", usage=Usage(20, 100)))
            if len(waiting) == group:
                journal.commit(waiting, {})
                waiting = []
        journal.commit(waiting, {})
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"append_rows_per_s": round(rows / wall), "append_rows_per_cpu_s": round(rows / cpu)}


def find_missing(path: Path, rows: int) -> dict[str, float]:
    start = time.perf_counter()
    with AnswerStore(path, identity="benchmark") as journal:
        opened = time.perf_counter() - start
        missing = sum(1 for _ in journal.missing(keys(rows + 1000)))
    assert missing == 1000
    return {"open_s": round(opened, 2), "open_and_find_missing_s": round(time.perf_counter() - start, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_700_000)
    parser.add_argument("--group", type=int, default=GROUP)
    parser.add_argument("--folder", help="where the journal is written; needs about 1 kB a row")
    settings = parser.parse_args()
    folder = Path(tempfile.mkdtemp(dir=settings.folder))
    try:
        path = folder / "journal.sqlite"
        result = {
            "rows": settings.rows,
            "bytes_of_text_a_row": len(TEXT),
            "rows_a_commit": settings.group,
            **append(path, settings.rows, settings.group),
            **find_missing(path, settings.rows),
            "file_mb": round(path.stat().st_size / 1e6),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
            "machine": {"cpu": platform.machine(), "python": platform.python_version()},
        }
    finally:
        shutil.rmtree(folder)
    write_json(RESULTS, result)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
