"""Start the stub server of the served models' tests, and open models behind Inspect's providers."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models_served"))

from served_tools import KEY, NAME, stub  # noqa: F401 - the last is a fixture

from kapwa.models.base import ModelOptions
from kapwa.models.inspect import InspectModel, load


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STUB_API_KEY", KEY)


@pytest.fixture
def connect() -> Iterator[Callable[..., InspectModel]]:
    """Open ``inspect:openai-api/stub/stub`` at a URL, without pauses between calls; closed after the test."""
    models: list[InspectModel] = []

    def make(url: str | None = None, name: str = NAME, **settings: Any) -> InspectModel:
        extra = {"max_retries": 0, **settings.pop("extra", {})}
        if name == NAME:  # the SDK below the provider asks again too, after half a second
            extra.setdefault("model_args", {"max_retries": 0})
        models.append(load(name, ModelOptions(base_url=url, extra=extra, **settings)))
        return models[-1]

    yield make
    for model in models:
        model.close()
