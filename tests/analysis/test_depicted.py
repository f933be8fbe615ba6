"""Who is depicted: words against plain twins, planted people, from files to the page."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kapwa
from kapwa import registry
from kapwa.analysis.corpus import ConceptKey, ConceptTexts
from kapwa.analysis.depicted import (
    LISTED,
    NAMES,
    PeopleJob,
    attribute_shares,
    capitalised,
    mentions,
    people_in,
    prompt_shares,
    word_index,
)
from kapwa.analysis.result import Analysis
from kapwa.languages.fallback import language_for
from kapwa.report.page.analysis import build_analysis_report
from kapwa.report.sentences.depicted import WORDS, depicted_sentences
from kapwa.report.tables.depicted import attributes_table, identities_table
from kapwa.report.terminal.analysis import render_analysis
from kapwa.report.view.analysis import AnalysisView

WHO = ("أردني", "한국", "ሀበሻ", "অসমীয়া", "Kenyan")
ROLES = ("farmer", "poet", "runner", "nurse", "driver")
PEOPLE = language_for("en").people


def kinds_of(text: str, *left_out: str, language: str = "en") -> list[tuple[str, str]]:
    index, people = word_index(language, frozenset(left_out)), language_for(language).people
    return [(attribute, list(getattr(people, attribute))[kind]) for attribute, kind in mentions(text, index)]


def planted(own: float, *, concepts: int = 8, seed: int = 0) -> pl.DataFrame:
    """Three texts a prompt about one person; ``own``: how often the role is that of the identity."""
    rng = np.random.default_rng(seed)
    rows = []
    for concept in range(concepts):
        for place, who in enumerate(WHO):
            for sample in range(3):
                role = ROLES[place if rng.random() < own else rng.integers(len(ROLES))]
                hero = ("Ada", "Bo")[rng.integers(2)]
                text = f"{who}: in a village a {role}, whom all called {hero}, met her mother. She smiled."
                rows.append(("life", f"c{concept}", who, sample, text))
    return pl.DataFrame(rows, schema=["topic", "concept", "nationality", "sample", "text"], orient="row")


def analysis_of(folder: Path, table: pl.DataFrame, **options: bool) -> Analysis:
    table.write_csv(folder / "texts.csv")
    return kapwa.analyze(folder / "texts.csv", out=folder / "out", permutations=199, workers=1, **options)


def test_what_a_text_states_is_counted_and_the_longest_phrase_wins() -> None:
    found = kinds_of(
        "She met an old man, her mother-in-law, and two FARMERS' friends in a small town. A poor-looking city!"
    )
    assert found == [
        ("pronouns", "she"),
        ("ages", "old"),
        ("pronouns", "she"),
        ("relations", "in-laws"),
        ("roles", "farming"),
        ("relations", "friend"),
        ("settings", "small town"),
        ("settings", "urban"),
    ]


@pytest.mark.parametrize(
    ("language", "text", "kinds"),
    [
        ("es", "¿Cómo está usted, señora? ¿Y tú?", ["formal", "title", "familiar"]),
        ("fil", "Kumain na po ba kayo? Ikaw?", ["respect", "plural or polite", "familiar"]),
        ("id", "Apakah Anda sehat, Pak? Kamu?", ["formal", "title", "familiar"]),
        (
            "ko",
            "선생님은 학교에 갑니다만 저는 먹었습니다. 어디 가세요? 그는 갔었다.",
            ["honorific", "formal", "polite", "plain"],
        ),
        ("zh", "您好，王先生，你们去哪儿？你呢？", ["polite", "title", "familiar", "familiar"]),
        ("am", "እርስዎ ደህና ነዎት? አንተስ? አንቺ?", ["polite", "familiar"]),
        ("as", "আপুনি ভালনে? তুমি? তই?", ["formal", "familiar", "intimate"]),
        ("ar", "كيف حضرتك يا أستاذ؟ وأنت؟ أنت", ["polite", "title", "plain"]),
        ("fa", "شما خوبید، آقای احمدی؟", ["formal", "title"]),
        ("el", "Εσείς, κύριε; Εσύ;", ["plural or polite", "title", "familiar"]),
        ("az", "Siz necəsiniz, xanım? Sən?", ["plural or polite", "title", "familiar"]),
        ("su", "Anjeun damang? Manéh?", ["polite", "familiar"]),
    ],
)
def test_forms_of_address_are_counted_as_words_as_ends_and_within_words(
    language: str, text: str, kinds: list[str]
) -> None:
    assert [kind for attribute, kind in kinds_of(text, language=language) if attribute == "address"] == kinds


def test_every_language_has_forms_of_address_or_says_why_not() -> None:
    for code in registry.available("languages"):
        people = language_for(code).people
        assert bool(people.address) != bool(people.no_address), code
        for words in people.address.values():
            assert all(word == word.casefold() or "ς" in word for word in words), code


def test_words_of_an_identitys_name_do_not_count() -> None:
    assert kinds_of("A farmer and farmers and a teacher", "farmer") == [("roles", "teaching")]
    assert kinds_of("An old man", "old") == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(["old", "man", "young", "mother", "in", "law", "tea", "she", "small", "town"]), max_size=9)
)
def test_mentions_equal_their_plain_twin(words: list[str]) -> None:
    """The longest phrase at each place, and on behind it; looked for in the lists one by one."""
    every = [
        (phrase.casefold().replace("-", " ").split(), attribute, kind)
        for attribute in LISTED
        for kind, phrases in getattr(PEOPLE, attribute).items()
        for phrase in phrases
    ]
    expected, place = [], 0
    while place < len(words):
        hits = [one for one in every if words[place : place + len(one[0])] == one[0]]
        longest = max((len(one[0]) for one in hits), default=1)
        expected += [(attribute, kind) for phrase, attribute, kind in hits if len(phrase) == longest]
        place += longest
    assert kinds_of(" ".join(words)) == expected


def test_names_are_capitals_where_no_sentence_begins() -> None:
    text = "Maria met José-Luis O'Brien near Cebu. Then Dr. Cruz came: “Juan,” said NASA, as Ana's I.\nPedro left"
    assert list(capitalised(text, frozenset({"dr"}))) == ["José-Luis", "O'Brien", "Cebu", "Dr", "Cruz", "Ana"]
    assert list(capitalised("한국 사람 Kim", frozenset())) == ["Kim"]


def concept_of(texts: list[str], number: int, *left_out: str) -> PeopleJob:
    groups = np.arange(len(texts)) % 2
    order = np.argsort(groups, kind="stable")
    about = ("ab", "cd"), groups[order], np.arange(len(texts)), tuple(texts[k] for k in order)
    return PeopleJob(ConceptTexts(ConceptKey("t", f"c{number}"), *about, "", (0, 1)), "en", frozenset(left_out))


def test_names_are_of_several_concepts_and_stand_nowhere_in_small_letters() -> None:
    texts = ["We met Rose and Ana on Monday.", "We met Ana, a Kenyan, and Bo.", "We saw Ana with Mother and Mr. X."]
    concepts = [people_in(concept_of(texts, number, "kenyan")) for number in (0, 1)]
    concepts.append(people_in(concept_of(["a rose for Zoe", "she met Cy"], 2)))
    found = attribute_shares(concepts, ("ab", "cd"), NAMES, ())
    assert found.kinds == ("Ana", "Bo")
    assert found.shares[0, :, 0].tolist() == [1, 0.5]
    assert found.shares[2].tolist() == [[0, 0], [0, 0]]
    assert found.stated.tolist() == [[1, 1]] * 3


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=8))
def test_shares_of_a_prompt_equal_their_plain_twin(rows: list[tuple[int, int, int]]) -> None:
    counts = np.array([(0, one, other) for _, one, other in rows])
    groups = np.array([group for group, *_ in rows])
    shares, stated, texts = prompt_shares(counts, groups, 3)
    for group in range(3):
        own = counts[groups == group].tolist()
        said = [row for row in own if sum(row)]
        assert texts[group] == len(own)
        if own:
            assert stated[group] == pytest.approx(len(said) / len(own))
        if said:
            assert shares[group] == pytest.approx([np.mean([row[k] / sum(row) for row in said]) for k in (1, 2)])
        else:
            assert np.isnan(shares[group]).all()


def test_planted_roles_are_found_and_nothing_else(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path, planted(0.8), depicted=True)
    tests = {row["attribute"]: row for row in analysis.depicted_tests.iter_rows(named=True)}
    assert tests["roles"]["p_adjusted"] < 0.05
    assert tests["roles"]["low"] > 0
    assert tests["names"]["p_adjusted"] > 0.05
    assert {name for name, row in tests.items() if row["p"] is None} == {"pronouns", "relations", "settings"}
    roles = analysis.depicted_identities.filter(pl.col("attribute") == "roles")
    assert (roles["p_adjusted"] < 0.05).all()
    assert (roles["distance"] > roles["floor"]).all()
    kenyan = analysis.depicted.filter(pl.col("identity") == "Kenyan", pl.col("attribute") == "roles").to_dicts()
    assert kenyan[0]["kind"] == "transport"
    assert sum(row["share"] for row in kenyan) == pytest.approx(1)
    view = AnalysisView(analysis)
    words = " ".join(depicted_sentences(view, view.corpora[0]))
    assert "by 1 of 2 attributes: roles (+" in words
    assert "Kenyan by roles (“transport”: " in words
    again = analysis_of(tmp_path, planted(0.8), depicted=True)
    assert again.depicted_identities.equals(analysis.depicted_identities)


def test_the_page_has_it_in_every_script_and_another_analysis_has_no_section(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path, planted(0, concepts=4), depicted=True)
    view = AnalysisView(analysis)
    assert "cannot be told from chance by any of 2 attributes" in " ".join(depicted_sentences(view, view.corpora[0]))
    tables = [table_of(view, view.corpora[0]) for table_of in (attributes_table, identities_table)]
    assert [table is not None for table in tables] == [True, True]
    page = build_analysis_report(analysis, tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="depicted"' in page
    section = page.partition('id="depicted"')[2].partition("</section>")[0]
    assert all(who in section for who in WHO)
    assert render_analysis(analysis) is not None
    plain = analysis_of(tmp_path, planted(0, concepts=4))
    assert plain.depicted_tests.is_empty()
    assert plain.path.name != analysis.path.name
    assert 'id="depicted"' not in build_analysis_report(plain, tmp_path / "plain.html").read_text(encoding="utf-8")


def test_what_a_language_has_no_words_for_is_left_out_and_said_so(tmp_path: Path) -> None:
    table = planted(0, concepts=2)
    analysis = analysis_of(tmp_path, table.with_columns(language=pl.lit("ha")), depicted=True)
    assert analysis.depicted_tests.is_empty()
    assert any("no words for people in Hausa" in note for note in analysis.notes["text"])
    english = analysis_of(tmp_path, table, depicted=True)
    assert not english.depicted_tests.is_empty()
    assert any("not counted. English has one word for 'you'" in note for note in english.notes["text"])


def test_who_is_spoken_to_politely_is_found_and_told(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        ("life", f"c{concept}", who, sample, f"{who}. 아침을 {'드세요' if polite else '먹었다'}.")
        for concept in range(16)
        for place, who in enumerate(WHO)
        for polite in [rng.random() < (0.9 if place < 2 else 0.2)]
        for sample in range(3)
    ]
    table = pl.DataFrame(rows, schema=["topic", "concept", "nationality", "sample", "text"], orient="row")
    analysis = analysis_of(tmp_path, table.with_columns(language=pl.lit("ko")), depicted=True)
    (row,) = analysis.depicted_tests.filter(attribute="address").to_dicts()
    assert (row["kinds"], row["p_adjusted"] < 0.05, row["low"] > 0) == (2, True, True)
    view = AnalysisView(analysis)
    told = " ".join(depicted_sentences(view, view.corpora[0]))
    assert "Forms of address change with the nationality more than chance explains" in told
    assert "The people in the texts" not in told
    assert any("only forms of address and names were counted" in note for note in analysis.notes["text"])


def test_every_attribute_has_a_name_and_every_list_is_in_small_letters() -> None:
    assert set(WORDS) == {*LISTED, NAMES}
    for attribute in LISTED:
        for kind, words in getattr(PEOPLE, attribute).items():
            assert words, kind
            assert all(re.fullmatch(r"[a-zé -]+", word) for word in words)
