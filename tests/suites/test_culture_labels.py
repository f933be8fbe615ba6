"""What cultures belong to: nested and overlapping labels, refused circles and names, the digest, every form."""

import shutil
from pathlib import Path

import polars as pl
import pytest

import kapwa
from kapwa.datasets.canary import COLUMN, canary
from kapwa.datasets.card import LABELS_NAME
from kapwa.datasets.packs import DataSet
from kapwa.errors import DataError
from kapwa.files import digest
from kapwa.runs.manifest import describe
from kapwa.runs.requests import requests_of
from kapwa.suites.base import Selection
from kapwa.suites.folders.opening import folder_suite

NIGERIA = [
    "Hausa,Northern Nigeria,region",
    "Northern Nigeria,Nigeria,country",
    "Yoruba,Nigeria,country",
    "Nigeria,Nigerians everywhere,people",
    "London,Nigerians everywhere,people",
    "London,Nigerians abroad,diaspora",
]
CULTURES = ["London", "Hausa", "Yoruba", "Thai"]
PACKS = Path(kapwa.__file__).parent / "suites"


def read(folder: Path, *rows: str, cultures: list[str] = CULTURES, every: bool = True) -> DataSet:
    """A data set whose labels are these rows."""
    (folder / LABELS_NAME).write_text("\n".join(["culture,label,kind", *rows, ""]), encoding="utf-8")
    data = DataSet("made", folder)
    data.read_labels(cultures, every=every)
    return data


def plain_members(label: str, rows: list[str]) -> set[str]:
    """From the definition: who has the label, and who has a label that has it."""
    direct = {row.split(",")[0] for row in rows if row.split(",")[1] == label}
    return direct.union(*(plain_members(part, rows) for part in direct))


def test_labels_nest_and_overlap(tmp_path: Path) -> None:
    data = read(tmp_path, *NIGERIA)
    assert not data.problems
    assert data.labels == {
        "region": {"Northern Nigeria": ["Hausa"]},
        "country": {"Nigeria": ["Hausa", "Yoruba"]},
        "people": {"Nigerians everywhere": ["London", "Hausa", "Yoruba"]},
        "diaspora": {"Nigerians abroad": ["London"]},
    }
    for label, members in (pair for labels in data.labels.values() for pair in labels.items()):
        assert set(members) == plain_members(label, NIGERIA) & set(CULTURES)


def test_a_culture_with_the_name_of_a_label_belongs_to_it(tmp_path: Path) -> None:
    data = read(tmp_path, *NIGERIA, cultures=[*CULTURES, "Nigeria"])
    assert data.labels["country"] == {"Nigeria": ["Hausa", "Yoruba", "Nigeria"]}
    assert "Nigeria" in data.labels["people"]["Nigerians everywhere"]


@pytest.mark.parametrize(
    ("rows", "row", "column", "words"),
    [
        (["Hausa,North,region", "Yorubba,South,region"], 3, "culture", "'Yorubba' is neither a culture"),
        (["Hausa,North,region", "North,East,region", "East,North,region"], 3, "label", "'East' would belong to itself"),
        (["Hausa,Hausa,people"], 2, "label", "'Hausa' would belong to itself"),
        (["Hausa,North,region", "Yoruba,North,people"], 3, "kind", "'North' has the kind 'region' in row 2"),
        (["Hausa,North,region", "Hausa,North,region"], 3, "culture", "'Hausa'"),
        (["Hausa,North,"], 2, "kind", "is empty"),
    ],
)
def test_what_cannot_be_meant_is_refused(rows: list[str], row: int, column: str, words: str, tmp_path: Path) -> None:
    first = read(tmp_path, *rows).problems[0]
    assert (Path(first.path or "").name, first.row, first.column) == (LABELS_NAME, row, column)
    assert words in first.message
    assert column != "culture" or "Yorubba" not in words or "Did you mean 'Yoruba'?" in (first.hint or "")


def test_names_are_not_judged_where_not_all_cultures_are_known(tmp_path: Path) -> None:
    assert not read(tmp_path, "Igbo,South,region", every=False).problems


def test_the_digest_and_the_manifest_change_only_with_the_table(tmp_path: Path) -> None:
    header = "id,country,question_id,topic,question,option_A,option_B,answer,variant"
    table = f"{header}\n1,Hausa,1,food,Tuwo?,rice,oats,A,en\n"
    (tmp_path / "mcq.csv").write_text(table, encoding="utf-8")

    def data_of_run() -> dict[str, object]:
        task = kapwa.load_task("blend/mcq", data=tmp_path)
        manifest = describe(task, {"id": "x", "revision": None, "fingerprint": {}}, [], seed=0, label=None)
        return dict(manifest["data"])

    plain = data_of_run()
    files = {"mcq.csv": table.encode()}
    assert plain["digest"] == digest(files)
    assert "labels" not in plain
    labels = b"culture,label,kind\nHausa,North,region\n"
    (tmp_path / LABELS_NAME).write_bytes(labels)
    labelled = data_of_run()
    assert labelled["digest"] == digest(files | {LABELS_NAME: labels})
    assert labelled["labels"] == {"region": {"North": ["Hausa"]}}
    assert {**plain, "digest": "", "labels": {}} == {**labelled, "digest": "", "labels": {}}


FORMS = [
    ("kalahi/mc", "filipino"),
    ("blend/saq", "us"),
    ("eecc/qa", "cities"),
    ("opinions/survey", "market-days"),
    ("longform/criteria", "daily-life"),
]


@pytest.mark.parametrize(("task", "pack"), FORMS)
def test_every_form_reads_labels(task: str, pack: str, tmp_path: Path) -> None:
    folder = shutil.copytree(PACKS / task.partition("/")[0] / "packs" / pack, tmp_path / "pack")
    culture = kapwa.load_task(task, data=folder, limit=1).items()[0].culture
    (folder / LABELS_NAME).write_text(f"culture,label,kind\n{culture},Here,place\n", encoding="utf-8")
    assert kapwa.load_task(task, data=folder, limit=1).data.labels == {"place": {"Here": [culture]}}
    (folder / LABELS_NAME).write_text(f"culture,label,kind\n{culture}x,Here,place\n", encoding="utf-8")
    with pytest.raises(DataError, match="neither a culture of these data nor a label"):
        kapwa.load_task(task, data=folder, limit=1)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize(("task", "pack"), FORMS)
def test_every_form_knows_the_mark_of_a_release_and_asks_and_keeps_nothing_of_it(
    task: str, pack: str, suffix: str, tmp_path: Path
) -> None:
    folder, mark = tmp_path / pack, canary("1.0.0", "secret", private=True)
    folder.mkdir()
    source = PACKS / task.partition("/")[0] / "packs" / pack
    for file in source.iterdir():
        if file.suffix != ".csv":
            shutil.copy(file, folder)
            continue
        table = pl.read_csv(file, infer_schema=False).with_columns(pl.lit(mark).alias(COLUMN))
        write = {".csv": table.write_csv, ".jsonl": table.write_ndjson, ".parquet": table.write_parquet}[suffix]
        write(folder / file.with_suffix(suffix).name)
    plain, marked = (kapwa.load_task(task, data=folder) for folder in (source, folder))
    assert marked.data.digest != plain.data.digest
    items = marked.items()
    assert items == plain.items()
    asked = list(requests_of(marked, items, {}).distinct())
    assert "kapwa-canary" not in f"{items}{asked}{marked.item_table(items).rows()}"


def test_labels_beside_a_mapping_are_read_and_their_errors_name_them(tmp_path: Path) -> None:
    theirs, own = tmp_path / "theirs", tmp_path / "own"
    theirs.mkdir()
    own.mkdir()
    (theirs / "t.csv").write_text("n,who,ask,o1,o2,right\n1,Hausa,Tuwo?,rice,oats,A\n", encoding="utf-8")
    columns = "{id: n, country: who, question: ask, option_A: o1, option_B: o2, answer: right}"
    (own / "mapping.yaml").write_text(f"form: blend/mcq\ntable: t.csv\ncolumns: {columns}\n", encoding="utf-8")
    (own / LABELS_NAME).write_text("culture,label,kind\nHausa,North,region\n", encoding="utf-8")
    suite = folder_suite("homes", "blend", theirs, mapping=own / "mapping.yaml")
    task = suite.open_task("homes/mcq", None, Selection(), {})
    assert task.data.labels == {"region": {"North": ["Hausa"]}}
    (own / LABELS_NAME).write_text("culture,label,kind\nHusa,North,region\n", encoding="utf-8")
    with pytest.raises(DataError, match="'Husa' is neither") as refused:
        suite.open_task("homes/mcq", None, Selection(), {})
    assert (refused.value.path, refused.value.row, refused.value.column) == (own / LABELS_NAME, 2, "culture")
