"""Published benchmarks, of the catalog and the examples: made-up tables of their layout are read, judged, reported."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import kapwa
from kapwa.catalog import entries
from kapwa.catalog.lookup import Fetched
from kapwa.cli.main import app
from kapwa.errors import DataError, KapwaError, UsageError
from kapwa.records import Item
from kapwa.runs.finished_run import Run
from kapwa.suites.folders.adding import check_benchmark, check_folder

MAPPINGS = Path(__file__).parents[2] / "examples" / "mappings"
EXAMPLES = sorted(path.parent.name for path in MAPPINGS.glob("*/mapping.yaml"))
# Of the catalog: how many items are asked, of how many cultures, in which languages; and what guessing scores.
EXPECTED: dict[str, tuple[int, int, set[str], float | None]] = {
    "afri-mcqa": (20, 2, {"ha", "am"}, 1 / 4),
    "arabculture": (20, 4, {"ar"}, 1 / 3),
    "blend-choices": (20, 2, {"en"}, 1 / 4),
    "calmqa": (14, 4, {"ar", "hi", "sm", "es"}, None),
    "click": (20, 1, {"ko"}, 1 / 4),
    "culshield": (20, 4, {"en"}, 1 / 2),
    "culturall": (20, 4, {"es", "ko", "ar", "en"}, None),
    "culturalbench-easy": (20, 4, {"en"}, 1 / 4),
    "culturalbench-hard": (20, 4, {"en"}, 1 / 2),
    "cvqa": (20, 2, {"es", "am"}, 1 / 4),
    "gaoyao-superblend": (20, 4, {"en"}, 1 / 4),
    "geomlama": (20, 5, {"en"}, None),
    "global-mmlu": (10, 2, {"am", "fil"}, 1 / 4),
    "global-piqa": (20, 4, {"und"}, 1 / 2),
    "globalopinionqa": (73, 4, {"en"}, None),
    "include": (20, 4, {"sq", "nl", "ta", "sw"}, 1 / 4),
    "milu": (20, 2, {"hi", "or"}, 1 / 4),
    "normad": (20, 4, {"en"}, 1 / 3),
    "normad-ladder": (60, 4, {"en"}, 1 / 3),
    "sea-helm-kalahi": (20, 1, {"fil"}, 1 / 4),
    "sea-helm-kalahi-judge": (20, 1, {"fil"}, None),
    "sea-nli": (20, 4, {"id", "th", "fil", "km"}, 1 / 3),
    "xl-safetybench-cultural": (20, 4, {"fr", "ja", "ko", "tr"}, None),
}
# Mappings of data whose owners keep them neither on the hub nor on GitHub, or of no benchmark at all.
EXPECTED_OF_EXAMPLES: dict[str, tuple[int, int, set[str], float | None]] = {
    "amammere": (20, 2, {"en"}, 1 / 4),
    "rubric-set": (20, 4, {"am", "en", "es", "fil"}, None),
    "semeval-2026-task-7-choice": (20, 4, {"ms", "ta", "en", "ga"}, 1 / 4),
    "semeval-2026-task-7-short": (20, 4, {"es", "en", "id", "am"}, None),
}
# Those that have the layout of a form of Kapwa's own, and are looked at in other tests.
OWN_LAYOUTS = {"blend", "eecc", "eecc-answers", "kalahi", "kalahi-variants"}


# One of each kind of task and of mapping, of pictures, and with a form's own layout.
WITH_PAGES = {
    "afri-mcqa",
    "blend-choices",
    "globalopinionqa",
    "normad-ladder",
    "sea-helm-kalahi",
    "xl-safetybench-cultural",
}


def right_reply(item: Item) -> str:
    return str(item.fields["answer"] if "options" in item.fields else item.fields["answers"][0].local[0])


def wrong_reply(item: Item) -> str:
    if "options" not in item.fields:
        return "nobody's answer"
    return str(next(letter for letter in item.fields["letters"] if letter != item.fields["answer"]))


# What `kapwa label sheets` says of forms that have no such sheets: of choices, and of answers that were given.
REFUSED = {
    "criteria": (
        "label sample RUN --rubric item-criteria -o sheets",
        "label sample RUN --rubric item-criteria -o sheets",
    ),
    "saq": ("name runs with --answers.", ""),
    "survey": ("No one rates its answers: scores follow from its data.", "has no answers to rate"),
}


def test_each_benchmark_is_known() -> None:
    assert sorted({*EXPECTED, *OWN_LAYOUTS}) == list(entries.names())
    assert sorted(EXPECTED_OF_EXAMPLES) == EXAMPLES


def asked(*words: object) -> str:
    """What the command writes, or why it does not, as users are told it."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0 or isinstance(done.exception, KapwaError), (words, done.output, done.exception)
    return str(done.exception) if done.exception else ""


@pytest.mark.parametrize("name", EXAMPLES)
def test_commands_alone_take_a_table_with_a_mapping_to_a_report_and_sheets(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(MAPPINGS / name, name)
    assert asked("suite", "add", name) == ""
    (task_name,) = check_folder(name).tasks
    asked_as = f"{name}/{task_name}"
    take_to_a_report(name, asked_as, judged_rightly(asked_as, EXPECTED_OF_EXAMPLES[name]))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_benchmark_that_was_fetched_is_asked_by_its_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fetched: Callable[[str], Fetched]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="not fetched yet") as refused:
        kapwa.load_task(name)
    assert f"kapwa fetch {name}" in str(refused.value.hint)
    here = fetched(name)
    check_benchmark(entries.entry(name), here.folder)
    runs = judged_rightly(name, EXPECTED[name])
    # Pages and sheets follow from the kind of task, not from the benchmark.
    if name in WITH_PAGES:
        take_to_a_report(name, name, runs)


def judged_rightly(asked_as: str, expected: tuple[int, int, set[str], float | None]) -> list[Run]:
    """Of two models one replies rightly to every item, the other wrongly; what has no right reply has any."""
    rows, cultures, languages, chance = expected
    task = kapwa.load_task(asked_as)
    task_name = task.name.partition("/")[2]
    if task_name == "saq":
        task = kapwa.load_task(asked_as, variant="local/inst-4")
    first, *_ = items = task.items()
    assert (len(items), len({item.culture for item in items})) == (rows, cultures)
    assert {item.language for item in items} == languages
    settings: dict[str, Any] = {"variant": first.variant}
    if task_name == "survey":
        settings |= {"how": "samples", "samples": 1}
    judged = task_name in ("mcq", "saq")
    runs = []
    for model, reply in (("right", right_reply), ("wrong", wrong_reply)):
        texts = [reply(item) if judged else "A. rice" for item in items]
        pl.DataFrame({"item_id": [item.id for item in items], "text": texts}).write_csv(f"{model}.csv")
        if task_name == "survey":
            with pytest.raises(KapwaError, match="'how'"):  # texts have no likelihoods
                kapwa.evaluate(asked_as, f"replay:{model}.csv", progress=False)
        runs.append(kapwa.evaluate(kapwa.load_task(asked_as, **settings), f"replay:{model}.csv", progress=False))
    metric = pl.col("metric") == ("mcq_acc" if chance else "sem_b"), pl.col("group") == "all"
    if judged:
        assert [set(run.estimates.filter(metric)["value"]) for run in runs] == [{1.0}, {0.0}]
    if chance:
        marks = runs[0].floors.filter(metric[0], name="chance", note="")
        assert marks["value"].to_list() == [pytest.approx(chance)]
    return runs


def take_to_a_report(name: str, asked_as: str, runs: list[Run]) -> None:
    """Commands alone make a page of the runs, and sheets for people, or say why there are none."""
    task = kapwa.load_task(asked_as)
    task_name = task.name.partition("/")[2]
    variant = str(runs[0].items["variant"][0])
    culture = str(runs[0].items["culture"][0])
    more = ["--how=samples", "--samples=1"] if task_name == "survey" else []
    assert (
        asked("run", asked_as, "--model=replay:right.csv", f"--variant={variant}", *more, "--limit=2", "--out=typed")
        == ""
    )
    assert [path for path in Path("typed").iterdir() if not (path / "report.html").is_file()] == []
    assert asked("report", *(run.path for run in runs), "--output=page.html") == ""
    assert 'id="board"' in Path("page.html").read_text(encoding="utf-8")
    chosen = (f"--where=culture={culture}", f"--variant={variant}")
    answers = [f"--answers={run.path}" for run in runs]
    # Data in a form's own layout are that form's; a suite of their own name is made of mapped data alone.
    own = name in entries.names() and entries.entry(name).mapping is None
    forms = ("label", "sheets", entries.entry(name).form, f"--data={name}") if own else ("label", "sheets", name)
    says = (asked(*forms, "--out=choices", *chosen), asked(*forms, "--out=rated", *chosen, *answers))
    for message, expected, folder in zip(says, REFUSED.get(task_name, ("", "")), ("choices", "rated"), strict=True):
        assert expected in message if expected else message == ""
        assert Path(folder).exists() == (not expected)


@pytest.mark.parametrize(
    ("name", "task", "rows", "variants"),
    [
        ("kalahi", "kalahi/mc", 20, {"full"}),
        ("kalahi-variants", "kalahi/mc", 30, {"full", "partial", "unenriched"}),
        ("blend", "blend/saq", 20, {"local/inst-4"}),
        ("eecc", "eecc/qa", 10, {"direct"}),
    ],
)
def test_a_form_s_own_layout_is_asked_by_the_benchmark_s_name(
    name: str, task: str, rows: int, variants: set[str], fetched: Callable[[str], Fetched]
) -> None:
    here = fetched(name)
    check_benchmark(entries.entry(name), here.folder)
    wanted = "all" if name == "kalahi-variants" else "local/inst-4" if name == "blend" else None
    opened = kapwa.load_task(name, variant=wanted)
    assert (opened.name, len(opened.items())) == (task, rows)
    assert {item.variant for item in opened.items()} == variants
    assert opened.data.name == f"{here.repository}@{here.revision[:12]}"


def test_data_that_are_gone_and_folders_of_the_same_name_are_told_apart(
    fetched: Callable[[str], Fetched], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = fetched("kalahi")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kalahi").mkdir()
    with pytest.raises(UsageError, match="is a benchmark, and a file or folder here") as both:
        kapwa.load_task("kalahi")
    assert "kalahi/mc --data kalahi" in str(both.value.hint)
    (tmp_path / "kalahi").rmdir()
    assert kapwa.load_task("kalahi").items()
    (here.folder / "filipino.parquet").unlink()
    with pytest.raises(UsageError, match=r"filipino\.parquet of 'kalahi' is no longer in") as gone:
        kapwa.load_task("kalahi")
    assert gone.value.hint == "Run: kapwa fetch kalahi"


def test_a_layout_that_changed_is_named_for_a_form_s_own_too(fetched: Callable[[str], Fetched]) -> None:
    here = fetched("kalahi")
    file = here.folder / "filipino.parquet"
    frame = pl.read_parquet(file).rename({"best_answer": "best_answers"})
    frame.write_parquet(file)
    for read in (lambda: check_benchmark(entries.entry("kalahi"), here.folder), lambda: kapwa.load_task("kalahi")):
        with pytest.raises(DataError, match="missing") as changed:
            read()
        assert (changed.value.path, changed.value.column) == (file, "best_answer")
        assert "Did you mean 'best_answers'?" in str(changed.value.hint)
    assert "Its layout was looked up as follows" in str(changed.value.hint)


def test_criteria_come_with_their_points(fetched: Callable[[str], Fetched]) -> None:
    first, *_ = kapwa.load_task("longform/criteria", data=MAPPINGS / "rubric-set").items()
    assert first.fields["weights"] == (5.0, 3.0, -4.0)
    assert first.fields["criteria"][1] == "Gives a reason; names who expects it", "a list is not parted again"
    fetched("calmqa")
    general, *_ = kapwa.load_task("longform/criteria", data="calmqa").items()
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


def test_every_benchmark_stands_on_the_page_of_the_docs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "published-benchmarks.md").read_text(encoding="utf-8")
    assert not [name for name in entries.names() if f"`{name}`" not in page]
