"""Datasheets: every question once, what is recorded under it, what people know left open, nothing secret."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from corpus_samples import sample_rows, write_jsonl
from test_corpus_released import make_run
from typer.testing import CliRunner

import kapwa
from kapwa import inventory, registry
from kapwa.analysis.datasheet import QUESTIONS, TO_ANSWER, datasheet, gather, render, write_datasheet
from kapwa.analysis.datasheet.sources import _tasks
from kapwa.cli.main import app
from kapwa.errors import UsageError
from kapwa.files import write_json

PACK = registry.load("suites", "kalahi").packs / "filipino"


def parts(sheet: str) -> dict[str, str]:
    """The text under each question."""
    pieces = re.split(r"^### (.*)$", sheet, flags=re.MULTILINE)[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


def under(sheet: str, question_id: str) -> str:
    text = next(question.text for question in QUESTIONS if question.id == question_id)
    return parts(sheet)[text]


def assert_whole(sheet: str) -> None:
    """Every question stands once, in order, and has an answer or says that people owe one."""
    sections = dict.fromkeys(question.section for question in QUESTIONS)
    assert re.findall(r"^## (.*)$", sheet, re.MULTILINE) == list(sections)
    assert re.findall(r"^### (.*)$", sheet, re.MULTILINE) == [question.text for question in QUESTIONS]
    for question, text in parts(sheet).items():
        body = text.split("\n## ")[0]
        assert body.count(f"**{TO_ANSWER}:**") <= 1
        assert body.strip(), f"{question} has neither an answer nor a mark"
        for line in body.splitlines():
            # A fact says where it is from; all else is a table, a mark, or empty.
            assert line == "" or line.startswith((f"> **{TO_ANSWER}:**", "|")) or re.fullmatch(r"- .+ \*\(.+\)\*", line)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("sheet"), leave_out=7)


def test_the_questions_are_those_of_the_paper() -> None:
    counts = Counter(question.id.partition(".")[0] for question in QUESTIONS)
    sections = "motivation composition collection preprocessing uses distribution maintenance"
    assert list(counts.items()) == list(zip(sections.split(), (4, 16, 12, 4, 6, 7, 8), strict=True))
    for values in zip(*QUESTIONS, strict=True):
        assert all(values)
    assert len({question.id for question in QUESTIONS}) == len({question.text for question in QUESTIONS}) == 57


def test_facts_are_told_of_known_questions_only(run: Path, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", sample_rows())
    packs = [suite.packs / suite.pack_names()[0] for suite in inventory.suites()]
    known = {question.id for question in QUESTIONS}
    for path in (run, tmp_path, *packs):
        facts = gather(path)
        assert set(facts.lines) <= known
        assert facts.settled <= set(facts.lines)  # nothing is settled by nothing


def test_a_run(run: Path) -> None:
    sheet = datasheet(run)
    assert_whole(sheet)
    assert datasheet(run) == sheet
    manifest = json.loads((run / "run.json").read_text(encoding="utf-8"))
    counted = under(sheet, "composition.count")
    for name in ("items", "requests", "answered", "failed"):
        assert f"| {name} | {manifest['counts'][name]} |" in counted
    assert f"{manifest['counts']['answered']:,} texts in all" in counted
    assert TO_ANSWER not in counted
    assert "1 request without an answer" in under(sheet, "composition.missing")
    assert "no answer in file" in under(sheet, "composition.missing")
    assert manifest["started"] in under(sheet, "collection.time")
    assert "| temperature | 0.3 |" in under(sheet, "collection.mechanism")
    assert "Chilean" in under(sheet, "composition.subpopulations")
    assert manifest["data"]["digest"] in sheet
    assert kapwa.__version__ in under(sheet, "preprocessing.software")
    assert "Licence: CC-BY-4.0" in under(sheet, "distribution.licence")
    assert TO_ANSWER in under(sheet, "distribution.licence")  # that is the licence of the prompts, not of the texts
    assert "Illustrative" in under(sheet, "uses.unfit")
    for only_people in ("motivation.funding", "collection.ethics", "composition.confidential", "maintenance.contact"):
        assert under(sheet, only_people).strip().startswith(f"> **{TO_ANSWER}:**")


@pytest.mark.parametrize("suite", inventory.suites(), ids=lambda suite: suite.name)
def test_a_pack_of_every_suite(suite: Any) -> None:
    for pack in suite.pack_names():
        path = suite.packs / pack
        sheet = datasheet(path)
        assert_whole(sheet)
        report = suite.check(path)
        for what, number in report.counts.items():
            assert f"| {what} |".replace("_", "\\_") in under(sheet, "composition.count"), what
            assert str(number) in under(sheet, "composition.count").replace("\\", "")
        task = _tasks(path, suite)[0]
        assert task.data.digest in sheet
        card = task.data.card
        flat = sheet.replace("\\", "")
        for field in ("licence", "culture", "collected", "consent"):
            assert " ".join(str(card[field]).split()) in flat
        for limit in card["limits"]:
            assert " ".join(limit.split()) in flat
        assert str(path.parent) not in sheet


def test_responses(tmp_path: Path) -> None:
    rows = sample_rows(model="org/Big", temperature=0.7)
    copy = next(r for r in rows if r["sample"] == 1)
    source = next(r for r in rows if r == {**copy, "sample": 0, "text": ANY})
    copy["text"] = source["text"] = "Write to ana@example.org or see https://example.org"
    rows[0 if rows[0] not in (copy, source) else 2]["text"] = None
    write_jsonl(tmp_path / "a.jsonl", rows)
    sheet = datasheet(tmp_path)
    assert_whole(sheet)
    assert "26 texts in all" in under(sheet, "composition.count")
    assert "| Big T 0.7 | eecc/qa | 3 | 3 | 26 | 3 | 1 |" in under(sheet, "composition.count")
    assert "of the same concept letter by letter: 1;" in under(sheet, "composition.noise")
    assert "of the same concept and nationality: 1" in under(sheet, "composition.noise")
    assert "Texts with a web address: 2" in under(sheet, "composition.external")
    assert "Texts with an e-mail address: 2" in under(sheet, "composition.identifiable")
    assert "1 answer failed" in under(sheet, "composition.missing")
    assert "org/Big" in under(sheet, "collection.acquired")


def test_no_address_and_no_folder(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    manifest = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    secrets = "it failed at /home/somebody/x and http://me:pw@10.1.2.3:8000/v1 or 10.9.9.9:80"
    manifest["notes"] = [secrets]
    manifest["failures"] = [{"reason": secrets, "count": 1}]
    manifest["model"]["id"] = "hf:/srv/private/team/model-7b"
    manifest["model"]["description"] |= {"base_url": "http://inner.host/v1", "file": "/srv/private/a.jsonl"}
    manifest["suite"] = "elsewhere"  # so that the changed model is not asked for its requests
    write_json(copy / "run.json", manifest)
    sheet = datasheet(copy)
    for secret in ("/home/somebody", "pw@", "10.1.2.3", "10.9.9.9", "inner.host", "/srv/private"):
        assert secret not in sheet
    assert "hf:model-7b" in sheet
    assert_whole(sheet)


def test_text_of_a_card_cannot_break_the_sheet() -> None:
    facts = gather(PACK)
    before = render(facts)
    facts.add_fact("uses.unfit", "x\n\n## Motivation\n### Who?\n| a | <b> **c**", "card of '<script>'")
    facts.table("composition.count", ["a|b", "c\nd"], [["# x", "y|z"]])
    sheet = render(facts)
    assert re.findall(r"^##.*", sheet, re.MULTILINE) == re.findall(r"^##.*", before, re.MULTILINE)
    assert r"| a\|b | c d |" in sheet
    assert "<script>" not in sheet.replace(r"\<script\>", "")


def test_what_people_wrote_is_not_lost(tmp_path: Path) -> None:
    out = write_datasheet(PACK, tmp_path / "sheet.md")
    out.write_text("ours", encoding="utf-8")
    with pytest.raises(UsageError, match="'overwrite'"):
        write_datasheet(PACK, out)
    assert out.read_text(encoding="utf-8") == "ours"
    assert write_datasheet(PACK, out, overwrite=True).read_text(encoding="utf-8") == datasheet(PACK)


def test_the_command(run: Path, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["card", "datasheet", str(run)])
    assert shown.exit_code == 0
    assert shown.stdout == datasheet(run)
    out = tmp_path / "deep" / "sheet.md"
    written = CliRunner().invoke(app, ["card", "datasheet", str(run), "-o", str(out)])
    assert written.exit_code == 0
    assert out.read_text(encoding="utf-8") == shown.stdout
    assert f"{shown.stdout.count(f'> **{TO_ANSWER}:**')} questions are left" in written.stderr
