"""Processor time of this commit against an older one's, in turns: is anything slower than it was?

    git worktree add ../old 5d86da5
    python benchmarks/before_after.py ../old --data ../shared/data

Each job runs in a process of its own, once with the older commit's `src` and `benchmarks` and once with these; every
other pair goes the other way round. What counts is the median of the pairs' ratios. Processor time (user and
system, all threads) and not wall time, for other work on the machine moves it less. Both use the same installed
packages. What a job computes is compared too.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULT = ROOT / "benchmarks" / "results" / "before_after.json"
COMMANDS = {
    "import kapwa": ["-c", "import kapwa"],
    "kapwa --help": ["-m", "kapwa.cli.main", "--help"],
    "kapwa run --help": ["-m", "kapwa.cli.main", "run", "--help"],
    "kapwa suites": ["-m", "kapwa.cli.main", "suites"],
}
MAPPING = """form: blend/saq
table: answers.tsv
parts: {id: "{language}/{number}"}
columns: {culture: language, language: language, id: number, answers: answers}
join: {table: questions.tsv, on: id, columns: {local: question}}
separators: {answers: "|"}
prompts: [{id: inst-4, local: "{q}", english: "{q}"}]
"""
ROWS, ANSWERS, CALLS = 60_000, 100_000, 3_000
Found = tuple[dict[str, float], Any]  # seconds of each step, and what was computed


def cpu(who: int = resource.RUSAGE_SELF) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = cpu()
    result = work()
    return cpu() - begun, result


# --- the jobs: each runs in a process of its own, on the modules of one commit ---------------------------


def reported(module: str, contestant: Callable[[Any], None]) -> dict[str, Any]:
    """Run a contestant of another benchmark; return what it reports."""
    benchmark, reports = importlib.import_module(module), []
    benchmark.finish = lambda result, times, **facts: reports.append({"result": result, **times, **facts})  # type: ignore[attr-defined]
    contestant(benchmark)
    return dict(reports[0])


def scoring(data: Path) -> Found:
    """Twelve of the released prompts with all their responses."""
    seconds, values = {}, []
    for dtype in ("float32", "bfloat16"):

        def score(benchmark: Any, dtype: str = dtype) -> None:
            benchmark.run_kapwa(benchmark.prepare(data / "kalahi" / "filipino.csv", 12), dtype)

        found = reported("scoring", score)
        seconds[f"scoring responses, {dtype}"] = found["cpu_s"]
        values.append(found["result"])
    return seconds, values


def generation(data: Path) -> Found:  # noqa: ARG001 - jobs are called alike
    """A batch of sixteen prompts."""

    def generate(benchmark: Any) -> None:
        prompts = [ask.format(topic) for ask in benchmark.ASKS for topic in benchmark.TOPICS[:2]]
        benchmark.run_kapwa({"prompts": prompts, "new_tokens": 50, "batch_tokens": 4096})

    found = reported("generation", generate)
    return {"generating answers": found["cpu_s"]}, found["result"]


def pairwise(data: Path) -> Found:  # noqa: ARG001
    """The kernels, and all that an analysis keeps of a concept, for answers to questions and stories."""

    def measure(benchmark: Any) -> None:
        benchmark.REPEATS["numba"] = {"qa": 8, "story": 2}
        benchmark.run_kapwa({"part": 0, "rounds": 1}, "numba")

    found = reported("pairwise", measure)["result"]
    steps = {"tokenise": "cutting into tokens", "wed": "WED", "bleu": "BLEU", "all": "a whole concept"}
    kinds = {"qa": "answers", "story": "stories"}
    seconds = {
        f"pairwise, {called}: {step}": found[kind][name]["cpu_s"]
        for kind, called in kinds.items()
        for name, step in steps.items()
    }
    return seconds, [found[kind]["values"] for kind in kinds]


def saq(data: Path) -> Found:
    """Every reply of a run of the full release."""
    found = importlib.import_module("saq").measure(data / "blend", 1)
    steps = {"reading": "reading the release", "scoring": "judging", "floors": "floors"}
    seconds = {f"`blend/saq`, {called}": found[f"{step}_cpu_s"] for step, called in steps.items()}
    return {**seconds, "`blend/saq`, all": sum(seconds.values())}, [found[n] for n in ("replies", "sem_b", "floors")]


def mcq(data: Path) -> Found:
    """Multiple choice built from the full release."""
    import kapwa

    with tempfile.TemporaryDirectory() as folder:
        seconds, built = timed(lambda: kapwa.build_mcq(data / "blend", Path(folder) / "mcq"))
        return {"building multiple choice": seconds}, (built.folder / "mcq.csv").read_text(encoding="utf-8")


def texts(data: Path) -> Found:  # noqa: ARG001
    """Opening 60,000 texts of an analysis in three formats, and reading each concept."""
    import polars as pl

    from kapwa.analysis.corpus import open_corpora

    rows = [
        {"task": "t", "topic": f"topic {i % 3}", "concept": f"concept {i % 60}", "sample": i // 12_000,
         "nationality": f"people {i // 60 % 200}", "text": f"{i} " + "some words of an answer " * 20}
        for i in range(ROWS)
    ]  # fmt: skip
    table = pl.DataFrame(rows)
    writers = {"jsonl": table.write_ndjson, "csv": table.write_csv, "parquet": table.write_parquet}
    seconds, digests = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for form, write in writers.items():
            path = Path(folder) / f"texts.{form}"
            write(path)
            seconds[f"{form}: opening {ROWS:,} texts"], (corpus,) = timed(lambda path=path: open_corpora([path]))
            reading, digest_ = timed(lambda: [corpus.texts(key).digest for key in corpus.concepts])  # noqa: B023
            seconds[f"{form}: opening and reading them"] = seconds[f"{form}: opening {ROWS:,} texts"] + reading
            digests.append(digest_)
    return seconds, digests


def analysis(data: Path) -> Found:  # noqa: ARG001
    """A whole analysis: 100 peoples, 15 concepts, 7,500 texts, a survey, tables, page."""
    import kapwa

    made = importlib.import_module("synthetic")
    with tempfile.TemporaryDirectory() as place:
        folder, who = Path(place), made.nationalities(100)
        shape = made.Shape("made up", 0.7, "eecc/qa", 86, (5, 5, 5), who)
        made.write_corpus((shape, folder / "texts.parquet"))
        values = made.write_values(folder / "values.csv", who)
        seconds, _ = timed(
            lambda: kapwa.analyze([folder / "texts.parquet"], values=[values], out=folder / "out", workers=1)
        )
        return {"a whole analysis of 7,500 texts": seconds}, None


def mapped(data: Path) -> Found:  # noqa: ARG001
    """Short answers of 61 cultures in two tables with a mapping: opened with all imports, and again; and six rows."""
    languages = [f"{a}{b}" for a in "abcdefghijklm" for b in "nopqr"][:61]
    seconds, asked = {}, []
    with tempfile.TemporaryDirectory() as place:
        os.environ["KAPWA_CACHE_DIR"] = str(Path(place) / "cache")  # versions before kept what they read
        for count in (500, 2):
            folder = Path(place) / f"of-{count}"
            folder.mkdir()
            names = [(code, number) for code in languages[: count // 8 + 3] for number in range(count)]
            questions = [f"{a}/{n}\tQuestion {n} of {a}: what do people usually eat at this time?" for a, n in names]
            answers = [
                f"{a}/{n}\t" + " | ".join(f"answer {n % (7 + i)}{i}" for i in range(1 + n % 5)) for a, n in names
            ]
            for table, rows, column in (("questions", questions, "question"), ("answers", answers, "answers")):
                (folder / f"{table}.tsv").write_text("\n".join([f"id\t{column}", *rows]) + "\n", encoding="utf-8")
            (folder / "mapping.yaml").write_text(MAPPING, encoding="utf-8")
            for step in ("with imports", "again"):

                def open_it(folder: Path = folder) -> Any:
                    from kapwa import load_task

                    return load_task("blend/saq", data=folder)

                seconds[f"mapped: opening {len(names):,} rows, {step}"], task = timed(open_it)
            asked.append([(item.id, item.fields["prompt"]) for item in task.items()])
    return {step: value for step, value in seconds.items() if "6 rows, with imports" not in step}, asked


def served(data: Path) -> Found:  # noqa: ARG001
    """Asking a served model as a run does, and a whole run with its scores and page."""
    import kapwa

    serving = importlib.import_module("serving")
    seconds, right = {}, []
    with serving.stub(delay=0.01) as url, tempfile.TemporaryDirectory() as folder:
        seconds[f"served: asking {CALLS:,} requests"], answered = timed(serving.kapwa_run(url, CALLS, 64))
        model, task = serving.connected(url, 64), serving.Asking(CALLS)
        seconds[f"served: a whole run of {CALLS:,} requests"], run = timed(
            lambda: kapwa.evaluate(task, model, out=folder, progress=False)
        )
        model.close()
        right += [answered, run.table("scores")["value"].sum()]
    return seconds, right


def journal(data: Path) -> Found:  # noqa: ARG001
    """Answers appended to a journal, and those found that are missing."""
    benchmark = importlib.import_module("journal")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.sqlite"
        appending, _ = timed(lambda: benchmark.append(path, ANSWERS, benchmark.GROUP))
        finding, _ = timed(lambda: benchmark.find_missing(path, ANSWERS))
    return {f"journal: appending {ANSWERS:,} answers": appending, "journal: opening, what is missing": finding}, None


def startup(data: Path) -> Found:  # noqa: ARG001
    """Whole processes, three times each."""

    def run(arguments: list[str]) -> float:
        begun = cpu(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
        return cpu(resource.RUSAGE_CHILDREN) - begun

    return {f"`{name}`": statistics.median(run(command) for _ in range(3)) for name, command in COMMANDS.items()}, None


JOBS: dict[str, Callable[[Path], Found]] = {
    job.__name__: job
    for job in (startup, scoring, generation, pairwise, saq, mcq, texts, analysis, served, journal, mapped)
}


# --- in turns ------------------------------------------------------------------------------------------


def run_job(name: str, tree: Path, data: Path) -> dict[str, Any]:
    """Run a job on the modules of ``tree``."""
    paths = os.pathsep.join(str(tree / part) for part in ("src", "benchmarks"))
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    environment = os.environ | threads | {"PYTHONPATH": paths}
    # Without the script's own folder on the path (-P): the other benchmarks are those of ``tree``.
    command = [sys.executable, "-P", __file__, str(tree), "--data", str(data), "--job", name]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{name} failed in {tree}:\n{done.stderr[-3000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(name: str, old: Path, data: Path, repeats: int) -> dict[str, Any]:
    """Run a job in turns; return each step's seconds and ratios."""
    trees: dict[str, list[dict[str, Any]]] = {"before": [], "after": []}
    places = {"before": old, "after": ROOT}
    for tree in places.values():  # what is compiled and cached at first is not counted
        run_job(name, tree, data) if name in ("startup", "pairwise", "analysis") else None
    for turn in range(repeats):
        for which in sorted(places, reverse=turn % 2 == 0):
            trees[which].append(run_job(name, places[which], data))
    table = {}
    for step in trees["after"][0]["seconds"]:
        before, after = ([found["seconds"][step] for found in trees[which]] for which in ("before", "after"))
        ratios = sorted(new / max(then, 1e-3) for then, new in zip(before, after, strict=True))
        table[step] = {
            "before_s": round(statistics.median(before), 3),
            "after_s": round(statistics.median(after), 3),
            "ratio": round(statistics.median(ratios), 3),
            "ratios": [round(one, 3) for one in ratios],
        }
        print(f"{step}: {table[step]}", flush=True)
    same = all(found["computed"] == trees["before"][0]["computed"] for found in trees["before"] + trees["after"])
    print(f"{name}: {'the same is' if same else 'NOT the same is'} computed", flush=True)
    return {"steps": table, "same": same}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="a working tree of the older commit")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="the released data")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=JOBS, nargs="*", help="the others keep what was measured before")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        seconds, computed = JOBS[arguments.job](arguments.data)
        said = hashlib.blake2b(json.dumps(computed, default=str).encode(), digest_size=8).hexdigest()
        print(json.dumps({"seconds": seconds, "computed": said}))
        return
    from contest import machine

    old = arguments.old.resolve()
    command = ["git", "-C", str(old), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    for name in arguments.only or JOBS:
        found = compare(name, old, arguments.data, arguments.repeats) | {"repeats": arguments.repeats}
        result = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {"jobs": {}}
        result |= {"before": commit, "machine": machine()}
        result["jobs"][name] = found
        RESULT.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
