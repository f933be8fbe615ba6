"""What stands before every question: a system message, and answered examples from other items."""

import json
import re
from pathlib import Path

import pytest
from tiny_suite import TinyModel

import kapwa
from kapwa.errors import UsageError
from kapwa.records import Request
from kapwa.runs.manifest import describe
from kapwa.runs.requests import requests_of
from kapwa.suites.base import Task


def requests(task: Task) -> list[Request]:
    return list(task.requests(task.items()))


def prompts(task: Task) -> list[tuple[str, ...]]:
    return [tuple(message.content for message in request.messages) for request in requests(task)]


def test_a_system_message_is_part_of_every_request_of_the_signature_and_of_the_runs_identity() -> None:
    plain = kapwa.load_task("kalahi/open", data="sample:filipino")
    told = kapwa.load_task("kalahi/open", data="sample:filipino", system="Maging magalang.")
    for before, request in zip(requests(plain), requests(told), strict=True):
        assert [(one.role, one.content) for one in request.messages[:1]] == [("system", "Maging magalang.")]
        assert request.messages[1:] == before.messages
    assert told.options == {**plain.options, "system": "Maging magalang."}
    assert requests_of(told, told.items(), {}).identity != requests_of(plain, plain.items(), {}).identity
    signatures = [describe(task, TinyModel(), task.items(), seed=0)["signature"] for task in (plain, told)]
    assert re.search(r"[:,]system=[0-9a-f]{6}\|", signatures[1])
    assert "system" not in signatures[0]
    with pytest.raises(UsageError, match="system message is empty"):
        kapwa.load_task("kalahi/open", system=" ")


@pytest.mark.parametrize("task", ["kalahi/mc", "kalahi/open", "blend/saq"])
def test_examples_are_answered_items_of_other_clusters_in_the_same_culture_and_variant(task: str) -> None:
    variant = "full,unenriched" if task.startswith("kalahi") else "local/inst-4,en/inst-4"
    plain = kapwa.load_task(task, variant=variant)
    shown = kapwa.load_task(task, variant=variant, shots=2)
    of_prompt: dict[str, set[tuple[str, str, str]]] = {}
    for item in plain.items():
        of_prompt.setdefault(item.fields["prompt"], set()).add((item.culture, item.variant, item.cluster))
    for item, request in zip(shown.items(), requests(shown), strict=True):
        assert [one.role for one in request.messages] == ["user", "assistant"] * 2 + ["user"]
        assert request.messages[-1].content == item.fields["prompt"]
        clusters = [item.cluster]
        for example in (request.messages[0], request.messages[2]):
            found = {c for culture, v, c in of_prompt[example.content] if (culture, v) == (item.culture, item.variant)}
            clusters += found
        assert len(set(clusters)) == 3
    assert shown.options["shots"] == 2


def test_examples_show_right_answers() -> None:
    task = kapwa.load_task("kalahi/open", data="sample:filipino", shots=1)
    best = {item.fields["prompt"]: item.fields["best"] for item in task.items()}
    assert all(best[question] == answer for question, answer, _ in prompts(task))


def test_examples_of_multiple_choice_are_in_the_form_that_the_prompt_asks_for(tmp_path: Path) -> None:
    kapwa.build_mcq(None, tmp_path / "mcq")
    for how, right in (("generate", r'\{"answer_choice": "[A-D]"\}'), ("likelihood", r".+")):
        task = kapwa.load_task("blend/mcq", data=tmp_path / "mcq", how=how, shots=1, limit=2)
        answers = {item.fields["prompt"]: item.fields["answer"] for item in task.items()}
        for question, answer, *_ in prompts(task):
            assert re.fullmatch(right, answer)
            if how == "generate" and question in answers:
                assert json.loads(answer)["answer_choice"] == answers[question]


def test_the_same_item_has_the_same_examples_whatever_part_of_the_data_is_asked() -> None:
    whole = {r.item_id: r for r in requests(kapwa.load_task("kalahi/mc", data="sample:filipino", shots=3))}
    part = requests(kapwa.load_task("kalahi/mc", data="sample:filipino", shots=3, limit=4, subset="random"))
    assert len(part) == 4
    assert all(request == whole[request.item_id] for request in part)
    other = requests(kapwa.load_task("kalahi/mc", data="sample:filipino", shots=3, draw_seed=1))
    assert [r.messages for r in other] != [r.messages for r in whole.values()]


@pytest.mark.parametrize(
    ("task", "shots", "said"),
    [
        ("eecc/qa", 1, "eecc/qa has no right answers"),
        ("kalahi/mc", 99, "99 examples for item"),
        ("kalahi/mc", -1, "-1"),
    ],
)
def test_examples_that_cannot_be_are_refused(task: str, shots: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        kapwa.load_task(task, shots=shots)


def test_texts_of_a_run_with_a_system_message_are_found_again_by_an_analysis(tmp_path: Path) -> None:
    from kapwa.runs.finished_answers import texts_of

    task = kapwa.load_task("eecc/qa", system="Answer in one line.", samples=1, limit=1)
    run = kapwa.evaluate(task, TinyModel(), out=tmp_path, progress=False)
    found = list(texts_of(run))
    assert found
    assert all(request.messages[0].content == "Answer in one line." for _, request, _ in found)
