"""The page in a real browser, from disk: nothing runs, nothing is refused, it fits phones, and it prints."""

from pathlib import Path

import pytest
from browsing import BROWSER, browse, laid_out, printed, without_policy
from report_fixtures import make_run
from test_report_page import canary_run
from wide_fixtures import choice_run, wide_run

from kapwa.report.page import build_report

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (apt-get install chromium)")

# Tells the page around it how things were laid out: what sticks out, what overlaps, how charts are arranged.
PROBE = """<script>
document.querySelectorAll('details').forEach(d => d.open = true);
const box = e => e.getBoundingClientRect();
const meets = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
const rows = [...document.querySelectorAll('.row:has(.name)')];
const drawn = [...document.querySelectorAll('figure.chart svg text, figure.chart circle, figure.chart path')];
parent.postMessage(JSON.stringify({
  overflow: document.documentElement.scrollWidth - innerWidth,
  paper: getComputedStyle(document.body).backgroundColor,
  spread: [...document.querySelectorAll('main p, main li, main figure, .case, .row > *')]
    .filter(e => box(e).right > innerWidth + 1).length,
  outside: drawn.filter(e => box(e).left < -1 || box(e).right > innerWidth + 1).length,
  rows: rows.length,
  stacked: rows.filter(r => box(r.querySelector('.plot')).top >= box(r.querySelector('.name')).bottom - 1).length,
  overlaps: rows.filter(r => meets(box(r.querySelector('.name')), box(r.querySelector('.value')))).length,
  heads: [...document.querySelectorAll('.row.head')].filter(h => {
    const labels = [...h.querySelectorAll('text')].map(box);
    return labels.some((a, i) => labels.slice(i + 1).some(b => meets(a, b)));
  }).length,
}), '*');
</script>"""


def picture(page: Path, *flags: str) -> bytes:
    shot = page.with_suffix(".png")
    browse(page, "--window-size=900,1600", "--hide-scrollbars", f"--screenshot={shot}", *flags)
    return shot.read_bytes()


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
    attacked = page.with_name("attacked.html")
    script = "<script>document.title='owned'</script>"
    attacked.write_text(page.read_text("utf-8").replace("</body>", script + "</body>"), "utf-8")
    assert "<title>owned" not in browse(attacked, "--dump-dom")


@pytest.mark.parametrize("cultures", [("Filipino", "Ilokano"), ("مصر", "대한민국", "ኢትዮጵያ", "অসম"), ()])
@pytest.mark.parametrize("width", [360, 390, 1200])
def test_it_fits_phones_and_desks_in_every_script(tmp_path: Path, cultures: tuple[str, ...], width: int) -> None:
    name = "organisation/a-model-with-a-very-long-name-" + "x" * 60
    runs = [make_run(name, cultures=cultures), make_run("b", cultures=cultures)] if cultures else []
    runs = runs or [wide_run("org/" + "long-name-" * 8, per_culture=24), choice_run("b", n=24)]
    seen = laid_out(build_report(runs, tmp_path / "report.html"), PROBE, width)
    assert seen["overflow"] <= 0
    assert seen["spread"] == seen["outside"] == seen["overlaps"] == seen["heads"] == 0
    # One drawing: on a phone labels and numbers stand over each row, on a desk beside it.
    assert seen["stacked"] == (seen["rows"] if width < 600 else 0)
    assert seen["rows"] >= 8
    assert seen["paper"] == "rgb(254, 254, 254)"


def test_dark_screens_get_dark_paper(tmp_path: Path) -> None:
    page = build_report([make_run(cultures=("Filipino",))], tmp_path / "report.html")
    seen = laid_out(page, PROBE, 900, "--blink-settings=preferredColorScheme=0")
    assert seen["paper"] == "rgb(21, 24, 27)"


def test_it_prints_with_every_detail_open(tmp_path: Path) -> None:
    text = printed(build_report([make_run(cultures=("مصر", "অসম"))], tmp_path / "report.html"))
    if not text:
        pytest.skip("no pdftotext is installed (apt-get install poppler-utils)")
    assert "kapwa:0.1.0|task:kalahi/mc" in text.replace("\n", "")
    assert "Download CSV" not in text
