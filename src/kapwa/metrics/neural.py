"""BERTScore and BLEURT through plain transformers: closeness of meaning as an encoder sees it.

Weights are a local folder or a hub id, ``id@revision`` for one revision of it. Nothing is downloaded; a hub id must
be in the local cache. Code that comes with a checkpoint is never run, nor are pickled weights read, which may hold
code. Which of the released BLEURT that leaves is told in :class:`Bleurt`.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kapwa.errors import KapwaError, MissingDependencyError, ModelError, UsageError
from kapwa.files import table_rows
from kapwa.metrics.base import Vector, is_blank
from kapwa.value_types import JsonObject, Keywords, Untyped

BERTSCORE_MODEL = "bert-base-multilingual-cased"
# Its main branch has pickled weights only; this is the hub's own conversion of them.
BLEURT_MODEL = "Elron/bleurt-base-512@refs/pr/1"

# Layers that agree best with human judgement on WMT16, as the authors of BERTScore publish them.
_BEST_LAYERS = {row["model"]: int(row["layer"]) for row in table_rows(Path(__file__).with_name("bertscore_layers.csv"))}
# Pairs whose embeddings are held at once; bounds memory whatever the number of pairs.
_BLOCK = 256
# Texts, or pairs of texts, that a model reads at once.
_BATCH = 32
# A model that reads no more than a word and its marks of begin and end reads no text.
LEAST_TOKENS = 4


class Loaded(NamedTuple):
    """A model ready to read, its tokenizer, the most tokens it takes, and which weights it has."""

    torch: Untyped
    model: Untyped
    tokenizer: Untyped
    max_tokens: int
    revision: str


class Neural(ABC):
    """What metrics with a model share: lazy loading with clear refusals, blank texts, batches, parts of a signature."""

    name: str
    title: str
    source: str
    default_model: str
    auto_class: str
    # Weights a checkpoint may lack, because the metric never reads them.
    unused: tuple[str, ...] = ()
    # What to choose where a checkpoint needs its own code.
    remedy = f"Choose a checkpoint of a stock architecture, e.g. {BERTSCORE_MODEL}."
    low: float | None = None
    high: float | None = None

    def __init__(self, model_name: str = "", *, device: str = "auto") -> None:
        """``model_name``: a local folder or a hub id, "" for the metric's own choice; ``device``: as torch names it."""
        self.model_name, self.device = str(model_name) or self.default_model, device
        # A folder may have an @ in its name.
        name, _, revision = (self.model_name, "", "") if self._is_folder else self.model_name.partition("@")
        self.source_name, self.wanted_revision = name, revision or None

    def score_pairs(self, hypotheses: Sequence[str], references: Sequence[str]) -> Vector:
        """Return the metric of each pair of texts; 0 where a text is blank."""
        pairs = list(zip(hypotheses, references, strict=True))
        values = np.zeros(len(pairs))
        scorable = [i for i, pair in enumerate(pairs) if not any(map(is_blank, pair))]
        if scorable:
            values[scorable] = self._values([pairs[i] for i in scorable])
        return values

    @abstractmethod
    def _values(self, pairs: Sequence[tuple[str, str]]) -> Untyped:
        """Return a number for each (hypothesis, reference), none of them blank."""

    @property
    def _is_folder(self) -> bool:
        return Path(self.model_name).is_dir()

    @cached_property
    def _loaded(self) -> Loaded:
        loaded = self.__dict__["_loaded"] = self._load()
        try:
            self._try_out()
        except BaseException:
            del self.__dict__["_loaded"]
            raise
        return loaded

    def _try_out(self) -> None:
        """Score a pair of texts; raise ModelError where the parts of a checkpoint do not fit together."""
        try:
            value = self.score_pairs(["One text."], ["Another text, which is a little longer."])[0]
        except (KapwaError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - any library may meet the fault first, and each has its own kinds
            reason = " ".join(str(error).split())[:200] or type(error).__name__
        else:
            if math.isfinite(value):
                return
            reason = "what it gives is not a number"
        hint = "A file of it is damaged or of another checkpoint; fetch or copy it again."
        raise self._unfit(f"its parts do not fit together ({reason}).", hint)

    def _load(self) -> Loaded:
        try:
            import torch
            import transformers
        except ImportError:
            raise MissingDependencyError("transformers", extra="neural", purpose=self.title) from None
        where: Keywords = {"local_files_only": True, "trust_remote_code": False}
        if self.wanted_revision:
            where["revision"] = self.wanted_revision
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.source_name, **where)
            model, info = getattr(transformers, self.auto_class).from_pretrained(
                self.source_name, dtype=torch.float32, output_loading_info=True, use_safetensors=True, **where
            )
        except Exception as error:  # noqa: BLE001 - the loaders raise a dozen kinds; a damaged tokenizer none of its own
            raise self._refusal(error) from None
        # Weights that transformers filled with random numbers would give random scores.
        missing = sorted(key for key in info["missing_keys"] if not any(unused in key for unused in self.unused))
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            hint = "It was made for another purpose; choose a checkpoint that carries them."
            raise self._unfit(f"its file lacks the weights {missing[0]!r}{more}.", hint)
        config = model.config
        self._check_head(config)
        # RoBERTa keeps two positions for itself; tokenizers without a limit report 10^30.
        positions = getattr(config, "max_position_embeddings", None) or 512
        reserved = 2 if getattr(config, "model_type", "") in ("roberta", "xlm-roberta", "camembert") else 0
        limits = [tokenizer.model_max_length, positions]
        if not all(isinstance(limit, int | float) and limit > LEAST_TOKENS for limit in limits):
            raise self._refusal(ValueError(f"its longest input cannot be {limits[0]!r} tokens of {limits[1]!r}."))
        device = ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device
        return Loaded(
            torch,
            model.eval().to(device),
            tokenizer,
            max_tokens=min(int(tokenizer.model_max_length), int(positions) - reserved),
            revision=self._revision(),
        )

    def _file(self, name: str) -> Path | None:
        """Return where a file of the checkpoint lies, None where it is not there."""
        from huggingface_hub import try_to_load_from_cache

        if self._is_folder:
            path = Path(self.model_name, name)
            return path if path.is_file() else None
        cached = try_to_load_from_cache(self.source_name, name, revision=self.wanted_revision)
        return Path(cached) if isinstance(cached, str) else None

    def _revision(self) -> str:
        """Return the hub's commit, or a hash of the weights of a folder, whose name says nothing of what is in it."""
        if not self._is_folder:
            path = self._file("config.json")
            return path.parent.name if path else "unknown"
        state = hashlib.blake2b(digest_size=8)
        for path in sorted(Path(self.model_name).rglob("*.safetensors")):
            with path.open("rb") as file:
                while chunk := file.read(1 << 20):
                    state.update(chunk)
        return state.hexdigest()

    def _refusal(self, error: Exception) -> ModelError:
        reason, folder = str(error).strip().split("\n")[0], Path(self.model_name)
        if (folder / "saved_model.pb").exists():
            return self._unfit("it needs TensorFlow, which is not used.")
        if "trust_remote_code" in reason or "does not recognize this architecture" in str(error):
            return self._unfit("it needs its own code, which is not run.")
        if "model.safetensors" in reason and ("no file named" in reason or "not appear to have" in reason):
            reason = "it has no weights in safetensors; pickled ones (.bin) may hold code and are not read."
            hint = "Name a revision with safetensors (id@refs/pr/1, where the hub has converted it), or convert it."
        elif folder.exists():
            hint = "The folder must hold config.json, the tokenizer and the weights."
        else:
            reason = "it is neither a folder nor in the local cache."
            revision = f" --revision {self.wanted_revision}" if self.wanted_revision else ""
            hint = f"Fetch it once with 'hf download {self.source_name}{revision}', or name a local folder."
        return ModelError(f"{self.title} cannot load {self.model_name!r}: {reason}", hint=hint)

    def _unfit(self, why: str, hint: str = "") -> ModelError:
        return ModelError(f"{self.title} cannot use {self.model_name!r}: {why}", hint=hint or self.remedy)

    def _check_head(self, config: object) -> None:  # noqa: B027 - most models need no check
        """Raise ModelError where the model's output is not what the metric reads; any hidden states will do."""

    def _signature(self, *parts: str) -> str:
        loaded = self._loaded
        versions = f"transformers-{version('transformers')}+torch-{version('torch')}"
        # Only the last part of a folder: a signature travels, a user's paths must not.
        shown = Path(self.model_name).name if self._is_folder else self.source_name
        first = (self.name, f"model:{shown}", f"revision:{loaded.revision}", *parts)
        return "|".join([*first, f"max:{self.max_tokens}", f"version:{versions}"])

    @property
    def max_tokens(self) -> int:
        """The longest text read; what is longer is cut."""
        return self._loaded.max_tokens

    def _tokens(self, *texts: list[str], **options: object) -> Untyped:
        """Return a batch of texts, or of pairs of them, as the model reads it, cut at its longest input."""
        loaded = self._loaded
        return loaded.tokenizer(
            *texts, padding=True, truncation=True, max_length=self.max_tokens, return_tensors="pt", **options
        )

    def _batches(self, texts: Sequence[object], length: Callable[[Untyped], int]) -> Iterator[list[int]]:
        """Yield indices by rising length: little padding, and the same batches for the same texts."""
        order = sorted(range(len(texts)), key=lambda i: (length(texts[i]), i))
        for start in range(0, len(order), _BATCH):
            yield order[start : start + _BATCH]


class BertScore(Neural):
    """BERTScore F1: each token greedily matched to its most similar one by cosine of embeddings.

    Precision averages over the hypothesis' tokens, recall over the reference's; special tokens neither
    count nor match; no idf weights, no rescaling; texts are cut at the model's longest input.
    ``layer`` counts transformer layers from 1; None takes the authors' choice for known models
    (multilingual BERT: 9), else three quarters of the depth, rounded: the signature says which.
    Values lie in [-1, 1], in practice between 0.5 and 1. Source: Zhang et al. 2020, section 3; the
    package bert-score also lets tokens match [CLS] and [SEP], which changes values slightly.
    """

    name, title = "bertscore", "BERTScore"
    source = "Zhang et al. 2020, section 3"
    default_model = BERTSCORE_MODEL
    auto_class = "AutoModel"
    unused = ("pooler",)
    low, high = -1.0, 1.0

    def __init__(self, model_name: str = "", layer: int | None = None, *, device: str = "auto") -> None:
        super().__init__(model_name, device=device)
        self._layer_asked = layer

    @cached_property
    def layer(self) -> int:
        """The layer whose embeddings are compared; raise UsageError where the model has no such layer."""
        depth = int(self._loaded.model.config.num_hidden_layers)
        known = _BEST_LAYERS.get(self.model_name.rsplit("/", 1)[-1], max(1, math.floor(0.75 * depth + 0.5)))
        layer = known if self._layer_asked is None else self._layer_asked
        if not 1 <= layer <= depth:
            raise UsageError(f"{self.model_name!r} has layers 1 to {depth}; layer {layer} was asked for.")
        return layer

    @property
    def signature(self) -> str:
        """Return model, revision, layer, and the choices the paper leaves open."""
        return self._signature(f"layer:{self.layer}", "f:1", "idf:no", "rescale:no", "special:no")

    def _values(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return BERTScore F1 of each pair; 0 where a text has no token."""
        values: list[float] = []
        for start in range(0, len(pairs), _BLOCK):
            block = pairs[start : start + _BLOCK]
            embedded = self._embed(sorted({text for pair in block for text in pair}))
            values += [_greedy_f1(embedded[hypothesis], embedded[reference]) for hypothesis, reference in block]
        return values

    def _embed(self, texts: Sequence[str]) -> JsonObject:
        """Return unit-length token embeddings by text, each of shape ``(tokens, width)``."""
        loaded = self._loaded
        embedded: JsonObject = {}
        for batch in self._batches(texts, len):
            encoded = self._tokens([texts[i] for i in batch], return_special_tokens_mask=True)
            content = (encoded.pop("special_tokens_mask") == 0) & (encoded["attention_mask"] == 1)
            with loaded.torch.inference_mode():
                states = loaded.model(**encoded.to(loaded.model.device), output_hidden_states=True)
            vectors = loaded.torch.nn.functional.normalize(states.hidden_states[self.layer], dim=-1).cpu()
            embedded |= {texts[i]: vectors[row][content[row]].numpy() for row, i in enumerate(batch)}
        return embedded


def _greedy_f1(hypothesis: Untyped, reference: Untyped) -> float:
    """F1 of greedy matching between unit vectors of shapes ``(m, d)`` and ``(n, d)``."""
    if not len(hypothesis) or not len(reference):
        return 0.0
    cosines = hypothesis @ reference.T
    precision, recall = float(cosines.max(axis=1).mean()), float(cosines.max(axis=0).mean())
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


class Bleurt(Neural):
    """BLEURT: a regression head that has learnt to rate a text against a reference as people do.

    Values are unbounded, mostly between -2 and 1; blank texts score 0. What loads are ports to a stock architecture
    with a head of one number, in safetensors: of the released checkpoints ``Elron/bleurt-base-512@refs/pr/1`` and its
    like, trained on ratings of English, a rough guide elsewhere. What does not: BLEURT-20 (the multilingual one) and
    its small versions, which exist as TensorFlow models and as ports (``lucadiliello``) whose class lives in the
    package bleurt-pytorch. Source: Sellam et al. 2020.
    """

    name, title = "bleurt", "BLEURT"
    source = "Sellam et al. 2020"
    default_model = BLEURT_MODEL
    auto_class = "AutoModelForSequenceClassification"
    remedy = (
        "BLEURT-20 and its small versions cannot be used, neither Google's (TensorFlow) nor lucadiliello's (package"
        f" bleurt-pytorch). {BLEURT_MODEL} can; for languages other than English take the metric 'sentence'."
    )

    def _check_head(self, config: Untyped) -> None:
        if config.num_labels != 1:
            hint = f"Choose a regression checkpoint, e.g. {BLEURT_MODEL}."
            raise self._unfit(f"its head gives {config.num_labels} numbers, not one.", hint)

    @property
    def signature(self) -> str:
        """Return model, revision and versions."""
        return self._signature("order:reference-hypothesis")

    def _values(self, pairs: Sequence[tuple[str, str]]) -> Vector:
        """Return the head's number for each (reference, hypothesis)."""
        values, loaded = np.zeros(len(pairs)), self._loaded
        for batch in self._batches(pairs, lambda pair: len(pair[0]) + len(pair[1])):
            encoded = self._tokens([pairs[i][1] for i in batch], [pairs[i][0] for i in batch])
            with loaded.torch.inference_mode():
                logits = loaded.model(**encoded.to(loaded.model.device)).logits[:, 0]
            values[batch] = logits.double().cpu().numpy()
        return values
