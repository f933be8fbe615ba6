"""``kapwa words`` reads texts, and lists what marks each identity."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kapwa.analysis.corpus import open_corpora
from kapwa.analysis.words import word_lists
from kapwa.cli.main import app
from kapwa.errors import UsageError

MARKS = {"American": "congress", "Filipino": "barangay", "German": "Bundestag"}
TOPICS = {"politics": ("elections", "tax"), "food": ("bread", "rice")}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of 3 identities, 2 topics of 2 concepts, 4 samples; German has none of one concept."""
    path = tmp_path_factory.mktemp("words") / "texts.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for (topic, concepts), (identity, mark), sample in product(TOPICS.items(), MARKS.items(), range(4)):
            for concept in concepts:
                if (identity, concept) == ("German", "rice"):
                    continue
                text = f"The {concept} is a matter of the {mark}, they say; number {sample} of {topic} in 1,000."
                row = {"task": "eecc/qa", "topic": topic, "concept": concept, "nationality": identity}
                file.write(json.dumps({**row, "sample": sample, "text": text}) + "\n")
    return path


def _run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(app, ["words", *map(str, arguments)], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


def _rows(*arguments: str | Path) -> list[dict[str, Any]]:
    return json.loads(_run(*arguments, "--json"))  # type: ignore[no-any-return]


def test_each_identity_gets_its_word(texts: Path) -> None:
    rows = _rows("--responses", texts)
    assert {row["identity"]: row["word"] for row in rows if row["rank"] == 1} == {
        identity: mark.lower() for identity, mark in MARKS.items()
    }
    american = next(row for row in rows if row["identity"] == "American")
    assert list(american) == [
        *("corpus", "task", "topic", "identity", "method", "rank", "word", "score", "z", "count", "df")
    ]
    assert (american["topic"], american["method"], american["count"], american["df"]) == ("all", "tfidf", 16, 1)
    assert american["z"] is None


def test_a_concept_without_an_identity_counts_for_the_others_only(texts: Path) -> None:
    rows = _rows(texts, "--top", "3")
    found = {(row["identity"], row["word"]): row["count"] for row in rows}
    # German has no text about rice, so "rice" tells the other two apart from it, and only them.
    assert {who for who, word in found if word == "rice"} == {"American", "Filipino"}
    assert found["German", "bundestag"] == 12


def test_tables_for_people(texts: Path) -> None:
    shown = _run(texts, "--method", "logodds", "--top", "2")
    assert "texts, eecc/qa" in shown
    assert "barangay" in shown
    assert shown.index("American") < shown.index("Filipino") < shown.index("German")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to read"),
        (["--by", "concept"], "by topic, not by 'concept'"),
        (["--method", "tfdif"], "Did you mean 'tfidf'"),
        (["--identity", "Filipina"], "Did you mean 'Filipino'"),
        (["--identity", ","], "No identity is named"),
    ],
)
def test_what_cannot_be_is_refused(texts: Path, arguments: list[str], message: str) -> None:
    sources = [str(texts)] if arguments else []
    done = CliRunner().invoke(app, ["words", *sources, *arguments])
    assert isinstance(done.exception, UsageError)
    assert message in str(done.exception)


def test_memory_holds_one_concept_at_a_time(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (corpus,) = open_corpora([texts])
    read: list[str] = []
    whole = type(corpus).texts

    def noted(this: Any, key: Any) -> Any:
        read.append(key.concept)
        return whole(this, key)

    monkeypatch.setattr(type(corpus), "texts", noted)
    lists = word_lists(corpus, by_topic=True)
    first = next(lists)
    assert (first.topic, read) == ("politics", ["elections", "tax"])
    assert [found.topic for found in lists] == ["food"]
