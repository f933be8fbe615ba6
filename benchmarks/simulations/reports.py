"""Whole reports over planted truths, read by a checker that knows these: each kind of sentence against the truth.

A report is what a page and the terminal say of one to four systems in one to eight cultures, with few or many
questions, equal or unlike systems, and answers missing or not. :func:`read` takes its sentences one by one and says of
each claim whether it is true. Claims with an error rate may be false as often as they say; numbers, bounds and words
may not.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import answers, places

import kapwa
from kapwa.report import wording
from kapwa.report.board.ranks import ranked_task
from kapwa.report.board.table import board_table
from kapwa.report.board.verdicts import verdict_sentence
from kapwa.report.page.task import cautions, task_sentences
from kapwa.report.sentences.missing import first_sentences
from kapwa.report.sentences.notes import warnings
from kapwa.report.tables.differences import comparison_table
from kapwa.report.tables.regression import judge
from kapwa.report.terminal.runs import render_comparison, render_run
from kapwa.report.view.comparisons import run_pairs
from kapwa.report.view.tasks import TaskView, arrange
from kapwa.runs.estimates import estimates_of, metrics_of_run
from kapwa.runs.schema import FLOOR_SCHEMA
from kapwa.stats.schemas import COMPARISON_SCHEMA
from kapwa.suites.base import MetricInfo

SUBJECT = "reports over planted truths"
MARGIN = 0.05
CHANCE = 0.25
SAMPLES = (1, 3)
# What no sentence may say, whatever is true.
NEVER = {
    "all of two": r"\ball 2 \w+",
    "from a number to itself": r"(?:at most|deviation) ([\d.]+)(?: points)? to \1\b",
    "them alone": r"in \w+ of them alone",
    "a share of one": r"% of 1 (?:item|question|situation)\b",
    "a loss beyond the range": r"above 100(?:\.0+)? points is excluded",
    "as few as one": r"as few as 1 ",
    "the whole range": r"\(−1(?:\.0+)? to \+?1(?:\.0+)?\)|−100(?:\.0+)? to \+?100\b|deviation 0\.0 to 100\.0\b",
    "one of a plural": r"(?<![\d.,])1 (?:cultures|items|questions|answers|systems|points|pairs)\b",
    "a difference without its unit": r"(?:difference|new − old) [+−]\d[\d.]*(?! ?points?\b)(?![\d.])",
    "not a number": r"\bnan\b|\bNone\b|\binf\b",
    "nothing in brackets": r"\(\s*[,;)]|\(\)",
    "doubled marks": r"\.\.(?!\.)|,,|;;| ,",
}


@dataclass
class PlantedRun:
    """A run in memory with the reading side of :class:`kapwa.runs.finished_run.Run`."""

    path: Path
    manifest: dict[str, Any]
    scores: pl.DataFrame
    estimates: pl.DataFrame
    floors: pl.DataFrame
    label: str
    comparisons: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=dict(COMPARISON_SCHEMA)))
    items: pl.DataFrame = field(default_factory=pl.DataFrame)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    complete: bool = True
    failed: int = 0

    @property
    def metrics(self) -> dict[str, MetricInfo]:
        """How its metrics read."""
        return metrics_of_run(self.manifest)

    def table(self, name: str) -> pl.DataFrame:
        """None has a table of its own."""
        return self.tables[name]


class Truth(NamedTuple):
    """What is planted: the true share of each system by culture, and what each would score with no answer missing."""

    shares: Mapping[str, np.ndarray]
    whole: Mapping[str, float]

    def mean(self, system: str) -> float:
        """The true mean over cultures."""
        return float(self.shares[system].mean())


class Report(NamedTuple):
    """Some runs, what is true of them, and all that is said."""

    truth: Truth
    runs: Sequence[PlantedRun]
    view: TaskView
    texts: Sequence[str]


def planted_run(name: str, scores: pl.DataFrame, *, binary: bool = True) -> PlantedRun:
    """A run of a task whose suite nobody has installed; its metric is right or wrong, or a measure from 0 to 1."""
    info = {"name": "right", "title": "Right: answers that are right", "binary": binary, "low": 0.0, "high": 1.0}
    defaults = {"reference": False, "source": "", "unit": "", "phrase": "", "margin": "", "judged_by": ""}
    manifest: dict[str, Any] = {
        **{"task": "planted/choice", "suite": "planted", "kapwa": "0", "seed": 0, "format": 1},
        **{"signature": f"planted|model:{name}", "signatures": {}, "options": {"max_new_tokens": 128}},
        "selection": {"variants": ["plain"], "items": {"plain": scores["item_id"].n_unique()}},
        **{"headline": ["right"], "groups": [], "versions": {}, "machine": {}, "failures": [], "tables": []},
        "metrics": {"right": {**defaults, **info, "higher_is_better": True}},
        "data": {"name": "planted", "digest": "0" * 16, "card": {}, "illustrative": False},
        "model": {"id": name, "revision": "", "fingerprint": {}},
        "counts": {
            "items": scores.height,
            "requests": scores.height,
            "unique": scores.height,
            "answered": 0,
            "failed": 0,
        },
        "label": name,
    }
    chance = {"metric": "right", "variant": "plain", "name": "chance", "value": CHANCE, "kind": "floor", "note": ""}
    floors = pl.DataFrame([chance], schema=dict(FLOOR_SCHEMA))
    return PlantedRun(Path("runs") / name, manifest, scores, estimates_of(manifest, scores, floors), floors, name)


def score_rows(
    random: np.random.Generator, values: np.ndarray, where: pl.DataFrame, lost: float, samples: int
) -> pl.DataFrame:
    """Rows of scores; ``lost``: the share of answers that is missing where they are wrong. Samples are copies."""
    tables = []
    for sample in range(samples):
        gone = (values == 0) & (random.random(len(values)) < lost)
        value = pl.Series(values).scatter(np.flatnonzero(gone), None) if gone.any() else pl.Series(values)
        right = pl.Series(np.where(values == 1, "right", "wrong"))
        outcome = pl.select(
            pl.when(pl.Series(gone)).then(pl.lit(str(random.choice(["failed", "unfinished"])))).otherwise(right)
        )
        tables.append(
            where.with_columns(
                sample=pl.lit(sample, pl.Int64),
                metric=pl.lit("right"),
                value=value,
                outcome=outcome.to_series(),
                state=pl.when(pl.Series(gone)).then(outcome.to_series()).otherwise(pl.lit("answered")),
            )
        )
    return pl.concat(tables)


def planted(random: np.random.Generator) -> Report:
    """Draw what is true, simulate the runs, and write what is said of them."""
    cultures, each = int(random.choice([1, 2, 3, 8])), int(random.choice([1, 2, 4, 25, 60, 150]))
    systems, samples = int(random.choice([1, 2, 3, 4])), int(random.choice(SAMPLES))
    culture, question = places(random, (cultures, each, str(random.choice(["shared", "own"]))))
    level = np.full(cultures, random.choice([CHANCE, 0.5, 0.8, 0.97]))
    level = level + (random.choice([0.0, 0.1]) * np.linspace(-1, 1, cultures) if cultures > 1 else 0.0)
    gaps = random.choice([0.0, MARGIN, 0.15], size=systems) * (np.arange(systems) > 0)
    shares = np.clip(level - gaps[:, None], 0.02, 0.98)
    values = answers(random, culture, question, shares)
    lost = random.choice([0.0, 0.0, 0.02, 0.2, 0.6], size=systems)
    where = pl.DataFrame(
        {"culture": [f"Land {k}" for k in culture], "cluster": [f"q{k}" for k in question]}
    ).with_columns(
        item_id=pl.col("culture") + "-" + pl.col("cluster"),
        variant=pl.lit("plain"),
        language=pl.lit("en"),
        category=pl.lit(""),
        topic=pl.lit(""),
    )
    names = [f"s{k}" for k in range(systems)]
    runs = [
        planted_run(name, score_rows(random, row, where, float(gone), samples))
        for name, row, gone in zip(names, values, lost, strict=True)
    ]
    whole = {
        name: float(np.mean([row[culture == k].mean() for k in range(cultures)]))
        for name, row in zip(names, values, strict=True)
    }
    truth = Truth(dict(zip(names, shares, strict=True)), whole)
    view = arrange(runs)[0]  # type: ignore[arg-type]
    return Report(truth, runs, view, list(texts_of(view, runs)))


def texts_of(view: TaskView, runs: Sequence[PlantedRun]) -> Iterator[str]:
    """All that a page and the terminal say of the runs."""
    yield from first_sentences([view])
    yield from task_sentences(view)
    yield from cautions(view)
    yield from warnings(view)
    task = ranked_task(view)
    table = board_table([task])
    yield from table.head
    yield from (f"{cell.text} {cell.small}" for row in table.rows for cell in row)
    yield shown(render_run(runs[0]))  # type: ignore[arg-type]
    if len(runs) > 1:
        single = run_pairs(view, MARGIN)
        yield verdict_sentence(view, task.pairs, single)
        told = comparison_table(view, single, "pairs", "Pairs") if single.height else None
        yield from (f"{cell.text} {cell.small}" for row in (told.rows if told else ()) for cell in row)
        old, new = runs[:2]
        compared = kapwa.compare(old, new, equal_within=MARGIN)  # type: ignore[arg-type]
        yield shown(render_comparison(compared, old.metrics))
        if compared["n"].max():
            judgement = judge(old, new, compared, MARGIN)  # type: ignore[arg-type]
            yield from (row["sentence"] for row in judgement.rows)
            yield judgement.incomplete


def shown(what: Any) -> str:
    """What a terminal shows, in one line."""
    from rich.console import Console

    file = io.StringIO()
    Console(file=file, width=10_000, no_color=True).print(what)
    return re.sub(r"\s+", " ", file.getvalue())


# --- the reader --------------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """One claim of a report: its kind, whether it is true, and the sentence."""

    kind: str
    holds: bool
    text: str


def read(report: Report) -> Iterator[Claim]:
    """Every claim of a report, held against what is planted."""
    for text in report.texts:
        yield from _wording(text)
        yield from _claims(report.truth, text)
    yield from _ranks(report)
    yield from _bounds(report)


def _wording(text: str) -> Iterator[Claim]:
    for kind, pattern in NEVER.items():
        found = re.search(pattern, text)
        yield Claim(f"wording: {kind}", found is None, text)


def _claims(truth: Truth, text: str) -> Iterator[Claim]:
    """Who is better, equal, worse than before, better than guessing; the interval of each mean."""
    for better, worse in re.findall(r"(s\d) is better than (s\d) by", text):
        yield Claim("better", truth.mean(better) > truth.mean(worse), text)
    for better in re.findall(r"(s\d) is better than (?:each of the \d+ others|the other)", text):
        yield Claim("better", truth.mean(better) == max(map(truth.mean, truth.shares)), text)
    for first, sense, second in re.findall(
        r"(s\d) scored [\d.]+ points? (higher|lower) than (s\d)[^:]*: more than noise", text
    ):
        gap = truth.mean(first) - truth.mean(second)
        yield Claim("better", gap > 0 if sense == "higher" else gap < 0, text)
    gap = truth.mean("s1") - truth.mean("s0") if len(truth.shares) > 1 else 0.0
    if re.match(r"No regression: (?:on average|in Land 0)", text):
        yield Claim("no regression", gap >= -MARGIN + 1e-9, text)
    if re.match(r"Regression: (?:on average|in Land 0 a)", text):
        yield Claim("regression", gap < -MARGIN - 1e-9, text)
    if "The two are equal within" in text:
        yield Claim("equal", abs(gap) < MARGIN - 1e-9, text)
    lead = re.match(r"(s\d) came out right in ([\d.]+)% .*?95% interval ([\d.]+)–([\d.]+)%", text)
    if lead and "missing" not in text:
        value = 100 * truth.mean(lead[1])
        yield Claim("interval", float(lead[3]) - 0.5 <= value <= float(lead[4]) + 0.5, text)
    guessing = re.match(r"(s\d) .*: it is better than guessing", text)
    if guessing:
        yield Claim("better than guessing", truth.mean(guessing[1]) > CHANCE + 1e-9, text)
    if re.search(r"(?<!Whether )[Cc]ultures differ by more than noise \(", text):
        system = re.match(r"(s\d)", text)
        if system:
            yield Claim("cultures differ", bool(np.ptp(truth.shares[system[1]]) > 1e-9), text)


def _ranks(report: Report) -> Iterator[Claim]:
    """Whether the board sets a system above one that is as good or better."""
    if len(report.runs) < 2:
        return
    frame = board_table([ranked_task(report.view)]).frame.filter(kind="system").drop_nulls("rank_low")
    rows = frame.to_dicts()
    wrong = any(
        a["rank_high"] < b["rank_low"] and report.truth.mean(a["system"]) <= report.truth.mean(b["system"])
        for a in rows
        for b in rows
    )
    yield Claim("ranks", not wrong, str(rows))
    for row in rows:
        share = row["missing"] / row["asked"]
        yield Claim("no rank where much is missing", share <= 0.2, str(row))


def _bounds(report: Report) -> Iterator[Claim]:
    """What would have been scored lies within the bounds, and the headline in the data is that of the page."""
    for run in report.runs:
        over = pl.col("culture").is_null() if report.view.several_cultures else pl.lit(value=True)
        row = run.estimates.filter(over).row(0, named=True)
        if row["least"] is not None:
            holds = row["least"] - 1e-9 <= report.truth.whole[run.label] <= row["most"] + 1e-9
            yield Claim("bounds", holds, str(row))
        named = next((text for text in report.texts if text.startswith(f"{run.label} came out right in ")), None)
        if named and report.view.several_cultures:
            yield Claim("digits of the headline", wording.amount(row["value"], wording.SHARE) in named, named)


# How often each kind may be false, in percent; what is not named here never.
RATES = {"better": 5, "no regression": 2.5, "regression": 2.5, "equal": 5, "interval": 7, "better than guessing": 5}
RATES |= {"cultures differ": 5, "ranks": 5}


def counted(reports: Iterable[Report]) -> tuple[Counter[str], Counter[str], list[Claim]]:
    """In how many reports each kind is said, in how many it is false, and false claims that may never be."""
    said, false, never = Counter[str](), Counter[str](), list[Claim]()
    for report in reports:
        kinds: dict[str, bool] = {}
        for claim in read(report):
            kinds[claim.kind] = kinds.get(claim.kind, True) and claim.holds
            never += [claim] if not claim.holds and claim.kind not in RATES else []
        said.update(kinds.keys())
        false.update(kind for kind, holds in kinds.items() if not holds)
    return said, false, never


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Of every kind of sentence, in how many reports any is false; a fifth as many reports as asked for."""
    reports = max(repeats // 5, 1)
    _, false, _ = counted(planted(random) for _ in range(reports))
    for kind in (*RATES, *(f"wording: {name}" for name in NEVER), "bounds", "no rank where much is missing"):
        percent = 100 * false[kind] / reports
        yield Cell(SUBJECT, f"a false “{kind}”", "all designs", percent, reports, 0, RATES.get(kind, 0))
