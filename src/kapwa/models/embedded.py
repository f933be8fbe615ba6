"""The embedded model: SmolLM2-135M-Instruct, fetched into the environment once, with no download at run time.

It speaks no Filipino and scores near chance: it proves the machinery, not a culture.
"""

from __future__ import annotations

from kapwa.catalog.weights_wheel import INSTALL, NAME, weights_file
from kapwa.errors import ModelError
from kapwa.models import weights
from kapwa.models.base import ModelOptions
from kapwa.models.transformers import TransformersModel


def load(name: str, options: ModelOptions) -> TransformersModel:
    """Load the embedded model; raise ModelError naming the command that fetches it."""
    if name not in ("", NAME):
        raise ModelError(f"The embedded model has no variant {name!r}.", hint=f"Write just: {NAME}")
    path = weights_file()
    if path is None:
        raise ModelError("The embedded model's weights are not here yet.", hint=f"Fetch them once (98 MB): {INSTALL}")
    return TransformersModel(NAME, weights.load(weights.locate(str(path)), options), options)
