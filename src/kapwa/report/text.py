"""Users' text made safe to show: control characters out, directions isolated, cut between whole characters."""

from __future__ import annotations

import re
import unicodedata

import regex  # type: ignore[import-untyped, unused-ignore]

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
COMMON_FONTS = "'Noto Sans', 'Liberation Sans', Arial, sans-serif"
# Noto Sans has no minus sign, and a renderer that lacks one may set the whole number in a serif.
MINUS = "\u2212"
_SIGNED_FONTS = "'Liberation Sans', Arial, 'Noto Sans', sans-serif"


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
    rtl = any(unicodedata.bidirectional(char) in ("R", "AL") for char in text)
    return f"{_FSI}{text}{_PDI}" if rtl else text


def font_for(text: str) -> str:
    """Return the font families for ``text``, the one of its first non-Latin script in front; "" for COMMON_FONTS.

    Image renderers choose oddly among fonts once the named ones lack a character, so the right one is named.
    """
    for char in text:
        script = unicodedata.name(char, "").split(" ")[0] if char.isalpha() and ord(char) > 0x24F else "LATIN"
        family = _FONTS.get(script, script.title())
        if family:
            return f"'Noto Sans {family}', {COMMON_FONTS}"
    return _SIGNED_FONTS if MINUS in text else ""


def truncate(text: str, limit: int) -> str:
    """Cut ``text`` to at most ``limit`` characters as readers count them, with an ellipsis where anything was cut."""
    units = regex.findall(r"\X", text)
    return text if len(units) <= limit else "".join(units[: limit - 1]).rstrip() + ELLIPSIS
