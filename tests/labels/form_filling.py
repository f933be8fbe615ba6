"""Situations in several scripts, with texts that spreadsheets would mangle, and ways to fill in forms."""

import csv
from collections.abc import Callable
from pathlib import Path

import openpyxl

from kapwa.records import Item

OPTIONS = {
    "0101": ("Best =1+1", "=SUM(A1:A9)", "-hindi", "@home"),
    "0102": ('=HYPERLINK("http://x")', "'=already", "''-twice", "+63 917"),
    "0103": ("اسأل والديك أولاً", "ارفض الدعوة", "اذهب وحدك"),
    "0104": ("ወላጆችህን ጠይቅ።", "እምቢ በል።", "ብቻህን ሂድ።", "ዝም በል።"),
    "0105": ("부모님께 먼저 여쭤본다.", "거절한다.", "혼자 간다."),
    "0106": ('Two\nlines, "quoted"; semicolon', "'plain apostrophe", "tab\there", " ﬁn "),
    "0107": ("2", "3", "1", "yes"),
}


def make_item(item_id: str, options: tuple[str, ...], *, variant: str = "full", language: str = "fil") -> Item:
    best, irrelevant = options[0], options[1:]
    fields = {
        "prompt": f"Situation {item_id}\nWhat to do?",
        "best": best,
        "relevant": (best,),
        "irrelevant": irrelevant,
    }
    return Item(item_id, "kalahi", "Filipino", language, "ethics", "family", variant, item_id[:3], fields)


Fill = Callable[[dict[str, str]], dict[str, str]]


def fill_csv(path: Path, fill: Fill, *, newline: str = "\r\n", bom: bool = True, delimiter: str = ",") -> None:
    """Fill in a CSV form as a spreadsheet would: ``fill`` gets the shown cells and returns what to write."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        rows = list(reader)
        header = list(reader.fieldnames or [])
    with path.open("w", encoding="utf-8-sig" if bom else "utf-8", newline="") as file:
        writer = csv.DictWriter(file, header, lineterminator=newline, delimiter=delimiter)
        writer.writeheader()
        writer.writerows(row | fill(row) for row in rows)


def fill_xlsx(path: Path, fill: Fill) -> None:
    """Fill in an XLSX form."""
    book = openpyxl.load_workbook(path)
    page = book.worksheets[0]
    header = [cell.value for cell in page[1]]
    for row in page.iter_rows(min_row=2):
        shown = {name: "" if cell.value is None else str(cell.value) for name, cell in zip(header, row, strict=True)}
        for name, value in fill(shown).items():
            # A person types a number, and the spreadsheet stores a number.
            row[header.index(name)].value = int(value) if value.isascii() and value.isdigit() else value
    book.save(path)


def fill_form(path: Path, fill: Fill) -> None:
    """Fill in a form of either format."""
    (fill_xlsx if path.suffix == ".xlsx" else fill_csv)(path, fill)
