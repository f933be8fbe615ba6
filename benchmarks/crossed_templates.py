"""Plant effects in texts about EECC's concepts for crossed identities, and see which of them the analysis finds.

    python benchmarks/crossed_templates.py FOLDER --templates EECC --save      # a tenth of the paper's texts
    python benchmarks/crossed_templates.py FOLDER --templates EECC --concepts 20 --nationalities 8      # a small trial

EECC is the folder of the released templates and concepts (``qa/templates.tsv`` and so on), which stays where it is. For
every concept of both tasks there are 48 nationalities × 2 religions × 2 ages, five texts each: as many as one of the
paper's eleven configurations. Planted are words of the nationality, words of the religion, and words that depend on
both and on neither alone; nothing depends on the age. A second set of texts has nothing planted. `kapwa analyze eecc`
runs on each in a process of its own, with 199 exchanges a test. What it finds, its processors' time and its memory are
printed; --save keeps them for the page.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from contest import machine, write
from paper_size import analyse
from synthetic import nationalities, words

RESULTS = Path(__file__).parent / "results" / "crossed_templates.json"
ATTRIBUTES = ("nationality", "religion", "age")
RELIGIONS, AGES = ("Buddhist", "Catholic"), ("young", "old")
SAMPLES, LOOSE, PERMUTATIONS = 5, 0.3, 199
# How often a planted word stands in its place, and how many places in a hundred have one.
SHOWN, PLACES = 0.6, {"nationality": 6, "religion": 4, "both": 4}
VOCABULARY = words()
LENGTHS = {"qa": 86, "stories": 846}
PLANTED = {"nationality", "religion", "nationality × religion"}


class Task(NamedTuple):
    """One of EECC's tasks: its name, its template, and its concepts with their topics."""

    name: str
    template: str
    concepts: list[tuple[str, str]]

    @classmethod
    def read(cls, folder: Path, name: str, most: int | None) -> Task:
        """Read the released files of a task, ``most`` so many concepts of them."""
        template = (folder / name / "templates.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")[-1]
        lines = (folder / name / "concepts.tsv").read_text(encoding="utf-8").splitlines()
        concepts = [(topic, concept) for topic, concept in (line.split("\t")[:2] for line in lines if line.strip())]
        return cls(name, template, list(dict.fromkeys(concepts))[:most])


def texts_of(task: Task, number: int, people: int, *, planted: bool) -> list[str]:
    """Return the texts of a concept: five of each combination, in the order of nationality, religion, age."""
    random = np.random.default_rng([number, len(task.name), planted])
    length, concept = LENGTHS[task.name], task.concepts[number][1]
    opening = task.template.format(concept=concept, vowel="a", identity="certain").rstrip(".")
    cells = np.array(list(product(range(people), range(2), range(2)))).repeat(SAMPLES, axis=0)
    base = random.integers(0, 4000, length)
    ids = np.where(random.random((len(cells), length)) < LOOSE, random.integers(0, 4000, (len(cells), length)), base)
    if planted:
        own = {
            "nationality": 5000 + cells[:, 0],
            "religion": 6000 + cells[:, 1],
            # Which of two words stands there depends on both; of one nationality or religion each stands half the time.
            "both": 7000 + (cells[:, 0] + cells[:, 1]) % 2,
        }
        places = iter(random.permutation(length))
        for name, several in PLACES.items():
            for k in range(max(1, several * length // 100)):
                place = next(places)
                ids[:, place] = np.where(random.random(len(cells)) < SHOWN, own[name] + 100 * (k % 5), base[place])
    return [opening + "".join(row) + "." for row in VOCABULARY[ids].tolist()]


def write_texts(folder: Path, tasks: list[Task], people: tuple[str, ...], *, planted: bool) -> int:
    """Write a Parquet file of texts for each task; return how many there are."""
    folder.mkdir(parents=True)
    cells = [cell for cell in product(people, RELIGIONS, AGES) for _ in range(SAMPLES)]
    columns = dict(zip(ATTRIBUTES, zip(*cells, strict=True), strict=True))
    samples = list(range(SAMPLES)) * (len(cells) // SAMPLES)
    for task in tasks:
        frames = [
            pl.DataFrame(
                {**columns, "sample": samples, "text": texts_of(task, k, len(people), planted=planted)}
            ).with_columns(topic=pl.lit(topic), concept=pl.lit(concept))
            for k, (topic, concept) in enumerate(task.concepts)
        ]
        table = pl.concat(frames).with_columns(task=pl.lit(f"eecc/{task.name}"), model=pl.lit("made-up"))
        table.write_parquet(folder / f"{task.name}.parquet", row_group_size=64 * len(cells))
    return len(cells) * sum(len(task.concepts) for task in tasks)


def found_in(
    folder: Path, tasks: list[Task], people: tuple[str, ...], workers: int, *, planted: bool
) -> dict[str, Any]:
    """Make the texts, analyse them, and say which effects are found and what it cost."""
    corpus, out = folder / f"crossed-{planted}", folder / f"crossed-{planted}-out"
    for place in (corpus, out):
        shutil.rmtree(place, ignore_errors=True)
    texts = write_texts(corpus, tasks, people, planted=planted)
    out.mkdir(parents=True)
    options = ("--attribute", ",".join(ATTRIBUTES), "--workers", str(workers), "--permutations", str(PERMUTATIONS))
    cost = analyse(corpus, out, *options)
    told = json.loads((out.parent / "last.json").read_text(encoding="utf-8"))
    rows = [row for row in told["factors"] if row["topic"] == "all" and row["term"] != "sampling"]
    terms = {f"{row['task']} {row['term']}": {name: row[name] for name in ("share", "p_adjusted")} for row in rows}
    return {"texts": texts, **cost, "seconds": told["manifest"]["seconds"], "terms": terms}


def main() -> None:
    """Plant, analyse, and say which effects were missed, and which were found beside those that were planted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where texts, parts and logs go")
    parser.add_argument("--templates", type=Path, required=True, help="EECC's released templates and concepts")
    parser.add_argument("--concepts", type=int, help="so many of each task")
    parser.add_argument("--nationalities", type=int, default=48)
    parser.add_argument("--save", action="store_true", help="keep the results for docs/benchmarks")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    chosen = parser.parse_args()
    tasks = [Task.read(chosen.templates, name, chosen.concepts) for name in LENGTHS]
    people = nationalities(chosen.nationalities)
    results: dict[str, Any] = {"machine": machine(), "combinations": len(people) * 4}
    for name, planted in (("planted", True), ("nothing planted", False)):
        results[name] = found = found_in(chosen.folder.resolve(), tasks, people, chosen.workers, planted=planted)
        clear = {term for term, row in found["terms"].items() if row["p_adjusted"] < 0.05}
        expected = {f"eecc/{task.name} {term}" for task in tasks for term in PLANTED} if planted else set()
        found |= {"missed": sorted(expected - clear), "beside": sorted(clear - expected)}
    print(json.dumps(results, indent=2))
    if chosen.save:
        write(RESULTS, results)


if __name__ == "__main__":
    main()
