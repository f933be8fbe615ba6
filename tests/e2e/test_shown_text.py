"""What is shown to people: whatever a name or an answer from elsewhere holds, it steers no terminal."""

from __future__ import annotations

import io
import logging
import unicodedata
from contextlib import redirect_stderr

from hypothesis import given
from hypothesis import strategies as st

from kapwa.cli.output import Harmless, note


@given(st.text(st.characters(max_codepoint=0x250)))
def test_only_control_characters_are_replaced(text: str) -> None:
    with redirect_stderr(io.StringIO()) as written:
        note(text)
    shown = written.getvalue()[:-1]
    assert [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\n\t"] == []
    assert len(shown) == len(text)
    assert all(a == b or unicodedata.category(a) == "Cc" for a, b in zip(text, shown, strict=True))


def test_a_log_record_steers_nothing() -> None:
    record = logging.LogRecord("kapwa", logging.WARNING, "f.py", 1, "said %s", ("a\x1b[2Jb",), None)
    assert Harmless("%(message)s").format(record) == "said a\ufffd[2Jb"
