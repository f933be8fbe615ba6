"""What the user decides about surveys, and tables that are none: said before anything is computed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import corpus_samples as texts
import polars as pl
import pytest
from corpus_samples import Analyze

import kapwa
from kapwa.analysis.result import Analysis
from kapwa.analysis.values.check import check_values
from kapwa.errors import DataError, UsageError


@pytest.fixture
def analyze(analyze: Analyze, corpus: Path) -> Analyze:
    return lambda survey, **options: analyze(corpus, values=survey, **options)


def survey_of(path: Path, head: str, row: Callable[[int, str], str], who: tuple[str, ...] = texts.WHO) -> Path:
    lines = [head, *(row(place, name) for place, name in enumerate(who))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Two questions, and a column of years that its name gives away."""
    return survey_of(
        tmp_path / "mine.csv", "nationality,power,joy,year", lambda i, name: f"{name},{i},{i * i},{2000 + i}"
    )


def dropped(found: Analysis) -> dict[str, str]:
    return dict(found.manifest["values"][0]["dropped"])


def test_questions_are_kept_and_dropped_as_asked(analyze: Analyze, survey: Path) -> None:
    plain = analyze(survey)
    assert list(dropped(plain)) == ["year"]
    kept = analyze(survey, keep="year", drop=["mine:joy"])
    assert dropped(kept) == {"joy": "left out as asked"}
    assert kept.manifest["values"][0]["questions_used"] == 2
    assert kept.path != plain.path
    assert kept.manifest["settings"]["drop"] == ["mine:joy"]
    assert not kept.correlations["estimate"].equals(plain.correlations["estimate"])


def test_a_choice_settles_a_name_in_every_table_that_has_it(analyze: Analyze, tmp_path: Path) -> None:
    def row(place: int, name: str) -> str:
        return f"{'Korea' if name == 'Japanese' else name},{place},{place % 3}"

    mine = survey_of(tmp_path / "mine.csv", "nationality,power,joy", row)
    other = texts.write_values(tmp_path / "other.csv")
    assert "KOR" not in analyze(mine).values["iso3"].to_list()
    found = analyze([mine, other], choose={"Korea": "KOR", "Japanese": "KOR"})
    assert found.values.filter(values="mine", identity="Japanese")["iso3"].item() == "KOR"
    assert found.identities.filter(identity="Japanese")["iso3"].item() == "KOR"
    without = analyze([mine, other], choose={"Kenyan": ""})
    assert without.values.filter(identity="Kenyan").height == 0
    assert without.identities.filter(identity="Kenyan")["iso3"].item() is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"drop": ["powr"]}, r"No survey has a question 'powr'\.\n.*Did you mean 'power'"),
        ({"keep": "power", "drop": "power"}, "'power' is to be kept and to be dropped"),
        ({"choose": {"Corean": "KOR"}}, "'Corean' is neither an identity nor a row of a survey"),
        ({"choose": {"Kenyan": "XXX"}}, "'XXX', chosen for 'Kenyan', is not a country"),
        ({"choose": ["Kenyan"]}, "must map names to ISO codes"),
        ({"drop": [3]}, "must be names of questions"),
    ],
)
def test_decisions_about_what_is_nowhere_are_refused(
    analyze: Analyze, survey: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        analyze(survey, **options)


@pytest.mark.parametrize(
    ("head", "row", "said"),
    [
        ("nationality,power,joy", lambda i, name: f"{name},5,7", r"power: the same in every row; joy: the same"),
        ("nationality,year", lambda i, name: f"{name},{2000 + i}", "year: describes the row, by its name"),
        (
            "nationality,weight,joy",
            lambda i, name: f"{name},{i},3.5",
            "weight: describes the row, by its name; joy: the",
        ),
    ],
)
def test_a_table_that_tells_no_countries_apart_is_an_error(
    analyze: Analyze, tmp_path: Path, head: str, row: Callable[[int, str], str], said: str
) -> None:
    survey = survey_of(tmp_path / "mine.csv", head, row)
    with pytest.raises(DataError, match=rf"mine\.csv: has no question that distinguishes countries \({said}"):
        analyze(survey)
    assert not (tmp_path / "out").exists()
    found = check_values(survey).report
    assert [finding.message for finding in found.findings if finding.severity == "error"]


def test_questions_alike_among_the_countries_at_hand_are_an_error_too(analyze: Analyze, tmp_path: Path) -> None:
    who = (*texts.WHO, "Swedish", "Thai")
    survey = survey_of(tmp_path / "mine.csv", "nationality,power", lambda i, name: f"{name},{int(i > 9)}", who)
    with pytest.raises(DataError, match="power: the same in all of the countries"):
        analyze(survey)


def test_distances_between_countries_are_no_survey(analyze: Analyze, tmp_path: Path) -> None:
    square = survey_of(
        tmp_path / "square.csv", "country,Kenya,Poland,Japan", lambda i, name: f"{name},{i},{2 * i},{9 - i}"
    )
    with pytest.raises(DataError, match="holds distances between countries") as caught:
        analyze(square)
    assert "--control" in str(caught.value.hint)


def test_the_column_of_countries_is_named_where_its_header_does_not_say_so(analyze: Analyze, tmp_path: Path) -> None:
    survey = survey_of(tmp_path / "mine.csv", "land,power", lambda i, name: f"{name},{i}")
    with pytest.raises(DataError, match="no column of countries") as caught:
        analyze(survey)
    assert "--country-column" in str(caught.value.hint)
    assert analyze(survey, country_column="land").values.height == len(texts.WHO)


def test_too_few_countries_for_any_correlation_are_said(analyze: Analyze, tmp_path: Path) -> None:
    survey = survey_of(tmp_path / "mine.csv", "nationality,power", lambda i, name: f"{name},{i}", texts.WHO[:2])
    said = analyze(survey).notes.filter(severity="warning")["text"].to_list()
    assert any("mine: only 2 of the 10 identities" in text and "a correlation needs 3" in text for text in said)


@pytest.mark.parametrize(
    ("one", "other"), [("Kenyan", "kenyan"), ("South  korean", "South Korean"), ("Île-de-France", "île-de-france")]
)
def test_spellings_of_one_name_are_told(tmp_path: Path, one: str, other: str) -> None:
    corpus = texts.write(tmp_path / "answers.parquet", texts.rows(who=(one, other, "French", "Polish")))
    found = kapwa.analyze(corpus, out=tmp_path / "out", workers=1, permutations=19, progress=False)
    said = [
        text for text in found.notes.filter(pl.col("severity") == "warning")["text"] if "spell it in one way" in text
    ]
    assert len(said) == 1
    assert f"{one!r} and {other!r} are read as 2 identities" in said[0]


def test_concepts_too_large_to_permute_are_told(
    analyze: Analyze, survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "(PERMANOVA) for" not in " ".join(analyze(survey).notes["text"])
    for module in ("distances", "summing"):
        monkeypatch.setattr(f"kapwa.analysis.{module}.MOST_PERMUTED", 29)
    found = analyze(survey, seed=1)
    assert found.variance["permanova_p"].null_count() == found.variance.height
    said = found.notes.filter(severity="warning")["text"].to_list()
    assert any(
        "(PERMANOVA) for 5 concepts of 5 with more than 29 texts, such as morals/honesty (30)" in text for text in said
    )
