"""Start the stub server as a real process on 127.0.0.1."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from served_tools import stub  # noqa: F401 - a fixture

from kapwa.models.base import ModelOptions
from kapwa.models.openai import OpenAIModel, load


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def connect() -> Iterator[Callable[..., OpenAIModel]]:
    """Load ``openai:stub`` from a URL with quick retries; every model is closed after the test."""
    models: list[OpenAIModel] = []

    def make(url: str | None, **settings: Any) -> OpenAIModel:
        extra = {"attempts": 8, "backoff": 0.02, **settings.pop("extra", {})}
        models.append(load(settings.pop("name", "stub"), ModelOptions(base_url=url, extra=extra, **settings)))
        return models[-1]

    yield make
    for model in models:
        model.close()
