"""Groups of items and ladders of steps, against their definitions written out, and as users meet them."""

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kapwa
from kapwa.errors import DataError
from kapwa.records import Item
from kapwa.report.board.ranks import ranked_task
from kapwa.report.board.table import board_table
from kapwa.report.sentences.groups import group_sentences
from kapwa.report.view.tasks import arrange
from kapwa.suites.base import Selection
from kapwa.suites.groups import _Answered, _rough_notes, agreement_excess
from kapwa.suites.items import linked, select

HEAD = "id,country,question_id,topic,question,option_A,option_B,option_C,answer,variant,group,step\n"


def item(name: str, group: str = "", step: str = "", cluster: str = "", culture: str = "Peru") -> Item:
    fields = {"group": group, "step": step} if group else {}
    return Item(name, "blend", culture, "en", "t", "t", "generate", cluster or name, fields)


def choices(folder: Path, rows: Sequence[tuple[str, str, str, str]]) -> Path:
    """Write questions: group, step, answer, country; ids count them."""
    folder.mkdir(exist_ok=True)
    lines = [
        f"{country}/{n},{country},{n},t,Question {n}?,yes,no,{'' if step else 'neutral'},{answer},0,{group},{step}\n"
        for n, (group, step, answer, country) in enumerate(rows)
    ]
    (folder / "mcq.csv").write_text(HEAD + "".join(lines), encoding="utf-8")
    return folder


def scored(data: Path, right: Sequence[bool], samples: int = 1, **chosen: Any) -> Any:
    """Score replies: of each item whether it is right; each item has ``samples`` of them in a row."""
    drawn = {"samples": samples, "temperature": 1.0} if samples > 1 else {}
    task = kapwa.load_task("blend/mcq", data=data, **drawn, **chosen)
    flags = iter(right)
    rows = [
        {
            "item_id": asked.id,
            "variant": asked.variant,
            "sample": sample,
            "text": asked.fields["answer"] if next(flags) else "AB"[asked.fields["answer"] == "A"],
        }
        for asked in task.items()
        for sample in range(samples)
    ]
    return kapwa.score_responses(task, pl.DataFrame(rows))


def estimates(run: Any, column: str = "value", culture: str = "Peru") -> dict[str, Any]:
    rows = run.estimates.filter(pl.col("group") == "all", culture=culture)
    return dict(rows.select("metric", column).iter_rows())


# --- definitions, slowly ------------------------------------------------------------------------------------


def slow_excess(groups: Sequence[tuple[int, int]]) -> float:
    """Groups that agree, less pᵏ + (1 − p)ᵏ; corrected for bias by leaving each out (the jackknife)."""
    return float(np.mean(pseudo_values(groups)))


def pseudo_values(groups: Sequence[tuple[int, int]]) -> np.ndarray:
    """What leaving out each group says of it."""

    def plain(kept: Sequence[tuple[int, int]]) -> float:
        p = sum(right for _, right in kept) / sum(k for k, _ in kept)
        return sum((right in (0, k)) - p**k - (1 - p) ** k for k, right in kept) / len(kept)

    n = len(groups)
    left_out = [plain([*groups[:i], *groups[i + 1 :]]) for i in range(n)]
    return n * plain(groups) - (n - 1) * np.array(left_out)


GROUPS = st.lists(st.integers(2, 5).flatmap(lambda k: st.tuples(st.just(k), st.integers(0, k))), min_size=2, max_size=9)


@given(GROUPS)
@settings(max_examples=60, deadline=None)
def test_agreement_above_chance_is_what_leaving_out_each_group_says(groups: list[tuple[int, int]]) -> None:
    sizes, rights = (np.array(part, dtype=float) for part in zip(*groups, strict=True))
    values, n = agreement_excess(sizes, rights), len(groups)
    assert values.mean() == pytest.approx(slow_excess(groups), abs=1e-9)
    # About their mean they lie as the jackknife's pseudo-values do, but for the allowance of four groups.
    pseudo = pseudo_values(groups)
    assert values - values.mean() == pytest.approx(np.sqrt(1 + 4 / n) * (pseudo - pseudo.mean()), abs=1e-9)


def test_right_answers_dealt_out_at_random_agree_no_more_than_chance() -> None:
    random = np.random.default_rng(7)
    dealt = random.permuted(np.repeat([True, False], [2600, 1400])).reshape(1000, 4)
    assert abs(agreement_excess(np.full(1000, 4.0), dealt.sum(axis=1)).mean()) < 0.03


ANSWERS = st.lists(st.booleans(), min_size=12, max_size=12)


@given(ANSWERS)
@settings(max_examples=6, deadline=None)
def test_a_group_is_right_where_each_of_its_items_is(
    tmp_path_factory: pytest.TempPathFactory, right: list[bool]
) -> None:
    groups = "aaaabbbbcccc"
    data = choices(tmp_path_factory.mktemp("g"), [(name, "", "AABC"[n % 4], "Peru") for n, name in enumerate(groups)])
    run = scored(data, right)
    parts = [right[start : start + 4] for start in (0, 4, 8)]
    found = estimates(run)
    assert found["all_right"] == pytest.approx(sum(map(all, parts)) / 3)
    assert found["consistency"] == pytest.approx(sum(len(set(part)) == 1 for part in parts) / 3)
    assert found["consistency_excess"] == pytest.approx(slow_excess([(4, sum(part)) for part in parts]))
    assert estimates(run, "n")["all_right"] == 3
    assert estimates(run, "clusters")["mcq_acc"] == 3


@given(st.lists(st.booleans(), min_size=9, max_size=9))
@settings(max_examples=6, deadline=None)
def test_a_gain_is_the_mean_difference_within_groups(
    tmp_path_factory: pytest.TempPathFactory, right: list[bool]
) -> None:
    steps = ["bare", "hint", "rule"]
    rows = [(group, step, "A", "Peru") for group in "abc" for step in steps]
    found = estimates(scored(choices(tmp_path_factory.mktemp("g"), rows), right))
    at = {step: right[place::3] for place, step in enumerate(steps)}
    for place, step in enumerate(steps, start=1):
        assert found[f"step_{place}"] == pytest.approx(sum(at[step]) / 3)
    for place, (before, after) in enumerate(itertools.pairwise(steps), start=2):
        differences = [b - a for a, b in zip(at[before], at[after], strict=True)]
        assert found[f"gain_{place}"] == pytest.approx(sum(differences) / 3)
    assert "all_right" not in found


# --- floors -------------------------------------------------------------------------------------------------


def test_a_guess_is_right_in_a_whole_group_as_the_product_says(tmp_path: Path) -> None:
    rows = [("a", "", "A", "Peru"), ("a", "", "A", "Peru"), ("b", "", "A", "Nepal"), ("b", "", "B", "Nepal")]
    task = kapwa.load_task("blend/mcq", data=choices(tmp_path, rows))
    floors = {(f.name, f.note): f for f in task.floors(task.items()) if f.metric == "all_right"}
    assert floors["chance", ""].value == pytest.approx(1 / 9)
    assert floors["chance", ""].by_item is None
    assert (floors["always A", "Peru"].value, floors["always A", "Nepal"].value) == (1.0, 0.0)
    by_item = floors["always A", ""].by_item
    assert [value for value in by_item if not math.isnan(value)] == [1.0, 0.0]


def test_a_report_tells_groups_and_gains_in_words(tmp_path: Path) -> None:
    rows = [("a", "", "A", "Peru"), ("a", "", "A", "Peru"), *(("b", step, "A", "Peru") for step in ("less", "more"))]
    task = kapwa.load_task("blend/mcq", data=choices(tmp_path, rows))
    replies = [
        {"item_id": one.id, "variant": one.variant, "text": "B" if one.fields["step"] else "A"} for one in task.items()
    ]
    pl.DataFrame(replies).write_ndjson(tmp_path / "replies.jsonl")
    run = kapwa.evaluate(task, kapwa.load_model(f"replay:{tmp_path / 'replies.jsonl'}"), out=tmp_path, progress=False)
    assert (
        "how many groups are all right is another metric (all_right)"
        in board_table([ranked_task(arrange([run])[0])]).note
    )
    assert group_sentences(arrange([run])[0]) == [
        "Groups with every item right: replies.jsonl 100.0% (no interval); guessing would give 11.1%.",
        "Gain from “less” to “more” (paired by group): replies.jsonl 0.0 points (no interval).",
    ]


@pytest.mark.parametrize(("groups", "right", "rough"), [(19, 9, True), (20, 10, False), (20, 20, True), (1, 1, False)])
def test_agreement_beyond_chance_is_rough_of_few_or_easy_groups(groups: int, right: int, rough: bool) -> None:
    answered = [_Answered([item(f"{n}", group=f"g{n}")], 0, [float(n < right)] * 2) for n in range(groups)]
    notes = list(_rough_notes(answered))
    assert [note.partition(":")[0] for note in notes] == ["The interval of consistency_excess is rough in Peru"] * rough


# --- what belongs together ----------------------------------------------------------------------------------


def test_items_without_a_group_are_left_as_they_are() -> None:
    items = [item("1"), item("2")]
    assert select(items, Selection(), known=("generate",), default=("generate",)) == items


def test_steps_are_in_the_order_of_numbers_else_of_the_table() -> None:
    numbers = linked([item("1", "a", "10"), item("2", "a", "9")])
    assert numbers[0].fields["steps"] == ["9", "10"]
    assert linked([item("1", "a", "z"), item("2", "a", "b")])[0].fields["steps"] == ["z", "b"]


def test_a_group_is_one_cluster_and_of_one_culture() -> None:
    chained = linked([item("1", "a", cluster="x"), item("2", "a", cluster="y"), item("3", "a", culture="Nepal")])
    assert [one.cluster for one in chained] == ["x", "x", "x"]
    assert [one.fields["group_size"] for one in chained] == [2, 2, 1]


def test_a_group_that_is_cut_counts_nowhere(tmp_path: Path) -> None:
    rows = [("a", "", "A", "Peru"), ("a", "", "A", "Peru"), ("b", "", "A", "Peru"), ("b", "", "A", "Peru")]
    run = scored(choices(tmp_path, rows), [True, True, False], limit=3)
    assert estimates(run)["all_right"] == 1.0
    assert estimates(run, "n")["all_right"] == 1
    task = kapwa.load_task("blend/mcq", data=tmp_path, limit=3)
    assert task.score(task.items(), []).notes == [
        "Groups of which some items were not asked, and which no score of groups counts: 1."
    ]


def test_samples_are_paired_by_their_numbers(tmp_path: Path) -> None:
    rows = [("a", "", "A", "Peru"), ("a", "", "A", "Peru")]
    data = choices(tmp_path, rows)
    run = scored(data, [True, False, True, False], samples=2)
    assert estimates(run)["all_right"] == 0.5
    assert estimates(scored(data, [True, False, False, True], samples=2))["all_right"] == 0.0


def test_a_group_with_an_answer_missing_has_no_score(tmp_path: Path) -> None:
    task = kapwa.load_task("blend/mcq", data=choices(tmp_path, [("a", "", "A", "Peru"), ("a", "", "A", "Peru")]))
    first = task.items()[0]
    run = kapwa.score_responses(task, pl.DataFrame([{"item_id": first.id, "variant": first.variant, "text": "A"}]))
    rows = run.scores.filter(metric="all_right")
    assert rows.select("value", "outcome").rows() == [(None, "failed")]


def test_situations_and_short_answers_have_groups_too(tmp_path: Path) -> None:
    card = "culture: Philippines\nlanguage: en\ntitle: t\nversion: '1'\nlicence: CC0-1.0\nauthors: [a]\ncollected: c\n"
    card += "consent: none needed\nreviewed_by_native_speakers: false\nlimits: [few]\n"
    tables = {
        "k": {
            "situations.csv": "id,cluster,category,topic,context,best,relevant,irrelevant,group,step\n"
            "1,s,c,t,Rain.,a,a;b;c,d;e;f,g,less\n2,s,c,t,Much rain.,a,a;b;c,d;e;f,g,more\n"
        },
        "q": {
            "questions.csv": "id,topic,local,group\nq1,Food,What is drunk?,g\nq2,Food,What is eaten?,g\n",
            "answers.csv": "id,local\nq1,tea\nq2,rice\n",
            "prompts.csv": "id,english,local\ninst-4,{q},{q}\n",
        },
    }
    for folder, files in tables.items():
        (tmp_path / folder).mkdir()
        for name, text in {"card.yaml": card, **files}.items():
            (tmp_path / folder / name).write_text(text, encoding="utf-8")
    situations = kapwa.load_task("kalahi/mc", data=tmp_path / "k")
    assert situations.headline == ("mc1", "mc2", "gain_2")
    floors = {(floor.metric, floor.name): floor.value for floor in situations.floors(situations.items())}
    assert floors["step_2", "chance"] == 0.25
    short = kapwa.load_task("blend/saq", data=tmp_path / "q")
    assert {one.cluster for one in short.items()} == {"q1"}
    rows = [{"item_id": one.id, "variant": one.variant, "text": "tea"} for one in short.items()]
    found = estimates(kapwa.score_responses(short, pl.DataFrame(rows)), culture="Philippines")
    assert (found["sem_b"], found["all_right"], found["consistency"]) == (0.5, 0.0, 0.0)


# --- bad input ----------------------------------------------------------------------------------------------


def test_a_step_of_no_group_is_named(tmp_path: Path) -> None:
    choices(tmp_path, [("", "1", "A", "Peru")])
    with pytest.raises(DataError, match="no group") as error:
        kapwa.load_task("blend/mcq", data=tmp_path)
    assert (error.value.row, error.value.column) == (2, "step")


def test_a_group_of_which_some_items_have_no_step_is_named(tmp_path: Path) -> None:
    choices(tmp_path, [("a", "1", "A", "Peru"), ("a", "", "A", "Peru")])
    with pytest.raises(DataError, match="'Peru/1' has no step"):
        kapwa.load_task("blend/mcq", data=tmp_path)


# --- mappings -----------------------------------------------------------------------------------------------


def mapped(folder: Path, **changed: str) -> Path:
    lines = {
        "form": "blend/mcq",
        "table": "t.csv",
        "columns": "{id: nr, country: land, answer: gold}",
        "constants": "{options: yes; no}",
        "steps": '{bare: {question: "{story}"}, told: {question: "{rule}: {story}"}}',
        "answer_is": "text",
        **changed,
    }
    (folder / "mapping.yaml").write_text("".join(f"{name}: {text}\n" for name, text in lines.items()), encoding="utf-8")
    (folder / "t.csv").write_text("nr,land,story,rule,gold\n7,Peru,A {rule} here,Bow,yes\n", encoding="utf-8")
    return folder


def test_steps_make_a_group_of_each_row(tmp_path: Path) -> None:
    items = kapwa.load_task("blend/mcq", data=mapped(tmp_path)).items()
    assert [(one.id, one.fields["group"], one.fields["step"]) for one in items] == [
        ("Peru/7-bare", "7", "bare"),
        ("Peru/7-told", "7", "told"),
    ]
    # What a cell holds is never read as a part of the text.
    assert [one.fields["question"] for one in items] == ["A {rule} here", "Bow: A {rule} here"]


OF_ANSWERS = {
    "form": "blend/saq",
    "columns": "{id: nr, culture: land, answers: gold}",
    "constants": "{language: en}",
    "steps": '{bare: {local: story}, told: {local: "{rule}: {story}"}}',
}
OF_CRITERIA = OF_ANSWERS | {"form": "longform/criteria", "columns": "{id: nr, culture: land, criteria: gold}"}


def test_questions_with_short_answers_have_steps_too(tmp_path: Path) -> None:
    items = kapwa.load_task("blend/saq", data=mapped(tmp_path, **OF_ANSWERS), variant="local/inst-4").items()
    assert [(one.fields["group"], one.fields["step"]) for one in items] == [("7", "bare"), ("7", "told")]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"steps": "{a: {question: '{storey}'}}"}, "storey"),
        ({"steps": "{a: {quest: '{story}'}}"}, "not a field of blend/mcq"),
        ({"steps": "{a: {question: '{story}', id: nr}}"}, "in columns too"),
        (OF_CRITERIA | {"steps": "{a: {question: story}}"}, "rows of longform/criteria have no groups"),
    ],
)
def test_steps_that_cannot_be_read_are_named(tmp_path: Path, changed: dict[str, str], said: str) -> None:
    with pytest.raises(DataError, match=said):
        kapwa.load_task(changed.get("form", "blend/mcq"), data=mapped(tmp_path, **changed))


def test_one_group_answered_twice_tells_no_more_of_chance(tmp_path: Path) -> None:
    data = choices(tmp_path / "d", [("g", "", "A", "Peru"), ("g", "", "B", "Peru")])
    run = scored(data, [True, False, True, True], samples=2)
    assert "consistency_excess" not in estimates(run)
