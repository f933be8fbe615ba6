"""An audit of items: figures counted by hand, planted faults found, nothing told of too few."""

import csv
import json
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.datasets.errata import COLUMNS, read_errata
from kapwa.errors import DataError, UsageError
from kapwa.labels.choices.sheets import options_of
from kapwa.labels.items.audit import ItemAudit, audit_items
from kapwa.records import Item
from kapwa.stats.consensus import consensus
from kapwa.stats.intervals import mean_estimates


def situation(name: str, irrelevant: tuple[str, ...] = ("no", "never")) -> Item:
    fields = {"prompt": f"situation {name}", "best": "certainly yes", "irrelevant": irrelevant}
    return Item(name, "kalahi", "Filipino", "fil", "", "", "full", name, fields)


ITEMS = [situation(f"s{k:02}") for k in range(20)]


def sheet(path: Path, right: np.ndarray, items: list[Item] = ITEMS, wrong: int = 2) -> Path:
    """A wide sheet of choices: ``right`` is (people, items); who is wrong chooses the option ``wrong``."""
    rows = [[item.id, *(1 if value else wrong for value in right[:, k])] for k, item in enumerate(items)]
    lines = [["item_id", *(f"p{n}" for n in range(len(right)))], *rows]
    path.write_text("\n".join(",".join(map(str, line)) for line in lines) + "\n", encoding="utf-8")
    return path


def able(random: np.random.Generator, people: int, harder: dict[int, float] | None = None) -> np.ndarray:
    difficulty = np.linspace(-1, 1, len(ITEMS))
    for place, shift in (harder or {}).items():
        difficulty[place] += shift
    chance = 1 / (1 + np.exp(difficulty - random.normal(1, 1, people)[:, None]))
    return random.random(chance.shape) < chance


def audited(tmp_path: Path, right: np.ndarray, **more: Any) -> ItemAudit:
    return audit_items(sheet(tmp_path / "choices.csv", right), items=ITEMS, **more)


def test_difficulty_and_discrimination_are_as_counted_by_hand(tmp_path: Path) -> None:
    right = able(np.random.default_rng(1), 30)
    right[:, 3], right[:, 4] = True, False
    rows = {row["item_id"]: row for row in audited(tmp_path, right).items.to_dicts()}
    for place, item in enumerate(ITEMS):
        row, own = rows[item.id], right[:, place].astype(float)
        rest = np.delete(right, place, axis=1).mean(axis=1)
        assert row["share"] == pytest.approx(own.mean())
        expected = mean_estimates(own, None, share=True)[0]
        assert (row["low"], row["high"], row["n"]) == pytest.approx((expected.low, expected.high, 30))
        if 0 < own.mean() < 1:
            r = np.corrcoef(own, rest)[0, 1]
            half = 1.959963984540054 / np.sqrt(27)
            assert row["discrimination"] == pytest.approx(r)
            assert row["discrimination_high"] == pytest.approx(np.tanh(np.arctanh(r) + half))
    assert [rows[ITEMS[k].id]["dead"] for k in (3, 4, 5)] == ["all right", "nobody right", ""]
    assert rows["s03"]["discrimination"] is None


@pytest.fixture
def few_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many people it takes seconds to tell whether they share one culture, which is not what is asked here."""
    monkeypatch.setattr("kapwa.labels.items.consensus.consensus", partial(consensus, replicates=1))


@pytest.mark.usefixtures("few_replicates")
def test_an_item_that_better_people_fail_is_proposed_and_others_are_not(tmp_path: Path) -> None:
    right = able(np.random.default_rng(2), 60)
    right[:, 7] = right.sum(axis=1) < np.median(right.sum(axis=1))
    errata = audited(tmp_path, right).errata.filter(pl.col("reason").str.contains("better ones"))
    assert errata["item_id"].to_list() == ["s07"]
    assert "60 people" in errata["evidence"][0]


def test_a_disputed_key_is_proposed_with_its_counts(tmp_path: Path) -> None:
    right = np.ones((6, 20), dtype=bool)
    right[:4, 5] = False
    audit = audited(tmp_path, right)
    assert audit.errata.columns == list(COLUMNS)
    (line,) = audit.errata.to_dicts()
    assert (line["item_id"], line["culture"], line["variant"], line["confirmed_by"]) == ("s05", "Filipino", "", "")
    assert line["evidence"] == "4 gave 'no', 2 of 6 the key 'certainly yes'"
    key = audit.keys.row(by_predicate=pl.col("item_id") == "s05", named=True)
    assert (key["answer"], key["for_key"], key["for_answer"], key["people"]) == ("no", 2, 4, 6)
    assert audit.consensus["verdict"].to_list() == ["one culture"]


def test_two_people_cannot_dispute_a_key(tmp_path: Path) -> None:
    right = np.ones((2, 20), dtype=bool)
    right[:, 5] = False
    audit = audited(tmp_path, right)
    assert not audit.errata.height
    assert "too few to tell whether they share one culture" in " ".join(audit.notes)


def test_of_two_cultures_nothing_is_proposed_to_be_left_out(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    right = np.vstack([random.random((5, 20)) < 0.9, random.random((7, 20)) < 0.1])
    audit = audited(tmp_path, right)
    assert audit.consensus["verdict"].to_list() == ["several cultures"]
    assert not audit.errata.height
    assert any("ask, do not delete" in note for note in audit.notes)
    sides = dict(audit.people.select("rater", "side").iter_rows())
    assert len({sides[f"p{n}"] for n in range(5)}) == 1
    assert sides["p0"] != sides["p11"]


def groups_of(tmp_path: Path, people: int) -> Path:
    path = tmp_path / "groups.csv"
    lines = [f"p{n},{'north' if n < people // 2 else 'south'}" for n in range(people)]
    path.write_text("rater,group\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.usefixtures("few_replicates")
def test_an_item_that_is_harder_for_a_group_of_people_is_found(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    right = np.vstack([able(random, 70), able(random, 70, {9: 3.0})])
    audit = audited(tmp_path, right, groups=groups_of(tmp_path, 140))
    large = audit.differential.filter(pl.col("size") == "C", pl.col("p_bh") < 0.05)
    assert set(large["item_id"]) == {"s09"}
    lines = audit.errata.filter(pl.col("reason").str.contains("group south"))
    assert lines["item_id"].to_list() == ["s09"]
    assert "class C, 70 people" in lines["evidence"][0]
    assert any("would mostly go unseen" in note for note in audit.notes)


def test_of_few_people_differential_functioning_is_not_told(tmp_path: Path) -> None:
    audit = audited(tmp_path, able(np.random.default_rng(6), 12), groups=groups_of(tmp_path, 12))
    assert not audit.differential.height
    assert any("by group cannot be told: 6 people in a group" in note for note in audit.notes)


def test_twin_options_and_the_longest_right_option_are_seen(tmp_path: Path) -> None:
    items = [situation("a", ("Yes.", "yes ", "no")), situation("b", ("a far longer one than the best",))]
    audit = audit_items(sheet(tmp_path / "c.csv", np.ones((3, 2), dtype=bool), items), items=items)
    rows = {row["item_id"]: row for row in audit.items.to_dicts()}
    assert rows["a"]["twins"] == "Yes. = yes "
    assert [rows["a"]["length"], rows["b"]["length"]] == ["longest", "shortest"]
    assert audit.errata["item_id"].to_list() == ["a"]


def test_answers_in_own_words_have_a_key_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    rows = [("item_id", "rater", "answer")]
    rows += [
        (f"q{k}", rater, f"Answer {k}." if rater != "dan" else f"other {k}")
        for k, rater in product(range(12), ("ana", "ben", "carla", "dan"))
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    audit = audit_items(path)
    assert audit.keys["answer"].to_list() == [f"answer {k}" for k in range(12)]
    assert audit.keys["confidence"].min() > 0.95
    assert not audit.items.height
    assert not audit.errata.height
    competence = dict(audit.people.select("rater", "competence").iter_rows())
    assert competence["ana"] > 0.9
    assert competence["dan"] < 0.2


def test_who_chooses_and_also_answers_in_words_or_is_in_two_groups_is_refused(tmp_path: Path) -> None:
    chosen = sheet(tmp_path / "choices.csv", np.ones((3, len(ITEMS))))
    rater = "p0"
    words = tmp_path / "words.csv"
    words.write_text(f"item_id,rater,answer\n{ITEMS[0].id},{rater},tea\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"{rater} chooses an option of '{ITEMS[0].id}' in another file"):
        audit_items([chosen, words], items=ITEMS)
    groups = tmp_path / "groups.csv"
    groups.write_text(f"rater,group\n{rater},old\n{rater},young\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"row 3.*{rater} has a group a second time"):
        audit_items([chosen], items=ITEMS, groups=groups)


def test_votes_of_everyday_questions_are_keys_to_look_at() -> None:
    items = kapwa.load_task("blend/saq", variant="local/inst-4").items()
    audit = audit_items(items=items)
    expected = {
        item.id
        for item in items
        if sum(item.fields["idks"].values()) >= 3
        or (len(item.fields["answers"]) >= 3 and max(group.votes for group in item.fields["answers"]) == 1)
    }
    assert set(audit.errata["item_id"]) == expected
    assert audit.keys.height == len(items)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Twelve systems on multiple choice, of which the better ones know more; one item's key is wrong for them."""
    folder = tmp_path_factory.mktemp("systems")
    kapwa.build_mcq(None, folder / "mcq", max_variants=1)
    task = kapwa.load_task("blend/mcq", data=folder / "mcq")
    items, random, made = task.items(), np.random.default_rng(8), []
    for n in range(12):
        knows = random.random(len(items)) < 0.2 + 0.06 * n
        knows[0] = n < 4
        rows = []
        for item, known in zip(items, knows, strict=True):
            others = [letter for letter in item.fields["letters"] if letter != item.fields["answer"]]
            rows.append({"item_id": item.id, "text": item.fields["answer"] if known else others[0]})
        replies = folder / f"r{n}.jsonl"
        replies.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        model = kapwa.load_model(f"replay:{replies}")
        made.append(kapwa.evaluate(task, model, out=folder / "runs", progress=False, label=f"system {n}"))
    return made


def test_runs_of_systems_are_audited(runs: list[Any]) -> None:
    audit = audit_items(runs)
    asked = runs[0].items["item_id"].to_list()
    assert audit.items["item_id"].to_list() == asked
    assert set(audit.items["n"]) == {12}
    first = audit.items.row(0, named=True)
    assert first["share"] == pytest.approx(4 / 12)
    assert first["discrimination"] < 0
    assert asked[0] in audit.errata["item_id"]
    by_id = {item.id: item for item in kapwa.load_task("blend/mcq", data=runs[0].path.parents[1] / "mcq").items()}
    for row in audit.items.iter_rows(named=True):
        options = options_of(by_id[row["item_id"]])
        assert (row["length"] == "longest") == (len(options[0]) > max(map(len, options[1:])))
    assert set(audit.differential["by"]) == {"culture"}
    assert any("by variant" in note for note in audit.notes) is False


def test_the_command_writes_tables_and_errata_that_run_takes(runs: list[Any], tmp_path: Path) -> None:
    folders = [str(run.path) for run in runs]
    out = tmp_path / "audit"
    result = CliRunner().invoke(app, ["items", *folders, "-o", str(out)])
    assert result.exit_code == 0, result.output
    names = {path.name for path in out.iterdir()}
    assert names == {f"{name}.csv" for name in ("items", "keys", "differential", "consensus", "people", "errata")}
    lines = read_errata(out / "errata.csv")
    assert lines.unconfirmed == len(lines.lines) > 0
    confirmed = (out / "errata.csv").read_text(encoding="utf-8-sig").splitlines()
    (tmp_path / "errata.csv").write_text("\n".join([confirmed[0], f"{confirmed[1]}Ana"]), encoding="utf-8")
    data = runs[0].path.parents[1] / "mcq"
    task = kapwa.load_task("blend/mcq", data=data, errata=tmp_path / "errata.csv")
    assert len(task.items()) == len(runs[0].items) - 1
    assert "Proposed errata" in result.output
    fine = CliRunner().invoke(app, ["items", *folders[:3], "-o", str(tmp_path / "few")])
    assert len((tmp_path / "few" / "errata.csv").read_text(encoding="utf-8").splitlines()) == 1
    assert "Proposed errata" not in fine.output
    again = CliRunner().invoke(app, ["items", *folders, "-o", str(out)])
    assert again.exit_code == 2 or "already exists" in str(again.exception)


def test_what_cannot_be_audited_is_said(runs: list[Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Nothing to audit"):
        audit_items([])
    with pytest.raises(UsageError, match="no metric 'sem_w' that is right or wrong"):
        audit_items(runs[:1], metric="sem_w")
    with pytest.raises(UsageError, match="read against items"):
        audit_items(sheet(tmp_path / "c.csv", np.ones((3, 20), dtype=bool)))
    few = audit_items(runs[:3])
    assert few.items["discrimination"].null_count() == few.items.height
    assert "Discrimination needs 10 systems; there are 3." in few.notes
