"""People with browsers of their own, and what they write."""

import copy
import re
from pathlib import Path
from typing import Any

from django.db import transaction
from django.test import Client

from kapwa.studio import commands
from kapwa.studio.core.erasure import erase_author
from kapwa.studio.core.forms import form_of
from kapwa.studio.core.log import record
from kapwa.studio.models import ConsentText, InterfaceText, Membership, Situation

URL = "http://testserver"


class Someone:
    """A person with a browser of their own."""

    def __init__(self, project: str) -> None:
        self.client = Client(enforce_csrf_checks=False)
        self.project = project
        self.code = ""

    def get(self, path: str, status: int = 200) -> str:
        answer = self.client.get(self.full(path), follow=True)
        assert answer.status_code == status, answer.content.decode()
        return answer.content.decode()

    def post(self, path: str, data: dict[str, Any] | None = None, status: int = 200) -> str:
        answer = self.client.post(self.full(path), data or {}, follow=True)
        assert answer.status_code == status, answer.content.decode()
        return answer.content.decode()

    def act(self, path: str, data: dict[str, Any] | None = None) -> None:
        """Post what is taken, without looking at the page that comes after."""
        answer = self.client.post(self.full(path), data or {})
        assert answer.status_code in (200, 302), answer.content.decode()

    def ask(self, number: int) -> str:
        """Ask the model about a situation; return how its page reads then."""
        self.client.post(self.full("ask/"), {"number": str(number)}).getvalue()
        return self.get(f"situations/{number}/")

    def full(self, path: str) -> str:
        return path if path.startswith("/") else f"/p/{self.project}/{path}"

    def arrive(self, code: str, name: str) -> "Someone":
        self.act("/enter/", {"code": code})
        shown = self.post("/join/", {"pseudonym": name})
        found = re.search(r'class="code shown">([\d-]+)<', shown)
        self.code = found[1] if found else ""
        return self

    def again(self) -> "Someone":
        """The same person's browser as it is now."""
        other = Someone(self.project)
        other.code = self.code
        other.client.cookies = copy.deepcopy(self.client.cookies)
        return other

    def agree(self) -> "Someone":
        version = ConsentText.objects.filter(project__slug=self.project).latest("version").version
        self.act("consent/", {"version": version, "agree": "yes", "scope_publish": "yes"})
        return self


People = dict[str, Someone]  # by the names that tests call them


def recorded(project: Any, kind: str, body: dict[str, Any], *, actor: str, subject: str = "") -> Any:
    """Record an event, which is written whole or not at all."""
    with transaction.atomic():
        return record(project, kind, body, actor=actor, subject=subject)


def erase(project: Any, author: str) -> None:
    """Remove what somebody contributed."""
    with transaction.atomic():
        erase_author(project, author)


def files_with(folder: Path, text: str) -> list[str]:
    """The names of the files in a folder that hold a text."""
    return [path.name for path in folder.iterdir() if path.is_file() and text.encode() in path.read_bytes()]


def author_of(name: str) -> str:
    """The id under which a member stands in the log."""
    return str(Membership.objects.get(pseudonym=name).author)


def let_back(who: Someone, answer: str = "agree") -> None:
    """Say whether the first who waits to be let back in may be."""
    found = re.search(r'name="asked" value="(\w+)"', who.get("back/"))
    assert found
    who.post("back/", {"asked": found[1], "answer": answer})


def taken_in(project: Any, data: Any) -> int:
    """Take items in as the command does; how many are new."""
    return int(form_of(project).take_in(project, data).partition(" ")[0])


def enter(project: Any, name: str, *roles: str) -> Someone:
    """Invite somebody, let them in, and let them agree."""
    code = commands.invite_people(project, roles, 1, URL)[0].code
    return Someone(project.slug).arrive(code, name).agree()


def come(project: Any, members: dict[str, tuple[str, ...]]) -> People:
    """Let people in: of each the name that tests call them, and their name and roles."""
    return {name: enter(project, *about) for name, about in members.items()}


def a_situation(word: str = "", **changes: str) -> dict[str, str]:
    """The fields of a whole situation, as a form posts them; ``word`` tells it from others."""
    fields = {
        "language": "fil",
        "topic": "friendship",
        "category": "ethics",
        "user": "Estudyante ako.",
        "context": f"Nakita ko ang dati kong kaklase na {word or 'si Liza'} sa palengke.",
        "personal_situation": "Nagmamadali ako.",
        "instruction": "Anong gagawin ko?",
        "relevant_1": f"Batiin mo siya at kumustahin si {word} nang sandali.",
        "relevant_2": f"Ngumiti ka at kumaway kay {word}.",
        "relevant_3": f"Sabihin mong nagmamadali ka, {word}, at magkikita kayo.",
        "irrelevant_1": f"Huwag mo siyang pansinin, {word}, at tumuloy ka lang sa iyong pupuntahan.",
        "irrelevant_2": f"Magkunwari kang hindi mo siya nakita, {word}, hanggang makaalis siya.",
        "irrelevant_3": f"Umiba ka ng daan, {word}.",
        "best": "1",
    }
    return {**fields, **changes}


def send_to_review(who: Someone, number: int, word: str = "Liza", **fields: str) -> None:
    """Let somebody write a situation, which gets the number, and send it to review."""
    who.act("situations/new/", a_situation(word, **fields))
    who.act(f"situations/{number}/submit/")


def accepted(people: People, number: int, *voters: str) -> None:
    """Let people vote for a situation that is in review, reveal, and accept it."""
    situation = Situation.objects.get(project__slug=people["dina"].project, number=number)
    for name in voters:
        vote = {"round": situation.round, "choice": "accept", "best": "1"}
        people[name].act(f"situations/{number}/vote/", vote)
    people["dina"].act(f"situations/{number}/reveal/")
    people["dina"].act(f"situations/{number}/accept/")


def speak(project: Any, language: str, texts: dict[str, str]) -> None:
    """Let people of a project say texts of the studio in their language."""
    for place, (source, text) in enumerate(texts.items(), start=1):
        own = {"id": f"{language}:{place}", "project": project, "language": language, "seq": place}
        InterfaceText.objects.create(**own, source=source, texts=[text], approved=True)
