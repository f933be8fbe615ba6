"""Pages in a real browser, from disk: nothing runs that should not, nothing is refused, they fit phones and print."""

import re
from pathlib import Path

import polars as pl
import pytest
from analysis_fixtures import make_analysis
from browsing import BROWSER, WATCH, browse, laid_out, printed, probed, without_policy
from report_fixtures import choice_run, make_run, wide_run
from test_analysis_page import poisoned
from test_report_page import canary_run

from kapwa.report.page.analysis import build_analysis_report
from kapwa.report.page.runs import build_report

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (apt-get install chromium)"),
]


PROBE, EXPLORER_PROBE, LAYOUT = (
    Path(__file__).with_name(f"probe_{name}.html").read_text(encoding="utf-8")
    for name in ("report", "explorer", "analysis")
)


# 0 is dark; --force-dark-mode does not change what a page is told.
DARK = ("--blink-settings=preferredColorScheme=0",)


def picture(page: Path, *flags: str) -> bytes:
    shot = page.with_suffix(".png")
    browse(page, "--window-size=900,1600", "--hide-scrollbars", f"--screenshot={shot}", *flags)
    return shot.read_bytes()


def attacked(page: Path) -> Path:
    """A copy of the page with a script that its policy does not know."""
    copy = page.with_name("attacked.html")
    script = "<script>document.title='owned'</script></body>"
    copy.write_text(page.read_text("utf-8").replace("</body>", script), "utf-8")
    return copy


def test_no_script_runs_whatever_the_run_is_called(tmp_path: Path) -> None:
    page = build_report([canary_run()], tmp_path / "report.html")
    dom = browse(without_policy(page), "--dump-dom")
    assert "</html>" in dom
    assert "<title>owned" not in dom


def test_the_policy_refuses_scripts_and_nothing_of_ours(tmp_path: Path) -> None:
    page = build_report([make_run(cultures=("Filipino",))], tmp_path / "report.html")
    ours = picture(page)
    assert picture(without_policy(page)) == ours
    broken = page.with_name("broken.html")
    broken.write_text(page.read_text("utf-8").replace("sha256-", "sha256-AAAA", 1), "utf-8")
    assert picture(broken) != ours
    assert "<title>owned" not in browse(attacked(page), "--dump-dom")


@pytest.mark.parametrize("cultures", [("Filipino", "Ilokano"), ("مصر", "대한민국", "ኢትዮጵያ", "অসম"), ()])
def test_it_fits_phones_and_desks_in_every_script(tmp_path: Path, cultures: tuple[str, ...]) -> None:
    name = "organisation/a-model-with-a-very-long-name-" + "x" * 60
    runs = [make_run(name, cultures=cultures), make_run("b", cultures=cultures)] if cultures else []
    for run in runs:  # small models stutter: one word of a thousand letters
        run.tables["cases"] = run.table("cases").with_columns(pl.col("got") + "ta" * 500)
    runs = runs or [wide_run("org/" + "long-name-" * 8, per_culture=12), choice_run("b", n=12)]
    page = build_report(runs, tmp_path / "report.html")
    for width, seen in laid_out(page, PROBE, 360, 1200).items():
        assert seen["overflow"] <= 0, width
        assert seen["spread"] == seen["captions"] == seen["outside"] == seen["overlaps"] == seen["heads"] == 0, width
        assert seen["narrow"] == 0, "words under words have room"
        # The board by variant: scores on one line where it scrolls, and the whole of it where there is room.
        assert seen["squeezed" if width < 600 else "variants"] == 0, width
        # One drawing: on a phone labels and numbers stand over each row, on a desk beside it.
        assert seen["stacked"] == (seen["rows"] if width < 600 else 0)
        assert seen["rows"] >= 8
        assert seen["paper"] == "rgb(254, 254, 254)"


def test_it_prints_with_every_detail_open(tmp_path: Path) -> None:
    text = printed(build_report([make_run(cultures=("مصر", "অসম"))], tmp_path / "report.html"))
    if not text:
        pytest.skip("no pdftotext is installed (apt-get install poppler-utils)")
    assert "kapwa:0.1.0|task:kalahi/mc" in text.replace("\n", "")
    assert "Download CSV" not in text


def test_the_policy_lets_the_pages_own_script_run_and_no_other(tmp_path: Path) -> None:
    page = build_analysis_report(poisoned(make_analysis(identities=8, concepts=3)), tmp_path / "page.html")
    dom = browse(attacked(page), "--virtual-time-budget=5000", "--dump-dom")
    assert re.search(r'<html[^>]*class="js"', dom)
    assert dom.count("<select") >= 6
    assert "<title>owned" not in dom


def test_readers_can_choose_search_sort_compare_and_point(tmp_path: Path) -> None:
    made = make_analysis(identities=30, concepts=12)
    page = build_analysis_report(made, tmp_path / "page.html")
    told = probed(without_policy(page, EXPLORER_PROBE, WATCH))
    assert told["failed"] == []
    assert told["panes"] == 1
    assert told["found"] == ["Japanese"]
    assert told["status"] == "1 of 30 rows"
    assert told["second"].endswith("narrator-7b T 0.3, answers to questions")
    assert told["kept"] == 1
    numbers = [float(text.replace("−", "-")) for text in told["down"]]
    assert numbers == sorted(numbers, reverse=True)
    assert told["up"] == told["down"][::-1] or [float(text) for text in told["up"]] == sorted(numbers)
    assert told["sorted"] == "ascending"
    assert told["labels"][:2] == ["Corpus", "Concept"]
    assert "First nationality" in told["labels"]
    assert "Sample of the second nationality" in told["labels"]
    assert set(told["texts"]) <= set(made.texts["text"])
    assert len(told["marks"]) >= 2
    assert not any(" " in mark for mark in told["marks"])
    assert re.search(r"Marked: \d+ of \d+ words.*BLEU 0\.\d\d and word edit distance 0\.\d\d", told["pair"])
    assert told["same"] == 0
    assert told["samples"] == ["American, sample 1", "American, sample 2"]
    assert told["names"] == ["American", "American"]
    assert told["lang"] == "en"
    assert re.search(r"and .*: 0\.\d\d$", told["pointed"])
    assert told["diagonal"] == ""


def test_it_fits_phones_and_desks(tmp_path: Path) -> None:
    models = ("organisation/a-model-with-a-very-long-name-" + "x" * 50, "b")
    page = build_analysis_report(make_analysis(models=models, identities=20, concepts=9), tmp_path / "page.html")
    for width, seen in laid_out(page, LAYOUT, 360, 1200).items():
        assert seen["overflow"] <= 0, width
        assert seen["wide"] == 0, width
        assert seen["names"] < 1.1, "names fit their rows"
        assert seen["paper"] == "rgb(254, 254, 254)"


def test_dark_screens_get_dark_paper_and_light_marks(tmp_path: Path) -> None:
    page = build_analysis_report(make_analysis(models=("m",), identities=8, concepts=9), tmp_path / "page.html")
    seen = laid_out(page, LAYOUT, 900, flags=DARK)[900]
    assert seen["paper"] == "rgb(21, 24, 27)"
    assert seen["pixels"].startswith("invert(1)")
    assert seen["map"] == "rgb(39, 76, 79)"


def test_it_prints_one_corpus_of_many_and_no_controls(tmp_path: Path) -> None:
    text = printed(build_analysis_report(make_analysis(identities=12, concepts=9), tmp_path / "page.html"))
    if not text:
        pytest.skip("no pdftotext is installed (apt-get install poppler-utils)")
    words = " ".join(text.split())
    assert "The words that mark each nationality: storyteller-2b T 0.3, answers to questions" in words
    assert "The words that mark each nationality: narrator-7b" not in words
    assert "brevity:nmt|tokenizer" in text.replace("\n", "")
    for control in ("Download CSV", "Find a word", "Full size"):
        assert control not in words
