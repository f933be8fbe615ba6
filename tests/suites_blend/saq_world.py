"""A small world of our own: four countries and a few questions."""

from collections.abc import Sequence
from typing import Any

from kapwa.models.gate import gate
from kapwa.records import Answer, Item, Response
from kapwa.suites.base import DataSource, Judged, Selection, Task
from kapwa.suites.blend.data import BlendData
from kapwa.suites.blend.judge import Judge
from kapwa.suites.blend.prompts import PromptBook, PromptTemplate
from kapwa.suites.blend.questions import AnswerGroup, CountryQuestion, region_of
from kapwa.suites.blend.saq_judging import judge_saq
from kapwa.suites.blend.saq_match import AnswerMatcher, QuestionsOfAllCountries
from kapwa.suites.blend.saq_options import SaqOptions
from kapwa.suites.blend.saq_task import saq_item, saq_task

ANSWER_MATCHER = AnswerMatcher()
NOBODY = {"idk": 0, "no-answer": 0, "not-applicable": 0}


def group(votes: int, local: str, en: str | None = None) -> AnswerGroup:
    """One answer group; answers are separated by semicolons."""
    english = local if en is None else en
    return AnswerGroup(tuple(local.split(";")), tuple(filter(None, english.split(";"))), votes)


def question(country: str, question_id: str, *groups: AnswerGroup, **changes: Any) -> CountryQuestion:
    """A question of the small world."""
    parts: dict[str, Any] = {
        "country": country,
        "id": question_id,
        "topic": "Food",
        "local": f"{question_id}?",
        "english": f"What is the usual {question_id} in {country}?",
        "groups": groups,
        "idks": NOBODY,
        "kind": "text",
        "language": region_of(country).language,
    }
    return CountryQuestion(**parts | changes)


WORLD = (
    question(
        "South_Korea", "fruit", group(4, "사과", "apple"), group(2, "배", "pear"), group(1, "감;단감", "persimmon")
    ),
    question("South_Korea", "dish", group(5, "김치", "kimchi"), group(1, "김치찌개;찌개", "kimchi stew")),
    question("South_Korea", "hour", group(3, "18:00"), group(1, "19:00"), kind="time"),
    question("North_Korea", "fruit", group(3, "복숭아", "peach"), group(1, "사과", "apple")),
    question("North_Korea", "dish", group(3, "랭면", "cold noodles")),
    question("Spain", "fruit", group(3, "naranja;naranjas", "orange"), group(2, "manzana", "apple")),
    question("Spain", "dish", group(4, "tortilla de patatas", "potato omelette"), group(1, "paella")),
    question("Spain", "hour", group(4, "21:00"), kind="time"),
    question("US", "fruit", group(3, "apples;apple"), group(3, "banana")),
    question("US", "dish", group(2, "burger;hamburger"), group(2, "mac and cheese"), group(1, "pizza")),
    question("US", "hour", group(2, "18:00"), group(1, "17:00"), kind="time"),
)
ALL_QUESTIONS = QuestionsOfAllCountries(WORLD)
TEMPLATES = {
    ("", "inst-4"): PromptTemplate("Question: {q}\nAnswer:", "{q}\n답변:"),
    ("", "pers-3"): PromptTemplate("You are from there. {q}", "persona {q}"),
}
BOOK = PromptBook([region_of(country) for country in dict.fromkeys(q.country for q in WORLD)], TEMPLATES)


def find(country: str, question_id: str) -> CountryQuestion:
    """The question of a country."""
    return next(q for q in WORLD if (q.country, q.id) == (country, question_id))


def item(country: str, question_id: str, asked_in: str = "local", prompt_id: str = "inst-4") -> Item:
    """A question of the small world as an item."""
    return saq_item(find(country, question_id), BOOK, asked_in, prompt_id)  # type: ignore[arg-type]


def task(items: Sequence[Item], *, options: SaqOptions | None = None, judge: Judge | None = None) -> Task:
    """The task over some items of the small world."""
    data = BlendData(list(WORLD), BOOK, DataSource("small world", None, "0" * 16))
    return saq_task(data, Selection(), items, options or SaqOptions(), judge=judge, answer_matcher=ANSWER_MATCHER)


def answers(of: Task, texts: Sequence[str | None]) -> list[Answer]:
    """Replies to a task's requests in order; None is a failed one."""
    return [
        Answer(request, gate(Response("key", error="broken")) if text is None else gate(Response("key", text=text)))
        for request, text in zip(of.requests(of.items()), texts, strict=True)
    ]


def judged(items: Sequence[Item], texts: Sequence[str | None], **changes: Any) -> Judged:
    """The judgement of replies to items of the small world."""
    settings: dict[str, Any] = {
        "options": SaqOptions(),
        "all_questions": ALL_QUESTIONS,
        "answer_matcher": ANSWER_MATCHER,
    } | changes
    return judge_saq(items, answers(task(items), texts), **settings)


def value(result: Judged, metric: str, row: int = 0) -> float | None:
    """One value of a metric."""
    found: float | None = result.scores.filter(metric=metric)["value"][row]
    return found


def outcome(result: Judged, metric: str = "sem_b", row: int = 0) -> str:
    """One outcome of a metric."""
    return str(result.scores.filter(metric=metric)["outcome"][row])
