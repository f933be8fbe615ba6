"""The embedded model's texts, pairs and a human baseline, judged by three people each on phones, up to the report."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from studio_browser import CHROMIUM, Browser, browsing, invited, judge, serving
from studio_browser import kapwa as command

pytestmark = [pytest.mark.slow(70), pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
CULTURES = {"seoul": ("ko", "한국"), "misr": ("ar", "مصر")}


def ran(folder: Path, name: str, task: str, *options: str) -> str:
    """Run the embedded model; returns the run's folder."""
    command("run", task, "--model", "smollm2", *options, "--out", f"runs/{name}", cwd=folder)
    return str(next((folder / "runs" / name).iterdir()))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """A studio of a Korean and an Egyptian project with things drawn for both; its address, and codes to come in by."""
    saq = ("--data", "sample", "--where", "culture=South_Korea", "--language", "local", "--limit", "2")
    runs = [ran(tmp_path, f"saq-{n}", "blend/saq", *saq, "--max-new-tokens", str(n)) for n in (4, 8)]
    qa = ("--samples", "1", "--identities", "Egyptian", "--limit", "2", "--max-new-tokens", "8")
    texts = ran(tmp_path, "qa", "eecc/qa", *qa)
    codes = {}
    for name, (language, culture) in CULTURES.items():
        made = command("studio", "new", name, "--language", language, "--culture", culture, cwd=tmp_path)
        codes[name] = [made.stdout.strip(), *invited(tmp_path, name, "rater,validator", 3)]
    for line in (
        ["seoul", runs[0], "--kind", "errors", "--sample", "2"],
        ["seoul", runs[0], "--second", runs[1], "--kind", "pairs", "--sample", "1"],
        ["misr", "sample:egyptian", "--kind", "baseline", "--sample", "2"],
        ["misr", texts, "--kind", "adaptation", "--sample", "2"],
    ):
        command("studio", "tasks", *line, cwd=tmp_path)
    with serving(tmp_path) as address:
        yield address, codes


def test_two_communities_judge_on_phones(served: tuple[str, dict[str, list[str]]], tmp_path: Path) -> None:
    address, codes = served
    with browsing() as chromium:

        def come(name: str, place: int) -> Browser:
            context = chromium.new_context()
            found = Browser(context, address, name).come_in(codes[name][place], f"P{place}")
            context.add_cookies([{"name": "django_language", "value": CULTURES[name][0], "url": address}])
            return found

        for place in (1, 2, 3):
            korean, arab = come("seoul", place), come("misr", place)
            assert judge(korean, "/p/seoul/work/errors/", "yes") == 2
            assert korean.page.locator("html[lang=ko][dir=ltr]").count() == 1
            assert judge(korean, "/p/seoul/work/pairs/") == 1
            assert "smollm" not in korean.page.content().lower()
            arab.page.goto(f"{address}/p/misr/work/baseline/")
            assert arab.page.locator("form.work fieldset span[dir=rtl]").count() == 4
            assert judge(arab, "/p/misr/work/baseline/") == 2
            assert judge(arab, "/p/misr/work/adaptation/", "no" if place == 1 else "yes") == 2
            assert arab.page.locator("html[lang=ar][dir=rtl]").count() == 1
            assert korean.complaints == arab.complaints == []
        for name, kinds in (("seoul", ("errors", "pairs")), ("misr", ("baseline", "adaptation"))):
            head = Browser(chromium.new_context(), address, name).come_in(codes[name][0], "Ana")
            head.go(f"/p/{name}/results/")
            for kind in kinds:
                head.go(f"/p/{name}/results/{kind}/")
                with head.page.expect_download() as taken:
                    head.page.get_by_role("link", name="All answers as a table").click()
                taken.value.save_as(tmp_path / "files" / kind / f"{kind}.csv")
            assert head.complaints == []
    said = command("label", "agree", "files/baseline", "--data", "sample:egyptian", "--json", cwd=tmp_path)
    ceiling = json.loads(said.stdout)
    assert (ceiling["items"], len(ceiling["people"])) == (2, 3)
    rated = {}
    for kind in ("errors", "adaptation"):
        said = command("label", "read", f"files/{kind}", "--json", cwd=tmp_path)
        rated[kind] = {row["value"] for row in json.loads(said.stdout)["shares"]}
    assert rated == {"errors": {1.0}, "adaptation": {1.0}}  # two of three are a majority
    run = ran(tmp_path, "mc", "kalahi/mc", "--data", "sample:egyptian", "--limit", "2")
    command("report", run, "--people", "files", "-o", "report.html", cwd=tmp_path)
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for said in ("What people chose: kalahi/mc", "six classes of error", "Is the text fitted", "text people prefer"):
        assert said in page
