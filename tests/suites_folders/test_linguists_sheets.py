"""Four spreadsheets with a linguist's mistakes: one check names them all as people see them, the next is clean."""

from pathlib import Path
from typing import Any

import openpyxl
import yaml
from first_folder import ANSWERS, CARD, QUESTIONS, SITUATION, placed
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.suites.folders.adding import add_suite, check_folder

TWO_RESPONSES = {
    **{"best": "“ሂድ” በለው።", "relevant": '"ሂድ" በለው።;ደውልለት።;ጸልይለት።', "irrelevant": "ተወው።;እርሳው።;ዝም በል።"},
}
MAPPING = {
    **{"form": "blend/saq", "table": "table.xlsx", "separators": {"answers": "|"}},
    "columns": {"locale": "locale", "id": "id", "local": "question", "answers": "answers"},
    "prompts": [{"id": "inst-4", "local": "{q}", "english": "{q}"}],
}


def sheet(path: Path, lines: list[list[Any]], merged: tuple[str, ...] = ()) -> None:
    book = openpyxl.Workbook()
    for line in lines:
        book.active.append(line)
    for place in merged:
        book.active.merge_cells(place)
    book.save(path)


def questions(*, mended: bool) -> tuple[list[list[Any]], tuple[str, ...]]:
    """A title, capitals, a topic merged over two rows, an empty row, a note below, an id given twice."""
    head, first, second, third = (list(line) for line in QUESTIONS)
    again = "q04" if mended else "q03"
    lines = [
        *([] if mended else [["Questions of our town, collected in May"]]),
        [f" {name.upper()}" for name in head],
        [f"  {first[0]} ", *first[1:]],
        [second[0], first[1] if mended else None, *second[2:]],
        [None, None, None, None],
        third,
        [again, "Family", "ማን ይገዛል?", "Who shops?"],
        *([] if mended else [["Note: q02 was asked by phone, the others at the market."]]),
    ]
    return lines, () if mended else ("B3:B4",)


def answers(*, mended: bool) -> list[list[Any]]:
    """Capitals, stray spaces, a total, an id with a sign too many."""
    head, *rows = (list(line) for line in ANSWERS)
    rows[0][0] = "q01 "
    more = [["q04", "3", "አባት", "father"]]
    return [[name.title() for name in head], *rows, *more, *([] if mended else [["Total", 15]])]


def situations(*, mended: bool) -> list[list[Any]]:
    """Curly quotation marks in one of two copies, capitals, a note between the rows."""
    one = SITUATION | TWO_RESPONSES | ({"best": '"ሂድ" በለው።'} if mended else {})
    two = SITUATION | {"id": "s2", "cluster": "c2", "context": "ጎረቤቴ ታመመ።"}
    note = [] if mended else [["(the next ones are from Lidya)"]]
    return [[name.title() for name in one], list(one.values()), *note, list(two.values())]


def table(*, mended: bool) -> tuple[list[list[Any]], tuple[str, ...]]:
    """Somebody else's table: capitals, merged locales, an id twice."""
    locale = ["am-ET", "am-ET" if mended else None]
    return [
        ["Locale", "ID", "Question", "Answers", "Remarks"],
        [locale[0], "1", "ጠዋት ምን ይጠጣል?", "ቡና | ሻይ", "ok"],
        [locale[1], "2" if mended else "1", "ማታ ምን ይበላል?", "እንጀራ", ""],
    ], () if mended else ("A2:A3",)


def folders(place: Path, *, mended: bool) -> dict[str, Path]:
    found = {name: place / name for name in ("town", "situations", "table")}
    for folder in found.values():
        folder.mkdir(exist_ok=True, parents=True)
    for name in ("town", "situations"):
        (found[name] / "card.yaml").write_text(CARD, encoding="utf-8")
    sheet(found["town"] / "questions.xlsx", *questions(mended=mended))
    sheet(found["town"] / "answers.xlsx", answers(mended=mended))
    sheet(found["situations"] / "situations.xlsx", situations(mended=mended))
    sheet(found["table"] / "table.xlsx", *table(mended=mended))
    (found["table"] / "mapping.yaml").write_text(yaml.safe_dump(MAPPING, allow_unicode=True), encoding="utf-8")
    return found


def test_four_sheets_with_a_linguists_mistakes_are_clean_after_one_round(tmp_path: Path) -> None:
    first = {name: check_folder(folder).report.findings for name, folder in folders(tmp_path, mended=False).items()}
    assert set(placed(first["town"])) == {
        ("questions.xlsx", 1, None),  # a title
        ("questions.xlsx", 3, "B"),  # merged
        ("questions.xlsx", 7, "id"),  # given twice
        ("questions.xlsx", 8, "id"),  # a note
        ("answers.xlsx", 6, "votes"),  # a total
        ("answers.xlsx", 5, "id"),  # of a question that has another's id
    }
    said = {(Path(one.path).name, one.row): one.message for one in first["town"] if one.severity == "error"}
    assert said["questions.xlsx", 3].startswith("the cells B3:B4 are merged: only B3 holds the text.")
    assert said["answers.xlsx", 6].startswith(
        "15 is the sum of the rows above, and the row has no 'local'. Delete the row"
    )
    assert "Delete the row if it is a note" in said["questions.xlsx", 8]
    assert "is already the id of row 6" in said["questions.xlsx", 7]
    assert placed(first["situations"]) == [("situations.xlsx", 3, "id"), ("situations.xlsx", 2, "best")]
    assert any("only the quotation marks differ" in one.message for one in first["situations"])
    twice = "'1' is already the id of row 2, which has the same culture. Keep one of the two rows, or change its id."
    assert twice in [one.message for one in first["table"]]
    assert placed(first["table"]) == [("table.xlsx", 2, "A"), ("table.xlsx", 3, "id")]
    second = folders(tmp_path, mended=True)
    assert {name: check_folder(folder).errors for name, folder in second.items()} == {name: [] for name in second}
    for folder in second.values():
        add_suite(folder)


def test_findings_of_one_kind_stand_in_one_line(tmp_path: Path) -> None:
    place = folders(tmp_path, mended=True)["town"]
    many = [[f"q{i:03}", "Food", f"ምን {i}?", f"What is {i}?"] for i in range(1, 501)]
    sheet(place / "questions.xlsx", [list(QUESTIONS[0]), *many])
    sheet(place / "answers.xlsx", [list(ANSWERS[0]), *([row[0], "5", f"ቡና{i}", ""] for i, row in enumerate(many))])
    shown = CliRunner().invoke(app, ["data", "check", str(place)], env={"COLUMNS": "120"}).output
    (line,) = [one for one in shown.splitlines() if "has no English" in one]
    assert "2, 3, 4 …" in line
    assert "500 rows: the answer 'ቡና0', 'ቡና1', 'ቡና2', … has no English" in line
    assert "--all lists each" in shown
    every = CliRunner().invoke(app, ["data", "check", str(place), "--all"], env={"COLUMNS": "120"}).output
    assert every.count("has no English") == 500


def test_adding_says_which_cultures_can_be_scored(tmp_path: Path) -> None:
    place = tmp_path / "set"
    place.mkdir()
    rows = ["locale\tid\tquestion\tanswers", "am-ET\t1\tምን?\tቡና", "es-MX\t1\t¿Qué?\tpan", "sv-SE\t1\tVad?\tbröd"]
    (place / "t.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    prompts = [{"id": "inst-4", "local": "{q}", "culture": one} for one in ("Ethiopia", "Sweden")]
    mapping = {**MAPPING, "table": "t.tsv", "prompts": prompts}
    (place / "mapping.yaml").write_text(yaml.safe_dump(mapping, allow_unicode=True), encoding="utf-8")
    done = CliRunner().invoke(app, ["suite", "add", str(place)])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[:3] == [
        "can be scored: 1: Ethiopia [am]",
        "scored without rules, unreviewed: 1: Sweden [sv]",
        "cannot be scored: 1: Mexico",
    ]
