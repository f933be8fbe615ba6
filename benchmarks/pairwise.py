"""Time all-pairs word edit distance and BLEU against the released way, per concept and for the paper's whole load.

    taskset -c 0 python benchmarks/pairwise.py --peer-python PEER/bin/python

Made-up texts (``synthetic.py``): 193 identities × 5 texts of about 86 tokens (a question) or 846 (a story). Ours
measures whole concepts after a warm-up: the kernels by themselves, and all that the analysis keeps of a concept
(tokens, distances, BLEU, variance, 999 permutations, word counts). The released way takes pairs of identities one by
one, so some are sampled and the rest extrapolated: for BLEU it tokenises every text again for every pair and computes
the same direction twice; for WED it tokenises once, and runs the package editdistance on each two texts twice. "tokens
kept" is the released way without tokenising again. ``--peer-python`` names an environment with editdistance (default:
this one). Seconds are of one core's work, the least of several; both ways must agree on the sampled pairs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from contest import compete, finish, machine, measured, write
from synthetic import QA, STORIES, Shape, concept_texts, nationalities, words

IDENTITIES, SAMPLES, CONFIGURATIONS = 193, 5, 11
KINDS = {"qa": QA, "story": STORIES}
PAIRS = {"qa": 8, "story": 3}
REPEATS = {"numba": {"qa": 15, "story": 3}, "rapidfuzz": {"qa": 5, "story": 1}}
BASE = "released"
Tokens = list[str]
Gram = tuple[str, ...]


def texts_of(kind: str, concept: int) -> list[str]:
    task, length, _ = KINDS[kind]
    shape = Shape("made-up", 0.3, task, length, (1,), nationalities(IDENTITIES), SAMPLES)
    return concept_texts(shape, concept, words())


def least(work: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Run ``work`` several times; return the least processor time and the least wall time."""
    found = [timed(work) for _ in range(repeats)]
    return {"cpu_s": min(cpu for cpu, _ in found), "wall_s": min(wall for _, wall in found)}


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def whole_concept(texts: list[str], backend: Literal["numba", "rapidfuzz"]) -> Any:
    """Return what a worker of the analysis is given: a concept's texts and its settings."""
    import numpy as np

    from kapwa.analysis.corpus import ConceptKey, ConceptTexts
    from kapwa.analysis.distances import ConceptSettings

    who = tuple(f"{i:03}" for i in range(IDENTITIES))
    groups, samples = np.divmod(np.arange(len(texts)), SAMPLES)
    return (
        ConceptTexts(ConceptKey("made up", "one"), who, groups, samples, tuple(texts), "", tuple(range(len(who)))),
        ConceptSettings(backend=backend),
    )


def sampled_pairs(kind: str, part: int) -> list[tuple[int, int]]:
    """Return identities to compare in the released way: others in each round."""
    each = PAIRS[kind]
    return [((7 * i + 1) % IDENTITIES, (31 * i + 40) % IDENTITIES) for i in range(part * each, (part + 1) * each)]


# --- ours ---------------------------------------------------------------------------------------


def run_kapwa(job: dict[str, Any], backend: Literal["numba", "rapidfuzz"]) -> None:
    from importlib.metadata import version

    from kapwa.analysis.distances import concept_result
    from kapwa.metrics.distance import all_pairs_bleu, pair_distances
    from kapwa.metrics.pairwise_edits import edit_blocks, read_texts
    from kapwa.metrics.tokens import encode, tokenizer_for

    groups = [i // SAMPLES for i in range(IDENTITIES * SAMPLES)]
    tokenizer = tokenizer_for("en")  # as released: lower-cased text is cut

    def measure(kind: str) -> dict[str, Any]:
        texts, repeats = texts_of(kind, 0), REPEATS[backend][kind]
        encode(texts_of(kind, 1), tokenizer)
        encoded = encode(texts, tokenizer)
        found = pair_distances(encoded, groups, IDENTITIES, backend=backend)
        return {
            "tokenise": least(lambda: encode(texts, tokenizer), repeats),
            "wed": least(lambda: list(edit_blocks(read_texts(encoded), backend=backend)), repeats),
            "bleu": least(lambda: all_pairs_bleu(encoded, groups, IDENTITIES), repeats),
            "both": least(lambda: pair_distances(encoded, groups, IDENTITIES, backend=backend), repeats),
            "all": least(lambda: concept_result(*whole_concept(texts, backend)), repeats),
            "tokens_a_text": len(encoded.ids) / len(texts),
            "mean_wed": float(found.wed.mean()),
            "values": [
                [float(found.wed[i, j]), float(found.bleu[i, j])]
                for part in range(job["rounds"])
                for i, j in sampled_pairs(kind, part)
            ],
        }

    tiny = encode(["a b c", "a c d"], tokenizer)
    _, start = timed(lambda: list(edit_blocks(read_texts(tiny), backend=backend)))
    result, times = measured(lambda: {kind: measure(kind) for kind in KINDS})
    packages = ("numpy", "numba" if backend == "numba" else "rapidfuzz")
    finish(result, times, first_call_s=start, versions={name: version(name) for name in packages})


# --- the released way -----------------------------------------------------------------------------


def run_released(job: dict[str, Any], again: bool) -> None:
    from importlib.metadata import version

    from nltk.tokenize.destructive import NLTKWordTokenizer

    from kapwa.metrics.tokens_punkt import load_punkt

    punkt, cut = load_punkt("english"), NLTKWordTokenizer()

    def tokenize(text: str) -> Tokens:
        return [token for sentence in punkt.tokenize(text) for token in cut.tokenize(sentence)]

    def measure(kind: str) -> dict[str, Any]:
        texts = [text.lower() for text in texts_of(kind, 0)]
        sums, values = Counter[str](), []
        for i, j in sampled_pairs(kind, job["part"]):
            left, right = (texts[k * SAMPLES : (k + 1) * SAMPLES] for k in (i, j))
            kept = {text: tokenize(text) for text in (*left, *right)}
            cpu, wall = time.process_time(), time.perf_counter()
            bleu = released_bleu(left, right, tokenize if again else kept.__getitem__)
            sums["bleu_cpu"] += time.process_time() - cpu
            sums["bleu_wall"] += time.perf_counter() - wall
            cpu, wall = time.process_time(), time.perf_counter()
            wed = released_wed([kept[text] for text in left], [kept[text] for text in right])
            sums["wed_cpu"] += time.process_time() - cpu
            sums["wed_wall"] += time.perf_counter() - wall
            values.append([wed, bleu])
        return {"values": values, **{name: total / len(values) for name, total in sums.items()}}

    result, times = measured(lambda: {kind: measure(kind) for kind in KINDS})
    finish(result, times, versions={name: version(name) for name in ("editdistance", "nltk")})


def released_wed(left: list[Tokens], right: list[Tokens]) -> float:
    import editdistance

    def mean(first: list[Tokens], second: list[Tokens]) -> float:
        found = [editdistance.eval(a, b) / max(len(a), len(b)) for a in first for b in second]
        return sum(found) / len(found)

    return (mean(left, right) + mean(right, left)) / 2


def released_bleu(left: Sequence[str], right: Sequence[str], tokenize: Callable[[str], Tokens]) -> float:
    found = []
    for _ in range(2):
        predictions = [tokenize(text) for text in left]
        references = [[tokenize(text) for text in right] for _ in left]
        found.append(corpus_bleu(predictions, references))
    return sum(found) / 2


def corpus_bleu(predictions: list[Tokens], references: list[list[Tokens]]) -> float:
    """BLEU as tensorflow/nmt defines it and Hugging Face's ``bleu`` computes it."""
    matches, possible, length, against = [0] * 4, [0] * 4, 0, 0
    for prediction, several in zip(predictions, references, strict=True):
        against += min(map(len, several))
        length += len(prediction)
        ceiling: Counter[Gram] = Counter()
        for reference in several:
            ceiling |= Counter(grams(reference))
        for gram, count in (Counter(grams(prediction)) & ceiling).items():
            matches[len(gram) - 1] += count
        for order in range(4):
            possible[order] += max(0, len(prediction) - order)
    if not all(matches):
        return 0.0
    mean = math.exp(sum(0.25 * math.log(m / p) for m, p in zip(matches, possible, strict=True)))
    return mean * (1.0 if length > against else math.exp(1 - against / length))


def grams(tokens: Tokens) -> Iterator[Gram]:
    for order in range(1, 5):
        for i in range(len(tokens) - order + 1):
            yield tuple(tokens[i : i + order])


CONTESTANTS: dict[str, Any] = {
    "kapwa numba": lambda job: run_kapwa(job, "numba"),
    "kapwa rapidfuzz": lambda job: run_kapwa(job, "rapidfuzz"),
    BASE: lambda job: run_released(job, again=True),
    "released, tokens kept": lambda job: run_released(job, again=False),
}


# --- the comparison -------------------------------------------------------------------------------


def ours(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the least seconds a concept over all rounds."""
    table: dict[str, Any] = {"first_call_s": round(min(r["first_call_s"] for r in reports), 2)}
    for kind in KINDS:
        each = [report["result"][kind] for report in reports]
        table[kind] = {
            f"{part}_{clock}": round(min(one[part][clock] for one in each), 4)
            for part in ("tokenise", "wed", "bleu", "both", "all")
            for clock in ("cpu_s", "wall_s")
        }
        table[kind] |= {key: round(each[0][key], 3) for key in ("tokens_a_text", "mean_wed")}
    return table


def released(reports: list[dict[str, Any]]) -> dict[str, Any]:
    """Return seconds a concept, extrapolated: BLEU is computed for each identity with itself too, WED is not."""
    counts = {"bleu": IDENTITIES * (IDENTITIES + 1) // 2, "wed": IDENTITIES * (IDENTITIES - 1) // 2}
    table: dict[str, Any] = {}
    for kind in KINDS:
        each = [report["result"][kind] for report in reports]
        row = {
            f"{part}_{clock}_s": round(count * min(one[f"{part}_{clock}"] for one in each), 1)
            for part, count in counts.items()
            for clock in ("cpu", "wall")
        }
        row |= {f"both_{clock}_s": row[f"wed_{clock}_s"] + row[f"bleu_{clock}_s"] for clock in ("cpu", "wall")}
        table[kind] = row | {"pairs_sampled": PAIRS[kind] * len(reports)}
    return table


def whole_load(table: dict[str, Any], parts: Sequence[str], clock: str = "cpu_s") -> float:
    """Return core-hours for 11 configurations of the paper's concepts."""
    concepts = {kind: sum(topics) * CONFIGURATIONS for kind, (_, _, topics) in KINDS.items()}
    return sum(concepts[kind] * table[kind][f"{part}_{clock}"] for kind in KINDS for part in parts) / 3600


def largest_difference(mine: dict[str, Any], theirs: list[dict[str, Any]]) -> float:
    return max(
        abs(a - b)
        for kind in KINDS
        for ours_, theirs_ in zip(
            mine[kind]["values"], [v for report in theirs for v in report["result"][kind]["values"]], strict=True
        )
        for a, b in zip(ours_, theirs_, strict=True)
    )


def compared(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the whole load in core-hours and how many times less ours takes."""
    found: dict[str, Any] = {"core_hours": {}, "times_less": {}}
    hours = found["core_hours"]
    for name, table in tables.items():
        hours[name] = round(whole_load(table, ("both",)), 4)
        if name.startswith("kapwa"):
            hours[f"{name}, with tokenising"] = round(whole_load(table, ("both", "tokenise")), 4)
    for base in (name for name in tables if not name.startswith("kapwa")):
        found["times_less"][f"than {base}"] = {
            name: round(hours[base] / value) for name, value in hours.items() if name.startswith("kapwa")
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--peer-python", default=sys.executable, help="interpreter of the environment with editdistance"
    )
    parser.add_argument("--repeats", type=int, default=3, help="rounds of all contestants")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "pairwise.json")
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        CONTESTANTS[arguments.contestant](json.loads(arguments.job.read_text(encoding="utf-8")))
        return
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    pythons = {name: sys.executable if "kapwa" in name else arguments.peer_python for name in CONTESTANTS}
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in CONTESTANTS}
    for part in range(arguments.repeats):  # other pairs each round
        job = {"part": part, "rounds": arguments.repeats}
        for name, reports in compete(__file__, pythons, job, 1).items():
            rounds[name] += reports
    tables = {name: (ours if "kapwa" in name else released)(reports) for name, reports in rounds.items()}
    for name, table in tables.items():
        table["versions"] = rounds[name][0]["versions"]
        table["peak_mb"] = round(max(report["peak_mb"] for report in rounds[name]))
        if "kapwa" in name:
            table["largest_difference"] = largest_difference(rounds[name][0]["result"], rounds[BASE])
    write(arguments.out, {
        "contestants": tables, "whole_load": compared(tables), "identities": IDENTITIES, "samples": SAMPLES,
        "repeats": arguments.repeats, "machine": machine(),
    })  # fmt: skip


if __name__ == "__main__":
    main()
