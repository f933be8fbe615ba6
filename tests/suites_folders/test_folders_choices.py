"""Choices of two to twenty options, paths into JSON and rows left out, all by a mapping."""

import csv
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml

import kapwa
from kapwa.errors import DataError, UsageError
from kapwa.models.gate import gate
from kapwa.records import Answer, ContinuationScore, Request, Response
from kapwa.suites.choices.reader import read_choice
from kapwa.suites.folders.adding import check_folder
from kapwa.suites.folders.paths import cell_at, column_of
from kapwa.suites.items import ALL_LETTERS

TWENTY = [f"food {number}" for number in range(1, 21)]
BY_COLUMN: dict[str, Any] = {
    "form": "blend/mcq",
    "table": "table.csv",
    "columns": {
        **{"id": "n", "country": "land", "question": "ask", "answer": "right"},
        **{f"option_{letter}": f"o{place}" for place, letter in enumerate(ALL_LETTERS)},
    },
}


def folder(path: Path, mapping: dict[str, Any], name: str, text: str) -> Path:
    path.mkdir(exist_ok=True)
    (path / "mapping.yaml").write_text(yaml.safe_dump(mapping), encoding="utf-8")
    (path / name).write_text(text, encoding="utf-8")
    return path


def by_column(path: Path, *rows: tuple[str, list[str]], **changes: Any) -> Path:
    """A table with a column for each of twenty options, whose rows have as many as they have."""
    path.mkdir(exist_ok=True)
    with (path / "table.csv").open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["n", "land", "ask", "right", *(f"o{place}" for place in range(20))])
        for number, (answer, options) in enumerate(rows, start=1):
            writer.writerow([number, "Kenya", f"Which {number}?", answer, *options, *[""] * (20 - len(options))])
    (path / "mapping.yaml").write_text(yaml.safe_dump(BY_COLUMN | changes), encoding="utf-8")
    return path


def test_each_question_has_as_many_options_as_its_row(tmp_path: Path) -> None:
    data = by_column(tmp_path / "c", ("(b)", ["yes", "no"]), ("c", ["yes", "no", "neutral"]), ("T", TWENTY))
    task = kapwa.load_task("blend/mcq", data=data)
    options = {item.cluster: item.fields["options"] for item in task.items()}
    assert options == {"1": ("yes", "no"), "2": ("yes", "no", "neutral"), "3": tuple(TWENTY)}
    assert [item.fields["answer"] for item in task.items()] == ["B", "C", "T"]
    assert "T. food 20\n" in task.items()[2].fields["prompt"]
    floors = {floor.name: floor.value for floor in task.floors(task.items()) if floor.note == ""}
    assert floors["chance"] == pytest.approx(fmean([1 / 2, 1 / 3, 1 / 20]))
    assert floors["always T"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("answer", "options", "column", "message"),
    [
        ("A", ["yes"], "o1", "is empty."),
        ("A", ["yes", "", "neutral"], "o1", "is empty."),
        ("D", ["yes", "no", "neutral"], "right", "'D' names no option."),
        ("A", ["yes", "no", "Yes"], "o0", "the option 'yes' appears twice."),
    ],
)
def test_a_faulty_row_is_named(tmp_path: Path, answer: str, options: list[str], column: str, message: str) -> None:
    with pytest.raises(DataError) as raised:
        kapwa.load_task("blend/mcq", data=by_column(tmp_path / "c", (answer, options)))
    assert (raised.value.row, raised.value.column, raised.value.message) == (2, column, message)


@pytest.mark.parametrize("count", [2, 5, 12, 20])
def test_replies_are_read_by_letter_number_or_text(count: int) -> None:
    options = TWENTY[:count]
    for place in {0, 1, count // 2, count - 1}:
        letter = ALL_LETTERS[place]
        replies = [
            f'{{"answer_choice": "{letter}"}}',
            f"The correct answer is {letter}.",
            f"**{letter}. {options[place]}**",
            f"({letter.lower()})",
            f"Option {letter}",
            f"I would say: {options[place]}",
        ]
        assert [read_choice(reply, options).letter for reply in replies] == [letter] * len(replies)


@pytest.mark.parametrize("reply", ["I do not know, it's hard to say.", "S and T are both right.", "Option 21", "U"])
def test_what_names_no_one_option_of_twenty_is_unread(reply: str) -> None:
    assert read_choice(reply, TWENTY).letter is None


def test_likelihoods_of_unlike_numbers_of_options(tmp_path: Path) -> None:
    data = by_column(tmp_path / "c", ("B", ["yes", "no"]), ("C", ["yes", "no", "neutral", "other", "none"]))
    task = kapwa.load_task("blend/mcq", data=data, how="likelihood")

    def answer(request: Request) -> Answer:
        likely = {"no", "B", "neutral", "D"}
        sums = [-1.0 if text in likely else -9.0 for text in request.continuations]
        logprobs = [
            ContinuationScore(value, 1, len(text), len(text))
            for value, text in zip(sums, request.continuations, strict=True)
        ]
        return Answer(request, gate(Response("", logprobs=tuple(logprobs))))

    judged = task.score(task.items(), [answer(request) for request in task.requests(task.items())])
    values = {(row["cluster"], row["metric"]): row["value"] for row in judged.scores.iter_rows(named=True)}
    assert values["1", "mcq_letter"] == 1.0
    assert values["2", "mcq_letter"] == 0.0  # B and D are as likely as each other: a tie
    assert values["2", "mcq_text_sum"] == 0.0  # as are "no" and "neutral"


@pytest.mark.parametrize(
    ("path", "cell", "value"),
    [
        ("a[*].t", '[{"t": "rice"}, {"t": "bread"}, {"n": 3}]', ("rice", "bread")),
        ("a[1].t", '[{"t": "rice"}, {"t": "bread"}]', "bread"),
        ("a[0]", ("rice", "bread"), "rice"),
        ("a.b", '{"b": ["rice", "bread"]}', ("rice", "bread")),
        ("a.b.c", '{"b": {"c": 7}}', "7"),
        ("a.b", '{"b": null}', ""),
        ("a.b", "", ""),
        ("a.b", '{"b": {"c": 7}}', None),
        ("a.b", "no JSON", None),
    ],
)
def test_a_path_leads_into_json(path: str, cell: Any, value: Any) -> None:
    assert column_of(path) == "a"
    assert cell_at(path, cell) == value


@pytest.mark.parametrize("column", ["a", "a.", "a[x]", "[0]", "a..b", ".b"])
def test_a_name_that_is_no_path(column: str) -> None:
    assert column_of(column) == ""


NESTED = [
    {"id": "1", "q": {"text": "What is drunk?"}, "keys": [{"text": "tea"}, {"text": "milk"}], "meta": {"loc": "en-KE"}},
    {"id": "2", "q": {"text": "What is eaten?"}, "keys": [{"text": "ugali"}], "meta": {"loc": "en-KE"}},
]
NESTED_MAP: dict[str, Any] = {
    "form": "blend/saq",
    "columns": {"id": "id", "local": "q.text", "answers": "keys[*].text", "locale": "meta.loc"},
    "prompts": [{"id": "inst-4", "local": "{q}", "english": "{q}"}],
}


@pytest.mark.parametrize("suffix", ["json", "jsonl", "parquet"])
def test_nested_tables_by_paths(tmp_path: Path, suffix: str) -> None:
    data = folder(tmp_path / "n", NESTED_MAP | {"table": f"t.{suffix}"}, "t.json", json.dumps(NESTED))
    if suffix == "jsonl":
        (data / "t.jsonl").write_text("\n".join(map(json.dumps, NESTED)), encoding="utf-8")
    if suffix == "parquet":
        import polars as pl

        pl.DataFrame(NESTED).write_parquet(data / "t.parquet")
    items = kapwa.load_task("blend/saq", data=data, variant="local/inst-4").items()
    assert [item.fields["prompt"] for item in items] == ["What is drunk?", "What is eaten?"]
    assert [[group.local[0] for group in item.fields["answers"]] for item in items] == [["tea", "milk"], ["ugali"]]


def test_a_path_into_what_is_no_json_names_the_cell(tmp_path: Path) -> None:
    rows = [NESTED[0], NESTED[1] | {"q": "What is eaten?"}]
    data = folder(tmp_path / "n", NESTED_MAP | {"table": "t.jsonl"}, "t.jsonl", "\n".join(map(json.dumps, rows)))
    with pytest.raises(DataError, match="holds no JSON of that form") as raised:
        kapwa.load_task("blend/saq", data=data)
    assert (raised.value.row, raised.value.column) == (2, "q")


def test_rows_with_a_fault_are_left_out_where_the_mapping_says_so(tmp_path: Path) -> None:
    faulty = [("A", ["yes", "no"]), ("A", ["yes"]), ("Z", ["yes", "no"]), ("B", ["yes", "no"])]
    data = by_column(tmp_path / "c", *faulty, skip_bad_rows=True)
    task = kapwa.load_task("blend/mcq", data=data)
    assert [item.cluster for item in task.items()] == ["1", "4"]
    assert list(task.data.card["limits"]) == [
        "Rows left out because something is wrong with them: 2 (the first is row 3 of table.csv, column 'o1': is "
        "empty). 'kapwa data check' lists them all."
    ]
    checked = check_folder(data)
    assert checked.errors == []
    assert checked.report.counts["rows left out"] == 2
    left_out = [finding for finding in checked.report.findings if "left out" in finding.message]
    assert [(finding.severity, finding.row, finding.column) for finding in left_out] == [
        ("warning", 3, "o1"),
        ("warning", 4, "right"),
    ]


def test_a_table_without_a_sound_row_is_refused_all_the_same(tmp_path: Path) -> None:
    data = by_column(tmp_path / "c", ("Z", ["yes", "no"]), skip_bad_rows=True)
    with pytest.raises(DataError):
        kapwa.load_task("blend/mcq", data=data)


def test_prompts_have_any_names(tmp_path: Path) -> None:
    prompts = [{"id": "plain", "local": "{q}"}, {"id": "short", "local": "In a word: {q}"}]
    data = folder(tmp_path / "n", NESTED_MAP | {"table": "t.json", "prompts": prompts}, "t.json", json.dumps(NESTED))
    assert {item.variant for item in kapwa.load_task("blend/saq", data=data).items()} == {"local/plain"}
    named = kapwa.load_task("blend/saq", data=data, variant="local/short").items()
    assert named[0].fields["prompt"] == "In a word: What is drunk?"
    with pytest.raises(UsageError, match="has no prompt 'shrt'") as raised:
        kapwa.load_task("blend/saq", data=data, variant="local/shrt")
    assert "Did you mean 'short'?" in str(raised.value)


def test_a_row_with_a_cell_too_many_is_left_out_but_a_file_cut_off_is_refused(tmp_path: Path) -> None:
    """Behind an open quotation mark everything is lost, which is no one row."""
    mapping = {**BY_COLUMN, "columns": {**BY_COLUMN["columns"]}, "skip_bad_rows": True}
    for letter in ALL_LETTERS[2:]:
        del mapping["columns"][f"option_{letter}"]
    rows = [
        "n,land,ask,right,o0,o1",
        "1,Kenya,Which?,A,yes,no",
        "2,Kenya,Which?,A,yes,no,maybe",
        "3,Kenya,Who?,B,yes,no",
    ]
    data = folder(tmp_path / "c", mapping, "table.csv", "\n".join(rows))
    assert [item.cluster for item in kapwa.load_task("blend/mcq", data=data).items()] == ["1", "3"]
    data = folder(tmp_path / "c", mapping, "table.csv", "\n".join([*rows[:2], '2,Kenya,"Which?,A,yes,no', rows[3]]))
    with pytest.raises(DataError, match="not valid CSV"):
        kapwa.load_task("blend/mcq", data=data)


@pytest.mark.parametrize(
    ("cells", "changes"),
    [
        (["B", "A,C", "c; a"], {}),
        (["1", "0,2", "2;0"], {"answer_is": "number from 0"}),
        (["no", "yes|maybe", "maybe | yes"], {"answer_is": "text", "separators": {"answer": "|"}}),
        (['["no"]', '["yes", "maybe"]', '["maybe", "yes"]'], {"answer_is": "text", "separators": {"answer": "json"}}),
    ],
)
def test_a_key_may_hold_several_right_options(tmp_path: Path, cells: list[str], changes: dict[str, Any]) -> None:
    data = by_column(tmp_path / "c", *((cell, ["yes", "no", "maybe"]) for cell in cells), **changes)
    items = kapwa.load_task("blend/mcq", data=data).items()
    assert [item.fields["answer"] for item in items] == ["B", "A,C", "A,C"]
    assert items[1].fields["cultures"] == ("Kenya", "", "Kenya")


def test_a_list_in_json_may_hold_several_right_options(tmp_path: Path) -> None:
    mapping = {"form": "blend/mcq", "table": "t.json", "answer_is": "number from 0", "constants": {"country": "Kenya"}}
    mapping["columns"] = {"question": "ask", "options": "choices[*]", "answer": "gold[*]"}
    rows = [{"ask": f"Which {gold}?", "choices": ["a", "b", "c"], "gold": gold} for gold in ([2, 0], [1])]
    data = folder(tmp_path / "j", mapping, "t.json", json.dumps(rows))
    assert [item.fields["answer"] for item in kapwa.load_task("blend/mcq", data=data).items()] == ["A,C", "B"]
    rows[1]["gold"] = []
    (data / "t.json").write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(DataError, match=r"row 2, column 'gold.*empty"):
        kapwa.load_task("blend/mcq", data=data)


def test_the_steps_of_an_ordered_scale_are_the_same_everywhere(tmp_path: Path) -> None:
    ordered = {"constants": {"options_are": "ordered"}}
    steps = [("A", ["never", "often"]), ("B", ["never", "often"])]
    task = kapwa.load_task("blend/mcq", data=by_column(tmp_path / "c", *steps, **ordered))
    assert "ordinal_distance" in task.metrics
    with pytest.raises(DataError, match=r"row 4.*same everywhere") as raised:
        kapwa.load_task("blend/mcq", data=by_column(tmp_path / "d", *steps, ("A", ["often", "never"]), **ordered))
    assert "never, often" in str(raised.value)
    with pytest.raises(DataError, match="'ordred' is not a word"):
        kapwa.load_task("blend/mcq", data=by_column(tmp_path / "e", *steps, constants={"options_are": "ordred"}))


def test_a_group_without_a_row_is_left_out_whole(tmp_path: Path) -> None:
    lines = ["q,a,b,gold,set", "1,x,y,A,one", "2,x,y,Z,one", "3,x,y,B,two", "4,x,y,A,two"]
    columns = {"question": "q", "option_A": "a", "option_B": "b", "answer": "gold", "group": "set"}
    mapping = {"form": "blend/mcq", "table": "t.csv", "columns": columns, "constants": {"country": "Peru"}}
    data = folder(tmp_path / "c", {**mapping, "skip_bad_rows": True}, "t.csv", "\n".join(lines))
    items = kapwa.load_task("blend/mcq", data=data).items()
    assert [(item.fields["question"], item.fields["group_size"]) for item in items] == [("3", 2), ("4", 2)]
    told = [finding.message for finding in check_folder(data).report.findings if finding.severity == "warning"]
    assert sum("of a group of which another row is left out" in message for message in told) == 1
