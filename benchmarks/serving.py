"""Requests a second to a served model: Kapwa, Inspect and lm-eval against one stub server, then faults and memory.

    python benchmarks/serving.py contest --repeats 3
    python benchmarks/serving.py memory
    python benchmarks/serving.py faults

``contest``: concurrency 512, each contestant in a process of its own with a stub of its own (serving_stub.py) that
answers after 50 ms; only the asking is timed. "kapwa" asks as a run does, with an index of requests and a journal;
"kapwa backend" is the model alone, "kapwa, a whole run" all of ``kapwa.evaluate``; Inspect and lm-eval answer through
their models alone, in the settings that were fastest for them; "aiohttp alone" is the HTTP client without anything
around it. ``memory``: peak memory of 200,000 requests asked as a run does. ``faults``: whole runs of
``kapwa.evaluate`` against a stub that answers with 429, 500, a reset, nothing (a time-out) or half a JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from contest import compete, finish, machine, measured, summary, write

HERE = Path(__file__).resolve().parent
RESULT = HERE / "results" / "serving.json"
FAULTS = dict.fromkeys(("429", "500", "reset", "timeout", "garbage"), 0.1)
TOKENS = 64


@contextmanager
def stub(**config: Any) -> Iterator[str]:
    """Run the stub server in a process of its own; yield its address."""
    command = [sys.executable, str(HERE / "serving_stub.py"), json.dumps(config)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
    finally:
        process.kill()
        process.communicate()


@dataclass(frozen=True)
class Asking:
    """A task that asks ``n`` short questions and scores whether each answer is the right one."""

    n: int
    name: str = "serving/ask"
    suite: str = "serving"
    options: Mapping[str, Any] = field(default_factory=dict)
    headline: tuple[str, ...] = ("right",)
    groups: tuple[str, ...] = ()
    needs: frozenset[str] = frozenset({"generate"})

    @property
    def data(self) -> Any:
        """Where the items came from: nowhere."""
        from kapwa.suites.base import DataSource

        return DataSource("made up", None, "0" * 16)

    @property
    def selection(self) -> Any:
        """All of them."""
        from kapwa.suites.base import Selection

        return Selection()

    @property
    def metrics(self) -> dict[str, Any]:
        """The one metric."""
        from kapwa.suites.base import MetricInfo

        return {"right": MetricInfo("right", "Right answers", 0.0, 1.0, binary=True)}

    def items(self) -> list[Any]:
        """Number the items."""
        from kapwa.records import Item

        return [Item(str(i), "serving", "none", "en", "c", "t", "full", str(i), {}) for i in range(self.n)]

    def requests(self, items: Sequence[Any]) -> Iterator[Any]:
        """Ask for each item's number."""
        from kapwa.records import Message, Params, Request

        params = Params(max_new_tokens=TOKENS)
        for item in items:
            yield Request(item.id, "full", "generate", (Message("user", f"item {item.id}"),), params=params)

    def score(self, items: Sequence[Any], answers: Collection[Any]) -> Any:  # noqa: ARG002 - the protocol's signature
        """Check each answer against its item."""
        import polars as pl

        from kapwa.records import SCORE_COLUMNS
        from kapwa.suites.base import Judged

        rows = []
        for request, response in answers:
            value = None if response.failed else float(response.text.startswith(f"answer {request.item_id}:"))
            outcome = "failed" if response.failed else "scored"
            rows.append([request.item_id, "full", "none", "en", "c", "t", request.item_id, 0, "right", value, outcome])
        types = {n: {"value": pl.Float64, "sample": pl.Int64}.get(n, pl.String) for n in SCORE_COLUMNS[:-1]}
        return Judged(pl.DataFrame(rows, schema=types, orient="row"))

    def judge(self, items: Sequence[Any], answers: Collection[Any]) -> Any:
        """Judge as any task does."""
        from kapwa.suites.base import Task

        return Task.judge(self, items, answers)  # type: ignore[arg-type]

    def floors(self, items: Sequence[Any]) -> list[Any]:  # noqa: ARG002 - the protocol's signature
        """No floor: nothing is guessed."""
        return []

    def item_table(self, items: Sequence[Any]) -> Any:
        """Return the items' names."""
        import polars as pl

        return pl.DataFrame({"item_id": [item.id for item in items]})


def connected(url: str, concurrency: int, **options: Any) -> Any:
    from kapwa.models.base import ModelOptions
    from kapwa.models.openai import load

    return load("stub", ModelOptions(base_url=url, concurrency=concurrency, **options))


def kapwa_run(url: str, requests: int, concurrency: int) -> Callable[[], Any]:
    """Ask as a run does: requests with keys, answers committed to a journal."""
    from kapwa.runs.asking import ask
    from kapwa.runs.requests import requests_of
    from kapwa.runs.store import AnswerStore

    task, model = Asking(requests), connected(url, concurrency)
    items = task.items()

    def work() -> int:
        index = requests_of(task, items, model.fingerprint)
        with (
            tempfile.TemporaryDirectory() as folder,
            AnswerStore(Path(folder) / "journal.sqlite", identity=index.identity) as journal,
        ):
            ask(index, model, journal)
            return journal.counts().answered

    return work


def kapwa_backend(url: str, requests: int, concurrency: int) -> Callable[[], Any]:
    from dataclasses import replace

    task, model = Asking(requests), connected(url, concurrency)
    items = task.items()

    def work() -> int:
        asked = (replace(request, key=request.item_id) for request in task.requests(items))
        return sum(r.text.startswith(f"answer {r.request_key}:") for r in model.generate(asked))

    return work


def kapwa_whole(url: str, requests: int, concurrency: int) -> Callable[[], Any]:
    """A whole run: asked, kept, scored, summed up, written."""
    import kapwa.runs.runner

    task, model = Asking(requests), connected(url, concurrency)

    def work() -> int:
        with tempfile.TemporaryDirectory() as folder:
            run = kapwa.evaluate(task, model, out=folder, progress=False)
            return int(run.table("scores")["value"].sum())

    return work


def inspect_generate(url: str, requests: int, concurrency: int) -> Callable[[], Any]:
    """Inspect's provider for OpenAI-compatible servers, without the rest of an evaluation, which is slower."""
    os.environ["STUB_API_KEY"] = "none"
    from inspect_ai.model import GenerateConfig, get_model

    settings = GenerateConfig(max_connections=concurrency, max_tokens=TOKENS, temperature=0)
    model = get_model("openai-api/stub/stub", base_url=url, config=settings)

    async def ask(i: int) -> str:
        return str((await model.generate(f"item {i}")).completion)

    return lambda: asyncio.run(in_turns(ask, requests, concurrency))


def lm_eval_generate(url: str, requests: int, concurrency: int) -> Callable[[], Any]:
    """lm-eval's API model, as its evaluator calls it."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.openai_completions import LocalChatCompletion

    model = LocalChatCompletion(model="stub", base_url=f"{url}/chat/completions", num_concurrent=concurrency)
    options = {"until": [], "max_gen_toks": TOKENS}
    asked = [
        Instance(
            "generate_until", {}, (model.apply_chat_template([{"role": "user", "content": f"item {i}"}]), options), i
        )
        for i in range(requests)
    ]

    def work() -> int:
        return sum(text.startswith(f"answer {i}:") for i, text in enumerate(model.generate_until(asked)))

    return work


def in_turns(
    ask: Callable[[int], Coroutine[Any, Any, str]], requests: int, concurrency: int
) -> Coroutine[Any, Any, int]:
    """Ask every number with so many workers; count the right answers."""
    numbers = iter(range(requests))

    async def worker() -> int:
        right = 0
        for i in numbers:
            right += (await ask(i)).startswith(f"answer {i}:")
        return right

    async def everything() -> int:
        return sum(await asyncio.gather(*(worker() for _ in range(concurrency))))

    return everything()


def question(i: int) -> dict[str, Any]:
    message = {"role": "user", "content": f"item {i}"}
    return {"model": "stub", "temperature": 0.0, "messages": [message], "max_tokens": TOKENS}


def aiohttp_alone(url: str, requests: int, concurrency: int) -> Callable[[], Any]:
    """What aiohttp costs without anything around it."""
    import aiohttp

    async def everything() -> int:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar()) as session:

            async def ask(i: int) -> str:
                async with session.post(f"{url}/chat/completions", json=question(i), allow_redirects=False) as reply:
                    return str(json.loads(await reply.read())["choices"][0]["message"]["content"])

            return await in_turns(ask, requests, concurrency)

    return lambda: asyncio.run(everything())


CONTESTANTS = {
    "kapwa": kapwa_run,
    "kapwa backend": kapwa_backend,
    "kapwa, a whole run": kapwa_whole,
    "lm-eval": lm_eval_generate,
    "inspect-ai": inspect_generate,
    "aiohttp alone": aiohttp_alone,
}
SLOW = ("inspect-ai",)  # a tenth of the requests is enough


def run_contestant(name: str, job: Mapping[str, Any]) -> None:
    """Do one contestant's round in this process."""
    requests = job["slow_requests"] if name in SLOW else job["requests"]
    with stub(delay=job["delay"]) as url:
        work = CONTESTANTS[name](url, requests, job["concurrency"])
        right, times = measured(work)
    if right != requests:
        sys.exit(f"{name} answered {right} of {requests}")
    facts = {"rate": requests / times["wall_s"], "cpu_us": times["cpu_s"] / requests * 1e6}
    finish(right, times, requests=requests, **facts)


def contest(arguments: argparse.Namespace) -> dict[str, Any]:
    """Let all contestants run in turns."""
    job = {
        "delay": 0.05,
        "concurrency": arguments.concurrency,
        "requests": arguments.requests,
        "slow_requests": max(1, arguments.requests // 10),
    }
    python = dict.fromkeys(CONTESTANTS, sys.executable)
    rounds = compete(__file__, python, job, arguments.repeats)
    table = summary(rounds, against="lm-eval")
    middle = arguments.repeats // 2
    for name, reports in rounds.items():
        for key in ("rate", "cpu_us"):
            table[name][key] = round(sorted(report[key] for report in reports)[middle])
        ratios = sorted(ours["rate"] / theirs["rate"] for ours, theirs in zip(rounds["kapwa"], reports, strict=True))
        table[name]["kapwa_times_faster"] = round(ratios[middle], 2)
        table[name]["requests"] = reports[0]["requests"]
    return {**job, "repeats": arguments.repeats, "versions": versions(), "contestants": table}


def versions() -> dict[str, str]:
    return {name: version(name) for name in ("inspect-ai", "lm-eval", "aiohttp")}


def memory(arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the peak memory of this process while it asks as a run does."""
    with stub(delay=0.05) as url:
        work = kapwa_run(url, arguments.memory_requests, arguments.concurrency)
        right, times = measured(work)
    if right != arguments.memory_requests:
        sys.exit(f"answered {right} of {arguments.memory_requests}")
    return {"requests": right, "rate": round(right / times["wall_s"]), "peak_mb": round(times["peak_mb"])}


def faulty(url_config: Mapping[str, Any], arguments: argparse.Namespace, attempts: int) -> dict[str, Any]:
    """Run an evaluation against one stub; count what it took and what is wrong in the end."""
    import kapwa

    with stub(**url_config) as url, tempfile.TemporaryDirectory() as folder:
        model = connected(url, arguments.fault_concurrency, timeout=arguments.timeout, extra={"attempts": attempts})
        begun = time.perf_counter()
        run = kapwa.evaluate(Asking(arguments.fault_requests), model, out=folder, progress=False)
        seconds = time.perf_counter() - begun
        scores = run.table("scores")
        again = time.perf_counter()
        rerun = kapwa.evaluate(Asking(arguments.fault_requests), model, out=folder, progress=False)
        model.close()
        return {
            "wall_s": round(seconds, 2),
            "answers": len(scores),
            "right": int(scores["value"].sum()),
            "failed": int(scores["value"].null_count()),
            "failed_after_running_again": int(rerun.table("scores")["value"].null_count()),
            "running_again_s": round(time.perf_counter() - again, 2),
        }


def faults(arguments: argparse.Namespace) -> dict[str, Any]:
    """A clean run, one whose requests each may meet a fault at first, and one whose every call may."""
    kinds: dict[str, tuple[dict[str, Any], int]] = {
        "clean": ({"delay": 0.05}, 8),
        "each request at first": ({"delay": 0.05, "faults": FAULTS, "first": True}, 8),
        "each call": ({"delay": 0.05, "faults": FAULTS}, 8),
        "each call, 20 attempts": ({"delay": 0.05, "faults": FAULTS}, 20),
    }
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in kinds}
    for _ in range(arguments.repeats):
        for name, (config, attempts) in kinds.items():
            rounds[name].append(faulty(config, arguments, attempts))
            print(name, rounds[name][-1], flush=True)
    table = {name: sorted(found, key=lambda row: row["wall_s"])[len(found) // 2] for name, found in rounds.items()}
    for name, found in rounds.items():
        times = sorted(a["wall_s"] / b["wall_s"] for a, b in zip(found, rounds["clean"], strict=True))
        table[name]["times_clean"] = round(times[len(times) // 2], 2)
    return {
        "requests": arguments.fault_requests,
        "concurrency": arguments.fault_concurrency,
        "timeout_s": arguments.timeout,
        "faults": FAULTS,
        "runs": table,
    }


MODES = {"contest": contest, "memory": memory, "faults": faults}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", nargs="*", choices=[*MODES, []], help="default: all")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--requests", type=int, default=20_000, help="a tenth for the slow contestants")
    parser.add_argument("--memory-requests", type=int, default=200_000)
    parser.add_argument("--fault-requests", type=int, default=20_000)
    parser.add_argument("--concurrency", type=int, default=512)
    parser.add_argument("--fault-concurrency", type=int, default=64, help="kapwa's default, in the runs with faults")
    parser.add_argument("--timeout", type=float, default=0.25, help="seconds, in the runs with faults")
    parser.add_argument("--result", type=Path, default=RESULT)
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--job", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contestant:
        run_contestant(arguments.contestant, json.loads(arguments.job.read_text(encoding="utf-8")))
        return
    found = json.loads(arguments.result.read_text(encoding="utf-8")) if arguments.result.exists() else {}
    for mode in arguments.mode or MODES:
        found[mode] = {**MODES[mode](arguments), "machine": machine()}
        write(arguments.result, found)


if __name__ == "__main__":
    main()
