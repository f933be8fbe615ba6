from __future__ import annotations

import io
import sys

import pytest

from kapwa.records import ContinuationScore, Response, Usage
from kapwa.runs.progress import Meter, PlainLines, Snapshot, clock, showing


def test_speed_and_time_to_go_follow_from_this_process_alone() -> None:
    half = Snapshot("x", "asking", total=100, done=60, asked=20, tokens=500, seconds=10.0)
    assert (half.items_per_second, half.tokens_per_second, half.eta) == (2.0, 50.0, 20.0)


def test_nothing_asked_yet_gives_no_time_to_go() -> None:
    start = Snapshot("x", "asking", total=100, done=60)
    assert (start.items_per_second, start.tokens_per_second, start.eta) == (0.0, 0.0, None)


def test_the_summary_names_failures() -> None:
    line = Snapshot("t m", "asking", 10, 4, failed=1, asked=4, tokens=8, seconds=2.0).line
    assert line == "t m: asking, 4/10, 2.0 items/s, 4 tokens/s, 0:03 to go, 1 failed"


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (3661, "1:01:01")])
def test_durations(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


def test_plain_lines_come_at_each_stage_and_every_few_seconds() -> None:
    now, stream = [0.0], io.StringIO()
    show = PlainLines(stream, every=5.0, now=lambda: now[0])
    for at, stage, done in [(0, "asking", 0), (1, "asking", 1), (4, "asking", 2), (5, "asking", 3), (6, "judging", 3)]:
        now[0] = at
        show(Snapshot("x", stage, 3, done))  # type: ignore[arg-type]
    assert stream.getvalue().splitlines() == ["x: asking, 0/3", "x: asking, 3/3", "x: judging, 3/3"]


def test_the_meter_counts_what_is_durable() -> None:
    seen: list[Snapshot] = []
    meter = Meter(seen.append, "x", total=10)
    meter.known(4)
    score = ContinuationScore(-1.0, 3, 1, 1)
    meter.add([Response("a", text="t", usage=Usage(9, 2)), Response("b", error="no"), Response("c", logprobs=(score,))])
    meter.enter("judging")
    last = seen[-1]
    assert (last.done, last.failed, last.asked, last.tokens, last.stage) == (7, 1, 3, 5, "judging")
    assert [s.done for s in seen] == [0, 4, 7, 7]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_nothing_is_shown_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for asked, shown in ((None, ""), (False, ""), (True, "x: asking, 1/3\n")):
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        with showing(asked) as show:
            show(Snapshot("x", "asking", 3, 1))
        assert stream.getvalue() == shown


def test_a_terminal_gets_a_bar_on_stderr_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    with showing(None) as show:
        show(Snapshot("kalahi/mc [b]model[/b]", "asking", 30, 12, failed=2, asked=12, tokens=24, seconds=6.0))
    assert "kalahi/mc [b]model[/b]" in stream.getvalue()
    for part in ("12/30", "2.0 items/s", "4 tokens/s", "0:09 to go", "2 failed"):
        assert part in stream.getvalue()
    assert capsys.readouterr().out == ""


def test_false_is_silent_on_a_terminal_too(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with showing(False) as show:
        show(Snapshot("x", "asking", 3, 1))
    assert stream.getvalue() == ""


def test_a_callable_gets_every_snapshot() -> None:
    seen: list[Snapshot] = []
    with showing(seen.append) as show:
        show(Snapshot("x", "done", 1, 1))
    assert seen == [Snapshot("x", "done", 1, 1)]


@pytest.mark.parametrize(
    ("asked", "seconds", "speed"), [(1, 25.0, "25 s/item"), (1, 10.0, "0.1 items/s"), (30, 20.0, "1.5 items/s")]
)
def test_a_slow_run_shows_what_an_item_takes(asked: int, seconds: float, speed: str) -> None:
    assert speed in Snapshot("x", "asking", 100, asked, asked=asked, seconds=seconds).line
