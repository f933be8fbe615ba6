"""Kalahi as released: every fact that FIDELITY section 1 states; our own samples; what the docs say of the form."""

import re
from collections import Counter
from operator import attrgetter
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest
from packwriter import released, write_csv

from kapwa.datasets.card import Card
from kapwa.datasets.rows import columns_of
from kapwa.records import Item
from kapwa.stats.comparison_tables import compare_variants
from kapwa.suites.items import grouped, score_frame, score_row
from kapwa.suites.kalahi.check import check
from kapwa.suites.kalahi.data import PACKS, read_situations
from kapwa.suites.kalahi.form import PARTS, TOPICS, SituationRow, reference_response

TABLE_3 = dict(zip(TOPICS, (16, 4, 20, 5, 6, 16, 18, 7, 13, 19, 26), strict=True))


@pytest.fixture(scope="module")
def variants(kalahi_data: Path) -> dict[str, list[Item]]:
    items, _ = read_situations(kalahi_data)
    assert [item.variant for item in items] == ["full"] * 150 + ["partial"] * 150 + ["unenriched"] * 85
    return {v: [i for i in items if i.variant == v] for v in ("full", "partial", "unenriched")}


def test_ids_stay_strings_and_link_the_variants(variants) -> None:
    full = variants["full"]
    assert full[0].id == "0101000100"
    assert full[0].cluster == "01010001"
    assert all(len(item.id) == 10 and item.id.startswith(item.cluster) for item in full)
    assert [item.id for item in full] == [item.id for item in variants["partial"]]
    assert {item.id for item in variants["unenriched"]} < {item.id for item in full}
    missing = {item.cluster for item in full} - {item.cluster for item in variants["unenriched"]}
    assert missing == {"08030001"}


def test_categories_topics_and_home(variants) -> None:
    full = variants["full"]
    assert Counter(item.category for item in full) == {"ethics": 109, "shared knowledge": 41}
    assert Counter(item.topic for item in full) == TABLE_3
    assert {(item.culture, item.language, item.suite) for item in full} == {("Filipino", "fil", "kalahi")}


def test_responses(variants) -> None:
    full = variants["full"]
    sizes = Counter((len(item.fields["relevant"]), len(item.fields["irrelevant"])) for item in full)
    assert sizes == {(3, 3): 134, (4, 4): 8, (5, 5): 8}
    assert sum(len(item.fields["relevant"]) + len(item.fields["irrelevant"]) for item in full) == 948
    assert all(item.fields["best"] in item.fields["relevant"] for item in full)
    texts = [text for item in full for text in (*item.fields["relevant"], *item.fields["irrelevant"])]
    assert all(text == text.strip() and text for text in texts)
    assert sum(reference_response(text) != text for text in texts) == 12
    by_id = {item.id: item for item in full}
    for item in (*variants["partial"], *variants["unenriched"]):
        for name in ("best", "relevant", "irrelevant"):
            assert item.fields[name] == by_id[item.id].fields[name]


def test_prompts_are_taken_apart_exactly(variants) -> None:
    full = variants["full"]
    assert sum(bool(item.fields["personal_situation"]) for item in full) == 65
    assert sum(not item.fields["user"] for item in full) == 10
    assert all(item.fields["context"] and item.fields["instruction"] for item in full)
    for items in variants.values():
        for item in items:
            lines = [line.strip() for line in item.fields["prompt"].split("\n") if line.strip()]
            assert "\n".join(item.fields[part] for part in PARTS if item.fields[part]).split("\n") == lines
    for full_item, partial in zip(full, variants["partial"], strict=True):
        assert not partial.fields["user"]
        assert [full_item.fields[p] for p in PARTS[1:]] == [partial.fields[p] for p in PARTS[1:]]
    bases = {item.cluster: item for item in variants["unenriched"]}
    for item in full:
        if item.cluster in bases:
            base = bases[item.cluster].fields
            assert not base["user"]
            assert not base["personal_situation"]
            assert (base["context"], base["instruction"]) == (item.fields["context"], item.fields["instruction"])


def test_prompts_are_kept_as_released(variants, kalahi_data: Path) -> None:
    text = (kalahi_data / "filipino.csv").read_text(encoding="utf-8")
    assert all(item.fields["prompt"].replace('"', '""') in text for item in variants["full"])
    assert sum(" \n" in item.fields["prompt"] for item in variants["full"]) == 10
    assert sum(" \n" in response for item in variants["full"] for response in item.fields["relevant"]) == 1


@pytest.mark.parametrize(
    ("name", "variant", "rows"),
    [
        ("filipino.csv", "full", 150),
        ("filipino_partially_enriched.csv", "partial", 150),
        ("filipino_unenriched.csv", "unenriched", 85),
    ],
)
def test_one_file_alone(kalahi_data: Path, name: str, variant: str, rows: int) -> None:
    items, source = read_situations(kalahi_data / name)
    assert [item.variant for item in items] == [variant] * rows
    assert source.card["licence"] == "CC-BY-4.0"
    assert not source.illustrative
    # The User line cannot be told from the Context; the Personal situation can, by comparing variations.
    assert not any(item.fields["user"] for item in items)
    assert sum(bool(item.fields["personal_situation"]) for item in items) == (0 if variant == "unenriched" else 65)


def test_the_release_is_recognised_by_content_not_by_bytes(kalahi_data: Path, tmp_path: Path) -> None:
    items, source = read_situations(kalahi_data)
    assert {item.fields.get("release") for item in items} == {"kalahi-2024"}
    for file in kalahi_data.iterdir():
        text = file.read_bytes().replace(b"\r\n", b"\n")
        (tmp_path / file.name).write_bytes(b"\xef\xbb\xbf" + text)
    copied, copied_source = read_situations(tmp_path)
    assert copied == items
    assert copied_source.digest != source.digest
    changed = (tmp_path / "filipino.csv").read_text(encoding="utf-8-sig").replace("Timbangin", "Timbangan")
    (tmp_path / "filipino.csv").write_text(changed, encoding="utf-8")
    known = {item.variant: item.fields.get("release") for item in read_situations(tmp_path)[0]}
    assert known == {"full": None, "partial": "kalahi-2024", "unenriched": "kalahi-2024"}


def _filipino(folder: Path, **changes: str) -> Path:
    return write_csv(folder / "filipino.csv", [released(**changes)])


def test_crlf_inside_cells_and_stray_spaces(tmp_path: Path) -> None:
    prompt = "  I am a cook.\r\nThe pot is hot. \r\n\r\nWhat do I do?  "
    items, _ = read_situations(_filipino(tmp_path, prompt=prompt, relevant_answers=" Wait a while. ; ;Use a cloth.;"))
    assert items[0].fields["prompt"] == "I am a cook.\nThe pot is hot. \n\nWhat do I do?"
    assert items[0].fields["context"] == "I am a cook.\nThe pot is hot."
    assert items[0].fields["relevant"] == ("Wait a while.", "Use a cloth.")
    assert items[0].topic == "local know-how"
    assert "release" not in items[0].fields
    # A prompt of one line is all context.
    fields = read_situations(_filipino(tmp_path, prompt="Is the pot hot?"))[0][0].fields
    assert fields["context"] == "Is the pot hot?"
    assert not fields["instruction"]


def test_variant_and_home_columns_let_one_table_hold_any_culture(tmp_path: Path) -> None:
    home = {"culture": "Testish", "language": "tl"}
    partial = released(variant="partial", prompt="The pot is hot.\nWhat do I do?")
    rows = [released(variant="full") | home, partial | home]
    items, source = read_situations(write_csv(tmp_path / "mine.csv", rows))
    assert [(item.variant, item.culture, item.fields["user"]) for item in items] == [
        ("full", "Testish", "I am a cook."),
        ("partial", "Testish", ""),
    ]
    assert source.card == {}


def test_a_user_line_that_the_partial_prompt_does_not_confirm_stays_in_the_context(tmp_path: Path) -> None:
    write_csv(tmp_path / "filipino.csv", [released()])
    write_csv(tmp_path / "filipino_partially_enriched.csv", [released(prompt="Another text.\nWhat do I do?")])
    full = read_situations(tmp_path)[0][0]
    assert not full.fields["user"]
    assert full.fields["context"] == "I am a cook.\nThe pot is hot."


def _three(folder: Path, partial: str, unenriched: str) -> Item:
    write_csv(folder / "filipino.csv", [released(prompt=f"I am a cook.\n{partial}")])
    write_csv(folder / "filipino_partially_enriched.csv", [released(prompt=partial)])
    write_csv(folder / "filipino_unenriched.csv", [{**released(prompt=unenriched), "base": "TRUE"}])
    return read_situations(folder)[0][0]


def test_the_unenriched_prompt_shows_the_personal_situation_of_a_single_variation(tmp_path: Path) -> None:
    item = _three(tmp_path, "The pot is hot.\nI am late.\nWhat do I do?", "The pot is hot.\nWhat do I do?")
    assert [item.fields[part] for part in PARTS] == ["I am a cook.", "The pot is hot.", "I am late.", "What do I do?"]
    # Lines that no rule explains stay in the context.
    item = _three(tmp_path, "The pot is hot.\nSo am I.\nI am late.\nWhat do I do?", "The pot is hot.\nWhat do I do?")
    assert item.fields["context"] == "The pot is hot.\nSo am I.\nI am late."
    assert not item.fields["personal_situation"]


def test_the_same_rows_as_csv_and_as_parquet_are_read_once(tmp_path: Path) -> None:
    write_csv(tmp_path / "filipino.csv", [released()])
    pl.DataFrame([released()]).write_parquet(tmp_path / "filipino.parquet")
    assert len(read_situations(tmp_path)[0]) == 1


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "kalahi-form.md"


def _blocks() -> list[str]:
    return re.findall(r"```(?:yaml|csv)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_are_read(tmp_path: Path) -> None:
    card, table, entry = _blocks()
    for folder, name, text in (("a", "situations.csv", table), ("b", "situations.yaml", entry)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "card.yaml").write_text(card, encoding="utf-8")
        (tmp_path / folder / name).write_text(text, encoding="utf-8")
    from_table, _ = read_situations(tmp_path / "a")
    (from_entry, *_), _ = read_situations(tmp_path / "b")
    assert [item.id for item in from_table] == ["001a", "001b", "001a", "001b", "001a"]
    assert from_entry.fields | {"gloss": {}} == from_table[0].fields
    assert from_entry.fields["gloss"]["prompt"].startswith("I am a student.")
    report = check(tmp_path / "a")
    assert {finding.severity for finding in report.findings} <= {"note"}


def test_the_page_names_every_column_and_field() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))
    assert set(columns_of(SituationRow)) | set(Card.model_fields) <= named


@pytest.mark.parametrize("name", ["egyptian", "filipino"])
def test_samples_are_complete_and_glossed_and_lack_nothing_but_a_review(name: str) -> None:
    for item in read_situations(f"sample:{name}")[0]:
        gloss = item.fields["gloss"]
        assert len(item.fields["relevant"]) >= 3
        assert len(item.fields["irrelevant"]) >= 3
        assert item.topic in TOPICS
        assert gloss["prompt"].count("\n") == item.fields["prompt"].count("\n")
        assert gloss["best"] == gloss["relevant"][item.fields["relevant"].index(item.fields["best"])]
        assert len(gloss["irrelevant"]) == len(item.fields["irrelevant"])
        assert all(text.isascii() for text in (gloss["prompt"], *gloss["relevant"], *gloss["irrelevant"]))
    report = check(PACKS / name)
    problems = [finding.message for finding in report.findings if finding.severity != "note"]
    assert ["not reviewed by native speakers" in message for message in problems] == [True]


def test_no_sentence_of_the_sample_is_from_the_released_data(kalahi_data: Path) -> None:
    released = _sentences(read_situations(kalahi_data)[0])
    ours = _sentences(read_situations("sample:filipino")[0])
    long_enough = {sentence for sentence in ours if sentence.count(" ") >= 4}
    assert long_enough
    assert not long_enough & released
    # Nor half of a sentence: no run of six words in common.
    assert not _runs(ours, 6) & _runs(released, 6)


def _sentences(items: list[Item]) -> set[str]:
    texts = (text for i in items for text in (i.fields["prompt"], *i.fields["relevant"], *i.fields["irrelevant"]))
    return {sentence.strip().lower() for text in texts for sentence in re.split(r"[.?!\n]", text) if sentence.strip()}


def _runs(sentences: set[str], length: int) -> set[tuple[str, ...]]:
    words = [re.findall(r"\w+", sentence) for sentence in sentences]
    return {tuple(w[i : i + length]) for w in words for i in range(len(w) - length + 1)}


def test_variants_are_paired_by_situation(variants) -> None:
    """Ids are no counterparts: all 85 that partial and unenriched share carry the same prompt (Kalahi section 3)."""
    items = [item for of_variant in variants.values() for item in of_variant]
    rows = [score_row(item, "length", float(len(item.fields["prompt"])), "scored") for item in items]
    table = compare_variants(score_frame(rows), metrics={"length": False})
    pairs = {(row["a"], row["b"]): row for row in table.iter_rows(named=True)}
    prompts = {name: {item.id: item.fields["prompt"] for item in of_variant} for name, of_variant in variants.items()}
    assert prompts["unenriched"].items() <= prompts["partial"].items()
    partial, unenriched = (grouped(variants[name], attrgetter("cluster")) for name in ("partial", "unenriched"))
    shared = partial.keys() & unenriched.keys()
    pair = pairs["partial", "unenriched"]
    assert pair["clusters"] == pair["n"] == len(shared) == len(prompts["unenriched"]) == 85

    def texts(of_cluster: list[Item]) -> list[str]:
        return [item.fields["prompt"] for item in of_cluster]

    means = [fmean(map(len, texts(partial[name]))) - fmean(map(len, texts(unenriched[name]))) for name in shared]
    assert pair["difference"] == pytest.approx(fmean(means))
    assert pair["difference"] > 0
    assert pairs["full", "unenriched"]["n"] == 85
    assert 0 < sum(set(texts(partial[name])) == set(texts(unenriched[name])) for name in shared) < 85
