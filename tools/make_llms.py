"""Write docs/llms.txt, the list of pages that language models read first (llmstxt.org), from the pages themselves.

python tools/make_llms.py           # write the list
python tools/make_llms.py --check   # exit 1 when the list is not what it would write
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LIST = DOCS / "llms.txt"
# What a model with little room may leave out, in the words of the convention.
OPTIONAL = ("Explanation", "Decisions")
MOST = 200

# A page's path, or sections by their titles.
Nav: TypeAlias = "list[str | dict[str, Nav]]"


def pages_of(nav: Nav) -> Iterator[str]:
    """Yield the paths of all pages below a section, in the order of the menu."""
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for below in entry.values():
                yield from pages_of(below)


def line_of(path: str) -> str:
    """Return a page's line: its title, its address on the site, and the first sentence of its text."""
    title, *rest = (DOCS / path).read_text(encoding="utf-8").split("\n\n")
    paragraph = next((" ".join(part.split()) for part in rest if part[:1].isalnum() or part[:1] in "*["), "")
    told = re.sub(r"^\*\*[^*]+\.\*\* ", "", paragraph)  # "**Decision.** …"
    plain = re.sub(r"\[([^]]*)]\([^)]*\)", r"\1", told).replace("**", "")
    sentence = re.split(r"(?<=[.?!])\s", plain, maxsplit=1)[0]
    note = f": {sentence}" if len(sentence) <= MOST and sentence.endswith((".", "?")) else ""
    return f"- [{title.removeprefix('# ').strip()}]({path.removesuffix('.md')}.html){note}"


def whole_list() -> str:
    """Return the whole list."""
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    parts = [f"# {settings['site_name']}", f"> {settings['site_description']}"]
    parts.append("`kapwa skill` prints instructions for coding agents, and `kapwa --help` lists the commands.")
    sections: Nav = [entry for entry in settings["nav"] if isinstance(entry, dict)]
    optional: list[str] = []
    for section in sections:
        assert isinstance(section, dict)
        for title, nav in section.items():
            lines = [line_of(path) for path in pages_of(nav)]
            if title in OPTIONAL:
                optional += lines
            else:
                parts.append("\n".join((f"## {title}", "", *lines)))
    parts.append("\n".join(("## Optional", "", *optional)))
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Write the list, or check it."""
    text = whole_list()
    if "--check" in sys.argv[1:]:
        sys.exit(0 if LIST.is_file() and LIST.read_text(encoding="utf-8") == text else "python tools/make_llms.py")
    LIST.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
