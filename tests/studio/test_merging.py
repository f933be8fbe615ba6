"""Answers that mean the same: votes after merging, moving out, undoing and withdrawals, against a slow recount."""

import contextlib
import random
from typing import Any

import pytest
from slow_recount import recount
from studio_answers import answer, answerers, ask, revise

WORDS = ("밥", "쌀밥", "쌀 밥", "국", "김치", "kimchi", "Kimchi")


@pytest.fixture
def blend(studio: Any) -> Any:
    from kapwa.studio import commands

    return commands.new_project("seoul", form="blend", culture="Korea", language="ko", languages=["ar"])


def decide(project: Any, question: Any, kind: str, actor: str = "merger", language: str = "ko", **body: Any) -> Any:
    from django.db import transaction

    from kapwa.studio.events import record

    with transaction.atomic():
        return record(project, f"answers.{kind}", {"language": language, **body}, actor=actor, subject=question.id)


def key(project: Any, text: str) -> str:
    from kapwa.studio.merging import key_of

    return key_of(project, text)


def votes(project: Any, language: str = "ko", everybody: bool = True) -> dict[frozenset[str], int]:
    from kapwa.studio.merging import merged_answers

    (found,) = merged_answers(project, language, everybody=everybody)
    return {frozenset(group.texts): group.votes for group in found.groups}


def test_who_gave_two_answers_of_a_group_counts_once(blend: Any) -> None:
    from kapwa.studio.merging import merged_answers

    question, people = ask(blend, "아침에?"), answerers(blend, 5)
    given = (["밥", "쌀밥"], ["쌀밥"], ["국", "밥"], ["국"])
    for who, texts in zip(people, given, strict=False):
        answer(who, question, *texts)
    answer(people[4], question, button="no-answer")
    assert votes(blend) == {frozenset({"밥"}): 2, frozenset({"쌀밥"}): 2, frozenset({"국"}): 2}
    merged = decide(blend, question, "merged", keys=[key(blend, "밥"), key(blend, "쌀밥")])
    assert votes(blend) == {frozenset({"밥", "쌀밥"}): 3, frozenset({"국"}): 2}
    decide(blend, question, "named", key=key(blend, "쌀밥"))
    decide(blend, question, "translated", english={key(blend, "밥"): "rice; cooked rice", key(blend, "쌀밥"): "rice"})
    (found,) = merged_answers(blend, "ko")
    assert found.groups[0].texts == ("쌀밥", "밥")
    assert (found.groups[0].head, found.groups[0].english) == ("쌀밥", ("rice", "cooked rice"))
    assert (found.idks, found.people) == ({"idk": 0, "no-answer": 1, "not-applicable": 0}, 5)
    assert sorted(found.first.values()) == ["국", "국", "쌀밥", "쌀밥"]
    decide(blend, question, "undone", decision=str(merged.uuid))
    assert votes(blend) == {frozenset({"밥"}): 2, frozenset({"쌀밥"}): 2, frozenset({"국"}): 2}
    # Who does not agree to publication is in no release.
    people[3].consent_scopes = []
    people[3].save()
    (found,) = merged_answers(blend, "ko")
    assert (found.people, found.held, {group.head: group.votes for group in found.groups}["국"]) == (4, 1, 1)


def test_a_late_answer_joins_the_group_of_its_words(blend: Any) -> None:
    from kapwa.studio.events import RefusedError

    question, people = ask(blend, "아침에?"), answerers(blend, 4)
    answer(people[0], question, "밥")
    answer(people[1], question, "쌀밥")
    with pytest.raises(RefusedError, match="One answer alone"):
        decide(blend, question, "merged", keys=[key(blend, "밥")])
    decide(blend, question, "merged", keys=[key(blend, "밥"), key(blend, "쌀밥")])
    answer(people[2], question, "쌀밥")
    answer(people[3], question, "쌀 밥")
    assert votes(blend) == {frozenset({"밥", "쌀밥"}): 3, frozenset({"쌀 밥"}): 1}
    # Once nobody gives one of its answers any more, the group holds what is left, and takes it up again.
    answer(people[0], question, "국")
    assert votes(blend) == {frozenset({"쌀밥"}): 2, frozenset({"쌀 밥"}): 1, frozenset({"국"}): 1}
    answer(people[0], question, "밥")
    assert votes(blend) == {frozenset({"밥", "쌀밥"}): 3, frozenset({"쌀 밥"}): 1}


def test_stale_answers_count_only_where_somebody_confirmed_them(blend: Any) -> None:
    question, people = ask(blend, "아침에?"), answerers(blend, 2)
    answer(people[0], question, "밥")
    revise(blend, question, "아침에 무엇을?")
    answer(people[1], question, "밥")
    assert votes(blend) == {frozenset({"밥"}): 1}
    confirmed = decide(blend, question, "confirmed", seen=[[1, 1]], now=[2, 2])
    assert (
        votes(blend)
        == {frozenset({"밥"}): 2}
        == {box: len(who) for box, who in recount(blend, question.id, "ko").items()}
    )
    decide(blend, question, "undone", decision=str(confirmed.uuid))
    assert votes(blend) == {frozenset({"밥"}): 1}
    decide(blend, question, "confirmed", seen=[[1, 1]], now=[2, 2])
    revise(blend, question, "아침에 무엇을 먹나요?")
    assert votes(blend) == {}  # it was confirmed for another text


@pytest.mark.parametrize("seed", range(5))
def test_votes_equal_a_slow_recount_over_any_course(blend: Any, seed: int) -> None:
    """Random answers, decisions, undoings, a change of the question, and a withdrawal in between."""
    from kapwa.studio.erasure import erase_author
    from kapwa.studio.events import RefusedError, differences, snapshot

    drawn = random.Random(seed)
    question, people = ask(blend, "아침에?"), answerers(blend, 7)
    made: list[Any] = []

    def agrees() -> None:
        found, slow = votes(blend), recount(blend, question.id, "ko")
        assert found == {box: len(who) for box, who in slow.items()}

    def step() -> None:
        action = drawn.random()
        if action < 0.5:
            answer(drawn.choice(people), question, *drawn.sample(WORDS, drawn.randint(0, 3)))
        elif action < 0.7:
            keys = [key(blend, word) for word in drawn.sample(WORDS, drawn.randint(2, 3))]
            made.append(decide(blend, question, "merged", keys=keys))
        elif action < 0.8:
            made.append(decide(blend, question, "split", key=key(blend, drawn.choice(WORDS))))
        elif action < 0.85:
            english = {key(blend, word): "x" for word in drawn.sample(WORDS, 2)}
            made.append(decide(blend, question, "translated", actor=people[0].author, english=english))
        elif action < 0.9 and made:
            with contextlib.suppress(RefusedError):  # undone before
                decide(blend, question, "undone", decision=str(drawn.choice(made).uuid))
        elif action < 0.93:
            revise(blend, question, f"아침에 {drawn.random()}?")
        elif question.revision > 1:
            now = [question.revision, question.revision]
            made.append(decide(blend, question, "confirmed", seen=[[drawn.randint(1, question.revision)] * 2], now=now))
        agrees()

    for _ in range(25):
        step()
    gone = people.pop(drawn.randrange(len(people)))
    erase_author(blend, gone.author)
    agrees()
    assert differences(blend) == []
    assert gone.author not in str(snapshot(blend))
    for _ in range(10):
        step()
    assert differences(blend) == []


def test_nothing_that_was_made_of_a_removed_answer_is_left(blend: Any) -> None:
    from kapwa.studio.erasure import erase_author
    from kapwa.studio.events import differences, snapshot
    from kapwa.studio.models import Event

    question, people = ask(blend, "아침에?"), answerers(blend, 3)
    answer(people[0], question, "kanaryo-1", "밥", depends="kanaryo-2")
    answer(people[1], question, "쌀밥", "밥")
    keys = [key(blend, word) for word in ("kanaryo-1", "쌀밥")]
    decide(blend, question, "merged", actor=people[2].author, keys=keys)
    decide(blend, question, "named", actor=people[2].author, key=keys[0])
    english = {keys[0]: "kanaryo-3 in English", keys[1]: "boiled rice"}
    decide(blend, question, "translated", actor="merger", english=english)
    decide(blend, question, "translated", actor=people[2].author, english={key(blend, "밥"): "kanaryo-4"})
    assert votes(blend) == {frozenset({"kanaryo-1", "쌀밥"}): 2, frozenset({"밥"}): 2}
    erase_author(blend, people[0].author)
    kept = str(list(Event.objects.values_list("body"))) + str(snapshot(blend))
    assert [f"kanaryo-{place}" in kept for place in (1, 2, 3)] == [False] * 3
    assert "boiled rice" in kept
    assert votes(blend) == {frozenset({"쌀밥"}): 1, frozenset({"밥"}): 1}
    # Who merged leaves: what they decided stays, by nobody, and their own translation goes.
    erase_author(blend, people[2].author)
    assert "kanaryo" not in str(list(Event.objects.values_list("body"))) + str(snapshot(blend))
    assert people[2].author not in str(list(Event.objects.values_list("actor", "body"))) + str(snapshot(blend))
    assert differences(blend) == []
