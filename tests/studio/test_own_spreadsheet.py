"""Tables that a community has: columns of any name, faulty rows, files of the authors, releases of other studios."""

import io
import json
import re
import zipfile
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from studio_people import People, Someone, a_situation, accepted, enter, taken_in

from kapwa.datasets.columns import guess
from kapwa.errors import KapwaError
from kapwa.studio import commands
from kapwa.studio.core import forms
from kapwa.studio.core.forms import form_of as form
from kapwa.studio.core.log import differences
from kapwa.studio.models import Event, Question, Situation
from kapwa.suites.kalahi.data import PACKS
from kapwa.tables import Record, TextTable
from published_tables import MAPPINGS

RELEASED = Path(__file__).parents[3] / "shared" / "data"

# As a group in Manila keeps them: a heading of their own for each, several columns of answers, no ids.
SHEET = """Blg;Paksa;Sitwasyon;Tanong;Pinakamahusay na sagot;Mabuting sagot 1;Mabuting sagot 2;Maling sagot 1;Maling sagot 2;Sino ang sumulat
1;pamilya;May kaarawan ang lola mo, at wala kang pera.;Ano ang gagawin mo?;Dadalaw ako.;Tatawag ako.;Susulat ako.;Hindi ako pupunta.;Magtatago ako.;Ana
2;pagkain;Inalok ka ng kanin ng kapitbahay, pero busog ka na.;Ano ang sasabihin mo?;Titikim ako nang kaunti.;Magpapasalamat ako.;Kukuha ako ng baon.;Aayaw ako.;Aalis ako.;Ben
3;pamilya;;Ano ang gagawin mo?;Oo.;Oo.;Sige.;Ayaw.;Hindi.;Ana
4;pista;Pista sa inyo, at dumating ang mga hindi mo kilala.;Ano ang gagawin mo?;Oo.;Sige.;Tara.;Oo.;Hindi.;Ben
"""  # noqa: E501


def sent(name: str, content: bytes | str) -> io.BytesIO:
    file = io.BytesIO(content.encode() if isinstance(content, str) else content)
    file.name = name
    return file


def shown(who: Someone, *files: io.BytesIO, status: int = 200, **posted: str) -> str:
    return who.post("import/", {"file": list(files), **posted}, status=status)


def form_of(page: str) -> dict[str, str]:
    """What the page of columns posts as it stands."""
    fields = dict(re.findall(r'<input type="hidden" name="(kept|was_\d|uuid)" value="([^"]*)"', page))
    for name, options in re.findall(r'<select id="[^"]*" name="([^"]*)">(.*?)</select>', page):
        chosen = re.search(r'value="([^"]*)" selected', options)
        fields[name] = chosen[1] if chosen else ""
    every = re.findall(r'name="(every_[^"]*)" value="([^"]*)"', page)
    return {name: unescape(value) for name, value in [*fields.items(), *every]}


def imported(who: Someone, page: str, **changes: str) -> str:
    return who.post("import/", {**form_of(page), **changes, "action": "import"})


def situations() -> list[dict[str, str]]:
    return list(Situation.objects.order_by("number").values_list("fields", flat=True))


def test_a_group_s_own_sheet_comes_in_as_it_is_shown_and_its_faulty_rows_are_named(
    project: Any, people: People
) -> None:
    page = shown(people["berto"], sent("amin.csv", SHEET))
    assert situations() == []  # nothing is saved before it was seen
    fields = form_of(page)
    names = ["id", "topic", "context", "", "best", "relevant", "relevant", "irrelevant", "irrelevant", ""]
    assert [fields[f"column_0_{place}"] for place in range(10)] == names
    assert "Row 4, <bdi>Sitwasyon</bdi>" in page
    assert "Row 5, <bdi>Maling sagot 2</bdi>" in page
    assert "2 rows as they will be" in page
    assert "><bdi>Titikim ako nang kaunti.</bdi></td>" in page
    # One column is not what it seemed.
    page = people["berto"].post("import/", {**fields, "column_0_3": "instruction", "action": "again"})
    assert "Ano ang sasabihin mo?</bdi></td>" in page
    page = imported(people["berto"], page)
    assert "2 rows were imported." in page
    assert "Row 4, <bdi>Sitwasyon</bdi>" in page
    first, second = situations()
    assert first == {
        "language": "fil",
        "topic": "pamilya",
        "context": "May kaarawan ang lola mo, at wala kang pera.",
        "instruction": "Ano ang gagawin mo?",
        "best": "1",
        "relevant_1": "Dadalaw ako.",
        "relevant_2": "Tatawag ako.",
        "relevant_3": "Susulat ako.",
        "irrelevant_1": "Hindi ako pupunta.",
        "irrelevant_2": "Magtatago ako.",
    }
    assert second["relevant_1"] == "Titikim ako nang kaunti."
    assert "0 rows were imported. 2 were already here." in imported(
        people["berto"], page=shown(people["berto"], sent("amin.csv", SHEET)), column_0_3="instruction"
    )
    assert list(Event.objects.filter(kind="items.brought").values_list("body__new", flat=True)) == [2]
    # Nobody wrote them, so Berto may review them; a draft is finished at the desk.
    assert "by <bdi>the project</bdi>" in people["berto"].get("situations/1/")
    assert differences(project) == []


def test_the_words_of_who_wrote_them_go_with_who_wrote_them(project: Any, people: People, studio: Path) -> None:
    page = shown(people["berto"], sent("amin.csv", SHEET))
    imported(people["berto"], page, theirs="on")
    assert "by <bdi>Berto</bdi>" in people["carla"].get("situations/1/")
    people["berto"].post("situations/1/submit/", status=409)  # it is not finished
    people["berto"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert situations() == []


@pytest.mark.parametrize(
    ("headings", "cells", "language", "columns"),
    [
        (
            ["번호", "주제", "질문", "영어"],
            ["1", "음식", "아침에 무엇을 먹나요?", "What is eaten?"],
            "ko",
            ["id", "topic", "local", "english"],
        ),
        (["الموضوع", "السؤال"], ["الطعام", "ماذا يأكل الناس؟"], "ar", ["topic", "local"]),
        (["ርዕስ", "ጥያቄ"], ["ምግብ", "ጠዋት ምን ይበላል?"], "am", ["topic", "local"]),
        (
            ["ID", "Topic", "Source", "Question", "Translation"],
            ["a1", "Food", "x", "¿Qué se come?", "What is eaten?"],
            "es",
            ["id", "topic", "", "local", "english"],
        ),
    ],
)
def test_columns_are_known_by_their_names_in_many_languages(
    studio: Path, headings: Sequence[str], cells: Sequence[str], language: str, columns: Sequence[str]
) -> None:
    project = commands.new_project("x", form="blend", culture="x", language=language)
    table = TextTable(Path("x.csv"), tuple(headings), [Record(2, dict(zip(headings, cells, strict=True)))], [])
    chosen = guess(table, forms.form_of(project).tables.columns(project, "questions"))
    assert [chosen.get(heading, "") for heading in headings] == columns


def test_columns_without_telling_names_are_known_by_what_stands_in_them(everyday: Any, askers: People) -> None:
    lines = ["A,B,C,D"]
    for number in range(1, 9):
        topic = "음식" if number % 2 else "가족"
        lines.append(f"q-{number},{topic},What do people eat on day {number}?,{number}일에는 무엇을 먹나요?")
    page = shown(askers["minji"], sent("설문.csv", "\n".join(lines)))
    assert [form_of(page)[f"column_0_{place}"] for place in range(4)] == ["id", "topic", "english", "local"]
    assert "8 rows were imported." in imported(askers["minji"], page)
    question = Question.objects.get(name="q-3")
    assert (question.topic, question.text) == ("음식", "What do people eat on day 3?")
    assert question.wordings.get(language="ko").text == "3일에는 무엇을 먹나요?"


def test_what_no_column_says_is_said_once_for_all_rows(everyday: Any, askers: People) -> None:
    minji, before = askers["minji"], Question.objects.count()
    page = shown(minji, sent("t.csv", "질문\n아침에 무엇을 먹나요?\n저녁에 무엇을 먹나요?\n아침에 무엇을 먹나요?\n"))
    assert "No column is chosen for: Topic." in page
    assert "rows as they will be" not in page
    page = minji.post("import/", {**form_of(page), "every_0_topic": "음식", "action": "again"})
    assert "Row 4: " in page
    assert "is the same as row 2" in page
    assert "2 rows as they will be" in page
    assert "2 rows were imported." in imported(minji, page)
    assert set(Question.objects.exclude(kind="prompt").values_list("topic", "name", "language")) == {("음식", "", "ko")}
    assert Question.objects.count() == before + 2
    # The same in another table, in another order: it is here already.
    page = shown(minji, sent("u.csv", "질문,주제\n저녁에 무엇을 먹나요?,음식\n점심에 무엇을 먹나요?,음식\n"))
    assert "1 row was imported. 1 was already here." in imported(minji, page)


def test_the_template_comes_back_filled_in(project: Any, people: People) -> None:
    for header in ({}, {"Accept-Language": "ar"}, {"Accept-Language": "ko"}):
        answer = people["carla"].client.get(people["carla"].full("import/situations/"), headers=header)
        book = openpyxl.load_workbook(io.BytesIO(answer.content))
        sheet = book.worksheets[0]
        headings = [cell.value for cell in sheet[1]]
        word = "=pista" if header else "=kasal"  # what a spreadsheet would take for a formula
        columns = form_of(shown(people["carla"], sent("t.xlsx", answer.content), status=200))
        names = [columns[f"column_0_{place}"] for place in range(len(headings))]
        assert {heading: name for heading, name in zip(headings, names, strict=True) if not name} == {}
        sheet.append([f"'{word}" if name == "context" else "" for name in names])
        out = io.BytesIO()
        book.save(out)
        page = shown(people["carla"], sent("t.xlsx", out.getvalue()))
        assert "1 row as it will be" in page, re.findall("(?s)<ul class=.findings.*?</ul>", page)
        imported(people["carla"], page)
    assert [fields["context"] for fields in situations()] == ["=kasal", "=pista"]
    people["carla"].get("import/questions/", status=400)


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return out.getvalue()


def test_what_a_card_says_of_all_rows_is_in_the_rows_that_are_shown(project: Any, people: People) -> None:
    card = re.sub("(?m)^language: .*$", "language: ceb", (PACKS / "filipino" / "card.yaml").read_text())
    page = shown(people["berto"], sent("t.zip", zipped(card__yaml=card.encode(), t__csv=b"Sitwasyon\nPista.\n")))
    assert form_of(page)["every_0_language"] == "Cebuano"
    assert "><bdi>Cebuano</bdi></td>" in page
    fields = form_of(page) | {"every_0_language": "ilo", "action": "again"}
    assert "><bdi>Ilokano</bdi></td>" in people["berto"].post("import/", fields)


def test_rows_that_do_not_fit_are_named_and_others_come_in(project: Any, people: People) -> None:
    long, many = "a" * 4001, ";".join(f"sagot {n}" for n in "abcdefgh")
    lines = ["Sitwasyon,Mabuting sagot,Paksa", f"{long},Oo,x", f"Pista.,{many},x", "Kasal.,Oo,x,labis", "Binyag.,Oo,x"]
    page = shown(people["berto"], sent("t.csv", "\n".join(lines)))
    for row, why in (
        (2, "has 4,001 characters"),
        (3, "has 8 responses; the studio has places for 6"),
        (4, "has 4 cells"),
    ):
        assert re.search(rf"Row {row}\b.*{why}", page)
    assert "1 row was imported." in imported(people["berto"], page)
    assert [fields["context"] for fields in situations()] == ["Binyag."]


def test_who_writes_brings_and_what_goes_along_cannot_be_changed(project: Any, people: People) -> None:
    gina = enter(project, "Gina", "translator")
    gina.get("import/", status=409)
    gina.post("import/", {"pasted": SHEET}, status=409)
    gina.get("import/situations/", status=409)
    enter(project, "Hana", "rater").get("import/", status=403)
    page = shown(people["berto"], sent("t.csv", SHEET))
    kept = form_of(page)["kept"]
    assert "damaged" in people["berto"].post("import/", {"kept": kept[:-2] + "xx", "action": "import"}, status=400)
    people["berto"].post("import/", status=400)
    assert situations() == []


def test_a_release_of_another_studio_comes_in_to_be_continued(project: Any, people: People) -> None:
    people["berto"].act("situations/new/", a_situation("Liza"))
    people["berto"].act("situations/new/", {**a_situation("Liza"), "personal_situation": "Gutom ako.", "origin": "1"})
    for number in (1, 2):
        people["berto"].act(f"situations/{number}/submit/")
        accepted(people, number, "carla", "edo")
    people["ana"].act("releases/", {"version": "1.0.0"})
    archive = people["ana"].client.get(people["ana"].full("releases/1.0.0/")).content
    other = commands.new_project("iba", culture="Cebuano", language="ceb")
    lito = enter(other, "Lito", "writer")
    page = shown(lito, sent("baryo-1.0.0.zip", archive))
    assert "2 rows as they will be" in page
    assert "2 rows were imported." in imported(lito, page)
    made = list(Situation.objects.filter(project=other).order_by("number"))
    texts = ("language", "context", "personal_situation", "best", "relevant_3", "irrelevant_3")
    first = Situation.objects.get(project=project, number=1).fields
    assert {name: made[0].fields[name] for name in texts} == {name: first[name] for name in texts}
    assert made[0].cluster == made[1].cluster
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("situations.jsonl", b" " * 30_000_000)
        packed.writestr("../../evil.csv", b"context\nx\n")
    assert "is too large" in shown(lito, sent("t.zip", bomb.getvalue()), status=400)


def test_files_in_the_layout_of_the_authors_come_in(
    project: Any, people: People, everyday: Any, askers: People
) -> None:
    columns = "prompt_variation_id,prompt_id,category,topic,prompt,best_answer,relevant_answers,irrelevant_answers\n"
    rows = 'v1,p1,ethics,family,"Ina ako.\nPista bukas.\nAnong gagawin ko?",Oo.,Oo.;Sige.;Tara.,Hindi.;Ayaw.;Wala.\n'
    partial = 'v1,p1,ethics,family,"Pista bukas.\nAnong gagawin ko?",Oo.,Oo.;Sige.;Tara.,Hindi.;Ayaw.;Wala.\n'
    both = [sent("filipino.csv", columns + rows), sent("filipino_partially_enriched.csv", columns + partial)]
    imported(people["berto"], shown(people["berto"], *both))
    (fields,) = situations()
    assert (fields["user"], fields["context"], fields["instruction"]) == (
        "Ina ako.",
        "Pista bukas.",
        "Anong gagawin ko?",
    )
    released = (
        ",ID,Topic,Source,Question,Translation\n0,Al-ko-1,Food,x,아침에 무엇을 먹나요?,What is eaten in the morning?\n"
    )
    page = shown(askers["minji"], sent("South_Korea_questions.csv", released))
    assert "1 row was imported." in imported(askers["minji"], page)
    question = Question.objects.get(name="Al-ko-1")
    assert (question.language, question.wordings.get(language="ko").text) == ("en", "아침에 무엇을 먹나요?")


TURNS = [{"role": "user", "content": "What is the food of the town?"}, {"role": "assistant", "content": "Kanin."}]
FILES = [{"path": "images/tubig.png", "alt": "A glass of water on the table"}]
TALKS: list[dict[str, Any]] = [
    {"id": "1", "topic": "Food", "local": "Ano ang kinakain dito?", "messages": TURNS, "media": []},
    {"id": "2", "topic": "Food", "local": "Ano ang iniinom dito?", "messages": [], "media": FILES},
    {"id": "3", "topic": "Food", "local": "Ano ang niluluto dito?", "messages": "", "media": None, "group": ""},
    {"id": "4", "topic": "Food", "local": "Ano ang binibili dito?", "group": "palengke"},
]


def test_conversations_and_pictures_are_not_dropped_in_silence(everyday: Any, tmp_path: Path) -> None:
    writer = enter(everyday, "Ana", "coordinator")
    table = "".join(json.dumps(row) + "\n" for row in TALKS)
    page = shown(writer, sent("questions.jsonl", table))
    names = ["id", "topic", "local", "messages", "media", "group"]
    fields = form_of(page)
    assert [fields[f"column_0_{place}"] for place in range(6)] == names  # not taken for the question in English
    for row, name in ((1, "messages"), (2, "media"), (4, "group")):
        assert f"Row {row}, <bdi>{name}</bdi>" in page
    assert "1 row as it will be" in page
    # Who leaves a column out on purpose has the texts without it.
    page = imported(writer, writer.post("import/", {**fields, "column_0_4": "", "action": "again"}))
    assert "2 rows were imported." in page
    taken = Question.objects.filter(project=everyday).exclude(kind="prompt")
    assert set(taken.values_list("name", flat=True)) == {"2", "3"}
    (tmp_path / "questions.jsonl").write_text(table, encoding="utf-8")
    with pytest.raises(
        KapwaError, match=r"(?s)row 1, column 'messages'.*lost.*the page “Import a table” lists them all"
    ):
        taken_in(everyday, tmp_path)


def test_a_pack_says_which_of_its_tables_and_columns_are_not_taken_in(everyday: Any, tmp_path: Path) -> None:
    (tmp_path / "questions.csv").write_text("id,topic,local,who\n1,Food,Ano ang kinakain?,Ana\n", encoding="utf-8")
    (tmp_path / "cultures.csv").write_text("culture,label,kind\nFilipino,Asia,region\n", encoding="utf-8")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for file in sorted(tmp_path.iterdir()):
            packed.write(file, file.name)
    page = shown(enter(everyday, "Ana", "coordinator"), sent("pack.zip", archive.getvalue()))
    assert "Not imported: <bdi>cultures.csv</bdi>" in page
    assert form(everyday).take_in(everyday, tmp_path).endswith("Not taken in: who, cultures.csv.")


@pytest.mark.parametrize(
    ("file", "guessed", "chosen"),
    [
        # Codes of languages and places are no topics; a sentence with a gap looks like a question: people say so.
        ("semeval-2026-task-7-short/short_answers.tsv", ["id", "", "local", ""], ["id", "", "local", ""]),
        ("geomlama/gd_prompt_en.tsv", ["english", "", "", "topic"], ["", "english", "", "", "topic"]),
    ],
)
def test_questions_of_a_published_benchmark_come_in_by_their_own_table(
    studio: Any, file: str, guessed: list[str], chosen: list[str]
) -> None:
    project = commands.new_project("questions", form="blend", culture="Mexico", language="es")
    writer = enter(project, "Ana", "coordinator")
    page = shown(writer, sent(Path(file).name, (MAPPINGS / file).read_bytes()))
    fields = form_of(page)
    assert [fields[f"column_0_{place}"] for place in range(len(guessed))] == guessed
    said = {f"column_0_{place}": name for place, name in enumerate(chosen)}
    page = imported(writer, page, every_0_topic="everyday", **said)
    assert "20 rows were imported." in page
    taken = Question.objects.filter(project=project).exclude(kind="prompt")
    assert taken.count() == 20
    assert all("?" in text for text in taken.values_list("text", flat=True))
