"""Mapped tables are laid out once: a second start reads what was kept, which only the very tables open."""

import os
import stat
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kapwa
from kapwa.errors import KapwaError
from kapwa.suites import kept, sealed
from kapwa.suites.base import Task
from kapwa.suites.folders import keeping
from kapwa.suites.folders.convert import convert

SHORT = """form: blend/saq
table: "answers*.csv"
columns: {culture: culture, language: language, id: id, answers: answers}
join: {table: questions.csv, on: id, columns: {local: question}}
separators: {answers: "|"}
values: {culture: {A: Amhara, B: Basque}}
prompts: [{id: inst-4, local: "{q}!", english: "{q}"}]
skip_bad_rows: true
"""
QUESTIONS = "id,question\n1,ምን ይበላል?\n2,Zer jaten da?\n3,Zer edaten da?\n"
ANSWERS = "id,culture,language,answers\n1,A,am,እንጀራ|ዳቦ\n2,B,eu,ogia | arroza|none\n3,B,eu,sagardoa\n4,B,eu,ura\n"
CHOICES = """form: blend/mcq
table: mcq.csv
columns: {country: culture, language: language, question: question, options: options, answer: answer}
separators: {options: "|"}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(kept.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(keeping, "LEAST_BYTES", 0)
    return tmp_path / "cache" / "mapped"


@pytest.fixture
def starts(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders whose tables were laid out."""
    folders: list[Path] = []

    def noted(mapping, folder):  # type: ignore[no-untyped-def]
        folders.append(folder)
        return convert(mapping, folder)

    monkeypatch.setattr("kapwa.suites.folders.layout.convert", noted)
    return folders


@pytest.fixture
def short(tmp_path: Path) -> Path:
    folder = tmp_path / "short"
    folder.mkdir()
    for name, text in {"mapping.yaml": SHORT, "questions.csv": QUESTIONS, "answers-1.csv": ANSWERS}.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def seen(task: Task) -> tuple[object, ...]:
    """All that a run takes from a task of short answers."""
    floors = task.floors(task.items())
    return list(task.items()), task.data, task.options, list(task.requests(task.items())), repr(floors)


@pytest.mark.parametrize("chosen", [{}, {"variant": "local/inst-4"}, {"where": {"culture": "Basque"}, "limit": 1}])
def test_a_second_start_is_as_the_first(
    short: Path, cache: Path, starts: list[Path], chosen: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = seen(kapwa.load_task("blend/saq", data=short, **chosen))  # type: ignore[arg-type]
    assert starts == [short]
    assert seen(kapwa.load_task("blend/saq", data=short, **chosen)) == first  # type: ignore[arg-type]
    assert starts == [short]
    monkeypatch.setenv(kept.CACHE_VARIABLE, "off")
    assert seen(kapwa.load_task("blend/saq", data=short, **chosen)) == first  # type: ignore[arg-type]
    assert "Rows left out because something is wrong with them: 1" in str(first[1])


def test_questions_with_options_are_kept_too(tmp_path: Path, cache: Path, starts: list[Path]) -> None:
    (tmp_path / "mapping.yaml").write_text(CHOICES, encoding="utf-8")
    rows = "question,culture,language,options,answer\nZer?,Basque,eu,ogia|ura,B\nNon?,Basque,eu,etxean|kalean|inon,A\n"
    (tmp_path / "mcq.csv").write_text(rows, encoding="utf-8")
    first, again = (kapwa.load_task("blend/mcq", data=tmp_path) for _ in range(2))
    assert len(starts) == 1
    assert (first.items(), first.data) == (again.items(), again.data)


def test_who_has_not_the_tables_reads_nothing(short: Path, cache: Path) -> None:
    kapwa.load_task("blend/saq", data=short)
    (file,) = cache.iterdir()
    before = file.read_bytes()
    with pytest.raises(zlib.error):  # it was compressed before it was encrypted
        zlib.decompress(before[48:])
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    answers = short / "answers-1.csv"
    answers.write_text(answers.read_text(encoding="utf-8").replace("3,B,eu,sagardoa\n", ""), encoding="utf-8")
    seal = keeping.seal_of(short, short / "mapping.yaml", "blend/saq")
    assert seal is not None
    assert seal.path == file
    assert seal.opened() is None


@pytest.mark.parametrize("changed", ["mapping.yaml", "questions.csv", "answers-1.csv"])
def test_a_changed_file_is_read_anew_and_takes_the_place(
    short: Path, cache: Path, starts: list[Path], changed: str
) -> None:
    kapwa.load_task("blend/saq", data=short)
    before = [file.read_bytes() for file in cache.iterdir()]
    text = (short / changed).read_text(encoding="utf-8")
    (short / changed).write_text(text.replace("{q}!", "{q}?").replace("sagardoa", "ardoa").replace("edaten", "hartzen"))
    changed_task = kapwa.load_task("blend/saq", data=short)
    assert len(starts) == 2
    assert seen(kapwa.load_task("blend/saq", data=short)) == seen(changed_task)
    assert len(starts) == 2
    after = [file.read_bytes() for file in cache.iterdir()]
    assert len(before) == len(after) == 1
    assert before != after


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("answers-2.csv", "id,culture,language,answers\n3,A,am,ጠላ\n"),
        ("prompts.csv", "id,english,local\ninst-4,{q},{q}\n"),
    ],
)
def test_a_new_file_is_read(short: Path, cache: Path, starts: list[Path], name: str, text: str) -> None:
    first = kapwa.load_task("blend/saq", data=short)
    (short / name).write_text(text, encoding="utf-8")
    assert kapwa.load_task("blend/saq", data=short).items() != first.items()
    assert len(starts) == 2


def test_a_damaged_file_is_laid_out_again(short: Path, cache: Path, starts: list[Path]) -> None:
    first = seen(kapwa.load_task("blend/saq", data=short))
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    flipped = [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in (0, 40, len(whole) // 2, len(whole) - 1)]
    for damaged in (b"", whole[:20], whole[:-1], whole + b"x", *flipped):
        file.write_bytes(damaged)
        assert seen(kapwa.load_task("blend/saq", data=short)) == first
        assert kapwa.load_task("blend/saq", data=short).items() == first[0]  # it was kept again
    assert len(starts) == 1 + 4 + len(flipped)


def test_what_is_wrong_is_told_alike(short: Path, cache: Path) -> None:
    """Bad rows stop every start, and what a selection or an option does not fit is told as it is without a cache."""

    def error(**chosen: object) -> str:
        with pytest.raises(KapwaError) as caught:
            kapwa.load_task("blend/saq", data=short, **chosen)  # type: ignore[arg-type]
        return f"{caught.value} {caught.value.hint}"

    wrong = {"where": {"culture": "Basqe"}}, {"variant": "en/inst-4"}, {"prompts": str(short / "none.csv")}
    first = [error(**chosen) for chosen in wrong]
    kapwa.load_task("blend/saq", data=short)
    assert [error(**chosen) for chosen in wrong] == first
    mapping = short / "mapping.yaml"
    mapping.write_text(mapping.read_text(encoding="utf-8").replace("skip_bad_rows: true\n", ""), encoding="utf-8")
    assert error() == error()
    assert "row 5" in error()


def test_prompts_of_an_option_are_read(short: Path, cache: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("id,english,local\ninst-4,{q},Galdera: {q}\n", encoding="utf-8")
    prompts = [
        [item.fields["prompt"] for item in kapwa.load_task("blend/saq", data=short, **chosen).items()]  # type: ignore[arg-type]
        for chosen in ({}, {"prompts": other}, {"prompts": other}, {})
    ]
    assert prompts[1] == prompts[2] != prompts[0] == prompts[3]
    assert prompts[1][0].startswith("Galdera: ")


def test_tables_in_the_columns_of_the_form_are_not_taken_for_a_pack(short: Path, cache: Path, tmp_path: Path) -> None:
    """A folder that would be read without its mapping, too, is not, whatever an option says."""
    (short / "answers-1.csv").rename(short / "answers.csv")
    (short / "answers.csv").write_text("id,local\n1,x\n2,x\n3,x\n", encoding="utf-8")
    mapping = "form: blend/saq\ntable: answers.csv\ncolumns: {id: id, answers: local}\n"
    mapping += "join: {table: questions.csv, on: id, columns: {english: english}}\n"
    (short / "mapping.yaml").write_text(mapping + "constants: {culture: Mapped, language: en, topic: Food}\n")
    (short / "questions.csv").write_text("id,topic,english\n1,T,What?\n2,T,Where?\n3,T,Who?\n", encoding="utf-8")
    card = "culture: Raw\nlanguage: en\ntitle: t\nversion: '1'\nlicence: l\nauthors: [a]\ncollected: c\nconsent: c\n"
    (short / "card.yaml").write_text(card + "reviewed_by_native_speakers: true\nlimits: [none]\n", encoding="utf-8")
    (tmp_path / "p.csv").write_text("id,english,local\ninst-4,{q},{q}\n", encoding="utf-8")
    for options in ({}, {}, {"prompts": tmp_path / "p.csv"}):
        task = kapwa.load_task("blend/saq", data=short, **options)  # type: ignore[arg-type]
        assert {item.culture for item in task.items()} == {"Mapped"}


def test_a_cache_that_cannot_be_written_is_done_without(
    short: Path, cache: Path, starts: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        first = seen(kapwa.load_task("blend/saq", data=short))
    assert list(cache.iterdir()) == []
    cache.rmdir()
    cache.write_text("a file where the folder should be")
    assert seen(kapwa.load_task("blend/saq", data=short)) == first
    assert len(starts) == 2


def test_a_table_that_changes_while_it_is_read_is_not_kept(
    short: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changing(mapping, folder):  # type: ignore[no-untyped-def]
        (folder / "questions.csv").write_text(QUESTIONS.replace("edaten", "hartzen"), encoding="utf-8")
        return convert(mapping, folder)

    with monkeypatch.context() as patch:
        patch.setattr("kapwa.suites.folders.layout.convert", changing)
        kapwa.load_task("blend/saq", data=short)
    assert not cache.exists()


def test_several_starts_at_once(short: Path, cache: Path, starts: list[Path]) -> None:
    with ThreadPoolExecutor(4) as pool:
        tasks = list(pool.map(lambda _: kapwa.load_task("blend/saq", data=short), range(8)))
    before = len(starts)
    again = kapwa.load_task("blend/saq", data=short)
    assert all((task.items(), task.data) == (again.items(), again.data) for task in tasks)
    assert len(starts) == before
    assert len(list(cache.iterdir())) == 1


def test_small_tables_and_media_are_not_kept(short: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mapping = short / "mapping.yaml"
    mapping.write_text(mapping.read_text(encoding="utf-8") + "constants: {media: '[]'}\n", encoding="utf-8")
    kapwa.load_task("blend/saq", data=short)
    assert not cache.exists()
    mapping.write_text(SHORT, encoding="utf-8")
    monkeypatch.setattr(keeping, "LEAST_BYTES", 1_000)
    kapwa.load_task("blend/saq", data=short)
    assert not cache.exists()


def test_the_files_longest_unused_go_first(short: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "MOST_FILES", 2)
    seals = [sealed.Seal(cache / f"{name}.sealed", b"key") for name in ("a", "b")]
    for age, seal in enumerate(seals):
        seal.keep(sealed.CachedReading(b"[]"))
        os.utime(seal.path, (age, age))
    kapwa.load_task("blend/saq", data=short)
    assert [seal.opened() for seal in seals] == [None, sealed.CachedReading(b"[]")]
    assert len(list(cache.iterdir())) == 2
