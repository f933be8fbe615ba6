"""Situations for the forms: some in scripts and texts that spreadsheets would mangle, some plain."""

import pytest
from form_filling import OPTIONS, make_item

from kapwa.records import Item


@pytest.fixture
def items() -> list[Item]:
    """Seven situations: formula-like texts, Arabic, Amharic, Korean, line breaks, numerals."""
    return [make_item(item_id, options) for item_id, options in OPTIONS.items()]


@pytest.fixture
def plain_items() -> list[Item]:
    """Forty situations with four options each."""
    return [make_item(f"{n:04}", tuple(f"{n}-{i} advice" for i in range(4))) for n in range(1, 41)]
