"""Crossed attributes from prompts to tables: the form, the sample pack, files of answers, and what was planted."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from corpus_samples import Analyze

from kapwa.analysis.corpus import open_corpora
from kapwa.analysis.crossed import crossing_of
from kapwa.errors import DataError
from kapwa.report.page.analysis import build_analysis_report
from kapwa.suites.base import Selection
from kapwa.suites.eecc import suite

WHO, CUES = ("Irish", "Japanese", "Kenyan"), ("name", "stated")
SAMPLES = 3
_WORDS = np.array(
    [f"{a}{b}" for a in ("ba", "ke", "lo", "mi", "su", "ta") for b in ("dan", "ger", "lim", "nok", "rut")]
)


def crossed_rows(*, seed: int = 0, concepts: int = 6, size: int = 24) -> pl.DataFrame:
    """Texts of which a third of the words go with a nationality, a sixth with a cue; Irish ones often say "harp"."""
    rng = np.random.default_rng(seed)
    found = []
    for concept in range(concepts):
        base, place = rng.integers(0, 30, size), rng.permutation(size)
        of_who, of_cue = rng.integers(0, 30, (3, size)), rng.integers(0, 30, (2, size))
        for i, who in enumerate(WHO):
            for j, cue in enumerate(CUES):
                own = base.copy()
                own[place[:8]], own[place[8:12]] = of_who[i, place[:8]], of_cue[j, place[8:12]]
                for sample in range(SAMPLES):
                    words = np.where(rng.random(size) < 0.15, rng.integers(0, 30, size), own)
                    harp = " harp" if who == "Irish" and rng.random() < 0.8 else ""
                    found.append(("town", f"c{concept}", who, cue, sample, " ".join(_WORDS[words]) + harp))
    return pl.DataFrame(found, schema=["topic", "concept", "nationality", "cue", "sample", "text"], orient="row")


def written(path: Path, table: pl.DataFrame) -> Path:
    table.write_csv(path)
    return path


def test_the_sample_pack_asks_every_combination() -> None:
    task = suite.open_task("eecc/qa", "sample:crossed", Selection(), {})
    items = list(task.items())
    assert {item.fields["attribute"] for item in items} == {"nationality × cue × age"}
    assert crossing_of("nationality × cue × age", {item.culture for item in items}) is not None  # type: ignore[arg-type]
    by_who = {item.culture: item.fields["prompt"] for item in items if item.topic == "airing a room"}
    assert by_who["Kenyan × name × pupil"] == "In a few English sentences, explain airing a room to Wanjiru, a pupil."
    assert all("Kenyan" not in prompt for who, prompt in by_who.items() if "× name ×" in who)


def test_levels_are_written_in_a_row_where_no_text_says_otherwise(tmp_path: Path) -> None:
    (tmp_path / "identities.csv").write_text("nationality,religion\nIrish,Jain\n", encoding="utf-8")
    (tmp_path / "concepts.csv").write_text("topic,concept\ntea,brewing\n", encoding="utf-8")
    (tmp_path / "templates.csv").write_text("template\nExplain {concept} to {article} {identity} pupil.\n", "utf-8")
    (item,) = suite.open_task("eecc/qa", tmp_path, Selection(), {}).items()
    assert (item.culture, item.fields["prompt"]) == ("Irish × Jain", "Explain brewing to an Irish Jain pupil.")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("nationality,religion\nIrish,\n", r"row 2, column 'religion': is empty"),
        ("nationality,religion\nIrish,a × b\n", r"row 2, column 'religion': 'a × b' holds ' × '"),
        ("nationality,artcle\nIrish,an\n", r"has 2 columns that could hold the identities"),
    ],
)
def test_what_is_wrong_with_crossed_identities(tmp_path: Path, table: str, message: str) -> None:
    (tmp_path / "identities.csv").write_text(table, encoding="utf-8")
    (tmp_path / "concepts.csv").write_text("topic,concept\ntea,brewing\n", encoding="utf-8")
    (tmp_path / "templates.csv").write_text('template\n"{concept}, {identity}"\n', encoding="utf-8")
    with pytest.raises(DataError, match=message):
        suite.open_task("eecc/qa", tmp_path, Selection(), {})


def test_what_was_planted_is_found_and_shown(analyze: Analyze, tmp_path: Path) -> None:
    found = analyze(written(tmp_path / "a.csv", crossed_rows()), attribute="nationality,cue", permutations=199)
    rows = {row["term"]: row for row in found.factors.filter(topic="all").to_dicts()}
    assert list(rows) == ["nationality", "cue", "nationality × cue", "sampling"]
    assert rows["nationality"]["p"] == rows["cue"]["p"] == 1 / 200
    assert rows["nationality × cue"]["p"] > 0.05
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1)
    # Two texts of two prompts are apart by sampling and by n/(n − 1) of the variance between the means of n prompts.
    total = sum(row["variance"] for term, row in rows.items() if term != "sampling") * 6 / 5
    assert rows["sampling"]["variance"] + total == pytest.approx(found.similarity["wed"].mean() / 2)
    pair = found.factor_pairs.row(0, named=True)
    assert (pair["factor"], pair["by"], pair["level_a"], pair["level_b"]) == ("nationality", "cue", *CUES)
    assert pair["low"] > 0
    starred = found.factor_words.filter(pl.col("p_adjusted") < 0.05)
    assert starred.select("factor", "level", "word").rows() == [("nationality", "Irish", "harp")]
    texts = crossed_rows().filter(nationality="Irish")["text"].str.contains("harp").sum()
    assert starred["texts"].item() == texts
    page = build_analysis_report(found, tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<h2 id="crossed">' in page
    assert "Of all variance of the texts, these attributes alone explain" in page


def test_a_design_that_is_not_full_has_a_note_and_no_table(analyze: Analyze, tmp_path: Path) -> None:
    table = crossed_rows(concepts=2).filter((pl.col("nationality") != "Irish") | (pl.col("cue") != "name"))
    found = analyze(written(tmp_path / "a.csv", table), attribute="nationality,cue", permutations=19)
    assert found.factors.is_empty()
    assert "not every combination" in " ".join(found.notes["text"])
    assert '<h2 id="crossed">' not in build_analysis_report(found, tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_column_that_a_file_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="column 'religion' is missing"):
        open_corpora([written(tmp_path / "a.csv", crossed_rows(concepts=1))], attribute="nationality,religion")
