"""What there is, what is installed, and what is missing and how to get it. Reads; changes nothing."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from kapwa import registry
from kapwa.files import table_rows
from kapwa.languages.base import LanguageInfo
from kapwa.languages.fallback import language_for
from kapwa.suites.base import Suite

Status = Literal["ok", "optional"]


class Check(NamedTuple):
    """One thing looked at: what it is for, its state, and the remedy when it is missing."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


class ModelBackend(NamedTuple):
    """A way to reach a model: how it is written, what it needs, whether that is here."""

    spec: str
    what: str
    ready: bool
    remedy: str


_HERE = Path(__file__).parent


def suites() -> list[Suite]:
    """Every registered suite, in name order."""
    return [registry.load("suites", name) for name in sorted(registry.available("suites"))]


def languages(tags: Sequence[str] = ()) -> list[LanguageInfo]:
    """What is known of the languages of these BCP-47 tags in their order; of every registered one by name without any.

    Raises UsageError for a text that is not a tag.
    """
    if tags:
        return [language_for(tag).info for tag in tags]
    return sorted((language_for(code).info for code in registry.available("languages")), key=lambda info: info.name)


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def backends() -> list[ModelBackend]:
    """Every registered model backend, with what it still needs."""
    from kapwa.catalog.weights_wheel import NAME, weights_file

    known = {}
    for row in table_rows(_HERE / "backends.csv"):
        ready = all(map(_installed, row["packages"].split()))
        ready = ready and (row["name"] != NAME or weights_file() is not None)
        known[row["name"]] = ModelBackend(row["spec"], row["what"], ready, row["remedy"])
    for name, point in sorted(registry.available("models").items()):
        known.setdefault(name, ModelBackend(f"{name}:<name>", f"from {point.value}", True, ""))
    return list(known.values())


def checks() -> Iterator[Check]:
    """Look at Python, the extras, the weights, the environment; secrets are never shown."""
    from kapwa.catalog.weights_wheel import INSTALL, weights_file

    yield Check("Python", "ok", platform.python_version())
    yield Check("Kapwa", "ok", version("kapwa"))
    for row in table_rows(_HERE / "packages.csv"):
        yield _package(**row)
    if weights_file() is not None:
        yield Check("embedded weights", "ok", "SmolLM2-135M-Instruct")
    else:
        yield Check("embedded weights", "optional", "the default model smollm2", INSTALL)
    key = "set" if os.environ.get("OPENAI_API_KEY") else "not set (needed only by servers that ask for a key)"
    yield Check("OPENAI_API_KEY", "ok", key)
    offline = os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0")
    yield Check("Hugging Face hub", "ok", "offline" if offline else "asked only when a hub id is named")
    yield Check("processors", "ok", str(os.cpu_count() or 1))


def _package(module: str, name: str, extra: str, purpose: str) -> Check:
    if not _installed(module):
        return Check(name, "optional", f"not installed; for {purpose}", f"pip install 'kapwa[{extra}]'")
    try:
        return Check(name, "ok", f"{version(name)}; for {purpose}")
    except PackageNotFoundError:
        return Check(name, "ok", f"for {purpose}")
