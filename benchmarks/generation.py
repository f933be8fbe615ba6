"""Time batched greedy generation against a loop of one prompt at a time: 64 prompts, 100 new tokens each.

    python benchmarks/generation.py

Both use the embedded model in float32 through transformers, and neither stops early. Each contestant runs
in its own process; loading and a warm-up are not timed. Batched arithmetic rounds differently, so greedy
texts may part at near-ties; the share of identical texts is reported.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from contest import compete, finish, machine, measured, summary, warm, write

LOOP = "one prompt at a time"
TOPICS = ("family", "rice", "school", "rivers", "music", "trains", "weddings", "markets")
ASKS = (
    "Write a short paragraph about {}.",
    "Tell me something my grandmother would know about {}.",
    "Sumulat ng maikling talata tungkol sa {}.",
    "What should a visitor who has never been here before know about {}, and what should they never say?",
    "Explain {} to a child.",
    "Why do people care about {}?",
    "Give three pieces of advice about {} to a friend who is worried and has little time.",
    "Describe {} in the old days.",
)


def run_kapwa(job: dict[str, Any], dtype: str = "float32") -> None:
    from kapwa.loading import load_model
    from kapwa.records import Message, Params, Request

    options = {"dtype": dtype, "device": job.get("device", "auto"), "batch_tokens": job["batch_tokens"]}
    model = load_model(job.get("model", "smollm2"), **options)
    model.stop_ids = ()  # every answer has its full length, so that both contestants do the same work
    params = Params(max_new_tokens=job["new_tokens"])
    requests = [Request(p, "", "generate", (Message("user", p),), params=params, key=p) for p in job["prompts"]]

    def work(part: list[Request]) -> dict[str, str]:
        batches = model.plan(part)
        return {r.request_key: str(r.text) for b in batches for r in model.generate([part[i] for i in b])}

    work(requests if warm(job) else requests[:1])
    texts, times = measured(lambda: work(requests))
    finish([texts[p] for p in job["prompts"]], times, batches=len(model.plan(requests)))


def run_loop(job: dict[str, Any]) -> None:
    import torch
    import transformers

    weights = Path(job["gguf"])
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(weights.parent), gguf_file=weights.name)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        str(weights.parent), gguf_file=weights.name, dtype=torch.float32
    ).eval()
    model.generation_config = transformers.GenerationConfig()
    settings = transformers.GenerationConfig(do_sample=False, max_new_tokens=job["new_tokens"], pad_token_id=0)

    def one(prompt: str) -> str:
        turns = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
        out = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=settings)
        return str(tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True))

    with torch.inference_mode():
        one(job["prompts"][0])
        texts, times = measured(lambda: [one(prompt) for prompt in job["prompts"]])
    finish(texts, times)


CONTESTANTS: dict[str, Any] = {"kapwa": run_kapwa, LOOP: run_loop}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--prompts", type=int, default=64)
    parser.add_argument("--new-tokens", type=int, default=100)
    parser.add_argument("--batch-tokens", type=int, default=4096, help="as in ModelOptions")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "generation.json")
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        CONTESTANTS[arguments.contestant](json.loads(arguments.job.read_text(encoding="utf-8")))
        return
    from kapwa.catalog import weights_wheel

    path = weights_wheel.weights_file()
    if path is None:
        sys.exit(f"The embedded model is not here: {weights_wheel.INSTALL}")
    prompts = [ask.format(topic) for ask in ASKS for topic in TOPICS][: arguments.prompts]
    job = {"prompts": prompts, "new_tokens": arguments.new_tokens, "gguf": str(path)}
    job["batch_tokens"] = arguments.batch_tokens
    rounds = compete(__file__, dict.fromkeys(CONTESTANTS, sys.executable), job, arguments.repeats)
    table = summary(rounds, LOOP)
    pairs = zip(rounds["kapwa"][0]["result"], rounds[LOOP][0]["result"], strict=True)
    write(arguments.out, {
        "contestants": table,
        "times_faster_wall": round(1 / table["kapwa"][f"wall_ratio_to_{LOOP}"], 2),
        "identical_texts": sum(a == b for a, b in pairs), "prompts": len(prompts),
        "new_tokens": arguments.new_tokens, "batches": rounds["kapwa"][0]["batches"], "machine": machine(),
    })  # fmt: skip


if __name__ == "__main__":
    main()
