"""Tables of what people said of themselves: an attacker who knows everybody's role finds nothing of a few people."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.stats.disclosure import FEWEST, OTHERS, Counts, count_answers, tells

ANSWERS, ROLES = st.sampled_from(["", "a", "b", "c"]), st.sampled_from(["", "writer", "reviewer", "rater"])
PEOPLE = st.lists(st.tuples(ANSWERS, ROLES, st.booleans(), st.booleans()), max_size=45)


def shares(size: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Every way in which ``size`` people can give ``parts`` answers."""
    for cuts in combinations(range(size + parts - 1), parts - 1):
        edges = (-1, *cuts, size + parts - 1)
        yield tuple(after - before - 1 for before, after in pairwise(edges))


def behind(row: str, table: Counts, answers: Sequence[str]) -> tuple[str, ...]:
    """The answers that a row of a table counts."""
    return (row,) if row != OTHERS else tuple(name for name in answers if name not in table.cells or name == OTHERS)


def attack(shown: Sequence[Counts]) -> set[tuple[frozenset[str], tuple[str, ...]]]:
    """Every group of people of whom fewer than five are told something, and the answer: by trying all that may be."""
    named = sorted({row for table in shown for row in table.cells} - {OTHERS})
    answers = [*named, OTHERS]
    columns = [people for table in shown for people in table.groups.values()]
    marks: dict[tuple[bool, ...], set[str]] = {}
    for person in set().union(*columns):
        marks.setdefault(tuple(person in people for people in columns), set()).add(person)
    atoms = [frozenset(people) for people in marks.values()]
    worlds = []
    for world in product(*(list(shares(len(atom), len(answers))) for atom in atoms)):
        right = True
        for table in shown:
            for row, cells in table.cells.items():
                own = (
                    [row] if row != OTHERS else [name for name in answers if name not in table.cells or name == OTHERS]
                )
                for group, n in cells.items():
                    there = sum(
                        counts[answers.index(name)]
                        for atom, counts in zip(atoms, world, strict=True)
                        for name in own
                        if atom <= table.groups[group]
                    )
                    right = right and there == n
        if right:
            worlds.append(world)
    possible = np.array(worlds)  # worlds × atoms × answers
    rows = [(name,) for name in named] + [behind(row, table, answers) for table in shown for row in table.cells]
    told = set()
    for chosen in product((False, True), repeat=len(atoms)):
        if not any(chosen):
            continue
        group = frozenset().union(*(atom for atom, there in zip(atoms, chosen, strict=True) if there))
        for row in rows:
            counts = possible[:, list(chosen)][:, :, [answers.index(name) for name in row]].sum(axis=(1, 2))
            if counts.max() < min(len(group), FEWEST) or counts.min() > max(0, len(group) - FEWEST):
                told.add((group, row))
    return told


def ids(numbers: range | Sequence[int]) -> frozenset[str]:
    return frozenset(f"p{number:03d}" for number in numbers)


def table(groups: Mapping[str, frozenset[str]], **rows: Sequence[int]) -> Counts:
    return Counts(groups, {row: dict(zip(groups, numbers, strict=True)) for row, numbers in rows.items()})


ALL, TWO = {"": ids(range(12))}, {"x": ids(range(6)), "y": ids(range(6, 12))}


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        ([table(ALL, a=[6], b=[6])], False),
        ([table(ALL, a=[12])], True),  # all of them said it
        ([table(ALL, a=[4], b=[8])], True),
        ([table(TWO, a=[6, 0], b=[0, 6])], True),  # whoever is an x said a
        # One came, and the difference is what they said.
        ([table(ALL, a=[6], b=[6]), table({"": ids(range(13))}, a=[7], b=[6])], True),
        # Six came, and all of them said the same.
        ([table(ALL, a=[6], b=[6]), table({"": ids(range(18))}, a=[12], b=[6])], True),
        # Ten came, five of each.
        ([table(ALL, a=[6], b=[6]), table({"": ids(range(22))}, a=[11], b=[11])], False),
        # One left and one came: who of them changed the count is known, as nobody else did.
        ([table(ALL, a=[6], b=[6]), table({"": ids(range(1, 13))}, a=[7], b=[5])], True),
        # One left and one came, and the counts stay: both said the same, but nobody knows what.
        ([table(ALL, a=[6], b=[6]), table({"": ids(range(1, 13))}, a=[6], b=[6])], False),
    ],
)
def test_what_tables_tell(shown: list[Counts], told: bool) -> None:
    assert tells(shown) == told
    assert bool(attack(shown)) == told


def test_roles_and_sessions_together_tell_what_neither_tells_alone() -> None:
    # Nine writers and one reviewer were in the first session, one writer and nine reviewers in the second.
    writers, first = ids(range(10)), ids([*range(9), 10])
    everybody = ids(range(20))
    roles = {"writer": writers, "reviewer": everybody - writers}
    sessions = {"first": first, "second": everybody - first}
    by_role, by_session = table(roles, a=[5, 5], b=[5, 5]), table(sessions, a=[6, 5], b=[4, 5])
    assert not tells([by_role])
    assert tells([by_role, by_session])


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    answers=st.lists(st.sampled_from(["a", "b", ""]), min_size=28, max_size=28),
    inside=st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=3),
)
def test_the_fast_attack_finds_what_the_slow_one_finds(
    sizes: list[int], answers: list[str], inside: list[list[bool]]
) -> None:
    blocks, said, start = [], {}, 0
    for size in sizes:
        blocks.append([f"p{number:03d}" for number in range(start, start + size)])
        start += size
    for number, person in enumerate(person for block in blocks for person in block):
        said[person] = answers[number]
    shown = []
    for chosen in inside:
        people = {
            person: said[person] for block, there in zip(blocks, chosen, strict=False) if there for person in block
        }
        counted = count_answers(people)
        if counted is not None:
            shown.append(counted)
    if shown:
        assert tells(shown) == bool(attack(shown))


@given(PEOPLE)
def test_no_two_tables_of_a_page_tell_of_fewer_than_five(people: list[tuple[str, str, bool, bool]]) -> None:
    answers = {f"p{number:03d}": person[0] for number, person in enumerate(people)}
    roles = {f"p{number:03d}": person[1] for number, person in enumerate(people)}
    shown = [counted] if (counted := count_answers(answers)) else []
    crossed = count_answers(answers, roles, shown=shown)
    for counted in (*shown, *([crossed] if crossed else [])):
        numbers = [n for row in counted.cells.values() for n in row.values()]
        assert min(numbers) >= FEWEST  # no small cell, and no empty one: all writers did not say "a" either
        assert sum(numbers) == len(people)
        assert len(counted.cells) > 1
        for answer, row in counted.cells.items():
            for group, n in row.items():
                said = [answers[person] for person in counted.groups[group]]
                assert n == sum(one == answer or (answer == OTHERS and one not in counted.cells) for one in said)
    if crossed:
        assert len(crossed.groups) > 1


@given(PEOPLE)
def test_a_later_table_tells_of_nobody_who_came_or_left(people: list[tuple[str, str, bool, bool]]) -> None:
    def answers(when: int) -> dict[str, str]:
        return {f"p{number:03d}": person[0] for number, person in enumerate(people) if person[when]}

    first = count_answers(answers(2))
    second = count_answers(answers(3), shown=[first]) if first else None
    if first is None or second is None:
        return
    before, after = (one.groups[""] for one in (first, second))
    if before == after:
        return
    # What each answer gained is a sum over who came less one over who left: with few of either it must tell nothing.
    if not before - after:
        gained = {row: second.by_answer[row] - first.by_answer.get(row, 0) for row in second.cells}
        assert len(after - before) >= 2 * FEWEST
        assert all(n >= FEWEST for row, n in gained.items() if first.cells.keys() == second.cells.keys())


def test_a_table_outlives_being_kept() -> None:
    counted = count_answers(
        {person: "a" if number < 6 else "b" for number, person in enumerate(sorted(ids(range(12))))}
    )
    assert counted is not None
    assert Counts.from_json(counted.to_json()) == counted
    assert counted.by_answer == {"a": 6, "b": 6}
