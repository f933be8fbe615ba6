"""A phone-sized browser and an empty folder: by buttons alone to a project whose people are in."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from studio_browser import CHROMIUM, PHONE, Browser, browsing

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


def test_from_an_empty_folder_to_people_who_are_in(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kapwa", "studio", "serve", "--open", "--port", "0"]
    environment = {**os.environ, "BROWSER": "true"}
    server = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        server.stderr.readline()
        link = re.search(r"http://(\S+?)(/join/\S+)", server.stderr.readline())
        assert link
        with browsing() as chromium:
            ana = Browser(chromium.new_context(viewport=PHONE), f"http://{link[1]}", "ana")
            page = ana.page
            ana.go(link[2])
            ana.press("Continue")
            ana.look("begin")
            page.get_by_label("Title").fill("Ang buhay natin")
            page.get_by_label("Whose culture").fill("Filipino")
            page.get_by_label("Languages people write in").fill("Klingonish!")
            page.get_by_label("Situations from people's lives").check()
            page.get_by_label("Writer").fill("2")
            page.set_viewport_size(PHONE)
            ana.press("Begin")
            assert "is not the tag of a language" in page.locator("#wrong-languages").inner_text()
            ana.look("begin wrong")
            page.get_by_label("Languages people write in").fill("Filipino, Cebuano")
            ana.press("Begin")
            page.get_by_label("A name that others will see").fill("Ana")
            ana.press("Continue")
            ana.look("codes")
            codes = re.findall(r"\d{4}(?:-\d{4}){3}", page.inner_text("main"))
            invited = list(dict.fromkeys(codes[2:]))
            assert len(invited) == 2
            page.get_by_role("link", name="I have saved it, continue").click()
            page.get_by_label("I have read this and want to take part.").check()
            ana.press("Continue")
            for path in ("backup/", "results/", "releases/"):
                ana.go(f"/p/ang-buhay-natin/{path}")
            ana.go("/p/ang-buhay-natin/backup/")
            ana.press("Check the project")
            assert "every table agrees with the log" in page.inner_text("main")
            ana.press("Make a recovery code")
            ana.look("recovery")
            ana.go("/projects/")
            assert "Ang buhay natin" in page.inner_text("main")
            berto = Browser(chromium.new_context(viewport=PHONE), ana.address, "berto").arrive(invited[0], "Berto")
            berto.page.get_by_role("link", name="Write a situation").wait_for()
            assert ana.complaints == [text for text in ana.complaints if "400" in text]
    finally:
        server.terminate()
        server.wait(timeout=20)
