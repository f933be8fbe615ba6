"""Cosine of sentence embeddings: closeness of meaning in any language that the encoder has read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from kapwa.metrics.base import Vector
from kapwa.metrics.neural import LEAST_TOKENS, Neural
from kapwa.value_types import JsonObject, Untyped

# Language-agnostic BERT, Apache-2.0, the revision of 2025: 109 languages, all of Kapwa's fourteen among them.
SENTENCE_MODEL = "sentence-transformers/LaBSE@836121a0533e5664b21c7aacc5d22951f2b8b25b"
# What encoders want before a text, where only their authors' page says so and no file.
_PREFIXES = dict.fromkeys((f"multilingual-e5-{size}" for size in ("small", "base", "large")), "query: ")
_POOLINGS = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


class _EncoderModule(TypedDict):
    """A part of an encoder, as modules.json names them in their order."""

    type: str
    path: str


class _Prompts(TypedDict, total=False):
    """What is put before a text."""

    prompts: dict[str, str] | None
    default_prompt_name: str | None


class _Lengths(TypedDict, total=False):
    """Where long texts are cut."""

    max_seq_length: Annotated[int, Field(gt=LEAST_TOKENS)] | None


class _Recipe(NamedTuple):
    """How token embeddings become one: pooling, then dense layers (weight, bias, whether tanh follows)."""

    pooling: str
    layers: tuple[tuple[Untyped, Untyped, bool], ...]
    prefix: str
    max_tokens: int


class SentenceSimilarity(Neural):
    """Cosine of two texts' sentence embeddings, in [-1, 1]; 0 where a text is blank.

    Embeddings are those the package sentence-transformers makes of the same checkpoint: its files say the pooling (of
    the first token, or the mean), dense layers, the text put before each, and where long texts are cut. Raises
    ModelError for an encoder without such files, or with parts of another kind. Values of two encoders cannot be
    compared: each has its own scale.
    Source: Reimers and Gurevych 2019; the default encoder is LaBSE, Feng et al. 2022.
    """

    name, title = "sentence", "Sentence similarity"
    source = "Reimers and Gurevych 2019; Feng et al. 2022"
    default_model = SENTENCE_MODEL
    auto_class = "AutoModel"
    unused = ("pooler",)
    low, high = -1.0, 1.0
    remedy = f"Choose an encoder of a stock architecture, e.g. {SENTENCE_MODEL}."

    @property
    def max_tokens(self) -> int:
        """The longest text read; what is longer is cut."""
        return self._recipe.max_tokens

    @property
    def signature(self) -> str:
        """Return model, revision, and how tokens become one embedding."""
        recipe = self._recipe
        dense = "+".join("tanh" if tanh else "linear" for *_, tanh in recipe.layers) or "none"
        return self._signature(f"pool:{recipe.pooling}", f"dense:{dense}", f"before:{recipe.prefix.strip() or 'none'}")

    def _values(self, pairs: Sequence[tuple[str, str]]) -> Vector:
        """Return the cosine of each pair; each distinct text is embedded once."""
        vectors = self._embed(sorted({text for pair in pairs for text in pair}))
        left, right = (np.stack([vectors[pair[side]] for pair in pairs]) for side in (0, 1))
        cosines: Vector = (left * right).sum(axis=1)
        return np.clip(cosines, -1.0, 1.0)

    def _embed(self, texts: Sequence[str]) -> dict[str, Vector]:
        """Return unit-length embeddings by text, each of shape ``(width,)``, float64."""
        loaded, recipe = self._loaded, self._recipe
        functional = loaded.torch.nn.functional
        embedded: dict[str, Vector] = {}
        for batch in self._batches(texts, len):
            encoded = self._tokens([recipe.prefix + texts[i] for i in batch]).to(loaded.model.device)
            with loaded.torch.inference_mode():
                states = loaded.model(**encoded).last_hidden_state
                seen = encoded["attention_mask"][..., None].to(states.dtype)
                pooled = states[:, 0] if recipe.pooling == "cls" else (states * seen).sum(1) / seen.sum(1)
                for weight, bias, tanh in recipe.layers:
                    pooled = functional.linear(pooled, weight, bias)
                    pooled = pooled.tanh() if tanh else pooled
                units = functional.normalize(pooled.double(), dim=-1).cpu().numpy()
            embedded |= {texts[i]: unit for i, unit in zip(batch, units, strict=True)}
        return embedded

    @cached_property
    def _recipe(self) -> _Recipe:
        """Read the checkpoint's own files; raise ModelError for what they ask that is not done here."""
        self._loaded  # noqa: B018 - what is not there at all is refused in its own words
        modules = self._json("modules.json", list[_EncoderModule])
        if not modules:
            raise self._unfit("it has no modules.json, so it does not say how tokens become one embedding.")
        pooling, layers = "", []
        for module in modules:
            kind, folder = module["type"].rpartition(".")[2], module["path"]
            settings = (self._json(f"{folder}/config.json", dict[str, Any]) if folder else None) or {}
            if kind == "Pooling":
                pooling = self._pooling(settings)
            elif kind == "Dense":
                layers.append(self._dense(folder, settings))
            elif kind not in ("Transformer", "Normalize"):
                raise self._unfit(f"it has a part {kind!r}.")
        prompts = self._json("config_sentence_transformers.json", _Prompts) or {}
        named = (prompts.get("prompts") or {}).get(prompts.get("default_prompt_name") or "", "")
        if not pooling:
            raise self._unfit("its modules.json names no pooling.")
        lengths = self._json("sentence_bert_config.json", _Lengths) or {}
        longest = lengths.get("max_seq_length") or self._loaded.max_tokens
        prefix = named or _PREFIXES.get(self.source_name.rpartition("/")[2], "")
        return _Recipe(pooling, tuple(layers), prefix, min(longest, self._loaded.max_tokens))

    def _pooling(self, settings: JsonObject) -> str:
        flags = [name for name, on in settings.items() if name.startswith("pooling_mode_") and on]
        (mode, *more) = [_POOLINGS.get(name, name) for name in flags] or [str(settings.get("pooling_mode"))]
        if more or mode not in _POOLINGS.values() or not settings.get("include_prompt", True):
            raise self._unfit("it pools tokens in another way than by their mean or their first one.")
        return mode

    def _dense(self, folder: str, settings: JsonObject) -> tuple[Untyped, Untyped, bool]:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        activation = str(settings.get("activation_function")).rpartition(".")[2]
        path = self._file(f"{folder}/model.safetensors")
        if path is None or activation not in ("Tanh", "Identity"):
            raise self._unfit(f"its layer {folder} has no safetensors weights, or another activation than tanh.")
        try:
            weights = load_file(path, device=str(self._loaded.model.device))
            return weights["linear.weight"].float(), _float(weights.get("linear.bias")), activation == "Tanh"
        except (OSError, KeyError, SafetensorError) as error:
            raise self._unfit(f"its layer {folder} cannot be read ({error}).") from None

    def _json(self, name: str, kind: Untyped) -> Untyped:
        """Return what a JSON file of the checkpoint holds, of the type ``kind``, None where it has no such file."""
        path = self._file(name)
        try:
            return None if path is None else TypeAdapter(kind).validate_json(path.read_bytes())
        except OSError as error:
            reason = str(error)
        except ValidationError as error:
            first = error.errors()[0]
            reason = ": ".join([*map(str, first["loc"]), first["msg"]])
        raise self._unfit(f"its {name} cannot be read ({reason}).")


def _float(tensor: Untyped) -> Untyped:
    return None if tensor is None else tensor.float()
