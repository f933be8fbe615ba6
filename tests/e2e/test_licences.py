"""No distribution that Kapwa needs at run time, with any extra, is under the GPL or AGPL, as far as metadata tell.

One that declares nothing is looked at by a person and listed in tools/licences.py.
"""

import pytest
from tools.licences import LOOKED_AT, declared, extras, is_strong, needed


@pytest.mark.parametrize(
    "chosen", [(), *((extra,) for extra in extras())], ids=lambda chosen: chosen[0] if chosen else "base"
)
def test_nothing_kapwa_needs_is_under_the_gpl(chosen: tuple[str, ...]) -> None:
    licences = {name: declared(dist) for name, dist in needed(chosen).items()}
    assert len(licences) > 30
    assert {name: text for name, text in licences.items() if is_strong(text)} == {}
    assert {name for name, text in licences.items() if not text} <= set(LOOKED_AT)


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
    assert is_strong(text) == strong
