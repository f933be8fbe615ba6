"""Studio I in a real browser: four people of two languages, a withdrawal, two releases, a run; every page seen."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from studio_browser import CHROMIUM, DESKTOP, Browser, browsing, kapwa, launched, serving  # noqa: E402 - needs a browser

pytestmark = [pytest.mark.slow(70), pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a fresh studio, and the code of its coordinator."""
    options = ("--language", "fil", "--languages", "ar", "--culture", "Filipino and Egyptian")
    new = kapwa("studio", "new", "bayan", *options, "--title", "Dalawang bayan", cwd=tmp_path)
    with serving(tmp_path, "bayan") as address:
        yield address, new.stdout.strip()


def test_back_shows_nothing_of_whoever_left_a_shared_phone(served: tuple[str, str]) -> None:
    address, code = served
    with api.sync_playwright() as started:
        # As people's browsers do, keep whole pages for "Back".
        page = launched(started, ignore_default_args=["--disable-back-forward-cache"]).new_page()
        page.goto(address)
        page.get_by_label("Code").fill(code)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("A name that others will see").fill("Lihim na pangalan")
        page.get_by_role("button", name="Continue").click()
        page.goto(f"{address}/p/bayan/me/")
        assert "Lihim na pangalan" in page.content()
        page.locator("details.person summary").click()
        with page.expect_navigation():
            page.get_by_role("button", name="Sign out on this device").click()
        for _ in range(3):
            with suppress(api.Error):  # what a form was answered with is not even asked for again
                page.go_back()
            assert "Lihim na pangalan" not in page.locator("body").inner_html()


def sample(pack: str) -> list[dict[str, str]]:
    """The situations of a sample pack as the fields of the writing desk."""
    from kapwa.suites.kalahi.data import read_situations

    items, _ = read_situations(f"sample:{pack}")
    found = []
    for item in {one.cluster: one for one in items if one.variant == "full"}.values():
        fields = {name: item.fields[name] for name in ("user", "context", "personal_situation", "instruction")}
        for group in ("relevant", "irrelevant"):
            fields |= {f"{group}_{place}": text for place, text in enumerate(item.fields[group], start=1)}
        place = item.fields["relevant"].index(item.fields["best"]) + 1
        found.append({**fields, "best": str(place), "language": item.language, "category": item.category})
    return found


def write(who: Browser, fields: dict[str, str], path: str = "/p/bayan/situations/new/") -> int:
    """Write a situation at the desk, and return its number."""
    who.page.goto(who.address + path)
    page = who.page
    page.get_by_label("Language", exact=True).select_option(fields["language"])
    page.get_by_label("Topic").select_option(index=1)
    page.get_by_label("Category").select_option(fields["category"])
    for name, text in fields.items():
        if name not in ("best", "language", "category") and text:
            page.locator(f"#{name}").fill(text)
    page.get_by_label(f"Response {fields['best']} is the best").check()
    # What htmx shows beside, before anything is saved.
    page.locator("#told section[aria-label=full]").get_by_text(fields["context"]).wait_for()
    who.press("Save")
    who.look_once(f"situation-{fields['language']}")
    heading = re.search(r"Situation (\d+)", page.locator("h1").inner_text())
    assert heading
    return int(heading[1])


def test_two_communities_make_a_release_in_the_browser(served: tuple[str, str], tmp_path: Path) -> None:
    address, code = served
    with browsing() as chromium:
        everybody: list[Browser] = []

        def somebody(code: str, name: str) -> Browser:
            context = chromium.new_context(viewport=DESKTOP, locale="en-GB")
            who = Browser(context, address, name)
            everybody.append(who.come_in(code, name) if everybody else who.arrive(code, name))
            return who

        ana = somebody(code, "Ana")
        ana.go("/p/bayan/settings/")
        ana.go("/p/bayan/topics/")
        ana.page.get_by_label("Or paste many").fill("friendship, survey\nfood and gatherings, survey")
        ana.press("Add")
        ana.look("topics-filled")
        ana.go("/p/bayan/people/")
        codes = []
        for roles in (("writer", "reviewer"), ("writer", "reviewer"), ("scribe",), ("writer", "reviewer")):
            for role in roles:
                ana.page.locator(f"form input[name=roles][value={role}]").first.check()
            ana.press("Make codes")
            codes.append(ana.page.locator(".invitations .code").inner_text())
        ana.look("invitations")
        berto, huda, dina, edo = (
            somebody(one, name) for one, name in zip(codes, ("Berto", "هدى", "Dina", "Edo"), strict=True)
        )

        # Eliciting: an answer becomes a situation, with the way back to it.
        berto.go("/p/bayan/elicit/")
        berto.page.get_by_label("An elder you respect").check()
        berto.page.get_by_label("Your answer", exact=True).fill("Pinagsabihan ako ng lola ko sa harap ng mga bisita.")
        berto.press("Save my answer")
        berto.look("elicited")
        berto.follow("Make a situation from this answer")
        berto.look("desk-of-an-answer")

        # Two situations of two people, and one more whose writer will withdraw.
        filipino = write(berto, sample("filipino")[0])
        arabic = write(huda, sample("egyptian")[0])
        withdrawn = write(edo, {**sample("filipino")[3], "user": CANARY})
        huda.go(f"/p/bayan/situations/{arabic}/edit/")
        assert huda.page.locator("#context").evaluate("e => getComputedStyle(e).direction") == "rtl"
        for writer, number in ((berto, filipino), (huda, arabic), (edo, withdrawn)):
            writer.page.goto(f"{address}/p/bayan/situations/{number}/")
            writer.press("Send to review")

        # A session: blind votes, reveal, discussion, a change for a reason, another round, acceptance.
        dina.go("/p/bayan/sessions/")
        dina.page.get_by_label("Title").fill("Unang pulong")
        for one in ("Berto", "هدى", "Edo"):
            dina.page.get_by_label(one).check()
        dina.press("Start")
        dina.look("session")

        def vote(who: Browser, number: int, choice: str = "Accept as it is") -> None:
            who.page.goto(f"{address}/p/bayan/situations/{number}/")
            who.press(choice)

        def accept(number: int, *voters: Browser) -> None:
            for who in voters:
                vote(who, number)
            dina.page.goto(f"{address}/p/bayan/situations/{number}/")
            dina.press("Reveal the votes")
            dina.press("Accept")  # the next situation follows
            dina.page.goto(f"{address}/p/bayan/situations/{number}/")
            assert "accepted" in dina.page.locator("h1").inner_text()

        vote(huda, filipino, "Should be changed")
        vote(edo, filipino)
        assert edo.page.locator("table").count() == 0
        edo.look("blind")
        dina.page.goto(f"{address}/p/bayan/situations/{filipino}/")
        dina.press("Reveal the votes")
        edo.page.goto(f"{address}/p/bayan/situations/{filipino}/")
        edo.page.get_by_label("Write something").fill("Sa amin, iba ang sinasabi.")
        edo.page.get_by_label("Mark this as a disagreement").check()
        edo.press("Send")
        edo.look("discussion")
        change(ana, filipino, "Ano ang dapat kong gawin?")
        ana.look("changed")
        accept(filipino, huda, edo, dina)
        accept(arabic, berto, edo, dina)
        accept(withdrawn, berto, huda, dina)

        # Edo takes everything back: his situation goes, and his votes do not count.
        edo.go("/p/bayan/me/")
        edo.go("/p/bayan/withdraw/")
        edo.page.get_by_label("Remove my contributions, too.").check()
        edo.page.get_by_label("I am sure.").check()
        edo.press("Withdraw")
        edo.look("gone")
        ana.go("/p/bayan/situations/")
        assert ana.page.get_by_role("link", name=f"Situation {withdrawn}", exact=True).count() == 0
        ana.go("/p/bayan/releases/")
        ana.page.get_by_label("Version").fill("1.0.0")
        ana.press("Make a release")
        ana.look("frozen")

        # A word changes, and is reviewed again.
        change(ana, arabic, "ماذا أفعل الآن؟")
        accept(arabic, berto, dina)
        huda.go("/p/bayan/")
        ana.go("/p/bayan/log/")
        assert [one.complaints for one in everybody] == [[] for _ in everybody]
    run_releases(tmp_path)
    files = [path for path in (tmp_path / "kapwa-studio").iterdir() if path.is_file()]
    assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []


CANARY = "Ako ay kanaryo-7319."


def change(who: Browser, number: int, instruction: str) -> None:
    """Reword the instruction of a situation."""
    who.page.goto(f"{who.address}/p/bayan/situations/{number}/edit/")
    who.page.locator("#instruction").fill(instruction)
    who.page.get_by_label("Reword").check()
    who.look_once("desk-with-reasons")
    who.press("Save")


def run_releases(folder: Path) -> None:
    """Freeze, check, add, run and report, as a stranger would."""
    assert "all tables match their events" in kapwa("studio", "check", cwd=folder).stderr
    for version in ("1.0.0", "2.0.0"):
        kapwa("studio", "freeze", "bayan", "--release", version, cwd=folder)
    texts = {
        version: (folder / "releases" / f"bayan-{version}" / "situations.jsonl").read_text(encoding="utf-8")
        for version in ("1.0.0", "2.0.0")
    }
    assert "ماذا أفعل الآن؟" in texts["2.0.0"]
    assert "ماذا أفعل الآن؟" not in texts["1.0.0"]
    assert len(texts["1.0.0"].splitlines()) == len(texts["2.0.0"].splitlines()) == 2
    kapwa("suite", "add", "releases/bayan-2.0.0", "--name", "bayan", cwd=folder)
    kapwa("run", "bayan/mc", "--model", "smollm2", "--limit", "1", "--out", "runs", cwd=folder)
    run = next((folder / "runs").iterdir())
    kapwa("report", str(run), "-o", "report.html", cwd=folder)
    assert "Dalawang bayan" in (folder / "report.html").read_text(encoding="utf-8")


def test_pages_in_arabic_pass_axe(served: tuple[str, str]) -> None:
    address, code = served
    with browsing() as chromium:
        ana = Browser(chromium.new_context(), address, "ana")
        ana.page.goto(address)
        ana.page.locator("details.languages summary").click()
        with ana.page.expect_navigation():
            ana.page.get_by_role("button", name="العربية").click()
        ana.look("enter")
        assert ana.page.locator("html").get_attribute("dir") == "rtl"
        ana.page.fill("#code", code)
        ana.page.click("main button")
        ana.page.fill("#pseudonym", "Ana")
        ana.page.click("main button")
        with ana.page.expect_navigation():
            ana.page.click("main a.button")
        ana.look("consent")
        ana.page.locator("[name=agree]").check()
        with ana.page.expect_navigation():
            ana.page.click("main button")
        ana.look("home")
        for path in ("situations/new/", "people/", "settings/", "topics/", "interface/", "interface/ar/"):
            ana.go(f"/p/bayan/{path}")
        # A text changed here is on the next page that anybody opens.
        ana.page.goto(f"{address}/p/bayan/interface/ar/?words=topics")
        topics = ana.page.locator("article").filter(has=ana.page.get_by_text("Topics", exact=True))
        topics.locator("textarea").fill("أبواب")
        with ana.page.expect_navigation():
            topics.locator("button").first.click()
        ana.page.goto(f"{address}/p/bayan/topics/")
        assert ana.page.locator("nav.pages").get_by_role("link", name="أبواب").is_visible()
        assert ana.complaints == []
