"""Votes counted slowly, from the log alone and from what the words mean; the twin of ``merged_answers``."""

from typing import Any

from kapwa.studio.core.text import key_of
from kapwa.studio.models import Event, Question, Wording


def recount(project: Any, question: str, language: str) -> dict[frozenset[str], set[str]]:
    """Return the people behind each group of answers to a question as it is asked now.

    The log is read once to the end, for each decision that was not undone: answers in one box mean the same.
    """
    events = [
        event
        for event in Event.objects.filter(project=project, subject=question, erased=False).order_by("seq")
        if event.body.get("language") == language
    ]
    now = (Question.objects.get(id=question).revision, Wording.objects.get(id=f"{question}:{language}").revision)
    last = {event.actor: event.body for event in events if event.kind == "answer.given"}
    undone = {event.body["decision"] for event in events if event.kind == "answers.undone"}
    decided = [event for event in events if str(event.uuid) not in undone]
    counted = {now}
    for event in decided:
        if event.kind == "answers.confirmed" and tuple(event.body["now"]) == now:
            counted |= {tuple(one) for one in event.body["seen"]}
    given = {
        author: set(body["texts"])
        for author, body in last.items()
        if (body["question_revision"], body["wording_revision"]) in counted
    }
    every = {text for event in events if event.kind == "answer.given" for text in event.body["texts"]}
    words = {key_of(project, text): text for text in every}
    # Answers whose words were erased keep their places in boxes, as keys that mean nothing.
    boxes = [{word} for word in words.values()]
    for event in decided:
        if event.kind == "answers.merged":
            named = {words.get(key, key) for key in event.body["keys"]}
            boxes += [{key} for key in named if not any(key in box for box in boxes)]
            touched = [box for box in boxes if box & named]
            boxes = [box for box in boxes if not box & named] + [set().union(*touched)]
        elif event.kind == "answers.split":
            word = words.get(event.body["key"], event.body["key"])
            boxes = [box - {word} for box in boxes] + [{word}]
    present = set().union(*given.values()) if given else set()
    found = {frozenset(box & present) for box in boxes} - {frozenset()}
    return {box: {author for author, texts in given.items() if texts & box} for box in found}
