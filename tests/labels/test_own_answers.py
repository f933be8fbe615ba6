"""Agreement in people's own answers, read from a table."""

import re
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.errors import DataError
from kapwa.labels.open_answers import agreement_of, answer_agreement

WORDS = st.sampled_from(["rice", "bread", "tea"])
GIVEN = st.dictionaries(
    st.sampled_from([f"q{place}" for place in range(6)]),
    st.dictionaries(st.sampled_from("abcdef"), WORDS, min_size=1),
    min_size=1,
)


@given(GIVEN)
def test_percent_agreement_is_the_mean_share_of_pairs_that_say_the_same(given_: dict[str, dict[str, str]]) -> None:
    shares = []
    for answers in given_.values():
        pairs = list(combinations(answers.values(), 2))
        shares += [sum(one == other for one, other in pairs) / len(pairs)] if pairs else []
    found = agreement_of(given_, replicates=200)
    percent = found.agreement.row(0, named=True)
    if not shares:
        assert percent["value"] is None
        assert percent["note"] == "undefined: no two raters judged the same thing"
    else:
        assert percent["value"] == pytest.approx(sum(shares) / len(shares))
    assert (percent["units"], percent["raters"]) == (len(shares), len(set().union(*given_.values())))


def test_the_command_reads_answers_without_a_task(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    rows = ["q1,a,rice", "q1,b,rice", "q1,c,", "q2,a,tea", "q2,b,'=tea", "q3,a,nan"]
    path.write_text("item_id,rater,answer\n" + "\n".join(rows) + "\n")
    shown = CliRunner().invoke(app, ["label", "agree", str(path)])
    assert shown.exit_code == 0, shown.output
    assert "2 people answered 3 items in their own words" in shown.stdout
    assert answer_agreement(path).agreement.row(0, named=True)["value"] == 0.5


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("q1,a,rice\nq1,a,tea", "row 3.*a answers 'q1' a second time"),
        ("q1,a,\nq2,b,", "nobody answers anything"),
        (",a,rice", "row 2.*'item_id'.*is empty"),
        ("q1,,rice", "row 2.*'rater'.*is empty"),
    ],
)
def test_tables_that_say_nothing_sure_are_refused(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(f"item_id,rater,answer\n{rows}\n")
    with pytest.raises(DataError) as found:
        answer_agreement(path)
    assert re.search(message, str(found.value)), str(found.value)


def test_percent_agreement_is_told_where_others_would_fill_the_memory() -> None:
    given_ = {f"q{item}": {f"p{person}": f"{item} {person // 2}" for person in range(300)} for item in range(40)}
    found = agreement_of(given_).agreement
    percent, fleiss, alpha = found.to_dicts()
    assert percent["value"] == pytest.approx(1 / 299)
    assert (fleiss["value"], alpha["value"]) == (None, None)
    assert "6,000 different answers" in alpha["note"]
