"""What may be odd in texts: stray spaces, invisible characters, mixed scripts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from kapwa.datasets.findings import Finding, Severity
from kapwa.datasets.tables import Table

# Something odd in one cell: a "warning" may change a score, a "note" does not.
Oddity = tuple[Severity, str]

_AT_BREAK = re.compile(r"[^\S\n]\n|\n[^\S\n]")
_DOUBLE = re.compile(r"[^\S\n]{2,}")
_OTHER_SPACE = re.compile(r"[^\S \n]")
# Joiners shape letters in Persian, Indic scripts and emoji; direction marks keep mixed lines readable.
_NEEDED_FORMATS = frozenset("\u200c\u200d\u200e\u200f\u061c")
_CLOSERS = frozenset("'\"’”»›)]}」』")
_STRAIGHT = str.maketrans({**dict.fromkeys("‘’‚‛ʼ′", "'"), **dict.fromkeys("“”„‟«»″", '"')})
_OTHER_SIGNS = ("؛", "；", "፤", "\n")


def cell_oddities(cell: str) -> Iterator[Oddity]:
    """Yield every oddity of a cell's text as it stands in the file."""
    yield from _spaces(cell)
    if not cell.isascii() or not cell.replace("\n", "").isprintable():  # most cells have nothing further to find
        yield from _characters(cell)


def table_oddities(table: Table) -> Iterator[Finding]:
    """Yield every oddity of a table's cells."""
    for record in table.records:
        for column, cell in record.cells.items():
            for text in [cell] if isinstance(cell, str) else cell:
                for severity, message in cell_oddities(text):
                    yield Finding(severity, str(table.path), message, record.row, column)


def _spaces(cell: str) -> Iterator[Oddity]:
    inner = cell.strip()
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


def only_difference(a: str, b: str) -> str:
    """Name the one kind of sign in which two texts differ ("the quotation marks"); "" where they differ otherwise."""
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
    """The sign that joins responses in place of ";", when a single response holds one."""
    return next((sign for sign in _OTHER_SIGNS if sign in text), None)
