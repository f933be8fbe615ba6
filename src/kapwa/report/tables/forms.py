"""Tables and blocks of the report on a terminal, in Markdown and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kapwa.report.tables.table import Cell, PageSection, Table
from kapwa.report.wording import label_text

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

WIDTH = 80  # columns of the narrowest terminal that tables are made for
# A terminal may draw the invisible marks that keep names of other scripts apart on a page.
_ISOLATES = str.maketrans("", "", "\u2066\u2067\u2068\u2069")


def plain(text: str) -> str:
    """Return ``text`` without what only a page understands, and without control characters, line by line."""
    return "\n".join(label_text(line) for line in text.split("\n")).translate(_ISOLATES)


def terminal_table(table: Table, most: int | None = None, *, title: bool = False) -> RichTable:
    """Return a table for a terminal, at ``most`` so many rows of it; what stands small on the page stands below.

    ``title``: its caption stands above it. What is bold on the page is bold.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable
    from rich.text import Text

    rows = table.rows[:most]
    texts = [[plain("\n".join(filter(None, [cell.text, cell.small]))) for cell in row] for row in rows]
    first = rows[0] if rows else [Cell("")] * len(table.head)
    columns = list(zip(table.head, [not cell.number for cell in first], strict=True))
    widths, gap = _widths(columns, texts)
    made = RichTable(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", padding=(0, gap - 1, 0, 0))
    if title:
        made.title, made.title_justify = plain(table.caption), "left"
    for (head, is_text), width in zip(columns, widths, strict=True):
        made.add_column(head, justify="left" if is_text else "right", overflow="fold", width=width)
    for row, shown in zip(rows, texts, strict=True):
        cells = zip(row, shown, strict=True)
        made.add_row(*(Text(text, style="bold" if cell.strong else "") for cell, text in cells))
    return made


def in_form(table: Table, form: str) -> RichTable | Text:
    """Return a table as "text", "markdown" or "latex"; in these a line is a row, however wide the terminal is."""
    from rich.text import Text

    if form == "text":
        return terminal_table(table)
    return Text({"markdown": markdown_table, "latex": latex_table}[form](table), no_wrap=True, overflow="ignore")


def markdown_table(table: Table) -> str:
    """Return a table in Markdown: its caption, cells with what stands small in brackets, and its note."""
    marks = [":--" if not cell.number else "--:" for cell in (table.rows or [[]])[0]]
    rows = [table.head, marks, *([_in_line(cell) for cell in row] for row in table.rows)]
    lines = ["| " + " | ".join(map(_markdown, row)) + " |" for row in rows]
    return "\n".join([f"**{_markdown(table.caption)}**", "", *lines, "", _markdown(table.note)]).rstrip() + "\n"


def _markdown(text: str) -> str:
    """Return ``text`` without what Markdown would read as a mark: of names, which may hold links and tags."""
    return re.sub(r"([\\`*\[<|])", r"\\\1", plain(text))


def latex_table(table: Table) -> str:
    """Return a table in LaTeX, for the package booktabs, with its caption above and its note below."""
    columns = "".join("r" if cell.number else "l" for cell in (table.rows or [[]])[0])
    head, *rows = [
        " & ".join(map(_latex, row)) + r" \\"
        for row in [table.head, *([_in_line(cell) for cell in row] for row in table.rows)]
    ]
    lines = [r"\begin{table}", rf"\caption{{{_latex(table.caption)}}}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}", "", rf"\footnotesize {_latex(table.note)}"]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


def _in_line(cell: Cell) -> str:
    return (f"{cell.text} ({cell.small})" if cell.small else cell.text).replace("\n", " ")


def _latex(text: str) -> str:
    escaped = plain(text).replace("\\", r"\textbackslash ")
    for sign in "&%$#_{}":
        escaped = escaped.replace(sign, f"\\{sign}")
    return escaped.replace("~", r"\textasciitilde ").replace("^", r"\textasciicircum ").replace("−", "$-$")


def render_block(block: PageSection) -> Group:
    """Return what people chose or judged (:mod:`kapwa.report.tables.people`) for a terminal."""
    from rich.console import Group
    from rich.text import Text

    shown: list[Any] = [Text(plain(sentence)) for sentence in block.sentences]
    for table in (*block.tables, *block.more):
        shown += [Text("\n" + plain(table.caption), style="bold"), terminal_table(table)]
        shown += [Text(plain(table.note), style="dim")] if table.note else []
    shown += [Text(plain(f"{name}. {question}")) for name, question in block.criteria]
    return Group(*shown, *(Text(plain(f"Note: {note}"), style="yellow") for note in block.notes))


def _widths(columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]) -> tuple[list[int], int]:
    """The width of each column, and the gap between them, that fit :data:`WIDTH` where that can be.

    ``columns``: the head of each, and whether it holds texts: these break between words, numbers where nothing else
    helps.
    """
    from rich.cells import cell_len

    def longest(texts: Sequence[str], pieces: Callable[[str], list[str]]) -> int:
        return max((cell_len(piece) for text in texts for piece in pieces(text)), default=1)

    cells_of = list(zip(*rows, strict=True)) or [()] * len(columns)
    wanted, least, words = [], [], []
    for (head, is_text), cells in zip(columns, cells_of, strict=True):
        wanted.append(longest((head, *cells), str.splitlines))
        words.append(longest((head, *cells), str.split))
        least.append(words[-1] if is_text else max(longest(cells, str.splitlines), longest([head], str.split)))
    if sum(least) + len(columns) > WIDTH:
        least = words
    gap = 2 if sum(least) + 2 * len(columns) < WIDTH else 1
    # The widest column is made narrower first, and columns of texts before others.
    while sum(wanted) + gap * len(columns) >= WIDTH and wanted != least:
        widest = max(range(len(columns)), key=lambda k: (wanted[k] > least[k], columns[k][1], wanted[k]))
        wanted[widest] -= 1
    return wanted, gap
