"""How much work the commonest jobs are on a phone: presses, and screens from the top of a page to the last one pressed.

A press is a tap on a link, a button, a choice, or a text to write in it; a list to choose from needs two. What is typed
is none, nor is the key on the phone's keyboard that leads to the next text. The docs have a table of it.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from studio_answers import ask as asked_of
from studio_browser import CHROMIUM, PATIENCE, PHONE, signed_in
from studio_people import URL, People, Someone, a_situation, enter
from studio_ratings import CULTURE, short_answers

from kapwa.studio import commands
from kapwa.studio.models import Project
from kapwa.studio.ratings.drawing import draw

pytestmark = [pytest.mark.slow(20), pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
RESULTS = Path(__file__).parents[2] / "benchmarks/results/studio_presses.json"


class Work(NamedTuple):
    """What a job took."""

    presses: int
    screens: float


class Phone:
    """Somebody's phone, which counts what they press and how far down it is."""

    def __init__(self, browser: Any, address: str, who: Someone | None = None) -> None:
        context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True, locale="en-GB")
        context.set_default_timeout(PATIENCE)
        if who:
            signed_in(context, who, address)
        self.page, self.address = context.new_page(), address
        self.restart()

    def at(self, path: str) -> "Phone":
        """Open a page, from which counting begins."""
        self.page.goto(self.address + path)
        self.restart()
        return self

    def restart(self) -> None:
        """Begin to count anew."""
        self.presses, self.screens, self._deepest = 0, 0.0, 0.0

    def press(self, what: Any, *, leads: bool = False) -> None:
        """Tap on something; ``leads``: to another page."""
        self._reach(what, 1)
        if not leads:
            what.click()
            return
        with self.page.expect_navigation():
            what.click()
        self.screens += self._deepest / PHONE["height"]
        self._deepest = 0.0

    def go(self, name: str, role: str = "button") -> None:
        """Tap on a button or link that leads to another page."""
        self.press(self.page.get_by_role(role, name=name).first, leads=True)

    def choose(self, name: str, value: str) -> None:
        """Choose from a list."""
        listed = self.page.locator(f"select[name={name}]")
        self._reach(listed, 2)
        listed.select_option(value)

    def type(self, name: str, text: str) -> None:
        """Write a text: where the cursor is, if it is there already."""
        field = self.page.locator(f"#{name}")
        self._reach(field, 0)
        if not field.evaluate("field => field === document.activeElement"):
            self.press(field)
        self.page.keyboard.insert_text(text)

    def onward(self) -> None:
        """Press the key that leads to the next text."""
        self.page.keyboard.press("Enter")

    def _reach(self, what: Any, presses: int) -> None:
        self.presses += presses
        bottom = what.evaluate("one => one.getBoundingClientRect().bottom + scrollY")
        self._deepest = max(self._deepest, bottom)

    def done(self) -> Work:
        """Return what was counted since the start."""
        return Work(self.presses, round(self.screens, 1))


def join(phone: Phone, code: str) -> Work:
    """Come in by the link of a code, and agree."""
    phone.at(f"/join/{code}/")
    phone.go("Continue")
    phone.type("pseudonym", "Fe")
    phone.go("Continue")
    phone.go("I have saved it, continue", "link")
    phone.press(phone.page.get_by_label("What I write may be published"))
    phone.press(phone.page.get_by_label("I have read this and want to take part."))
    phone.go("Continue")
    return phone.done()


def write(phone: Phone) -> Work:
    """Write a situation, from home until it is in review."""
    fields = a_situation("Liza")
    phone.go("Write a situation", "link")
    phone.page.locator("html[data-keeps]").wait_for()
    for name in ("topic", "category"):
        phone.choose(name, fields[name])
    for name in ("user", "context", "personal_situation", "instruction", "relevant_1", "relevant_2", "relevant_3"):
        phone.type(name, fields[name])
        if name != "context":
            phone.onward()
    phone.press(phone.page.get_by_label("Response 1 is the best"))
    phone.press(phone.page.locator("#step-3 .onward a"))
    for name in ("irrelevant_1", "irrelevant_2", "irrelevant_3"):
        phone.page.locator(f"#{name}:focus").wait_for()
        phone.type(name, fields[name])
        if name != "irrelevant_3":
            phone.onward()
    phone.go("Save and send to review")
    return phone.done()


def vote(phone: Phone) -> Work:
    """Vote on a situation, from home."""
    phone.go("Vote on situation", "link")
    return vote_on(phone)


def vote_on(phone: Phone) -> Work:
    """Vote on the situation that is shown, as one is after a vote."""
    phone.go("Accept as it is")
    return phone.done()


def agree(phone: Phone) -> Work:
    """Agree to six questions, from home."""
    phone.go("Questions: ", "link")
    assert phone.page.locator("input[name=shown]").count() == 6
    phone.go("Agree to all that are not ticked")
    return phone.done()


def write_question(phone: Phone) -> Work:
    """Write a question, from home."""
    phone.go("Write a question", "link")
    phone.type("text", "점심에 무엇을 먹나요?")
    phone.choose("topic", "Food")
    phone.go("Save")
    return phone.done()


def answer(phone: Phone, text: str) -> Work:
    """Answer the question that is shown, as the next one is after an answer."""
    phone.page.locator("html[data-keeps]").wait_for()
    phone.type("field_answer_1", text)
    phone.go("Send my answer")
    return phone.done()


def compare(phone: Phone) -> Work:
    """Say of a question's answers that none mean the same, from home."""
    phone.go("Compare answers", "link")
    phone.go("No other answers mean the same")
    return phone.done()


def add_concept(phone: Phone) -> Work:
    """Add a concept for prompts, from home."""
    phone.go("Add: Concepts", "link")
    phone.type("field-topic", "food")
    phone.type("field-concept", "wedding food")
    phone.go("Add")
    return phone.done()


def agree_to_identities(phone: Phone) -> Work:
    """Agree to six identities, from home."""
    phone.go("Waiting for your agreement", "link")
    assert phone.page.locator("input[name=shown]").count() == 6
    phone.go("Agree to all that are not ticked")
    return phone.done()


def rate(phone: Phone) -> Work:
    """Say of a text what is wrong with it, in six classes of error."""
    phone.page.locator("html[data-keeps]").wait_for()
    choices = phone.page.locator("form.work input[value=yes]").all()
    for choice in choices[:-1]:
        phone.press(choice)
    phone.press(choices[-1], leads=True)
    return phone.done()


def of_questions(browser: Any, address: str) -> dict[str, Work]:
    """What the jobs of a project of questions take, each of which two people answer."""
    project = commands.new_project("busan", form="blend", culture="Busan", language="ko")
    Project.objects.filter(pk=project.pk).update(people_each=2)
    for text in ("아침에 무엇을 먹나요?", "저녁에 무엇을 먹나요?"):
        asked_of(project, text)
    home = f"/p/{project.slug}/"
    roles = {"Omar": "answerer", "Lina": "answerer", "Dina": "scribe", "Yuna": "writer"}
    omar, lina, dina, yuna = (Phone(browser, address, enter(project, *about)) for about in roles.items())
    omar.at(home).go("Answer questions", "link")
    work = {"answer a question": answer(omar, "밥")}
    omar.restart()
    work["answer the next"] = answer(omar, "빵")
    lina.at(f"{home}work/answers/")
    for text in ("국수", "죽"):
        answer(lina, text)
    return work | {"compare answers": compare(dina.at(home)), "write a question": write_question(yuna.at(home))}


def of_prompts(browser: Any, address: str) -> dict[str, Work]:
    """What the jobs of a project of prompts take."""
    project = commands.new_project("mundo", form="eecc", culture="many", language="en")
    writer, reviewer = enter(project, "Berto", "writer"), enter(project, "Carla", "reviewer")
    for identity in ("Ugandan", "Irish", "Filipino", "Korean", "Mexican", "Egyptian"):
        writer.act("prompts/identity/", {"identity": identity})
    phones = [Phone(browser, address, who).at("/p/mundo/") for who in (writer, reviewer)]
    return {"add a concept": add_concept(phones[0]), "agree to 6 identities": agree_to_identities(phones[1])}


def test_no_job_takes_more_presses_or_screens_than_the_docs_say(
    project: Any, people: People, tmp_path: Path, address: str, browser: Any
) -> None:
    draw(project, "errors", short_answers(tmp_path), sample=2, seed=1, where=CULTURE)
    araw = commands.new_project("araw", form="blend", culture="Seoul", language="ko")
    asker, translator = enter(araw, "Minji", "writer"), enter(araw, "Jun", "translator")
    for number in range(6):
        text = {"text": f"아침에 무엇을 먹나요, {number}?", "language": "ko", "topic": "Food", "kind": "text"}
        asker.act("questions/new/", text)
    code = commands.invite_people(project, ("reviewer",), 1, URL)[0].code
    writer, reviewer = (Phone(browser, address, people[name]).at("/p/baryo/") for name in ("berto", "edo"))
    work = {"join": join(Phone(browser, address), code), "write": write(writer)}
    people["carla"].act("situations/new/", a_situation("Tomas", context="Iba naman ito, sa bahay.") | {"send": "yes"})
    work["vote"] = vote(reviewer.at("/p/baryo/"))
    reviewer.restart()
    work["vote on the next"] = vote_on(reviewer)
    rater = Phone(browser, address, enter(project, "Rosa", "rater"))
    work["rate"] = rate(rater.at("/p/baryo/work/errors/"))
    work["agree to 6 questions"] = agree(Phone(browser, address, translator).at("/p/araw/"))
    work |= of_questions(browser, address) | of_prompts(browser, address)
    most = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert work.keys() == most.keys()
    for job, took in work.items():
        assert took.presses <= most[job]["presses"], (job, took)
        assert took.screens <= most[job]["screens"] + 0.3, (job, took)  # fonts differ
