"""What a trial found lacking: said where it belongs, logged by its name, and undone where it was an accident."""

import os
import re
from pathlib import Path
from typing import Any

from django.conf import settings
from studio_answers import answer, answerers, ask, member_of, revise
from studio_people import People, enter
from studio_ratings import some_accepted, task_of, work
from test_everyday_release import word
from test_quality import check

from kapwa.studio import commands
from kapwa.studio.core import evaluating
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.log import record
from kapwa.studio.core.withdrawals import release_due
from kapwa.studio.models import Drawn, Event, Judgement, Release, Situation
from kapwa.studio.templatetags.studio import folded


def test_a_release_is_due_once_a_question_is_a_check_or_answers_are_set_aside(
    everyday: Any, askers: People, tmp_path: Path
) -> None:
    word(everyday, "inst-4", "ko", "질문에 답하세요. {q}", "first", "second")
    questions, people = [ask(everyday, f"뭘 먹나요, {n}?") for n in range(2)], answerers(everyday, 2)
    for question in questions:
        for member in people:
            answer(member, question, "밥")

    def due(version: str) -> bool:
        """Whether a release is due after this act and until the next release."""
        was = release_due(everyday) is not None
        freeze(everyday, version, tmp_path)
        assert release_due(everyday) is None
        return was

    assert not due("1.0.0")
    check(everyday, questions[0], "밥")
    assert due("2.0.0")
    about = {"desk": "answers", "reason": "careless", "note": ""}
    asked = record(everyday, "work.aside-asked", about, actor="ana", subject=people[1].author)
    assert release_due(everyday) is None
    record(everyday, "work.aside-agreed", {"aside": str(asked.uuid)}, actor="dina", subject=people[1].author)
    assert release_due(everyday) is not None
    # The known answers of a question whose text has changed are said to be old, until they are given anew.
    ana = askers["ana"]
    assert "The question has changed since then." not in ana.get("checks/")
    revise(everyday, questions[0], "저녁에 뭘 먹나요?")
    assert "The question has changed since then." in ana.get("checks/")
    check(everyday, questions[0], "국")
    assert "The question has changed since then." not in ana.get("checks/")


def test_a_member_reads_that_their_answers_are_set_aside(everyday: Any, askers: People) -> None:
    omar = member_of(askers["omar"])
    answer(omar, ask(everyday, "뭘 먹나요?"), "밥")
    about = {"desk": "answers", "reason": "careless", "note": ""}
    asked = record(everyday, "work.aside-asked", about, actor="ana", subject=omar.author)
    assert "set answers aside" not in askers["omar"].get("me/")
    record(everyday, "work.aside-agreed", {"aside": str(asked.uuid)}, actor="dina", subject=omar.author)
    assert "set answers aside" in askers["omar"].get("me/")


def test_a_rating_by_accident_is_taken_back_and_said_anew(project: Any, people: People) -> None:
    some_accepted(people, 2)
    people["ana"].act("results/", {"sample": "1", "raters": "1"})
    vina, other = enter(project, "Vina", "validator"), enter(project, "Wena", "validator")
    page = vina.get("work/baseline/")
    hidden, choices = task_of(page)
    first, second = (value for value, _text in choices["chosen"][:2])
    saved = vina.post(
        "work/baseline/", {**hidden, "field_chosen": first, "field_remark": "nagkamali", "button": "save"}
    )
    link = re.search(r'href="(\?again=[^"]+)"', saved)
    assert link
    assert "nagkamali" not in other.get(f"work/baseline/{link[1]}")
    assert 'class="work"' not in other.get(f"work/baseline/{link[1]}")  # they did not judge it
    again = vina.get(f"work/baseline/{link[1]}")
    assert "nagkamali" in again
    hidden = task_of(again)[0]
    vina.act("work/baseline/", {**hidden, "field_chosen": second, "button": "save"})
    judged = Judgement.objects.get()
    assert judged.values["chosen"] == judged.order[int(second) - 1]
    assert work(vina, "baseline", lambda page, choices: {}) == 0


def test_judgements_that_come_late_make_up_for_no_other_thing(project: Any, people: People) -> None:
    some_accepted(people, 3)
    people["ana"].act("results/", {"sample": "3", "raters": "1"})
    first, other, _last = Drawn.objects.order_by("number")
    body = {"seen": "", "order": [0], "values": {"chosen": 0}, "remark": "", "situation": first.situation}
    for author in ("vina", "wena"):
        record(project, "text.judged", body, actor=author, subject=first.id)
    assert "1 of 3 done." in people["ana"].get("results/")
    # What reads otherwise now is asked of nobody.
    changed = Situation.objects.get(id=other.situation)
    Situation.objects.filter(id=changed.id).update(fields=changed.fields | {"context": "Iba na ito."})
    assert "1 of 2 done." in people["ana"].get("results/")


def test_lines_of_calendars_are_short() -> None:
    text = "BEGIN:VEVENT\nSUMMARY:" + "민지와 밥 👩‍🍳 " * 30 + "\nURL:http://x\n"
    lines = folded(text).split("\r\n")
    assert max(len(line.encode()) for line in lines) <= 75
    assert folded(text).replace("\r\n ", "").replace("\r\n", "\n") == text


def test_an_evaluation_tells_nothing_of_the_computer_and_goes_when_words_do(
    everyday: Any, askers: People, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    folder = evaluating.folder_of(everyday)
    folder.mkdir(parents=True)
    (folder / "1.0.0-blend-saq.json").write_text('{"model": "smollm2"}')
    lines = ["Report: /home/ana cruz/kapwa/report.html", r"C:\Users\ana\x.json: no", "blend/saq at http://x/y"]
    (folder / "1.0.0-blend-saq.log").write_text("\n".join(lines))
    known = evaluating.evaluation(everyday, Release(version="1.0.0"), "blend/saq")
    assert known is not None
    assert known.lines == ["Report: report.html", "x.json: no", "blend/saq at http://x/y"]
    commands.clear_traces()
    assert folder.exists()
    # A deletion that failed is made up for at the next start or check.
    monkeypatch.setattr("kapwa.studio.core.views.member.delete_evaluations", lambda project: None)
    askers["omar"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    left = Event.objects.get(kind="member.left").server_time.timestamp()
    os.utime(folder / "1.0.0-blend-saq.json", (left - 60, left - 60))
    assert commands.clear_traces() == ""
    assert not folder.exists()


def test_evaluations_that_were_deleted_in_part_go_at_the_next_start(
    everyday: Any, askers: People, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    run = evaluating.folder_of(everyday) / "1.0.0-blend-saq" / "run"
    run.mkdir(parents=True)
    (run.parents[1] / "1.0.0-blend-saq.json").write_text("{}")
    (run / "report.html").write_text("what Omar wrote")
    whole = evaluating.shutil.rmtree

    def half(folder: Path) -> None:
        (folder / "1.0.0-blend-saq.json").unlink()
        raise PermissionError(folder)

    monkeypatch.setattr(evaluating.shutil, "rmtree", half)
    askers["omar"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    assert list(tmp_path.rglob("report.html"))
    monkeypatch.setattr(evaluating.shutil, "rmtree", whole)
    assert commands.clear_traces() == ""
    assert not list((tmp_path / "evaluations").iterdir())
