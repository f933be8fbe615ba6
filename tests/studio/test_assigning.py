"""Who is given what: least first, each to so many people, by a slow reading of the rule; and many at once."""

import random
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from kapwa.studio.core import assigning
from kapwa.studio.core.assigning import SPARE, Done, assign, finish, take_along, waiting
from kapwa.studio.models import Lease, Membership

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Stands in for Django's."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time


@pytest.fixture
def clock(monkeypatch: Any) -> Clock:
    found = Clock()
    monkeypatch.setattr(assigning, "timezone", found)
    return found


def given_to(member: Any, desk: str, done: dict[str, set[str]], target: int, count: int) -> list[str]:
    """What somebody is given; ``done``: who did each thing."""
    return assign(member, desk, lambda: counted(member, done), target=target, count=count).subjects


def counted(member: Any, done: dict[str, set[str]]) -> Any:
    own = {thing for thing, people in done.items() if member.author in people}
    return Done({thing: len(people) for thing, people in done.items()}, own)


def members_of(project: Any, count: int) -> list[Any]:
    return [Membership.objects.create(project=project, author=f"person-{place}") for place in range(count)]


def spread(things: list[str], done: dict[str, set[str]], leases: dict[tuple[str, str], datetime], now: datetime) -> int:
    """How far loads differ, from the definition: who has done a thing or holds it now."""
    loads = loads_of(things, done, leases, now)
    return max(map(len, loads.values())) - min(map(len, loads.values()))


def loads_of(
    things: list[str], done: dict[str, set[str]], leases: dict[tuple[str, str], datetime], now: datetime
) -> dict[str, set[str]]:
    return {
        thing: done[thing] | {who for (held, who), until in leases.items() if held == thing and until > now}
        for thing in things
    }


def firmly_promised(
    leases: dict[tuple[str, str], datetime], now: datetime, who: str
) -> dict[tuple[str, str], datetime]:
    """What people have before them now, without what others than ``who`` took along for days."""
    return {key: until for key, until in leases.items() if key[1] == who or until <= now + timedelta(minutes=30)}


@pytest.mark.parametrize("seed", range(2))
def test_loads_differ_by_at_most_one_over_any_course(project: Any, clock: Clock, seed: int) -> None:
    """Random draws, answers, late answers and pauses; what is given is checked against the rule read slowly.

    Loads may differ by more only where somebody alone at the desk had done all of the least loaded, where a lease
    ended, or where somebody would have been given nothing but what others took along.
    """
    drawn = random.Random(seed)
    people = members_of(project, drawn.randint(2, 7))
    things = [f"thing-{place}" for place in range(drawn.randint(1, 9))]
    target = drawn.randint(1, 5)
    done: dict[str, set[str]] = {thing: set() for thing in things}
    leases: dict[tuple[str, str], datetime] = {}
    excused = False
    for _ in range(120):
        member, action = drawn.choice(people), drawn.random()
        own = [thing for (thing, who), until in leases.items() if who == member.author and until > clock.time]
        if action < 0.45:
            count = drawn.randint(1, 4)
            before = loads_of(things, done, leases, clock.time)
            given = given_to(member, "desk", done, target, count)
            assert len(given) == len(set(given)) <= count
            kept = [thing for thing in own if member.author not in done[thing]]
            assert set(given[: min(len(kept), count)]) <= set(kept)
            fresh = [thing for thing in given if thing not in kept]
            assert not fresh or set(kept) <= set(given)
            firm = firmly_promised(leases, clock.time, member.author)
            alone = not any(until > clock.time and who != member.author for (_, who), until in firm.items())
            mine = {one for one in things if member.author not in before[one] and len(before[one]) < target}
            most, least = count, min(map(len, before.values()))
            if not kept and not [one for one in mine if alone or len(before[one]) == least]:
                most, before = min(count, SPARE), loads_of(things, done, firm, clock.time)
                excused = excused or bool(fresh)
            for thing in [*fresh, None]:
                mine = {one for one in things if member.author not in before[one] and len(before[one]) < target}
                least = min(map(len, before.values()))
                best = {one for one in mine if len(before[one]) == min(len(before[two]) for two in mine)}
                best = {one for one in best if alone or len(before[one]) == least}
                if thing is None:  # nothing was held back without need
                    assert len(given) == most or not best
                else:
                    assert thing in best
                    excused = excused or len(before[thing]) > least
                    before[thing] = before[thing] | {member.author}
            for thing in given:
                until = clock.time + timedelta(minutes=30)
                leases[thing, member.author] = max(until, leases.get((thing, member.author), until))
            if drawn.random() < 0.1:
                take_along(member, "desk")
                leases |= {
                    key: clock.time + timedelta(hours=48)
                    for key in leases
                    if key[1] == member.author and leases[key] > clock.time
                }
        elif action < 0.85 and own:
            thing = drawn.choice(own)
            done[thing].add(member.author)
            finish(member, "desk", thing)
        elif action < 0.88:
            clock.time += timedelta(minutes=drawn.choice([5, 31]))
            excused = excused or any(
                until <= clock.time and key[1] not in done[key[0]] for key, until in leases.items()
            )
        assert excused or spread(things, done, leases, clock.time) <= 1
        assert excused or all(len(found) <= target for found in loads_of(things, done, leases, clock.time).values())


def test_everybody_who_goes_on_covers_all_evenly(project: Any, clock: Clock) -> None:
    people, things = members_of(project, 12), [f"thing-{place}" for place in range(30)]
    done: dict[str, set[str]] = {thing: set() for thing in things}
    drawn = random.Random(3)
    for _ in range(95):
        member = drawn.choice(people)
        for thing in given_to(member, "desk", done, 5, 1):
            done[thing].add(member.author)
            finish(member, "desk", thing)
        counts = [len(found) for found in done.values()]
        assert max(counts) - min(counts) <= 1
    nobody: dict[str, set[str]] = {thing: set() for thing in things}
    orders = {tuple(given_to(member, "other", nobody, 99, 30)) for member in people}
    assert len(orders) == 12  # among equals each has an order of their own
    assert waiting(people[0], "other", counted(people[0], nobody), target=99) == 30


def test_a_lease_is_renewed_ends_and_comes_back(project: Any, clock: Clock) -> None:
    first, second = members_of(project, 2)
    done: dict[str, set[str]] = {"only": set()}

    def draw(who: Any) -> list[str]:
        return given_to(who, "desk", done, 1, 3)

    def left(who: Any) -> int:
        return waiting(who, "desk", counted(who, done), target=1)

    assert draw(first) == ["only"]
    assert draw(second) == []
    assert (left(first), left(second)) == (1, 1)  # nobody did it yet
    clock.time += timedelta(minutes=29)
    assert draw(first) == ["only"]
    clock.time += timedelta(minutes=29)
    assert draw(second) == []
    clock.time += timedelta(minutes=2)
    assert draw(second) == ["only"]
    assert draw(first) == []
    take_along(second, "desk")
    clock.time += timedelta(hours=47)
    assert draw(second) == ["only"]  # does not shorten it
    assert Lease.objects.get().until == START + timedelta(minutes=60, hours=48)
    assert draw(first) == ["only"]  # who would have nothing does not wait for days
    done["only"].add(second.author)
    finish(second, "desk", "only")
    assert draw(second) == []
    assert (left(first), left(second)) == (1, 0)


def test_what_counts_again_is_promised_no_more(project: Any, clock: Clock) -> None:
    """Somebody holds a question that was changed; then their answer to its former text is confirmed."""
    ana, berto, carla = members_of(project, 3)
    done: dict[str, set[str]] = {"x": set()}
    assert given_to(ana, "d", done, 2, 1) == ["x"]
    done["x"].add(ana.author)
    assert given_to(ana, "d", done, 2, 1) == []
    assert given_to(berto, "d", done, 2, 1) == ["x"]
    assert given_to(carla, "d", done, 2, 1) == []


def test_twenty_people_at_once_are_promised_nothing_twice(project: Any) -> None:
    people, things = members_of(project, 20), [f"thing-{place}" for place in range(8)]
    found: dict[str, list[str]] = {}
    start = threading.Barrier(20)

    def draw(member: Any) -> None:
        start.wait()
        found[member.author] = given_to(member, "desk", {thing: set() for thing in things}, 5, 3)
        connection.close()

    threads = [threading.Thread(target=draw, args=(member,)) for member in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    given = Counter(thing for drawn in found.values() for thing in drawn)
    assert dict(given) == dict.fromkeys(things, 5)  # 20 people ask for 3 each, 8 things take 5 people each
    assert Lease.objects.count() == 40
    assert all(len(drawn) == len(set(drawn)) for drawn in found.values())
