"""Signatures: one line that says how a number came about, to be printed and cited beside it (sacreBLEU's idea).

``kalahi/mc|metric:mc1|data:filipino@1a2b3c|variant:full|n:150|model:smollm2@abc123|...``
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from kapwa.files import digest
from kapwa.value_types import JsonMapping, JsonObject

# What of a model's fingerprint stands in signatures, where it is written: digests by their first six digits, and a
# text that is too long to read as a digest of itself.
_FROM_MODEL = ("backend", "dtype", "template", "scoring", "thinking", "thinking_tokens", "thinking_scored", "sampling")
_NAMED_ALREADY = ("id", "model", "revision", "digest", "by_item")
_DIGEST, _LONGEST_PLAIN = re.compile(r"[0-9a-f]{12,}"), 40
# What would break a signature apart, or a line of it: the separator, the escape, blanks and control characters.
_UNSAFE = re.compile(r"[|%\s\x00-\x1f\x7f]")
_ESCAPED = re.compile("%([0-9a-c]?[0-9a-f]{1,3});")


class Signature:
    """What the signatures of a run's numbers are made of, put together once; :meth:`of` gives that of one number.

    Everything that changes a number is in it, by value or by the first digits of a digest: ``asked`` is one of the
    items in their order, ``with`` one of the model's settings that have no field of their own (a server's address,
    ``--extra``).
    """

    def __init__(self, manifest: JsonMapping) -> None:
        """Take from the ``manifest`` of a run what does not differ between its numbers."""
        data, until = manifest["data"], manifest.get("until") or {}
        self._task = _fields({"": manifest["task"]})
        self._data = _fields({"data": f"{data['name']}@{data['digest'][:6]}"})
        self._selection = manifest["selection"]
        self._how = _fields(
            {
                **_model_fields(manifest),
                "options": _options(manifest["options"]),
                "until": str(until["rule"]) if until.get("stopped") else None,
                "seed": manifest["seed"],
                "kapwa": manifest["kapwa"],
            }
        )
        self._items: dict[str | None, str] = {}

    def of(self, metric: str | None = None, variant: str | None = None, whose: Mapping[str, str] | None = None) -> str:
        """Return the signature of one metric.

        ``metric`` None: of the run as a whole. ``variant`` None: of all its variants together. ``whose``: of which part
        of the items, such as ``{"culture": "US"}``.
        """
        if variant not in self._items:
            chosen = self._selection["variants"] if variant is None else [variant]
            digests = "".join(self._selection.get("digests", {}).get(name, "") for name in chosen)
            items = {
                "variant": "+".join(chosen),
                "n": sum(self._selection["items"].get(name, 0) for name in chosen),
                "asked": digest({"": digests.encode()})[:6] if digests else None,
            }
            self._items[variant] = _fields(items)
        fields_of_one = _fields({name: value for name, value in (whose or {}).items() if name != "all"}, empty=True)
        return "|".join(
            filter(
                None,
                [self._task, _fields({"metric": metric}), self._data, self._items[variant], self._how, fields_of_one],
            )
        )


def signatures(manifest: JsonMapping) -> JsonObject:
    """Return the signature of a run and those of its metrics: of what is known of the model by now."""
    signature = Signature(manifest)
    return {
        "signature": signature.of(),
        "signatures": {name: signature.of(name) for name in manifest["metrics"]},
    }


def _fields(values: JsonMapping, *, empty: bool = False) -> str:
    """Return fields as a signature has them; those without a value are left out, unless they may be ``empty``."""
    shown = ((name, value) for name, value in values.items() if empty or value not in (None, ""))
    fields = (f"{name}:{value}" if name else str(value) for name, value in shown)
    return "|".join(_UNSAFE.sub(lambda match: f"%{ord(match[0]):x};", field) for field in fields)


def _options(options: JsonMapping) -> str:
    """Return the options that were set, sorted; a system message and wordings are prose, and stand as digests."""
    shown: list[str] = []
    for name, value in sorted(options.items()):
        if value is None:
            continue
        text = "+".join(map(str, value)) if isinstance(value, list) else str(value)
        if name in ("system", "wordings"):
            text = digest({"": value.encode()})[:6]
        shown.append(f"{name}={text}")
    return ",".join(shown)


def _model_fields(manifest: JsonMapping) -> JsonObject:
    """Return the fields of a signature that say which model answered, and how it was asked.

    ``thoughts``: the budget of thoughts that were found, though nothing was said of them; ``refused``: the settings
    that the server refuses, and that were left out.
    """
    model, description = manifest["model"], manifest["model"].get("description", {})
    shown = {"revision": model["revision"] or ""} | {name: model["fingerprint"].get(name, "") for name in _FROM_MODEL}
    for name, text in ((name, str(value)) for name, value in shown.items()):
        if len(text) > _LONGEST_PLAIN and not _DIGEST.fullmatch(text):
            shown[name] = digest({"": text.encode("utf-8", "surrogatepass")})[:6]
        else:
            shown[name] = _DIGEST.sub(lambda match: match[0][:6], text)
    revision = shown.pop("revision")
    others = unnamed_settings(manifest)
    return {
        "model": "@".join(filter(None, [model["id"], revision])),
        **shown,
        "thoughts": description.get("thinking_found", {}).get("budget"),
        "refused": "+".join(sorted(description.get("settings_refused", {}))),
        "with": digest({"": json.dumps(others, sort_keys=True, default=str).encode()})[:6] if others else None,
    }


def unnamed_settings(manifest: JsonMapping) -> JsonObject:
    """Return the model's settings that have no field of their own in a signature: what ``with`` is the digest of."""
    settings: JsonObject = manifest["model"]["fingerprint"]
    named = {*_FROM_MODEL, *_NAMED_ALREADY}
    if manifest["model"]["revision"]:
        named.add("base_url")  # it was part of keys once; the revision says which model answered, wherever
    return {k: value for k, value in settings.items() if value and k not in named}


def measurement(manifest: JsonMapping) -> dict[str, str]:
    """Return what a run's numbers depend on: the fields of its signature, with the options one by one."""
    pairs = (field.partition(":") for field in manifest["signature"].split("|")[1:])
    fields = {name: _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value) for name, _, value in pairs}
    fields.pop("options", None)
    return {**fields, **{name: str(value) for name, value in manifest["options"].items() if value is not None}}


# What fields of signatures are called, of which the name does not say it.
FIELD_WORDS = {"asked": "the items asked", "n": "how many items", "with": "other settings of the model"}


def differing(a: JsonMapping, b: JsonMapping) -> list[tuple[str, str, str]]:
    """Return what tells the measurements of two manifests apart: name, value in ``a``, value in ``b``; [] for nothing.

    These are the fields of their signatures, with the options one by one; "" stands where one has none.
    """
    first, second = measurement(a), measurement(b)
    values = ((name, first.get(name, ""), second.get(name, "")) for name in {**first, **second})
    return [(name, value, other) for name, value, other in values if value != other]
