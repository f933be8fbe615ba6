"""Which texts seem to have lost their letters to question marks."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapwa.datasets.lost_letters import WrittenText, find_lost_letters
from kapwa.languages.codes import scripts_of
from kapwa.suites.blend.data import load_path as load_questions
from kapwa.suites.kalahi.data import load_path as load_situations


def is_lost(text: str, language: str) -> bool:
    """Whether a text that is the only one of its column is found to have lost its letters."""
    problems, oddities = find_lost_letters([WrittenText(Path("a.csv"), 2, "text", language, text, False)])
    return bool(problems) or any("where letters should be" in one.message for one in oddities)


@pytest.mark.parametrize(
    ("text", "language", "lost"),
    [
        ("???? ???", "am", True),
        ("?", "am", True),
        ("?? Addis ???", "am", True),
        ("?? Addis ???", "am-Latn", False),
        ("ምን??", "am", False),
        ("why? ???", "ko", True),
        ("why?", "ko", False),
        ("what??", "en", False),
        ("??? 12", "en", True),
        ("12:30?", "am", False),
    ],
)
def test_what_seems_lost(text: str, language: str, lost: bool) -> None:
    assert is_lost(text, language) is lost


@given(st.text(st.characters(min_codepoint=0x1200, max_codepoint=0x1357, categories=["Lo"]), min_size=2))
def test_amharic_saved_in_a_western_code_is_always_found(text: str) -> None:
    assert not is_lost(f"{text}??", "am")
    assert is_lost(text.encode("cp1252", "replace").decode("cp1252"), "am")


@pytest.mark.parametrize(
    ("tag", "scripts"),
    [("am-ET", ("Ethiopic",)), ("zh-Hant-TW", ("Han",)), ("sr-Cyrl", ("Cyrillic",)), ("ru-Latn", ()), ("fil", ())],
)
def test_scripts_of_tags(tag: str, scripts: tuple[str, ...]) -> None:
    assert scripts_of(tag) == scripts


def test_no_released_text_seems_to_have_lost_letters(kalahi_data: Path, blend_data: Path) -> None:
    """Real texts hold "??" at their ends, and "?" within answers: none of that is a sign of lost letters."""
    cells = []
    for entry in load_questions(blend_data).entries:
        question = entry.question
        for language, text in ((question.language, question.local), ("en", question.english)):
            cells.append(WrittenText(*entry.origin, "text", language, text, prose=True))
        for group in question.groups:
            for language, texts in ((question.language, group.local), ("en", group.en)):
                cells.append(WrittenText(*entry.origin, "answers", language, ";".join(texts), prose=False))
    assert len(cells) == 72586
    for situation in load_situations(kalahi_data).entries:
        texts = [situation.item.fields["prompt"], *situation.item.fields["relevant"]]
        cells += [WrittenText(*situation.origin, "text", "fil", text, prose=True) for text in texts]
    assert find_lost_letters(cell for cell in cells if cell.text.strip()) == ([], [])
