"""Prompts: which is used, how a question is put in, and what may be stripped from a reply."""

from pathlib import Path

import pytest
from releasewriter import write

from kapwa.datasets.packs import DataSet
from kapwa.errors import DataError, UsageError
from kapwa.suites.blend.data import BlendData, read_data
from kapwa.suites.blend.prompts import PromptBook, PromptTemplate, answer_label, read_prompts, split_variant
from kapwa.suites.blend.questions import COUNTRIES, region_of
from kapwa.suites.blend.variants import LANGUAGES, PROMPTS

# What each released direct prompt leaves for the reply to follow.
LABELS = """
الإجابة: উত্তৰ: Cavab: 答案： መልስ: Απάντηση: Jawaban: جواب: Respuesta:
답변: Amsa: 답변: Respuesta: Answer: Answer: Jawaban:
"""


def book(*templates: tuple[str, str, PromptTemplate], countries: tuple[str, ...] = ("Spain", "UK")) -> PromptBook:
    return PromptBook(map(region_of, countries), {(owner, key): found for owner, key, found in templates})


def test_every_country_has_both_prompts_in_both_languages(blend: BlendData) -> None:
    for country in COUNTRIES:
        for asked_in in LANGUAGES:
            for prompt_id in PROMPTS:
                text = blend.prompts.render(country, asked_in, prompt_id, "Why {so}?")
                assert text.count("Why {so}?") == 1
                assert "{q}" not in text
    own = {blend.prompts.template(country, "local", "inst-4") for country in COUNTRIES}
    # 13 languages; Spain and Mexico, the UK and the US each have wordings of their own, the Koreas do not.
    assert len(own) == 15


@pytest.mark.parametrize(("country", "label"), list(zip(COUNTRIES, LABELS.split(), strict=True)))
@pytest.mark.parametrize("prompt_id", PROMPTS)
def test_released_labels(blend: BlendData, country: str, label: str, prompt_id: str) -> None:
    local, english = (blend.prompts.reply_prefixes(country, asked_in, prompt_id) for asked_in in LANGUAGES)
    assert (local[0], english[0]) == (label, "Answer:")
    assert set(local) == set(english) >= {"Answer:", label}


def test_the_first_of_two_prompts_with_one_id_counts(blend: BlendData, blend_data: Path) -> None:
    data = DataSet("x", None)
    read_prompts(data, blend_data / "prompts/Azerbaijan_prompts.csv", "Azerbaijan")
    assert [(oddity.row, oddity.severity) for oddity in data.oddities] == [(4, "warning"), (5, "warning")]
    assert "heç bir izahatsız" in blend.prompts.template("Azerbaijan", "local", "inst-4")
    assert blend.prompts.ids("Azerbaijan") == ("inst-4", "pers-3")


def test_a_prompt_without_a_place_for_the_question_is_not_used(blend: BlendData) -> None:
    assert blend.prompts.template("Algeria", "en", "pers-1")
    with pytest.raises(UsageError, match="no prompt 'pers-1' in Arabic"):
        blend.prompts.template("Algeria", "local", "pers-1")


def test_every_slot_is_filled_and_braces_are_left_alone() -> None:
    found = book(("Spain", "a", PromptTemplate("{q} {x} {q}", "{{q}}")))
    assert found.render("Spain", "en", "a", "{q}!") == "{q}! {x} {q}!"
    assert found.render("Spain", "local", "a", "¿?") == "{¿?}"


def test_defaults_are_english_only() -> None:
    found = book(countries=("Spain", "UK", "South_Korea"))
    assert found.ids("Spain") == PROMPTS
    assert "South Korea" in found.template("South_Korea", "en", "pers-3")
    with pytest.raises(UsageError, match="no prompt 'inst-4' in Spanish"):
        found.template("Spain", "local", "inst-4")
    assert found.template("UK", "local", "inst-4") == found.template("UK", "en", "inst-4")


def test_unknown_names() -> None:
    found = book(("", "a", PromptTemplate("Q {q}", "P {q}")))
    assert found.template("Spain", "en", "a") == "Q {q}"
    with pytest.raises(UsageError, match="no prompt 'b'"):
        found.template("Spain", "en", "b")
    with pytest.raises(UsageError, match="no country 'Spian'"):
        found.template("Spian", "en", "a")


@pytest.mark.parametrize(
    ("template", "label"),
    [
        ("Q: {q}\nAnswer:", "Answer:"),
        ("问题：{q}\n答案：", "答案："),
        ("{q}", ""),
        ("Answer: {q}", ""),
        ("{q}\n\nGive one answer.", ""),
        ("{q} Cavab: ", "Cavab:"),
    ],
)
def test_answer_label(template: str, label: str) -> None:
    assert answer_label(template) == label


def test_variants() -> None:
    assert split_variant("en/my/own") == ("en", "my/own")
    for wrong in ("local", "es/inst-4", "en/", ""):
        with pytest.raises(UsageError, match="no variant"):
            split_variant(wrong)


def test_prompts_of_ones_own(release: Path, tmp_path: Path) -> None:
    one = write(tmp_path / "prompts.csv", "id,english,local\ninst-4,E {q},L {q}\n")
    assert read_data(release, prompts=one).prompts.render("Spain", "local", "inst-4", "x") == "L x"
    folder = tmp_path / "folder"
    write(folder / "Spain_prompts.csv", "id,English,Translation\ninst-4,E {q},S {q}\n")
    with_folder = read_data(release, prompts=folder)
    assert with_folder.prompts.render("Spain", "local", "inst-4", "x") == "S x"
    assert with_folder.source.digest != read_data(release).source.digest
    with pytest.raises(DataError, match="holds no prompt files"):
        read_data(release, prompts=tmp_path)


def test_bad_prompt_files(release: Path) -> None:
    path = release / "prompts/Spain_prompts.csv"
    write(path, "id,English,Other\ninst-4,E {q},S {q}\n")
    with pytest.raises(DataError, match="column 'Translation': is missing"):
        read_data(release)
    write(path, "id,English,Translation\ninst-4,E,S\n")
    with pytest.raises(DataError, match=r"row 2, column 'id': the prompt 'inst-4' has no \{q\}"):
        read_data(release)
