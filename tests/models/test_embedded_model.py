"""The embedded model against the definition, on real text: released Kalahi data and five scripts."""

import json
import math

import pytest
from released_sums import RECORD, plain_arguments, plain_sum, released, scoring_request, sources

import kapwa
from kapwa.errors import ModelError
from kapwa.models import embedded
from kapwa.models.base import ModelOptions
from kapwa.runs.preview import count_tokens, preview

torch = pytest.importorskip("torch", reason="the local backend needs torch: pip install 'kapwa[local]'")

# Questions and answers in five scripts, with joins at spaces, inside words, and at combining marks.
TEXTS = {
    "Filipino": ("Kumusta po kayo?", ("Mabuti naman po.", " Mabuti", "ng maaga", "ñ", "\nMabuti")),
    "Thai": ("สบายดีไหม", ("สบายดีค่ะ", "ครับ", "\u0e49", "ำ")),
    "Burmese": ("နေကောင်းလား", ("ကောင်းပါတယ်", "\u103a", "း ဟုတ်ကဲ့")),
    "Chinese": ("你好吗？", ("我很好，谢谢。", "吗", "，谢谢")),
    "Amharic": ("እንዴት ነህ?", ("ደህና ነኝ።", "ነኝ", "፡፡")),
}


@pytest.mark.slow
def test_it_is_asked_with_a_tree_and_stops_where_its_template_does(smollm2):
    assert smollm2.id == "smollm2"
    assert smollm2.fingerprint["scoring"] == "tree"
    assert smollm2.description["stop_tokens"] == ["<|im_end|>"]


def test_when_it_is_not_fetched_the_command_is_named(monkeypatch):
    monkeypatch.setattr(embedded, "weights_file", lambda: None)
    with pytest.raises(ModelError, match="kapwa fetch smollm2"):
        embedded.load("", ModelOptions())
    with pytest.raises(ModelError, match="no variant 'large'"):
        embedded.load("large", ModelOptions())


# After the plain template, too, where tokens merge and where marks combine.
@pytest.mark.parametrize(
    ("language", "template"),
    [*((language, "chat") for language in sorted(TEXTS)), ("Filipino", "plain"), ("Thai", "plain")],
)
def test_boundaries_in_five_scripts(small, language, template, monkeypatch):
    from kapwa.models.encoding import Encoder
    from kapwa.models.templates import choose

    tokenizer = small._tokenizer
    monkeypatch.setattr(small, "_encoder", Encoder(tokenizer, choose(tokenizer, template, {})))
    prompt, continuations = TEXTS[language]
    request = scoring_request(prompt, continuations)
    (response,) = small.score([request])
    assert response.error is None
    rendered = small._encoder.template.prompt(request.messages)
    alone = tokenizer(rendered, add_special_tokens=False).input_ids
    for text, score in zip(continuations, response.logprobs, strict=True):
        joint = tokenizer(rendered + text, add_special_tokens=False).input_ids
        shared = next((i for i, (a, b) in enumerate(zip(alone, joint, strict=False)) if a != b), len(alone))
        assert math.isfinite(score.logprob_sum)
        assert math.isfinite(score.logprob_sum_reference)
        assert score.boundary == ("merged" if shared < len(alone) else "clean")
        assert score.logprob_sum == pytest.approx(plain_sum(small, joint, shared), abs=2e-3)
        assert score.n_tokens == len(joint) - shared


def test_tokens_are_counted_by_the_tokenizer_at_hand_else_by_characters(small):
    requests = preview(kapwa.load_task("kalahi/mc", data="sample:filipino", limit=3)).distinct
    by_characters = count_tokens(requests, "openai", "x", ModelOptions())
    longest = [sum(len(m.content) for m in r.messages) * len(r.continuations) for r in requests]
    assert by_characters.read >= sum(longest) / 4  # a served model is sent the prompt with each continuation
    assert by_characters.written == 0
    assert "characters" in by_characters.how
    own = count_tokens(requests, "smollm2", "", ModelOptions())
    encoded = [small._encoder.request(request) for request in requests]
    assert own.read == sum(e.prompt_tokens + sum(len(p.tokens) - p.start for p in e.paths) for e in encoded)
    assert own.how == "by the model's own tokenizer"


# One in so many requests is asked of the model and held against the record of the plain loop over all of them; one in
# so many of their continuations goes through that loop again.
ASKED, EACH = 40, 8


@pytest.mark.slow
def test_reference_sums_are_those_of_a_plain_loop_on_released_continuations(smollm2, kalahi_data):
    """The full file's 948 continuations, a final full stop added where it is missing, as released."""
    data, record = kalahi_data / "filipino.csv", json.loads(RECORD.read_text(encoding="utf-8"))
    assert sources(smollm2, data).items() <= record.items(), "record the sums of these weights and data anew"
    every = list(released(data))
    assert sum(len(request.continuations) for request in every) == len(record["sums"]) == 948
    sums = iter(record["sums"])
    expected = [[next(sums) for _ in request.continuations] for request in every][::ASKED]
    found = [
        (request, text, score.logprob_sum_reference, recorded)
        for request, response, own in zip(every[::ASKED], smollm2.score(every[::ASKED]), expected, strict=True)
        for text, score, recorded in zip(request.continuations, response.logprobs, own, strict=True)
    ]
    assert len(found) > 20
    for i, (request, text, ours, recorded) in enumerate(found):
        assert ours == pytest.approx(recorded, abs=2e-3), (i, text)
        if i % EACH == 0:
            again = plain_sum(smollm2, *plain_arguments(smollm2, request, text))
            assert ours == pytest.approx(again, abs=2e-3), (i, text)
            assert again == pytest.approx(recorded, abs=2e-3), (i, text)
