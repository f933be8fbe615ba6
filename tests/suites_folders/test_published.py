"""The mappings of published benchmarks read a made-up table of their columns, which is judged and reported."""

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.errors import DataError, KapwaError
from kapwa.records import Item
from kapwa.suites.folders.adding import check_folder

MAPPINGS = Path(__file__).parents[2] / "examples" / "mappings"
FOLDERS = sorted(path.name for path in MAPPINGS.iterdir() if path.is_dir())
# How many rows are asked, of how many cultures, in which languages; and what guessing scores.
EXPECTED: dict[str, tuple[int, int, set[str], float | None]] = {
    "amammere": (20, 2, {"en"}, 1 / 4),
    "arabculture": (20, 4, {"ar"}, 1 / 3),
    "calmqa": (14, 4, {"ar", "hi", "sm", "es"}, None),
    "culturalbench-easy": (20, 4, {"en"}, 1 / 4),
    "culturalbench-hard": (20, 4, {"en"}, 1 / 2),
    "geomlama": (20, 5, {"en"}, None),
    "globalopinionqa": (73, 4, {"en"}, None),
    "global-mmlu": (10, 2, {"am", "fil"}, 1 / 4),
    "include": (20, 4, {"sq", "eu", "ta", "sw"}, 1 / 4),
    "milu": (20, 2, {"hi", "or"}, 1 / 4),
    "normad": (20, 4, {"en"}, 1 / 3),
    "normad-ladder": (60, 4, {"en"}, 1 / 3),
    "rubric-set": (20, 4, {"am", "en", "es", "fil"}, None),
    "semeval-2026-task-7-choice": (20, 4, {"ms", "ta", "en", "ga"}, 1 / 4),
    "semeval-2026-task-7-short": (20, 4, {"es", "en", "id", "am"}, None),
}


def right_reply(item: Item) -> str:
    return str(item.fields["answer"] if "options" in item.fields else item.fields["answers"][0].local[0])


def wrong_reply(item: Item) -> str:
    if "options" not in item.fields:
        return "nobody's answer"
    return str(next(letter for letter in item.fields["letters"] if letter != item.fields["answer"]))


# What `kapwa forms` says of forms that have no such sheets: of choices, and of answers that were given.
REFUSED = {
    "criteria": (
        "audit sample RUN --rubric item-criteria -o sheets",
        "audit sample RUN --rubric item-criteria -o sheets",
    ),
    "saq": ("name runs with --answers.", ""),
    "survey": ("No one rates its answers: scores follow from its data.", "has no answers to rate"),
}


def test_each_folder_is_known() -> None:
    assert sorted(EXPECTED) == FOLDERS


def asked(*words: object) -> str:
    """What the command writes, or why it does not, as users are told it."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0 or isinstance(done.exception, KapwaError), (words, done.output, done.exception)
    return str(done.exception) if done.exception else ""


@pytest.mark.parametrize("name", FOLDERS)
def test_commands_alone_take_a_benchmark_from_its_files_to_a_report_and_sheets(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two models one replies rightly to every item, the other wrongly; what has no right reply has any."""
    rows, cultures, languages, chance = EXPECTED[name]
    monkeypatch.chdir(tmp_path)
    shutil.copytree(MAPPINGS / name, name)
    assert asked("suite", "add", name) == ""
    (task_name,) = check_folder(name).tasks
    task = kapwa.load_task(f"{name}/{task_name}", variant="local/inst-4" if task_name == "saq" else None)
    first, *_ = items = task.items()
    assert (len(items), len({item.culture for item in items})) == (rows, cultures)
    assert {item.language for item in items} == languages
    options = [f"--variant={first.variant}"]
    if task_name == "survey":
        options += ["--how=samples", "--samples=1"]
    judged = task_name in ("mcq", "saq")
    for model, reply in (("right", right_reply), ("wrong", wrong_reply)):
        texts = [reply(item) if judged else "A. rice" for item in items]
        pl.DataFrame({"item_id": [item.id for item in items], "text": texts}).write_csv(f"{model}.csv")
        if task_name == "survey":
            assert "--how" in asked("run", f"{name}/survey", f"--model=replay:{model}.csv"), "texts have no likelihoods"
        assert asked("run", f"{name}/{task_name}", f"--model=replay:{model}.csv", *options) == ""
    runs = [kapwa.open_run(path) for path in sorted(Path("runs").iterdir())]
    metric = pl.col("metric") == ("mcq_acc" if chance else "sem_b"), pl.col("group") == "all"
    if judged:
        assert [set(run.estimates.filter(metric)["value"]) for run in runs] == [{1.0}, {0.0}]
    if chance:
        marks = runs[0].floors.filter(metric[0], name="chance", note="")
        assert marks["value"].to_list() == [pytest.approx(chance)]
    assert asked("report", *(run.path for run in runs), "--output=page.html") == ""
    assert 'id="board"' in Path("page.html").read_text(encoding="utf-8")
    assert [run.path.name for run in runs if not (run.path / "report.html").is_file()] == []
    chosen = (f"--where=culture={first.culture}", f"--variant={first.variant}")
    answers = [f"--answers={run.path}" for run in runs]
    says = (asked("forms", name, "--out=choices", *chosen), asked("forms", name, "--out=rated", *chosen, *answers))
    for message, expected, folder in zip(says, REFUSED.get(task_name, ("", "")), ("choices", "rated"), strict=True):
        assert expected in message if expected else message == ""
        assert Path(folder).exists() == (not expected)


def test_criteria_come_with_their_points() -> None:
    first, *_ = kapwa.load_task("longform/criteria", data=MAPPINGS / "rubric-set").items()
    assert first.fields["weights"] == (5.0, 3.0, -4.0)
    assert first.fields["criteria"][1] == "Gives a reason; names who expects it", "a list is not parted again"
    general, *_ = kapwa.load_task("longform/criteria", data=MAPPINGS / "calmqa").items()
    assert general.fields["weights"] == (2.0, 1.0, -2.0)


@pytest.mark.parametrize(
    ("old", "new", "file", "row", "column", "message"),
    [
        (', "points": 3', "", "rubrics.jsonl", 1, "rubrics[*].points", "has 2 entries for 3 criteria"),
        ('"points": 3', '"points": 0', "rubrics.jsonl", 1, "rubrics[*].points", "'0' is no weight"),
        ('"criterion"', '"text"', "rubrics.jsonl", 1, "rubrics[*].criterion", "is empty"),
        ("table:", "constants: {topic: [a, b]}\ntable:", "mapping.yaml", None, None, "'topic' is a list"),
        ("  criteria: rubrics[*].criterion\n", "", "mapping.yaml", None, None, "criteria is missing"),
    ],
)
def test_what_is_wrong_with_criteria_is_named_where_it_stands(
    old: str, new: str, file: str, row: int | None, column: str | None, message: str, tmp_path: Path
) -> None:
    for name in ("mapping.yaml", "rubrics.jsonl"):
        text = (MAPPINGS / "rubric-set" / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text.replace(old, new, 3), encoding="utf-8")
    try:
        problems: Any = check_folder(tmp_path).errors
    except DataError as error:
        problems = [error]
    assert problems
    assert message in problems[0].message
    assert Path(problems[0].path).name == file
    assert row is None or (problems[0].row, problems[0].column) == (row, column)
