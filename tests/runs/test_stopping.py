"""Runs that end early: in good order at a limit, with an error where every request fails alike; and what runs cost."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from test_kill import asked
from tiny_suite import TinyModel, TinyTask, run_task

from kapwa.errors import ModelError, UsageError
from kapwa.records import Answer, Message, Request, Response, Usage
from kapwa.runs.costs import Prices, Pricing, Spent, as_record, cost_line, price_of, read_prices
from kapwa.runs.finished_run import Run
from kapwa.runs.sameness import SameAnswers
from kapwa.runs.stopping import Limits, Stopping, in_random_order

TASK = TinyTask(n=400, shared=False)
EACH = 12  # tokens that TinyModel reads and writes for an answer


def run(out: Path, limits: Limits, model: TinyModel | None = None, task: TinyTask = TASK) -> Run:
    return Run(run_task(task, model or TinyModel(), out=out, progress=False, limits=limits))


@pytest.mark.parametrize("atomic", [False, True])
def test_a_limit_of_tokens_ends_a_run_in_good_order_and_a_larger_one_goes_on(tmp_path: Path, atomic: bool) -> None:
    model = TinyModel(atomic_batches=atomic, delay=0.002, log=str(tmp_path / "log"))
    part = run(tmp_path / "runs", Limits(max_tokens=EACH * 60), model)
    counts = part.manifest["counts"]
    assert (part.complete, part.stopped, part.failed) == (False, True, 0)
    assert 60 <= counts["answered"] < 400
    assert counts["not_asked"] == 400 - counts["answered"]
    assert part.scores.filter(metric="half", outcome="not asked").height == counts["not_asked"]
    assert part.scores.filter(metric="half").filter(pl.col("value").is_not_null()).height == counts["answered"]
    assert "--max-tokens" in part.manifest["ended"]
    assert part.manifest["order"] == "random"
    assert "of a random part of the items" in part.manifest["warnings"][0]
    whole = run(tmp_path / "runs", Limits(), model)
    assert whole.path == part.path
    assert whole.complete
    if not atomic:  # whose batches are planned anew
        assert len(asked(tmp_path / "log")) == len(set(asked(tmp_path / "log"))) == 400
    plain = Run(run_task(TASK, replace(model, log=None, delay=0), out=tmp_path / "plain", progress=False))
    assert whole.scores.equals(plain.scores)


def test_a_limit_holds_also_where_answers_come_faster_than_they_are_committed(tmp_path: Path) -> None:
    part = run(tmp_path / "tokens", Limits(max_tokens=EACH * 60))
    assert part.stopped
    assert part.manifest["counts"]["answered"] == 60
    dear = Limits(max_cost=19.0 * 30, prices=Prices(price_in=1e6, price_out=2e6))
    assert run(tmp_path / "cost", dear).manifest["counts"]["answered"] == 30


def test_a_limit_of_cost_counts_what_earlier_processes_spent(tmp_path: Path) -> None:
    prices = Prices(price_in=1e6, price_out=2e6)  # 5 + 14 for an answer
    model = TinyModel(delay=0.005, log=str(tmp_path / "log"))
    first = run(tmp_path / "runs", Limits(max_cost=19.0 * 30, prices=prices), model)
    cost = first.manifest["cost"]
    assert cost["cost"] == 19 * first.manifest["counts"]["answered"] >= 19 * 30
    assert cost["cost_per_1000_items"] == pytest.approx(19_000)
    n = len(asked(tmp_path / "log"))
    again = run(tmp_path / "runs", Limits(max_cost=19.0 * 30, prices=prices), model)
    assert len(asked(tmp_path / "log")) == n  # there is nothing left to spend
    assert again.stopped
    assert again.manifest["cost"]["cost"] == cost["cost"]


def test_which_items_are_asked_before_a_limit_is_drawn(tmp_path: Path) -> None:
    part = run(tmp_path, Limits(max_tokens=EACH * 100), TinyModel(delay=0.002))
    answered = part.scores.filter(metric="half").with_row_index().filter(pl.col("value").is_not_null())["index"]
    assert answered.max() > 300  # in the order of the data, none of these would have been asked
    assert 120 < answered.mean() < 280  # type: ignore[operator]


def test_a_run_begun_in_the_order_of_the_data_says_so(tmp_path: Path) -> None:
    model = TinyModel(fails="of 3", cured=str(tmp_path / "cured"))
    run(tmp_path / "runs", Limits(), model)  # some failed: asked in the order of the data, and not complete
    (tmp_path / "cured").touch()
    part = run(tmp_path / "runs", Limits(max_tokens=1), model)
    # Everything has an answer or an error, so nothing was left unasked.
    assert not part.stopped
    assert "order" not in part.manifest


def test_requests_of_one_item_stay_together() -> None:
    requests = [
        Request(f"i{i}", "v", "generate", (), sample=sample, key=f"{i}{sample}") for i in range(9) for sample in (0, 1)
    ]
    drawn = in_random_order(requests, 3)
    assert drawn != requests
    assert sorted(drawn, key=lambda r: r.key) == sorted(requests, key=lambda r: r.key)
    assert [r.sample for r in drawn] == [0, 1] * 9
    assert drawn == in_random_order(requests, 3) != in_random_order(requests, 4)


def test_a_run_whose_first_requests_all_fail_alike_stops(tmp_path: Path) -> None:
    model = TinyModel(fails="what of", log=str(tmp_path / "log"), delay=0.001, cured=str(tmp_path / "cured"))
    with pytest.raises(ModelError, match="first 50 requests all failed: cannot say") as raised:
        run(tmp_path / "runs", Limits(), model)
    assert "max_failed=0" in str(raised.value)
    assert "Run again with the same command" in str(raised.value)
    assert len(asked(tmp_path / "log")) < 400
    assert run(tmp_path / "all", Limits(max_failed=0), model).failed == 400
    (tmp_path / "cured").touch()
    assert run(tmp_path / "runs", Limits(), model).complete


def test_failures_of_several_kinds_or_after_an_answer_do_not_stop_a_run() -> None:
    errors = [Response(f"{i}", error=f"HTTP 500: at {i}") for i in range(100)]
    Stopping(Limits(max_failed=0)).seen(errors)
    Stopping().seen([Response("a", text="x"), *errors])
    Stopping().seen([errors[0], Response("b", error="timeout"), *errors])
    stopping = Stopping(Limits(max_failed=5))
    with pytest.raises(ModelError, match="first 5 requests"):
        stopping.seen(errors)
    stopping.seen(errors)  # said once


def same(texts: list[str | None]) -> str | None:
    ask = (Message("user", "?"),)
    replies = [Response("k", text=text, state="answered") for text in texts]
    answers = [Answer(Request(f"i{i}", "v", "generate", ask), reply) for i, reply in enumerate(replies)]
    watched = SameAnswers(answers)
    assert list(watched) == answers
    list(watched)  # a second walk changes nothing
    return watched.warning()


def test_one_answer_to_most_questions_is_warned_of() -> None:
    others = [f"answer {i}" for i in range(40)]
    assert "41 of 81 different questions got the same answer, “Maria”" in (same([*["Maria"] * 41, *others]) or "")
    assert "41 of 81" in (same([*others, *[" Maria\n"] * 41]) or "")
    assert same([*["Maria"] * 40, *others]) is None
    assert same(["Maria"] * 19) is None
    assert same([None] * 90) is None
    assert same([""] * 90) is None  # counted as empty answers
    # A letter is right for a quarter of questions, and a model that leans to it says it more often.
    assert same([*["B"] * 29, *["A"] * 11]) is None
    assert same([*["B"] * 31, *["A"] * 9]) is not None


def test_samples_of_one_question_are_no_different_questions() -> None:
    ask = (Message("user", "?"),)
    maria = Response("k", text="Maria", state="answered")
    answers = [Answer(Request("one", "v", "generate", ask, sample=i), maria) for i in range(90)]
    watched = SameAnswers(answers)
    list(watched)
    assert watched.warning() is None


def test_the_warning_stands_before_the_numbers(tmp_path: Path) -> None:
    made = run(tmp_path, Limits(), TinyModel(texts=("Maria",)), TinyTask(n=60, shared=False))
    assert "60 of 60 different questions got the same answer" in made.manifest["warnings"][0]


def test_a_run_says_what_it_cost(tmp_path: Path) -> None:
    made = run(tmp_path, Limits(prices=Prices(2.0, 8.0)), task=TinyTask(n=10, shared=False))
    cost = made.manifest["cost"]
    assert {name: cost[name] for name in ("answers", "read", "written", "thought", "cached", "requests")} == {
        "answers": 10,
        "read": 50,
        "written": 70,
        "thought": 0,
        "cached": 0,
        "requests": 10,
    }
    assert cost["cost"] == pytest.approx((50 * 2 + 70 * 8) / 1e6)
    assert cost["cost_per_1000_items"] == pytest.approx(100 * cost["cost"])
    assert cost["seconds"] >= 0
    line = "50 input tokens, 70 output tokens; 10 requests. Cost: 0.00066, 0.066 for 1,000 items."
    assert cost_line(cost).startswith(line)


def test_what_comes_from_a_cache_costs_nothing(tmp_path: Path) -> None:
    task = TinyTask(n=10, shared=False)
    for name in ("a", "b"):
        made = Run(run_task(task, TinyModel(), out=tmp_path / name, progress=False, cache=tmp_path / "cache"))
    assert made.manifest["cost"]["read"] == made.manifest["cost"]["written"] == 0


def test_thoughts_and_cached_tokens_are_counted_and_priced() -> None:
    spent = Spent().plus(
        [
            Response("a", text="x", usage=Usage(100, 50, 40, 80)),
            Response("b", text="x", usage=Usage(10, 5)),
            Response("c", error="x"),
        ]
    )
    assert spent == Spent(answers=2, read=110, written=55, thought=40, cached=80)
    assert spent.plus([Response("d", text="x")]) == replace(spent, answers=3, uncounted=1)
    assert Prices(1e6, 2e6).cost(spent) == 110 + 110
    assert Prices(1e6, 2e6, 1e5).cost(spent) == 30 + 8 + 110


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.csv", "model,price_in,price_out,price_cached\nopenai:gpt-x,0.5,2,0.05\nqwen,0,0,0\n"),
        ("p.jsonl", '{"model": "openai:gpt-x", "price_in": "0.5", "price_out": "2", "price_cached": "0.05"}\n'
         '{"model": "qwen", "price_in": 0, "price_out": 0, "price_cached": 0}\n'),
    ],
)  # fmt: skip
def test_prices_of_models_are_read_from_a_table(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    prices = read_prices(tmp_path / name)
    assert price_of("openai:gpt-x", prices) == Prices(0.5, 2.0, 0.05)
    assert price_of("openai:qwen", prices) == Prices(0.0, 0.0, 0.0)
    assert price_of("openai:other", prices) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model,price_in,price_out\nx,cheap,2\n", "row 2"),
        ("model,price_in\nx,1\n", "price_out"),
        ("model,price_in,price_out\nx,-1,2\n", "row 2, column 'price_in'"),
    ],
)
def test_a_bad_table_of_prices_is_refused(tmp_path: Path, text: str, says: str) -> None:
    from kapwa.errors import KapwaError

    (tmp_path / "p.csv").write_text(text, encoding="utf-8")
    with pytest.raises(KapwaError, match=says):
        read_prices(tmp_path / "p.csv")


def test_of_some_answers_tokens_are_counted_and_no_cost_is_named() -> None:
    record = as_record(Spent(answers=3, read=10, written=20, uncounted=1), Prices(1.0, 2.0), {"requests": 3}, 3)
    assert record["cost"] is None
    line = cost_line(record)
    assert line.startswith(
        "10 input tokens, 20 output tokens, without those of 1 of 3 answers, which the server did not"
    )
    assert line.endswith("3 requests. Cost: unknown, because tokens were not counted.")


def test_a_limit_is_refused_where_tokens_are_not_counted_but_not_of_answers_from_a_file() -> None:
    uncounted = [Response("a", text="x")]
    with pytest.raises(ModelError, match="'max_tokens' cannot be kept"):
        Stopping(Limits(max_tokens=9), must_count=True).seen(uncounted)
    Stopping(Limits(max_tokens=9)).seen(uncounted)


@pytest.mark.parametrize(("given", "missing"), [("price_in", "price_out"), ("price_out", "price_in")])
def test_one_price_without_the_other_is_refused(given: str, missing: str) -> None:
    """The tokens without a price would count as free, and a limit of cost would not hold."""
    with pytest.raises(UsageError, match=f"'{given}' needs '{missing}' too"):
        Pricing(**{given: 1.0})
    assert Pricing(**{given: 1.0, missing: 0}).of("x") is not None


def test_a_limit_of_cost_without_prices_is_refused() -> None:
    with pytest.raises(UsageError, match="needs prices"):
        Limits(max_cost=1.0)
    assert json.dumps(Limits().max_failed) == "50"
