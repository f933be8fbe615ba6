"""Thinking as a finding: a section of the report, and what it does to scores, told by ``kapwa compare``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tiny_suite import TinyModel, TinyTask, fraction, run_task

import kapwa
from kapwa.records import Item, Request, Response, Usage
from kapwa.report.page.runs import build_report
from kapwa.report.sentences.missing import thinks
from kapwa.report.tables.thinking import thinking_sentence, thoughts_table
from kapwa.report.view.tasks import arrange
from kapwa.runs.finished_run import Run

ENGLISH = "The user asks what people there eat in the morning, and I think that it is rice with dried fish."


@dataclass
class Thinking(TinyModel):
    """Thinks in English before every second answer; then it is right where it is asked about Ethiopia."""

    hidden: bool = False

    @property
    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint, "thinking": "on"}

    def answer(self, request: Request, batch: Sequence[Request]) -> Response:
        plain = super().answer(request, batch)
        if int(request.item_id) < 100:
            plain = replace(plain, text=next(t for k in range(99) if fraction(t := f"{plain.text}{k}") > 0.5))
        if int(request.item_id) % 2:
            return plain
        if self.hidden:
            return replace(plain, usage=Usage(5, 40, 33))
        return replace(plain, text=f"<think>{ENGLISH}</think>{plain.text}")


@dataclass
class Silent(TinyModel):
    @property
    def fingerprint(self) -> dict[str, Any]:
        return {**super().fingerprint, "thinking": "own:off"}


class TwoCultures(TinyTask):
    def _item(self, i: int, variant: str) -> Item:
        return replace(super()._item(i, variant), culture="Ethiopia" if i < 100 else "Kenya", language="am")


TASK = TwoCultures(n=200, shared=False)


@pytest.fixture
def cli() -> Any:
    """Run the command line in this process and return what it printed."""
    from typer.testing import CliRunner

    from kapwa.cli.main import app

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(app, list(arguments))
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def made(out: Path, model: TinyModel, **more: Any) -> Run:
    return Run(run_task(TASK, model, out=out, progress=False, **more))


def test_the_report_has_a_section_of_thinking(tmp_path: Path) -> None:
    run = made(tmp_path, Thinking(), label="thinking")
    (view,) = arrange([run])
    table = thoughts_table(view)
    assert table is not None
    assert table.head == ["Culture", "Answers with a thought", "Length of a thought", "Thought in"]
    rows = [[(cell.text, cell.small) for cell in row] for row in table.rows]
    assert rows == [
        [
            (culture, "asked in Amharic"),
            ("50.0%", "50 of 100"),
            (f"{len(ENGLISH)} characters", ""),
            ("English", "100% of thoughts"),
        ]
        for culture in ("Ethiopia", "Kenya")
    ]
    page = build_report([run], tmp_path / "page.html").read_text()
    assert f'id="{view.slug}-thinking"' in page
    assert table.caption in page


def test_hidden_thoughts_have_a_length_and_no_language(tmp_path: Path) -> None:
    runs = [made(tmp_path, Thinking(hidden=True), label="hidden"), made(tmp_path, Silent(), label="silent")]
    table = thoughts_table(arrange(runs)[0])
    assert table is not None
    shown = [cell.text for cell in table.rows[0]]
    assert shown == ["hidden", "Ethiopia", "50.0%", "33 tokens", "not told"]
    assert len(table.rows) == 2  # of the system that thinks alone


@pytest.mark.parametrize(
    ("fingerprint", "found", "tables", "does"),
    [
        ({"thinking": "on"}, {}, (), True),
        ({"thinking": "own:on"}, {}, (), True),
        ({"thinking": "off"}, {}, ("thoughts",), False),  # a stray one
        ({"thinking": "own:off"}, {}, (), False),
        ({"thinking": "off"}, {"budget": 8192}, ("thoughts",), True),  # it thinks all the same
        ({}, {}, ("thoughts",), True),  # recorded answers
        ({}, {}, (), False),
    ],
)
def test_which_run_is_of_a_model_that_thinks(
    fingerprint: dict[str, Any], found: dict[str, Any], tables: Sequence[str], does: bool
) -> None:
    model = {"fingerprint": fingerprint, "description": {"thinking_found": found}}
    assert thinks({"model": model, "tables": tables}) is does


def test_a_page_without_thoughts_has_no_such_section(tmp_path: Path) -> None:
    run = made(tmp_path, Silent())
    assert not thinks(run.manifest)
    assert "-thinking" not in build_report([run], tmp_path / "page.html").read_text()


@pytest.mark.parametrize("turned", [False, True])
def test_compare_says_what_thinking_does_culture_by_culture(tmp_path: Path, cli: Any, turned: bool) -> None:
    runs = [made(tmp_path, Silent(), label="silent"), made(tmp_path, Thinking(), label="thinking")]
    effect = runs[1].scores.filter(metric="half", culture="Ethiopia")["value"].mean()
    effect -= runs[0].scores.filter(metric="half", culture="Ethiopia")["value"].mean()  # type: ignore[operator]
    pair = runs[::-1] if turned else runs
    said = thinking_sentence(*pair, kapwa.compare(*pair))
    assert said.startswith(f"What thinking does to Over a half: Ethiopia +{100 * effect:.1f} points (95% interval +")
    assert ", Kenya " in said
    assert said.endswith("more than noise in 1 of 2 cultures.")
    folders = [str(run.path) for run in pair]
    assert " ".join(said.split()) in " ".join(cli("compare", *folders).split())
    assert json.loads(cli("compare", *folders, "--json"))["thinking"] == said


def test_of_two_models_or_two_that_think_nothing_of_it_is_said(tmp_path: Path, cli: Any) -> None:
    thinking, other = made(tmp_path, Thinking()), made(tmp_path, Silent(id="test/other"))
    again = made(tmp_path / "again", Thinking(), seed=1)
    for pair in ((thinking, other), (thinking, again)):
        assert thinking_sentence(*pair, kapwa.compare(*pair)) == ""
    assert "thinking" not in json.loads(cli("compare", str(thinking.path), str(again.path), "--json"))
