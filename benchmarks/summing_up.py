"""Measure what an analysis costs before and after texts are compared: opening the files, summing up the parts.

    python benchmarks/summing_up.py FOLDER                   # 366,700 made-up texts; about 0.6 GB in FOLDER
    python benchmarks/summing_up.py FOLDER --scale 0.1       # a trial

One configuration of the paper's shape (`synthetic.py`): 345 short and 35 long concepts × 193 nationalities × 5 samples,
held against a survey of two thirds of the nationalities with one control. One process, which is what one of many
workers does: topics and corpora are independent jobs, so the longest job is the least time that any number takes. Texts
and parts are made first, with all processors, and kept in FOLDER; what is printed is of the second stage alone.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from contest import machine, measured
from synthetic import nationalities, paper_shapes, write_corpora, write_values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where texts and parts go")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the paper's concepts")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="to make texts and parts")
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    corpus = folder / f"corpus-{chosen.scale:g}"
    write_corpora(corpus, paper_shapes(chosen.scale)[:2], chosen.workers)
    values = write_values(folder / "values.csv", nationalities(193))
    print(json.dumps({"machine": machine()} | costs(corpus, values, folder / "parts", chosen.workers), indent=2))


def costs(corpus: Path, values: Path, store: Path, workers: int) -> dict[str, Any]:
    """Return the costs of opening ``corpus`` and of every job of its second stage, in CPU seconds."""
    from kapwa.analysis.corpus import open_corpora
    from kapwa.analysis.distances import compute_results, prepare
    from kapwa.analysis.inputs import Settings, read_surveys
    from kapwa.analysis.summing import ConceptJobs, tables_of
    from kapwa.analysis.topics import TopicJob
    from kapwa.parallel.local import LocalExecutor

    settings = Settings(workers=workers)
    surveys = read_surveys([values], ["geography"], settings)
    store.mkdir(parents=True, exist_ok=True)
    corpora, opening = measured(lambda: open_corpora(sorted(corpus.glob("*.parquet"))))
    prepared = [prepare(one, surveys, store, settings) for one in corpora]
    compute_results(prepared, lambda _: None, LocalExecutor(workers))
    work, jobs = ConceptJobs(prepared), []
    for job in work:
        result, cost = measured(lambda job=job: tables_of(job))
        _, here = measured(lambda result=result: work.take(result))
        kind, concepts = ("topic", len(job.paths)) if isinstance(job, TopicJob) else ("corpus", 0)
        jobs.append((kind, concepts, cost["cpu_s"], here["cpu_s"], cost["peak_mb"]))
    topics = [cost for kind, _, cost, _, _ in jobs if kind == "topic"]
    return {
        "texts": sum(one.n_texts for one in corpora),
        "parts": work.parts,
        "opening_cpu_s": round(opening["cpu_s"], 2),
        "topics_cpu_s": round(sum(topics), 2),
        "corpora_cpu_s": round(sum(cost for kind, _, cost, _, _ in jobs if kind == "corpus"), 2),
        "longest_job_cpu_s": round(max(cost for _, _, cost, _, _ in jobs), 2),
        "asking_process_cpu_s": round(sum(here for *_, here, _ in jobs), 2),
        "ms_a_concept": round(1000 * sum(topics) / work.parts, 1),
        "peak_mb": round(max(peak for *_, peak in jobs)),
    }


if __name__ == "__main__":
    main()
