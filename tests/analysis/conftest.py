"""A small corpus, a survey that goes with it, and a quick analysis of them."""

from pathlib import Path
from typing import Any

import corpus_samples as texts
import pytest

import kapwa
from kapwa.analysis.result import Analysis
from kapwa.stats import spatial


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return texts.write(tmp_path / "answers.parquet", texts.rows())


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return texts.write_values(tmp_path / "survey.csv")


@pytest.fixture
def analyze(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> texts.Analyze:
    monkeypatch.setattr(spatial, "_TRIED", 20)  # of 1,600 covariances that other maps are drawn from

    def run(*sources: Path, **options: Any) -> Analysis:
        given = {"out": tmp_path / "out", "workers": 1, "permutations": 99, "progress": False} | options
        return kapwa.analyze(sources, **given)

    return run
