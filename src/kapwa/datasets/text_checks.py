"""Oddities in texts: stray spaces, invisible characters, mixed scripts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from kapwa.datasets.findings import Finding, Severity
from kapwa.tables import FORMULA_ERRORS, TextTable

# Something odd in one cell: a "warning" may change a score, a "note" does not.
Oddity = tuple[Severity, str]

_AT_BREAK = re.compile(r"[^\S\n]\n|\n[^\S\n]")
_DOUBLE = re.compile(r"[^\S\n]{2,}")
_OTHER_SPACE = re.compile(r"[^\S \n]")
# Joiners shape letters in Persian, Indic scripts and emoji; direction marks keep mixed lines readable.
_NEEDED_FORMATS = frozenset("\u200c\u200d\u200e\u200f\u061c")
_CLOSERS = frozenset("'\"’”»›)]}」』")
_STRAIGHT = str.maketrans({**dict.fromkeys("‘’‚‛ʼ′", "'"), **dict.fromkeys("“”„‟«»″", '"')})
_ACCENTED = re.compile("[\u00c0-\u024f\u1e00-\u1eff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
# The characters of Windows-1252 that Latin-1 has elsewhere, with their bytes.
_WESTERN = {
    bytes([byte]).decode("cp1252"): bytes([byte]) for byte in range(0x80, 0xA0) if byte not in (129, 141, 143, 144, 157)
}
# Quotes, dashes and signs that people write; "É»" is a letter and a quotation mark, not a misread one.
_MARKS_MISREAD = frozenset("‘’“”„–—…•°£€«»¿¡·\u00a0")
# Code pages of computers set to Arabic, Cyrillic, Greek, Hebrew, Thai, Turkish, Vietnamese, Chinese and Japanese.
_CODE_PAGES = ("cp1256", "cp1251", "cp1253", "cp1255", "cp874", "cp1254", "cp1258", "gb18030", "cp932")
# This many letters in a row are no accident.
_SURELY = 4
_ACCENTS_ALONE = re.compile(r"[À-ÖØ-öø-ÿ]+")
_WHOLE_FRACTION = re.compile(r"-?\d+\.0")
# "1.23457E+18" of 1234567890123456789
_ROUNDED = re.compile(r"-?\d(?:\.\d+)?[eE]\+\d{2,}")
# What programs write for an empty cell.
NO_CELL = frozenset(("nan", "NaN", "NULL", "null", "<NA>", "#N/A", "N/A", "NaT", "undefined"))
_ESCAPED = re.compile(r"_x00[01][0-9A-Fa-f]_")
# Signs as web pages write them, and tags.
_OF_A_PAGE = re.compile(
    r"&(?:amp|lt|gt|quot|apos|nbsp|#\d{2,6}|#x[0-9a-fA-F]{2,5})\b;?|</?(?:br|p|div|span|b|i|strong)\b ?/?>"
)
_OTHER_SIGNS = ("؛", "；", "፤", "\n")


def cell_oddities(cell: str) -> Iterator[Oddity]:
    """Yield every oddity of a cell's text as it is in the file."""
    yield from _spaces(cell)
    if not cell.isascii() or not cell.replace("\n", "").isprintable():  # most cells need no further checks
        yield from _characters(cell)


def table_oddities(table: TextTable) -> Iterator[Finding]:
    """Yield every oddity of a table: those of :func:`program_oddities`, and those of each cell's text."""
    yield from program_oddities(table)
    for record in table.records:
        for column, cell in record.cells.items():
            for text in [cell] if isinstance(cell, str) else cell:
                for severity, message in cell_oddities(text):
                    yield Finding(severity, str(table.path), message, record.row, column)


def program_oddities(table: TextTable) -> Iterator[Finding]:
    """Yield traces of programs in a table's cells: fractions of whole numbers, words for empty cells, rounding."""
    for column in table.header:
        filled = [(row, cells[column]) for row, cells in table.records if cells.get(column)]
        if len(filled) > 1 and all(isinstance(cell, str) and _WHOLE_FRACTION.fullmatch(cell) for _, cell in filled):
            row, cell = filled[0]
            message = (
                f"whole numbers are written as {cell}, as programs do where cells of a column are empty: "
                "ids and answers written so may not match those in other files; save the column as text"
            )
            yield Finding("warning", str(table.path), message, row, column)
        for row, cell in filled:
            if cell in FORMULA_ERRORS and cell not in NO_CELL:
                message = f"{cell} is a formula error that a spreadsheet saved: write the text itself"
                yield Finding("warning", str(table.path), message, row, column)
            elif cell in NO_CELL:
                message = (
                    f"{cell!r} is what programs write for an empty cell: empty it, or write what people would read"
                )
                yield Finding("warning", str(table.path), message, row, column)
            elif isinstance(cell, str) and _ROUNDED.fullmatch(cell):
                message = (
                    f"{cell} is a number of many digits that a spreadsheet rounded: format the column as text, and "
                    "write the number again"
                )
                yield Finding("warning", str(table.path), message, row, column)


def _spaces(cell: str) -> Iterator[Oddity]:
    inner = cell.strip()
    if _ESCAPED.search(inner):
        escape = _ESCAPED.search(inner)[0]  # type: ignore[index]
        yield "warning", f"{escape} is how workbooks write a character that XML lacks, such as a line break: replace it"
    page = _OF_A_PAGE.search(inner)
    if page:
        yield "warning", f"{page[0]!r} is how web pages write a sign or a break: write what people would read"
    if cell != inner:
        yield "note", "stray whitespace at an end of the cell (removed on reading)"
    if _AT_BREAK.search(inner):
        yield "warning", "stray whitespace beside a line break inside the cell (kept)"
    if _DOUBLE.search(inner):
        yield "warning", "stray whitespace: two spaces in a row (kept)"
    elif _OTHER_SPACE.search(inner):
        name = unicodedata.name(_OTHER_SPACE.search(inner)[0], "a tab or control space")  # type: ignore[index]
        yield "warning", f"stray whitespace: {name.lower()} (kept)"
    if "\n\n" in inner:
        yield "note", "an empty line inside the cell (kept)"


def _characters(cell: str) -> Iterator[Oddity]:
    for run in dict.fromkeys(_NOT_ASCII.findall(cell)):
        meant = _misread(run)
        if not meant and len(run) >= _SURELY and _ACCENTS_ALONE.fullmatch(run) and len(set(run)) > 2:
            yield (
                "warning",
                f"{run!r} has only accented letters, like words of another script that were read in a Western "
                "encoding: save the file as 'CSV UTF-8' again, from a copy that still has its letters",
            )
        if meant:
            yield (
                "warning",
                f"{run!r} seems to be {meant!r}, read in a wrong encoding: save the file as 'CSV UTF-8' again",
            )
    for char in dict.fromkeys(cell):
        needed = char in _NEEDED_FORMATS or char == "\n" or char.isspace()
        if not needed and (char == "\ufffd" or unicodedata.category(char) in ("Cc", "Cf", "Cn", "Co", "Cs")):
            name = unicodedata.name(char, "control character").lower()
            yield "warning", f"the character U+{ord(char):04X} ({name}), {cell.count(char)}×"
    if not unicodedata.is_normalized("NFC", cell):
        yield "warning", "text that is not in Unicode normal form C: the same word may be spelt in two ways"
    # Latin, Greek and Cyrillic letters look alike, and tokenise differently.
    for word in dict.fromkeys(re.findall(r"[^\W\d_]+", cell)):
        scripts = {unicodedata.name(char, "").split(" ", 1)[0] for char in word} & {"LATIN", "GREEK", "CYRILLIC"}
        if len(scripts) > 1:
            mixed = " and ".join(sorted(script.title() for script in scripts))
            yield "warning", f"the word {word!r} mixes {mixed} letters"


def _misread(run: str) -> str:
    """Return the original letters where a program read UTF-8 as a Western code page; "" where it did not."""
    try:
        meant = b"".join(_WESTERN.get(char) or char.encode("latin-1") for char in run).decode()
    except UnicodeError:
        return _misread_elsewhere(run)
    accented = all(_ACCENTED.fullmatch(char) or char in _MARKS_MISREAD for char in meant)
    # Two letters of another script in a row are no accident: "Ø§Ù„" is Arabic.
    return meant if accented or len(meant) > 1 else ""


def _misread_elsewhere(run: str) -> str:
    """Return the original letters where a program read UTF-8 as a code page of another script; "" where it did not."""
    for code_page in _CODE_PAGES if len(run) >= _SURELY else ():
        try:
            meant = run.encode(code_page).decode()
        except UnicodeError:
            continue
        if len(meant) > 1 and all(unicodedata.category(char)[0] in "LMNPZ" for char in meant):
            return meant
    return ""


def only_difference(a: str, b: str) -> str:
    """Return the one kind of sign in which two texts differ ("the quotation marks"); "" for other differences."""
    kinds = (
        ("the spaces", lambda text: " ".join(text.split())),
        ("the quotation marks", lambda text: text.translate(_STRAIGHT)),
        ("capital letters", str.casefold),
        ("the signs at the end", lambda text: text.rstrip(".!?…。።।؟ ")),
    )
    return next((name for name, plain in kinds if a != b and plain(a) == plain(b)), "")


def lacks_final_sign(text: str) -> bool:
    """Whether a response ends without any punctuation, closing quotes and brackets aside."""
    bare = text.rstrip("".join(_CLOSERS))
    return not bare or unicodedata.category(bare[-1])[0] != "P"


def joined_otherwise(text: str) -> str | None:
    """The sign that separates responses instead of ";", where a single response has one."""
    return next((sign for sign in _OTHER_SIGNS if sign in text), None)
