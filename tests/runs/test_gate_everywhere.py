"""No word of a thought reaches a score, a judge, a word list, a form, a page or an export: in every task, every family.

Each reply holds a thought with a word of its own, before an answer with another: the first is looked for everywhere.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kapwa
from kapwa import registry
from kapwa.models.base import Model
from kapwa.models.thinking import FAMILIES
from kapwa.records import ContinuationScore, Request, Response
from kapwa.runs.finished_run import Run
from kapwa.suites.blend.judge import ask_verdicts

SECRET = "zzthoughtzz"
SAID = "Bibingka"
MARKS = [row for row in FAMILIES if row.kind == "mark" and '="' not in row.opening]
WHOLE = [
    *(f"{row.opening}{SECRET} no{row.closing}{{answer}}" for row in MARKS),
    *(f"{SECRET} no{row.closing}{{answer}}" for row in MARKS if row.bare),
    f"analysisThe {SECRET}.assistantfinal{{answer}}",
    f"Here is my thought process: {SECRET}. Here is my response: {{answer}}",
]
CUT = [f"{row.opening}{SECRET} no" for row in MARKS]
TASKS = sorted(name for suite in registry.available("suites") for name in registry.load("suites", suite).tasks)

# To compare texts by every metric takes most of a run.
CHEAP: dict[str, dict[str, Any]] = {"kalahi/open": {"metrics": ["chrf"]}}


class Thinker(Model):
    """Thinks before every answer, in each family's marks in turn; every fifth thought is cut off."""

    id, revision = "test/thinker", "1"

    def __init__(self, answer: str = SAID) -> None:
        self.answer = answer
        self.turn = -1
        self.asked: list[str] = []

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        return {"id": self.id}

    @property
    def capabilities(self) -> frozenset[Any]:
        return frozenset(("generate", "score", "n_samples"))

    def generate(self, batch: Iterable[Request]) -> Iterator[Response]:
        for request in batch:
            self.turn += 1
            self.asked.append(request.messages[-1].content)
            if self.turn % 5 == 4:
                yield Response(request.key, text=CUT[self.turn % len(CUT)], finish_reason="length")
            else:
                text = WHOLE[self.turn % len(WHOLE)].format(answer=self.answer)
                yield Response(request.key, text=text, finish_reason="stop")

    def score(self, batch: Iterable[Request]) -> Iterator[Response]:
        for request in batch:
            yield Response(request.key, logprobs=tuple(ContinuationScore(-1.0, 1, 1, 1) for _ in request.continuations))


def leaks(tables: Mapping[str, pl.DataFrame]) -> list[str]:
    """Where the thought's word stands in tables, but for their columns of thoughts."""
    return [
        f"{name}.{column}"
        for name, table in tables.items()
        for column in table.columns
        if column != "thought" and SECRET in json.dumps(table[column].to_list(), default=str)
    ]


@pytest.mark.parametrize("name", TASKS)
def test_no_task_judges_a_thought(name: str, tmp_path: Path) -> None:
    try:
        task = kapwa.load_task(name, limit=6, **CHEAP.get(name, {}))
    except kapwa.KapwaError as error:
        pytest.skip(f"no sample data: {error}")
    run = Run(kapwa.evaluate(task, Thinker(), path=tmp_path / "run", progress=False).path)
    assert leaks(run.tables) == []
    if "generate" not in task.needs:
        assert set(run.scores["state"]) == {"answered"}
        return
    assert set(run.scores["state"]) >= {"answered"}
    lost = run.scores.filter(pl.col("state") == "unfinished")
    assert lost["value"].is_null().all()
    assert set(lost["outcome"]) <= {"unfinished"}


def replies_of(path: Path, name: str) -> tuple[Path, Path]:
    """Recorded answers to a task, with thoughts before them and without."""
    items = kapwa.load_task(name, limit=6).items()
    rows = {"plain": [], "thinking": []}
    for n, item in enumerate(items):
        about = {"item_id": item.id, "variant": item.variant}
        rows["plain"].append({**about, "text": SAID})
        rows["thinking"].append({**about, "text": WHOLE[n % len(WHOLE)].format(answer=SAID)})
    for kind, lines in rows.items():
        pl.DataFrame(lines).write_ndjson(path / f"{kind}.jsonl")
    return path / "plain.jsonl", path / "thinking.jsonl"


@pytest.mark.parametrize("name", ["kalahi/open", "blend/saq", "blend/mcq", "longform/criteria"])
def test_recorded_thoughts_change_no_score(name: str, tmp_path: Path) -> None:
    try:
        plain, thinking = replies_of(tmp_path, name)
    except kapwa.KapwaError as error:
        pytest.skip(f"no sample data: {error}")
    task = kapwa.load_task(name, limit=6, **CHEAP.get(name, {}))
    one, other = (kapwa.score_responses(task, str(path)) for path in (plain, thinking))
    assert one.scores.equals(other.scores)
    assert leaks(other.tables) == []


def test_a_judges_thought_is_no_verdict(tmp_path: Path) -> None:
    from kapwa.runs.asking import StoredModel

    class Judge(Thinker):
        def generate(self, batch: Iterable[Request]) -> Iterator[Response]:
            for n, request in enumerate(batch):
                text = WHOLE[n % len(WHOLE)].replace(SECRET, '{"same": false}').replace("{answer}", '{"same": true}')
                yield Response(request.key, text=text, finish_reason="stop")

    judge = StoredModel(Judge(), tmp_path / "judge.sqlite")
    said = ask_verdicts(judge, [f"question {n}" for n in range(len(WHOLE))])
    assert (said.values, said.warning) == ([True] * len(WHOLE), None)
    judge.close()


def test_words_and_analyses_read_answers_alone(tmp_path: Path, cli: Any) -> None:
    rows = []
    for n, whole in enumerate(WHOLE * 2):
        about = {"topic": "food", "concept": "feast", "nationality": ("Kenyan", "Thai")[n % 2], "sample": n // 2}
        rows.append({**about, "text": whole.format(answer="The feast has rice and fish and songs.")})
    pl.DataFrame(rows).write_csv(tmp_path / "texts.csv")
    done = cli("words", "texts.csv", "--json")
    assert SECRET not in done.stdout
    assert done.returncode == 0, done.stderr


def test_tables_of_runs_of_before_are_read_through_the_gate(tmp_path: Path) -> None:
    task = kapwa.load_task("kalahi/open", limit=6, metrics=["chrf"])
    folder = Path(kapwa.evaluate(task, Thinker(), path=tmp_path / "run", progress=False).path)
    raw = {"<think>zzthoughtzz</think>Bibingka": "Bibingka", "<think>zzthoughtzz": None, "Bibingka": "Bibingka"}
    for name, column in (("answers", "text"), ("cases", "got")):
        table = pl.read_parquet(folder / f"{name}.parquet")
        cells = (list(raw) * table.height)[: table.height]
        drop = [c for c in ("state", "thought") if c in table.columns]
        table.drop(drop).with_columns(pl.Series(column, cells)).write_parquet(folder / f"{name}.parquet")
    scores = pl.read_parquet(folder / "scores.parquet").drop("state")
    scores.write_parquet(folder / "scores.parquet")
    estimates = pl.read_parquet(folder / "estimates.parquet").drop("filtered", "unfinished", "not asked")
    estimates.write_parquet(folder / "estimates.parquet")
    run = Run(folder)
    assert run.answers["text"].to_list()[:3] == list(raw.values())
    assert run.table("cases")["got"].to_list()[:3] == list(raw.values())
    assert set(run.scores["state"]) <= {"answered", "empty", "failed", "unfinished"}
    assert run.estimates["not asked"].sum() == 0


def test_forms_for_people_show_the_answer(tmp_path: Path) -> None:
    from kapwa.runs.finished_answers import answers_of, items_of

    task = kapwa.load_task("kalahi/open", limit=6, metrics=["chrf"])
    run = Run(kapwa.evaluate(task, Thinker(), path=tmp_path / "run", progress=False).path)
    texts: Sequence[str | None] = answers_of([run], items_of([run]))["text"].to_list()
    assert set(texts) == {SAID, None}
