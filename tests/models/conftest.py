"""A model that costs little: the embedded one's tokens, and a network of random weights."""

from pathlib import Path
from typing import Any

import pytest
from tiny_models import build

from kapwa.models import weights
from kapwa.models.base import ModelOptions
from kapwa.models.transformers import TransformersModel


@pytest.fixture(scope="session")
def small(smollm2_path: Path) -> TransformersModel:
    """The embedded model's tokenizer and template over a small random network: joins and templates are as in it."""
    tokenizer: Any = weights.tokenizer_at_hand(weights.locate(str(smollm2_path)), ModelOptions())
    network = build("llama", vocab_size=len(tokenizer), eos_token_id=tokenizer.eos_token_id)
    return TransformersModel("smollm2", weights.Weights(network, tokenizer, "0" * 16), ModelOptions())
