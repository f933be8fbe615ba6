"""Alternatives that are tested once for the edge of a word find what they found when each was tested by itself."""

from pathlib import Path

import pytest
import regex
import yaml

from kapwa.languages import phrases
from kapwa.languages.schema import ReplyWords

REPLIES = Path(__file__).resolve().parents[1] / "suites_choices" / "planted_replies.yaml"
NAMES = [name for name in ReplyWords.model_fields if isinstance(getattr(phrases.reply_words()["en"], name), str)]


def texts_in(value: object) -> list[str]:
    """Every text of a YAML file, however deep."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in texts_in(inner)] + [str(key) for key in value]
    if isinstance(value, list):
        return [text for inner in value for text in texts_in(inner)]
    return [str(value)]


@pytest.mark.parametrize("name", NAMES)
def test_a_pattern_finds_the_same_in_every_planted_reply(name: str) -> None:
    plain = "|".join(filter(None, (getattr(words, name) for words in phrases.reply_words().values())))
    assert "|".join(phrases._alternatives(plain)) == plain
    once, each = (regex.compile(pattern, regex.IGNORECASE) for pattern in (phrases.any_of(name), plain))
    texts = texts_in(yaml.safe_load(REPLIES.read_text(encoding="utf-8")))
    assert len(texts) > 500
    for text in texts:
        assert [hit.span() for hit in once.finditer(text)] == [hit.span() for hit in each.finditer(text)]


def test_alternatives_are_parted_outside_groups_and_classes_only() -> None:
    assert phrases._alternatives(r"a|\|b|[|\]|]c|(?:d|e(f|g))|") == ["a", r"\|b", r"[|\]|]c", "(?:d|e(f|g))", ""]
    assert phrases._tested_once(r"\bno\b|\b(?:a|b)|c|\bd") == r"\b(?:no\b|(?:a|b))|c|\b(?:d)"
