"""The released choice questions: each question of people with hundreds of sets of options, which can be capped."""

import json
import logging
from collections import Counter
from pathlib import Path

import pytest

import kapwa
from kapwa.errors import UsageError
from kapwa.suites.blend import mcq_task
from kapwa.suites.blend.mcq_data import read_mcq

QUESTIONS, SETS, COUNTRIES = ("Ab-en-01", "Ab-en-02"), 7, ("UK", "Iran")


def released_line(country: str, question: str, number: int) -> str:
    options = dict(zip("ABCD", (f"tea {question}", f"milk {number}", f"juice {number}", "water"), strict=True))
    row = {
        "MCQID": f"{question}_{number}",
        "ID": question,
        "country": country,
        "prompt": f"What is drunk in {country}? Without any explanation, choose only one\n\nA. tea",
        "choices": json.dumps(options),
        "choice_countries": json.dumps(dict.fromkeys("ABCD", country)),
        "answer_idx": "A",
    }
    return json.dumps(row)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "data" / "mc_questions_hf"
    place.mkdir(parents=True)
    lines = [released_line(c, q, n) for c in COUNTRIES for q in QUESTIONS for n in range(SETS)]
    (place / "mc_questions_file_v1.1.json").write_text("\n".join(lines))
    (place / "mc_questions_file.json").write_text(released_line("UK", "Ab-en-01", 0))
    return tmp_path


def test_the_newest_version_is_read(folder: Path) -> None:
    assert len(read_mcq(folder)[0]) == len(COUNTRIES) * len(QUESTIONS) * SETS


def test_as_many_sets_of_each_question_and_culture_are_asked_as_the_cap_says(folder: Path) -> None:
    everything = kapwa.load_task("blend/mcq", data=folder)
    capped = kapwa.load_task("blend/mcq", data=folder, per_question=3)
    counts = Counter((item.culture, item.cluster) for item in capped.items())
    assert counts == {(country, question): 3 for country in COUNTRIES for question in QUESTIONS}
    order = [item.id for item in everything.items()]
    chosen = [item.id for item in capped.items()]
    assert chosen == [name for name in order if name in set(chosen)]
    assert [item.id for item in kapwa.load_task("blend/mcq", data=folder, per_question=3).items()] == chosen
    # One more set of each keeps those that were asked before.
    more = {item.id for item in kapwa.load_task("blend/mcq", data=folder, per_question=4).items()}
    assert set(chosen) < more
    assert capped.options["per_question"] == 3
    assert "per_question" not in everything.options
    assert len(kapwa.load_task("blend/mcq", data=folder, per_question=99).items()) == len(order)
    with pytest.raises(UsageError, match="per_question"):
        kapwa.load_task("blend/mcq", data=folder, per_question=0)


def test_the_number_is_said_before_many_are_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    kapwa.load_task("blend/mcq", data=folder)
    assert not caplog.records
    monkeypatch.setattr(mcq_task, "MANY", 20)
    kapwa.load_task("blend/mcq", data=folder)
    (said,) = [record.getMessage() for record in caplog.records]
    assert said == (
        "28 choice questions are to be asked: 4 questions of people, each with about 7 sets of options. "
        "--per-question 5 asks at most 20."
    )
    caplog.clear()
    kapwa.load_task("blend/mcq", data=folder, per_question=5)
    assert not caplog.records
