"""How far an analysis is: words beside the bar, lines where there is no terminal."""

from __future__ import annotations

import io
import sys

import pytest

from kapwa.analysis.progress import Meter, Stand, showing


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_lines_come_at_the_start_and_the_end_of_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with showing(True) as show:
        for done in range(4):
            show(Stand("comparing texts", 3, done))
        show(Stand("summing up", 2_000, 1_500, kept=1_500))
    assert stream.getvalue().splitlines() == [
        "comparing texts: 0/3",
        "comparing texts: 3/3",
        "summing up: 1,500/2,000, 1,500 kept from before",
    ]


def test_every_stage_has_its_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    with showing(None) as show:
        show(Stand("comparing [b]", 30, 12, kept=2, texts=500, seconds=5.0))
        show(Stand("summing up", 4, 4))
    for part in ("comparing [b]", "12/30", "2 kept from before, 100 texts/s, 0:09 to go", "summing up", "4/4"):
        assert part in stream.getvalue()


def test_time_to_go_follows_from_what_was_done_now() -> None:
    assert Stand("x", 10, 4, kept=4).note == "4 kept from before"
    assert Stand("x", 10, 6, kept=4, seconds=4.0).eta == 8.0


def test_the_meter_tells_what_was_there_and_what_is_new() -> None:
    seen: list[Stand] = []
    meter = Meter(seen.append, "x", 5)
    meter.kept(2)
    meter.add(30)
    assert [(stand.done, stand.kept, stand.texts) for stand in seen] == [(0, 0, 0), (2, 2, 0), (3, 2, 30)]
