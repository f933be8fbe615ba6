"""How long ``blend/saq`` takes to judge every reply of a full run, and how much memory.

16 countries × 500 questions × 2 languages × 2 prompts: the replies are made of people's answers with noise (labels,
Markdown, sentences, other countries' answers, lists, refusals, answers nobody gave). CPU seconds of one process on one
core, from before the languages are loaded; peak memory of that process. Each size runs in a process of its own, so
that growth can be seen. Needs the released data.

    python benchmarks/saq.py --data ../shared/data/blend [--sizes 8,4,2,1]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "saq.json"
SHARES = ("answer", "dressed", "another country's", "sentence", "list", "refusal", "nobody's")


def replies(items: list[Any], questions: list[Any], seed: int = 0) -> Iterator[str]:
    """Yield a reply to each item; the same for the same seed."""
    rng = random.Random(seed)  # noqa: S311 - noise, not a secret
    known = {(q.country, q.id): q for q in questions if q.groups}
    countries = sorted({country for country, _ in known})
    everyone = list(known.values())

    def usual(question: Any, asked_in: str) -> str:
        group = question.groups[0]
        return str(rng.choice((group.local if asked_in == "local" else group.en) or group.local))

    for item in items:
        asked_in = item.fields["asked_in"]
        own = usual(known[item.culture, item.cluster], asked_in)
        kind = rng.choices(SHARES, (40, 10, 15, 10, 5, 5, 15))[0]
        if kind == "dressed":
            yield f"Answer: **{own}**."
        elif kind == "another country's":
            yield usual(known.get((rng.choice(countries), item.cluster), rng.choice(everyone)), asked_in)
        elif kind == "sentence":
            yield f"{item.fields['question']} {own}."
        elif kind == "list":
            yield ", ".join(usual(rng.choice(everyone), asked_in) for _ in range(6))
        elif kind == "refusal":
            yield "I'm sorry, I cannot answer that."
        elif kind == "nobody's":
            yield f"{usual(rng.choice(everyone), asked_in)} {rng.randrange(10**6)}"
        else:
            yield own


def measure(data: Path, part: int) -> dict[str, Any]:
    """Judge every ``part``-th reply in this process."""
    started = time.process_time()
    from kapwa.models.gate import gate
    from kapwa.records import Answer, Response
    from kapwa.suites.base import Selection
    from kapwa.suites.blend.data import read_data
    from kapwa.suites.blend.saq_options import SaqOptions
    from kapwa.suites.blend.saq_task import saq_items, saq_task
    from kapwa.suites.blend.variants import SAQ_VARIANTS

    read = read_data(data)
    items = saq_items(read, Selection(variants=SAQ_VARIANTS))[::part]
    task = saq_task(read, Selection(), items, SaqOptions())
    texts = replies(items, read.questions)
    answers = [Answer(r, gate(Response(r.key, text=t))) for r, t in zip(task.requests(items), texts, strict=True)]
    ready = time.process_time()
    judged = task.score(items, answers)
    scored = time.process_time()
    floors = task.floors(items)
    ended = time.process_time()
    sem_b = judged.scores.filter(metric="sem_b")["value"].mean()
    return {
        "replies": len(answers),
        "reading_cpu_s": round(ready - started, 2),
        "scoring_cpu_s": round(scored - ready, 2),
        "floors_cpu_s": round(ended - scored, 2),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "sem_b": sem_b,
        "floors": len(floors),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "blend")
    parser.add_argument("--sizes", default="8,4,2,1", help="judge every 8th, 4th, ... reply")
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(measure(arguments.data, arguments.part)))
        return
    found = []
    for part in map(int, arguments.sizes.split(",")):
        command = [sys.executable, __file__, "--data", str(arguments.data), "--part", str(part)]
        # One thread, so that CPU seconds are seconds of one core.
        environment = os.environ | {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
        output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
        found.append(json.loads(output))
        print(found[-1])
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"runs": found}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
