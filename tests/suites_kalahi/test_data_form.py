"""The form for any culture: packs as CSV, YAML and other tables; variants; cards; names of data; floors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from packwriter import CARD, ROW, SECOND, THIRD, write_pack

from kapwa.datasets.rows import split_texts
from kapwa.errors import DataError, UsageError
from kapwa.records import Floor, Item
from kapwa.suites.kalahi.data import PACKS, read_situations
from kapwa.suites.kalahi.form import reference_response
from kapwa.suites.kalahi.mc import MC_METRICS, by_length, chance_mc1, first_is_best, floors


def _lists(row: dict[str, str]) -> dict[str, object]:
    return {k: v.split(";") if k in ("relevant", "irrelevant") else v for k, v in row.items()}


def _summary(data: Path | str) -> list[tuple[str, str, str, str]]:
    return [(i.id, i.variant, i.cluster, i.fields["prompt"]) for i in read_situations(data)[0]]


def test_variants_are_derived_from_the_parts(tmp_path: Path) -> None:
    full = "I am a student.\nA friend calls.\nI am in class.\nWhat do I do?"
    assert _summary(write_pack(tmp_path / "p")) == [
        ("001a", "full", "001", "I am a student.\nA friend calls.\nWhat do I do?"),
        ("001b", "full", "001", full),
        ("002", "full", "002", "It rains.\nWhat do I do?"),
        ("001a", "partial", "001", "A friend calls.\nWhat do I do?"),
        ("001b", "partial", "001", "A friend calls.\nI am in class.\nWhat do I do?"),
        ("002", "partial", "002", "It rains.\nWhat do I do?"),
        ("001a", "unenriched", "001", "A friend calls.\nWhat do I do?"),
        ("002", "unenriched", "002", "It rains.\nWhat do I do?"),
    ]


def test_the_base_row_stands_for_its_cluster(tmp_path: Path) -> None:
    items, _ = read_situations(write_pack(tmp_path, [ROW, SECOND | {"base": "TRUE"}, THIRD]))
    assert [i.id for i in items if i.variant == "unenriched"] == ["001b", "002"]
    base = next(i for i in items if i.variant == "unenriched")
    assert base.fields["best"] == "Send a kind message."
    assert not base.fields["personal_situation"]


def test_every_format_gives_the_same_items(tmp_path: Path) -> None:
    rows = [ROW, SECOND, THIRD]
    expected = read_situations(write_pack(tmp_path / "csv"))[0]
    lists = [_lists(row) for row in rows]
    writers: dict[str, Callable[[Path], object]] = {
        "tsv": lambda file: pl.DataFrame(rows).write_csv(file, separator="\t"),
        "yaml": lambda file: file.write_text(yaml.safe_dump({"situations": lists}), encoding="utf-8"),
        "jsonl": lambda file: file.write_text("\n".join(map(json.dumps, lists)), encoding="utf-8"),
        "parquet": lambda file: pl.DataFrame(lists).write_parquet(file),
        "xlsx": lambda file: _write_xlsx(file, rows),
    }
    for suffix, write in writers.items():
        folder = tmp_path / suffix
        folder.mkdir()
        (folder / "card.yaml").write_text(CARD, encoding="utf-8")
        file = folder / f"situations.{suffix}"
        write(file)
        assert read_situations(folder)[0] == expected, suffix
        assert read_situations(file)[0] == expected, suffix


def _write_xlsx(file: Path, rows: list[dict[str, str]]) -> None:
    book = openpyxl.Workbook()
    for row in (list(rows[0]), *(list(row.values()) for row in rows)):
        book.active.append(row)
    book.save(file)


def test_a_response_of_a_yaml_list_may_hold_a_semicolon(tmp_path: Path) -> None:
    entry = _lists(ROW) | {"best": "Wait; then call.", "relevant": ["Wait; then call.", "Call.", "Write."]}
    (tmp_path / "situations.yaml").write_text(yaml.safe_dump([entry]), encoding="utf-8")
    (tmp_path / "card.yaml").write_text(CARD, encoding="utf-8")
    assert read_situations(tmp_path)[0][0].fields["relevant"] == ("Wait; then call.", "Call.", "Write.")


def test_glosses_follow_the_parts_that_a_variant_shows(tmp_path: Path) -> None:
    glosses = {"user_en": "U", "context_en": "C", "instruction_en": "I", "best_en": "B", "relevant_en": "B;r;s"}
    items, _ = read_situations(write_pack(tmp_path, [ROW | glosses]))
    assert [item.fields["gloss"]["prompt"] for item in items] == ["U\nC\nI", "C\nI", "C\nI"]
    assert items[0].fields["gloss"]["relevant"] == ("B", "r", "s")
    assert "irrelevant" not in items[0].fields["gloss"]
    partly, _ = read_situations(write_pack(tmp_path, [ROW | glosses | {"user_en": ""}]))
    assert [item.fields["gloss"].get("prompt") for item in partly] == [None, "C\nI", "C\nI"]


def test_culture_and_language_come_from_the_card_or_the_row(tmp_path: Path) -> None:
    rows = [ROW | {"culture": "", "language": ""}, THIRD | {"culture": "Otherish", "language": "ar"}]
    items, source = read_situations(write_pack(tmp_path / "a", rows))
    assert [(i.culture, i.language) for i in items[:2]] == [("Testish", "tl-PH"), ("Otherish", "ar")]
    assert source.name == "a"
    assert source.card["licence"] == "CC0-1.0"
    rows[0] |= {"culture": "Solo", "language": "en"}
    alone, source = read_situations(write_pack(tmp_path / "b", rows, card=None))
    assert [i.culture for i in alone[:2]] == ["Solo", "Otherish"]
    assert source.card == {}


def test_a_folder_of_packs_is_read_as_one(tmp_path: Path) -> None:
    write_pack(tmp_path / "one")
    write_pack(
        tmp_path / "two", [r | {"id": "x" + r["id"], "cluster": "x" + r["cluster"]} for r in (ROW, SECOND, THIRD)]
    )
    (tmp_path / "unrelated").mkdir()
    items, source = read_situations(tmp_path)
    assert len(items) == 16
    assert [card["culture"] for card in source.card["packs"]] == ["Testish", "Testish"]
    write_pack(tmp_path / "two")
    with pytest.raises(DataError, match="'001a' is also the id of row 2") as caught:
        read_situations(tmp_path)
    assert caught.value.path == tmp_path / "two" / "situations.csv"


def test_two_packs_must_not_share_a_cluster(tmp_path: Path) -> None:
    """Intervals are clustered by it: two situations of one name would count as one."""
    write_pack(tmp_path / "one")
    write_pack(tmp_path / "two", [THIRD | {"id": "x"}])
    with pytest.raises(DataError, match=r"'002' is also a cluster of Testish \(one/situations.csv\)") as caught:
        read_situations(tmp_path)
    assert (caught.value.row, caught.value.column) == (2, "cluster")


def test_the_digest_covers_the_card_and_the_rows(tmp_path: Path) -> None:
    first = read_situations(write_pack(tmp_path))[1].digest
    assert read_situations(write_pack(tmp_path))[1].digest == first
    assert read_situations(write_pack(tmp_path, card=CARD + "illustrative: true\n"))[1].digest != first
    assert read_situations(write_pack(tmp_path, [ROW]))[1].digest != first


def test_the_samples_are_the_default_and_one_goes_by_name_or_by_folder() -> None:
    items, source = read_situations(None)
    assert (source.name, source.illustrative) == ("sample", True)
    assert {item.culture for item in items} == {"Filipino", "Egyptian"}
    assert read_situations("sample") == (items, source)
    by_name, source = read_situations("sample:filipino")
    assert source.name == "sample:filipino"
    assert by_name == read_situations(PACKS / "filipino")[0] == read_situations(PACKS / "filipino" / "card.yaml")[0]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sample:filipno", "'filipino'"),
        ("sampel", "'sample'"),
        ("aisingapore/kalahy", "'aisingapore/kalahi'"),
        ("", "Available"),
        ("bad\0name", "Available"),
        ("x" * 5000, "Available"),
        ("~nobody-of-this-name/x", "Available"),
    ],
)
def test_unknown_names_are_usage_errors_with_the_nearest(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_situations(name)
    assert hint in str(caught.value)
    assert len(str(caught.value)) < 1000


@given(st.lists(st.text(alphabet="ab .\n", max_size=6)))
def test_splitting_responses_keeps_their_words_and_order(pieces: list[str]) -> None:
    found = split_texts(";".join(pieces))
    assert list(found) == [piece.strip() for piece in pieces if piece.strip()]
    assert split_texts(tuple(pieces)) == found


@given(st.text())
def test_a_reference_response_ends_in_a_period_and_adds_at_most_one(text: str) -> None:
    once = reference_response(text)
    assert once.endswith(".")
    assert once in (text, text + ".")
    assert reference_response(once) == once


def _item(best: str, others: tuple[str, ...], irrelevant: tuple[str, ...], **changes: Any) -> Item:
    given = {"id": "1", "variant": "full", "culture": "A"} | changes
    fields = {"best": best, "relevant": (best, *others), "irrelevant": irrelevant}
    home = {"suite": "kalahi", "language": "en", "category": "", "topic": "", "cluster": given["id"]}
    return Item(**given, **home, fields=fields)


def _by_name(items: list[Item], metric: str, variant: str = "full", note: str = "") -> dict[str, float]:
    found = floors(items)
    return {f.name: f.value for f in found if (f.metric, f.variant, f.note, f.kind) == (metric, variant, note, "floor")}


def test_the_rules_by_hand() -> None:
    assert {floor.metric for floor in floors([_item("a", (), ("b",))])} == set(MC_METRICS)
    assert floors([]) == []
    item = _item("four", ("a", "sixsix"), ("bb", "ccc", "dd"))
    assert chance_mc1(item) == 0.25
    assert _by_name([item], "mc2") == {"no preference": 0.5}
    assert _by_name([_item("a", ("b",), ("c",))], "mc2") == {"no preference": 2 / 3}
    assert (by_length(item, 1), by_length(item, -1)) == (1.0, 0.0)
    assert _by_name([item], "mc3") == {"chance": 0.25, "longest": 2 / 3, "shortest": 1 / 3}
    tied = _item("aaa", (), ("bbb", "c"))
    assert _by_name([tied], "mc1")["longest"] == 0.0
    assert _by_name([tied], "mc1_shared")["longest"] == 0.5
    # Length is counted in characters.
    assert by_length(_item("abcde", (), ("ممم", "خخخخ")), 1) == 1.0
    assert by_length(_item("ممم", (), ("abcd",)), -1) == 1.0


def test_the_released_floors_and_ceilings_which_other_data_lack(kalahi_data: Path) -> None:
    items, samples = read_situations(kalahi_data)[0], read_situations(None)[0]
    found = _by_name(items, "mc1")
    for name, value in {"chance": 0.242889, "longest": 0.413333, "shortest": 0.113333}.items():
        assert found[name] == pytest.approx(value, abs=5e-7)
    assert abs(found["first position"] - found["chance"]) < 0.08
    assert _by_name(items, "mc1", "unenriched")["chance"] == pytest.approx(0.245294, abs=5e-7)
    for metric in ("mc2", "mc2_reference", "mc2_sum"):
        assert _by_name(items, metric) == {"no preference": 0.5}

    def ceilings(of: list[Item]) -> list[Floor]:
        return [floor for floor in floors(of) if floor.kind == "ceiling"]

    assert {(f.name, round(f.value, 4)) for f in ceilings(items)} == {("human", 0.8910), ("human (implied)", 0.8956)}
    assert {(f.metric, f.variant) for f in ceilings(items)} == {(m, "full") for m in MC_METRICS if m.startswith("mc1")}
    full = [item for item in items if item.variant == "full"]
    assert not ceilings(full[:7])  # people answered 150 prompts, not these seven
    partial = [item for item in items if item.variant == "partial"]
    assert not any(map(ceilings, (samples, [*full, *samples], partial)))


def test_each_culture_has_its_own_floors_when_there_are_several() -> None:
    items = [_item("a", (), ("bb",)), _item("cc", (), ("d",), id="2", culture="B")]
    assert _by_name(items, "mc1")["longest"] == 0.5
    assert _by_name(items, "mc1", note="A")["longest"] == 0.0
    assert _by_name(items, "mc1", note="B")["longest"] == 1.0
    assert {f.note for f in floors(items[:1])} == {""}


def test_the_first_position_is_fixed() -> None:
    """Literal answers pin the order: the floor must not change with a release, a variant or the order in a file."""
    firsts = [i for i in range(16) if first_is_best(_item("best", (), ("x", "y", "z"), id=str(i)))]
    assert firsts == [2, 9, 10, 13, 14, 15]
    turned = [_item("best", ("other",), ("z", "y", "x"), id=str(i), variant="partial") for i in range(16)]
    assert [i for i in range(16) if first_is_best(turned[i])] == firsts
    # The best stands first as often as chance.
    items = [_item("best", (), ("x", "y", "z"), id=str(i)) for i in range(2000)]
    assert sum(map(first_is_best, items)) / 2000 == pytest.approx(0.25, abs=0.03)


@given(st.lists(st.text(min_size=1), min_size=2, max_size=6, unique=True))
def test_floors_are_shares(texts: list[str]) -> None:
    item = _item(texts[0], (), tuple(texts[1:]))
    assert all(0 <= floor.value <= 1 for floor in floors([item]))
    assert not (by_length(item, 1) and by_length(item, -1))
