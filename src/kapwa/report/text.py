"""Users' text made safe to lay out: control characters out, width in columns, wrapping, isolation.

Widths count terminal-style columns: East Asian wide characters are two, combining marks none. That is
close enough to lay out chart labels in any script without measuring fonts.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

ELLIPSIS = "…"
# What data and imports say that do not tell whose culture they are about.
UNKNOWN_CULTURE = "unknown"
# First strong isolate and its end: keep a right-to-left label from reordering what stands beside it.
_FSI, _PDI = "\u2068", "\u2069"
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
# Unicode names a character after its script; most scripts have a Noto font of that name, these have another.
_FONTS = {
    "LATIN": "",
    "GREEK": "",
    "CYRILLIC": "",
    "HANGUL": "CJK KR",
    "HIRAGANA": "CJK JP",
    "KATAKANA": "CJK JP",
    "CJK": "CJK SC",
}
_COMMON_FONTS = "'Noto Sans', 'Liberation Sans', Arial, sans-serif"
# Noto Sans has no minus sign, and a renderer that lacks one may set the whole number in a serif.
MINUS = "\u2212"
_SIGNED_FONTS = "'Liberation Sans', Arial, 'Noto Sans', sans-serif"
_JOINERS = ("\u200d", "\u200c")


def clean(text: object) -> str:
    """Return ``text`` without characters that HTML or XML cannot hold; line ends become line feeds."""
    return _CONTROLS.sub("", str(text).replace("\r\n", "\n").replace("\r", "\n"))


def label_text(text: object) -> str:
    """Return ``text`` as one line without control or direction characters, for chart labels."""
    return " ".join(_BIDI.sub("", clean(text)).split())


def culture_name(text: object) -> str:
    """Return a culture's spelling in the data as people write it: "South Korea" for "South_Korea"."""
    if text == UNKNOWN_CULTURE:
        return "unknown culture"
    return label_text(label_text(text).replace("_", " "))


def isolate(text: str) -> str:
    """Wrap ``text`` in a first-strong isolate when it holds right-to-left characters."""
    return f"{_FSI}{text}{_PDI}" if is_rtl(text) else text


def is_rtl(text: str) -> bool:
    """Whether ``text`` holds any right-to-left character."""
    return any(unicodedata.bidirectional(c) in ("R", "AL") for c in text)


@lru_cache(maxsize=4096)
def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def font_for(text: str) -> str:
    """Return the font families for ``text``, the one of its first non-Latin script in front.

    Image renderers choose oddly among fonts once the named ones lack a character, so the right one is named.
    """
    for char in text:
        script = unicodedata.name(char, "").split(" ")[0] if char.isalpha() and ord(char) > 0x24F else "LATIN"
        family = _FONTS.get(script, script.title())
        if family:
            return f"'Noto Sans {family}', {_COMMON_FONTS}"
    return _SIGNED_FONTS if MINUS in text else _COMMON_FONTS


def has_spacing_marks(text: str) -> bool:
    """Whether ``text`` holds vowel signs that take room of their own (most scripts of South and Southeast Asia)."""
    return any(unicodedata.category(char) == "Mc" for char in text)


def width(text: str) -> int:
    """Columns that ``text`` takes: wide characters two, combining marks none."""
    return sum(map(_char_width, text))


def clusters(text: str) -> list[str]:
    """Split ``text`` into units that must not be cut: a base character with its marks and joiners."""
    units: list[str] = []
    for char in text:
        joined = bool(units) and units[-1].endswith(_JOINERS)
        if units and (joined or char in _JOINERS or unicodedata.category(char) in ("Mn", "Mc", "Me")):
            units[-1] += char
        else:
            units.append(char)
    return units


def truncate(text: str, limit: int) -> str:
    """Cut ``text`` to at most ``limit`` columns, ending with an ellipsis where anything was cut."""
    if width(text) <= limit:
        return text
    kept, used = [], 0
    for unit in clusters(text):
        used += width(unit)
        if used > limit - 1:
            break
        kept.append(unit)
    return "".join(kept).rstrip() + ELLIPSIS


def wrap(text: str, limit: int, lines: int = 2) -> list[str]:
    """Break ``text`` into at most ``lines`` lines of ``limit`` columns; the last one is truncated.

    Breaks at spaces, hyphens and slashes; inside a word only when the word alone is too long.
    """
    done: list[str] = []
    line = ""
    words = re.findall(r"[^\s\-/]+[\-/]?\s*|[\-/]\s*", text) or [""]
    for i, word in enumerate(words):
        if width((line + word).rstrip()) <= limit:
            line += word
            continue
        if len(done) == lines - 1:
            return [*done, truncate((line + "".join(words[i:])).rstrip(), limit)]
        if line.strip():
            done.append(line.rstrip())
            line = ""
        for unit in clusters(word):
            if width((line + unit).rstrip()) > limit and line:
                if len(done) == lines - 1:
                    return [*done, truncate(line + ELLIPSIS, limit)]
                done.append(line)
                line = ""
            line += unit
    return [*done, line.rstrip()] if line.strip() or not done else done
