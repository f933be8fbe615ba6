"""Rubrics: what ships is whole, a file of one's own is read, each mistake is named with its field and remedy."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.errors import DataError, UsageError
from kapwa.labels.audits.questions import asked_of
from kapwa.labels.rubrics import load_rubric, shipped_rubrics, suite_rubric

GOOD = """
name: mine
version: "1"
title: Mine
instruction: Judge.
scale: {good: 1, fair: 0.5, bad: 0}
criteria:
  - code: warm
    name: Warm
    question: {en: "Is it warm?", fil: "Mainit ba?"}
    weight: 2
    examples:
      - {answer: "Halika!", verdict: good, why: it invites}
  - {code: rude, name: Rude, question: "Is it rude?", weight: -1, scale: {"yes": 1, "no": 0}}
"""

JUDGE_ANSWERS = Path(__file__).parents[2] / "docs" / "how-to" / "judge-answers.md"
HEAD = GOOD.split("criteria:", maxsplit=1)[0]


def written(folder: Path, text: str = GOOD) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_ships_is_made_of_the_criteria_of_the_suites() -> None:
    for name, suite in (("kalahi-criteria", "kalahi"), ("blend-errors", "blend"), ("eecc-adaptation", "eecc")):
        assert suite_rubric(suite) == load_rubric(name)
    assert len(load_rubric("kalahi-criteria").criteria) == 7
    assert len(load_rubric("blend-errors").criteria) == 6
    assert len(load_rubric("story-errors").criteria) == 7
    depicted = load_rubric("depicted")
    people_only = [criterion.code for criterion in depicted.criteria if criterion not in depicted.judged_for("any")]
    assert people_only == ["Min"]
    tone = load_rubric("tone")
    assert set(tone.scale_of(tone.criteria[0]).values()) == {0, 0.5, 1}
    assert load_rubric("correct").signed.startswith("correct@1+")


@pytest.mark.parametrize("name", shipped_rubrics())
def test_every_rubric_that_ships_can_be_read_printed_and_looked_up(name: str, tmp_path: Path) -> None:
    """A copy of what is printed says all that the file does, but for the criteria that stand in runs."""
    rubric = load_rubric(name)
    assert rubric.name == name
    assert f"| `{name}` |" in JUDGE_ANSWERS.read_text(encoding="utf-8"), "give it a row in the table of rubrics"
    printed = CliRunner().invoke(app, ["rubrics", name])
    assert printed.exit_code == 0
    copy = load_rubric(written(tmp_path, printed.output))
    assert copy == rubric
    assert copy.signed == rubric.signed


def test_a_rubric_of_ones_own(tmp_path: Path) -> None:
    rubric = load_rubric(written(tmp_path))
    warm, rude = rubric.criteria
    assert rubric.scale_of(warm) == {"good": 1, "fair": 0.5, "bad": 0}
    assert rubric.scale_of(rude) == {"yes": 1, "no": 0}
    assert rubric.instruction == {"en": "Judge."}
    assert (warm.weight, rude.weight) == (2, -1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Is it rude?", "Is it impolite?"),
        ("fair: 0.5", "fair: 0.6"),
        ("weight: -1", "weight: -2"),
        ("good: 1, fair: 0.5", "fair: 0.5, good: 1"),
    ],
)
def test_another_content_is_another_version(tmp_path: Path, old: str, new: str) -> None:
    before = load_rubric(written(tmp_path)).signed
    assert load_rubric(written(tmp_path, f"# a remark\n{GOOD}")).signed == before
    after = load_rubric(written(tmp_path, GOOD.replace(old, new))).signed
    assert after != before
    assert after.split("+")[0] == before.split("+")[0] == "mine@1"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('version: "1"', "version: 1", "Put the value in quotes"),
        ("title: Mine\n", "", "title.*is missing"),
        ("title: Mine", "titel: Mine", "Did you mean 'title'"),
        ('{en: "Is it warm?", fil: "Mainit ba?"}', '{fil: "Mainit ba?"}', "no English text"),
        ('fil: "Mainit', 'Filipino_: "Mainit', "not a language tag"),
        ("fair: 0.5", "fair: 1.5", "a number at most 1"),
        ("verdict: good", "verdict: great", "says 'great'; Available: bad, fair, good"),
        ("code: rude", "code: warm", "'warm' appears twice"),
        ("code: rude", "code: very rude", "no code"),
        ("code: rude", "code: overall", "'overall' appears twice, or"),
        ("scale: {good: 1, fair: 0.5, bad: 0}", "scale: {good: 1}", "two words at least"),
        ("scale: {good: 1, fair", 'scale: {"cannot assess": 1, fair', "always allowed"),
        ("weight: 2", "weight: .nan", "finite"),
        ("title: Mine", "title: Mine\nkind: pairs", 'of pairs it holds the words "1"'),
        ("title: Mine", "title: Mine\nkind: sums", "'criteria', 'pairs' or 'spans'"),
    ],
)
def test_a_mistake_is_named_with_its_field(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    path = written(tmp_path, GOOD.replace(old, new))
    with pytest.raises(DataError, match=message) as caught:
        load_rubric(path)
    assert caught.value.path == path
    assert caught.value.hint
    assert caught.value.column


def test_an_unknown_name_and_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'correct'"):
        load_rubric("corect")
    with pytest.raises(DataError, match="no such file"):
        load_rubric(tmp_path / "none.yaml")
    with pytest.raises(DataError, match="is no criterion of kalahi-criteria"):
        load_rubric(written(tmp_path, GOOD + "criteria_of: kalahi-criteria\n"))


def test_criteria_of_a_suite_may_have_words_in_other_languages(tmp_path: Path) -> None:
    text = HEAD + "criteria_of: kalahi-criteria\ncriteria:\n  - {code: Leg, name: Legal, question: "
    rubric = load_rubric(written(tmp_path, text + "{en: 'Is it legal?', fil: 'Legal ba?'}}\n"))
    assert [c.code for c in rubric.criteria] == ["Fac", "Gra", "Spe", "Coh", "Cac", "Csa", "Leg"]
    assert rubric.criteria[-1].question["fil"] == "Legal ba?"


def test_people_read_the_question_in_a_language_whatever_its_region() -> None:
    """A judge did, and people with questions in es-MX or tl were asked in English alone."""
    asked = asked_of("correct")
    assert asked.in_language("es-MX") == asked.in_language("es") == "¿Es correcta la respuesta? (Is the answer right?)"
    assert asked.in_language("tl") == asked.in_language("fil") != asked.in_language("en-GB") == "Is the answer right?"
    assert asked.in_language("sw") == "Is the answer right?"


TABLE = "item_id,code,question,weight,question_fil\nfil01,c1,Does it say to sit down?,2,Umuupo ba?\n"


def test_criteria_of_single_items(tmp_path: Path) -> None:
    head = HEAD.replace("scale: {good: 1, fair: 0.5, bad: 0}\n", "") + "items: table.csv\n"
    (tmp_path / "table.csv").write_text(f"{TABLE}fil01,c2,Is it curt?,-1,\n", encoding="utf-8")
    rubric = load_rubric(written(tmp_path, head))
    assert [(c.code, c.weight, dict(c.question)) for c in rubric.criteria_for("fil01")] == [
        ("c1", 2, {"en": "Does it say to sit down?", "fil": "Umuupo ba?"}),
        ("c2", -1, {"en": "Is it curt?"}),
    ]
    assert rubric.criteria_for("fil02") == []
    assert rubric.sums_up
    before = rubric.signed
    (tmp_path / "table.csv").write_text(TABLE, encoding="utf-8")
    assert load_rubric(tmp_path / "mine.yaml").signed != before
    for line, message in (
        ("fil01,c1,Again?,1,", "a second time"),
        ("fil01,c2,,1,", "is empty"),
        ("fil01,c2,Why?,much,", "is no criterion"),
        ("fil01,c 2,Why?,1,", "is no criterion"),
        ("fil01,c2,Why?,nan,", "is no criterion"),
    ):
        (tmp_path / "table.csv").write_text(f"{TABLE}{line}\n", encoding="utf-8")
        with pytest.raises(DataError, match=message) as caught:
            load_rubric(tmp_path / "mine.yaml")
        assert caught.value.row == 3
