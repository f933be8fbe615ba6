"""A group's spreadsheet in a real browser, on a desk and on a phone: which column is which, rows as they will be."""

from pathlib import Path

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
from studio_browser import CHROMIUM, DESKTOP, Browser, browsing, invited, kapwa, serving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
SHEET = "\n".join(
    [
        "Blg,Paksa,Sitwasyon,Ano raw,Pinakamahusay,Mabuting sagot,Maling sagot",
        *(f"{n},pista,Pista sa barangay {n}.,Ano ang gagawin mo?,Pupunta ako.,Tutulong ako.,Aalis." for n in range(12)),
        "13,pista,,Ano ang gagawin mo?,Pupunta ako.,Tutulong ako.,Aalis.",
    ]
)


def test_a_spreadsheet_comes_in_by_keyboard_alone(tmp_path: Path) -> None:
    kapwa("studio", "new", "baryo", "--culture", "Filipino", "--language", "fil", cwd=tmp_path)
    table = tmp_path / "amin.csv"
    table.write_text(SHEET, encoding="utf-8")
    with serving(tmp_path, "baryo") as address, browsing() as chromium:
        context = chromium.new_context(viewport=DESKTOP, locale="en-GB")
        (code,) = invited(tmp_path, "baryo", "writer")
        berto = Browser(context, address, "Berto").come_in(code, "Berto")
        berto.go("/p/baryo/import/")
        berto.page.locator("#file").set_input_files(table)
        berto.page.locator("#pasted").focus()
        with berto.page.expect_navigation():
            for key in ("Tab", "Enter"):
                berto.page.keyboard.press(key)
        berto.look("columns")
        column = berto.page.get_by_label("Ano raw")
        assert column.input_value() == ""
        column.select_option("instruction")
        with berto.page.expect_navigation():
            berto.page.get_by_role("button", name="Show the rows again").press("Enter")
        shown = berto.page.locator("tbody tr").all_inner_texts()
        assert len(shown) == 10
        assert all("Ano ang gagawin mo?" in row for row in shown)
        berto.press("Import")
        assert "12 rows were imported" in berto.page.get_by_text("were imported").inner_text()
        assert "Row 14, Sitwasyon" in berto.page.locator(".findings").inner_text()
        berto.look("imported")
        berto.page.context.add_cookies([{"name": "django_language", "value": "ar", "url": address}])
        berto.go("/p/baryo/import/")
        berto.page.locator("#file").set_input_files(table)
        with berto.page.expect_navigation():
            berto.page.locator("main form button").last.click()
        berto.look("columns in Arabic")
        berto.go("/p/baryo/search/?q=barangay")
        berto.go("/p/baryo/glossary/")
        assert berto.complaints == []
