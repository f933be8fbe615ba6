"""Tree, prefix and plain scoring give one answer, on every architecture, and the choice between them is right."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import ARCHITECTURES, VOCABULARY, WINDOW, train_tokenizer, wrapped

from kapwa.errors import ModelError
from kapwa.models import network, scoring, templates
from kapwa.models.encoding import Encoder, Path

torch = pytest.importorskip("torch", reason="the local backend needs torch: pip install 'kapwa[local]'")

_tokens = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=5)


@st.composite
def _paths(draw, longest_prompt=10):
    """One prompt's paths: shared prompt, shared beginnings, merged starts, paths that begin one another."""
    prompt = draw(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=longest_prompt))
    stem = draw(_tokens)
    paths = []
    for _ in range(draw(st.integers(1, 5))):
        tail = draw(_tokens)
        cut = draw(st.integers(0, len(prompt) - 1))
        kept = prompt[: len(prompt) - cut] if draw(st.booleans()) else prompt
        tokens = (*kept, *(stem if draw(st.booleans()) else []), *tail)
        paths.append(Path(tokens, len(kept)))
    return paths


def _by_hand(net: network.Network, path: Path) -> list[float]:
    """The definition: one whole forward pass, softmax over the vocabulary, in float64."""
    with torch.inference_mode():
        logits = net.model(input_ids=torch.tensor([path.tokens])).logits[0].double()
    logprobs = logits.log_softmax(-1)
    return [logprobs[i - 1, path.tokens[i]].item() for i in range(path.start, len(path.tokens))]


@pytest.fixture(scope="module", params=sorted(ARCHITECTURES))
def architecture(request):
    return request.param, wrapped(request.param)


@pytest.fixture(scope="module")
def encoder():
    tokenizer = train_tokenizer()
    return Encoder(tokenizer, templates.choose(tokenizer, "auto", {}))


@settings(max_examples=25)
@given(paths=_paths(longest_prompt=WINDOW + 8), batch_tokens=st.sampled_from([1, 20, 4096]))
def test_methods_agree_with_the_definition(architecture, paths, batch_tokens):
    name, net = architecture
    longest = max(len(path.tokens) for path in paths)
    methods = ["plain"]
    if name != "mamba":
        methods.append("prefix")
        if net.window is None or longest <= net.window:
            methods.append("tree")
    with torch.inference_mode():
        for method in methods:
            found = scoring.run_method(method, net, paths, batch_tokens)
            for path, values in zip(paths, found, strict=True):
                np.testing.assert_allclose(values, _by_hand(net, path), atol=2e-4, err_msg=f"{name} {method}")


def test_several_prompts_in_one_pass_do_not_disturb_each_other():
    net = wrapped("llama")
    rng = np.random.default_rng(3)
    groups = [
        [Path(tuple(rng.integers(0, VOCABULARY, 9).tolist()), 4) for _ in range(3)],
        [Path(tuple(rng.integers(0, VOCABULARY, 6).tolist()), 1) for _ in range(2)],
    ]
    with torch.inference_mode():
        together = scoring.score_tree(net, groups)
        apart = [scoring.score_tree(net, [group])[0] for group in groups]
    for ours, theirs in zip(together, apart, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("method", ["tree", "prefix", "plain"])
def test_uniform_network_gives_minus_n_log_vocabulary(method):
    net = wrapped("llama", tie_word_embeddings=False)
    net.model.lm_head.weight.zero_()
    paths = [Path((1, 2, 3, 4, 5), 2), Path((1, 2, 3, 9), 3), Path((1, 2, 7), 2)]
    with torch.inference_mode():
        found = scoring.run_method(method, net, paths, 4096)
    for path, values in zip(paths, found, strict=True):
        n = len(path.tokens) - path.start
        assert values.sum() == pytest.approx(-n * math.log(VOCABULARY), rel=1e-6)


@pytest.mark.parametrize("name", ["llama", "qwen2", "gpt2"])
def test_full_attention_is_scored_by_tree(name, encoder):
    chosen = scoring.choose(wrapped(name, vocab_size=400), encoder, "auto")
    assert (chosen.method, chosen.name, chosen.reasons) == ("tree", "tree", {})


@pytest.mark.parametrize("name", ["gemma2", "gemma3", "mistral"])
def test_windows_bound_the_tree(name, encoder):
    chosen = scoring.choose(wrapped(name, vocab_size=400, sliding_window=150), encoder, "auto")
    assert chosen.name == "tree to 150 tokens, then prefix"
    assert chosen.method_for(150) == "tree"
    assert chosen.method_for(151) == "prefix"


def test_a_window_shorter_than_the_probe_leaves_the_tree_unchecked_and_unused(encoder):
    chosen = scoring.choose(wrapped("mistral", vocab_size=400), encoder, "auto")
    assert chosen.method == "prefix"
    assert "window" in chosen.reasons["tree"]


def test_beyond_the_window_a_request_still_gets_plain_values():
    net = wrapped("gemma3")
    long = [Path((*(i % VOCABULARY for i in range(3 * WINDOW)), k, 5), 3 * WINDOW) for k in range(3)]
    chosen = scoring.Scoring("tree", "prefix", net.window, {})
    with torch.inference_mode():
        found = chosen.score(net, long, 4096)
        tree = scoring.score_tree(net, [long])[0]
    for path, values in zip(long, found, strict=True):
        np.testing.assert_allclose(values, _by_hand(net, path), atol=2e-4)
    # The guard is needed: the tree would have seen past the window.
    assert max(abs(a.sum() - b.sum()) for a, b in zip(tree, found, strict=True)) > 0.01


def test_state_space_models_are_not_scored_by_tree(encoder):
    chosen = scoring.choose(wrapped("mamba", vocab_size=400), encoder, "auto")
    assert chosen.method in ("prefix", "plain")
    assert "tree" in chosen.reasons


class _Deaf(torch.nn.Module):
    """A network that takes a mask and does not obey it, as some attention kernels do."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.config, self.dtype = inner, inner.config, inner.dtype

    def get_input_embeddings(self):
        return self.inner.get_input_embeddings()

    def forward(self, input_ids, attention_mask=None, position_ids=None, past_key_values=None, use_cache=False,
                logits_to_keep=0):  # fmt: skip
        return self.inner(input_ids, past_key_values=past_key_values, position_ids=position_ids,
                          use_cache=use_cache, logits_to_keep=logits_to_keep)  # fmt: skip


def test_a_network_deaf_to_masks_falls_back(encoder):
    net = network.wrap(_Deaf(wrapped("llama", vocab_size=400).model))
    chosen = scoring.choose(net, encoder, "auto")
    assert chosen.method == "prefix"
    assert "nats" in chosen.reasons["tree"]


def test_a_method_asked_for_by_name_is_refused_where_it_is_wrong(encoder):
    net = network.wrap(_Deaf(wrapped("llama", vocab_size=400).model))
    with pytest.raises(ModelError, match=r"tree method: it differs from plain scoring by"):
        scoring.choose(net, encoder, "tree")
    assert scoring.choose(net, encoder, "plain").name == "plain"
    with pytest.raises(ModelError, match="no scoring method 'fast'"):
        scoring.choose(net, encoder, "fast")


def test_sixteen_bit_networks_pass_the_check_and_deaf_ones_do_not(encoder):
    model = wrapped("llama", vocab_size=400).model.to(torch.bfloat16)
    assert scoring.choose(network.wrap(model), encoder, "auto").method == "tree"
    assert scoring.choose(network.wrap(_Deaf(model)), encoder, "auto").method == "prefix"


def test_logprobs_in_chunks_equal_those_at_once(monkeypatch):
    logits = torch.randn(23, 50)
    rows, targets = np.arange(23), np.arange(23)
    whole = network.token_logprobs(logits, rows, targets)
    monkeypatch.setattr(network, "CHUNK_ELEMENTS", 120)
    np.testing.assert_array_equal(network.token_logprobs(logits, rows, targets), whole)
    np.testing.assert_allclose(whole, logits.double().log_softmax(-1)[range(23), range(23)].numpy(), atol=1e-6)
