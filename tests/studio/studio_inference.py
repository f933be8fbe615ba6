"""Everything that one role can see and download of a planted project, and programs that join names with answers.

Each attack returns guesses: of each name, which person's answers are theirs. A person is known by a mark that stands in
each of their answers, and in nothing else.
"""

import html
import io
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from random import Random
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from studio_answers import answer, approve, ask
from studio_people import Someone, enter

from kapwa.studio.core.background import count_again, groups_of
from kapwa.studio.core.kinds import ACTS
from kapwa.studio.core.log import record
from kapwa.studio.core.members import names
from kapwa.studio.models import Answer, Event, Membership, Person

Documents = Mapping[str, str]
Guesses = dict[str, int]
_LINK = re.compile(r'href="(/p/[^"#]*|\?[^"#]*)"')
# Texts of the interface and forms of tables to fill in: hundreds of pages that tell of nobody.
_SAME = re.compile(r"/interface/.+|/import/.+")
# What parts a page into records: rows, list entries, forms, articles.
_RECORD = re.compile(r"(?=<(?:tr|li|form|article|section|label)\b)")
_MARK = re.compile(r"sagot(\d+)x\d+")
# Identifiers, moments, and numbers of people.
_TELLING = re.compile(
    r"\b(?:[0-9a-f]{16}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{6}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d)\b"
)


def name_of(person: int) -> str:
    return f"Tao{person:02d}"


class Planted:
    """A project of everyday questions, a coordinator, and people who answer in their turn, write and talk between."""

    def __init__(self, project: Any, seed: int, people: int = 12, questions: int = 14) -> None:
        self.project, self.random, self.people = project, Random(seed), people
        self.ana = enter(project, "Ana", "coordinator")
        self.ana.act("who/", {"background": ["locality"]})
        self.questions = [ask(project, f"Tanong {n}?") for n in range(questions)]
        self._add_prompt()
        self.members = [self._join(person) for person in range(people)]
        counts = self.random.sample(range(3, 3 + people), people) if people < questions else None
        for person, action in self._acts(counts or [3 + self.random.randrange(questions - 3) for _ in range(people)]):
            self._do(person, action)
        self._spread_over_days()

    def _add_prompt(self) -> None:
        """Say how models are asked, without which there is no release."""
        with transaction.atomic():
            body = {"text": "{q} 짧게.", "language": "ko", "topic": "", "kind": "prompt", "name": "inst-4"}
            made = record(self.project, "question.written", body, actor="writer")
            approve(self.project, str(made.uuid), "ko")

    def _join(self, person: int) -> Any:
        scopes = ["publish", *(["quote"] if self.random.random() < 0.5 else [])]
        scopes += ["progress"] if person % 2 else []
        roles = ["answerer", "writer", *(["translator"] if person % 3 else [])]
        if person == self.people - 1:
            scopes.remove("publish")  # the only one who does not want it
        with transaction.atomic():
            human = Person.objects.create(access=f"access {person}")
            about = {"pseudonym": name_of(person), "roles": roles, "consent_version": 1, "consent_scopes": scopes}
            member = Membership.objects.create(project=self.project, person=human, **about)
            record(self.project, "member.joined", {"roles": roles}, actor=member.author, subject=member.author)
            agreed = {"version": 1, "scopes": scopes}
            record(self.project, "member.agreed", agreed, actor=member.author, subject=member.author)
        return member

    def _acts(self, counts: Sequence[int]) -> Iterator[tuple[int, str]]:
        """What everybody does, in the order in which they come: most of it early who came early."""
        acts = []
        for person, count in enumerate(counts):
            done = ["answer"] * count + ["write"] * self.random.randrange(1, 3) + ["tell", "change"]
            acts += [(person + 8 * self.random.random(), person, action) for action in done]
        for _when, person, action in sorted(acts):
            yield person, action

    def _do(self, person: int, action: str) -> None:
        member = self.members[person]
        with transaction.atomic():
            if action == "answer":
                done = set(Answer.objects.filter(author=member.author).values_list("question", flat=True))
                left = [question for question in self.questions if question.id not in done]
                if left:
                    question = self.random.choice(left)
                    answer(member, question, f"sagot{person}x{question.number}")
            elif action == "write":
                body = {"text": f"Tanong ni {self.random.random()}?", "language": "ko", "topic": "Food", "kind": "text"}
                record(self.project, "question.written", body | {"name": ""}, actor=member.author)
            elif action == "tell":
                place = ("Sagada", "Baguio")[person % 2]
                about = {"background": {"locality": place}, "background_groups": groups_of(self.project, member)}
                Membership.objects.filter(pk=member.pk).update(**about)
                record(self.project, "member.changed", {"scopes": []}, actor=member.author, subject=member.author)
                count_again(self.project)
            else:
                record(self.project, "member.changed", {}, actor=member.author, subject=member.author)

    def _spread_over_days(self) -> None:
        """Let minutes and days pass between what people did."""
        events = list(Event.objects.filter(project=self.project).order_by("seq"))
        for place, event in enumerate(events):
            event.server_time -= timedelta(minutes=(len(events) - place) * 67)
        Event.objects.bulk_update(events, ["server_time"], batch_size=500)


def seen_by(who: Someone, *posts: tuple[str, dict[str, Any]]) -> dict[str, str]:
    """Every page that links lead to, every download, and the answers to ``posts``, as texts by their addresses."""
    documents: dict[str, str] = {}
    waiting = [who.full("")]
    while waiting:
        path = waiting.pop()
        if path in documents or _SAME.search(path):
            continue
        answered = who.client.get(path)
        if answered.status_code == 302:
            waiting.append(answered.headers["Location"])
            continue
        content = b"".join(answered.streaming_content) if answered.streaming else answered.content
        for name, text in texts_of(path, content):
            documents[name] = text
        base = path.partition("?")[0]
        links = (html.unescape(link) for link in _LINK.findall(documents.get(path, "")))
        waiting += [base + link if link.startswith("?") else link for link in links]
    for path, data in posts:
        answered = who.client.post(who.full(path), data)
        for name, text in texts_of(f"POST {path} {data}", answered.content):
            documents[name] = text
    return documents


def texts_of(path: str, content: bytes) -> Iterator[tuple[str, str]]:
    """The texts in what was sent: of an archive those of its files."""
    if content[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield f"{path}!{name}", archive.read(name).decode("utf-8", "replace")
    else:
        yield path, content.decode("utf-8", "replace")


def as_before(planted: Planted) -> dict[str, str]:
    """A log page and an archive as earlier versions gave them, to try the attacks on."""
    events = Event.objects.filter(project=planted.project).order_by("seq")
    called = names(planted.project)
    rows = [
        f"<tr><td>{event.seq}</td><td>{event.server_time:%Y-%m-%d %H:%M}</td><td>{called.get(event.actor, '–')}</td>"
        f"<td>{ACTS[event.kind]}</td></tr>"
        for event in reversed(events)
    ]
    log = "".join(rows)
    lines = [
        json.dumps(
            {"kind": e.kind, "actor": e.actor, "server_time": e.server_time, "body": e.body}, cls=DjangoJSONEncoder
        )
        for e in events
    ]
    members = [
        json.dumps({"author": member.author, "joined": member.joined}, cls=DjangoJSONEncoder)
        for member in Membership.objects.filter(project=planted.project).order_by("pk")
    ]
    archive = {"old!events.jsonl": "\n".join(lines), "old!members.jsonl": "\n".join(members)}
    return {"/p/araw/log/": log, **archive}


def records(documents: Documents) -> Iterator[str]:
    for path, text in documents.items():
        yield from text.splitlines() if path.endswith((".jsonl", ".csv")) else _RECORD.split(text)


def named_in(text: str) -> set[str]:
    return set(re.findall(r"\bTao\d\d\b", text))


def marked_in(text: str) -> set[int]:
    return {int(person) for person in _MARK.findall(text)}


def by_identifiers(documents: Documents) -> Guesses:
    """Identifiers, moments and numbers that stand beside one name alone, and beside one person's answers alone."""
    names: defaultdict[str, set[str]] = defaultdict(set)
    people: defaultdict[str, set[int]] = defaultdict(set)
    for text in records(documents):
        telling = set(_TELLING.findall(text))
        for part in telling:
            names[part] |= named_in(text)
            people[part] |= marked_in(text)
    guesses: Guesses = {}
    for part in names.keys() & people.keys():
        if len(names[part]) == len(people[part]) == 1:
            guesses[next(iter(names[part]))] = next(iter(people[part]))
    return guesses


def log_rows(documents: Documents) -> list[tuple[str, str]]:
    """Who did what by the log, the first first; "" for nobody."""
    rows = []
    for path, text in documents.items():
        if "/log/" in path:
            for row in re.findall(r"<tr>(.*?)</tr>", text, re.DOTALL):
                cells = [
                    re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)
                ]
                if len(cells) >= 3:
                    name = next(iter(named_in(" ".join(cells))), "")
                    rows.append((name, cells[-1] if cells[-1] and not cells[-1].isdecimal() else cells[-2]))
    return rows[::-1]


def kept_events(documents: Documents) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for path, text in documents.items()
        if path.endswith("!events.jsonl")
        for line in text.splitlines()
    ]


def people_by_actor(events: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Whose answers stand under which id of an archive."""
    return {event["actor"]: person for event in events for person in marked_in(json.dumps(event["body"]))}


def by_order(documents: Documents) -> Guesses:
    """The same acts in the same order, in the log with names and in the archive with ids."""
    events, log = kept_events(documents), log_rows(documents)
    votes: Counter[tuple[str, str]] = Counter()
    for kind, words in ACTS.items():
        theirs = [name for name, act in log if act == words]
        actors = [event["actor"] for event in events if event["kind"] == kind]
        if len(theirs) == len(actors):
            votes.update(zip(theirs, actors, strict=True))
    owners, guesses = people_by_actor(events), dict[str, int]()
    for (name, actor), _n in votes.most_common():
        if name and actor in owners:
            guesses.setdefault(name, owners[actor])
    return guesses


def ranked(names: Mapping[str, float], people: Mapping[int, float]) -> Guesses:
    """Whoever is at the same place in both orders."""
    by_name = sorted(names, key=lambda name: (names[name], name))
    by_person = sorted(people, key=lambda person: (people[person], person))
    return dict(zip(by_name, by_person, strict=False))


def by_counts(documents: Documents) -> Iterator[Guesses]:
    """How much each did by the log, and by what is told of activity, and how many answers each number gave."""
    answers: Counter[int] = Counter()
    for path, text in documents.items():
        if path.endswith(("events.jsonl", "table/")):
            found = {(person, line) for line in text.splitlines() for person in marked_in(line)}
            answers = Counter(person for person, _line in found)
            if not answers:
                continue
            log = log_rows(documents)
            for act in {act for _name, act in log} | {""}:
                did = Counter(name for name, words in log if name and act in ("", words))
                if len(did) > 3:
                    yield ranked(did, answers)
    activity = next((text for path, text in documents.items() if path.endswith("activity/")), "")
    told = {name: float(n) for name, n in re.findall(r"<bdi>(Tao\d\d)</bdi></th><td class=\"n\">(\d+)<", activity)}
    if told:
        yield ranked(told, {person: answers[person] for person in answers if person % 2})


def by_coming(documents: Documents) -> Iterator[Guesses]:
    """The order in which people came, by the page of people and by the log, and in which ids come first in archives."""
    page = next((text for path, text in documents.items() if path.endswith("/people/")), "")
    orders = [
        list(dict.fromkeys(re.findall(r"\bTao\d\d\b", page))),
        list(dict.fromkeys(n for n, _a in log_rows(documents) if n)),
    ]
    events = kept_events(documents)
    owners = people_by_actor(events)
    firsts = list(dict.fromkeys(event["actor"] for event in events if event["actor"] in owners))
    members = [
        json.loads(line)["author"]
        for path, text in documents.items()
        if path.endswith("!members.jsonl")
        for line in text.splitlines()
    ]
    days: dict[str, str] = {}
    for event in events:
        if event["actor"] in owners:
            days[event["actor"]] = min(days.get(event["actor"], "9"), event["server_time"])
    for theirs in (firsts, [author for author in members if author in owners], sorted(days, key=lambda who: days[who])):
        for order in filter(None, orders):
            yield dict(zip(order, (owners[actor] for actor in theirs), strict=False))


def by_consent(documents: Documents, planted: Planted) -> Guesses:
    """What somebody agreed to, beside their named words and beside their answers, where nobody else agreed to that."""
    events = kept_events(documents)
    owners = people_by_actor(events)
    scopes: dict[str, str] = {}
    for path, text in documents.items():
        if path.endswith("!members.jsonl"):
            for line in text.splitlines():
                row = json.loads(line)
                scopes[row["author"]] = json.dumps([row.get("consent_scopes"), row.get("consent_version")])
    written = Counter(event["actor"] for event in events if event["kind"] == "question.written")
    # Pages name who wrote which question, so that the ids of what people wrote are known by name.
    texts = {event["body"].get("text"): event["actor"] for event in events if event["kind"] == "question.written"}
    named = {}
    for path, text in documents.items():
        if "/translate/" in path:
            for question, actor in texts.items():
                if question and html.escape(question) in text and len(named_in(text)) == 1:
                    named[actor] = next(iter(named_in(text)))
    guesses: Guesses = {}
    for actor, name in named.items():
        if actor in owners:
            guesses[name] = owners[actor]
        alike = [who for who in owners if scopes.get(who) == scopes.get(actor)]
        if len(alike) == 1 and written[actor]:
            guesses[name] = owners[alike[0]]
    return guesses


def by_change(planted: Planted, names: Iterable[int]) -> Guesses:
    """What changes on any page when a role is taken from somebody and given back."""
    pages = ("answers/", "answers/table/", "quality/answers/", "work/", "who/", "activity/", "log/", "")
    guesses: Guesses = {}
    for person in names:
        member = planted.members[person]
        before = {path: planted.ana.client.get(planted.ana.full(path)).content.decode() for path in pages}
        post = {"action": "roles", "author": member.author}
        planted.ana.act("people/", post | {"roles": ["rater"]})
        after = {path: planted.ana.client.get(planted.ana.full(path)).content.decode() for path in pages}
        planted.ana.act("people/", post | {"roles": member.roles})
        changed: set[int] = set()
        for path in pages:
            lines = set(before[path].splitlines()) ^ set(after[path].splitlines())
            changed |= {who for line in lines for who in marked_in(line)}
        if len(changed) == 1:
            guesses[name_of(person)] = changed.pop()
    return guesses


def rights(guesses: Guesses) -> int:
    return sum(name_of(person) == name for name, person in guesses.items())


def all_attacks(documents: Documents, planted: Planted) -> dict[str, Guesses]:
    made = {"identifiers": by_identifiers(documents), "order": by_order(documents)}
    made |= {f"counts {n}": guesses for n, guesses in enumerate(by_counts(documents))}
    made |= {f"coming {n}": guesses for n, guesses in enumerate(by_coming(documents))}
    return made | {"consent": by_consent(documents, planted)}
