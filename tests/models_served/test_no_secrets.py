"""Settings that are recorded hold no secret, however deep; harmless names that look alike are let through."""

from __future__ import annotations

import pytest

from kapwa.errors import UsageError
from kapwa.models.no_secrets import refuse_secrets

NAMES = ("api_key", "api_keys", "auth", "pwd", "bearer", "access_key_id", "AccessKeyId", "password", "token")
HARMLESS = ("max_tokens", "token_count", "tokenizer", "keyword", "author", "stop_token_ids", "monkeys_seen")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["text", "list", "map"])
def test_text_below_the_name_of_a_secret_is_refused(name: str, form: str) -> None:
    held = {"text": "sk-1", "list": [["sk-1"]], "map": {"value": {"x": "sk-1"}}}[form]
    with pytest.raises(UsageError, match=name):
        refuse_secrets("The option 'body'", {"deep": [{name: held}]}, "")


@pytest.mark.parametrize("name", HARMLESS)
def test_other_names_and_secrets_without_text_are_let_through(name: str) -> None:
    refuse_secrets("The option 'body'", {name: "text", "api_key": None, "token": [5]}, "")
