"""What is shown is shown as it is: brackets are no markup, colons no emoji, and nothing steers a terminal."""

import io
import logging
import unicodedata
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from typer.testing import CliRunner

from kapwa import inventory
from kapwa.cli.main import app
from kapwa.cli.output import HarmlessFormatter, note, show


@pytest.mark.parametrize("verb", ["models", "doctor"])
def test_what_is_missing_is_named_with_the_command_that_installs_it(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(inventory, "_installed", lambda package: False)
    assert "pip install 'kapwa[local]'" in CliRunner().invoke(app, [verb]).stdout


def test_a_new_suite_is_said_to_be_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["suite", "new", "kalahi", "mine[bold]"])
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "mine[bold]").is_dir()
    assert str(Path("mine[bold]") / "card.yaml") in done.stdout


def test_a_table_shows_the_names_it_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table("[red]model", title="runs[1]")
    table.add_row("hf:tiger:7b[/bold]")
    show(table)
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("[red]model", "runs[1]", "hf:tiger:7b[/bold]"))


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
    assert HarmlessFormatter("%(message)s").format(record) == "said a\ufffd[2Jb"
