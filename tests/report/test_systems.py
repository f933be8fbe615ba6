"""What stands in one row is one system: two frames, two tasks, two backends; each number read back from all places."""

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pages import Page, render_page

import kapwa
import warm
from kapwa.errors import UsageError
from kapwa.models.base import Model
from kapwa.records import Capability, ContinuationScore, Request, Response
from kapwa.report.board.whole import board_of
from kapwa.report.tables.correlations import correlations
from kapwa.report.view.means import by_suite, scores_by_system
from kapwa.report.view.tasks import arrange
from kapwa.runs.finished_run import Run
from kapwa.runs.systems import parse_same, systems_of

FRAMES = {"plain": None, "polite": "You are polite, and you answer as people in Manila would."}
BACKENDS = {"kalahi/mc": "weights", "kalahi/open": "served"}
METRIC = {"kalahi/mc": "mc1", "kalahi/open": "chrfpp_acc"}


@dataclass
class Dice(Model):
    """Answers by chance, in a way that depends on all it is asked: each frame has scores of its own."""

    backend: str
    id: str = "org/dice"
    revision: str = "r1"
    atomic_batches = False
    capabilities: frozenset[Capability] = frozenset({"score", "generate"})

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {"id": self.id, "revision": self.revision, "backend": self.backend}

    @property
    def description(self) -> dict[str, Any]:
        return {}

    def _chance(self, request: Request, text: str) -> float:
        asked = json.dumps([self.id, [message.content for message in request.messages], text])
        return int.from_bytes(hashlib.sha256(asked.encode()).digest()[:4], "big") / 2**32

    def score(self, batch: Iterable[Request]) -> Iterator[Response]:
        for request in batch:
            yield Response(
                request.key,
                logprobs=tuple(
                    ContinuationScore(-5 * self._chance(request, text), 3, len(text.encode()), len(text))
                    for text in request.continuations
                ),
            )

    def generate(self, batch: Iterable[Request]) -> Iterator[Response]:
        for request in batch:
            words = ["Kakausapin", "ko", "siya", "bukas", "nang", "mahinahon", "kasama", "ang", "pamilya"]
            kept = [word for word in words if self._chance(request, word) < 0.5]
            yield Response(request.key, text=" ".join(kept) or "Hindi ko alam")

    def close(self) -> None:
        pass


def made(folder: Path, task: str, frame: str, label: str | None = None, model: str = "org/dice") -> Run:
    settings: dict[str, Any] = {"metrics": ["chrfpp"], "limit": 8} if task == "kalahi/open" else {}
    opened = kapwa.load_task(task, data="sample:filipino", system=FRAMES[frame], **settings)
    return kapwa.evaluate(opened, Dice(BACKENDS[task], id=model), out=folder, label=label)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Run]:
    folder = tmp_path_factory.mktemp("labelled")
    return {(task, frame): made(folder, task, frame, label=frame) for task, frame in product(METRIC, FRAMES)}


@pytest.fixture(scope="module")
def unnamed(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Run]:
    folder = tmp_path_factory.mktemp("unnamed")
    return {(task, frame): made(folder, task, frame) for task, frame in product(METRIC, FRAMES)}


def estimated(run: Run, metric: str) -> dict[str, Any]:
    """What the run itself says of a metric over all its items."""
    main = run.manifest["selection"]["variants"][0]
    return run.estimates.filter(metric=metric, group="all", variant=main).row(0, named=True)


def page_rows(html: str, caption: str) -> dict[str, list[str]]:
    """The rows of the table with this caption, by their first cell."""
    table = next(part for part in re.findall(r"<table.*?</table>", html, re.DOTALL) if caption in part)
    rows = {}
    for row in re.findall(r"<tr.*?</tr>", table, re.DOTALL):
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        plain = [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells]
        rows[plain[0]] = plain[1:]
    return rows


def downloads(html: str) -> Iterator[list[dict[str, str]]]:
    """The CSV files that a page holds."""
    for content in re.findall(r'href="data:text/csv;[^"]*base64,([^"]+)"', html):
        text = base64.b64decode(content).decode("utf-8-sig")
        yield list(csv.DictReader(io.StringIO(text, newline="")))


def notebook_cells(run: Run, metric: str) -> list[str]:
    """The numbers of a metric in what a notebook shows of a run: value, interval, and how many items."""
    title, main = run.manifest["metrics"][metric]["title"], run.manifest["selection"]["variants"][0]
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in run._repr_html_().split("<tr>")]
    ((_, _, _, value, between, _, _, n),) = [row for row in rows if row and row[0] == escape(title) and row[2] == main]
    return [value, between, n]


def test_every_number_stands_under_its_own_name(labelled: dict[tuple[str, str], Run], tmp_path: Path) -> None:
    runs = list(labelled.values())
    scores = {key: estimated(run, METRIC[key[0]]) for key, run in labelled.items()}
    assert len({round(row["value"], 6) for row in scores.values()}) > 2, "equal scores would show nothing"
    page = kapwa.write_report(runs, tmp_path / "page.html").read_text(encoding="utf-8")
    rows = page_rows(page, "The board")
    head, files = rows.pop("System"), list(downloads(page))
    for (task, frame), row in scores.items():
        column = next(i for i, name in enumerate(head) if f"({task})" in name)
        assert rows[frame][column].startswith(f"{100 * row['value']:.1f}%"), (task, frame)
        cells = [
            cell
            for table in files
            for cell in table
            if {"system", "task", "metric", "low", "n"} <= set(cell)
            and (cell["system"], cell["task"], cell["metric"]) == (frame, task, METRIC[task])
        ]
        assert cells
        assert all(float(cell["value"]) == row["value"] for cell in cells)
        assert all((float(cell["low"]), float(cell["high"])) == (row["low"], row["high"]) for cell in cells)
        between = f"{row['low']:.3f} to {row['high']:.3f}"
        assert notebook_cells(labelled[task, frame], METRIC[task]) == [f"{row['value']:.3f}", between, str(row["n"])]
    assert set(FRAMES) <= set(rows)
    frame = kapwa.open_runs(runs)
    for (task, name), row in scores.items():
        main = labelled[task, name].manifest["selection"]["variants"][0]
        (value,) = frame.filter(task=task, model=name, metric=METRIC[task], group="all", variant=main)["value"]
        assert value == row["value"]


def test_frames_of_one_model_are_systems_that_say_what_differs(unnamed: dict[tuple[str, str], Run]) -> None:
    choices = [unnamed["kalahi/mc", frame] for frame in FRAMES]
    names = [system.name for system in systems_of(choices)]
    assert names == ["dice", "dice (system message You are polite, and you answer as peopl…)"]
    (view,) = arrange(choices)
    rows = scores_by_system([(view, "mc1")])
    assert [rows[name][0]["value"] for name in names] == [estimated(run, "mc1")["value"] for run in choices]


def test_two_backends_are_two_systems_until_the_user_says_they_are_one(unnamed: dict[tuple[str, str], Run]) -> None:
    runs = list(unnamed.values())
    assert len(systems_of(runs)) == 4
    same = {frame: [run for (_, name), run in unnamed.items() if name == frame] for frame in FRAMES}
    systems = systems_of(runs, same)
    assert [(system.name, len(system.runs)) for system in systems] == [("plain", 2), ("polite", 2)]
    rows = {row[0].text: row for row in board_of(runs, same).rows}
    assert set(rows) >= {"plain", "polite"}
    assert all(cell.text != "–" for name in ("plain", "polite") for cell in rows[name])


def test_folders_name_runs_as_well(unnamed: dict[tuple[str, str], Run], tmp_path: Path) -> None:
    same = {"plain": [str(run.path) for (_, name), run in unnamed.items() if name == "plain"]}
    words = ["--same", f"plain={','.join(same['plain'])}"]
    done = warm.kapwa("report", *(str(run.path) for run in unnamed.values()), *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = page_rows((tmp_path / "report.html").read_text(encoding="utf-8"), "The board")
    assert rows["plain"][0].startswith(f"{100 * estimated(unnamed['kalahi/mc', 'plain'], 'mc1')['value']:.1f}%")
    # Plain, and polite in each task: that was not called one system.
    assert len(set(rows) - {"System", "Guessing", "Best trick", "Ceiling"}) == 3


def test_one_label_of_two_runs_of_a_task_is_refused_naming_both(tmp_path: Path) -> None:
    first, second = made(tmp_path / "a", "kalahi/mc", "plain", "x"), made(tmp_path / "b", "kalahi/mc", "polite", "x")
    with pytest.raises(UsageError, match="both called 'x'") as caught:
        arrange([first, second])
    assert str(first.path) in caught.value.message
    assert str(second.path) in caught.value.message
    assert "--same" in (caught.value.hint or "")
    frame = kapwa.compare(first, second)  # two runs at most: they are told apart by their folders
    assert set(frame["a"]) != set(frame["b"])


def test_the_same_measurement_twice_is_refused(tmp_path: Path) -> None:
    first, second = (made(tmp_path / name, "kalahi/mc", "plain") for name in "ab")
    with pytest.raises(UsageError, match="are of one model asked in one way"):
        arrange([first, second])
    frame = kapwa.open_runs([first, second])
    assert frame["model"].n_unique() == 2


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["plain"], "not of the form NAME=RUN,RUN"),
        (["=a,b"], "not of the form NAME=RUN,RUN"),
        (["plain="], "not of the form NAME=RUN,RUN"),
        (["a=x", "a=y"], "names 'a' twice"),
    ],
)
def test_what_is_no_pair_is_refused(pairs: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_same(pairs)


def test_names_must_be_of_runs_that_are_there(unnamed: dict[tuple[str, str], Run]) -> None:
    runs = list(unnamed.values())
    with pytest.raises(UsageError, match="is not one of the named runs") as caught:
        systems_of(runs, {"x": [runs[0].path.name[:-1]]})
    assert runs[0].path.name in (caught.value.hint or "")
    with pytest.raises(UsageError, match="twice"):
        systems_of(runs, {"x": [runs[0]], "y": [runs[0].path]})


LONG = "You answer as people in Manila would, always and everywhere, and you end with the word "


def set_up(folder: Path, system: str | None = None, label: str | None = None, extra: str = "") -> Run:
    model = Dice(extra or "weights")
    return kapwa.evaluate(
        kapwa.load_task("kalahi/mc", data="sample:filipino", system=system), model, path=folder, label=label
    )


def test_messages_that_part_late_are_shown_where_they_part(tmp_path: Path) -> None:
    first, second = set_up(tmp_path / "a" / "run", LONG + "one."), set_up(tmp_path / "b" / "run", LONG + "two.")
    names = [system.name for system in systems_of([first, second])]
    assert names == ["dice (system message …th the word one.)", "dice (system message …th the word two.)"]
    (view,) = arrange([first, second])
    rows = scores_by_system([(view, "mc1")])
    assert [rows[name][0]["value"] for name in names] == [estimated(run, "mc1")["value"] for run in (first, second)]


def test_systems_that_nothing_short_tells_apart_have_their_whole_paths(tmp_path: Path) -> None:
    ends = ["one, x", "one, y", "two, x"]  # two of them part again after what is shown
    runs = [set_up(tmp_path / str(i) / "run", f"{end[:3]}{' same' * 20}{end[3:]}") for i, end in enumerate(ends)]
    names = [system.name for system in systems_of(runs)]
    assert len(set(names)) == 3
    assert names[0] == f"dice ({runs[0].path.resolve()})"
    frame = kapwa.compare(runs[0], runs[1])
    assert frame["a"][0] != frame["b"][0]


def test_no_name_holds_an_address(tmp_path: Path) -> None:
    runs = []
    for place in ("one", "two"):
        run = set_up(tmp_path / place, label=place)
        manifest = json.loads((run.path / "run.json").read_text(encoding="utf-8"))
        manifest["model"]["revision"] = ""  # with one, two servers are one system
        manifest["model"]["fingerprint"]["base_url"] = f"http://{place}.example/v1"
        manifest["signature"] += f"|with:{place}"
        manifest["label"] = None
        (run.path / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
        runs.append(Run(run.path))
    names = [system.name for system in systems_of(runs)]
    assert names == ["dice (server 1)", "dice (server 2)"]


def test_labels_that_look_the_same_are_refused(tmp_path: Path) -> None:
    first = set_up(tmp_path / "a", label="my model")
    second = set_up(tmp_path / "b", system="Be kind.", label="my\tmodel")
    with pytest.raises(UsageError, match="names look the same") as caught:
        arrange([first, second])
    assert str(first.path) in caught.value.message
    assert str(second.path) in caught.value.message


def test_folders_of_one_name_are_neither_guessed_nor_overwritten(
    tmp_path: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [set_up(tmp_path / "a" / "run"), set_up(tmp_path / "b" / "run", system="Be kind.")]
    with pytest.raises(UsageError, match=r"is .*run and .*run"):
        systems_of(runs, {"x": ["run"]})
    assert [system.name for system in systems_of(runs, {"x": [runs[1].path]})] == ["dice", "x"]
    shown = refused("report", *(run.path for run in runs), "--csv", "tables")
    assert str(runs[0].path) in shown
    assert str(runs[1].path) in shown
    assert not (tmp_path / "tables").exists()
    assert not (tmp_path / "report.html").exists()


def test_one_task_over_two_data_has_columns_of_each(tmp_path: Path) -> None:
    runs = []
    for name, data in product(("one", "two", "three", "four"), ("filipino", "egyptian")):
        task = kapwa.load_task("kalahi/mc", data=f"sample:{data}")
        runs.append(kapwa.evaluate(task, Dice("weights", id=f"org/{name}"), path=tmp_path / name / data, label=name))
        if data == "filipino":
            runs.append(made(tmp_path, "kalahi/open", "plain", label=name, model=f"org/{name}"))
    table = board_of(runs)
    assert len(set(table.head)) == len(table.head)
    frame = correlations(by_suite(arrange(runs))[0]).frame
    metrics = {*frame["metric_a"], *frame["metric_b"]}
    assert sum(name.endswith("mc1") for name in metrics) == 2
    # Of systems whose tasks had two backends, too.
    pairs = frame.filter(pl.col("metric_a").str.ends_with("mc1"), coefficient="pearson")
    assert set(pairs.filter(metric_b="kalahi/open chrfpp_acc")["n"]) == {4}
    page = Page(render_page(runs[:3]))  # one system's
    for data in ("sample:filipino", "sample:egyptian"):
        assert f"kalahi/mc, {data}: multiple choice by likelihood" in page.text
        assert f"Signatures (kalahi/mc, {data})" in page.text
    cells = {(row["system"], row["data"], row["metric"]): row for row in csv.DictReader(io.StringIO(str(table.csv)))}
    for run in (run for run in runs if run.manifest["task"] == "kalahi/mc"):
        data = run.manifest["data"]
        row = cells[run.label, data["name"], "mc1"]
        assert float(row["value"]) == estimated(run, "mc1")["value"]


def test_runs_that_ask_in_two_ways_are_named_by_the_way_alone(tmp_path: Path) -> None:
    runs = []
    for how in ("stated", "likelihood"):
        task = kapwa.load_task("opinions/survey", how=how, limit=1)
        runs.append(kapwa.evaluate(task, Dice("weights"), path=tmp_path / how))
    assert [system.name for system in systems_of(runs)] == ["dice (how stated)", "dice (how likelihood)"]
