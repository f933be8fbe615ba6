"""A tiny task and a tiny rule-based model, real in every respect but size, for the tests of the runner.

Run as a script, it evaluates one on the other in a process of its own, to be killed:
``python tiny_suite.py '{"out": "...", "n": 40, "delay": 0.01}'``.
"""

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from kapwa.models.base import Model
from kapwa.records import (
    SCORE_COLUMNS,
    Answer,
    ContinuationScore,
    Floor,
    Item,
    Message,
    Params,
    Request,
    Response,
    Usage,
)
from kapwa.runs import runner
from kapwa.runs.settings import RunSettings
from kapwa.suites.base import DataSource, Judged, MetricInfo, Selection, Task

SCHEMA = {n: {"value": pl.Float64, "sample": pl.Int64}.get(n, pl.String) for n in SCORE_COLUMNS[:-1]}

SELECTION = Selection()
DATA = DataSource("tiny", None, "0123456789abcdef", {"culture": "Testland"}, True)


def fraction(text: str) -> float:
    """A number in [0, 1) that follows from the text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big") / 2**48


@dataclass(frozen=True)
class TinyTask:
    """Asks each item one question; half of the items share their question with another."""

    n: int = 8
    kinds: tuple[str, ...] = ("generate",)
    variants: tuple[str, ...] = ("full",)
    shared: bool = True
    judge_delay: float = 0.0
    name: str = "tiny/echo"
    suite: str = "tiny"
    data: DataSource = DATA
    selection: Selection = SELECTION
    options: Mapping[str, Any] = field(default_factory=lambda: {"rule": "hash"})
    headline: tuple[str, ...] = ("half",)
    groups: tuple[str, ...] = ("category",)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset(self.kinds)

    @property
    def metrics(self) -> dict[str, MetricInfo]:
        return {
            "half": MetricInfo("half", "Over a half", 0.0, 1.0, binary=True),
            "size": MetricInfo("size", "Size", 0.0, None),
        }

    def items(self) -> list[Item]:
        return [self._item(i, variant) for variant in self.variants for i in range(self.n)]

    def _item(self, i: int, variant: str) -> Item:
        group = "even" if i % 2 == 0 else "odd"
        # Items 2k and 2k+1 ask the same thing where questions are shared.
        question = f"{variant}: what of {i // 2 if self.shared else i}?"
        return Item(f"{i:03}", "tiny", "Testland", "xx", group, "t", variant, f"c{i // 2}", {"question": question})

    def requests(self, items: Sequence[Item]) -> Iterator[Request]:
        for item in items:
            for kind in self.kinds:
                ask = (Message("user", item.fields["question"]),)
                options = ("yes", "no", "opo") if kind == "score" else ()
                yield Request(item.id, item.variant, kind, ask, options, Params(max_new_tokens=16))

    judge = Task.judge

    def score(self, items: Sequence[Item], answers: Sequence[Answer]) -> Judged:
        time.sleep(self.judge_delay)
        by_item = {(item.id, item.variant): item for item in items}
        rows, texts = [], []
        for request, response in answers:
            item = by_item[request.item_id, request.variant]
            common = [
                item.id,
                item.variant,
                item.culture,
                item.language,
                item.category,
                item.topic,
                item.cluster,
                self.kinds.index(request.kind),
            ]
            if response.unanswered:
                rows += [[*common, metric, None, "failed"] for metric in ("half", "size")]
                continue
            text = response.text if response.text is not None else str([s.logprob_sum for s in response.logprobs])
            texts.append((item.id, item.variant, request.kind, text))
            value = fraction(text)
            rows.append([*common, "half", float(value > 0.5), "right" if value > 0.5 else "wrong"])
            rows.append([*common, "size", value, "scored"])
        names = ["item_id", "variant", "kind", "text"]
        return Judged(
            pl.DataFrame(rows, schema=SCHEMA, orient="row"),
            {"answers": pl.DataFrame(texts, schema=dict.fromkeys(names, pl.String), orient="row")},
        )

    def floors(self, items: Sequence[Item]) -> list[Floor]:
        return [Floor("half", variant, "chance", 0.5) for variant in self.variants]

    def item_table(self, items: Sequence[Item]) -> pl.DataFrame:
        return pl.DataFrame([{"item_id": i.id, "variant": i.variant, "question": i.fields["question"]} for i in items])


@dataclass
class TinyModel(Model):
    """Echoes and hashes. What it is asked goes to ``log``, a line for each key, as soon as it is asked."""

    id: str = "test/tiny"
    revision: str = "r1"
    atomic_batches: bool = False
    delay: float = 0.0
    log: str | None = None
    # Questions whose text contains this fail until the file ``cured`` exists.
    fails: str | None = None
    cured: str | None = None
    capabilities: frozenset[str] = frozenset({"score", "generate"})
    batch: int = 3
    # What it writes, one of these by the request's key; nothing here: a sentence about the question.
    texts: tuple[str, ...] = ()
    calls: list[int] = field(default_factory=list)

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"id": self.id, "revision": self.revision, "dtype": "float32", "backend": "tiny"}

    @property
    def description(self) -> dict[str, Any]:
        return {"what": "a rule", "cannot": {"score": "it keeps its thoughts to itself"}}

    def plan(self, requests: Sequence[Request]) -> list[list[int]]:
        order = sorted(range(len(requests)), key=lambda i: (fraction(requests[i].key), i))
        return [order[i : i + self.batch] for i in range(0, len(order), self.batch)]

    def score(self, batch: Iterable[Request]) -> Iterator[Response]:
        return self._all(list(batch))

    def generate(self, batch: Iterable[Request]) -> Iterator[Response]:
        return self._all(list(batch))

    def _all(self, batch: Sequence[Request]) -> Iterator[Response]:
        self.calls.append(len(batch))
        for request in batch:
            if self.log:
                with open(self.log, "a", encoding="utf-8") as log:
                    log.write(request.key + "\n")
            time.sleep(self.delay)
            yield self.answer(request, batch)

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        question = request.messages[-1].content
        if self.fails and self.fails in question and not (self.cured and Path(self.cured).exists()):
            return Response(request.key, error=f"cannot say: {question}")
        if request.kind == "score":
            scores = tuple(
                ContinuationScore(
                    -40.0 * fraction(question + c) - 1e-9, 3, len(c.encode()), len(c), "clean", None, (-0.1, -0.2)
                )
                for c in request.continuations
            )
            return Response(request.key, logprobs=scores, usage=Usage(5, 0))
        if self.texts:
            text = self.texts[int(fraction(request.key) * len(self.texts))]
            return Response(request.key, text=text, finish_reason="stop", usage=Usage(5, 7))
        # A local model's answer may depend on its batch, and so does this one's where batches are atomic.
        company = str(sorted(r.key for r in batch)) if self.atomic_batches else ""
        text = f"Ang sagot sa “{question}” ay {fraction(question + company):.17g}.\n"
        return Response(request.key, text=text, finish_reason="stop", usage=Usage(5, 7))

    def close(self) -> None:
        pass


def _kill_at(point: int) -> None:
    """Kill this very process when it renames its ``point``-th file into place, just before doing so."""
    real, seen = Path.replace, [0]

    def counting(self: Path, target: Path) -> Path:
        seen[0] += 1
        if seen[0] == point:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(self, target)

    Path.replace = counting  # type: ignore[method-assign]


def run_task(task: Task, model: Model, *, ceilings: Sequence[Floor] = (), **settings: Any) -> Path:
    """Run a task with the fields of RunSettings as keywords; return the run's folder."""
    return runner.run_task(task, model, RunSettings(**settings), ceilings=ceilings)


def main(settings: dict[str, Any]) -> None:

    task_names = {"n", "kinds", "variants", "shared", "judge_delay"}
    task: Any = replace(
        TinyTask(), **{k: tuple(v) if isinstance(v, list) else v for k, v in settings.items() if k in task_names}
    )
    model = TinyModel(**{k: v for k, v in settings.items() if k in TinyModel.__dataclass_fields__ and k != "n"})
    if "task" in settings:
        import kapwa

        task = kapwa.load_task(settings["task"], **settings["options"])
    if "kill_at" in settings:
        _kill_at(settings["kill_at"])
    told = []

    def tell(snapshot: Any) -> None:
        if not told:
            told.append(True)
            print("asking", flush=True)

    folders = {name: settings.get(name) for name in ("path", "cache")}
    print(run_task(task, model, out=settings["out"], progress=tell, **folders), flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
    main(json.loads(sys.argv[1]))
