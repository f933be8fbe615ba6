"""Keys of votes in a real browser: they choose, finish and go on to the next, and never act while somebody types."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from studio_browser import CHROMIUM, Browser, browsing, invited, kapwa, serving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


def come(chromium: Any, address: str, code: str, name: str) -> Browser:
    """Let somebody in; other tests look at the pages on the way."""
    someone = Browser(chromium.new_context(), address, name)
    someone.page.goto(address)
    someone.page.get_by_label("Code").fill(code)
    someone.press("Sign in")
    someone.page.get_by_label("A name that others will see").fill(name)
    someone.press("Continue")
    someone.follow("I have saved it, continue")
    someone.page.get_by_label("What I write may be published").check()
    someone.page.get_by_label("I have read this and want to take part.").check()
    someone.press("Continue")
    return someone


def test_keys_vote_and_go_on_and_a_field_says_its_room(tmp_path: Path) -> None:
    new = kapwa("studio", "new", "baryo", "--language", "fil", "--culture", "Filipino", cwd=tmp_path)
    kapwa("studio", "import", "baryo", "sample:filipino", cwd=tmp_path)
    code = invited(tmp_path, "baryo", "reviewer")[0]
    with serving(tmp_path) as address, browsing() as chromium:
        ana = come(chromium, address, new.stdout.strip(), "Ana")
        for number in (1, 2):
            ana.page.goto(f"{address}/p/baryo/situations/{number}/")
            ana.press("Send to review")
        edo = come(chromium, address, code, "Edo")
        edo.follow("Vote on situation 1")
        edo.look("vote with keys")
        page = edo.page
        page.locator("html[data-keeps]").wait_for()
        remark = page.locator("#remark")
        remark.fill("a" * 3400)
        assert page.get_by_text("3400 of 4000 characters").is_visible()
        remark.fill("b" * 4001)
        page.get_by_role("button", name="Accept as it is").click()
        assert page.get_by_text("4001 of 4000 characters").is_visible()  # it is not sent, and the form stays
        assert page.url.endswith("/situations/1/")
        remark.fill("")
        remark.press_sequentially("32 x")  # keys are text here
        assert page.locator("input[name=best]:checked").count() == 0
        remark.blur()
        page.keyboard.press("2")
        assert page.locator("input[name=best]:checked").input_value() == "2"
        with page.expect_navigation():
            page.keyboard.press("Enter")
        page.wait_for_url("**/situations/2/")  # the next one
        page.locator("html[data-keeps]").wait_for()
        page.get_by_role("button", name="Turn the keys off").click()
        page.get_by_role("button", name="Turn the keys on").blur()
        page.keyboard.press("1")
        assert page.locator("input:checked").count() == 0
        page.get_by_role("button", name="Turn the keys on").click()
        page.get_by_role("button", name="Turn the keys off").blur()
        page.keyboard.press("1")
        with page.expect_navigation():
            page.keyboard.press("Enter")
        page.get_by_text("There is nothing for you to do now.").wait_for()
        assert edo.complaints == []
