"""Every question in several wordings, and several answers drawn to each prompt."""

import json
from pathlib import Path

import pytest
from tiny_suite import TinyModel

import kapwa
from kapwa.errors import DataError, UsageError
from kapwa.models.gate import gate
from kapwa.records import Answer, Response
from kapwa.runs.manifest import describe
from kapwa.stats.estimate_tables import estimate_table
from kapwa.suites.base import Task

WORDINGS = 'id,text\npolite,"Please answer. {prompt}"\nlast,"{prompt}\n\nThink first."\n'


@pytest.fixture
def wordings(tmp_path: Path) -> Path:
    path = tmp_path / "wordings.csv"
    path.write_text(WORDINGS, encoding="utf-8")
    return path


def answered(task: Task, *, text: str = "B") -> list[Answer]:
    return [Answer(one, gate(Response(one.key, text=f"{text}{one.sample}"))) for one in task.requests(task.items())]


@pytest.mark.parametrize("name", ["kalahi/open", "blend/saq"])
def test_every_item_is_asked_in_every_wording_as_often_as_answers_are_drawn(name: str, wordings: Path) -> None:
    plain = kapwa.load_task(name, limit=2)
    task = kapwa.load_task(name, limit=2, wordings=wordings, samples=3, draw_seed=7)
    before, asked = list(plain.requests(plain.items())), list(task.requests(task.items()))
    assert len(asked) == 3 * 3 * len(before)
    assert "n_samples" in task.needs
    first = before[0]
    own = [one for one in asked if one.item_id == first.item_id and one.variant.partition("+")[0] == first.variant]
    assert [(one.variant.partition("+")[2], one.sample) for one in own] == [
        (name, k) for name in ("", "polite", "last") for k in range(3)
    ]
    prompt = first.messages[-1].content
    assert {one.messages[-1].content for one in own} == {
        prompt,
        f"Please answer. {prompt}",
        f"{prompt}\n\nThink first.",
    }
    assert {(one.params.temperature, one.params.seed) for one in asked} == {(1.0, 7)}
    assert json.loads(task.options["wordings"]) == {
        "polite": "Please answer. {prompt}",
        "last": "{prompt}\n\nThink first.",
    }
    signature = describe(task, TinyModel(), task.items(), seed=7)["signature"]
    assert "samples=3" in signature and "Please" not in signature  # noqa: PT018


@pytest.mark.parametrize("name", ["kalahi/open", "blend/saq"])
def test_judged_floors_and_tables_are_those_of_the_task_for_each_wording(name: str, wordings: Path) -> None:
    plain = kapwa.load_task(name, limit=2, samples=2)
    task = kapwa.load_task(name, limit=2, wordings=wordings, samples=2)
    alone, judged = plain.score(plain.items(), answered(plain)), task.score(task.items(), answered(task))
    for suffix in ("", "+polite", "+last"):
        variants = {item.variant: item.variant + suffix for item in plain.items()}
        wanted = alone.scores.with_columns(variant=alone.scores["variant"].replace_strict(variants))
        kept = judged.scores.filter(judged.scores["variant"].is_in(list(variants.values())))
        assert kept.equals(wanted)
        floors = [one._replace(variant=variants[one.variant]) for one in plain.floors(plain.items())]
        assert [one for one in task.floors(task.items()) if one.variant in variants.values()] == floors
    assert set(judged.tables) == set(alone.tables)
    assert judged.tables["answers"].height == 3 * alone.tables["answers"].height
    table = task.item_table(task.items())
    assert table.height == 3 * plain.item_table(plain.items()).height
    assert table.filter(table["variant"].str.ends_with("+polite"))["prompt"].str.starts_with("Please answer. ").all()


def test_estimates_average_samples_within_items() -> None:
    task = kapwa.load_task("blend/saq", limit=3, samples=4)
    judged = task.score(task.items(), answered(task))
    one = judged.scores.filter(metric="sem_b")
    assert one.height == 4 * len(task.items())
    metrics = {"sem_b": True}
    once = estimate_table(one.filter(sample=0), metrics=metrics, groups=())
    several = estimate_table(one, metrics=metrics, groups=())
    assert several["n"].to_list() == once["n"].to_list()
    assert several["clusters"].to_list() == once["clusters"].to_list()


def test_given_texts_are_asked_in_wordings_but_not_drawn(wordings: Path) -> None:
    task = kapwa.load_task("kalahi/mc", data="sample:filipino", limit=1, wordings=wordings)
    assert {one.variant.partition("+")[2] for one in task.requests(task.items())} == {"", "polite", "last"}
    with pytest.raises(UsageError, match="nothing is drawn"):
        kapwa.load_task("kalahi/mc", data="sample:filipino", samples=2)
    with pytest.raises(UsageError, match="copies of one text"):
        kapwa.load_task("kalahi/open", data="sample:filipino", samples=2, temperature=0.0)
    with pytest.raises(UsageError, match="takes no 'wordings'"):
        kapwa.load_task("eecc/qa", wordings=wordings)
    assert "samples" not in kapwa.load_task("kalahi/mc", data="sample:filipino", samples=1).options


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("id,text\n", None, "holds no rows"),
        ("id,text\npolite,Please answer.\n", "text", "no place for the question"),
        ("id,text\na+b,{prompt}\n", "id", "not a plain name"),
        ("id,text\na,{prompt}\na,Well: {prompt}\n", "id", "a"),
        ("name,words\na,{prompt}\n", "id", ""),
    ],
)
def test_a_bad_file_of_wordings_is_refused_with_row_and_column(
    tmp_path: Path, text: str, column: str | None, message: str
) -> None:
    path = tmp_path / "wordings.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        kapwa.load_task("kalahi/open", data="sample:filipino", wordings=path)
    assert message in str(caught.value)
    assert (caught.value.column, caught.value.path) == (column, path)
