import io
import sys
from pathlib import Path
from typing import Any

import pytest

from kapwa.records import ContinuationScore, Response, Usage
from kapwa.runs.progress import Meter, PlainLines, Snapshot, clock, showing


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, "x: 0/100, asking"),
        ({"done": 60, "stored": 60}, "x: 60/100, asking, 60 kept, 40 to ask"),
        ({"done": 60, "stored": 40, "amount": 500, "seconds": 10.0},
         "x: 60/100, asking, 40 kept, 60 to ask, 2.0 items/s, 50 tokens/s, 0:20 to go"),
        ({"done": 1, "failed": 1, "seconds": 25.0}, "x: 1/100, asking, 25.0 s/item, 41:15 to go, 1 failed"),
        ({"done": 1, "seconds": 10.0}, "x: 1/100, asking, 10.0 s/item, 16:30 to go"),
        ({"done": 100, "seconds": 10.0, "stage": "judging"}, "x: 100/100, judging, 10.0 items/s"),
        ({"stage": "", "unit": "texts", "done": 12, "stored": 2, "amount": 5000, "seconds": 5.0},
         "x: 12/100, 2 kept from before, 1,000 texts/s, 0:44 to go"),
        ({"stage": "", "unit": "texts", "total": 2_000, "done": 1_500, "stored": 1_500},
         "x: 1,500/2,000, 1,500 kept from before"),
    ],
)  # fmt: skip
def test_a_line_says_what_is_known(counts: dict[str, Any], said: str) -> None:
    stream = io.StringIO()
    PlainLines(stream)(Snapshot(**{"label": "x", "stage": "asking", "total": 100, **counts}))
    assert stream.getvalue() == said + "\n"


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")])
def test_durations(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_plain_lines_come_at_each_stage_and_label_and_every_few_seconds() -> None:
    now, stream = [0.0], io.StringIO()
    show = PlainLines(stream, every=5.0, now=lambda: now[0])
    for at, stage, done in [(0, "asking", 0), (1, "asking", 1), (4, "asking", 2), (5, "asking", 3), (6, "judging", 3)]:
        now[0] = at
        show(Snapshot("x", stage, 3, done, stored=done))
    show(Snapshot("y", "", 2))
    assert [line.partition(" kept")[0] for line in stream.getvalue().splitlines()] == [
        *("x: 0/3, asking", "x: 1/3, asking, 1", "x: 3/3, asking, 3", "x: 3/3, judging, 3", "y: 0/2")
    ]


def test_the_meter_counts_what_is_durable() -> None:
    seen: list[Snapshot] = []
    meter = Meter(seen.append, "x", 10)
    meter.add(4, stored=4)
    score = ContinuationScore(-1.0, 3, 1, 1)
    meter.answered(
        [Response("a", text="t", usage=Usage(9, 2)), Response("b", error="no"), Response("c", logprobs=(score,))]
    )
    meter.enter("judging")
    last = seen[-1]
    assert (last.done, last.stored, last.failed, last.asked, last.amount, last.stage) == (7, 4, 1, 3, 5, "judging")
    assert [s.done for s in seen] == [0, 4, 7, 7]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("asked", "stream", "shown"),
    [(None, io.StringIO, ""), (False, io.StringIO, ""), (False, Terminal, ""), (True, io.StringIO, "x: 1/3, asking\n")],
)
def test_without_a_terminal_nothing_is_shown_unless_asked_for(
    monkeypatch: pytest.MonkeyPatch, asked: bool | None, stream: type[io.StringIO], shown: str
) -> None:
    monkeypatch.setattr(sys, "stderr", stream())
    with showing(asked) as show:
        show(Snapshot("x", "asking", 3, 1))
    assert sys.stderr.getvalue() == shown  # type: ignore[attr-defined]


def test_a_terminal_gets_a_bar_for_each_label_on_stderr_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    with showing(None) as show:
        show(Snapshot("kalahi/mc [b]model[/b]", "asking", 30, 12, failed=2, amount=24, seconds=6.0))
        show(Snapshot("summing up", "", 4, 4))
    for part in ("kalahi/mc [b]model[/b]", "12/30", "asking, 2.0 items/s, 4 tokens/s, 0:09 to go, 2 failed", "4/4"):
        assert part in stream.getvalue()
    assert capsys.readouterr().out == ""


def test_on_a_narrow_terminal_nothing_of_a_note_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    so_far = "mc1 24% (9–46%) on 12 items so far"
    with showing(None) as show:
        show(Snapshot("kalahi/mc smollm2", "asking", 34, 12, amount=900, seconds=30.0, so_far=so_far))
    assert "…" not in stream.getvalue()
    assert so_far in " ".join(stream.getvalue().split())


def test_a_callable_gets_every_snapshot() -> None:
    seen: list[Snapshot] = []
    with showing(seen.append) as show:
        show(Snapshot("x", "done", 1, 1))
    assert seen == [Snapshot("x", "done", 1, 1)]


NOTEBOOK = """
from kapwa.records import Response
from kapwa.runs.progress import Meter, showing
with showing(None) as show:
    for name in ("kalahi/mc a<b>", "kalahi/open"):
        meter = Meter(show, name, 3)
        for _ in range(3):
            meter.answered([Response("k", text="x")])
        meter.enter("done")
"""


def test_a_notebook_shows_one_bar_for_each_run_that_is_drawn_anew(tmp_path: Path) -> None:
    """In a real kernel: one output of a cell, whose last state has every run at its end, with escaped names."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(NOTEBOOK)])
    nbclient.NotebookClient(book, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    (shown,) = [output for output in book.cells[0].outputs if output["output_type"] == "display_data"]
    page = shown["data"]["text/html"]
    assert page.count('<progress value="3" max="3">') == 2
    assert "kalahi/mc a&lt;b&gt;" in page
    assert "done" in page
