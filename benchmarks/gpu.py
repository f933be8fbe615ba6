"""Scoring and generating on a GPU against the CPU: differences, flips, time, and the largest batch that fits.

    python benchmarks/gpu.py --data ../shared/data/kalahi/filipino.csv --peer-python PEER/bin/python

Without a GPU it says so and measures nothing; ``--device cpu`` rehearses the script itself. Contestants are those of
``scoring.py`` and ``generation.py``, here on ``--device`` in float32 and bfloat16; the base is Kapwa on the CPU in
float32. lm-eval's Hugging Face model takes part where ``--peer-python`` has it. On the GPU each works once before it is
timed, since kernels are loaded when first needed. A batch of generating fits when memory did not run out:
``batch_tokens`` is doubled until it does (it is then computed in halves, with a warning that is counted here).
``--billions 8`` times scoring and generating of a model of that size besides, made of random weights in a temporary
folder (two bytes a weight), in bfloat16: its numbers mean nothing, its seconds do.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import generation
import scoring
from contest import compete, finish, machine, measured, write

BASE_SCORES, BASE_TEXTS = "scores: cpu float32", "texts: cpu float32"
PEERS = {
    f"scores: lm-eval {dtype}, batch {size}": (dtype, size) for dtype in ("float32", "bfloat16") for size in (8, 64)
}
DTYPES = ("float32", "bfloat16")
_SMALLEST, _LARGEST = 1 << 12, 1 << 22


def largest_batch(job: dict[str, Any], dtype: str) -> None:
    """Double ``batch_tokens`` until memory runs out in generating; the result is the last one that fitted."""
    from dataclasses import replace

    from kapwa.loading import load_model
    from kapwa.records import Message, Params, Request

    warned: list[str] = []
    watch = logging.Handler()
    watch.emit = lambda record: warned.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("kapwa.models.transformers").addHandler(watch)
    turns = [(Message("user", item["question"]),) for item in job["items"]]
    model = load_model("smollm2", dtype=dtype, device=job["device"])
    model.stop_ids = ()

    def fits(tokens: int) -> bool:
        model.options = replace(model.options, batch_tokens=tokens)
        requests: list[Request] = []
        while not requests or len(model.plan(requests)) < 2:  # one batch is full
            i = len(requests)
            turn = turns[i % len(turns)]
            request = Request(str(i), "", "generate", turn, key=str(i), params=Params(max_new_tokens=32))
            requests += [request] * max(1, len(requests))
        warned.clear()
        answers = list(model.generate([requests[i] for i in model.plan(requests)[0]]))
        return not warned and not any(answer.error for answer in answers)

    def search() -> int:
        largest, tokens = 0, _SMALLEST
        while tokens <= job["most_tokens"] and fits(tokens):
            largest, tokens = tokens, tokens * 2
        return largest

    finish(*measured(search))


CONTESTANTS: dict[str, Any] = {
    BASE_SCORES: lambda job: scoring.run_kapwa({**job, "device": "cpu"}, "float32"),
    **{f"scores: {dtype}": partial(scoring.run_kapwa, dtype=dtype) for dtype in DTYPES},
    **{name: partial(scoring.run_lm_eval, dtype=dtype, batch_size=size) for name, (dtype, size) in PEERS.items()},
    BASE_TEXTS: lambda job: generation.run_kapwa({**job, "device": "cpu"}),
    **{f"texts: {dtype}": partial(generation.run_kapwa, dtype=dtype) for dtype in DTYPES},
}
# Each once: a search takes longer than what is measured, and its result is a power of two.
SEARCHES: dict[str, Any] = {f"largest batch: {dtype}": partial(largest_batch, dtype=dtype) for dtype in DTYPES}
LARGE: dict[str, Any] = {
    "scores: bfloat16": CONTESTANTS["scores: bfloat16"],
    **{name: CONTESTANTS[name] for name, (dtype, _) in PEERS.items() if dtype == "bfloat16"},
    "texts: bfloat16": CONTESTANTS["texts: bfloat16"],
}


def make_large(folder: Path, billions: float) -> None:
    """Save a causal model of about ``billions`` random weights, shaped as Llama, with the embedded tokenizer."""
    import torch
    import transformers

    from kapwa.catalog import weights_wheel

    weights = weights_wheel.weights_file()
    assert weights is not None
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(weights.parent), gguf_file=weights.name)
    layers = max(1, round((billions * 1e9 - 4e8) / 2.18e8))  # of 218 million weights each; embeddings hold the rest
    config = transformers.LlamaConfig(
        vocab_size=49152, hidden_size=4096, intermediate_size=14336, num_hidden_layers=layers, num_attention_heads=32,
        num_key_value_heads=8, max_position_embeddings=8192, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    torch.manual_seed(1)
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def large_table(job: dict[str, Any], pythons: dict[str, str], billions: float, repeats: int) -> dict[str, Any]:
    """Time the contestants of ``LARGE`` on a large model; wall seconds, the least of the rounds."""
    with tempfile.TemporaryDirectory() as folder:
        make_large(Path(folder), billions)
        chosen = {name: pythons[name] for name in LARGE if name in pythons}
        rounds = compete(__file__, chosen, {**job, "model": f"hf:{folder}"}, repeats)
    return {name: {"wall_s": _least(reports)} for name, reports in rounds.items()}


def _least(reports: list[dict[str, Any]]) -> float:
    return round(min(report["wall_s"] for report in reports), 2)


def has_gpu() -> str:
    """Return the name of the first GPU, "" where torch finds none."""
    try:
        import torch
    except ImportError:
        return ""
    return str(torch.cuda.get_device_name(0)) if torch.cuda.is_available() else ""


def _row(
    name: str, reports: list[dict[str, Any]], rounds: dict[str, Any], items: list[dict[str, Any]]
) -> dict[str, Any]:
    """One contestant's time, and how its result differs from the base's."""
    row: dict[str, Any] = {"wall_s": _least(reports)}
    if name.startswith("scores"):
        return row | scoring.compare(items, reports[0]["result"], rounds[BASE_SCORES][0]["result"])
    pairs = zip(reports[0]["result"], rounds[BASE_TEXTS][0]["result"], strict=True)
    return row | {"identical_texts": sum(a == b for a, b in pairs)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the released full file, filipino.csv")
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter of the environment with lm-eval")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=int, help="use only the first prompts")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--most-tokens", type=int, default=_LARGEST, help="the largest batch tried")
    parser.add_argument("--billions", type=float, help="time a model of so many random weights besides")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    parser.add_argument("--contestant", choices=CONTESTANTS | SEARCHES | LARGE, help=argparse.SUPPRESS)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        (CONTESTANTS | SEARCHES | LARGE)[arguments.contestant](json.loads(arguments.job.read_text(encoding="utf-8")))
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
    pythons = dict.fromkeys(CONTESTANTS | LARGE, sys.executable) | dict.fromkeys(PEERS, arguments.peer_python)
    if subprocess.run([arguments.peer_python, "-c", "import lm_eval"], capture_output=True, check=False).returncode:
        print("lm-eval is not installed there: it takes no part.")
        pythons = {name: python for name, python in pythons.items() if name not in PEERS}
    chosen = {name: python for name, python in pythons.items() if name in CONTESTANTS}
    rounds = compete(__file__, chosen, job, arguments.repeats)
    table = {name: _row(name, reports, rounds, job["items"]) for name, reports in rounds.items()}
    results: dict[str, Any] = {
        "contestants": table, "prompts": len(job["items"]), "texts": len(prompts), "repeats": arguments.repeats,
        "gpu": gpu, "device": arguments.device, "machine": machine(),
    }  # fmt: skip
    write(arguments.out, results)  # and again below: a machine may be lent for minutes only
    if arguments.billions:
        results["large"] = large_table(job, pythons, arguments.billions, arguments.repeats)
        results["billions"] = arguments.billions
        write(arguments.out, results)
    searches = compete(__file__, dict.fromkeys(SEARCHES, sys.executable), job, 1)
    results["largest"] = {name: reports[0]["result"] for name, reports in searches.items()}
    write(arguments.out, results)


if __name__ == "__main__":
    main()
