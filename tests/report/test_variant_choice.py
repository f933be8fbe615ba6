"""The board of ten systems in several prompts: ranks in its files as on the page, and readers choose the prompt."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from browsing import BROWSER, probed, without_policy
from report_fixtures import MadeRun, make_run, wide_run

from kapwa.report.board.ranks import in_variants, ranked_task
from kapwa.report.board.table import board_table
from kapwa.report.page.runs import build_report
from kapwa.report.tables.table import Table
from kapwa.report.view.tasks import TaskView, arrange

SYSTEMS = 10
PROBE = """<pre id="probe"></pre><script>
const told = {};
const { port1, port2 } = new MessageChannel();
const choice = name => [...document.querySelectorAll(".tools label")]
  .find(label => label.firstChild.textContent.startsWith(name)).querySelector("select");
const choose = (name, value) => {
  const select = choice(name);
  select.value = [...select.options].find(one => one.textContent === value).value;
  select.dispatchEvent(new Event("change"));
};
const board = () => Object.fromEntries([...document.querySelector("table.board").rows].map(row => [
  row.cells[0].querySelector("bdi").textContent,
  [...row.cells].slice(1).map(cell => [cell.querySelector("bdi").textContent,
    cell.querySelector(".small")?.textContent ?? "", cell.classList.contains("strong")])]));
const said = () => document.querySelector(".tools .found").textContent;
(async () => {
  for (let k = 0; k < 1e6 && !document.querySelector(".tools select"); k++)
    await new Promise(done => { port1.onmessage = done; port2.postMessage(0); });
  told.options = [...choice("Prompt or language").options].map(one => one.textContent);
  told.seen = choice("Prompt or language").closest("details") === null;
  const [main, other] = told.options;
  told.main = board();
  choose("Prompt or language", other); told.other = board(); told.saidOther = said();
  told.sides = [...document.querySelectorAll(".chosen p, .chosen caption")].map(one => one.textContent);
  if (document.querySelector(".filters")) {
    choose("Culture", "Ilokano"); told.culture = board(); told.saidCulture = said();
    choose("Culture", "All");
  }
  choose("Prompt or language", main); told.again = board(); told.quiet = said();
  document.getElementById("probe").textContent = JSON.stringify(told);
})();
</script>"""


def turned(runs: list[MadeRun]) -> list[MadeRun]:
    """The same runs, of which the best in one prompt is the worst in the other."""
    for run, other in zip(runs, [one.scores for one in reversed(runs)], strict=True):
        run.scores = run.scores.filter(variant="full").vstack(other.filter(variant="none"))
    return runs


@pytest.fixture(scope="module")
def runs() -> list[MadeRun]:
    each = [make_run(f"lab/m{k}", variants=("full", "none"), per_culture=60, skill=0.09 * k) for k in range(SYSTEMS)]
    return turned(each)


@pytest.fixture(scope="module")
def view(runs: list[MadeRun]) -> TaskView:
    return arrange(runs)[0]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def folder(runs: list[MadeRun], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_report(runs, tmp_path_factory.mktemp("variants") / "board").parent  # type: ignore[arg-type]


def shown(table: Table, place: int) -> dict[str, list[Any]]:
    """What a column of a board shows of each row."""
    return {cells[0].text: [cells[place].text, cells[place].small, cells[place].strong] for cells in table.rows}


def test_files_beside_the_page_hold_each_rank_and_score_as_the_board_shows_it(view: TaskView, folder: Path) -> None:
    table = board_table([ranked_task(view)])
    with (folder / "tables" / "board.csv").open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    held = json.loads((folder / "tables" / "board.json").read_text("utf-8"))
    ranks = set()
    for place, line in enumerate(lines):
        text, small, _ = shown(table, 1)[line["system"]]
        assert text == f"{100 * float(line['value']):.1f}%" == f"{100 * held['value'][place]:.1f}%"
        if line["kind"] == "system":
            ends = dict.fromkeys((held["rank_low"][place], held["rank_high"][place]))
            assert [int(line["rank_low"]), int(line["rank_high"])] == [
                held["rank_low"][place],
                held["rank_high"][place],
            ]
            assert small.endswith(f"rank {'–'.join(map(str, ends))}")
            ranks |= set(ends)
    assert ranks >= {1, SYSTEMS}
    assert (folder / "tables" / f"{view.slug}-variants-board.json").is_file()


def test_a_board_of_more_than_eight_systems_has_ranks_in_each_variant(view: TaskView) -> None:
    assert view.crowded
    table = board_table(in_variants(ranked_task(view)))
    assert table is not None
    first, last = shown(table, 1), shown(table, 2)
    assert first["m9"][1].endswith("rank 1") or "rank 1–" in first["m9"][1]
    assert last["m0"][1].endswith("rank 1") or "rank 1–" in last["m0"][1]
    assert first["m9"][2]
    assert not last["m9"][2]


def test_a_variant_that_fewer_cultures_were_asked_says_so() -> None:
    """A mean over fourteen cultures stood under the head of one over sixteen."""
    made = [wide_run(name, cultures=("US", "Spain", "China"), variants=("local/inst-4", "en/inst-4")) for name in "ab"]
    for run in made:
        for name in ("scores", "estimates"):
            frame = getattr(run, name)
            kept = frame.filter(
                ~((frame["culture"] == "US") & (frame["variant"] == "en/inst-4")).fill_null(value=False)
            )
            setattr(run, name, kept)
    view = arrange(made)[0]  # type: ignore[arg-type]
    table = board_table(in_variants(ranked_task(view)))
    assert table is not None
    local, english = table.head[1:]
    assert "cultures" not in local
    assert "; 2 cultures; " in english
    rows = table.frame.filter(kind="system").select("variant", "cultures").unique().sort("variant").rows()
    assert rows == [("en/inst-4", 2), ("local/inst-4", 3)]


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_readers_choose_the_variant_and_ranks_follow(view: TaskView, folder: Path) -> None:
    told = probed(without_policy(folder / "index.html", PROBE))
    assert told["options"] == ["full", "none"]
    assert told["seen"], "the choice is not folded away"
    table = board_table(in_variants(ranked_task(view)))
    assert table is not None
    for seen, place in (("main", 1), ("other", 2)):
        assert {name: cells[0] for name, cells in told[seen].items() if name != "System"} == shown(table, place)
        assert told[seen]["System"][0][0] == table.head[place]
    assert told["saidOther"] == f"{view.title}: none, with the ranks in it."
    assert any(words.endswith(", none") for words in told["sides"])
    assert told["again"] == told["main"]
    assert told["quiet"] == ""
    # One culture alone, in the variant chosen.
    subject = next(one for one in view.subjects if one.culture == "Ilokano")
    other = view.of_variant("none")
    for run, name in enumerate(view.labels):
        estimate = other.estimate(run, subject, view.main_metric)
        assert estimate is not None
        assert told["culture"][name][0][0] == f"{100 * estimate['value']:.1f}%"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_two_systems_have_the_choice_too(tmp_path: Path) -> None:
    both = turned([make_run(f"lab/m{k}", variants=("full", "none"), skill=0.8 * k) for k in range(2)])
    page = build_report(both, tmp_path / "page.html")  # type: ignore[arg-type]
    told = probed(without_policy(page, PROBE))
    assert told["main"]["m1"][0][1].endswith("rank 1")
    assert told["other"]["m0"][0][1].endswith("rank 1")
    assert told["other"]["m1"][0][1].endswith("rank 2")
