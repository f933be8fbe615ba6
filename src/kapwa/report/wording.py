"""Numbers and users' texts as pages show and carry them.

Numbers for people: percent for shares, true minus signs, no more digits than the interval supports. Texts made safe:
control characters out, directions isolated, cut between whole characters.
"""

from __future__ import annotations

import base64
import json
import math
import re
import unicodedata
import zlib
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import TypeGuard

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.suites.base import MetricInfo
from kapwa.suites.base import is_share as is_share  # noqa: PLC0414 - shown to others
from kapwa.value_types import Row

ELLIPSIS = "…"
# What data and imports contain if they do not name the culture.
UNKNOWN_CULTURE = "unknown"
# First strong isolate and its end: keep a right-to-left label from reordering what stands beside it.
_FSI, _PDI = "\u2068", "\u2069"
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
COMMON_FONTS = "'Noto Sans', 'Liberation Sans', Arial, sans-serif"
# Noto Sans has no minus sign, and a renderer that lacks one may set the whole number in a serif.
MINUS = "\u2212"
_SIGNED_FONTS = "'Liberation Sans', Arial, 'Noto Sans', sans-serif"
NOTHING = "–"
NO_INTERVAL = "no interval"
# How a metric reads that is a share.
SHARE = MetricInfo("share", "Share", low=0.0, high=1.0)
# How a metric reads of which a run says nothing.
UNDESCRIBED = MetricInfo("", "")


# Unicode names a character after its script; most scripts have a Noto font of that name, these have another.
_FONTS: Mapping[str, str] = {
    "LATIN": "",
    "GREEK": "",
    "CYRILLIC": "",
    "HANGUL": "CJK KR",
    "HIRAGANA": "CJK JP",
    "KATAKANA": "CJK JP",
    "CJK": "CJK SC",
}


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


def pack(value: object) -> str:
    """Write ``value`` as JSON, deflated, in base64: browsers unpack it with DecompressionStream.

    No text can end the script element that it stands in.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def known(value: float | None) -> TypeGuard[float]:
    """Whether ``value`` is a finite number."""
    return value is not None and math.isfinite(value)


def decimal(value: float | None, digits: int, *, plus: bool = False) -> str:
    """Format with a true minus sign; "–" for a missing number; never "−0"."""
    if value is None or not math.isfinite(value):
        return NOTHING
    # Halves go up, as readers do it: with eight items 12.5% is 13%, and not the 12% of binary rounding to even.
    text = str(Decimal(repr(abs(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    if float(text) == 0:
        return text
    return (MINUS if value < 0 else "+" if plus else "") + text


def amount(value: float | None, info: MetricInfo, digits: int = 1) -> str:
    """Format a metric's value: "24.3%" for shares, three decimals for others (``digits`` is for shares)."""
    if not known(value):
        return NOTHING
    return f"{decimal(100 * value, digits)}%" if is_share(info) else decimal(value, _plain_digits(info))


def ratio(value: float | None, low: float | None, high: float | None) -> str:
    """Format a part of something with its interval: "85% (80–91%)"; it may be more than all of it."""
    if not (known(value) and known(low) and known(high)):
        return NOTHING
    return f"{decimal(100 * value, 0)}% ({decimal(100 * low, 0)}–{decimal(100 * high, 0)}%)"


def interval(low: float | None, high: float | None, info: MetricInfo, digits: int = 1) -> str:
    """Format an interval, "9.1–46.0%", or "−0.120 to 0.031" where a minus sign could be misread.

    Ends beyond what the metric can be (a t interval near 0 or 1) are shown at that bound; the CSV keeps them.
    """
    if not (known(low) and known(high)):
        return NO_INTERVAL
    share = is_share(info)
    factor, decimals = (100, digits) if share else (1, _plain_digits(info))
    least, most = info.low, info.high
    low = low if least is None else max(low, least)
    high = high if most is None else min(high, most)
    first, last = decimal(factor * low, decimals), decimal(factor * high, decimals)
    joined = f"{first} to {last}" if MINUS in first + last else f"{first}–{last}"
    return joined + ("%" if share else "")


def change(value: float | None, info: MetricInfo, digits: int = 1) -> str:
    """Format a difference with its sign: points for shares ("+5.2"), the metric's own unit for others."""
    if not known(value):
        return NOTHING
    return decimal(100 * value, digits, plus=True) if is_share(info) else decimal(value, _plain_digits(info), plus=True)


def difference(value: float | None, info: MetricInfo, digits: int = 1) -> str:
    """Format a difference with its sign and its unit, for a sentence: "+5.2 points"."""
    shown = change(value, info, digits)
    if not known(value) or not is_share(info):
        return shown
    return f"{shown} point" if shown.lstrip(f"+{MINUS}") in ("1", "1.0") else f"{shown} points"


def difference_words(row: Row, info: MetricInfo, digits: int = 1) -> str:
    """Format a difference and its interval for a sentence: "+5.2 points, 95% interval −4.1 to +14.0"."""
    shown, (low, high) = difference(row["difference"], info, digits), (row["low"], row["high"])
    between = change_interval(low, high, info, digits)
    return f"{shown}, {between}" if between == NO_INTERVAL else f"{shown}, 95% interval {between}"


def difference_head(info: MetricInfo) -> str:
    """The head of a column of differences, with their unit: "Points" of shares."""
    return "Points" if is_share(info) else "Difference"


def of_all(count_shown: int, total: int, noun: str) -> str:
    """Write a part of some: "all 16 cultures", "both cultures", "3 of 16 cultures", "neither culture"."""
    if count_shown == total:
        return f"both {noun}s" if total == 2 else f"all {count(total, noun)}" if total > 1 else f"the one {noun}"
    if not count_shown and total == 2:
        return f"neither {noun}"
    return f"{count_shown or 'none'} of {count(total, noun)}"


def change_interval(low: float | None, high: float | None, info: MetricInfo, digits: int = 1) -> str:
    """Format the interval of a difference: "−4.1 to +14.0"; ends beyond what can be stand as in :func:`interval`.

    One that holds all that can be, "−100.0 to +100.0", says nothing: it is :data:`NO_INTERVAL`, as an unknown one is.
    """
    span = info.span
    if not (known(low) and known(high)) or (low <= -span and high >= span):
        return NO_INTERVAL
    return f"{change(max(low, -span), info, digits)} to {change(min(high, span), info, digits)}"


def points(value: float | None, info: MetricInfo, digits: int = 0) -> str:
    """Format the size of a difference in words: "31 points", or the plain number."""
    if not known(value):
        return NOTHING
    if not is_share(info):
        return decimal(abs(value), _plain_digits(info))
    text = decimal(abs(100 * value), digits)
    return f"{text} point" if text == "1" else f"{text} points"


def margin(value: float, info: MetricInfo) -> str:
    """Write a margin as it was asked for: "2 points", or the plain number."""
    if not is_share(info):
        return f"{value:g}"
    return f"{100 * value:g} point{'' if 100 * value == 1 else 's'}"


def beyond_range(value: float | None, info: MetricInfo) -> bool:
    """Whether a difference is larger than any that the metric can show; an infinite one is."""
    return value is not None and (value > info.span or value == math.inf)


def within_range(value: float, info: MetricInfo, digits: int) -> bool:
    """Whether a difference, as written with ``digits``, is smaller than the largest that the metric can show."""
    scale = 100 if is_share(info) else 1
    return round(scale * value, digits) < scale * info.span


def detectable(value: float | None, info: MetricInfo) -> str:
    """Format the smallest true difference that would be found; "none" where the metric knows none so large."""
    return "none" if beyond_range(value, info) else points(value, info)


def p_value(p: float | None) -> str:
    """Format a p-value: two digits, three below 0.1, never "0.000"."""
    if not known(p):
        return NOTHING
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def tidy_share(share: float) -> str:
    """Write a share that was searched to a thousandth: "4%", "0.4%"."""
    return f"{decimal(100 * share, 0 if share >= 0.01 else 1)}%"


def p_words(p: float | None) -> str:
    """Write "p < 0.001", "p = 0.031" for a sentence."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def rank(low: int, high: int) -> str:
    """Write the interval of a rank: "rank 1", "rank 12–16"."""
    return f"rank {low}" if low == high else f"rank {low}–{high}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Write "1 situation", "1,204 situations"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def as_people(row: Mapping[str, object], verb: str, what: str) -> str:
    """Say whose view a row of an audit is: "as people see it", or, of too few to speak of others, "as these 2 …"."""
    if row["holds_for"] == "people":
        return f"as people {verb} {what}"
    if row["raters"] == 1:
        return f"as one person {verb}s {what}"
    who = f"these {row['raters']} people" if row["raters"] else "those who labelled"
    return f"as {who} {verb} {what}"


def duration(seconds: float | None) -> str:
    """Write "8 s", "3 min 20 s", "2 h 5 min"."""
    if not known(seconds):
        return NOTHING
    whole = round(seconds)
    if whole < 60:
        return f"{decimal(seconds, 1)} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _plain_digits(info: MetricInfo) -> int:
    """Decimals of a metric that is no share: fewer where its range is wide, and of counts of words."""
    return 1 if 50 <= info.span < math.inf or info.unit == "words" else 3
