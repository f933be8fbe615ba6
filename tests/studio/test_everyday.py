"""Everyday questions: what is agreed to and asked, against a plain recount from the log; and the pages."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from kapwa.errors import KapwaError

PEOPLE = ("a", "b", "c", "d", "e")
LANGUAGES = ("en", "ar", "ko")


def recounted(events: Sequence[Any]) -> dict[tuple[str, str], tuple[str, str, int, int]]:
    """From the definitions, slowly: by question and language, the text, its state, and the votes for and against."""
    found: dict[tuple[str, str], tuple[str, str, int, int]] = {}
    for begun in (one for one in events if one.kind == "question.written"):
        key = str(begun.uuid)
        own = [one for one in events if one.subject == key]
        texts = [begun]
        for one in own:
            if one.kind == "question.revised" and one.body["text"] != texts[-1].body["text"]:
                texts.append(one)
        for tag in LANGUAGES:
            theirs = [one for one in own if one.kind == "wording.proposed" and one.body["language"] == tag]
            last = texts[-1] if tag == begun.body["language"] else theirs[-1] if theirs else None
            if last is None:
                continue
            outdated = last not in texts and last.body["source"] != str(texts[-1].uuid)
            thinking = {}
            for one in own:
                if one.kind in ("wording.agreed", "wording.refused") and one.body["wording"] == str(last.uuid):
                    thinking[one.actor] = one.kind == "wording.agreed"
            yes = sum(thinking.values())
            no = len(thinking) - yes
            approved = yes >= 2 and yes / (yes + no) >= 2 / 3
            state = "outdated" if outdated else "approved" if approved else "proposed"
            found[key, tag] = (last.body["text"], state, yes, no)
    return found


def stored(project: Any) -> dict[tuple[str, str], tuple[str, str, int, int]]:
    from kapwa.studio.models import Wording

    return {
        (one.question, one.language): (one.text, one.state, len(one.agreed), len(one.refused))
        for one in Wording.objects.filter(project=project)
    }


def something(project: Any, draw: random.Random) -> None:
    """Let somebody do something, whether it is allowed or not."""
    from kapwa.studio.events import record
    from kapwa.studio.models import Question, Wording

    actor, tag = draw.choice(PEOPLE), draw.choice(LANGUAGES)
    questions = list(Question.objects.filter(project=project))
    doing = draw.choice(["write", "revise", "sort", *["propose"] * 4, *["think"] * 12])
    if doing == "write" or not questions:
        if len(questions) < 3:
            body = {"text": f"t{draw.random()}", "language": draw.choice(LANGUAGES), "topic": "", "kind": "text"}
            record(project, "question.written", {**body, "name": ""}, actor=actor)
        return
    one = draw.choice(questions)
    doing = "retire" if one.retired or draw.random() < 0.03 else doing
    word = Wording.objects.filter(id=f"{one.id}:{tag}").first()
    seen = word.text_event if word else ""
    stale = draw.random() < 0.1  # they saw an older text
    if doing in ("revise", "sort"):
        text = one.text if doing == "sort" else f"t{draw.random()}"
        body = {"base": "x" if stale else one.text_event, "text": text, "topic": draw.choice("xy"), "kind": "text"}
        record(project, "question.revised", body, actor=actor, subject=one.id)
    elif doing == "retire":
        record(project, "question.retired", {"retired": not one.retired}, actor=actor, subject=one.id)
    elif doing == "propose":
        text = draw.choice([f"t{draw.random()}", word.text if word else "t"])
        body = {"language": tag, "text": text, "note": "", "source": one.text_event, "base": "x" if stale else seen}
        record(project, "wording.proposed", body, actor=actor, subject=one.id)
    elif draw.random() < 0.75:
        record(project, "wording.agreed", {"language": tag, "wording": seen}, actor=actor, subject=one.id)
    else:
        body = {"language": tag, "wording": seen, "reason": "r", "reason_language": "en"}
        record(project, "wording.refused", body, actor=actor, subject=one.id)


@pytest.mark.parametrize("seed", range(6))
def test_states_equal_a_plain_recount_of_the_log_also_after_an_erasure(project: Any, seed: int) -> None:
    from django.db import transaction

    from kapwa.studio.erasure import erase_author
    from kapwa.studio.events import differences
    from kapwa.studio.models import Event, Question
    from kapwa.studio.projections.everyday import askable

    draw, refused = random.Random(seed), 0
    states: set[str] = set()

    def same() -> None:
        events = list(Event.objects.filter(project=project, erased=False).order_by("seq"))
        expected = recounted(events)
        assert stored(project) == expected
        states.update(state for _, state, _, _ in expected.values())
        retired = set(Question.objects.filter(project=project, retired=True).values_list("id", flat=True))
        for tag in LANGUAGES:
            asked = {(one.question.id, one.wording.text) for one in askable(project, tag)}
            assert asked == {
                (key, text)
                for (key, own, (text, state, *_)) in ((k, t, row) for (k, t), row in expected.items())
                if own == tag and state == "approved" and key not in retired
            }

    for step in range(140):
        try:
            with transaction.atomic():
                something(project, draw)
        except KapwaError:
            refused += 1
        if step % 10 == 9:
            same()
    assert refused > 5
    assert states == {"proposed", "approved", "outdated"}
    erase_author(project, draw.choice(PEOPLE))
    same()
    assert differences(project) == []
    for _ in range(30):  # life goes on, with numbers that were never used
        try:
            with transaction.atomic():
                something(project, draw)
        except KapwaError:
            continue
    same()
    assert differences(project) == []
