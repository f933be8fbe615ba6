"""Sentence similarity: equal to its definition for every layout of checkpoint; by name from the hub's cache; floors."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_neural import QUICK, TEXT, loaded, minilm, save  # noqa: F401 - minilm is a fixture

import kapwa
from kapwa.errors import ModelError
from kapwa.metrics import neural
from kapwa.metrics.sentences import SENTENCE_MODEL, SentenceSimilarity

torch = pytest.importorskip("torch")

COMMIT = "3" * 40
MEAN, CLS = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}, {"pooling_mode": "cls"}
PARTS = ("Transformer", "Pooling", "Dense", "Normalize")


def sentence_encoder(folder: Path, pooling: dict[str, Any], *, dense: bool = False, before: str = "") -> Path:
    """Write a random encoder with the files of the package sentence-transformers."""
    from safetensors.torch import save_file

    save(folder, "BertModel", 5)
    kinds = [kind for kind in PARTS if dense or kind != "Dense"]
    rows = [{"type": f"any.package.{kind}", "path": kind if i else ""} for i, kind in enumerate(kinds)]
    files = {"modules.json": rows, "Pooling/config.json": pooling, "sentence_bert_config.json": {"max_seq_length": 6}}
    if dense:
        files["Dense/config.json"] = {"activation_function": "torch.nn.modules.activation.Tanh"}
    if before:
        files["config_sentence_transformers.json"] = {"prompts": {"q": before}, "default_prompt_name": "q"}
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    if dense:
        torch.manual_seed(6)
        layer = {"linear.weight": torch.randn(8, 16), "linear.bias": torch.randn(8)}
        save_file(layer, folder / "Dense" / "model.safetensors")
    return folder


LAYOUTS: dict[str, dict[str, Any]] = {
    "mean": {"pooling": MEAN},
    "cls, dense": {"pooling": CLS, "dense": True},
    "mean, words before": {"pooling": MEAN, "before": "bahay sa "},
}


@pytest.fixture(scope="module", params=LAYOUTS)
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    layout = LAYOUTS[request.param]
    return sentence_encoder(tmp_path_factory.mktemp("sentences") / "tiny", **layout), layout


def twin(folder: Path, layout: dict[str, Any], text: str, longest: int = 6) -> list[float]:
    """The embedding of one text alone, number by number."""
    tokenizer, model = loaded(folder, "AutoModel")
    encoded = tokenizer(layout.get("before", "") + text, truncation=True, max_length=longest, return_tensors="pt")
    with torch.no_grad():
        tokens = model(**encoded).last_hidden_state[0].tolist()
    means = [sum(column) / len(tokens) for column in zip(*tokens, strict=True)]
    vector = means if layout["pooling"] is MEAN else tokens[0]
    if layout.get("dense"):
        from safetensors.torch import load_file

        weights = load_file(folder / "Dense" / "model.safetensors")
        rows = zip(weights["linear.weight"].tolist(), weights["linear.bias"].tolist(), strict=True)
        vector = [math.tanh(sum(w * x for w, x in zip(row, vector, strict=True)) + bias) for row, bias in rows]
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector]


def dot(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@QUICK
@given(pairs=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6))
def test_sentence_similarity_equals_its_definition(
    encoder: tuple[Path, dict[str, Any]], pairs: list[tuple[str, str]]
) -> None:
    folder, layout = encoder
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neural, "_BATCH", 2)
        values = SentenceSimilarity(str(folder)).score_pairs([h for h, _ in pairs], [r for _, r in pairs])
    wanted = [dot(twin(folder, layout, h), twin(folder, layout, r)) if h and r else 0.0 for h, r in pairs]
    np.testing.assert_allclose(values, wanted, atol=1e-5)


def test_sentence_similarity_on_real_weights(minilm: Path) -> None:  # noqa: F811
    reference = "Talk to your parents before you decide."
    hypotheses = [reference, "Discuss it with mother and father first.", "Buy a boat.", " "]
    values = SentenceSimilarity(str(minilm)).score_pairs(hypotheses, [reference] * 4)
    assert values[0] == pytest.approx(1.0)
    assert values[0] > values[1] > values[2] > values[3] == 0
    ends = [twin(minilm, {"pooling": MEAN}, text, longest=256) for text in hypotheses[:3]]
    np.testing.assert_allclose(values[:3], [dot(end, ends[0]) for end in ends], atol=1e-5)


def test_the_signature_says_what_makes_an_embedding(tmp_path: Path) -> None:
    plain = SentenceSimilarity(str(sentence_encoder(tmp_path / "a", MEAN))).signature
    other = SentenceSimilarity(str(sentence_encoder(tmp_path / "b", CLS, dense=True, before="bata "))).signature
    assert {"pool:mean", "dense:none", "before:none", "max:6"} < set(plain.split("|"))
    assert {"pool:cls", "dense:tanh", "before:bata", "max:6"} < set(other.split("|"))
    assert str(tmp_path) not in plain + other
    assert SentenceSimilarity("intfloat/multilingual-e5-base@abc").source_name == "intfloat/multilingual-e5-base"


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("modules.json", None, "no modules.json"),
        ("modules.json", "{", r"modules\.json cannot be read"),
        ("modules.json", '[{"type": "x.Router", "path": "a"}]', "a part 'Router'"),
        ("modules.json", '[{"type": "x.Transformer", "path": ""}]', "names no pooling"),
        ("Pooling/config.json", '{"pooling_mode_max_tokens": true}', "pools tokens in another way"),
        ("Pooling/config.json", '{"pooling_mode": "mean", "include_prompt": false}', "pools tokens in another way"),
        ("Pooling/config.json", None, "pools tokens in another way"),
        ("Dense/config.json", '{"activation_function": "torch.nn.GELU"}', "another activation than tanh"),
        ("Dense/model.safetensors", None, "no safetensors weights"),
        ("Dense/model.safetensors", "cut", "layer Dense cannot be read"),
    ],
)
def test_encoders_that_ask_for_what_is_not_done_are_refused(
    tmp_path: Path, file: str, content: str | None, says: str
) -> None:
    folder = sentence_encoder(tmp_path / "tiny", MEAN, dense=True)
    (folder / file).unlink() if content is None else (folder / file).write_text(content, encoding="utf-8")
    with pytest.raises(ModelError, match=rf"{says}(.|\n)*{SENTENCE_MODEL}"):
        SentenceSimilarity(str(folder)).score_pairs(["ang"], ["bata"])


@pytest.mark.parametrize(
    ("name", "data", "metric"),
    [("kalahi/open", "sample:filipino", "sentence_acc"), ("blend/saq", "sample:egypt", "sentence")],
)
def test_a_learned_metric_is_loaded_by_name_for_both_open_tasks(
    name: str, data: str, metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the hub's cache, at a revision; floors beside it, the weights in the signature."""
    snapshot = tmp_path / "hub" / "models--kapwa-tests--tiny" / "snapshots" / COMMIT
    snapshot.parent.mkdir(parents=True)
    shutil.move(sentence_encoder(tmp_path / "tiny", CLS, dense=True), snapshot)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    task = kapwa.load_task(name, data=data, limit=3, metrics=["sentence"], sentence_model=f"kapwa-tests/tiny@{COMMIT}")
    rows = [{"item_id": item.id, "variant": item.variant, "text": "ang bata"} for item in task.items()]
    pl.DataFrame(rows).write_csv(tmp_path / "replies.csv")
    model = kapwa.load_model(f"replay:{tmp_path / 'replies.csv'}")
    run = kapwa.evaluate(task, model, out=tmp_path / "runs", progress=False)
    assert "encoders=" in run.manifest["signatures"][metric]
    values = run.scores.filter(metric=metric)["value"]
    assert values.len()
    assert values.null_count() == 0
    if name == "kalahi/open":
        assert f"revision:{COMMIT}" in dict(run.table("signatures").iter_rows())["sentence"]
        floors = run.table("floors")
        names = {kind: set(floors.filter(metric=kind)["name"]) for kind in ("sentence_acc", "chrfpp_acc")}
        assert names["sentence_acc"] == names["chrfpp_acc"] >= {"the prompt repeated", "reference answers"}
        kinds = dict(floors.filter(metric="sentence_diff").select("name", "kind").iter_rows())
        assert kinds["reference answers"] == "ceiling"


def _json(**changes: Any) -> Any:
    """Spoil a JSON file: set fields, or with the value None take them out."""

    def spoil(path: Path) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        for name, value in changes.items():
            content.pop(name, None) if value is None else content.__setitem__(name, value)
        path.write_text(json.dumps(content), encoding="utf-8")

    return spoil


def _text(text: str) -> Any:
    return lambda path: path.write_bytes(text.encode("utf-8", "surrogatepass"))


def _dense(**tensors: Any) -> Any:
    def spoil(path: Path) -> None:
        from safetensors.torch import save_file

        save_file({name.replace("_", "."): tensor for name, tensor in tensors.items()}, path)

    return spoil


DAMAGES: list[tuple[str, Any]] = [
    *(("modules.json", _text(text)) for text in ("", "{", "[1]", "{}", "null", '"x"', "\0", "[" * 9999, "\ud83d")),
    ("modules.json", _text('[{"type": 3, "path": ""}]')),
    ("modules.json", _text('[{"type": "a.Pooling"}]')),
    ("modules.json", _text('[{"type": "a.Pooling", "path": "\\u0000"}]')),
    ("modules.json", _text('[{"type": "a.Dense", "path": "Pooling"}, {"type": "a.Pooling", "path": "Pooling"}]')),
    *(("Pooling/config.json", _text(text)) for text in ("", "[]", "3", '{"pooling_mode_mean_tokens": []}')),
    ("Pooling/config.json", _json(pooling_mode_cls_token=True)),
    *(("Dense/config.json", _text(text)) for text in ("", "[]", '{"activation_function": 3}')),
    *(("sentence_bert_config.json", _json(max_seq_length=value)) for value in (0, -1, 1, "x", [], 1e300, 2.5)),
    *(("config_sentence_transformers.json", _json(prompts=value)) for value in ([], 3, {"q": 3}, {"q": []})),
    *(("config_sentence_transformers.json", _json(default_prompt_name=value)) for value in ([], 3, {})),
    ("Dense/model.safetensors", _text("")),
    ("Dense/model.safetensors", lambda path: path.write_bytes(path.read_bytes()[:-9])),
    ("Dense/model.safetensors", _dense(linear_weight=torch.randn(8, 15))),
    ("Dense/model.safetensors", _dense(linear_weight=torch.randn(8))),
    ("Dense/model.safetensors", _dense(linear_weight=torch.randn(8, 16), linear_bias=torch.randn(7))),
    ("Dense/model.safetensors", _dense(linear_weight=torch.full((8, 16), float("nan")))),
    ("Dense/model.safetensors", _dense(linear_weight=torch.ones(8, 16, dtype=torch.int32))),
    ("Dense/model.safetensors", _dense(other=torch.randn(8, 16))),
    *(("config.json", _json(max_position_embeddings=value)) for value in (0, "x", [], -1)),
    *(("config.json", _json(**{name: "x"})) for name in ("vocab_size", "hidden_size", "num_hidden_layers")),
    ("config.json", _json(vocab_size=2)),
    ("tokenizer.json", _text("{}")),
    ("tokenizer_config.json", _json(pad_token=None, model_max_length=1)),
    ("tokenizer_config.json", _json(model_max_length="x")),
    ("model.safetensors", lambda path: path.write_bytes(path.read_bytes()[:-1])),
]


@pytest.mark.parametrize("number", range(len(DAMAGES)))
def test_a_damaged_encoder_is_refused_in_words(tmp_path: Path, number: int) -> None:
    folder = sentence_encoder(tmp_path / "tiny", MEAN, dense=True, before="bahay ")
    name, spoil = DAMAGES[number]
    spoil(folder / name)
    metric = SentenceSimilarity(str(folder))
    problem = None
    try:
        assert metric.signature
    except ModelError as error:
        problem = error
    if problem is None:  # what can be used all the same
        assert math.isfinite(metric.score_pairs(["bahay"], ["bahay sa"])[0])
    else:
        assert "tiny" in problem.message
        assert problem.hint
