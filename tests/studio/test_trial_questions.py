"""The whole trial of questions and of prompts: from an empty folder to a release, at two widths, through a bad network.

Of each two people at the same desk one has a phone, the other a wide screen. Whatever they type or send is cut.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from studio_browser import CHROMIUM, PATIENCE, PHONE, api, kapwa, launched
from studio_cuts import Person
from studio_trial import Made, Studio, Trial, release

WIDE = {"width": 1280, "height": 800}
pytestmark = [pytest.mark.slow(100), pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
QUESTIONS = Made(
    *("every-day", "Every day", "South Korea", "Korean", "Everyday questions"),
    {"writer": 2, "translator": 2, "answerer": 2},
)
PROMPTS = Made(
    *("around-the-house", "Around the house", "Uganda", "English", "Prompts about concepts"),
    {"writer": 2, "reviewer": 2},
)
AGREE = "Agree to all that are not ticked"
OF_TEXTS = "main ul.cards"


def ask(trial: Trial, who: Person, topic: str, words: str) -> str:
    """Let somebody write a question; returns its text."""
    text = trial.text(words)
    page = trial.type(who, trial.reach(who, "Write a question"), "#text", text)
    page.get_by_label("Topic").select_option(topic)
    trial.send(who, page.get_by_role("button", name="Save", exact=True))
    return text


def refuse(trial: Trial, who: Person, path: str, text: str) -> None:
    """Let somebody refuse one text of those that wait for them, with a reason, and agree to the others."""

    def unfold(page: Any) -> None:
        page.locator(OF_TEXTS).locator("li", has_text=text).get_by_label("I do not agree").check()

    page = who.page
    reason = page.locator(OF_TEXTS).locator("li", has_text=text).locator("textarea").get_attribute("id")
    page = trial.type(who, path, f"#{reason}", trial.text("싫어요"), unfold)
    trial.send(who, page.get_by_role("button", name=AGREE), acts=read(page))


def read(page: Any) -> int:
    """Scroll through the texts that wait for somebody's agreement, for what was not on the screen is not agreed to."""
    for tick in page.locator("form[data-seen] .tick").all():
        tick.scroll_into_view_if_needed()
    page.locator("input[name=shown]:disabled").first.wait_for(state="detached")
    return int(page.locator("input[name=shown]").count())


def agree(trial: Trial, who: Person, *links: str) -> None:
    """Let somebody agree to all texts that wait for them behind these links."""
    trial.reach(who, *links)
    shown = read(who.page)
    assert shown, who.page.url
    trial.send(who, who.page.get_by_role("button", name=AGREE), acts=shown)


def word_prompt(trial: Trial, who: Person, words: str, *links: str) -> None:
    """Let somebody say in Korean how a model is asked, behind these links."""
    path = trial.reach(who, *links)
    page = trial.type(who, path, "#text", "다음 질문에 짧게 답하세요. " + words + "{q}")
    trial.send(who, page.get_by_role("button", name="Propose it"))


def answer(trial: Trial, who: Person, words: dict[str, str]) -> None:
    """Let somebody answer the next question."""
    path = trial.reach(who, "Answer questions")
    asked = who.page.locator(".item").inner_text()
    text = next(text for words_asked, text in words.items() if words_asked in asked)
    page = trial.type(who, path, "#field_answer_1", text)
    trial.send(who, page.get_by_role("button", name="Send my answer"))


def rate(trial: Trial, who: Person, title: str) -> None:
    """Let somebody rate the text that waits, by the last choice of which it is sent."""
    path = trial.reach(who, title)
    page = who.open(path)
    choices = page.locator("form.work input[value=yes]")
    for place in range(choices.count() - 1):
        choices.nth(place).check()
    trial.send(who, choices.last)


class Rating(NamedTuple):
    """What is rated once the release runs: the task, the kind of ratings and its desk, whose texts, and how drawn."""

    task: str
    kind: str
    desk: str
    culture: str
    draw: Callable[[Trial, Person, Any], None]


def drawn_here(trial: Trial, ana: Person, rating: Rating) -> None:
    """Let the coordinator evaluate the release, read that it is done and what came of it, and draw a text."""
    trial.reach(ana, "Manage", "Releases", "Evaluate it")
    ana.page.get_by_role("button", name=f"Evaluate smollm2 on {rating.task}").click()
    running = ana.page.get_by_text("running", exact=True)
    running.wait_for()
    running.wait_for(state="detached", timeout=3 * PATIENCE)  # the page shows by itself what is new
    done = ana.page.get_by_text(f"The evaluation of smollm2 on {rating.task} is done.")
    assert done.count() == 1, ana.page.locator("main").inner_text()
    assert ana.page.get_by_text("It runs on the studio's computer").count() == 0  # nothing is left to start
    ana.page.get_by_role("link", name="Show the report").click()
    ana.page.get_by_role("heading", name="Scores", exact=True).wait_for()
    ana.open(trial.path()).get_by_text("An evaluation of release 1.0.0 is done.").wait_for()
    trial.reach(ana, "Manage", "Ratings")
    ana.page.get_by_label("How many", exact=True).fill("1")
    trial.send(ana, ana.page.get_by_role("button", name="Draw"))


def drawn_elsewhere(trial: Trial, ana: Person, rating: Rating) -> None:
    """Run a model on the release that was downloaded, and draw a text as the page says."""
    folder = trial.studio.folder
    asked = ("--model", "smollm2", "--data", f"{trial.made.slug}-1.0.0", "--limit", "1", "--max-new-tokens", "4")
    kapwa("run", rating.task, *asked, "--out", "runs", cwd=folder)
    (run,) = (folder / "runs").iterdir()
    trial.reach(ana, "Manage", "Ratings")
    command = ana.page.locator("pre").inner_text()
    assert f"--kind {rating.kind} --sample 60" in command
    words = command.replace("runs/RUN", str(run)).replace("--sample 60", "--sample 1").split()
    kapwa(*words[1:], "--where", f"culture={rating.culture}", cwd=folder)


def rated(trial: Trial, ana: Person, rating: Rating) -> None:
    """Ask a model what the release asks, draw a text of it, and let somebody rate it."""
    folder, data = trial.studio.folder, f"{trial.made.slug}-1.0.0"
    shutil.unpack_archive(folder / f"{trial.made.slug}.zip", folder)
    assert "was not reviewed by native speakers" in kapwa("data", "check", data, cwd=folder).stdout
    rating.draw(trial, ana, rating)
    trial.reach(ana, re.compile("^People$"))
    ana.page.get_by_label("rater").first.check()
    ana.page.get_by_role("button", name="Make codes").click()
    trial.read_codes(ana)
    rate(trial, trial.phone("rater", "Rosa"), rating.desk)


def community(trial: Trial, viewport: dict[str, int]) -> tuple[Person, dict[str, list[Person]]]:
    """Begin a project and let everybody in: of each role one at a phone and one at a wide screen."""
    trial.studio.start()
    ana = trial.begin(viewport)
    people = {
        role: [trial.phone(role, f"{role.capitalize()} {name}", size) for name, size in (("A", PHONE), ("B", WIDE))]
        for role in trial.made.roles
    }
    return ana, people


def questions(trial: Trial) -> Person:
    """Go to a release of two questions that two people answered; returns the coordinator."""
    ana, people = community(trial, PHONE)
    page = ana.open(trial.reach(ana, "Manage", "Settings"))
    page.get_by_label("How many people answer each question").fill("2")
    page.get_by_role("button", name=re.compile("Save.*Work")).click()
    (one, other), (jun, sora) = people["writer"], people["translator"]
    feast = ask(trial, one, "Food", "설날에 무엇을 먹나요")
    morning = ask(trial, other, "Work life", "아침에 무엇을 하나요")
    word_prompt(trial, jun, "질문: ", "Questions: ", "Write a wording")
    agree(trial, jun, "Questions: ")
    refuse(trial, sora, trial.reach(sora, "Questions: "), morning)
    word_prompt(trial, sora, "손님의 질문: ", "Prompts: ")
    path = trial.reach(other, "Somebody does not agree to your words", "Change the question")
    morning = trial.text("보통 아침에 무엇을 하나요")
    page = trial.type(other, path, "#text", morning, lambda page: page.locator("#text").clear())
    trial.send(other, page.get_by_role("button", name="Save", exact=True))
    for who in (jun, sora):
        agree(trial, who, "Questions: ")
    for _prompt in range(2):
        trial.reach(one, "Prompts: ")
        trial.send(one, one.page.get_by_role("button", name="I agree"))
    for place, who in enumerate(people["answerer"]):
        for _each in range(2):
            answer(trial, who, {feast: ("떡국", "떡 국")[place], morning: ("운동", "밥을 먹어요")[place]})
    path = trial.reach(ana, "Compare answers")
    trial.send(ana, ana.page.get_by_role("button", name="Merge these"))
    page = trial.type(ana, path, "input[lang=en] >> nth=0", "rice cake soup")
    trial.send(ana, page.get_by_role("button", name="Save the translations").last)
    trial.send(ana, ana.page.get_by_role("button", name="No other answers mean the same"))
    trial.reach(sora, "Compare answers")
    trial.send(sora, sora.page.get_by_role("button", name="No other answers mean the same"))
    return ana


def add(trial: Trial, who: Person, role: str, **fields: str) -> None:
    """Let somebody add a concept, identity or template, whose last field is typed while something happens."""
    path = trial.reach(who, f"Add: {role}")
    *others, (name, text) = fields.items()
    page = trial.type(who, path, f"#field-{name}", text)
    for other, filled in others:
        page.locator(f"#field-{other}").fill(filled)
    trial.send(who, page.get_by_role("button", name="Add", exact=True))


def prompts(trial: Trial) -> Person:
    """Go to a release of prompts; returns the coordinator."""
    ana, people = community(trial, WIDE)
    (one, other), (carla, dina) = people["writer"], people["reviewer"]
    add(trial, one, "Concepts", topic="food", concept="local food")
    add(trial, other, "Concepts", topic="home", concept="cooking pot")
    for who, identity in ((one, "Ugandan"), (other, "Irish")):
        add(trial, who, "Identities", identity=identity)
    add(trial, one, "Templates", name="story", template="Write a story about {concept} for a {identity} person.")
    agree(trial, carla, "Waiting for your agreement: Identities")
    agree(trial, dina, "Waiting for your agreement: Identities")
    path = trial.reach(dina, "Waiting for your agreement: Templates")
    refuse(trial, dina, path, "story")
    path = trial.reach(one, "Somebody does not agree to your words")
    better = "Write about {concept} for {article} {identity} person."
    page = trial.type(one, path, "#field-template", better, lambda page: page.locator("#field-template").clear())
    trial.send(one, page.get_by_role("button", name="Save", exact=True))
    for who in (carla, dina):
        agree(trial, who, "Waiting for your agreement: Templates")
    return ana


def nothing_is_lost(trial: Trial) -> None:
    """What was typed is in the log once, and tables match it."""
    bodies = trial.studio.bodies(without="tasks.drawn")
    assert [sum(text in body for body in bodies) for text in trial.typed] == [1] * len(trial.typed)
    assert "all tables match their events" in kapwa("studio", "check", cwd=trial.studio.folder).stderr


RATINGS = {
    QUESTIONS.slug: Rating("blend/saq", "errors", "Say what is wrong with answers", "South Korea", drawn_here),
    PROMPTS.slug: Rating("eecc/qa", "adaptation", "Rate how well texts fit their readers", "Irish", drawn_elsewhere),
}


@pytest.mark.parametrize(("made", "walk"), [(QUESTIONS, questions), (PROMPTS, prompts)], ids=["questions", "prompts"])
def test_a_trial_ends_with_a_release_that_runs_and_a_rating(
    tmp_path: Path, studio: Path, made: Made, walk: Callable[[Trial], Person]
) -> None:
    served = Studio(tmp_path)
    with api.sync_playwright() as started:
        try:
            trial = Trial(served, launched(started.chromium), made)
            ana = walk(trial)
            release(trial, ana)
            rated(trial, ana, RATINGS[made.slug])
        finally:
            served.kill()
    nothing_is_lost(trial)
