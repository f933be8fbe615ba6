"""Many people write to a studio at once: errors, writes a second, waiting times; and what a killed server kept.

    python benchmarks/studio_load.py [--through remarks|sync|desk] [--clients 50] [--seconds 20] [--every 10]
                                     [--database postgresql://…] [--kill 1000] [--save NAME]

Each client is a person with a visit of their own who posts one thing after another, as browsers and phones do: over
HTTP, with the cookie and the form's token. ``remarks`` go to a situation. Answers to 500 everyday questions go through
``sync``, where phones send them, or through the ``desk``'s page, which leases the next question and shows it after each
answer. ``--every`` is the time a person takes for an answer; without it they post as fast as they can. With
``--kill N`` the server is killed (SIGKILL) after N answers while others are under way; then every answered post
must be in the database exactly once. ``--save`` keeps the figures in ``benchmarks/results/studio_load.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import numpy as np

KAPWA = [sys.executable, "-m", "kapwa", "studio"]


RESULTS = Path(__file__).parent / "results" / "studio_load.json"
QUESTIONS = 500
# A project of questions that two people agreed to, each asked of far more people than come.
_QUESTIONS = """
import sys
from pathlib import Path
from kapwa.studio.settings import configure
configure(Path(sys.argv[1]), database=sys.argv[2] or None)
from django.db import transaction
from kapwa.studio import commands
from kapwa.studio.core.log import record, single_writer
from kapwa.studio.models import Question, Wording
project = commands.find_project("load")
project.people_each = 10_000
project.save()
with single_writer(), transaction.atomic():
    for n in range(int(sys.argv[3])):
        body = dict(text=f"Ano ang kinakain sa araw {n}?", language="fil", topic="Food", kind="text", name="")
        record(project, "question.written", body, actor="a")
    for one in Question.objects.filter(project=project, kind="text"):
        for actor in ("b", "c"):
            seen = dict(language="fil", wording=one.text_event)
            record(project, "wording.agreed", seen, actor=actor, subject=one.id)
"""


class Posted(NamedTuple):
    """What came of the posts: seconds of each that was answered, its id, and what went wrong.

    ``pages``: seconds of each page that was got between posts; ``spent``: processor seconds of the server meanwhile.
    """

    seconds: list[float]
    ids: list[str]
    errors: list[str]
    pages: list[float]
    wall: float
    spent: float


def run(*arguments: str, cwd: Path) -> str:
    """Run a verb of ``kapwa studio`` and return what it printed."""
    return subprocess.run([*KAPWA, *arguments], cwd=cwd, capture_output=True, text=True, check=True).stdout


def serve(cwd: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """Start the server; return it and its address."""
    started = subprocess.Popen([*KAPWA, "serve", "--port", "0", *options], cwd=cwd, stderr=subprocess.PIPE, text=True)
    assert started.stderr is not None
    found = re.search(r"http://\S+", started.stderr.readline())
    if found is None:
        raise SystemExit(started.stderr.read())
    return started, found[0]


def token_of(page: str) -> str:
    """Return the form's token."""
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found, page[:500]
    return found[1]


async def come_in(session: aiohttp.ClientSession, address: str, code: str, name: str) -> str:
    """Join the project with an invitation and agree; return the token that the visit's forms need."""
    page = await (await session.get(f"{address}/enter/")).text()
    form = {"csrfmiddlewaretoken": token_of(page), "code": code}
    page = await (await session.post(f"{address}/enter/", data=form)).text()
    form = {"csrfmiddlewaretoken": token_of(page), "pseudonym": name}
    await session.post(f"{address}/join/", data=form)
    page = await (await session.get(f"{address}/p/load/consent/")).text()
    form = {"csrfmiddlewaretoken": token_of(page), "version": "1", "agree": "yes"}
    page = await (await session.post(f"{address}/p/load/consent/", data=form)).text()
    return token_of(page)


class Person:
    """Somebody with a visit of their own; a subclass knows what they post."""

    def __init__(self, address: str, place: int, found: Posted) -> None:
        self.session = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        self.address, self.place, self.found = address, place, found
        self.token = ""

    async def begin(self, code: str) -> None:
        """Come in."""
        self.token = await come_in(self.session, self.address, code, f"client {self.place}")

    async def post(self, own: str) -> str:
        """Post one thing under the id ``own``; return what went wrong, "" where nothing did."""
        form = {"csrfmiddlewaretoken": self.token, "uuid": own, "text": f"Sa amin ay iba. {own}"}
        return await self.send(f"{self.address}/p/load/situations/1/discuss/", 302, data=form)

    async def send(self, url: str, expected: int, **how: Any) -> str:
        """Post, and return what went wrong."""
        async with self.session.post(url, allow_redirects=False, **how) as answer:
            text = await answer.text()
            return "" if answer.status == expected else f"status {answer.status}: {text[:300]}"

    async def rest(self) -> bool:
        """Do what people do between two posts; return whether there is something to post next."""
        return True


class FirstPerson(Person):
    """Writes the situation that all remark on."""

    async def begin(self, code: str) -> None:
        """Come in, and write it."""
        await super().begin(code)
        form = {"csrfmiddlewaretoken": self.token, "language": "fil", "context": "Tag-ulan."}
        answer = await self.session.post(f"{self.address}/p/load/situations/new/", data=form)
        assert answer.status == 200, await answer.text()


class Phone(Person):
    """Takes questions along, and sends each answer when it is given."""

    async def begin(self, code: str) -> None:
        """Come in, and fetch 50 questions."""
        await super().begin(code)
        here = await (await self.session.get(f"{self.address}/p/load/sync/")).json()
        self.token, self.person = here["csrf"], here["person"]
        batch = await (await self.session.get(f"{self.address}/p/load/work/answers/batch/?n=50")).json()
        self.tasks = batch["tasks"]
        assert self.tasks, batch
        self.done = 0

    async def post(self, own: str) -> str:
        """Send one answer."""
        task = self.tasks[self.done % len(self.tasks)]
        self.done += 1
        values = {"button": "answered", "answer_1": f"kanin {self.done}"}
        record = {"uuid": own, "person": self.person, "desk": "answers", "values": values}
        record |= {name: task[name] for name in ("subject", "seen")}
        url, headers = f"{self.address}/p/load/sync/", {"X-CSRFToken": self.token}
        async with self.session.post(url, json={"records": [record]}, headers=headers) as answer:
            text = await answer.text()
            taken = answer.status == 200 and json.loads(text)["records"][0]["status"] == 200
            return "" if taken else f"status {answer.status}: {text[:300]}"


class Visitor(Person):
    """Answers at the desk's page, question by question."""

    async def begin(self, code: str) -> None:
        """Come in, and open the page."""
        await super().begin(code)
        await self.rest()

    async def rest(self) -> bool:
        """Get the page with the next question; it has none while others answer all that this person may answer now."""
        began = time.perf_counter()
        async with self.session.get(f"{self.address}/p/load/work/answers/") as answer:
            page = await answer.text()
        self.found.pages.append(time.perf_counter() - began)
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
        self.form = {name: hidden[name] for name in ("csrfmiddlewaretoken", "subject", "seen") if name in hidden}
        return "subject" in self.form

    async def post(self, own: str) -> str:
        """Send the form."""
        form = {**self.form, "uuid": own, "button": "answered", "field_answer_1": f"kanin {own}"}
        return await self.send(f"{self.address}/p/load/work/answers/", 302, data=form)


KINDS: dict[str, type[Person]] = {"remarks": Person, "sync": Phone, "desk": Visitor}


async def load(
    address: str,
    codes: list[str],
    *,
    through: str,
    seconds: float,
    every: float,
    most: int | None,
    kills: bool,
    server: Any = None,
) -> Posted:
    """Let everybody post until ``seconds`` are over or ``most`` posts are answered, and kill ``server`` then."""
    found = Posted([], [], [], [], 0.0, 0.0)
    kinds = [FirstPerson if through == "remarks" and not place else KINDS[through] for place in range(len(codes))]
    people = [kind(address, place, found) for place, kind in enumerate(kinds)]
    for person, code in zip(people, codes, strict=True):
        await person.begin(code)
    found.pages.clear()
    before = processor_seconds(server.pid)
    began = time.perf_counter()
    over = asyncio.Event()

    async def work(person: Person) -> None:
        # People are spread over the time that an answer takes them.
        due = began + every * person.place / len(people)
        while True:
            await asyncio.sleep(max(0, due - time.perf_counter()))
            if over.is_set() or time.perf_counter() - began >= seconds:
                return
            due += every
            own = str(uuid.uuid4())
            sent = time.perf_counter()
            try:
                wrong = await person.post(own)
                taken = time.perf_counter() - sent
                if wrong:
                    found.errors.append(wrong)
                else:
                    found.seconds.append(taken)
                    found.ids.append(own)
                    if most is not None and len(found.ids) >= most and not over.is_set():
                        over.set()
                        if kills:
                            server.send_signal(signal.SIGKILL)
                        return
                while not await person.rest():
                    if over.is_set() or time.perf_counter() - began >= seconds:
                        return
                    await asyncio.sleep(0.2)
            except (aiohttp.ClientError, ConnectionError, TimeoutError) as error:
                if over.is_set() and kills:
                    return
                found.errors.append(repr(error))
                if kills:
                    return

    await asyncio.gather(*(work(person) for person in people))
    wall, spent = time.perf_counter() - began, processor_seconds(server.pid) - before
    await asyncio.gather(*(person.session.close() for person in people))
    return found._replace(wall=wall, spent=spent)


def processor_seconds(pid: int) -> float:
    """Return the processor time that a running process took, NaN where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def niceness() -> int:
    """Return how these processes are ranked (0: as all, below: before others), by themselves or with their session."""
    group = Path("/proc/self/autogroup")
    found = re.search(r"nice (-?\d+)", group.read_text()) if group.is_file() else None
    return int(found[1]) if found else os.nice(0)


def fsync_seconds(folder: Path) -> float:
    """Return the median time in which the disk keeps 4 kB."""
    times = []
    with (folder / "synced").open("wb") as file:
        for _ in range(40):
            file.write(bytes(4096))
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - began)
    return float(np.median(times))


def kept(home: Path, database: str | None) -> list[str]:
    """Return the ids of the events that the database holds."""
    code = (
        "import sys, json; from pathlib import Path; from kapwa.studio.settings import configure;"
        "configure(Path(sys.argv[1]), database=sys.argv[2] or None);"
        "from kapwa.studio.models import Event;"
        "print(json.dumps([str(one) for one in Event.objects.values_list('uuid', flat=True)]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(home), database or ""], capture_output=True, text=True, check=True
    )
    return list(json.loads(done.stdout))


def measure(
    folder: Path,
    *,
    clients: int,
    seconds: float,
    most: int | None = None,
    kill: int | None = None,
    database: str | None = None,
    through: str = "remarks",
    every: float = 0.0,
    questions: int = QUESTIONS,
) -> dict[str, Any]:
    """Make a studio in ``folder``, load it, and return the figures.

    It ends after ``seconds``, or ``most`` posts that are answered, or ``kill`` of them, when the server is killed.
    """
    options = ("--database", database) if database else ()
    answers = through != "remarks"
    run("new", "load", "--language", "fil", "--form", "blend" if answers else "kalahi", *options, cwd=folder)
    if answers:
        subprocess.run(
            [sys.executable, "-c", _QUESTIONS, "kapwa-studio", database or "", str(questions)], cwd=folder, check=True
        )
    role = "answerer" if answers else "writer"
    printed = run("invite", "load", "--role", role, "--count", str(clients), *options, cwd=folder)
    codes = re.findall(r"^\d{4}(?:-\d{4}){3}", printed, re.MULTILINE)
    busy, syncing = os.getloadavg()[0], fsync_seconds(folder)
    server, address = serve(folder, *options)
    try:
        ends = {"seconds": seconds, "most": kill or most, "kills": kill is not None}
        found = asyncio.run(load(address, codes, through=through, every=every, server=server, **ends))
    finally:
        server.kill()
        server.wait()
    events = kept(folder / "kapwa-studio", database)
    run("check", *options, cwd=folder)
    times, pages = np.array(found.seconds), np.array(found.pages)
    return {
        "through": through,
        "database": "postgresql" if database else "sqlite",
        "clients": clients,
        "every_s": every,
        "killed": kill is not None,
        "writes": len(found.ids),
        "writes_per_second": round(len(found.ids) / found.wall, 1),
        # The pages between the writes included. What else the machine does changes the speed more than this.
        "server_cpu_ms_per_write": round(1000 * found.spent / len(found.ids), 2) if kill is None else None,
        "p50_s": round(float(np.quantile(times, 0.5)), 4),
        "p99_s": round(float(np.quantile(times, 0.99)), 4),
        "longest_s": round(float(times.max()), 4),
        "page_p99_s": round(float(np.quantile(pages, 0.99)), 4) if len(pages) else None,
        "errors": len(found.errors),
        "first_errors": found.errors[:3],
        "lost": len(set(found.ids) - set(events)),
        "twice": len(events) - len(set(events)),
        "processors": os.cpu_count(),
        # What else ran: processes that wanted a processor in the minute before, how these here were ranked (0: as all),
        # and how long the disk took to keep 4 kB, which a database waits for at each write.
        "load_before": round(busy, 1),
        "niceness": niceness(),
        "fsync_ms": round(1000 * syncing, 1),
    }


def main() -> None:
    """Measure, print the figures as JSON, and keep them under a name if one is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--through", choices=sorted(KINDS), default="remarks")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--every", type=float, default=0, help="seconds that a person takes for each")
    parser.add_argument("--kill", type=int, help="kill the server after this many answers")
    parser.add_argument("--database", help="a postgresql:// URL; default: SQLite")
    parser.add_argument("--save", help="keep the figures under this name")
    given = vars(parser.parse_args())
    name = given.pop("save")
    with tempfile.TemporaryDirectory(prefix="studio-load-") as folder:
        found = measure(Path(folder), **given)
    print(json.dumps(found, indent=2))
    if name:
        before = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
        RESULTS.write_text(json.dumps({**before, name: found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
