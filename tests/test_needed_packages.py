"""A package that is absent, or of a version that no extra allows, ends a command with one sentence."""

import importlib.metadata
import sys

import pytest

from kapwa.errors import MissingDependencyError, UnsupportedVersionError, UsageError, need_package
from kapwa.models.base import ModelOptions
from kapwa.models.inspect import load


@pytest.mark.parametrize("version", ["0.2.9", "0.9.0"])
def test_a_version_outside_the_range_is_refused_before_it_is_imported(version, monkeypatch):
    real = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: version if name == "inspect-ai" else real(name))
    monkeypatch.setitem(sys.modules, "inspect_ai", None)  # importing it would fail in another way
    with pytest.raises(UnsupportedVersionError, match=f"works with inspect-ai .*; installed is {version}"):
        load("mockllm/model", ModelOptions())


def test_an_absent_package_names_its_extra(monkeypatch):
    with pytest.raises(MissingDependencyError) as missing:
        need_package("not_a_module", "not-a-package", extra="inspect", purpose="A test")
    assert missing.value.hint == "Install it with: pip install 'kapwa[inspect]'"


def test_chinese_words_without_rjieba_say_what_to_install(monkeypatch):
    from kapwa.languages.rules import east_asian

    monkeypatch.setitem(sys.modules, "rjieba", None)
    east_asian._segmenter.cache_clear()
    with pytest.raises(UsageError, match="rjieba, which is not installed"):
        east_asian._chinese_words("你好吗")
    assert east_asian._chinese_words("hello") == ("hello",)
    east_asian._segmenter.cache_clear()
