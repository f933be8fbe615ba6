"""Scoring and generating on a GPU against the CPU: differences, flips, time, and the largest batch that fits.

    python benchmarks/gpu.py --data ../shared/data/kalahi/filipino.csv --peer-python PEER/bin/python

Without a GPU it says so and measures nothing; ``--device cpu`` rehearses the script itself. Contestants are those of
``scoring.py`` and ``generation.py``, here on ``--device`` in float32 and bfloat16; the base is Kapwa on the CPU in
float32. lm-eval's Hugging Face model takes part where ``--peer-python`` has it. A batch fits when memory did not run
out: ``batch_tokens`` is doubled until it does (it is then computed in halves, with a warning that is counted here).
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import generation
import scoring
from contest import compete, finish, machine, measured, write

BASE_SCORES, BASE_TEXTS = "scores: cpu float32", "texts: cpu float32"
PEER = "scores: lm-eval float32, batch 8"
DTYPES = ("float32", "bfloat16")
_SMALLEST, _LARGEST = 1 << 12, 1 << 22


def largest_batch(job: dict[str, Any], dtype: str) -> None:
    """Double ``batch_tokens`` until memory runs out; the result is the last one that fitted, by kind of request."""
    from kapwa.models.base import ModelOptions
    from kapwa.models.embedded import load
    from kapwa.records import Message, Params, Request

    warned: list[str] = []
    watch = logging.Handler()
    watch.emit = lambda record: warned.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("kapwa.models.transformers").addHandler(watch)
    turns = [(Message("user", item["question"]),) for item in job["items"]]
    texts = [tuple(item["texts"]) for item in job["items"]]
    ends = Params(max_new_tokens=32)

    def fits(kind: str, tokens: int) -> bool:
        model = load("", ModelOptions(dtype=dtype, device=job["device"], batch_tokens=tokens))
        model.stop_ids = ()
        requests: list[Request] = []
        while not requests or len(model.plan(requests)) < 2:  # one batch is full
            i = len(requests)
            asked = {"continuations": texts[i % len(texts)]} if kind == "score" else {"params": ends}
            more = [Request(str(i), "", kind, turns[i % len(turns)], key=str(i), **asked)]  # type: ignore[arg-type]
            requests += more * max(1, len(requests))
        warned.clear()
        batch = model.plan(requests)[0]
        answers = list(getattr(model, kind)([requests[i] for i in batch]))
        model.close()
        return not warned and not any(answer.error for answer in answers)

    def search() -> dict[str, int]:
        found = dict.fromkeys(("score", "generate"), 0)
        for kind in found:
            tokens = _SMALLEST
            while tokens <= job["most_tokens"] and fits(kind, tokens):
                found[kind], tokens = tokens, tokens * 2
        return found

    finish(*measured(search))


CONTESTANTS: dict[str, Any] = {
    BASE_SCORES: lambda job: scoring.run_kapwa({**job, "device": "cpu"}, "float32"),
    **{f"scores: {dtype}": partial(scoring.run_kapwa, dtype=dtype) for dtype in DTYPES},
    PEER: partial(scoring.run_lm_eval, batch_size=8),
    BASE_TEXTS: lambda job: generation.run_kapwa({**job, "device": "cpu"}),
    **{f"texts: {dtype}": partial(generation.run_kapwa, dtype=dtype) for dtype in DTYPES},
    **{f"largest batch: {dtype}": partial(largest_batch, dtype=dtype) for dtype in DTYPES},
}


def has_gpu() -> str:
    """Return the name of the first GPU, "" where torch finds none."""
    try:
        import torch
    except ImportError:
        return ""
    return str(torch.cuda.get_device_name(0)) if torch.cuda.is_available() else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the released full file, filipino.csv")
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter of the environment with lm-eval")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=int, help="use only the first prompts")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--most-tokens", type=int, default=_LARGEST, help="the largest batch tried")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        CONTESTANTS[arguments.contestant](json.loads(arguments.job.read_text(encoding="utf-8")))
        return
    gpu = has_gpu()
    if arguments.device != "cpu" and not gpu:
        print("torch finds no GPU here: nothing was measured.")
        return
    if arguments.data is None:
        parser.error("--data is needed")
    job = scoring.prepare(arguments.data, arguments.limit)
    prompts = [ask.format(topic) for ask in generation.ASKS for topic in generation.TOPICS][: arguments.limit]
    job |= {"prompts": prompts, "new_tokens": 100, "batch_tokens": 32768}
    job |= {"device": arguments.device, "most_tokens": arguments.most_tokens}
    pythons = dict.fromkeys(CONTESTANTS, sys.executable) | {PEER: arguments.peer_python}
    if subprocess.run([arguments.peer_python, "-c", "import lm_eval"], capture_output=True, check=False).returncode:
        print("lm-eval is not installed there: it takes no part.")
        del pythons[PEER]
    rounds = compete(__file__, pythons, job, arguments.repeats)
    table = {}
    for name, reports in rounds.items():
        row: dict[str, Any] = {"wall_s": round(min(report["wall_s"] for report in reports), 2)}
        if name.startswith("scores"):
            row |= scoring.compare(job["items"], reports[0]["result"], rounds[BASE_SCORES][0]["result"])
        elif name.startswith("texts"):
            pairs = zip(reports[0]["result"], rounds[BASE_TEXTS][0]["result"], strict=True)
            row["identical_texts"] = sum(a == b for a, b in pairs)
        else:
            row |= reports[0]["result"]
        table[name] = row
    write(arguments.out, {
        "contestants": table, "prompts": len(job["items"]), "texts": len(prompts), "repeats": arguments.repeats,
        "gpu": gpu, "device": arguments.device, "machine": machine(),
    })  # fmt: skip


if __name__ == "__main__":
    main()
