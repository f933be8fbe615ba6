"""From all that one role can see and download, a program tries to tell who said what: it may do no more than guess."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from scipy.stats import binom
from studio_inference import (
    Planted,
    all_attacks,
    as_before,
    by_change,
    by_order,
    kept_events,
    name_of,
    rights,
    seen_by,
)
from studio_kept import Prepared
from studio_people import People, accepted, enter, send_to_review

from kapwa.studio.core.desks import nameless_kinds
from kapwa.studio.core.exchange import export_project, import_project
from kapwa.studio.core.freeze import freeze
from kapwa.studio.core.log import differences, rebuild
from kapwa.studio.core.text import key_of
from kapwa.studio.models import Answer, Event, Project, Wording

# Of random guesses so many would be right in one test of 100,000.
_CHANCE = 1e-5
BACKUP = ("backup/", {"action": "archive"})


def most_by_chance(guesses: int, people: int) -> int:
    return int(binom.isf(_CHANCE, guesses, 1 / people))


@pytest.fixture
def planted(everyday: Any, prepared: Prepared) -> Planted:
    return prepared("planted", everyday, lambda: Planted(everyday, seed=35))


def test_the_attacks_find_everybody_in_what_earlier_versions_showed(planted: Planted) -> None:
    """Else they would prove nothing."""
    documents = as_before(planted)
    assert rights(by_order(documents)) == planted.people
    found = {name: rights(guesses) for name, guesses in all_attacks(documents, planted).items()}
    assert max(n for name, n in found.items() if name.startswith("coming")) >= 9, found


def test_a_coordinator_joins_no_name_with_answers(planted: Planted) -> None:
    """Pages, log, quality, tables, backup and a release; before and after acts of their own."""
    planted.ana.post("releases/", {"version": "1.0.0"})
    # Answers of a number are set aside: of the only one who wants nothing published, and of another.
    for member in (planted.members[-1], planted.members[0]):
        place = f"quality/answers/{key_of(planted.project, member.author)}/"
        planted.ana.act(place, {"reason": "careless", "note": "", "action": "asked"})
    documents = seen_by(planted.ana, BACKUP, BACKUP)
    events = kept_events(documents)
    aside = {event["subject"] for event in events if event["kind"] == "work.aside-asked"}
    assert len(aside) == 2
    assert aside.isdisjoint(event["actor"] for event in events if event["kind"] == "question.written")
    # They see all answers, all names, and the archive.
    assert {int(person) for text in documents.values() for person in re.findall(r"sagot(\d+)x", text)} == set(range(12))
    assert all(any(name_of(person) in text for text in documents.values()) for person in range(12))
    assert any(path.endswith("!events.jsonl") for path in documents)
    assert sum("quality/answers/" in path for path in documents) > 12
    attacks = all_attacks(documents, planted) | {"change": by_change(planted, range(0, 12, 4))}
    for name, guesses in attacks.items():
        assert rights(guesses) <= most_by_chance(len(guesses), planted.people), name
    # How much somebody did at desks stands beside no name at all.
    for path in ("log/", "activity/", "work/", "people/"):
        assert not re.search(r"Tao\d\d.{0,200}answered a question", planted.ana.get(path), re.DOTALL)


@pytest.mark.parametrize("roles", [("scribe", "translator", "writer", "reviewer"), ("answerer", "rater")])
def test_no_other_role_joins_them(planted: Planted, roles: tuple[str, ...]) -> None:
    """Whoever has several sees what those see who have one of them."""
    documents = seen_by(enter(planted.project, "Mata", *roles))
    for name, guesses in all_attacks(documents, planted).items():
        assert rights(guesses) <= most_by_chance(len(guesses), planted.people), name


# What differs from one crawl to another, and codes of people, which no page shows beside a name.
_VARIES = re.compile(
    r"[A-Za-z0-9]{40,}|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\bp?[0-9a-f]{16}\b|\b\d{6}\b|\b\d\d:\d\d\b"
)


def masked(documents: dict[str, str]) -> Counter[str]:
    """How often each line or tag is seen, where ever: which of a list comes first follows from codes of people."""
    lines = ((path, line) for path, text in documents.items() for line in text.replace("<", "\n<").splitlines())
    return Counter(_VARIES.sub("*", f"{path}: {line.strip()}") for path, line in lines)


def test_who_answered_what_changes_nothing_that_a_coordinator_sees(everyday: Any) -> None:
    """Let two people have given each other's answers: all reads as before, but for codes that nobody can tell."""
    planted = Planted(everyday, seed=35, people=6, questions=8)
    before = masked(seen_by(planted.ana, BACKUP))
    first, second = (planted.members[person].author for person in (3, 4))  # one lets their progress be seen, one not
    log = Event.objects.filter(project=planted.project, kind__in=nameless_kinds())
    assert log.filter(actor=first).count() != log.filter(actor=second).count()
    Event.objects.filter(project=planted.project, kind="backup.taken").delete()  # which was just taken
    with transaction.atomic():
        log.filter(actor=first).update(actor="-")
        log.filter(actor=second).update(actor=first)
        log.filter(actor="-").update(actor=second)
        rebuild(planted.project)
    after = masked(seen_by(planted.ana, BACKUP))
    assert (list(after - before), list(before - after)) == ([], [])


def test_the_archive_comes_back_with_the_same_figures(planted: Planted, tmp_path: Path) -> None:
    planted.ana.post("releases/", {"version": "1.0.0"})
    made = freeze(planted.project, "1.0.0", tmp_path / "before").folder
    left_out = Answer.objects.filter(author=planted.members[-1].author).count()
    answers, people = Answer.objects.count(), sum(Wording.objects.values_list("people", flat=True))
    assert left_out
    export_project(planted.project, tmp_path / "page.zip", whole=False, secret=tmp_path / "secret")
    Project.objects.all().delete()
    back = import_project("araw", tmp_path / "page.zip", secret=tmp_path / "secret")
    assert differences(back) == []
    # Who wants nothing published is not in it: of nobody else is anything lost.
    assert Answer.objects.count() == answers - left_out
    assert sum(Wording.objects.values_list("people", flat=True)) == people - left_out
    again = freeze(back, "1.0.0", tmp_path / "after").folder
    for name in ("questions.jsonl", "answers.jsonl", "release.json"):
        before, after = (json_lines(folder / name) for folder in (made, again))
        assert before == after, name
    events = Event.objects.filter(project=back)
    assert not events.filter(kind__startswith="member.").exists()
    assert not events.exclude(device_time=None).exists()


def json_lines(path: Path) -> list[str]:
    return [line for line in path.read_text().splitlines() if "README" not in line and "sha" not in line.casefold()]


def test_hidden_votes_and_withdrawn_words_are_nowhere(project: Any, people: People) -> None:
    """What people voted stays hidden until the reveal, and what somebody withdrew is gone, in all that anybody sees."""
    ana = people["ana"]
    for number, name in ((1, "berto"), (2, "carla")):
        send_to_review(people[name], number, f"salitani{name}", context=f"Salita ni {name} ito.")
    for name in ("edo", "dina"):
        vote = {"round": "1", "choice": "reject", "best": "2", "remark": f"lihimko ni {name}"}
        people[name].act("situations/1/vote/", vote)
    accepted(people, 2, "edo", "dina")
    for who in people.values():
        documents = seen_by(who, *([BACKUP] if who is ana else []))
        theirs = "lihimko ni edo" if who is people["edo"] else "lihimko ni dina" if who is people["dina"] else ""
        assert not [
            path for path, text in documents.items() if re.search("lihimko ni", text.replace(theirs or "\0", ""))
        ]
    # The log tells how many votes there were, and of the hidden ones not by whom.
    log = ana.get("log/").partition("What people did alone")
    assert not re.search(r"Edo.{0,80}voted on a situation</td><td><a[^>]*>1<", log[0], re.DOTALL)
    assert "voted on a situation" in log[2]
    ana.act("releases/", {"version": "1.0.0"})
    people["carla"].act("withdraw/", {"depth": "contributions", "sure": "yes"})
    for name, who in people.items():
        if name != "carla":
            documents = seen_by(who, *([BACKUP] if who is ana else []))
            assert not [path for path, text in documents.items() if "salitanicarla" in text or "ni carla" in text]
