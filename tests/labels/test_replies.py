"""What a judge's reply says: JSON by the rubric's words, or a state; nothing is guessed from prose."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kapwa.labels.judges.prompts import Change, JudgeReading, ToJudge, prompt_of, read_reply
from kapwa.labels.rubrics import CANNOT, Criterion, Rubric, load_rubric, overall
from kapwa.records import Item

ITEM = Item("i1", "blend", "South_Korea", "ko", "Food", "Food", "v", "c1", {"prompt": "무엇?", "gloss": "What?"})
LONG = "Kimchi is eaten with ```a fork``` every day."
JUDGED = ToJudge({}, ITEM, LONG)


def made(**fields) -> Rubric:
    plain = {"code": "a", "name": "A", "question": {"en": "A?", "ko": "가?"}}
    criteria = fields.pop("criteria", [plain])
    about = {"name": "r", "version": "1", "title": "R", "instruction": {"en": "Judge."}}
    return Rubric.model_validate({**about, "criteria": criteria, **fields})


TWO = made(criteria=[{"code": code, "name": code, "question": {"en": "?"}} for code in "ab"])


def test_words_that_are_numbers_keep_their_sign() -> None:
    signed = made(scale={"-1": 0.0, "0": 0.5, "1": 1.0})
    for word, value in signed.scale.items():
        for reply in (json.dumps({"a": word}), json.dumps({"a": int(word)})):
            assert read_reply(signed, JUDGED, reply)["a"].value == value


@pytest.mark.parametrize("scale", [{"A": 1.0, "a": 0.0}, {"not-bad": 1.0, "not bad": 0.0}])
def test_words_that_are_the_same_but_for_case_and_hyphens_are_refused(scale: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="the same but for case and hyphens"):
        made(scale=scale)


@pytest.mark.parametrize(
    ("reply", "a", "b"),
    [
        ('{"a": "yes", "b": "no"}', 1.0, 0.0),
        ('```json\n{"a": "Yes", "b": " NO "}\n```', 1.0, 0.0),
        ('It names a dish.\n{"a": true, "b": false} I hope this helps.', 1.0, 0.0),
        ('{"a": "yes"} and then {"b": "no"}', 1.0, 0.0),
        ('{"a": "yes", "b": "no"} so: {"a": "yes", "b": "no"}', 1.0, 0.0),
        ('{"a": "yes", "b": "no"} or rather {"a": "no", "b": "no"}', "unparsed", 0.0),
        ('{"a": "yes", "a": "no", "b": "no"}', "unparsed", "unparsed"),
        ('{"a": "cannot assess", "b": "cannot-assess"}', "cannot-assess", "cannot-assess"),
        ('{"a": "yes"}', 1.0, "unparsed"),
        ('{"a": "perhaps", "b": null}', "unparsed", "unparsed"),
        ('{"a": ["yes"], "b": {"yes": 1}}', "unparsed", "unparsed"),
        ('{"verdict": {"a": "yes", "b": "no"}}', "unparsed", "unparsed"),
        ('{"a": "yes", "b": "n', "unparsed", "unparsed"),
        ("Yes, it is right, and no, it is not rude.", "unparsed", "unparsed"),
        ("yes", "unparsed", "unparsed"),
        ("", "unparsed", "unparsed"),
        ('{"a": "…", "b": "…"}', "unparsed", "unparsed"),
        ("{" * 5000, "unparsed", "unparsed"),
        ('{"a":' * 5000, "unparsed", "unparsed"),
    ],
)
def test_a_reply_is_read_or_is_unparsed(reply: str, a: object, b: object) -> None:
    readings = read_reply(TWO, JUDGED, reply)
    assert [r.state if r.value is None else r.value for r in readings.values()] == [a, b]
    for reading in readings.values():
        assert (reading.value is None) == (reading.state != "judged")
        if reading.state == "unparsed":
            assert reading.remark == (reply.strip()[:500] or "(an empty reply)")


@given(st.text(max_size=80))
def test_text_without_an_object_is_never_a_verdict(text: str) -> None:
    if "{" not in text:
        assert {reading.state for reading in read_reply(TWO, JUDGED, text).values()} == {"unparsed"}


@given(
    st.dictionaries(st.sampled_from("ab"), st.sampled_from(["yes", "no", CANNOT, "x"])), st.text("ab \n`", max_size=9)
)
def test_what_is_said_in_json_is_read_back(said: dict[str, str], around: str) -> None:
    readings = read_reply(TWO, JUDGED, f"{around}{json.dumps(said)}{around}")
    known = {"yes": 1.0, "no": 0.0, CANNOT: "cannot-assess"}
    for code, reading in readings.items():
        assert (reading.state if reading.value is None else reading.value) == known.get(said.get(code, ""), "unparsed")


def test_graded_words_have_their_values() -> None:
    rubric = made(scale={"very good": 1.0, "so-so": 0.5, "bad": 0.0})
    for word, value in (("Very Good", 1.0), ("so-so", 0.5), ("so so", 0.5), ("bad", 0.0), ("0.5", None)):
        assert read_reply(rubric, JUDGED, json.dumps({"a": word}))["a"].value == value


def test_a_pair_shown_the_other_way_round_is_turned_back() -> None:
    rubric = load_rubric("pairwise")
    for word, plain, turned in (("1", 1.0, 0.0), ("2", 0.0, 1.0), ("tie", 0.5, 0.5), ("both bad", 0.5, 0.5)):
        reply = json.dumps({"better": word})
        assert read_reply(rubric, JUDGED, reply)["better"].value == plain
        assert read_reply(rubric, JUDGED, reply, swapped=True)["better"].value == turned
    assert read_reply(rubric, JUDGED, '{"better": 2}')["better"].value == 0.0


SPANS = made(
    kind="spans",
    scale={"minor": 0.5, "major": 1.0},
    criteria=[{"code": code, "name": code, "question": {"en": "?"}} for code in ("fact", "style")],
)
SPAN = {"text": "with ```a fork```", "category": "fact", "criticality": "minor", "correction": "with chopsticks"}


def test_spans_are_read_with_category_criticality_and_correction() -> None:
    second = {**SPAN, "text": "every day", "criticality": "major"}
    readings = read_reply(SPANS, JUDGED, json.dumps({"spans": [SPAN, second]}))
    assert readings["fact"].value == 1.0
    assert json.loads(readings["fact"].remark) == [{**SPAN, "validator": ""}, {**second, "validator": ""}]
    assert readings["style"] == JudgeReading("judged", 0.0, "")
    assert {r.value for r in read_reply(SPANS, JUDGED, '{"spans": []}').values()} == {0.0}
    assert {r.state for r in read_reply(SPANS, JUDGED, '{"spans": "cannot assess"}').values()} == {"cannot-assess"}


@pytest.mark.parametrize(
    "changed",
    [{"text": "with a spoon"}, {"text": ""}, {"category": "other"}, {"criticality": "huge"}, {"correction": None}],
)
def test_spans_that_are_not_in_the_answer_or_the_rubric_are_unparsed(changed: dict[str, object]) -> None:
    reply = json.dumps({"spans": [SPAN, {**SPAN, **changed}]})
    assert {reading.state for reading in read_reply(SPANS, JUDGED, reply).values()} == {"unparsed"}
    assert {reading.state for reading in read_reply(SPANS, JUDGED, '{"spans": 3}').values()} == {"unparsed"}


def test_a_prompt_speaks_the_language_of_the_item_with_the_english_beside() -> None:
    text = prompt_of(made(), JUDGED, Change())
    assert "a: 가?\n(In English: A?)" in text
    assert "무엇?" in text
    assert "What?" in text
    english = prompt_of(made(), JUDGED, Change(english=True))
    assert "가?" not in english
    assert "무엇?" not in english
    assert "What?" in english


def test_no_answer_ends_its_own_quotation() -> None:
    lines = prompt_of(made(), JUDGED, Change()).split("\n")
    at = lines.index(LONG)
    assert lines[at - 1] == lines[at + 1] == "````"


def test_only_the_first_of_a_pair_is_changed_wherever_it_stands() -> None:
    pair = JUDGED._replace(text="first", other="second")
    for swapped, number in ((False, 1), (True, 2)):
        text = prompt_of(load_rubric("pairwise"), pair, Change(swapped=swapped, padded=True, author="stub"))
        assert f"Answer {number}, written by stub:\n```\nfirst\n\n질문에" in text
        assert f"Answer {3 - number}:\n```\nsecond\n```" in text


weights = st.lists(st.tuples(st.integers(-4, 4), st.sampled_from([0.0, 0.25, 1.0])), min_size=1, max_size=5)


@given(weights)
def test_the_overall_verdict_runs_from_the_worst_to_the_best(drawn: list[tuple[int, float]]) -> None:
    weights = {f"c{n}": float(weight) for n, (weight, _) in enumerate(drawn)}
    judged = {f"c{n}": JudgeReading("judged", value, "") for n, (_, value) in enumerate(drawn)}
    total = sum(abs(weight) for weight, _ in drawn)
    _, value, _ = overall(weights, judged)
    if total:
        # Twin: the mean by |weight|, in which what should not be there counts as its opposite.
        mean = sum(abs(w) * (v if w > 0 else 1 - v) for w, v in drawn) / total
        assert value == pytest.approx(mean)
        assert 0 <= value <= 1
    else:
        assert value is None
    # Twin of the points: what is gained of what can be gained, as HealthBench counts it, kept from 0 to 1.
    most = sum(w for w, _ in drawn if w > 0)
    _, share, _ = overall(weights, judged, points=True)
    assert share == (pytest.approx(min(max(sum(w * v for w, v in drawn) / most, 0), 1)) if most else None)
    for state in ("unparsed", "cannot-assess"):
        assert overall(weights, {**judged, "c0": JudgeReading(state, None, "")})[:2] == (state, None)


def test_criteria_of_an_item_come_after_those_of_all() -> None:
    own = Criterion(code="b", name="B", question={"en": "B?"}, weight=-2)
    rubric = made(by_item={"i1": [own.model_dump()]})
    assert [criterion.code for criterion in rubric.criteria_for("i1")] == ["a", "b"]
    assert [criterion.code for criterion in rubric.criteria_for("i2")] == ["a"]
    assert '{"a": "…", "b": "…"}' in prompt_of(rubric, JUDGED, Change())
