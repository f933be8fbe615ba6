"""One line that says how a number came about, to be printed and cited beside it (sacreBLEU's idea).

Full:  ``kalahi/mc|metric:mc1|data:filipino@1a2b3c|variant:full|n:150|model:smollm2@abc123|...``
Short: the same with one-letter names: ``kalahi/mc|m:mc1|d:filipino@1a2b3c|v:full|#:150|o:smollm2@abc123|...``
Both read back to the same :class:`Signature`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from kapwa.errors import UsageError

# Name of each field and its short form, in the order they are written.
FIELDS: Mapping[str, str] = {
    "metric": "m",
    "data": "d",
    "variant": "v",
    "n": "#",
    "model": "o",
    "backend": "b",
    "dtype": "t",
    "template": "c",
    "scoring": "s",
    "options": "p",
    "seed": "r",
    "kapwa": "k",
}
_LONG = {short: name for name, short in FIELDS.items()}
_DIGEST = re.compile(r"[0-9a-f]{12,}")
_LONGEST_PLAIN = 40
_FROM_MODEL = ("backend", "dtype", "template", "scoring")


@dataclass(frozen=True, slots=True)
class Signature:
    """How a number came about: the task, and what settled it, in the order of :data:`FIELDS`."""

    task: str
    fields: Mapping[str, str]

    def full(self, names: Mapping[str, str] | None = None) -> str:
        """Write every field, with its whole name or the one in ``names``."""
        written = ((names[name] if names else name, name) for name in FIELDS if name in self.fields)
        parts = [f"{word}:{_quote(self.fields[name])}" for word, name in written]
        return "|".join([_quote(self.task), *parts])

    def short(self) -> str:
        """Write every field with its short name."""
        return self.full(FIELDS)

    __str__ = full

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a full or short signature; raise UsageError where ``text`` is none."""
        task, *parts = text.split("|")
        fields: dict[str, str] = {}
        for part in parts:
            name, colon, value = part.partition(":")
            name = _LONG.get(name, name)
            if not colon or name not in FIELDS or name in fields:
                raise UsageError(f"{part!r} is no part of a signature.", hint=f"Its fields: {', '.join(FIELDS)}.")
            fields[name] = _unquote(value)
        if not task:
            raise UsageError(f"{text!r} is no signature: it names no task.")
        return cls(_unquote(task), {name: fields[name] for name in FIELDS if name in fields})


# What would break a signature apart, or a line of it: the separator, the escape, blanks and control characters.
_UNSAFE = re.compile(r"[|%\s\x00-\x1f\x7f]")


def _quote(text: str) -> str:
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):x};", text)


def _unquote(text: str) -> str:
    return re.sub(r"%([0-9a-f]+);", lambda match: chr(int(match[1], 16)), text)


def signature(manifest: Mapping[str, Any], metric: str | None = None, variant: str | None = None) -> Signature:
    """Return the signature of one metric of the run that ``manifest`` (``run.json``) describes.

    ``metric`` None: of the run as a whole. ``variant`` None: of all its variants together.
    """
    model = manifest["model"]
    fingerprint = model["fingerprint"]
    counts = manifest["selection"]["items"]
    chosen = manifest["selection"]["variants"] if variant is None else [variant]
    fields = {
        "metric": metric or "",
        "data": f"{manifest['data']['name']}@{manifest['data']['digest'][:6]}",
        "variant": "+".join(chosen),
        "n": str(sum(counts.get(name, 0) for name in chosen)),
        "model": "@".join(filter(None, [model["id"], _brief(model["revision"] or "")])),
        **{name: _brief(fingerprint[name]) for name in _FROM_MODEL if name in fingerprint},
        "options": ",".join(f"{k}={_option(v)}" for k, v in sorted(manifest["options"].items()) if v is not None),
        "seed": str(manifest["seed"]),
        "kapwa": str(manifest["kapwa"]),
    }
    return Signature(manifest["task"], {name: fields[name] for name in FIELDS if fields.get(name)})


def _brief(value: Any) -> str:
    """Shorten digests to six digits; texts too long to read become a digest of themselves."""
    text = str(value)
    if len(text) > _LONGEST_PLAIN and not _DIGEST.fullmatch(text):
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
    return _DIGEST.sub(lambda match: match[0][:6], text)


def _option(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else str(value)
