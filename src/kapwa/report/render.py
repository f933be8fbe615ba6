"""Tables and blocks of the report on a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from kapwa.report.table import Table
from kapwa.report.wording import label_text

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table as RichTable

WIDTH = 80  # columns of the narrowest terminal that tables are made for
# A terminal may draw the invisible marks that keep names of other scripts apart on a page.
_ISOLATES = str.maketrans("", "", "\u2066\u2067\u2068\u2069")


def plain(text: str) -> str:
    """Return ``text`` without what only a page understands, and without control characters, line by line."""
    return "\n".join(label_text(line) for line in text.split("\n")).translate(_ISOLATES)


def terminal_table(table: Table) -> RichTable:
    """Return a table for a terminal; what stands small on the page stands in a line below."""
    rows = [[plain("\n".join(filter(None, [cell.text, cell.small]))) for cell in row] for row in table.rows]
    first = table.rows[0] if table.rows else ()
    words = [head for head, cell in zip(table.head, first, strict=False) if not cell.number]
    return new_table(table.head, rows, names=words, title=plain(table.caption))


def render_block(block: dict[str, Any]) -> Group:
    """Return what people chose or judged (:mod:`kapwa.report.people`) for a terminal."""
    from rich.console import Group
    from rich.text import Text

    shown: list[Any] = [Text(plain(sentence)) for sentence in block["sentences"]]
    for table in (*block["tables"], *block["more"]):
        shown += [Text(""), terminal_table(table), *([Text(plain(table.note), style="dim")] if table.note else [])]
    shown += [Text(plain(f"{name}. {question}")) for name, question in block["criteria"]]
    return Group(*shown, *(Text(plain(f"Note: {note}"), style="yellow") for note in block["notes"]))


def new_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    names: Collection[str],
    title: str = "",
    bold: Collection[int] = (),
) -> RichTable:
    """A table whose ``names`` may break over lines, between words where 80 columns allow it; numbers never break."""
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.table import Table as RichTable
    from rich.text import Text

    cells = list(zip(columns, *rows, strict=True))
    widths = [max(cell_len(line) for text in column for line in text.split("\n")) for column in cells]
    # A name needs room for its longest word, a number for all of it. What is too much is taken from the widest name.
    words = [max(cell_len(word) for text in column for word in text.split() or [""]) for column in cells]
    least = [words[k] if name in names else widths[k] for k, name in enumerate(columns)]
    gap = 2 if sum(least) + 2 * len(columns) < WIDTH else 1
    while sum(widths) + gap * len(columns) >= WIDTH and widths != least:
        widest = max(range(len(columns)), key=lambda k: (widths[k] > least[k], widths[k]))
        widths[widest] -= 1
    table = RichTable(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", padding=(0, gap - 1, 0, 0))
    if title:
        table.title, table.title_justify = title, "left"
    for name, wide in zip(columns, widths, strict=True):
        text = name in names
        table.add_column(
            name,
            justify="left" if text else "right",
            overflow="fold",
            no_wrap=not text,
            max_width=wide if text else None,
        )
    for k, row in enumerate(rows):
        table.add_row(*map(Text, row), style="bold" if k in bold else None)
    return table
