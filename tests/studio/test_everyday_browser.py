"""Everyday questions in a real browser, in Korean and Arabic: from a table to answers, a release, and a run on it."""

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
from studio_browser import CHROMIUM, DESKTOP, Browser, browsing, kapwa, serving

pytestmark = [pytest.mark.slow(80), pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
IDS = ("k01", "k04", "k05")
PACKS = {"ko": "south-korea", "ar": "egypt"}
BUTTONS = {"idk": "I don't know", "not-applicable": "Not applicable here", "no-answer": "There is no typical answer"}
# Who answers which question in none but these ways, in both languages.
WITHOUT = {(1, "k04"): "not-applicable", (2, "k04"): "idk", (2, "k05"): "no-answer"}


def pack(name: str, table: str) -> list[dict[str, str]]:
    from kapwa.suites.blend.data import PACKS as folder

    with (folder / name / f"{table}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def local(tag: str) -> dict[str, str]:
    """The texts of a sample pack in its own language, by question and prompt."""
    rows = [*pack(PACKS[tag], "questions"), *pack(PACKS[tag], "prompts")]
    return {row["id"]: row["local"] for row in rows}


def given(tag: str, question: str) -> list[str]:
    """The commonest answers of a sample pack to a question."""
    return [row["local"].split(";")[0] for row in pack(PACKS[tag], "answers") if row["id"] == question]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a fresh studio, and the code of its coordinator."""
    options = ("--form", "blend", "--language", "ko", "--languages", "ar", "--culture", "Seoul and Cairo")
    code = kapwa("studio", "new", "araw", *options, cwd=tmp_path).stdout.strip()
    with serving(tmp_path, "araw") as address:
        yield address, code


def agree_to_all(who: Browser, tag: str, looks: str = "") -> int:
    """Agree to all that is shown of a language, up to 50 texts at once; returns to how many."""
    who.page.goto(f"{who.address}/p/araw/translate/{tag}/")
    if looks:
        who.look(looks)
    agreed = 0
    while shown := who.page.locator("input[name=shown]").count():
        for tick in who.page.get_by_label("I do not agree").all():  # who agrees to a text had it on the screen
            tick.scroll_into_view_if_needed()
        who.page.wait_for_function("!document.querySelector('input[name=shown]:disabled')")
        who.press("Agree to all that are not ticked")
        agreed += shown
    return agreed


def word_all(who: Browser, tag: str) -> int:
    """Word every question and prompt that waits for it in a language, as the sample pack does; returns how many."""
    texts, worded = local(tag), 0
    while True:
        who.page.goto(f"{who.address}/p/araw/translate/{tag}/")
        if not (link := who.page.get_by_role("link", name="Write a wording")).count():
            return worded
        with who.page.expect_navigation():
            link.first.click()
        source = who.page.locator("#source ~ .item").inner_text()
        prompt = "inst-4" if "Question:" in source else "pers-3"
        name = next((name for name, text in ENGLISH.items() if text == source), prompt)
        who.page.locator("#text").fill(texts[name])
        if name == "k01":
            who.page.locator("#note").fill("우리 문화에 맞게" if tag == "ko" else "كما يقال عندنا")
            who.look(f"wording-{tag}")
            assert who.page.locator("#text").evaluate("e => getComputedStyle(e).direction") == (
                "rtl" if tag == "ar" else "ltr"
            )
        who.press("Propose it")
        worded += 1


ENGLISH: dict[str, str] = {}


def answer_all(who: Browser, place: int) -> int:
    """Answer every question that is drawn for somebody, in both languages; returns how many."""
    known = {text: (tag, name) for tag in PACKS for name, text in local(tag).items()}
    done = 0
    who.page.goto(f"{who.address}/p/araw/work/answers/")
    while who.page.locator("#field_answer_1").count():  # each answer leads to the next question
        shown = next(text for text in who.page.locator("main .item").all_inner_texts() if text in known)
        tag, name = known[shown]
        who.look_once(f"desk-{tag}")
        if without := WITHOUT.get((place, name)):
            with who.page.expect_navigation():
                who.page.get_by_role("button", name=BUTTONS[without]).click()
        else:
            answers = given(tag, name)
            who.page.locator("#field_answer_1").fill(answers[min(place // 2, len(answers) - 1)])
            if place == 2 and name == "k01":
                who.page.locator("#field_depends").fill("집마다" if tag == "ko" else "حسب البيت")
            with who.page.expect_navigation():
                who.press("Send my answer")
        done += 1
    return done


def votes(who: Browser, number: int) -> list[str]:
    who.page.goto(f"{who.address}/p/araw/answers/{number}/?language=ko")
    return who.page.locator("#decided ~ form label.tick").all_inner_texts()


def translate_answers(who: Browser, tag: str) -> None:
    """Put every answer into English as the sample pack does."""
    said = {row["local"].split(";")[0]: row["english"].split(";")[0] for row in pack(PACKS[tag], "answers")}
    for number in (3, 4, 5):
        who.page.goto(f"{who.address}/p/araw/answers/{number}/?language={tag}")
        for card in who.page.locator("#decided ~ form .cards > li").all():
            card.locator("input[name^=english_]").fill(said[card.locator(".answer").first.inner_text()])
        with who.page.expect_navigation():
            who.page.get_by_role("button", name="Save the translations").last.click()
    who.go(f"/p/araw/answers/3/?language={tag}")


def test_a_community_asks_translates_answers_and_releases_in_the_browser(
    served: tuple[str, str], tmp_path: Path
) -> None:
    address, code = served
    table = tmp_path / "questions.csv"
    rows = [row for row in pack("south-korea", "questions") if row["id"] in IDS]
    ENGLISH.update({row["id"]: row["english"] for row in rows})
    with table.open("w", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ("id", "topic", "english"))
        writer.writeheader()
        writer.writerows({name: row[name] for name in ("id", "topic", "english")} for row in rows)
    with browsing() as chromium:
        everybody: list[Browser] = []

        def somebody(code: str, name: str) -> Browser:
            context = chromium.new_context(viewport=DESKTOP, locale="en-GB")
            everybody.append(Browser(context, address, name).come_in(code, name))
            return everybody[-1]

        ana = somebody(code, "Ana")
        ana.go("/p/araw/people/")
        codes = []
        for roles in [("writer", "translator")] + [("translator",)] * 2 + [("answerer",)] * 3:
            for role in roles:
                ana.page.locator(f"form input[name=roles][value={role}]").first.check()
            ana.press("Make codes")
            codes.append(ana.page.locator(".invitations .code").inner_text())
        minji, huda, jun = (somebody(one, name) for one, name in zip(codes, ("민지", "هدى", "준"), strict=False))

        # Questions come in from a table; another is written, made many of, and taken out of use.
        minji.go("/p/araw/import/")
        bad = {"name": "bad.zip", "mimeType": "application/zip", "buffer": b"id,topic\n"}
        minji.page.locator("#file").set_input_files(bad)
        minji.press("Next")
        minji.look("import-refused")
        assert "400" in minji.complaints.pop()  # the browser's own word for it
        minji.page.locator("#file").set_input_files(table)
        minji.press("Next")
        minji.look("import-columns")
        minji.press("Import")
        assert "3 rows were imported" in minji.page.get_by_text("were imported").inner_text()
        minji.go("/p/araw/questions/new/")
        minji.page.locator("#text").fill("{날}에 무엇을 먹나요?")
        minji.page.get_by_text("Make many questions from it").click()
        minji.page.locator("#fillings").fill("설날\n추석")
        minji.page.get_by_label("Topic").select_option("Food")
        minji.press("Save")
        minji.look("questions")
        for number in (6, 7):
            minji.page.goto(f"{address}/p/araw/translate/ko/{number}/")
            minji.page.get_by_text("Stop using it").first.click()
            minji.page.locator("#stop").fill("설날과 같아요.")
            minji.press("Stop using it")
        minji.look("question-retired")

        # Two others agree to each English text, then it is worded in both languages, and agreed to again.
        assert agree_to_all(huda, "en", "queue-en") == agree_to_all(jun, "en") == 3  # the prompts are published
        huda.go("/p/araw/translate/")
        for tag, translator, others in (("ko", jun, (minji, huda)), ("ar", huda, (minji, jun))):
            assert word_all(translator, tag) == 5
            if tag == "ko":  # somebody refuses, and the words are changed
                others[0].page.goto(f"{address}/p/araw/translate/ko/3/")
                others[0].page.get_by_text("I do not agree").click()
                others[0].page.locator("#reason").fill("물음표 앞에 띄어쓰기")
                others[0].look("refusing")
                others[0].press("Refuse it")
                translator.go("/p/araw/translate/ko/3/")
                translator.page.locator("#text").fill(local("ko")["k01"] + " ")
                translator.page.locator("#note").fill("그대로 둡니다")
                assert translator.page.get_by_text("물음표 앞에 띄어쓰기").count() == 1
                others[0].page.goto(f"{address}/p/araw/translate/ko/3/")
                others[0].press("I agree")
            assert agree_to_all(others[0], tag, f"queue-{tag}") == 5 - (tag == "ko")
            assert agree_to_all(others[1], tag) == 5
            others[1].go(f"/p/araw/translate/{tag}/3/")
        ana.go("/p/araw/")
        ana.go("/p/araw/questions/")

        # Three people answer everything in both languages, or say in every way that they do not.
        answerers = [somebody(one, f"P{place}") for place, one in enumerate(codes[3:], start=1)]
        for place, who in enumerate(answerers):
            who.page.goto(f"{address}/p/araw/me/")
            for name in ("한국어", "العربية"):
                who.page.get_by_label(name, exact=True).check()
            who.press("Save")
            assert answer_all(who, place) == 6
        ana.go("/p/araw/answers/?language=ar")
        ana.go("/p/araw/answers/?language=ko")

        # Answers are merged, and apart again with the same votes.
        before = votes(huda, 3)
        for box in huda.page.locator("#decided ~ form input[name=key]").all()[:2]:
            box.check()
        huda.press("Merge the ticked answers")
        assert len(votes(huda, 3)) == len(before) - 1
        huda.look("merged")
        huda.press("Undo")
        assert votes(huda, 3) == before
        for tag, who in (("ko", jun), ("ar", huda)):
            translate_answers(who, tag)
        ana.go("/p/araw/releases/")
        ana.page.get_by_label("Version").fill("1.0.0")
        ana.press("Make a release")
        ana.look("released")
        ana.go("/p/araw/")
        assert [one.complaints for one in everybody] == [[] for _ in everybody]
    run_release(tmp_path)


def run_release(folder: Path) -> None:
    """Freeze, check, add, run short answers, and build multiple choice with other communities' answers."""
    from kapwa.suites.blend.data import PACKS as packs

    assert "all tables match their events" in kapwa("studio", "check", cwd=folder).stderr
    kapwa("studio", "freeze", "araw", "--release", "1.0.0", cwd=folder)
    release = folder / "releases" / "araw-1.0.0"
    rows = [json.loads(line) for line in (release / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted((row["id"], row["language"]) for row in rows) == sorted((one, tag) for one in IDS for tag in PACKS)
    assert {row["annotators"] for row in rows} == {3}
    assert {name: sum(row[name] for row in rows) for name in BUTTONS} == dict.fromkeys(BUTTONS, 2)
    kapwa("suite", "add", "releases/araw-1.0.0", "--name", "araw", cwd=folder)
    seoul = ("--where", "culture=Seoul and Cairo", "--limit", "1", "--max-new-tokens", "8")
    kapwa("run", "araw/saq", "--model", "smollm2", *seoul, "--out", "runs", cwd=folder)
    every = folder / "every"
    shutil.copytree(release, every / "araw")
    for name in ("us", "mexico", "philippines"):
        shutil.copytree(packs / name, every / name)
    kapwa("build", "mcq", "--data", "every", "-o", "mcq", cwd=folder)
    asked = (folder / "mcq" / "mcq.csv").read_text(encoding="utf-8")
    assert "Seoul and Cairo (Arabic)/k" in asked
    assert len(list((folder / "runs").iterdir())) == 1
