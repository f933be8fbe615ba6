"""Tables and blocks of the report on a terminal, in Markdown and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from kapwa.report.table import Block, Cell, Table
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


def terminal_table(table: Table) -> RichTable:
    """Return a table for a terminal; what stands small on the page stands in a line below."""
    rows = [[plain("\n".join(filter(None, [cell.text, cell.small]))) for cell in row] for row in table.rows]
    first = table.rows[0] if table.rows else ()
    words = [head for head, cell in zip(table.head, first, strict=False) if not cell.number]
    return new_table(table.head, rows, names=words)


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


def render_block(block: Block) -> Group:
    """Return what people chose or judged (:mod:`kapwa.report.people`) for a terminal."""
    from rich.console import Group
    from rich.text import Text

    shown: list[Any] = [Text(plain(sentence)) for sentence in block.sentences]
    for table in (*block.tables, *block.more):
        shown += [Text("\n" + plain(table.caption), style="bold"), terminal_table(table)]
        shown += [Text(plain(table.note), style="dim")] if table.note else []
    shown += [Text(plain(f"{name}. {question}")) for name, question in block.criteria]
    return Group(*shown, *(Text(plain(f"Note: {note}"), style="yellow") for note in block.notes))


def new_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    names: Collection[str],
    title: str = "",
    bold: Collection[int] = (),
) -> RichTable:
    """A table whose ``names`` break between words where 80 columns need it, numbers where nothing else helps."""
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.table import Table as RichTable
    from rich.text import Text

    def longest(column: Sequence[str], parts: Callable[[str], list[str]]) -> int:
        return max((cell_len(part) for text in column for part in parts(text)), default=1)

    columns_of_cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    words = [longest((head, *cells), str.split) for head, cells in zip(columns, columns_of_cells, strict=True)]
    widths = [longest((head, *cells), str.splitlines) for head, cells in zip(columns, columns_of_cells, strict=True)]
    whole = [longest(cells, str.splitlines) for cells in columns_of_cells]
    least = [words[k] if name in names else max(whole[k], longest([name], str.split)) for k, name in enumerate(columns)]
    if sum(least) + len(columns) > WIDTH:
        least = words
    gap = 2 if sum(least) + 2 * len(columns) < WIDTH else 1
    # What is too much is taken from the widest column, of names first.
    while sum(widths) + gap * len(columns) >= WIDTH and widths != least:
        widest = max(range(len(columns)), key=lambda k: (widths[k] > least[k], columns[k] in names, widths[k]))
        widths[widest] -= 1
    table = RichTable(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", padding=(0, gap - 1, 0, 0))
    if title:
        table.title, table.title_justify = title, "left"
    for name, wide in zip(columns, widths, strict=True):
        table.add_column(name, justify="left" if name in names else "right", overflow="fold", width=wide)
    for k, row in enumerate(rows):
        table.add_row(*map(Text, row), style="bold" if k in bold else None)
    return table
