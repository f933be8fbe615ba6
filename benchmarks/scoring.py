"""Time packed scoring against lm-eval's Hugging Face model and a plain loop, on the released full prompts.

    python benchmarks/scoring.py --data ../shared/data/kalahi/filipino.csv --peer-python PEER/bin/python

Every contestant scores the same rendered prompts and continuations with the same GGUF weights, in its own
process; loading and a warm-up are not timed. ``--peer-python`` names an environment with lm-eval 0.4.13,
torch, transformers, gguf and accelerate (default: this one). lm-eval gets token ids (its
``_loglikelihood_tokens``, where all its work is done), because its text entry point would move the
template's final line break into every continuation.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

from contest import compete, finish, machine, measured, summary, warm, write

BASE = "lm-eval float32 batch 1"
Sums = list[list[float]]


# --- the contestants, each in its own process -----------------------------------------------------


def run_kapwa(job: dict[str, Any], dtype: str) -> None:
    import torch
    import transformers

    from kapwa.loading import load_model
    from kapwa.records import Message, Request

    model = load_model(job.get("model", "smollm2"), dtype=dtype, device=job.get("device", "auto"))
    requests = [
        Request(str(i), "full", "score", (Message("user", item["question"]),), tuple(item["texts"]), key=str(i))
        for i, item in enumerate(job["items"])
    ]

    def work(part: list[Request]) -> Sums:
        found: Sums = []
        for batch in model.plan(part):
            for response in model.score([part[i] for i in batch]):
                if response.logprobs is None:
                    sys.exit(str(response.error))
                found.append([score.logprob_sum for score in response.logprobs])
        return found

    method = model.fingerprint["scoring"]
    work(requests if warm(job) else requests[:2])
    sums, times = measured(lambda: work(requests))
    finish(sums, times, method=method, threads=torch.get_num_threads(), torch=torch.__version__,
           transformers=transformers.__version__)  # fmt: skip


def run_loop(job: dict[str, Any]) -> None:
    """One forward pass a continuation, softmax over every position: how released evaluation code does it."""
    import torch
    import transformers

    weights = Path(job["gguf"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(weights.parent), gguf_file=weights.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(weights.parent), gguf_file=weights.name, dtype=torch.float32
    ).eval()

    def work(items: list[dict[str, Any]]) -> Sums:
        with torch.inference_mode():
            return [[one(item["prompt"], text) for text in item["texts"]] for item in items]

    def one(prompt: str, text: str) -> float:
        start = len(tokenizer(prompt, add_special_tokens=False).input_ids)
        ids = torch.tensor(tokenizer(prompt + text, add_special_tokens=False).input_ids)
        logprobs = model(ids[None]).logits[0].log_softmax(-1)
        return float(logprobs[start - 1 : -1].gather(1, ids[start:, None]).sum())

    work(job["items"][:2])
    sums, times = measured(lambda: work(job["items"]))
    finish(sums, times, threads=torch.get_num_threads(), torch=torch.__version__, transformers=transformers.__version__)


def run_lm_eval(job: dict[str, Any], batch_size: int, dtype: str = "float32") -> None:
    from importlib.metadata import version

    import torch
    import transformers
    from lm_eval.models.huggingface import HFLM

    weights = Path(job["gguf"])
    place: dict[str, Any] = {"pretrained": str(weights.parent), "gguf_file": weights.name}
    if "model" in job:
        place = {"pretrained": job["model"].removeprefix("hf:")}
    model = HFLM(
        **place,
        dtype=dtype,
        device=job.get("device", "cpu"),
        batch_size=batch_size,
    )

    def work(items: list[dict[str, Any]]) -> Sums:
        requests = []
        for item in items:
            context = model.tok_encode(item["prompt"], add_special_tokens=False)
            for text in item["texts"]:
                joint = model.tok_encode(item["prompt"] + text, add_special_tokens=False)
                requests.append((None, context, joint[len(context) :]))
        found = iter(model._loglikelihood_tokens(requests, disable_tqdm=True))
        return [[float(next(found)[0]) for _ in item["texts"]] for item in items]

    work(job["items"] if warm(job) else job["items"][:2])
    sums, times = measured(lambda: work(job["items"]))
    finish(sums, times, threads=torch.get_num_threads(), torch=torch.__version__,
           transformers=transformers.__version__, lm_eval=version("lm_eval"))  # fmt: skip


CONTESTANTS: dict[str, Any] = {
    "kapwa float32": lambda job: run_kapwa(job, "float32"),
    "kapwa bfloat16": lambda job: run_kapwa(job, "bfloat16"),
    BASE: lambda job: run_lm_eval(job, 1),
    "lm-eval float32 batch 8": lambda job: run_lm_eval(job, 8),
    "plain loop float32": run_loop,
}


# --- the contest -------------------------------------------------------------------------------------


def prepare(data: Path, limit: int | None) -> dict[str, Any]:
    """Read the released file and render its prompts with the embedded model's chat template."""
    from kapwa.catalog import weights_wheel
    from kapwa.models import embedded
    from kapwa.models.base import ModelOptions
    from kapwa.records import Message

    path = weights_wheel.weights_file()
    if path is None:
        sys.exit(f"The embedded model is not here: {weights_wheel.INSTALL}")
    template = embedded.load("", ModelOptions()).template
    with data.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))[:limit]
    items = []
    for row in rows:
        question, best = row["prompt"].strip(), row["best_answer"].strip()
        relevant, irrelevant = _split(row["relevant_answers"]), _split(row["irrelevant_answers"])
        items.append(
            {
                "question": question,
                "prompt": template.prompt((Message("user", question),)),
                "texts": relevant + irrelevant,
                "best": relevant.index(best),
                "irrelevant": len(irrelevant),
            }
        )
    return {"items": items, "gguf": str(path)}


def _split(cell: str) -> list[str]:
    return [text.strip() for text in cell.split(";") if text.strip()]


def decisions(items: list[dict[str, Any]], sums: Sums) -> list[bool]:
    """MC1 a prompt: whether the best answer's log-probability a byte beats every irrelevant one's."""
    found = []
    for item, values in zip(items, sums, strict=True):
        each = [value / len(text.encode()) for value, text in zip(values, item["texts"], strict=True)]
        found.append(each[item["best"]] > max(each[-item["irrelevant"] :]))
    return found


def compare(items: list[dict[str, Any]], sums: Sums, base: Sums) -> dict[str, float]:
    """Return how far a contestant's sums and decisions are from the base's."""
    differences = [
        abs(a - b) for mine, theirs in zip(sums, base, strict=True) for a, b in zip(mine, theirs, strict=True)
    ]
    flips = sum(a != b for a, b in zip(decisions(items, sums), decisions(items, base), strict=True))
    return {"largest_difference_nats": max(differences), "mc1_flips": flips}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="the released full file, filipino.csv")
    parser.add_argument("--peer-python", default=sys.executable, help="interpreter of the environment with lm-eval")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=int, help="use only the first prompts")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "scoring.json")
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        CONTESTANTS[arguments.contestant](json.loads(arguments.job.read_text(encoding="utf-8")))
        return
    if arguments.data is None:
        parser.error("--data is needed")
    job = prepare(arguments.data, arguments.limit)
    pythons = {name: arguments.peer_python if "lm-eval" in name else sys.executable for name in CONTESTANTS}
    rounds = compete(__file__, pythons, job, arguments.repeats)
    table = summary(rounds, BASE)
    for name, reports in rounds.items():
        table[name] |= compare(job["items"], reports[0]["result"], rounds[BASE][0]["result"])
        facts = ("method", "threads", "torch", "transformers", "lm_eval")
        table[name] |= {key: reports[0][key] for key in facts if key in reports[0]}
        table[name]["less_cpu_than_lm_eval"] = round(1 / table[name][f"cpu_ratio_to_{BASE}"], 2)
    continuations = sum(len(item["texts"]) for item in job["items"])
    write(arguments.out, {
        "contestants": table, "prompts": len(job["items"]), "continuations": continuations,
        "repeats": arguments.repeats, "machine": machine(),
    })  # fmt: skip


if __name__ == "__main__":
    main()
