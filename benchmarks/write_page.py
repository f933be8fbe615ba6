"""Write docs/benchmarks.md, and the pages beneath it, from benchmarks/results/*.json: what was measured and no more.

python benchmarks/write_page.py
"""

from __future__ import annotations

import csv
import json
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
RESULTS = HERE / "results"
DOCS = ROOT / "docs"
INTRO = """# Benchmarks

What counts is the ratio between contestants that ran in turns in their own processes, on one machine, in one run; not
the absolute times of a small virtual machine. `benchmarks/write_page.py` writes this page and those beneath it from
the files in `benchmarks/results/`; no number in them was typed.

"""
MEASUREMENTS = """# All measurements

Each section says which command measured it. [Benchmarks](../benchmarks.md) has the ratios that matter most.
"""


def read(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def on(machine: dict[str, Any]) -> str:
    bf16 = {True: ", with AVX512-BF16", False: ", without AVX512-BF16", None: ""}[machine.get("avx512_bf16")]
    return f"{machine['cpu']}{bf16}, Python {machine['python']}"


def scoring() -> Iterator[str]:
    found = read("scoring")
    if found is None:
        return
    rows = [
        [
            name,
            f"{row['cpu_s']:.0f}",
            f"{row['wall_s']:.0f}",
            f"{row['less_cpu_than_lm_eval']:.2f}×",
            f"{row['peak_mb']:.0f}",
            f"{row['largest_difference_nats']:.2g}",
            str(row["mc1_flips"]),
        ]
        for name, row in found["contestants"].items()
    ]
    header = [
        "contestant",
        "CPU s",
        "wall s",
        "less CPU than lm-eval",
        "peak MB",
        "largest difference, nats",
        "MC1 flips",
    ]
    facts = found["contestants"]
    peer = next(row for row in facts.values() if "lm_eval" in row)
    yield f"""## Scoring responses by likelihood

`benchmarks/scoring.py`: the {found["prompts"]} full prompts of the released Kalahi data with all
{found["continuations"]} responses, the embedded model (SmolLM2-135M), {peer["threads"]} thread(s),
torch {peer["torch"]}, transformers {peer["transformers"]}, lm-eval {peer["lm_eval"]}; {found["repeats"]} round(s).
{on(found["machine"])}.

{table(header, rows)}

Differences and flips are against lm-eval in float32 with batch 1. A flip is a prompt whose MC1 decision changes.
bfloat16 moves sums by whole nats, so it is never chosen silently, and it stands in the signature.
"""


def generation() -> Iterator[str]:
    found = read("generation")
    if found is None:
        return
    rows = [
        [name, f"{row['cpu_s']:.0f}", f"{row['wall_s']:.0f}", f"{row['peak_mb']:.0f}"]
        for name, row in found["contestants"].items()
    ]
    yield f"""## Generating answers

`benchmarks/generation.py`: {found["prompts"]} prompts, {found["new_tokens"]} new tokens each, greedy, float32, against
transformers' own `generate` one prompt at a time. {on(found["machine"])}.

{table(["contestant", "CPU s", "wall s", "peak MB"], rows)}

Kapwa is {found["times_faster_wall"]:.1f}× faster, in {found["batches"]} batch(es). Batched arithmetic rounds
differently, so texts can part at a near-tie; here {found["identical_texts"]} of {found["prompts"]} are identical to the
letter. Batches are planned from the whole request list, so a resumed run gives the same texts.
"""


def gpu() -> Iterator[str]:
    results = read("gpu")
    if results is None:
        yield """## On a GPU

No GPU figures were taken yet: no machine with one was at hand. `benchmarks/gpu.py` takes them where there is one:
`kalahi/mc` and generation in float32 and bfloat16, differences and flips against the CPU, the largest batch that fits,
and lm-eval's HF model on the same device.
"""
        return
    rows = [
        [
            name,
            f"{row['wall_s']:.1f}",
            f"{row['largest_difference_nats']:.2g}" if "largest_difference_nats" in row else "",
            str(row.get("mc1_flips", "")),
            str(row.get("identical_texts", "")),
        ]
        for name, row in results["contestants"].items()
    ]
    header = ["contestant", "wall s", "largest difference, nats", "MC1 flips", "identical texts"]
    yield f"""## On a GPU

`benchmarks/gpu.py`: {results["prompts"]} full prompts of the released Kalahi data scored, {results["texts"]} prompts
answered with 100 new tokens, the embedded model (SmolLM2-135M) on {results["gpu"] or results["device"]}; the least of
{results["repeats"]} round(s). Differences, flips and identical texts are against Kapwa on the CPU in float32.
{on(results["machine"])}.

{table(header, rows)}
"""
    if "note" in results:
        yield results["note"] + "\n"
    if "large" in results:
        large = [[name, f"{row['wall_s']:.1f}"] for name, row in results["large"].items()]
        yield f"""The same work by a model of {results["billions"]:g} billion random weights:

{table(["contestant", "wall s"], large)}
"""
    if "largest" in results:
        largest = [[name.partition(": ")[2], f"{tokens:,}"] for name, tokens in results["largest"].items()]
        yield f"""The largest batches of generating that fitted in memory, in tokens (powers of two were tried):

{table(["numbers", "tokens"], largest)}
"""


def pairwise() -> Iterator[str]:
    found = read("pairwise")
    if found is None:
        return
    kinds = {"qa": "question", "story": "story"}
    header = ["seconds of one core for a concept", "tokens", "WED", "BLEU", "both kernels", "whole analysis"]
    rows, released = [], []
    for name, row in found["contestants"].items():
        for kind, called in kinds.items():
            part = row[kind]
            if name.startswith("kapwa"):
                cells = [f"{part[f'{step}_cpu_s']:.3f}" for step in ("tokenise", "wed", "bleu", "both", "all")]
                rows.append([f"{name}, {called}", *cells])
            else:
                cells = [f"{part[f'{step}_cpu_s']:,.0f}" for step in ("wed", "bleu", "both")]
                released.append([f"{name}, {called}", *cells])
    load = found["whole_load"]
    totals = [[name, f"{hours:,.2f}"] for name, hours in load["core_hours"].items()]
    ratios = [
        [f"{name}, {base}", f"{times:,}×"] for base, row in load["times_less"].items() for name, times in row.items()
    ]
    yield f"""## Comparing texts pair by pair

`benchmarks/pairwise.py`: {found["identities"]} identities × {found["samples"]} made-up texts, about 86 tokens an answer
and 846 a story; one core, processor time, the least of several; {found["repeats"]} round(s). {on(found["machine"])}.

{table(header, rows)}

The released way, extrapolated from sampled pairs of identities:

{table(["seconds of one core for a concept", "WED", "BLEU", "both"], released)}

The paper's whole load (11 configurations × 345 questions and 35 stories), in core-hours:

{table(["", "core-hours"], totals)}

{table(["less work", ""], ratios)}

Most of the released cost is tokenising again for every pair, so the last rows are the gain of the algorithms alone. All
give the same values, to {found["contestants"]["kapwa numba"]["largest_difference"]:.1g}.
"""


def paper_size() -> Iterator[str]:
    found = read("paper_size")
    if found is None:
        return
    first, second, again = found["until_the_kill"], found["after_the_kill"], found["again_with_all_parts"]
    steps = [
        [f"until the kill, with {first['parts_kept']:,} of {found['parts']:,} parts", first],
        ["resumed, to the end", second],
        ["once more, with all parts (as with another survey)", again],
    ]
    rows = [[name, f"{row['wall_s']:.0f}", f"{row['cpu_s']:.0f}", f"{row['peak_mb']:,}"] for name, row in steps]
    sizes = [
        [
            str(row["identities"]),
            str(row["concepts"]),
            f"{row['texts']:,}",
            f"{row['cpu_s']:.1f}",
            f"{row['wall_s']:.1f}",
        ]
        for row in (*found["growth"]["in_concepts"], *found["growth"]["in_identities"])
    ]
    yield f"""## The paper's whole size

`benchmarks/paper_size.py`: {found["texts"]:,} made-up texts in {found["corpora"]} corpora, analysed from end to end by
`kapwa analyze eecc` with {found["workers"]} processes, killed (SIGKILL) once in the middle and resumed. Other work
loaded the machine meanwhile. {on(found["machine"])}.

{table(["", "wall s", "CPU s", "peak MB of all processes"], rows)}

Together {found["wall_s"] / 60:.0f} minutes; no part was computed twice. The parts take {found["parts_mb"]:,} MB.

One process at several sizes:

{table(["identities", "concepts", "texts", "CPU s", "wall s"], sizes)}

A part of each is start-up. The rest grows in line with concepts. In identities the comparing grows with their square,
the reading and cutting of texts in line with them; at these sizes the square is still the smaller part. Beyond 2,000
identities pairs are drawn instead, with an interval; tests hold it to its coverage.
"""


def journal() -> Iterator[str]:
    found = read("journal")
    if found is None:
        return
    rows = [
        ["answers appended, a second (wall)", f"{found['append_rows_per_s']:,}"],
        ["answers appended, a second of processor time", f"{found['append_rows_per_cpu_s']:,}"],
        ["opened and found what is missing, s", f"{found['open_and_find_missing_s']:.0f}"],
        ["peak MB", str(found["peak_mb"])],
        ["journal on disk, MB", f"{found['file_mb']:,}"],
    ]
    yield f"""## Keeping millions of answers

`benchmarks/journal.py`: {found["rows"]:,} answers of {found["bytes_of_text_a_row"]} bytes, each commit of at most
{found["rows_a_commit"]:,} answers on disk before it counts. Python {found["machine"]["python"]}.

{table(["", ""], rows)}
"""


PAPER_TEXTS = 4_033_700


def crossed_templates() -> Iterator[str]:
    found = read("crossed_templates")
    if found is None:
        return
    rows = []
    for name in filter(found.__contains__, ("planted", "nothing planted")):
        one = found[name]
        cost = (f"{one['texts']:,}", f"{one['cpu_s']:,.0f}", f"{one['wall_s']:,.0f}", f"{one['peak_mb']:,}")
        rows.append([name, *cost, ", ".join(one["missed"]) or "nothing", ", ".join(one["beside"]) or "nothing"])
    header = [
        "texts",
        "how many",
        "CPU s",
        "wall s",
        "peak MB of all processes",
        "planted and missed",
        "found and not planted",
    ]
    part = PAPER_TEXTS / found["planted"]["texts"]
    hours = found["planted"]["cpu_s"] * part / 3600
    yield f"""## Crossed identities over EECC's concepts

`benchmarks/crossed_templates.py`: for each concept of EECC's released templates {found["combinations"]} combinations of
nationality × religion × age, five made-up texts each, one in {part:.0f} of the paper's number. Planted are words of the
nationality, words of the religion, and words that depend on both alone; nothing depends on the age. Tested are seven
terms in each of the two tasks, with 199 exchanges a test.

{table(header, rows)}

The paper's {PAPER_TEXTS:,} texts would take about {hours:.1f} CPU hours in as many combinations, and the memory of one
configuration, for these are compared one after the other. Other work loaded the machine meanwhile.
{on(found["machine"])}.
"""


def ray_analysis() -> Iterator[str]:
    found = read("ray_analysis")
    if found is None:
        return
    rows = [
        [
            "processes of the machine" if name == "local" else "Ray on the machine",
            f"{row['wall_s']:.0f}",
            f"{row['wall_ratio_to_local']:.2f}×",
            f"{statistics.median(found['comparing_s'][name]):.0f}",
            f"{row['cpu_s']:.0f}",
            f"{row['peak_mb']:,.0f}",
        ]
        for name, row in found["contestants"].items()
    ]
    header = ["engine", "wall s", "against processes", "of it comparing texts", "CPU s", "peak MB"]
    yield f"""## One analysis, in processes and on Ray

`benchmarks/ray_analysis.py`: `kapwa.analyze` of {found["texts"]:,} made-up texts ({found["parts"]:,} concepts of 193
nationalities × 5 samples) from nothing to the finished tables, with the same {found["workers"]} processors; starting
and ending Ray is part of its time. Rounds, in turns: {found["repeats"]}; medians, and the median of the rounds'
ratios. Processor time and memory are of all processes together, Ray's own among them. All tables of both
are the same bytes. {on(found["machine"])}.

{table(header, rows)}
"""


def ray_overhead() -> Iterator[str]:
    found = read("ray_overhead")
    if found is None:
        return
    rows = [
        [
            "this process" if name == "local" else "one replica on Ray",
            f"{row['wall_s']:.0f}",
            f"{row['wall_ratio_to_local']:.2f}×",
            f"{row['cpu_s']:.0f}",
            f"{row['cpu_ratio_to_local']:.2f}×",
            f"{row['loading_s']:.0f}",
        ]
        for name, row in found["contestants"].items()
    ]
    header = ["the model is in", "wall s", "of local", "CPU s", "of local", "seconds before, to load it"]
    yield f"""## One run, here and on Ray

`benchmarks/ray_overhead.py`: {found["answers"]} answers of the embedded model with {found["threads"]} thread, without
loading it. Rounds, in turns: {found["repeats"]}; medians, and the median of the rounds' ratios, on a machine with
other work. A batch cost {found["per_batch_ms"]} ms on its way; since then batches come back as a
stream, which was not measured in this way again. {on(found["machine"])}.

{table(header, rows)}
"""


def serving() -> Iterator[str]:
    found = read("serving")
    if found is None:
        return
    if "contest" in found:
        yield from _serving_contest(found["contest"])
    if "memory" in found:
        row = found["memory"]
        yield f"""`benchmarks/serving.py memory`: {row["requests"]:,} requests, asked as a run does, at {row["rate"]:,}
a second: peak {row["peak_mb"]} MB.
"""
    if "faults" in found:
        yield from _serving_faults(found["faults"])


def _serving_contest(found: dict[str, Any]) -> Iterator[str]:
    rows = [
        [
            name,
            f"{row['rate']:,}",
            f"{row['kapwa_times_faster']:.1f}×",
            f"{row['cpu_us']:,}",
            f"{row['peak_mb']:.0f}",
        ]
        for name, row in sorted(found["contestants"].items(), key=lambda one: -one[1]["rate"])
    ]
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    yield f"""## Asking a served model

`benchmarks/serving.py contest`: {found["concurrency"]} open requests to a stub server that answers after
{1000 * found["delay"]:.0f} ms, {found["requests"]:,} short requests ({found["slow_requests"]:,} for the slowest),
{found["repeats"]} round(s). {versions}. {on(found["machine"])}.

{table(["contestant", "requests a second", "a Kapwa run is faster", "CPU µs a request", "peak MB"], rows)}

"kapwa" is the asking of a run, every answer in the journal; "kapwa backend" the model alone; "kapwa, a whole run" also
scores, sums up and writes. Inspect and lm-eval answer through their models alone, "aiohttp alone" is the HTTP client
with nothing around it.
"""


def _serving_faults(found: dict[str, Any]) -> Iterator[str]:
    rows = [
        [
            name,
            f"{row['wall_s']:.1f}",
            f"{row['times_clean']:.1f}×",
            f"{row['right']:,} of {row['answers']:,}",
            str(row["failed"]),
            str(row["failed_after_running_again"]),
        ]
        for name, row in sorted(found["runs"].items(), key=lambda one: one[1]["times_clean"])
    ]
    header = [
        "a tenth of each kind of fault meets",
        "wall s",
        "of clean",
        "right answers",
        "failed",
        "after a second run",
    ]
    yield f"""`benchmarks/serving.py faults`: whole runs of {found["requests"]:,} requests. Faults:
{", ".join(found["faults"])}; {found["concurrency"]} open calls, answers after 0.05 s, {found["timeout_s"]:g} s until a
time-out. {on(found["machine"])}.

{table(header, rows)}

A call that times out holds its place all that while: with longer time-outs the runs with faults take longer. "At
first": a fault may meet only the first call for a request. Where it may meet each call, half of all calls fail,
repeated ones too; a request that failed eight times is recorded with its reason and asked again by the next run.
"""


def studio_load() -> Iterator[str]:
    found = read("studio_load")
    if found is None:
        return
    rows = []
    for name, one in found.items():
        writes = f"{one['writes']:,} ({one['writes_per_second']:.0f})"
        pages = f"{1000 * one['page_p99_s']:,.0f}" if one["page_p99_s"] is not None else "–"
        wrong = f"{one['errors']}, {one['lost']}, {one['twice']}"
        around = (
            f"{one['load_before']:.0f}, {one['fsync_ms']:.0f}" if "fsync_ms" in one else f"{one['load_before']:.0f}, –"
        )
        times = [f"{1000 * one[key]:,.0f}" for key in ("p50_s", "p99_s")]
        cpu = "–" if one["server_cpu_ms_per_write"] is None else f"{one['server_cpu_ms_per_write']:.1f}"
        rows.append([name, str(one["clients"]), writes, *times, pages, wrong, cpu, around])
    processors = next(iter(found.values()))["processors"]
    before = [one["niceness"] < 0 for one in found.values()]
    ranked = f"; {'all' if all(before) else 'some'} runs were ranked before that other work" if any(before) else ""
    people = found["300 people, SQLite"]
    due = people["clients"] / people["every_s"]
    short = ""
    if people["p50_s"] > 1:
        pace = f"{people['clients']} people at that pace give {due:.0f} answers a second"
        short = f"\n{pace}: the server, one process, had not enough of a\nprocessor for that. People waited; "
        short += "none was refused, and no answer was lost.\n"
    header = ["", "clients", "answers (a second)", "p50 ms", "p99 ms", "page p99 ms", "errors, lost, twice"]
    header += ["server ms", "load, fsync ms"]
    yield f"""## Many people answer in the studio

`benchmarks/studio_load.py`: people with visits of their own answer 500 questions over HTTP, through what phones send
(*sync*) or at the desk's page, which leases and shows the next question after each answer (*desk*; its waiting times
are in a column of their own). *300 people* take ten seconds for each answer, for five minutes; the others post as fast
as they can. Server and clients share {processors} processors. *server ms*: processor time of the server for an answer,
with its page. The last column says what else went on: how many processes wanted a processor before the run began, and
how long the disk took to keep 4 kB{ranked}. Each answer is on the disk before it is acknowledged, so that SQLite, which
has one writer, takes at most as many a second as the disk keeps.

{table(header, rows)}
{short}"""


def studio_presses() -> Iterator[str]:
    found = read("studio_presses")
    if found is None:
        return
    rows = []
    for job, one in found.items():
        trial, before = (" / ".join("–" if n is None else f"{n:g}" for n in one[when]) for when in ("trial", "before"))
        rows.append([job, trial, before, f"{one['presses']} / {one['screens']}"])
    yield f"""## How much work the commonest jobs in the studio are

`tests/studio/test_presses.py` does them on a phone of 360 × 740 pixels, and fails where one takes more than this table
says: presses / screens. A press is a tap on a link, a button, a choice, or a text to write in it; a list to choose from
needs two. What is typed is none, nor is the key that leads to the next text. Screens are from the top of each page to
the last thing pressed. *Rate*: six classes of error in a text. *In a trial*: counted by hand in an earlier version,
perhaps in another way; *before*: by the same script, before voting and writing were shortened.

{table(["job", "in a trial", "before", "now"], rows)}
"""


def startup() -> Iterator[str]:
    found = read("startup")
    if found is None:
        return
    rows = [[f"`{name}`", f"{t['median_s']:.3f}", f"{t['max_s']:.3f}"] for name, t in found["startup"].items()]
    yield f"""## Start-up

`benchmarks/startup.py`: wall time of whole processes, {found["runs"]} runs each, Python {found["python"]}.

{table(["command", "median s", "slowest s"], rows)}
"""
    install = found.get("install")
    if install is None:
        return
    sizes = [[name, str(part["megabytes"])] for name, part in install.items()]
    heavy = [[name, f"{size:.0f}"] for name, size in next(iter(install.values()))["heaviest"].items()]
    yield f"""## Size of the base install

`benchmarks/startup.py --sizes`: megabytes on disk of a fresh environment, the environment itself not counted. The base
install evaluates served models and recorded answers and writes reports; torch comes with the extra `local`.

{table(["install", "MB"], sizes)}

What weighs most in Kapwa's:

{table(["package", "MB"], heavy)}
"""


def environments() -> Iterator[str]:
    found = read("environments")
    if found is None:
        return
    rows = [[str(value) for value in one.values()] for one in found]
    yield f"""## Fresh environments

`benchmarks/environments.py`: the wheel, built as for a release and installed into an empty environment; `pip check` is
clean in each, and a newcomer's first commands work in an empty home folder.

{table(["environment", "install, s", "first commands, s", "MB", "packages"], rows)}
"""


def asking_less() -> Iterator[str]:
    found = read("asking_less")
    if found is None:
        return
    lines: dict[tuple[str, str, str], list[str]] = {}
    for one in found:
        part, ends = (f"{100 * one['median']:.0f}", f"{100 * one['least']:.0f}–{100 * one['most']:.0f}")
        lines.setdefault((one["data"], one["rule"], one["how"]), []).append(f"{part} ({ends})")
    rows = [[*names, *parts] for names, parts in lines.items()]
    requests = ", ".join(f"{data} {n:,}" for data, n in {one["data"]: one["requests"] for one in found}.items())
    yield f"""## Asking less

`benchmarks/asking_less.py`: percent of the requests of a full run that a run with `--until` does not send, over the
released questions (requests of a full run: {requests}) with planted models of which 20, 50 or 90 of 100 answers are
right; what was sent beyond the point of stopping is counted as sent. Median of {found[0]["orders"]} orders of asking,
least and most.

{table(["data", "stops at", "asked through", "20 right", "50 right", "90 right"], rows)}
"""


def before_after() -> Iterator[str]:
    found = read("before_after")
    if found is None:
        return
    rows = [
        [step, f"{row['before_s']:.3g}", f"{row['after_s']:.3g}", f"{row['ratio']:.2f}", str(len(row["ratios"]))]
        for job in found["jobs"].values()
        for step, row in job["steps"].items()
    ]
    differ = ", ".join(name for name, job in found["jobs"].items() if not job["same"])
    same = f"Not the same is computed in: {differ}." if differ else "Both compute the same."
    yield f"""## Before and after the lighter house

`benchmarks/before_after.py`: processor seconds of one process, commit {found["before"]} (the last before Kapwa was made
smaller) and the code of today in turns; the median of the pairs' ratios. Other work loaded the machine meanwhile.
{same} {on(found["machine"])}.

{table(["", "before, s", "after, s", "ratio", "pairs"], rows)}

Served models are asked through aiohttp now, before through an HTTP client of Kapwa's own, which was faster and 1,500
lines long; what counts there is the comparison with lm-eval and Inspect above. Opening the texts of an analysis lays
them out in sorted files now: that takes longer for JSON lines and CSV, and reading them takes less. Before the first of
30,000 short answers is judged, imports, models of the rows and items take half a second more than before. Steps of ten
milliseconds scatter by a third from process to process.
"""


def headline() -> Iterator[str]:
    """The ratios that matter most, each with the section that has the whole table."""
    rows = [
        [figure, f"**{ratio}**", f"[{section}](benchmarks/measurements.md#{anchor})"]
        for figure, ratio, section, anchor in _headline_rows()
    ]
    yield INTRO + table(["what", "figure", "measured"], rows) + "\n"


def _headline_rows() -> Iterator[tuple[str, str, str, str]]:
    scores, texts, pairs, calls = (read(name) for name in ("scoring", "generation", "pairwise", "serving"))
    load, start = read("studio_load"), read("startup")
    if scores:
        ratio = scores["contestants"]["kapwa float32"]["less_cpu_than_lm_eval"]
        yield (
            "likelihood of 948 responses in float32: less processor time than lm-eval",
            f"{ratio:.1f}×",
            "scoring",
            ("scoring-responses-by-likelihood"),
        )
    if texts:
        ratio = texts["times_faster_wall"]
        yield (
            "answers of 100 tokens: faster than one prompt at a time",
            f"{ratio:.1f}×",
            "generating",
            "generating-answers",
        )
    if pairs:
        for name in ("released", "released, tokens kept"):
            ratio = pairs["whole_load"]["times_less"][f"than {name}"]["kapwa numba, with tokenising"]
            rival = name.replace("released", "released code")
            what = f"distances of 4 million texts: less processor time than the {rival}"
            yield what, f"{ratio:,}×", "pairs of texts", "comparing-texts-pair-by-pair"
    if calls and "contest" in calls:
        runs = calls["contest"]["contestants"]
        for name in ("lm-eval", "inspect-ai"):
            ratio = runs["kapwa, a whole run"]["rate"] / runs[name]["rate"]
            yield (
                f"requests a second of a whole run, against {name}'s model alone",
                f"{ratio:.1f}×",
                "served models",
                ("asking-a-served-model"),
            )
    if load:
        people = load["300 people, SQLite"]
        figure = f"{1000 * people['p99_s']:,.0f} ms"
        yield (
            "300 people answer every ten seconds: 99 of 100 wait at most",
            figure,
            "the studio",
            ("many-people-answer-in-the-studio"),
        )
    if start:
        seconds = start["startup"]["kapwa --help"]["median_s"]
        yield "`kapwa --help`", f"{seconds:.2f} s", "start-up", "start-up"


class Guard(NamedTuple):
    """What reports say, or leave unsaid, where a figure errs: a row of ``guards.csv``.

    It is of a ``subject``, and of the figures and settings that hold these words ("" holds for all). ``test`` shows it.
    """

    subject: str
    figure: str
    setting: str
    reports: str
    test: str


def guards() -> list[Guard]:
    """Read the table of guards."""
    with (HERE / "guards.csv").open(encoding="utf-8", newline="") as file:
        return [Guard(**row) for row in csv.DictReader(file)]


def errs(cell: Mapping[str, Any]) -> bool:
    """Whether a figure claims too much: a coverage or a power below its bounds, or an error above them."""
    return bool(cell["percent"] < cell["low"] > 50 or cell["percent"] > cell["high"] < 50)


def by_chance(cell: Mapping[str, Any]) -> bool:
    """Whether a figure outside its bounds lies within two Monte Carlo errors of them."""
    share = min(max(cell["percent"] / 100, 0.0), 1.0)
    error = 200 * math.sqrt(share * (1 - share) / cell["repeats"])
    return bool(cell["low"] - error <= cell["percent"] <= cell["high"] + error)


def guarded(cell: Mapping[str, Any], known: Sequence[Guard]) -> str:
    """What reports do where this figure errs; "" where nothing is said of it."""
    fitting = (
        guard.reports
        for guard in known
        if guard.subject == cell["subject"] and guard.figure in cell["figure"] and guard.setting in cell["setting"]
    )
    return next(fitting, "")


def calibration_cells() -> list[dict[str, Any]]:
    """Return every saved figure of the simulations."""
    paths = sorted((RESULTS / "calibration").glob("*.json"))
    return [cell for path in paths for cell in json.loads(path.read_text(encoding="utf-8"))]


def calibration() -> Iterator[str]:
    cells, known = calibration_cells(), guards()
    rows = []
    for cell in cells:
        bounds, mark = f"{cell['low']:g}–{cell['high']:g}", ""
        if errs(cell):
            mark = "**too often wrong**" if not by_chance(cell) else "too often wrong, within two Monte Carlo errors"
            mark = ". ".join(filter(None, (mark, guarded(cell, known))))
        elif not cell["low"] <= cell["percent"] <= cell["high"]:
            mark = "careful"
        setting = f"{cell['setting']} ({cell['repeats']} data sets)"
        rows.append([cell["subject"], cell["figure"], setting, f"{cell['percent']:.1f}", bounds, mark])
    wrong = [cell for cell in cells if errs(cell)]
    careful = sum(not cell["low"] <= cell["percent"] <= cell["high"] for cell in cells) - len(wrong)
    clear = [cell for cell in wrong if not by_chance(cell)]
    counts = Counter(cell["subject"] for cell in clear)
    subjects = ", ".join(f"{subject} ({number})" for subject, number in sorted(counts.items()))
    told = sum(bool(guarded(cell, known)) for cell in clear)
    yield f"""## Calibration

Data sets whose truth is known say how often what a report prints was right: how often 95 % intervals hold the truth,
how often a verdict is wrong where nothing is, how often a difference of the size said to be detectable is found. Of
{len(cells)} figures {len(wrong)} err more often than they should, {len(clear)} of them by more than two Monte Carlo
errors. {careful} err less often, and the others lie within their bounds. Of the {len(clear)}, reports warn, name the
condition, or rest nothing on it in {told}; the [table of all figures](benchmarks/calibration.md) says what they do.
More often: {subjects}.
"""
    header = ["subject", "figure", "simulated", "percent", "should be", "outside, and what reports do there"]
    yield f"""# Calibration

`benchmarks/calibration.py`: data sets whose truth is known, and how often what a report prints of them was right:
coverage of 95 % intervals (93–97 % is good), errors of verdicts where nothing is (3–6 %), and how often a difference of
the size said to be detectable is found (75–85 %). What claims too much is marked, with what reports do there;
[Statistics](../explanation/statistics.md) says why.

{table(header, rows)}
"""


def write(name: str, sections: list[str]) -> None:
    """Write one page of the docs."""
    path = DOCS / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(sections), encoding="utf-8")


def main() -> None:
    summary, cells = calibration()
    write("benchmarks.md", [*headline(), summary])
    write("benchmarks/calibration.md", [cells])
    sections = [
        MEASUREMENTS,
        *scoring(),
        *generation(),
        *gpu(),
        *pairwise(),
        *paper_size(),
        *crossed_templates(),
        *ray_analysis(),
        *ray_overhead(),
        *journal(),
        *serving(),
        *studio_load(),
        *studio_presses(),
        *startup(),
        *environments(),
        *asking_less(),
        *before_after(),
    ]
    write("benchmarks/measurements.md", sections)


if __name__ == "__main__":
    main()
