"""The page of an analysis: whole, self-contained, escaped, accessible, and true to the tables."""

import base64
import dataclasses
import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from analysis_fixtures import MadeAnalysis, make_analysis
from hypothesis import given, settings
from hypothesis import strategies as st
from pages import Page, assert_closed, assert_sound, poisoned_tree, render_analysis, unpacked

from kapwa.analysis.result import Analysis, empty
from kapwa.analysis.result_tables import SCHEMAS
from kapwa.errors import UsageError
from kapwa.report.charts.heatmap import likenesses
from kapwa.report.page.analysis import BUDGET, build_analysis_report
from kapwa.report.page.explorer import example, pairs_json, script_json, texts_within
from kapwa.report.view.analysis import AnalysisView
from kapwa.report.wording import pack
from kapwa.report.writing import write_report

CANARY = "</script><script>document.title='owned'</script><!--<b onload=x>\"'&\u2028"
NOTES = (("warning", "Two temperatures differ."), ("info", "Merged 2 rows."))
ANY_JSON = st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
SMALL = {"models": ("m",), "tasks": ("eecc/qa",), "identities": 8, "concepts": 3}


@pytest.fixture(scope="module")
def html() -> str:
    return render_analysis(make_analysis(notes=NOTES))


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def poisoned(analysis: MadeAnalysis) -> MadeAnalysis:
    """The analysis with markup in every text a user, a file or a model can write."""
    kept = {"estimator", "measure", "method", "test", "severity", "iso3", "attribute"}

    def poison(name: str) -> pl.DataFrame:
        frame: pl.DataFrame = getattr(analysis, name)
        names = [c for c, kind in frame.schema.items() if kind == pl.String and c not in kept]
        whole = pl.when(pl.col("topic") == "all").then(pl.lit("all")) if "topic" in names else None
        texts = [pl.col(c) + CANARY for c in names if c != "topic"]
        topics = [whole.otherwise(pl.col("topic") + CANARY).alias("topic")] if whole is not None else []
        return frame.with_columns(*texts, *topics)

    frames = {name: poison(name) for name in SCHEMAS}
    manifest = poisoned_tree(analysis.manifest, CANARY, ("seed", "numpy"))
    return dataclasses.replace(analysis, manifest=manifest, path=Path("a" + CANARY), **frames)


def test_a_page_is_written_whole_and_the_same_each_time(tmp_path: Path, html: str) -> None:
    out = build_analysis_report(make_analysis(notes=NOTES), tmp_path / "deep" / "one.html")
    assert out == tmp_path / "deep" / "one.html"
    assert out.read_text(encoding="utf-8") == html
    assert html.startswith("<!doctype html>")
    assert html.rstrip().endswith("</html>")


def test_the_page_loads_nothing_and_its_policy_admits_its_own_code_only(html: str, page: Page) -> None:
    code = page.scripts[-1]
    assert_closed(html, code)
    assert [one.get("type") for one in page.all("script")] == ["application/json", "application/json", None]
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|innerHTML|insertAdjacent|document\.write|eval\(", code)


def test_markup_in_every_text_stays_text() -> None:
    html = render_analysis(poisoned(make_analysis(models=("m",), identities=12, concepts=4)))
    page = Page(html)
    assert len(page.scripts) == 3
    assert "document.title" not in page.scripts[2]
    assert not page.all("b")
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    assert page.text.count("document.title='owned'") > 50
    texts, pairs = (json.loads(script) for script in page.scripts[:2])
    assert unpacked(texts["corpora"][0]["texts"])[0][3].endswith(CANARY)
    assert len(pairs) == 2
    inside = "".join(page.scripts[:2])
    assert not set("<>&\u2028\u2029") & set(inside)


def test_every_section_has_its_place_and_the_manifest_is_told(page: Page) -> None:
    headings = (
        "What changes when the nationality does/Answers/What this means, and what it does not/"
        "Do texts change with the nationality?/Do similar cultures get similar texts?/Where texts follow values/"
        "Whose texts are alike/The words that change/Read the texts/Every concept/Methods and limits/How to cite"
    )
    facts = ("settings › permutations", "999", "brevity:nmt|tokenizer:word_tokenize", "Bhatt", "made-0123abcd")
    assert [one for one in (*headings.split("/"), *facts) if one not in page.text] == []


def test_headings_ids_links_and_names_are_sound(page: Page) -> None:
    assert_sound(page)


def test_pictures_tables_and_regions_have_names(html: str, page: Page) -> None:
    named = [attrs for _, attrs in page.elements if attrs.get("role") in ("img", "region")]
    assert len(named) > 30
    assert html.count("<table") == html.count("<caption>")
    assert all(len(attrs.get("aria-label") or "") > 40 for attrs in named if attrs["role"] == "img")
    for box in re.findall(r".{60}<input type=\"checkbox\">.{20}", html):
        assert '<label class="zoom">' in box
    assert page.elements[0][1]["lang"] == "en"


def test_everything_stands_in_the_page_without_its_script(html: str) -> None:
    text = Page(re.sub(r"<script.*?</script>", "", html, flags=re.S)).text
    for told in ("honesty", "photosynthesis", "grandmother", "Once upon a time", "Filipino", "Viet Nam", "τ"):
        assert told in text
    assert "storyteller-2b T 0.3, stories" in text


def test_released_values_are_marked_as_reference(html: str, page: Page) -> None:
    assert "One-way ANOVA as released" in page.text
    assert "reference only: two estimators, unpaired" in page.text
    assert "τ as the released code computes it (reference only)" in page.text
    row = html[html.index("One-way ANOVA as released") :]
    assert 'class="number faint"' in row[: row.index("</tr>")]


@pytest.mark.parametrize(
    ("model", "small"), [("hf:HuggingFaceTB/SmolLM2-135M-Instruct", True), ("smollm2", True), ("org/large-70b", False)]
)
def test_a_caution_about_a_tiny_model_stands_at_the_top(model: str, small: bool) -> None:
    html = render_analysis(make_analysis(models=(model,), tasks=("eecc/qa",), identities=8, concepts=3))
    assert ("135 million parameters" in html[: html.index("<main>")]) is small
    assert ('class="warning"' in html) is small


def test_warnings_stand_at_the_top_a_few_at_most_and_notes_among_the_methods() -> None:
    notes = (("info", "Merged 2 rows."), *(("warning", f"Warning {k:02d}.") for k in range(40)))
    html = render_analysis(make_analysis(**SMALL, notes=notes))
    top, _, rest = html.partition("<main>")
    assert top.count("Warning ") == 6
    assert "Merged 2 rows." not in top
    assert "Warning 39." in rest
    assert "Merged 2 rows." in rest


def test_where_files_lay_is_not_told() -> None:
    made = make_analysis(**SMALL)
    values = [{"name": "hofstede", "path": "/home/somebody/secret/hofstede.csv"}]
    html = render_analysis(dataclasses.replace(made, manifest={**made.manifest, "values": values}))
    assert "hofstede.csv" in html
    assert "somebody" not in html


@pytest.mark.parametrize("language", ["ar", "ko", "am", "as"])
def test_texts_of_any_script_stand_whole_and_know_their_language(language: str) -> None:
    made = make_analysis(**SMALL, language=language)
    manifest = {**made.manifest, "corpora": [{"corpus": "m T 0.3", "task": "eecc/qa", "language": language}]}
    html = render_analysis(dataclasses.replace(made, manifest=manifest))
    texts = json.loads(Page(html).scripts[0])["corpora"][0]
    assert texts["language"] == language
    assert sorted(row[3] for row in unpacked(texts["texts"])) == sorted(made.texts["text"])
    assert f'<div class="text" dir="auto" lang="{language}">' in html


def test_an_attribute_of_another_kind_has_its_own_words() -> None:
    made = make_analysis(**SMALL, attribute="city", values=())
    text = Page(render_analysis(made)).text
    assert "What changes when the city does" in text
    assert "across cities" in text
    assert "nationalit" not in text
    assert "Where texts follow values" not in text


@pytest.mark.parametrize("gone", ["words", "texts", "similarity", "correlations", "concept_taus", "anchors", "tests"])
def test_a_table_without_rows_leaves_its_place_to_a_sentence(gone: str) -> None:
    made = make_analysis(**SMALL)
    html = render_analysis(dataclasses.replace(made, **{gone: empty(gone)}))
    assert html.rstrip().endswith("</html>")
    told = {
        "words": "This analysis holds no word tables.",
        "texts": "This analysis keeps no texts for readers",
        "similarity": "Not every pair was compared",
        "tests": "cannot be tested on so few concepts",
    }
    assert told.get(gone, "Answers") in Page(html).text


def test_nulls_everywhere_are_dashes() -> None:
    made = make_analysis(**SMALL)
    nothing = {
        name: getattr(made, name).with_columns(
            pl.lit(None, dtype=kind).alias(column)
            for column, kind in SCHEMAS[name].items()
            if kind == pl.Float64 and column != "temperature"
        )
        for name in SCHEMAS
    }
    html = render_analysis(dataclasses.replace(made, **nothing))
    assert "nan" not in Page(html).text.casefold().split()
    assert "None" not in Page(html).text.split()


def test_no_corpus_is_an_error_that_says_what_to_do() -> None:
    made = make_analysis(models=("m",), identities=4, concepts=2)
    with pytest.raises(UsageError, match="holds no corpus") as caught:
        render_analysis(dataclasses.replace(made, corpora=empty("corpora")))
    assert "kapwa analyze eecc" in str(caught.value.hint)


@pytest.mark.slow
def test_the_papers_size_stays_under_eight_megabytes_and_says_what_is_left_out() -> None:
    models = [f"org/model-{k:02d}" for k in range(11)]
    # Eleven configurations on two tasks; long stories, so that texts have to be chosen.
    made = make_analysis(models=models, identities=193, concepts=345, shown=2, samples=1, wordy=400)
    html = render_analysis(made)
    assert len(html.encode()) <= BUDGET
    page = Page(html)
    told = re.search(r"([\d,]+) texts are in this page, of ([\d,]+) that the analysis keeps", page.text)
    shown, total = (int(number.replace(",", "")) for number in told.groups())
    assert total == made.texts.height
    assert 0 < shown < total
    corpora = json.loads(page.scripts[0])["corpora"]
    assert len(corpora) == 22
    assert all(isinstance(one["texts"], str) for one in corpora)
    assert len(json.loads(page.scripts[1])) == 22


@settings(max_examples=40)
@given(ANY_JSON)
def test_json_for_a_script_and_what_is_packed_read_back_and_hold_no_markup(value: object) -> None:
    text, packed = script_json(value), pack(value)
    assert json.loads(text) == unpacked(packed) == value
    assert not set("<>&\u2028\u2029") & set(text)
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", packed)


def test_few_texts_go_in_whole() -> None:
    made = make_analysis(identities=6, concepts=3)
    found = texts_within(AnalysisView(made), 3_000_000)
    corpora = json.loads(found.json)["corpora"]
    assert found.shown == found.total == made.texts.height
    assert found.size_words == f"{made.texts.height:,} texts are in this page"
    told = [((one["concepts"], one["identities"]), text) for one in corpora for text in unpacked(one["texts"])]
    rows = [(names[0][c].partition(" (")[0], names[1][i], *rest) for names, (c, i, *rest) in told]
    assert sorted(rows) == sorted(made.texts.select("concept", "identity", "sample", "text").rows())


@pytest.mark.parametrize("room", [20_000, 60_000, 250_000])
def test_many_texts_are_chosen_in_whole_rounds_within_the_room(room: int) -> None:
    made = make_analysis(identities=40, concepts=3, wordy=200)
    found = texts_within(AnalysisView(made), room)
    assert len(found.json) <= room + 100
    assert 0 < found.shown < found.total
    assert f"of {found.total:,} that the analysis keeps" in found.size_words
    corpora = json.loads(found.json)["corpora"]
    assert len(corpora) == 4
    for one in corpora:
        rows = unpacked(one["texts"])
        assert [row[2] for row in rows] == sorted(row[2] for row in rows)
        first = [row for row in rows if row[2] == 0]
        assert [row[0] for row in first] == sorted(row[0] for row in first)


def test_no_texts_make_an_empty_list() -> None:
    made = make_analysis(identities=4, concepts=2, shown=0)
    found = texts_within(AnalysisView(made), 1000)
    assert json.loads(found.json) == {"corpora": []}
    assert example(AnalysisView(made)) is None


def test_pairs_are_within_a_step_of_their_value() -> None:
    view = AnalysisView(make_analysis(models=("m",), tasks=("eecc/qa",), identities=17, concepts=2))
    found = likenesses(view, view.corpora[0])
    told = json.loads(pairs_json({0: found}))["0"]
    names = told["names"]
    rows = view.table("similarity", view.corpora[0])
    for measure in ("bleu", "wed"):
        data = np.frombuffer(base64.b64decode(told[measure]["data"]), dtype=np.uint8)
        low, high = told[measure]["low"], told[measure]["high"]
        assert len(data) == 17 * 16 // 2
        for row in rows.iter_rows(named=True):
            i, j = sorted((names.index(row["identity_a"]), names.index(row["identity_b"])))
            byte = data[i * 17 - i * (i + 1) // 2 + j - i - 1]
            assert byte <= 254
            assert low + (high - low) * byte / 254 == pytest.approx(row[measure], abs=(high - low) / 500)


def test_the_example_is_two_identities_on_one_concept() -> None:
    made = make_analysis(identities=6, concepts=3)
    shown = example(AnalysisView(made))
    assert shown["concept"] == "functions (maths)"
    (one, first), (other, second) = shown["sides"]
    assert one != other
    texts = set(made.texts["text"])
    assert {first, second} <= texts


@pytest.mark.parametrize("option", ["same", "equal_within", "groups", "errata", "people"])
def test_options_about_runs_are_refused(tmp_path: Path, option: str) -> None:
    value = {"same": {"A": []}, "equal_within": 0.0, "people": [tmp_path]}.get(option, tmp_path)
    with pytest.raises(UsageError, match="An analysis has no runs, and so no"):
        write_report(Analysis.__new__(Analysis), tmp_path / "page.html", **{option: value})
    assert not (tmp_path / "page.html").exists()
