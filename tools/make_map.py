"""Write docs/assets/rooms.svg: the rooms of the code, from the layers of pyproject.toml and the rooms' docstrings.

python tools/make_map.py           # write the picture
python tools/make_map.py --check   # exit 1 when the picture is not what it would write
"""

from __future__ import annotations

import ast
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "assets" / "rooms.svg"
WIDTH, ROW, GAP, MARGIN = 960, 58, 8, 16
LETTERS_A_LINE = 128
STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1b1f24}.name{font-weight:600}.small{font-size:12px}"
    "rect{fill:#e8f3f1;stroke:#4b8f86}.page{fill:#fff;stroke:none}"
)


def layers() -> list[list[str]]:
    """Return the layers of the import contract, the topmost first: the names of the modules that stand side by side."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    flow = next(contract for contract in contracts if contract["type"] == "layers")
    return [[name.strip().removeprefix("kapwa.") for name in layer.split("|")] for layer in flow["layers"]]


def purpose(name: str) -> str:
    """Return the first sentence of a module's docstring, without Sphinx's marks."""
    folder = ROOT / "src" / "kapwa" / name
    path = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.splitlines()[0].replace("``", "") if docstring else ""


def box(name: str, x: float, y: float, width: float) -> Iterator[str]:
    """Draw one room: its name and what it is for, in at most two lines."""
    letters = int(LETTERS_A_LINE * width / WIDTH) - 2
    lines = textwrap.wrap(purpose(name), letters, max_lines=2, placeholder=" …")
    yield f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{ROW - GAP}" rx="4"/>'
    yield f'<text class="name" x="{x + 10:g}" y="{y + 18:g}">{escape(name)}</text>'
    for number, line in enumerate(lines):
        yield f'<text class="small" x="{x + 10:g}" y="{y + 32 + 13 * number:g}">{escape(line)}</text>'


def picture() -> str:
    """Return the drawing: a row a layer; each imports only from the rows below it."""
    rows = layers()
    height = MARGIN + 24 + ROW * len(rows) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>The rooms of src/kapwa</title><style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text x="{MARGIN}" y="{MARGIN + 8}">Each room imports only from the rows below it.</text>',
    ]
    for number, names in enumerate(rows):
        width = (WIDTH - 2 * MARGIN - GAP * (len(names) - 1)) / len(names)
        for place, name in enumerate(names):
            parts.extend(box(name, MARGIN + place * (width + GAP), MARGIN + 24 + number * ROW, width))
    return "\n".join([*parts, "</svg>", ""])


def main(arguments: list[str]) -> int:
    """Write the picture, or with --check compare it."""
    drawing = picture()
    if arguments == ["--check"]:
        return int(PICTURE.read_text(encoding="utf-8") != drawing)
    PICTURE.write_text(drawing, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
