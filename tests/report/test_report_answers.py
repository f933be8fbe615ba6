"""Single questions in the page: the browser of every answer, also in a real browser."""

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browsing import BROWSER, WATCH, laid_out, probed, without_policy
from pages import Page, assert_closed, render_page, unpacked
from report_fixtures import MadeRun, make_run, view_of, wide_run
from test_report_page import CANARY, canary_run

from kapwa.report.page.answers import CHOSEN_BY, answer_table, browser
from kapwa.report.page.runs import build_report
from kapwa.report.view.tasks import TaskView

SCRIPTS = ("مصر", "대한민국", "ኢትዮጵያ", "অসম", "Filipino")
PROBE = Path(__file__).with_name("probe_answers.html").read_text(encoding="utf-8")
real = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (apt-get install chromium)")


def answering(run: MadeRun, texts: int = 1) -> MadeRun:
    """The run with a table of answers: ``texts`` draws of every item."""
    items = run.scores.select("item_id", "variant", "culture").unique(maintain_order=True).rows()
    rows = [(*item, k, f"answer {k} to {item[0]}") for item in items for k in range(texts)]
    names = ["item_id", "variant", "culture", "sample", "text"]
    run.tables["answers"] = pl.DataFrame(rows, schema=names, orient="row")
    run.scores = pl.concat([run.scores.with_columns(pl.lit(k, pl.Int64).alias("sample")) for k in range(texts)])
    return run


def told_of(view: TaskView, most: int | None = 1000, room: int = 10**9) -> tuple[dict[str, Any], str]:
    found = browser(view, answer_table(view), most, room)
    return unpacked(found.data), found.size_words


def plain_rows(told: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Model, id, what the question is chosen by, outcome and text of every answer."""
    outcomes = list(told["outcomes"])
    return sorted(
        (
            told["models"][a[0]],
            row[0],
            *(told[name][row[1 + k]] for k, name in enumerate(CHOSEN_BY)),
            outcomes[a[1]],
            a[3],
        )
        for row in told["questions"]
        for a in row[-1]
    )


def test_the_browser_holds_every_answer_of_every_model_right_ones_too() -> None:
    runs = [make_run("a", gone={"unparsed": 2}), make_run("b", gone={"failed": 3})]
    told, said = told_of(view_of(*runs))
    wanted = []
    for name, run in zip("ab", runs, strict=True):
        texts = {row[:2]: row[-1] for row in run.table("cases").select("item_id", "variant", "got").rows()}
        for row in run.scores.filter(pl.col("metric") == "mc1").iter_rows(named=True):
            place = (row["item_id"], *(row[one] for one in CHOSEN_BY))
            wanted.append((name, *place, row["outcome"], texts.get((row["item_id"], row["variant"]), "")))
    assert plain_rows(told) == sorted(wanted)
    assert {row[-2] for row in plain_rows(told)} == {"right", "wrong", "unparsed", "failed"}
    assert said == "All 96 prompts with every answer."
    unanswered = next(row for row in told["questions"] if all(told["outcomes"] and a[1] == 7 for a in row[-1][1:]))
    assert unanswered[6], "what was asked stands there without an answer too"


def test_every_draw_of_an_answer_is_there() -> None:
    told, _ = told_of(view_of(answering(make_run(cultures=("Filipino",), variants=("full",)), texts=3)))
    assert {tuple(a[3] for a in row[-1]) for row in told["questions"]} == {
        tuple(f"answer {k} to {row[0]}" for k in range(3)) for row in told["questions"]
    }


def test_another_tools_log_is_browsed_by_its_items_and_answers() -> None:
    run = answering(make_run(cultures=("Filipino",), variants=("full",)))
    del run.tables["cases"]
    run.items = run.items.select("item_id", "variant", "culture", "prompt", pl.col("best").alias("target"))
    told, _ = told_of(view_of(run))
    rows = run.items.select("item_id", "prompt", "target").rows()
    assert sorted((row[0], row[6], row[8]) for row in told["questions"]) == sorted(rows)
    run.tables.clear()
    assert browser(view_of(run), answer_table(view_of(run))) is None, "there are no answers to show"


def test_of_many_questions_those_without_a_verdict_and_the_same_others_are_shown() -> None:
    few = ("Spain", "Iran")
    one, other = (wide_run(name, cultures=few, variants=("en/inst-4",), per_culture=120) for name in ("a", "b"))
    lost = one.scores.filter((pl.col("metric") == "sem_b") & pl.col("outcome").is_in(["unparsed", "refused", "empty"]))
    ids = set(lost["item_id"])
    told, said = told_of(view_of(one), most=60)
    shown = {row[0] for row in told["questions"]}
    assert 0 < len(ids) < 60
    assert ids < shown
    assert said == (
        f"60 of 240 questions are in this page: all {len(ids)} with an answer that could not be judged, and "
        "a fixed sample of the others."
    )
    assert told_of(view_of(one), most=60)[0] == told
    # Another model's page holds the same questions, but for those that were lost.
    kept = {row[0] for row in told_of(view_of(other), most=60)[0]["questions"]}
    assert len(shown & kept) > 30
    fewest, said = told_of(view_of(one), most=3)
    assert len(fewest["questions"]) == 3
    assert said.endswith(
        f": 2 of the {len(ids)} with an answer that could not be judged, and a fixed sample of the others."
    )
    assert len({row[0] for row in fewest["questions"]} & ids) == 2
    assert len(told_of(view_of(one), most=None)[0]["questions"]) == 240
    assert browser(view_of(one), answer_table(view_of(one)), 0) is None


def test_the_page_stays_small_unless_everything_is_asked_for() -> None:
    run = answering(make_run(cultures=("Filipino",), variants=("full",), per_culture=200))
    noise = [" ".join(f"{hash((k, n)):x}" for n in range(300)) for k in range(200)]
    run.tables["answers"] = run.tables["answers"].with_columns(pl.Series("text", noise))
    view = view_of(run)
    bounded = browser(view, answer_table(view), 1000, 200_000)
    assert 100_000 < len(bounded.data) <= 200_000
    assert re.match(r"\d+ of 200 prompts are in this page: a fixed sample\.", bounded.size_words)
    whole = browser(view, answer_table(view), None, 200_000)
    assert len(unpacked(whole.data)["questions"]) == 200


def test_the_page_carries_hostile_texts_packed_and_admits_its_own_script_alone() -> None:
    html = render_page([canary_run(answering(make_run()))])
    page = Page(html)
    data, code = page.scripts
    assert CANARY in json.dumps(unpacked(data), ensure_ascii=False).replace('\\"', '"')
    assert "document.title" not in data + code
    assert not page.all("b")
    assert_closed(html, code)
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|innerHTML|insertAdjacent|document\.write|eval\(", code)


@pytest.mark.slow
@real
def test_readers_filter_search_and_read_answers_side_by_side_in_every_script(tmp_path: Path) -> None:
    runs = [make_run("first", cultures=SCRIPTS, gone={"unparsed": 2}), make_run("second" * 12, cultures=SCRIPTS)]
    for run in runs:  # small models stutter: one word of a thousand letters
        run.tables["cases"] = run.table("cases").with_columns(pl.col("got") + "ta" * 500)
    page = build_report(runs, tmp_path / "report.html")
    both = laid_out(page, WATCH + PROBE, 360, 1200)
    seen = both[360]
    assert max(of_width.pop("overflow") for of_width in both.values()) <= 0
    assert both[1200] == seen
    assert seen["failed"] == []
    assert seen["labels"] == [
        "Culture",
        "Variant",
        "Category",
        "Topic",
        "Answer",
        "Model",
        "Search in questions and answers",
    ]
    assert seen["all"] == "240 prompts, 10 shown"
    assert seen["culture"] == "48 of 240 prompts, 10 shown"
    assert seen["languages"] == ["ko"]
    assert seen["unread"] == "2 of 240 prompts"
    outcomes = list(zip(*(run.scores.filter(pl.col("metric") == "mc1")["outcome"] for run in runs), strict=True))
    assert seen["differ"] == sum(a != b for a, b in outcomes)
    alone = [sum(a == "right" != b for a, b in outcomes), sum(b == "right" != a for a, b in outcomes)]
    assert seen["flips"] == alone
    assert seen["models"] == ["first", "second" * 12]
    assert seen["found"] == ["Filipino-003"]
    assert seen["more"] == 20
    assert seen["focused"] == "H3", "the first of those added has the focus"
    rows = list(csv.DictReader(io.StringIO(seen["csv"].removeprefix("\ufeff"), newline="")))
    assert [row["item_id"] for row in rows] == ["Filipino-003"] * 6
    assert {row["model"] for row in rows} == set(seen["models"])
    assert seen["nothing"] == "0 of 240 prompts"


@pytest.mark.slow
@real
def test_no_text_of_an_answer_becomes_markup(tmp_path: Path) -> None:
    page = build_report([canary_run(answering(make_run()))], tmp_path / "report.html")
    probe = """<pre id="probe"></pre><script>
    const look = () => document.querySelector(".browser [role=status]") ? seen() : setTimeout(look, 5);
    look();
    const seen = () => document.getElementById("probe").textContent = JSON.stringify({
      title: document.title, shown: document.querySelectorAll(".browser .case").length,
      markup: document.querySelectorAll(".browser b, .browser script").length,
      text: document.querySelector(".browser").textContent.includes("<b onload=x>"), failed})</script>"""
    seen = probed(without_policy(page, probe, WATCH))
    assert seen["shown"] == 10
    assert seen["markup"] == 0
    assert seen["text"]
    assert not seen["title"].startswith("owned")
    assert seen["failed"] == []
