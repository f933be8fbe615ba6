"""Finding and loading weights: every bad input is a ModelError in words, every good one has an identity."""

import json
import shutil

import pytest
from tiny_models import save_model

from kapwa.errors import MissingDependencyError, ModelError
from kapwa.models import weights
from kapwa.models.base import ModelOptions

torch = pytest.importorskip("torch", reason="the local backend needs torch: pip install 'kapwa[local]'")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("hub") / "tiny-llama")


@pytest.fixture
def copy(tiny, tmp_path):
    return shutil.copytree(tiny, tmp_path / "tiny-llama")


def load(name, **options):
    return weights.load(weights.locate(str(name)), ModelOptions(**options))


def test_a_folder_loads_in_float32_with_a_content_hash(tiny):
    loaded = load(tiny)
    assert loaded.model.dtype == torch.float32
    assert not loaded.model.training
    assert len(loaded.revision) == 16
    assert weights.locate(str(tiny)).id == "hf:tiny-llama"
    assert load(tiny, dtype="bfloat16").model.dtype == torch.bfloat16


def test_the_content_hash_follows_content_and_not_place(tiny, copy):
    first = weights.content_hash(weights.locate(str(tiny)))
    assert weights.content_hash(weights.locate(str(copy))) == first
    file = copy / "model.safetensors"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
    assert weights.content_hash(weights.locate(str(copy))) != first


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("./no-such-folder", "no file or folder"),
        ("./no-such-folder@v2", "no file or folder"),
        ("../weights@main", "no file or folder"),
        ("/no/such/model.gguf", "no file or folder"),
        ("a/b/c", "no file or folder"),
        ("weights.gguf", "no file or folder"),
        ("", "neither a hub id nor a path"),
        (" padded", "neither a hub id nor a path"),
    ],
)
def test_names_that_are_nothing(name, says):
    with pytest.raises(ModelError, match=says):
        weights.locate(name)


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(ModelError, match=r"config\.json is missing"):
        weights.locate(str(tmp_path))
    (tmp_path / "some.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelError, match=r"name one: hf:.*some\.gguf"):
        weights.locate(str(tmp_path))


def test_a_file_that_is_not_gguf(tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"x")
    with pytest.raises(ModelError, match=r"not a \.gguf file"):
        weights.locate(str(file))


@pytest.mark.parametrize("keep", [0, 7, 5000])
def test_truncated_weights(copy, keep):
    file = copy / "model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(ModelError, match="cannot be loaded"):
        load(copy)


def test_weights_that_lack_a_parameter_are_refused(copy):
    from safetensors.torch import load_file, save_file

    tensors = load_file(copy / "model.safetensors")
    name = next(name for name in tensors if "q_proj" in name)
    del tensors[name]
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lack 1 parameters .*q_proj"):
        load(copy)


def test_pickled_weights_are_not_read_unless_asked(copy):
    from safetensors.torch import load_file

    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="pickle_weights"):
        load(copy)
    assert load(copy, extra={"pickle_weights": True}).model is not None


def test_a_model_with_its_own_code_needs_permission(copy):
    config = json.loads((copy / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}}
    (copy / "config.json").write_text(json.dumps(config))
    marker = copy / "ran"
    (copy / "mine.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    with pytest.raises(ModelError, match="trust_remote_code"):
        load(copy)
    assert not marker.exists()


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGUF\x03\x00\x00\x00", b"not a gguf file at all" * 20])
def test_corrupt_gguf(tmp_path, content):
    file = tmp_path / "broken.gguf"
    file.write_bytes(content)
    with pytest.raises(ModelError, match=r"broken\.gguf cannot be read as a GGUF model"):
        load(file)


@pytest.mark.parametrize("share", [0.01, 0.5])
def test_truncated_gguf(tmp_path, smollm2_path, share):
    file = tmp_path / "cut.gguf"
    with smollm2_path.open("rb") as stream:
        file.write_bytes(stream.read(int(smollm2_path.stat().st_size * share)))
    with pytest.raises(ModelError, match="truncated"):
        load(file)


def test_unknown_types_and_devices(tiny):
    with pytest.raises(ModelError, match="no numeric type 'int3'"):
        load(tiny, dtype="int3")
    with pytest.raises(ModelError, match="device 'abacus' cannot be used"):
        load(tiny, device="abacus")


def test_a_hub_id_without_network(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="cannot be loaded from the Hugging Face hub") as caught:
        load("kapwa-tests/no-such-model", revision="abc")
    assert "hf download <id> --revision abc" in str(caught.value)


@pytest.mark.parametrize("package", ["torch", "transformers", "accelerate"])
def test_missing_packages_are_named(monkeypatch, smollm2_path, package):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else real(name))
    with pytest.raises(MissingDependencyError, match=rf"'{package}'.*\n.*kapwa\[local\]"):
        load(smollm2_path)
