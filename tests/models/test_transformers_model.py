"""The local model as the runner sees it: responses, errors, plans, fingerprints, generation."""

import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_models import save_model, train_tokenizer

from kapwa.models import generation, scoring
from kapwa.models.base import ModelOptions
from kapwa.models.transformers import load
from kapwa.records import Message, Params, Request

torch = pytest.importorskip("torch", reason="the local backend needs torch: pip install 'kapwa[local]'")


def ask(text="Kumusta ka?", **params):
    sample = params.pop("sample", 0)
    message = (Message("user", text),)
    return Request("i", "v", "generate", message, params=Params(**params), sample=sample, key=f"{text}{sample}")


def judge(*continuations, text="Kumusta ka?", closing=False):
    key = text + "|".join(continuations)
    return Request("i", "v", "score", (Message("user", text),), continuations, Params(closing=closing), key=key)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("hub") / "tiny")


@pytest.fixture(scope="module")
def model(folder):
    return load(str(folder), ModelOptions())


def test_fingerprint_says_what_changes_answers_and_nothing_of_the_machine(model, folder):
    assert set(model.fingerprint) == {"id", "revision", "dtype", "template", "scoring"}
    assert model.fingerprint["scoring"] == "tree"
    assert model.fingerprint["id"] == "hf:tiny"
    plain = load(str(folder), ModelOptions(template="plain", scoring="prefix"))
    changed = {k for k in model.fingerprint if model.fingerprint[k] != plain.fingerprint[k]}
    assert changed == {"template", "scoring"}
    assert {"device", "threads", "torch", "transformers", "context"} <= set(model.description)


def test_scores_carry_every_count(model):
    texts = ("Mabuti pô.", "Ewan")
    request = judge(*texts, closing=True)
    (response,) = model.score([request])
    assert response.request_key == request.key
    assert response.error is None
    for text, score in zip(texts, response.logprobs, strict=True):
        assert score.n_bytes == len(text.encode())
        assert score.n_chars == len(text)
        assert score.n_tokens == len(score.token_logprobs) >= 1
        assert score.logprob_sum == math.fsum(score.token_logprobs)
        assert score.logprob_sum_reference < score.logprob_sum  # closing tokens are never certain here
    assert response.usage.completion_tokens == sum(score.n_tokens for score in response.logprobs)


@pytest.mark.parametrize("template", ["chat", "plain"])
def test_reference_sum_is_every_token_after_the_prompt(folder, template):
    model = load(str(folder), ModelOptions(template=template))
    request = judge("Mabuti naman", "Mabuti po, salamat", closing=True)
    (response,) = model.score([request])
    tokenizer, net = model._tokenizer, model._network
    for text, score in zip(request.continuations, response.logprobs, strict=True):
        prompt = tokenizer(model.template.prompt(request.messages), add_special_tokens=False).input_ids
        whole = tokenizer(model.template.conversation(request.messages, text), add_special_tokens=False).input_ids
        if template == "plain":
            whole = [*whole, tokenizer.eos_token_id]
        with torch.inference_mode():
            logprobs = net.model(torch.tensor([whole], device=net.device)).logits[0].double().log_softmax(-1)
        expected = sum(logprobs[i - 1, whole[i]].item() for i in range(len(prompt), len(whole)))
        assert score.logprob_sum_reference == pytest.approx(expected, abs=1e-4)


@pytest.mark.skipif(torch.cuda.is_available(), reason="on a GPU requests share passes, which moves last digits")
def test_a_request_scores_the_same_in_any_company(model):
    requests = [judge("Mabuti", "Ewan ko", text=f"Tanong {i}") for i in range(5)]
    together = list(model.score(requests))
    apart = [next(model.score([request])) for request in reversed(requests)][::-1]
    assert together == apart


def test_several_prompts_in_a_pass_agree_with_one(model, monkeypatch):
    requests = [judge("Mabuti", "Ewan ko", text=f"Tanong {i}", closing=True) for i in range(6)]
    requests.insert(2, judge("a", ""))
    apart = list(model.score(requests))
    monkeypatch.setattr(type(model), "_shares_passes", True)
    monkeypatch.setattr(model, "options", replace(model.options, batch_tokens=150))
    planned = model.plan(requests)
    assert sorted(i for batch in planned for i in batch) == list(range(7))
    assert 1 < len(planned) < 7
    assert planned == model.plan(requests)
    monkeypatch.setattr(model, "options", replace(model.options, batch_tokens=100_000))
    assert len(model.plan(requests)) == 1
    monkeypatch.setattr("kapwa.models.transformers._PACKED", 150)  # a pass holds no more, however large a batch may be
    assert model.plan(requests) == planned
    together = [r for batch in planned for r in model.score([requests[i] for i in batch])]
    assert together[2].error == apart[2].error
    for ours, theirs in zip(together, apart, strict=True):
        for a, b in zip(ours.logprobs or (), theirs.logprobs or (), strict=True):
            assert a.logprob_sum == pytest.approx(b.logprob_sum, abs=1e-4)


def test_faulty_requests_get_errors_and_the_others_answers(model):
    requests = [
        judge("Mabuti"),
        judge("Mabuti", ""),
        judge(),
        judge("Mabuti", text="mahaba " * 200),
        judge("\ud800"),
        judge("Ewan"),
    ]
    responses = list(model.score(requests))
    assert [r.request_key for r in responses] == [r.key for r in requests]
    assert [bool(r.error) for r in responses] == [False, True, True, True, True, False]
    assert "continuation 2 is empty" in responses[1].error
    assert "no continuation" in responses[2].error
    assert "context holds 256" in responses[3].error
    assert "surrogate" in responses[4].error


def test_a_context_filled_exactly_is_scored(model):
    tokens = len(model._encoder.prompt(ask("x")))
    fits = judge("z", text="x" + "z" * (256 - tokens))
    longer = judge("z", text="x" + "z" * (257 - tokens))
    assert max(len(path.tokens) for path in model._encoder.request(fits).paths) == 257
    (a,), (b,) = model.score([fits]), model.score([longer])
    assert a.error is None
    assert "needs 257 tokens" in b.error


def test_tokens_the_network_does_not_know_are_an_error(folder, tmp_path):
    from tiny_models import build

    tokenizer = train_tokenizer()
    build("llama", vocab_size=40, eos_token_id=1).save_pretrained(tmp_path / "small")
    tokenizer.save_pretrained(tmp_path / "small")
    small = load(str(tmp_path / "small"), ModelOptions())
    assert small.scoring.reasons["tree"].endswith("(the model does not know all of its tokens)")
    (response,) = small.score([judge("Mabuti")])
    assert "knows only 40 tokens" in response.error
    assert "knows only 40 tokens" in next(small.generate([ask()])).error


def test_exhausted_memory_is_an_error_with_a_remedy(model, monkeypatch):
    assert model.scoring.method == "tree"

    def exhausted(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

    monkeypatch.setattr(scoring, "score_tree", exhausted)
    monkeypatch.setattr(generation, "generate", exhausted)
    (scored,), (text,) = model.score([judge("Mabuti")]), model.generate([ask()])
    for response in (scored, text):
        assert response.error.startswith("memory ran out")
        assert "batch_tokens" in response.error


def refuse_more_than(limit, size, run):
    """``run``, on a card whose memory holds ``limit``; ``sizes`` tells what was tried."""
    sizes = []

    def limited(*arguments):
        sizes.append(size(arguments[-1]))
        if sizes[-1] > limit:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return run(*arguments)

    return limited, sizes


def test_a_batch_for_which_memory_runs_out_is_scored_in_halves(model, monkeypatch, caplog):
    requests = [judge("Mabuti", "Ewan ko", "Oo", text=f"Tanong {i}") for i in range(5)]
    requests.insert(2, judge("a", ""))
    apart = list(model.score(requests))
    monkeypatch.setattr(type(model), "_shares_passes", True)
    limited, sizes = refuse_more_than(2, lambda groups: sum(map(len, groups)), scoring.score_tree)
    monkeypatch.setattr(scoring, "score_tree", limited)
    together = list(model.score(requests))
    # Five requests of three paths: in halves down to one request, then its paths by two and one.
    assert sizes[:6] == [15, 9, 6, 3, 2, 1]
    assert max(size for size in sizes if size <= 2) == 2
    assert [r.request_key for r in together] == [r.key for r in requests]
    assert [bool(r.error) for r in together] == [False, False, True, False, False, False]
    assert together[2].error == apart[2].error
    for ours, theirs in zip(together, apart, strict=True):
        for a, b in zip(ours.logprobs or (), theirs.logprobs or (), strict=True):
            assert a.logprob_sum == pytest.approx(b.logprob_sum, abs=1e-4)
    assert "Memory ran out with 5 at once" in caplog.text


def test_a_batch_for_which_memory_runs_out_is_generated_in_halves(model, monkeypatch):
    requests = [ask("Kumusta" + " ka" * i, max_new_tokens=6) for i in range(7)]
    (batch,) = model.plan(requests)
    planned = [requests[i] for i in batch]
    whole = list(model.generate(planned))
    limited, sizes = refuse_more_than(2, len, generation.generate)
    monkeypatch.setattr(generation, "generate", limited)
    halved = list(model.generate(planned))
    assert sizes == [7, 4, 2, 2, 3, 2, 1]
    assert [r.request_key for r in halved] == [r.key for r in planned]
    assert [r.text for r in halved] == [r.text for r in whole]

    # One prompt that fits nowhere costs no other its answer.
    limited, _ = refuse_more_than(0, lambda jobs: any(job.request is requests[3] for job in jobs), limited)
    monkeypatch.setattr(generation, "generate", limited)
    failed = {r.request_key for r in model.generate(planned) if r.error}
    assert failed == {requests[3].key}


def test_other_faults_are_not_hidden(model, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("shapes do not match")

    monkeypatch.setattr(scoring, "score_tree", broken)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        list(model.score([judge("Mabuti")]))


def test_probabilities_that_are_not_numbers_are_an_error(folder):
    model = load(str(folder), ModelOptions(scoring="plain"))
    model._network.model.get_input_embeddings().weight.fill_(math.nan)
    (response,) = model.score([judge("Mabuti")])
    assert "no finite log-probability" in response.error


def _loop(model, request, steps):
    """Greedy decoding by definition: the whole text again for every token."""
    ids = list(model._encoder.prompt(request))
    net = model._network
    new = []
    for _ in range(steps):
        with torch.inference_mode():
            token = int(net.model(torch.tensor([ids + new], device=net.device)).logits[0, -1].argmax())
        if token in model.stop_ids:
            break
        new.append(token)
    return new


PROMPTS = ["Kumusta ka?", "Ano?", "Salamat po sa lahat ng tulong ninyo noong isang linggo.", "x", "ab ab abc"]


def test_greedy_batches_equal_the_loop(model):
    requests = [ask(text, max_new_tokens=16) for text in PROMPTS]
    found = {r.request_key: r for r in model.generate(requests)}
    for request in requests:
        expected = _loop(model, request, 16)
        response = found[request.key]
        assert response.text == model._tokenizer.decode(expected, skip_special_tokens=True)
        assert response.usage.completion_tokens == len(expected)
        assert response.finish_reason == ("length" if len(expected) == 16 else "stop")


@pytest.mark.parametrize("name", ["gpt2", "gemma3", "mistral", "mamba", "qwen2"])
def test_left_padding_is_right_for_every_architecture(name, tmp_path):
    model = load(str(save_model(tmp_path / name, name)), ModelOptions())
    requests = [ask(text, max_new_tokens=8) for text in PROMPTS]
    assert len(model.plan(requests)) == 1
    for request, response in zip(sorted(requests, key=lambda r: -len(model._encoder.prompt(r))),
                                 model.generate(requests), strict=True):  # fmt: skip
        assert response.text == model._tokenizer.decode(_loop(model, request, 8), skip_special_tokens=True), name


def test_the_models_own_sampling_defaults_are_dropped(tmp_path):
    import transformers

    folder = save_model(tmp_path / "m")
    transformers.GenerationConfig(
        do_sample=True, temperature=5.0, top_k=3, repetition_penalty=9.0, max_length=7, eos_token_id=[1, 5]
    ).save_pretrained(folder)
    model = load(str(folder), ModelOptions())
    assert model.description["generation_defaults_ignored"]["repetition_penalty"] == 9.0
    assert set(model.stop_ids) == {1, 5}
    request = ask(max_new_tokens=20)
    first, second = next(model.generate([request])), next(model.generate([request]))
    assert first == second
    expected = _loop(model, request, 20)
    assert first.text == model._tokenizer.decode(expected, skip_special_tokens=True)


def test_a_stop_token_ends_an_answer(model, monkeypatch):
    request = ask(max_new_tokens=16)
    tokens = _loop(model, request, 16)
    stop = next(token for i, token in enumerate(tokens) if i >= 2 and token not in tokens[:i])
    monkeypatch.setattr(model, "stop_ids", (stop,))
    (response,) = model.generate([request])
    assert response.finish_reason == "stop"
    assert response.text == model._tokenizer.decode(tokens[: tokens.index(stop)], skip_special_tokens=True)


def test_stop_strings_end_an_answer_before_them(model):
    request = ask(max_new_tokens=24)
    (free,) = model.generate([request])
    stop = free.text[3:6]
    stopped = replace(request, params=replace(request.params, stop=("never there", stop)))
    (response,) = model.generate([stopped])
    assert response.text == free.text[: free.text.index(stop)]
    assert response.finish_reason == "stop"
    assert response.usage.completion_tokens < free.usage.completion_tokens


def test_samples_differ_and_repeat(model):
    requests = [ask(max_new_tokens=12, temperature=1.0, sample=i) for i in range(4)]
    state = torch.random.get_rng_state()
    first = [r.text for r in model.generate(requests)]
    assert torch.equal(state, torch.random.get_rng_state())  # the caller's generator is left alone
    assert first == [r.text for r in model.generate(requests)]
    assert len(set(first)) == 4
    seeded = [replace(r, params=replace(r.params, seed=1)) for r in requests]
    assert first != [r.text for r in model.generate(seeded)]


def test_top_p_is_obeyed(model):
    request = ask(max_new_tokens=12, temperature=1.0, top_p=1e-6)
    (response,) = model.generate([request])
    assert response.text == model._tokenizer.decode(_loop(model, request, 12), skip_special_tokens=True)


def test_context_limits_generation(model):
    room = 256 - len(model._encoder.prompt(ask("x")))
    (short,) = model.generate([ask("x" + "z" * (room - 5), max_new_tokens=50)])
    assert short.error is None
    assert short.usage.completion_tokens <= 5
    (full,) = model.generate([ask("x" + "z" * room, max_new_tokens=50)])
    assert "no room for an answer" in full.error


def test_plans_cover_everything_once_and_respect_the_limit(model, monkeypatch):
    monkeypatch.setattr(model, "options", replace(model.options, batch_tokens=200))
    requests = [ask(text, max_new_tokens=20, temperature=t) for t in (0.0, 0.7) for text in PROMPTS]
    requests += [judge("Mabuti"), ask("\ud800")]
    planned = model.plan(requests)
    assert planned == model.plan(requests)
    assert sorted(i for batch in planned for i in batch) == list(range(len(requests)))
    for batch in planned:
        kinds = {(requests[i].kind, requests[i].params) for i in batch}
        assert len(kinds) == 1
        if len(batch) > 1:
            longest = max(len(model._encoder.prompt(requests[i])) for i in batch)
            assert (longest + 20) * len(batch) <= 200
    assert any(len(batch) > 1 for batch in planned)
    assert model.description["batching"]["batches"] == len(planned)


def test_without_padding_batches_hold_one_length():
    def jobs(lengths, temperatures):
        pairs = zip(lengths, temperatures, strict=True)
        return [generation.Job(ask(max_new_tokens=2, temperature=t), (1,) * length, 9) for length, t in pairs]

    planned = generation.batches(jobs([3, 5, 3, 5, 4], [0.0] * 5), batch_tokens=1000, padding=False)
    assert planned == [[1, 3], [4], [0, 2]]
    mixed = jobs([3, 5, 3], [0.0, 1.0, 0.0])
    assert generation.batches(mixed, batch_tokens=1, padding=True) == [[0], [2], [1]]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU is at hand: torch.cuda finds none")
@pytest.mark.parametrize(("dtype", "nats_a_token"), [("float32", 1e-3), ("bfloat16", 0.1)])
def test_answers_on_a_gpu_are_those_of_the_cpu(folder, dtype, nats_a_token):
    cpu, gpu = (load(str(folder), ModelOptions(device=d, dtype=t)) for d, t in (("cpu", "float32"), ("cuda", dtype)))
    requests = [judge("Mabuti", "Ewan ko", "Oo", text=f"Tanong {i}") for i in range(5)]
    for theirs, ours in zip(cpu.score(requests), gpu.score(requests), strict=True):
        for a, b in zip(theirs.logprobs, ours.logprobs, strict=True):
            assert b.logprob_sum == pytest.approx(a.logprob_sum, abs=nats_a_token * a.n_tokens)
    if dtype == "float32":
        asked = [ask(f"Tanong {i}", max_new_tokens=6) for i in range(5)]
        assert [r.text for r in gpu.generate(asked)] == [r.text for r in cpu.generate(asked)]


@pytest.mark.skipif(torch.cuda.is_available(), reason="a GPU is at hand: the benchmark would run")
def test_the_benchmark_on_a_gpu_says_when_there_is_none():
    script = Path(__file__).parents[2] / "benchmarks" / "gpu.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "torch finds no GPU here: nothing was measured.\n"
