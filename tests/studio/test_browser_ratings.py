"""Ratings, pairs and the human baseline on a phone, in Korean and in Arabic, and what the coordinator sees."""

import io
import json
import os
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import kapwa

pytest.importorskip("django", reason="the extra 'studio' is not installed")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from studio_ratings import answered  # noqa: E402
from test_browser import CHROMIUM, KAPWA, PHONE, Browser  # noqa: E402
from test_browser import kapwa as command  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A studio of a Korean and an Arabic project with things drawn for both; its address, and codes to come in by."""
    where = {"culture": "South_Korea"}
    task = kapwa.load_task("blend/saq", data="sample", language="local", where=where)
    runs = [answered(tmp_path, task, lambda item, n=n: f"돌 {n} {item.id}", f"model-{n}") for n in (1, 2)]
    texts = kapwa.load_task("eecc/qa", samples=1, identities=["Egyptian"], limit=3, seed=0)
    text = answered(tmp_path, texts, lambda item: f"Egyptians know {item.topic}.", "model-3")
    codes = {}
    for name, language, culture in (("seoul", "ko", "한국"), ("misr", "ar", "مصر")):
        made = command("studio", "new", name, "--language", language, "--culture", culture, cwd=tmp_path)
        codes[f"{name}-coordinator"] = made.stdout.strip()
        table = command("studio", "invite", name, "--role", "rater,validator", cwd=tmp_path).stdout
        found = re.search(r"\d{4}-\d{4}-\d{4}", table)
        assert found
        codes[name] = found[0]
    for line in (
        ["seoul", str(runs[0]), "--kind", "errors", "--sample", "3", "--raters", "1"],
        ["seoul", str(runs[0]), "--second", str(runs[1]), "--kind", "pairs", "--sample", "2", "--raters", "1"],
        ["misr", "sample:egyptian", "--kind", "baseline", "--sample", "3", "--raters", "1"],
        ["misr", str(text), "--kind", "adaptation", "--sample", "2", "--raters", "1"],
    ):
        command("studio", "tasks", *line, cwd=tmp_path)
    server = subprocess.Popen(
        [*KAPWA, "studio", "serve", "--port", "0"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stderr is not None
        address = re.search(r"http://\S+", server.stderr.readline())
        assert address
        yield address[0], codes
    finally:
        server.terminate()
        server.wait(timeout=20)


def work(who: Browser, path: str, choice: str = "") -> int:
    """Do all that waits at a desk on a phone; ``choice``: the value taken in each field, else each in turn."""
    page, done = who.page, 0
    page.goto(f"{who.address}{path}")
    who.look(path)
    while page.locator("form.work").count():
        page.set_viewport_size(PHONE)
        for field in page.locator("form.work fieldset").all():
            options = field.locator(f"input[value={choice}]" if choice else "input")
            options.nth(done % options.count()).check()
        page.locator("form.work textarea").fill("<b>비고</b> ملاحظة")
        page.locator("form.work button[value=save]").click()
        page.wait_for_load_state()
        done += 1
    who.look(f"{path} done")
    return done


def test_two_communities_judge_on_phones(served: tuple[str, dict[str, str]], tmp_path: Path) -> None:
    address, codes = served
    pictures = Path(os.environ.get("KAPWA_PICTURES") or tmp_path / "pictures")
    pictures.mkdir(parents=True, exist_ok=True)
    with api.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

        def come(name: str, called: str, language: str) -> Browser:
            context = chromium.new_context()
            found = Browser(context, address, pictures, name).arrive(codes[name], called)
            context.add_cookies([{"name": "django_language", "value": language, "url": address}])
            return found

        korean = come("seoul", "민지", "ko")
        assert work(korean, "/p/seoul/work/errors/", "yes") == 3
        assert korean.page.locator("html[lang=ko][dir=ltr]").count() == 1
        assert "model-" not in korean.page.content()
        assert work(korean, "/p/seoul/work/pairs/") == 2
        arab = come("misr", "نورا", "ar")
        arab.page.goto(f"{address}/p/misr/work/baseline/")
        assert arab.page.locator("form.work fieldset span[dir=rtl]").count() == 4
        assert work(arab, "/p/misr/work/baseline/") == 3
        assert work(arab, "/p/misr/work/adaptation/", "no") == 2
        assert arab.page.locator("html[lang=ar][dir=rtl]").count() == 1
        for name, kinds in (("seoul", ("errors", "pairs")), ("misr", ("baseline", "adaptation"))):
            head = Browser(chromium.new_context(), address, pictures, name).arrive(codes[f"{name}-coordinator"], "Ana")
            head.go(f"/p/{name}/results/")
            for kind in kinds:
                head.go(f"/p/{name}/results/{kind}/")
                with head.page.expect_download() as taken:
                    head.page.get_by_role("link", name="Files (ZIP)").click()
                packed = zipfile.ZipFile(io.BytesIO(Path(taken.value.path()).read_bytes()))
                packed.extractall(tmp_path / "files")
            assert head.complaints == []
        assert korean.complaints == arab.complaints == []
        chromium.close()
    told = command("agreement", "files/baseline", "--data", "sample:egyptian", "--json", cwd=tmp_path)
    assert json.loads(told.stdout)["mean"]["n"] == 3
    told = command("ratings", "files/errors", "--key", "files/errors", "--json", cwd=tmp_path)
    assert {row["value"] for row in json.loads(told.stdout)["shares"]} == {1.0}
