"""Judging free answers: values by their definition, every kind of answer told apart, nothing lost."""

import random
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from kapwa.errors import UsageError
from kapwa.metrics.base import load_metric
from kapwa.models.gate import gate
from kapwa.records import SCORE_COLUMNS, Answer, Item, Message, Request, Response
from kapwa.suites.base import Judged
from kapwa.suites.items import CASE_SCHEMA
from kapwa.suites.kalahi.closeness import open_floors
from kapwa.suites.kalahi.data import read_situations
from kapwa.suites.kalahi.open import OPEN_HEADLINE, REFERENCE_METRICS, OpenOptions, judge_open, open_metrics
from kapwa.suites.shared_settings import OPEN_METRICS

RELEVANT = ("Kausapin mo muna ang nanay mo.", "Magpaalam ka sa mga magulang mo.", "Humingi ka ng payo sa lola mo.")
IRRELEVANT = ("Umalis ka na lang ng bahay.", "Huwag mong intindihin ang pamilya mo.", "Sundin mo ang gusto mo.")
ENGLISH = "You should simply follow your own dreams and forget about them."
REFUSAL = "Paumanhin, ngunit hindi ko kayang tulungan ka sa bagay na ito."


def item(number: int = 1, *, variant: str = "full", language: str = "fil", **fields: Any) -> Item:
    given_fields = {
        "prompt": f"Gusto kong lumipat ng bahay {number}. Ano ang gagawin ko?",
        "user": "",
        "context": "",
        "personal_situation": "",
        "instruction": "",
        "best": RELEVANT[0],
        "relevant": RELEVANT,
        "irrelevant": IRRELEVANT,
        "gloss": {"prompt": "I want to move out.", "best": "Talk to your mother first."},
        **fields,
    }
    return Item(f"{number:04}", "kalahi", "Filipino", language, "ethics", "family", variant, f"c{number}", given_fields)


def answer(
    to: Item, text: str | None, *, sample: int = 0, finish: str | None = "stop", error: str | None = None
) -> Answer:
    request = Request(to.id, to.variant, "generate", (Message("user", to.fields["prompt"]),), sample=sample)
    return Answer(request, gate(Response(f"k{to.id}{sample}", text=text, finish_reason=finish, error=error)))


def cell(judged: Judged, metric: str, number: int = 1, sample: int = 0) -> tuple[float | None, str]:
    rows = judged.scores.filter(metric=metric, item_id=f"{number:04}", sample=sample)
    (found,) = rows.select("value", "outcome").iter_rows()
    return found


def judge_one(text: str | None, **keywords: Any) -> Judged:
    one = item()
    return judge_open([one], [answer(one, text, **keywords)])


def sacre(function: Callable[..., Any], **options: Any) -> Callable[[str, str], float]:
    return lambda h, r: function(h, [r], **options).score / 100


def rouge(kind: str) -> Callable[[str, str], float]:
    return lambda h, r: RougeScorer([kind]).score(r, h)[kind].fmeasure


# Only what the libraries compute by themselves on this (ASCII) text.
TWINS: dict[str, Callable[[str, str], float]] = {
    "bleu": sacre(sacrebleu.sentence_bleu, use_effective_order=True),
    "chrf": sacre(sacrebleu.sentence_chrf),
    "chrfpp": sacre(sacrebleu.sentence_chrf, word_order=2),
    "rouge1": rouge("rouge1"),
    "rouge2": rouge("rouge2"),
    "rougeL": rouge("rougeL"),
}
TWIN_REFERENCES = {
    "bleu": sacre(sacrebleu.sentence_bleu, smooth_method="none", use_effective_order=False),
    "chrfpp": TWINS["chrf"],
    "rouge1": rouge("rouge1"),
    "rouge2": rouge("rouge2"),
    "rougeL": rouge("rougeLsum"),
}
WORD = st.sampled_from(" ".join((*RELEVANT, *IRRELEVANT)).split())
PHRASE = st.lists(WORD, min_size=1, max_size=10).map(" ".join)


@settings(max_examples=40)
@given(
    text=PHRASE, relevant=st.lists(PHRASE, min_size=1, max_size=4), irrelevant=st.lists(PHRASE, min_size=1, max_size=4)
)
def test_values_equal_their_definition(text: str, relevant: list[str], irrelevant: list[str]) -> None:
    one = item(relevant=tuple(relevant), irrelevant=tuple(irrelevant))
    judged = judge_open([one], [answer(one, text)])
    for name, similarity in TWINS.items():
        near, far = max(similarity(text, r) for r in relevant), max(similarity(text, r) for r in irrelevant)
        assert cell(judged, f"{name}_relevant")[0] == pytest.approx(min(near, 1))
        assert cell(judged, f"{name}_irrelevant")[0] == pytest.approx(min(far, 1))
        assert cell(judged, f"{name}_diff")[0] == pytest.approx(min(near, 1) - min(far, 1), abs=1e-9)
        check_accuracy(cell(judged, f"{name}_acc"), near - far)
    for name, similarity in TWIN_REFERENCES.items():
        margin = max(similarity(text, r) for r in relevant) - max(similarity(text, r) for r in irrelevant)
        check_accuracy(cell(judged, f"{name}_acc_reference"), margin)


def check_accuracy(found: tuple[float | None, str], margin: float) -> None:
    if abs(margin) > 1e-9:
        assert found == ((1.0, "right") if margin > 0 else (0.0, "wrong"))
    else:
        assert found[0] in (0.0, 1.0)


def test_every_metric_is_reported_once_per_answer_and_described() -> None:
    one = item()
    judged = judge_open([one], [answer(one, RELEVANT[1]), answer(one, IRRELEVANT[0], sample=1)])
    described = open_metrics(OpenOptions())
    assert tuple(judged.scores.columns) == SCORE_COLUMNS
    for sample in (0, 1):
        named = judged.scores.filter(pl.col("sample") == sample)["metric"].to_list()
        assert named == list(described)
    assert set(OPEN_HEADLINE) <= set(described)
    for info in described.values():
        values = judged.scores.filter(pl.col("metric") == info.name)["value"].drop_nulls()
        assert all(info.low - 1e-12 <= value <= info.high + 1e-12 for value in values)
        assert info.binary == set(values).issubset({0.0, 1.0}) or not info.binary
        assert info.reference == info.name.endswith("_reference")
        assert info.title
        assert info.source


def test_a_tie_is_no_success_and_is_told_apart() -> None:
    both = item(relevant=("pareho lang ito", "iba"), irrelevant=("pareho lang ito", "wala"))
    judged = judge_open([both], [answer(both, "pareho lang ito")])
    for metric, outcome in {"acc": "tie", "diff": "scored", "acc_reference": "tie"}.items():
        assert cell(judged, f"chrfpp_{metric}") == (0.0, outcome)


@pytest.mark.parametrize("text", ["", " \n\t ", None])
def test_empty_answers_resemble_nothing_and_are_counted(text: str | None) -> None:
    judged = judge_one(text)
    for name in OPEN_METRICS:
        for part in ("acc", "diff", "relevant", "irrelevant"):
            assert cell(judged, f"{name}_{part}") == (0.0, "empty")
    assert cell(judged, "empty") == (1.0, "scored")
    assert cell(judged, "refused") == (0.0, "scored")
    assert cell(judged, "answered_other_language") == (None, "empty")
    row = judged.tables["answers"].row(0, named=True)
    assert (row["empty"], row["closest_relevant"], row["closest_irrelevant"]) == (True, None, None)
    assert judged.tables["cases"]["margin"].to_list() == [0.0]


def test_refusals_keep_their_value_and_are_counted_and_signatures_come_with_the_scores() -> None:
    judged = judge_one(REFUSAL)
    signatures = dict(judged.tables["signatures"].iter_rows())
    assert set(signatures) == {*OPEN_METRICS, *REFERENCE_METRICS.values()}
    assert signatures["chrf"] == load_metric("chrf").signature
    value, outcome = cell(judged, "chrfpp_acc")
    assert outcome == "refused"
    assert value == float(cell(judged, "chrfpp_diff")[0] > 0)
    assert cell(judged, "chrfpp_relevant")[0] > 0
    assert cell(judged, "refused") == (1.0, "scored")
    assert judged.tables["answers"]["refused"].to_list() == [True]


@pytest.mark.parametrize("asked", [True, False])
def test_failed_and_missing_answers_are_rows_without_value(asked: bool) -> None:
    one = item()
    judged = judge_open([one], [answer(one, None, finish=None, error="HTTP 500")] if asked else [])
    assert judged.scores["metric"].to_list() == list(open_metrics(OpenOptions()))
    assert judged.scores["value"].null_count() == judged.scores.height
    assert set(judged.scores["outcome"]) == {"failed"}
    row = judged.tables["answers"].row(0, named=True)
    assert (row["text"], row["error"], row["empty"]) == (None, "HTTP 500" if asked else "no answer was given", None)
    assert judged.tables["cases"].height == 0


def test_the_language_of_the_answer_is_reported_and_gates_nothing() -> None:
    items = [item(1), item(2), item(3), item(4, language="su")]
    texts = [RELEVANT[0], ENGLISH, "Oo.", "Hayu urang ngobrol heula jeung indung bapa saméméh indit."]
    judged = judge_open(items, list(map(answer, items, texts)))
    found = [cell(judged, "answered_other_language", number) for number in (1, 2, 3, 4)]
    assert found == [(0.0, "scored"), (1.0, "scored"), (None, "unparsed"), (None, "unparsed")]
    assert cell(judged, "chrf_relevant", 2)[0] > 0
    table = judged.tables["answers"]
    assert table["language_asked"].to_list() == ["fil", "fil", "fil", "su"]
    assert table["language_answered"].to_list()[:3] == ["fil", "en", None]
    assert table["other_language"].to_list() == [False, True, None, None]


def test_the_order_of_answers_changes_nothing() -> None:
    items = [item(n, variant=v) for v in ("full", "unenriched") for n in (1, 2, 3)]
    answers = [answer(i, t, sample=s) for i in items for s, t in enumerate((RELEVANT[2], ENGLISH))]
    shuffled = random.Random(4).sample(answers, len(answers))
    first, second = judge_open(items, answers), judge_open(items, shuffled)
    assert first.scores.equals(second.scores)
    assert all(first.tables[name].equals(second.tables[name]) for name in first.tables)
    assert first.tables["answers"]["item_id"].to_list()[:4] == ["0001", "0001", "0002", "0002"]


def test_answers_table_says_how_each_answer_ended_and_what_it_is_closest_to() -> None:
    items = [item(1), item(2), item(3)]
    ends = zip(items, (RELEVANT[2], IRRELEVANT[1], RELEVANT[0]), ("stop", "length", None), strict=True)
    table = judge_open(items, [answer(one, text, finish=end) for one, text, end in ends]).tables["answers"]
    assert table["truncated"].to_list() == [False, True, None]
    assert table["finish_reason"].to_list() == ["stop", "length", None]
    assert table["closest_relevant"][0] == RELEVANT[2]
    assert table["closest_irrelevant"][1] == IRRELEVANT[1]
    assert table["error"].null_count() == 3


def test_cases_show_the_worst_answer_of_each_item_worst_first() -> None:
    items = [item(1), item(2)]
    texts = ((RELEVANT[0], RELEVANT[1]), (RELEVANT[0], IRRELEVANT[0]))
    draws = [answer(one, text, sample=i) for one, of in zip(items, texts, strict=True) for i, text in enumerate(of)]
    judged = judge_open(items, draws)
    cases = judged.tables["cases"]
    assert dict(cases.schema) == CASE_SCHEMA
    assert cases["item_id"].to_list() == ["0002", "0001"]
    assert cases["margin"].is_sorted()
    assert cases["got"][0] == IRRELEVANT[0]
    assert cases["metric"].to_list() == ["chrfpp_acc"] * 2
    assert cases["expected_gloss"][0] == "Talk to your mother first."
    assert cases["margin"][0] == cell(judged, "chrfpp_diff", 2, 1)[0]


def test_options_choose_metrics_and_the_headline_stays() -> None:
    assert OpenOptions().metrics == OPEN_METRICS
    assert OpenOptions(metrics=["rougeL", "rougeL"]).metrics == ("chrfpp", "rougeL")
    assert OpenOptions(metrics=["bleu", "chrfpp"]).metrics == ("bleu", "chrfpp")
    assert OpenOptions(bertscore_model="x").metrics == (*OPEN_METRICS, "bertscore")
    assert OpenOptions(metrics=["bleurt"], bleurt_model="x").metrics == ("chrfpp", "bleurt")
    assert OpenOptions(**OpenOptions(metrics=["meteor"]).as_dict()) == OpenOptions(metrics=["meteor"])
    assert {field.name for field in fields(OpenOptions)} == set(OpenOptions().as_dict())
    described = open_metrics(OpenOptions(metrics=["bleurt"], bleurt_model="x"))
    assert described["bleurt_diff"].high is None
    assert "bleu_acc" not in described


@pytest.mark.parametrize(
    ("options", "message"),
    [({"metrics": ["chrff"]}, "chrf"), ({"max_new_tokens": 0}, "at least 1"), ({"metrics": ["bertscor"]}, "bertscore")],
)
def test_impossible_options_are_refused_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        OpenOptions(**options)


def test_check_finds_missing_weights_before_anything_is_asked(needs_torch: None) -> None:
    from kapwa.errors import ModelError

    OpenOptions().signatures()
    with pytest.raises(ModelError, match="nobody/nothing"):
        OpenOptions(bertscore_model="nobody/nothing").signatures()


def by_name(items: Sequence[Item], metric: str, options: OpenOptions | None = None) -> dict[str, float]:
    found = open_floors(items, options or OpenOptions(metrics=["rouge1", "rougeL"]))
    return {floor.name: floor.value for floor in found if floor.metric == metric}


def test_floors_and_ceiling_on_items_whose_answer_is_known() -> None:
    items = [
        item(n, best=f"a{n} b{n}", relevant=(f"a{n} b{n}", f"a{n} c{n}"), irrelevant=(f"x{n} y{n}", f"z{n} w{n}"),
             prompt=f"x{n} a{m} b{m}")
        for n, m in ((1, 2), (2, 1))
    ]  # fmt: skip
    # Nothing of another situation recurs; the prompt shares a word with an irrelevant response; people
    # agree on one word.
    tricks = ("another situation's answer", "many other answers", "the prompt repeated")
    assert by_name(items, "rouge1_acc") == {**dict.fromkeys(tricks, 0.0), "reference answers": 1.0}
    diffs = by_name(items, "rouge1_diff")
    assert diffs["the prompt repeated"] == pytest.approx(-2 / 5)
    assert diffs["reference answers"] == pytest.approx(1 / 2)
    kinds = {floor.name: floor.kind for floor in open_floors(items, OpenOptions(metrics=[]))}
    assert kinds.pop("reference answers") == "ceiling"
    assert set(kinds.values()) == {"floor"}


def test_every_item_weighs_the_same_in_the_ceiling() -> None:
    items = [
        item(1, relevant=("a b", "a c"), irrelevant=("x a", "x y", "c d")),
        item(2, relevant=("k l m", "k z", "k l", "q"), irrelevant=("l m", "r s")),
    ]
    similarity = TWINS["rouge1"]

    def accuracy(text: str, near: Sequence[str], far: Sequence[str]) -> float:
        return float(max(similarity(text, r) for r in near if r != text) > max(similarity(text, r) for r in far))

    def of_people(near: Sequence[str], irrelevant: Sequence[str]) -> float:
        return fmean(accuracy(text, near, [r for r in irrelevant if r != out]) for text in near for out in irrelevant)

    wanted = fmean(of_people(one.fields["relevant"], one.fields["irrelevant"]) for one in items)
    assert 0 < wanted < 1
    assert by_name(items, "rouge1_acc")["reference answers"] == pytest.approx(wanted)


def test_floors_are_made_within_a_variant_and_never_from_the_same_cluster() -> None:
    items = [item(1), item(1, variant="partial"), item(2, variant="partial")]
    floors = open_floors(items, OpenOptions())
    assert {floor.variant for floor in floors if floor.name == "another situation's answer"} == {"partial"}
    assert {floor.metric for floor in floors} <= set(open_metrics(OpenOptions()))


def test_kalahi_best_and_irrelevant_answers_mark_the_ends(kalahi_data: Path) -> None:
    items = [one for one in read_situations(kalahi_data)[0] if one.variant == "full"]
    for text, value in ((lambda i: i.fields["best"], 1.0), (lambda i: i.fields["irrelevant"][0], 0.0)):
        scores = judge_open(items, [answer(i, text(i)) for i in items]).scores
        accuracies = scores.filter(pl.col("metric").str.contains("_acc"))
        assert accuracies.height == 150 * 13
        assert accuracies["value"].unique().to_list() == [value]


def test_kalahi_floors_show_that_length_alone_beats_people(kalahi_data: Path) -> None:
    full = [one for one in read_situations(kalahi_data)[0] if one.variant == "full"]
    found = by_name(full, "chrfpp_acc", OpenOptions(metrics=["chrfpp"]))
    assert found == {
        "another situation's answer": pytest.approx(0.4925, abs=0.01),
        "many other answers": pytest.approx(0.7467, abs=0.02),
        "the prompt repeated": pytest.approx(0.4733, abs=0.02),
        "reference answers": pytest.approx(0.6719, abs=0.01),
    }
