from __future__ import annotations

import base64
import importlib.util
import json
import math
import re
from pathlib import Path
from urllib.parse import quote

import pytest

from kapwa.runs.redact import HIDDEN, api_keys, hide_keys, plain, redact


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "HF_TOKEN", "my_secret", "DB_PASSWORD", "AWS_CREDENTIALS"])
def test_values_of_secret_variables_are_hidden(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "canary-0451")
    assert redact("Incorrect key: canary-0451.") == "Incorrect key: [hidden]."


def test_a_secret_that_holds_another_is_hidden_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "abcdef")
    monkeypatch.setenv("B_KEY", "abcdefghij")
    assert redact("abcdefghij") == "[hidden]"


def test_a_secret_is_hidden_as_an_address_and_json_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    key = 'canary/never+show-"0451"'
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key)
    for form in (key, quote(key, safe=""), json.dumps(key)[1:-1]):
        assert redact(f"<{form}>") == f"<{HIDDEN}>"
        assert hide_keys(f"<{form}>", api_keys()) == f"<{HIDDEN}>"


def test_a_secret_that_is_no_text_is_hidden_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_API_KEY", "canary-\udcff-0451-never-show")
    assert redact("<canary-\udcff-0451-never-show>") == redact("<canary-%FF-0451-never-show>") == f"<{HIDDEN}>"


def test_short_settings_do_not_mask_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("USE_KEY", "true")
    assert redact("it is true") == "it is true"


def test_passwords_in_addresses_and_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/maria"))
    assert redact("https://me:pw@host/v1") == "https://[hidden]@host/v1"
    assert redact("/home/maria/models/x and /home/mariana") == "~/models/x and /home/mariana"
    assert redact("see mail@example.org at http://host/a@b") == "see mail@example.org at http://host/a@b"


def test_plain_values_are_what_json_knows() -> None:
    value = {"a": (1, {2.5, 1.5}), 3: math.nan, "p": Path("x"), "b": True, "n": None, "i": -math.inf}
    assert plain(value) == {"a": [1, [1.5, 2.5]], "3": None, "p": "x", "b": True, "n": None, "i": None}


def inspect_variables() -> set[str]:
    """What Inspect's providers read a secret from, by their sources."""
    spec = importlib.util.find_spec("inspect_ai")
    if spec is None or spec.origin is None:
        pytest.skip("inspect-ai is not installed")
    root = Path(spec.origin).parent
    sources = [*(root / "model" / "_providers").rglob("*.py"), root / "_util" / "azure.py"]
    quoted = re.compile(r"""["']([A-Z][A-Z0-9]*_(?:[A-Z0-9]+_)*(?:KEY|TOKEN|SECRET|CONNECTION_STRING)[A-Z0-9_]*)["']""")
    found = {name for source in sources for name in quoted.findall(source.read_text(encoding="utf-8"))}
    return {name for name in found if not name.endswith(("_TOKENS", "PLACEHOLDER_API_KEY"))}


COMMON = [
    "AI21_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AZUREAI_OPENAI_API_KEY",
    "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_CONNECTION_STRING",
    "CLOUDFLARE_API_TOKEN",
    "COHERE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GITHUB_TOKEN",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "OPENAI_API_KEY",
    "OPENAI_API_KEYS",
    "OPENROUTER_API_KEY",
    "PERPLEXITY_API_KEY",
    "REPLICATE_API_TOKEN",
    "SAMBANOVA_API_KEY",
    "TOGETHER_API_KEY",
    "WANDB_API_KEY",
    "XAI_API_KEY",
]


@pytest.mark.parametrize("name", COMMON)
def test_the_variables_of_providers_are_keys(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, " sk-canary-0451-never-show\n")
    assert "sk-canary-0451-never-show" in api_keys()
    assert redact("x sk-canary-0451-never-show y") == f"x {HIDDEN} y"


def test_every_variable_that_inspects_providers_read_a_secret_from_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    names = inspect_variables()
    assert {"ANTHROPIC_API_KEY", "HF_TOKEN", "AWS_BEARER_TOKEN_BEDROCK", "AZURE_STORAGE_CONNECTION_STRING"} <= names
    for i, name in enumerate(sorted(names)):
        key = f"canary-{i:03}-of-this-one"
        monkeypatch.setenv(name, key)
        assert key in api_keys(), name
        assert redact(key) == HIDDEN, name


def test_several_keys_in_one_variable_are_each_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEYS", "sk-canary-number-one, sk-canary-number-two")
    assert hide_keys("sk-canary-number-two", api_keys()) == HIDDEN
    assert redact("Incorrect key: sk-canary-number-two.") == f"Incorrect key: {HIDDEN}."


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY", "PIP_INDEX_URL", "OPENAI_BASE_URL"])
def test_passwords_of_addresses_in_the_environment_are_hidden_in_every_form(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "http://maria:canary%2Fnever-show-me@proxy.example:3128")
    header = base64.b64encode(b"maria:canary/never-show-me").decode().rstrip("=")
    for form in ("canary%2Fnever-show-me", "canary/never-show-me", header):
        assert redact(f"<{form}>") == f"<{HIDDEN}>"
        assert hide_keys(f"<{form}>", api_keys()) == f"<{HIDDEN}>"
    assert redact("http://maria:canary%2Fnever-show-me@proxy.example:3128") == f"http://{HIDDEN}@proxy.example:3128"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INSPECT_EVAL_MAX_TOKENS", "1000000"),
        ("INSPECT_EVAL_TOKEN_LIMIT", "5000000"),
        ("TOKENIZERS_PARALLELISM", "true "),
    ],
)
def test_settings_about_tokens_are_no_secrets(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert redact(f"it is {value}") == f"it is {value}"
