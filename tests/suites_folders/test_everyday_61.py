"""A set in the shape of a public everyday-knowledge benchmark: from two tables to a report with a mapping alone."""

import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

from kapwa import load_task
from kapwa.cli.main import app

# fmt: off
LOCALES = [
    "am-ET", "ar-DZ", "ar-EG", "ar-MA", "ar-SA", "as-AS", "az-AZ", "bg-BG", "bn-BD", "ca-ES", "cs-CZ", "da-DK", "de-DE",
    "el-GR", "en-AU", "en-GB", "en-IN", "en-NG", "en-US", "es-AR", "es-ES", "es-MX", "et-EE", "eu-ES", "fa-IR", "fi-FI",
    "fil-PH", "fr-CA", "fr-FR", "ga-IE", "ha-NG", "he-IL", "hi-IN", "hu-HU", "id-ID", "it-IT", "ja-JP", "kk-KZ",
    "ko-KP", "ko-KR", "lt-LT", "mn-MN", "ms-MY", "ms-SG", "my-MM", "nl-NL", "pl-PL", "pt-BR", "ro-RO", "ru-RU", "su-JB",
    "sv-SE", "sw-KE", "ta-IN", "ta-SG", "th-TH", "tr-TR", "uk-UA", "vi-VN", "zh-CN", "zh-SG",
]
# fmt: on
ITEMS = 2
MAPPING = {
    **{"form": "blend/saq", "table": "answers.tsv", "parts": {"id": "{locale}_{number}"}},
    **{"columns": {"locale": "locale", "id": "number", "answers": "answers"}, "separators": {"answers": "|"}},
    "join": {"table": "questions.tsv", "on": "id", "columns": {"local": "question", "topic": "area"}},
    **{"values": {"topic": {"food": "Food", "*": "*"}}},
    "prompts": [{"id": "inst-4", "local": "{q}", "english": "{q}"}],
}


def write_set(folder: Path) -> Path:
    folder.mkdir()
    questions, answers = ["id\tarea\tquestion"], ["id\tanswers"]
    for locale in LOCALES:
        for number in range(1, ITEMS + 1):
            area = "food" if number % 2 else "sport"
            questions.append(f"{locale}_{number:03}\t{area}\tQuestion {number} of {locale}?")
            answers.append(f"{locale}_{number:03}\tanswer{number} | other{number}")
    (folder / "questions.tsv").write_text("\n".join(questions) + "\n", encoding="utf-8")
    (folder / "answers.tsv").write_text("\n".join(answers) + "\n", encoding="utf-8")
    (folder / "mapping.yaml").write_text(yaml.safe_dump(MAPPING, sort_keys=False), encoding="utf-8")
    return folder


def kapwa(*words: object) -> str:
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == 0, done.output
    return done.output


def test_from_two_tables_to_a_report_with_a_mapping_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(LOCALES) == len(set(LOCALES)) == 61
    kapwa("suite", "add", write_set(tmp_path / "everyday"))
    found = json.loads(kapwa("data", "check", "everyday", "--json"))
    assert (found["counts"]["countries"], found["counts"]["questions"]) == (len(LOCALES), ITEMS * len(LOCALES))
    cultures = list(dict.fromkeys(item.culture for item in load_task("everyday/saq").items()))
    assert len(cultures) == len(LOCALES)
    asked = cultures[::6]  # the dictionary of a language takes a second to unpack
    # Of every two questions one is answered rightly.
    replies = [
        {"item_id": item.id, "variant": item.variant, "text": f"answer{n}" if n % 2 else "nothing"}
        for item in load_task("everyday/saq", where={"culture": asked}).items()
        for n in [int(item.cluster)]
    ]
    Path("replies.jsonl").write_text("\n".join(map(json.dumps, replies)), encoding="utf-8")
    where = [f"--where=culture={name}" for name in asked]
    kapwa("score", "everyday/saq", *where, "--responses", "replies.jsonl", "--out", "runs")
    (run,) = Path("runs").iterdir()
    scores = pl.read_parquet(run / "scores.parquet").filter(pl.col("metric") == "sem_b")
    assert dict(scores.group_by("culture").agg(pl.col("value").mean()).iter_rows()) == dict.fromkeys(asked, 0.5)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert [name for name in asked if name.replace("_", " ") not in page] == []
