"""Language of an answer: right where it can be known, silent where it cannot."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.languages.codes import canonical, same_language
from kapwa.languages.identify import Identification, differs, identifiable, identify

TEXTS = {
    "fil": "Kausapin mo muna ang iyong mga magulang bago ka magdesisyon.",
    "en": "You should talk to your parents before you decide anything.",
    "id": "Sebaiknya kamu berbicara dengan orang tua sebelum memutuskan sesuatu.",
    "ar": "من الأفضل أن تتحدث مع والديك قبل أن تقرر أي شيء.",
    "am": "ከመወሰንህ በፊት ከወላጆችህ ጋር መነጋገር ይሻላል።",
    "ko": "무엇이든 결정하기 전에 부모님과 이야기하는 것이 좋습니다.",
    "th": "คุณควรคุยกับพ่อแม่ก่อนตัดสินใจอะไร",
    "as": "যিকোনো সিদ্ধান্ত লোৱাৰ আগতে আপোনাৰ পিতৃ-মাতৃৰ সৈতে কথা পাতক।",
    "zh": "在做任何决定之前，你应该先和父母商量一下。",
    "es": "Deberías hablar con tus padres antes de decidir cualquier cosa.",
}


@pytest.mark.parametrize(("code", "text"), TEXTS.items())
def test_sentences_are_identified(code: str, text: str) -> None:
    found = identify(text)
    assert same_language(found.language, code)
    assert 0.7 <= found.confidence <= 1
    assert differs(code, found) is False
    assert differs("tr", found) is True


@pytest.mark.parametrize("text", ["", "   ", "OK", "12345 67890 + 3", "Oo.", "???", "😀😀😀😀😀😀😀😀😀"])
def test_too_little_text_gets_no_verdict(text: str) -> None:
    found = identify(text)
    assert found.language is None
    assert differs("fil", found) is None


@given(st.text(max_size=60))
def test_any_text_gets_an_answer(text: str) -> None:
    found = identify(text)
    assert 0 <= found.confidence <= 1
    assert found.language is None or found.confidence >= 0.7


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("fil", "tl", True),
        ("fil-PH", "tgl", True),
        ("zh-Hans", "zh_Hant_TW", True),
        ("zh", "yue", True),
        ("id", "ms", True),
        ("ar", "arz", True),
        ("nb", "no", True),
        ("fil", "en", False),
        ("fil", "ceb", False),
        ("jv", "id", False),
        ("es", "pt", False),
    ],
)
def test_same_language(a: str, b: str, same: bool) -> None:
    assert same_language(a, b) is same
    assert same_language(b, a) is same


def test_filipino_has_one_spelling() -> None:
    assert {canonical(code) for code in ("tl", "fil", "TL", "fil-PH", "tgl", " tl ")} == {"fil"}
    assert identify(TEXTS["fil"]).language == "fil"


def test_a_language_the_identifier_does_not_know_is_not_judged_by_its_neighbours() -> None:
    assert not identifiable("su")
    assert identifiable("fil")
    assert differs("su", Identification("jv", 0.9)) is None
    assert differs("su", Identification("en", 0.99)) is True
    assert differs("ilo", Identification("en", 0.99)) is None  # no figures on what Ilocano is taken for
    assert differs("", Identification("en", 0.99)) is None


def test_kalahi_responses_are_filipino(kalahi_data: Path) -> None:
    with (kalahi_data / "filipino.csv").open(encoding="utf-8", newline="") as file:
        cells = [row[name] for row in csv.DictReader(file) for name in ("relevant_answers", "irrelevant_answers")]
    responses = [part.strip() for cell in cells for part in cell.split(";") if part.strip()]
    found = [identify(text).language for text in responses]
    assert len(found) == 948
    assert set(found) <= {"fil", None}
    assert found.count(None) <= 5


def test_the_model_is_not_loaded_before_it_is_needed() -> None:
    code = "import sys, kapwa.languages.identify; sys.exit('py3langid' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
