"""Pages about quality and about who took part in a real browser, wide and narrow, held against axe."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
from studio_browser import CHROMIUM, Browser, browsing, invited, kapwa, serving

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
ANSWERS = """
from pathlib import Path
from kapwa.studio.settings import configure
configure(Path("kapwa-studio"))
import kapwa.studio.urls
from studio_answers import answer, answerers, ask
from test_quality import check
from kapwa.studio.models import Project
project = Project.objects.get()
questions = [ask(project, f"질문 {n}?") for n in range(6)]
check(project, questions[0], "서울")
for place, member in enumerate(answerers(project, 5)):
    member.background = {"locality": "Seoul"}
    member.save()
    for n, question in enumerate(questions):
        answer(member, question, "몰라요" if place == 4 else "서울" if n == 0 else f"밥 {n}")
"""


def test_a_coordinator_and_a_scribe_look_after_quality(tmp_path: Path) -> None:
    options = ("--form", "blend", "--language", "ko", "--culture", "Seoul")
    code = kapwa("studio", "new", "araw", *options, cwd=tmp_path).stdout.strip()
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(Path(__file__).parent)])}
    subprocess.run([sys.executable, "-c", ANSWERS], cwd=tmp_path, env=here, check=True)
    (scribe,) = invited(tmp_path, "araw", "scribe")
    with serving(tmp_path, "araw") as address, browsing() as browser:
        ana = Browser(browser.new_context(), address, "ana").come_in(code, "Ana")
        ana.go("/p/araw/checks/")
        ana.go("/p/araw/quality/answers/")
        with ana.page.expect_navigation():
            ana.page.locator("tr:has(strong) th a").first.click()
        ana.look("person")
        ana.page.get_by_label("Reason").select_option("careless")
        ana.page.get_by_label("What you saw in the answers").fill("모두 몰라요")
        ana.press("Ask to set them aside")
        person = ana.page.url
        dina = Browser(browser.new_context(), address, "dina").come_in(scribe, "Dina")
        dina.page.goto(person)
        dina.press("I agree: set them aside")
        dina.look("set aside")
        assert "figures and releases leave them out" in dina.page.locator(".warn").inner_text()
        ana.page.goto(f"{address}/p/araw/who/")
        ana.page.get_by_label("Where you live").check()
        ana.press("Save")
        ana.look("who")
        # Without a word on what is kept nothing is, and nothing that was typed is lost.
        dina.page.goto(f"{address}/p/araw/about/")
        dina.page.get_by_label("Where you live").fill("부산")
        dina.page.get_by_role("button", name="Save").click()
        dina.page.get_by_text("Agree to this, or empty all fields.").wait_for()
        assert dina.page.get_by_label("Where you live").input_value() == "부산"
        dina.look("about")
        dina.page.get_by_label("The project may keep this").check()
        dina.press("Save")
        assert ana.complaints == []
        assert [" 400 " in complaint for complaint in dina.complaints] == [True]  # the refusal, and nothing else
