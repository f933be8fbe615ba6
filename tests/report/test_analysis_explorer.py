"""What the page carries for its explorer: bounded, unpacked as it was packed, safe, and marked right."""

import base64
import json
import zlib

import numpy as np
import pytest
from analysis_fixtures import make_analysis
from hypothesis import given
from hypothesis import strategies as st

from kapwa.report.analysis.explorer import example, pack, pairs_json, script_json, texts_within
from kapwa.report.analysis.heatmap import likenesses
from kapwa.report.analysis.view import AnalysisView


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_for_a_script_reads_back_and_holds_no_markup(value: object) -> None:
    text = script_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


@given(st.text())
def test_what_is_packed_unpacks(text: str) -> None:
    whole = text.encode("utf-8", "ignore").decode()
    assert zlib.decompress(base64.b64decode(pack(whole))).decode() == whole


def test_few_texts_go_in_whole_and_plain() -> None:
    made = make_analysis(identities=6, concepts=3)
    found = texts_within(AnalysisView(made), 3_000_000)
    corpora = json.loads(found.json)["corpora"]
    assert found.shown == found.total == made.texts.height
    assert found.told == f"{made.texts.height:,} texts are in this page"
    rows = [
        (one["concepts"][c].partition(" (")[0], one["identities"][i], sample, text)
        for one in corpora
        for c, i, sample, text in one["texts"]
    ]
    wanted = made.texts.select("concept", "identity", "sample", "text").rows()
    assert sorted(rows) == sorted(wanted)


@pytest.mark.parametrize("room", [20_000, 60_000, 250_000])
def test_many_texts_are_chosen_in_whole_rounds_within_the_room(room: int) -> None:
    made = make_analysis(identities=40, concepts=3, wordy=200)
    found = texts_within(AnalysisView(made), room)
    assert len(found.json) <= room + 100
    assert 0 < found.shown < found.total
    assert f"of {found.total:,} that the analysis keeps" in found.told
    corpora = json.loads(found.json)["corpora"]
    assert len(corpora) == 4
    for one in corpora:
        rows = (
            one["texts"]
            if isinstance(one["texts"], list)
            else json.loads(zlib.decompress(base64.b64decode(one["texts"])))
        )
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
    assert shown is not None
    assert shown["concept"] == "functions (maths)"
    (one, first), (other, second) = shown["sides"]
    assert one != other
    texts = set(made.texts["text"])
    assert {first, second} <= texts
