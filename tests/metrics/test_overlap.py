"""Overlap metrics equal the libraries they come from, and work in every script."""

import importlib.metadata
import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from nltk.translate.meteor_score import single_meteor_score
from rapidfuzz.distance import LCSseq
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from kapwa.languages.words import spaced, words
from kapwa.metrics.base import load_metric
from kapwa.metrics.overlap import MeteorReference
from kapwa.metrics.tokens import tokenizer_for

NAMES = ("bleu", "chrf", "chrfpp", "rouge1", "rouge2", "rougeL", "rougeLsum", "meteor")
RELEASED = tuple(f"{name}_reference" for name in ("bleu", "meteor", "rouge1", "rouge2", "rougeL"))
# Few distinct words, so that random texts overlap.
FILIPINO = ("ang", "mga", "bata", "kumain", "ng", "sa bahay", "niño", "mag-aral")
WORD = st.sampled_from((*FILIPINO, "Running", "runs", "don't", "3", ".", ",", "\n"))
TEXT = st.lists(WORD, max_size=14).map(" ".join)
ASCII_TEXT = TEXT.map(lambda text: text.replace("ñ", "n"))
SENTENCES = {
    "amharic": ("አዲስ አበባ ትልቅ ከተማ ነው", "አዲስ አበባ ትልቅ መንደር ነው"),
    "arabic": ("أنا أحب شرب القهوة كل صباح", "أنا أحب شرب الشاي كل صباح"),
    "korean": ("나는 매일 아침 밥을 먹는다", "나는 매일 아침 빵을 먹는다"),
    "thai": ("ผมชอบกินข้าวผัดตอนเช้า", "ผมชอบกินก๋วยเตี๋ยวตอนเช้า"),
    "assamese": ("মই ৰাতিপুৱা ভাত খাওঁ আৰু যাওঁ", "মই ৰাতিপুৱা ৰুটি খাওঁ আৰু যাওঁ"),
    "burmese": ("ကျွန်တော် ထမင်း စားသည်", "ကျွန်တော် ခေါက်ဆွဲ စားသည်"),
    "chinese": ("我每天早上喜欢吃米饭。", "我每天早上喜欢吃面条。"),
}


def score(name: str, hypothesis: str, reference: str) -> float:
    return float(load_metric(name).score_pairs([hypothesis], [reference])[0])


def expected(value: float, hypothesis: str, reference: str) -> object:
    blank = not hypothesis.strip() or not reference.strip()
    return pytest.approx(0.0 if blank else min(value, 1.0), abs=1e-12)


@given(TEXT, TEXT)
def test_bleu_and_chrf_equal_sacrebleu(hypothesis: str, reference: str) -> None:
    refs = [reference]
    bleu = sacrebleu.sentence_bleu(hypothesis, refs, smooth_method="exp", use_effective_order=True).score / 100
    assert score("bleu", hypothesis, reference) == expected(bleu, hypothesis, reference)
    chrf = sacrebleu.sentence_chrf(hypothesis, refs, word_order=0).score / 100
    assert score("chrf", hypothesis, reference) == expected(chrf, hypothesis, reference)
    chrfpp = sacrebleu.sentence_chrf(hypothesis, refs, word_order=2).score / 100
    assert score("chrfpp", hypothesis, reference) == expected(chrfpp, hypothesis, reference)


def plain_bleu(hypothesis: str, reference: str) -> float:
    """BLEU of one pair as Hugging Face's ``evaluate`` computes it: four precisions, no smoothing, brevity penalty."""
    tokens, others = (Tokenizer13a()(text).split() for text in (hypothesis, reference))
    product = 1.0
    for order in range(1, 5):
        grams, known = (
            Counter(tuple(text[i : i + order]) for i in range(len(text) - order + 1)) for text in (tokens, others)
        )
        product *= (grams & known).total() / max(1, grams.total())
    brevity = min(1.0, math.exp(1 - len(others) / len(tokens))) if tokens else 0.0
    return brevity * product**0.25


@given(TEXT, TEXT)
def test_released_bleu_is_unsmoothed(hypothesis: str, reference: str) -> None:
    assert score("bleu_reference", hypothesis, reference) == expected(
        plain_bleu(hypothesis, reference), hypothesis, reference
    )


def test_released_bleu_is_nothing_without_a_shared_four_gram() -> None:
    pair = ("Kumain na sila sa bahay nila", "Kumain na sila roon sa bahay")
    assert score("bleu", *pair) > 0.3
    assert score("bleu_reference", *pair) == 0


@given(TEXT, TEXT)
def test_released_meteor_is_nltks_on_its_own_tokens(hypothesis: str, reference: str) -> None:
    tokens = tokenizer_for("en")
    nothing = SimpleNamespace(synsets=lambda word: [])
    wanted = single_meteor_score(tokens(reference), tokens(hypothesis), stemmer=PorterStemmer(), wordnet=nothing)
    metric = MeteorReference()
    metric._wordnet = None  # as where WordNet is not installed
    assert float(metric.score_pairs([hypothesis], [reference])[0]) == expected(wanted, hypothesis, reference)
    assert "wordnet" not in metric.signature


@given(ASCII_TEXT, ASCII_TEXT)
def test_rouge_equals_rouge_score_on_ascii(hypothesis: str, reference: str) -> None:
    kinds = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    wanted = RougeScorer(kinds).score(reference, hypothesis)
    for kind in kinds:
        assert score(kind, hypothesis, reference) == expected(wanted[kind].fmeasure, hypothesis, reference)


@given(TEXT, TEXT)
def test_the_reference_twin_is_rouge_lsum_as_the_library_has_it(hypothesis: str, reference: str) -> None:
    wanted = RougeScorer(["rougeLsum"]).score(reference, hypothesis)["rougeLsum"].fmeasure
    assert score("rougeL_reference", hypothesis, reference) == expected(wanted, hypothesis, reference)


@given(TEXT, TEXT)
def test_rouge_l_equals_its_definition(hypothesis: str, reference: str) -> None:
    h, r = words(hypothesis), words(reference)
    common = LCSseq.similarity(h, r)
    wanted = 2 * common / (len(h) + len(r)) if common else 0.0
    assert score("rougeL", hypothesis, reference) == pytest.approx(wanted, abs=1e-12)


@given(TEXT, TEXT)
def test_meteor_equals_nltk_without_synonyms(hypothesis: str, reference: str) -> None:
    h, r = words(hypothesis), words(reference)
    nothing = SimpleNamespace(synsets=lambda word: [])
    wanted = single_meteor_score(r, h, stemmer=PorterStemmer(), wordnet=nothing) if h and r else 0.0
    assert score("meteor", hypothesis, reference) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize(("hypothesis", "reference"), SENTENCES.values(), ids=SENTENCES)
@pytest.mark.parametrize("name", NAMES)
def test_every_script_is_seen(name: str, hypothesis: str, reference: str) -> None:
    near, far = (score(name, hypothesis, other) for other in (reference, "Kumain na sila roon."))
    assert 0.1 < near < 1
    assert far == 0


def test_bleu_cuts_unspaced_scripts_before_sacrebleu() -> None:
    hypothesis, reference = SENTENCES["thai"]
    plain = sacrebleu.sentence_bleu(hypothesis, [reference], use_effective_order=True).score
    cut = sacrebleu.sentence_bleu(spaced(hypothesis), [spaced(reference)], use_effective_order=True).score
    assert plain == 0
    assert score("bleu", hypothesis, reference) == pytest.approx(cut / 100)


@pytest.mark.parametrize("name", [*NAMES, *RELEASED])
@given(hypothesis=st.text(max_size=40), reference=st.text(max_size=40))
def test_any_text_scores_between_0_and_1(name: str, hypothesis: str, reference: str) -> None:
    value = score(name, hypothesis, reference)
    assert 0 <= value <= 1
    if not hypothesis.strip() or not reference.strip():
        assert value == 0


@pytest.mark.parametrize("name", [name for name in (*NAMES, *RELEASED) if name != "bleu_reference"])
def test_pairs_are_scored_in_order_and_must_match_in_number(name: str) -> None:
    metric = load_metric(name)
    values = metric.score_pairs(["ang bata po", "", "ang bata po"], ["ang bata po", "ang bata", "iba nga naman"])
    assert values.shape == (3,)
    assert values.dtype == np.float64
    assert values[0] > 0.9
    assert values[1] == 0
    assert values[2] < 0.3
    assert metric.score_pairs([], []).shape == (0,)
    with pytest.raises(ValueError, match=r"shorter|longer"):
        metric.score_pairs(["a"], [])


@pytest.mark.parametrize("name", [*NAMES, *RELEASED])
def test_signatures_name_versions_and_differ(name: str) -> None:
    metric = load_metric(name)
    assert metric.name == name
    assert metric.signature.startswith(f"{name}|")
    libraries = {"bleu": "sacrebleu", "chrf": "sacrebleu", "rouge": "rouge-score", "meteor": "nltk"}
    of_library = [library for begin, library in libraries.items() if name.startswith(begin)]
    assert all(importlib.metadata.version(library) in metric.signature for library in of_library)
    assert of_library or "version:" in metric.signature  # a metric without a library has a version of its own
    assert len({load_metric(other).signature for other in NAMES}) == len(NAMES)
