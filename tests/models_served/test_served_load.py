"""The limit against simulated servers, in made-up time: relieved when overloaded, used when they fail at random."""

from __future__ import annotations

import asyncio
import heapq
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.models.served_limit import AdaptiveLimit
from kapwa.models.served_trial import Cohort, Trial, Watch

# What becomes of a call: how long it takes, and whether it says "busy".
Server = Callable[[int, random.Random], tuple[float, bool]]


@dataclass
class Outcome:
    seconds: float
    good: int
    busy: int
    level: float  # mean over time, the first third left out

    @property
    def rate(self) -> float:
        return self.good / self.seconds

    @property
    def wasted(self) -> float:
        return self.busy / (self.good + self.busy)


def simulate(server: Server, most: int, calls: int, seed: int = 0) -> Outcome:
    """Send ``calls`` calls, as many at once as the limit allows."""
    return asyncio.run(_simulate(server, most, calls, random.Random(seed)))


async def _simulate(server: Server, most: int, calls: int, rng: random.Random) -> Outcome:
    limit = AdaptiveLimit(most)
    under_way: list[tuple[float, int, Cohort, bool]] = []
    now, sent, busy_ones, levels = 0.0, 0, 0, []
    while sent < calls or under_way:
        while sent < calls and limit.active < int(limit.limit):
            place = await limit.acquire()
            seconds, busy = server(limit.active, rng)
            heapq.heappush(under_way, (now + seconds * rng.uniform(0.9, 1.1), sent, place, busy))
            sent += 1
        before = now
        now, _, place, busy = heapq.heappop(under_way)
        levels.append((before, now - before, limit.limit))
        limit.release(place, busy)
        busy_ones += busy
    late = [(span, level) for begun, span, level in levels if begun > now / 3]
    level = sum(span * level for span, level in late) / sum(span for span, _ in late)
    return Outcome(now, calls - busy_ones, busy_ones, level)


def refuses(share: float) -> Server:
    """Says 429 at random."""
    return lambda _open, rng: (0.005, True) if rng.random() < share else (0.05, False)


def times_out(share: float, seconds: float) -> Server:
    """Leaves calls without an answer at random."""
    return lambda _open, rng: (seconds, True) if rng.random() < share else (0.05, False)


def both(_open: int, rng: random.Random) -> tuple[float, bool]:
    draw = rng.random()
    return (1.0, True) if draw < 0.1 else (0.005, True) if draw < 0.2 else (0.05, False)


def overloaded(room: int, share: float = 0.0) -> Server:
    """Says 429 to more than ``room`` calls at once, and to a share of the others."""
    return lambda open_, rng: (0.005, True) if open_ > room or rng.random() < share else (0.05, False)


@pytest.mark.parametrize(
    "server",
    [refuses(0.02), refuses(0.1), refuses(0.2), refuses(0.3), times_out(0.1, 0.3), times_out(0.1, 2.0), both],
    ids=["429 2%", "429 10%", "429 20%", "429 30%", "0.3 s 10%", "2 s 10%", "both 10%"],
)
@pytest.mark.parametrize("most", [16, 512])
def test_failures_that_load_does_not_cause_leave_the_limit_high(server, most):
    for seed in range(3):
        found = simulate(server, most, 20_000, seed)
        assert found.level > 0.75 * most, found


@pytest.mark.parametrize("room", [1, 4, 20, 40, 200])
def test_an_overloaded_server_is_relieved_with_few_wasted_calls(room):
    for seed in range(3):
        found = simulate(overloaded(room), 512, 20_000, seed)
        assert found.rate > 0.75 * room / 0.05, found
        assert found.level < 1.1 * room + 1, found
        assert found.wasted < 0.05, found


@pytest.mark.parametrize("room", [20, 200])
def test_an_overloaded_server_that_also_fails_at_random_is_relieved(room):
    for seed in range(3):
        found = simulate(overloaded(room, 0.1), 512, 20_000, seed)
        assert found.level < 1.1 * room, found
        assert found.rate > 0.6 * room / 0.05, found
        assert found.wasted < 0.3, found


def test_a_server_that_gets_slow_under_load_until_calls_time_out_is_relieved():
    """Forty calls at once are answered in 50 ms; each further one makes all slower, up to a time-out of 0.5 s."""

    def server(open_: int, _rng: random.Random) -> tuple[float, bool]:
        seconds = 0.05 * max(1.0, (open_ / 40) ** 2)
        return (0.5, True) if seconds > 0.5 else (seconds, False)

    found = simulate(server, 512, 20_000)
    assert found.level < 130
    assert found.wasted < 0.25


def test_a_server_that_only_refuses_gets_one_call_at_a_time():
    found = simulate(lambda _open, _rng: (0.005, True), 512, 2000)
    assert found.level == 1


def test_a_server_that_recovers_is_used_again():
    calls = 0

    def server(_open: int, _rng: random.Random) -> tuple[float, bool]:
        nonlocal calls
        calls += 1
        return (0.005, True) if calls < 300 else (0.05, False)

    found = simulate(server, 256, 20_000)
    assert found.level > 128


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 400), st.integers(0, 400), st.floats(0, 0.5))
def test_a_trial_is_decided_whatever_was_counted(good, busy, good_after, busy_after, usual):
    before = Cohort(0, 1000, started=good + busy, n=good + busy, busy=busy)
    trial = Trial(100.0, 70.0, [before], usual, 1)
    trial.after = Cohort(1, 0, started=good_after + busy_after, n=good_after + busy_after, busy=busy_after)
    verdict = trial.verdict()
    assert verdict in ("load", "not load")
    if 2 * busy_after > good_after + busy_after:
        assert verdict == "load"
    watch = Watch()
    watch.restart(trial.share)
    assert math.isfinite(watch.usual)


def test_a_trial_waits_for_its_last_call_which_may_time_out():
    trial = Trial(100.0, 70.0, [Cohort(0, 64, started=64, n=64, busy=8)], 0.0, 1)
    for _ in range(trial.after.size):
        trial.after.begin()
    for _ in range(trial.after.size - 8):
        trial.after.end(busy=False)
    assert trial.verdict() is None
    for _ in range(8):
        trial.after.end(busy=True)
    assert trial.verdict() == "not load"


@pytest.mark.parametrize(("busy_after", "verdict"), [(0, "load"), (1, "load"), (12, "not load"), (20, "not load")])
def test_the_share_after_the_cut_decides(busy_after, verdict):
    trial = Trial(100.0, 70.0, [Cohort(0, 100, started=100, n=100, busy=15)], 0.0, 1)
    trial.after = Cohort(1, 100, started=100, n=100, busy=busy_after)
    assert trial.verdict() == verdict


@pytest.mark.parametrize(("busy_after", "verdict"), [(0, "load"), (7, None), (20, "not load")])
def test_a_trial_does_not_wait_for_calls_that_cannot_change_its_outcome(busy_after, verdict):
    """Three calls are open still, and may be for minutes."""
    trial = Trial(100.0, 70.0, [Cohort(0, 100, started=100, open=1, n=99, busy=15)], 0.0, 1)
    trial.after = Cohort(1, 100, started=100, open=2, n=98, busy=busy_after)
    assert trial.verdict() == verdict


def test_a_few_calls_that_hang_for_minutes_do_not_hold_the_limit_down():
    """One in fifty hangs for two minutes, one in ten is refused. To wait for one at the start took four minutes."""
    rng = random.Random(1)

    def server(_open: int, _rng: random.Random) -> tuple[float, bool]:
        draw = rng.random()
        return (120.0, True) if draw < 0.02 else (0.005, True) if draw < 0.12 else (0.05, False)

    found = simulate(server, 64, 1500)
    assert found.seconds < 150, found
