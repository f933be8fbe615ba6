"""Everyday questions: what is agreed to and asked, against a plain recount from the log; and the pages."""

import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import transaction
from studio_answers import why_changed
from studio_people import People, Someone, enter, erase, taken_in

from kapwa.errors import KapwaError
from kapwa.studio.core.log import differences, record
from kapwa.studio.models import Event, Question, Wording
from kapwa.studio.questions.events import askable

PEOPLE = ("a", "b", "c", "d", "e")
LANGUAGES = ("en", "ar", "ko")


def recounted(events: Sequence[Any]) -> dict[tuple[str, str], tuple[str, str, int, int]]:
    """From the definitions, slowly: by question and language, the text, its state, and the votes for and against."""
    found: dict[tuple[str, str], tuple[str, str, int, int]] = {}
    for begun in (one for one in events if one.kind == "question.written"):
        key = str(begun.uuid)
        own = [one for one in events if one.subject == key]
        texts = [begun]
        for one in own:
            if one.kind == "question.revised" and one.body["text"] != texts[-1].body["text"]:
                texts.append(one)
        for tag in LANGUAGES:
            theirs = [one for one in own if one.kind == "wording.proposed" and one.body["language"] == tag]
            last = texts[-1] if tag == begun.body["language"] else theirs[-1] if theirs else None
            if last is None:
                continue
            outdated = last not in texts and last.body["source"] != str(texts[-1].uuid)
            thinking = {}
            for one in own:
                if one.kind in ("wording.agreed", "wording.refused") and one.body["wording"] == str(last.uuid):
                    thinking[one.actor] = one.kind == "wording.agreed"
            yes = sum(thinking.values())
            no = len(thinking) - yes
            approved = yes >= 2 and yes / (yes + no) >= 2 / 3
            state = "outdated" if outdated else "approved" if approved else "proposed"
            found[key, tag] = (last.body["text"], state, yes, no)
    return found


def stored(project: Any) -> dict[tuple[str, str], tuple[str, str, int, int]]:
    return {
        (one.question_id, one.language): (one.text, one.state, len(one.agreed), len(one.refused))
        for one in Wording.objects.filter(project=project)
    }


def something(project: Any, draw: random.Random) -> None:
    """Let somebody do something, whether it is allowed or not."""
    actor, tag = draw.choice(PEOPLE), draw.choice(LANGUAGES)
    questions = list(Question.objects.filter(project=project))
    doing = draw.choice(["write", "revise", "sort", *["propose"] * 4, *["think"] * 12])
    if doing == "write" or not questions:
        if len(questions) < 3:
            body = {"text": f"t{draw.random()}", "language": draw.choice(LANGUAGES), "topic": "", "kind": "text"}
            record(project, "question.written", {**body, "name": ""}, actor=actor)
        return
    one = draw.choice(questions)
    doing = "retire" if one.retired or draw.random() < 0.03 else doing
    word = Wording.objects.filter(id=f"{one.id}:{tag}").first()
    seen = word.text_event if word else ""
    stale = draw.random() < 0.1  # they saw an older text
    if doing in ("revise", "sort"):
        text = one.text if doing == "sort" else f"t{draw.random()}"
        body = {"base": "x" if stale else one.text_event, "text": text, "topic": draw.choice("xy"), "kind": "text"}
        record(project, "question.revised", body | why_changed(one, one.language), actor=actor, subject=one.id)
    elif doing == "retire":
        record(project, "question.retired", {"retired": not one.retired}, actor=actor, subject=one.id)
    elif doing == "propose":
        text = draw.choice([f"t{draw.random()}", word.text if word else "t"])
        body = {"language": tag, "text": text, "note": "", "source": one.text_event, "base": "x" if stale else seen}
        record(project, "wording.proposed", body | why_changed(one, tag), actor=actor, subject=one.id)
    elif draw.random() < 0.75:
        record(project, "wording.agreed", {"language": tag, "wording": seen}, actor=actor, subject=one.id)
    else:
        body = {"language": tag, "wording": seen, "reason": "r", "reason_language": "en"}
        record(project, "wording.refused", body, actor=actor, subject=one.id)


@pytest.mark.parametrize("seed", range(2))
def test_states_equal_a_plain_recount_of_the_log_also_after_an_erasure(project: Any, seed: int) -> None:
    draw, refused = random.Random(seed), 0
    states: set[str] = set()

    def same() -> None:
        events = list(Event.objects.filter(project=project, erased=False).order_by("seq"))
        expected = recounted(events)
        assert stored(project) == expected
        states.update(state for _, state, _, _ in expected.values())
        retired = set(Question.objects.filter(project=project, retired=True).values_list("id", flat=True))
        for tag in LANGUAGES:
            asked = {(one.question_id, one.text) for one in askable(project, tag)}
            assert asked == {
                (key, text)
                for (key, own, (text, state, *_)) in ((k, t, row) for (k, t), row in expected.items())
                if own == tag and state == "approved" and key not in retired
            }

    for step in range(140):
        try:
            with transaction.atomic():
                something(project, draw)
        except KapwaError:
            refused += 1
        if step % 10 == 9:
            same()
    assert refused > 5
    assert states == {"proposed", "approved", "outdated"}
    erase(project, draw.choice(PEOPLE))
    same()
    assert differences(project) == []
    for _ in range(30):  # life goes on, with numbers that were never used
        try:
            with transaction.atomic():
                something(project, draw)
        except KapwaError:
            continue
    same()
    assert differences(project) == []


def worded(who: Someone, number: int, tag: str) -> dict[str, str]:
    """The hidden fields of the page of a wording: which texts were seen."""
    page = who.get(f"translate/{tag}/{number}/")
    return dict(re.findall(r'name="(wording|source|base)" value="([\w-]*)"', page))


def agree(number: int, tag: str, *people: Someone) -> None:
    for who in people:
        who.act(f"translate/{tag}/{number}/", {"action": "agree", "wording": worded(who, number, tag)["wording"]})


def propose(who: Someone, number: int, tag: str, text: str, status: int = 200, **more: str) -> str:
    seen = worded(who, number, tag)
    form = {"action": "propose", "text": text, "source": seen["source"], "base": seen["base"], **more}
    return who.post(f"translate/{tag}/{number}/", form, status)


def asked_now(project: Any, tag: str) -> list[str]:
    return [one.text for one in askable(project, tag)]


def test_a_question_is_written_agreed_to_worded_and_reopens_page_by_page(everyday: Any, askers: People) -> None:
    ana, minji, huda, jun, omar = askers.values()
    text, arabic = "아침에 무엇을 먹나요?", "ماذا يأكل الناس صباحًا؟"
    # The first two texts of a project are how models are asked.
    page = minji.post("questions/new/", {"language": "ko", "text": text, "topic": "Food", "kind": "text"})
    assert f'lang="ko" dir="ltr">{text}' in page
    assert "Question 3" in page
    # Nobody agrees to their own words, and two others must.
    seen = worded(huda, 3, "ko")["wording"]
    minji.post("translate/ko/3/", {"action": "agree", "wording": seen}, status=409)
    assert "Question 3" not in huda.get("translate/ar/")  # it is worded once its own text is agreed to
    agree(3, "ko", huda)
    assert asked_now(everyday, "ko") == []
    assert 'status">You agreed to this text.' in huda.get("translate/ko/3/")
    agree(3, "ko", jun)
    assert asked_now(everyday, "ko") == [text]
    assert "needs a wording" in huda.get("translate/ar/")
    assert "Question 3" not in huda.get("translate/en/")  # English is there for the prompts alone
    assert re.search(
        r"Wordings agreed in English, with those of the prompts</a> <span class=\"state\">2<", minji.get("")
    )
    assert "Question 3" not in huda.get("translate/ko/")

    propose(huda, 3, "ar", arabic, note="فول بدل الأرز")
    ana.post("translate/ar/3/", {"action": "agree", "wording": "x"}, status=403)
    jun.post("translate/ar/3/", {"action": "refuse", "wording": worded(jun, 3, "ar")["wording"]}, status=400)
    no = {"action": "refuse", "wording": worded(jun, 3, "ar")["wording"], "reason": "아침이라는 뜻이 아니에요"}
    jun.act("translate/ar/3/", no)
    agree(3, "ar", minji)
    assert asked_now(everyday, "ar") == []
    assert "somebody refused your wording" in huda.get("translate/ar/")
    assert "아침이라는 뜻이 아니에요" in huda.get("translate/ar/3/")
    # One who changes a letter of a text is its author, too; the one before agrees to no change of their own words.
    nari = enter(everyday, "나리", "translator")
    propose(huda, 3, "ar", arabic, status=409)
    before = worded(minji, 3, "ar")
    propose(jun, 3, "ar", arabic + "!")
    assert "<ins>صباحًا؟!</ins>" in huda.get("translate/ar/3/")
    stale = {"action": "propose", "text": "x", "source": before["source"], "base": before["base"]}
    assert "Somebody else has changed this" in minji.post("translate/ar/3/", stale, status=409)
    minji.post("translate/ar/3/", {"action": "agree", "wording": before["wording"]}, status=409)
    huda.post("translate/ar/3/", {"action": "agree", "wording": worded(minji, 3, "ar")["wording"]}, status=409)
    agree(3, "ar", nari, minji)
    assert asked_now(everyday, "ar") == [arabic + "!"]
    assert f'dir="rtl">{arabic}!' in minji.get("translate/ar/3/")
    omar.get("translate/ar/3/", status=403)

    # A changed source reopens both; a changed topic reopens nothing.
    edit = minji.get("questions/3/edit/")
    base = re.search(r'name="base" value="([\w-]+)"', edit)
    assert base
    form = {"base": base[1], "text": text, "topic": "Family", "kind": "text"}
    minji.act("questions/3/edit/", form)
    assert asked_now(everyday, "ar") == [arabic + "!"]
    minji.act("questions/3/edit/", {**form, "text": "저녁에 무엇을 먹나요?", "reason": "아침은 좁다"})
    assert asked_now(everyday, "ar") == asked_now(everyday, "ko") == []
    agree(3, "ko", huda, jun)
    assert "the question has changed" in huda.get("translate/ar/")
    assert "<del>아침에</del>" in huda.get("translate/ar/3/")
    propose(huda, 3, "ar", arabic + "!")  # the words still fit
    agree(3, "ar", nari, minji)
    assert asked_now(everyday, "ar") == [arabic + "!"]
    minji.post("questions/3/retire/", status=400)
    minji.act("questions/3/retire/", {"reason": "Nobody asks that."})
    assert asked_now(everyday, "ar") == []
    minji.post("questions/3/edit/", {**form, "reason": "x"}, status=409)
    minji.act("questions/3/retire/", {"back": "yes"})
    assert asked_now(everyday, "ar") == [arabic + "!"]
    assert "Wordings agreed in العربية" in ana.get("")


def test_many_questions_are_made_of_one_text_and_a_prompt_keeps_its_place(everyday: Any, askers: People) -> None:
    minji = askers["minji"]
    form = {"language": "ko", "kind": "text", "topic": "Food"}
    many = {**form, "text": "{날}에 무엇을 먹나요?", "fillings": "설날\n추석\n\n설날"}
    page = minji.post("questions/new/", many)
    assert "설날에 무엇을 먹나요?" in page
    assert "추석에 무엇을 먹나요?" in page
    minji.act("questions/new/", {**many, "fillings": "추석\n생일"})
    assert Question.objects.filter(kind="text").count() == 3
    page = minji.post("questions/new/", {**form, "text": "설날에 무엇을 먹나요?"}, status=400)
    assert "“설날에 무엇을 먹나요?” already exists." in page
    assert f'href="/p/{minji.project}/"' in page
    assert "one blank, such as" in minji.post("questions/new/", {**many, "text": "빈칸 없음"}, status=400)
    minji.post("questions/new/", {**form, "text": " "}, status=400)
    assert "needs a topic" in minji.post("questions/new/", {**form, "text": "질문", "topic": ""}, status=400)
    minji.post("questions/new/", {**form, "text": "질문", "kind": "x"}, status=400)
    agree(1, "en", minji, askers["huda"])
    assert "where the question goes" in propose(askers["huda"], 1, "ko", "짧게 답하세요.", status=400)
    propose(askers["huda"], 1, "ko", "짧게 답하세요. {q}")
    agree(1, "ko", minji, askers["jun"])
    assert asked_now(everyday, "ko") == asked_now(everyday, "en") == []  # prompts are no questions
    minji.act("topics/", {"name": "Food", "target": "9"})
    assert '<td class="n">3</td><td class="n">0</td><td class="n">9</td>' in minji.get("questions/")
    assert "Situations by topic" not in minji.get("topics/")


def test_questions_come_in_from_packs(everyday: Any) -> None:
    assert taken_in(everyday, "sample:south-korea") == 17  # with both prompts
    assert (Question.objects.count(), Wording.objects.count()) == (17, 34)
    assert taken_in(everyday, "sample:south-korea") == 0
    assert taken_in(everyday, "sample:egypt") == 17  # their wordings in Arabic
    assert (Question.objects.count(), Wording.objects.count()) == (17, 51)
    assert taken_in(everyday, "sample:mexico") == 0  # nobody here speaks its language
    with pytest.raises(KapwaError, match="holds no questions") as refused:
        taken_in(everyday, "sample")
    assert "Name one of its packs: sample:egypt, sample:mexico," in str(refused.value)
    published = Wording.objects.filter(question__kind="prompt", language="en")
    assert set(published.values_list("state", flat=True)) == {"approved"}
    assert set(Wording.objects.exclude(pk__in=published).values_list("state", flat=True)) == {"proposed"}
    assert Question.objects.get(name="k01").language == "en"
    assert differences(everyday) == []
