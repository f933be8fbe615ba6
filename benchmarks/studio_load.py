"""Many people write to a studio at once: errors, writes a second, waiting times; and what a killed server kept.

    python benchmarks/studio_load.py [--clients 50] [--seconds 20] [--database postgresql://…] [--kill 1000]

Each client is a person with a visit of their own who posts remarks to a situation, one after another, as browsers do:
over HTTP, with the cookie and the form's token. With ``--kill N`` the server is killed (SIGKILL) after N answers while
others are under way; it is started again, and every answered post must be there exactly once.
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


class Posted(NamedTuple):
    """What came of the posts: seconds of each that was answered, its id, and what went wrong."""

    seconds: list[float]
    ids: list[str]
    errors: list[str]
    wall: float


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


async def load(address: str, codes: list[str], *, seconds: float, most: int | None, server: Any = None) -> Posted:
    """Let everybody post until ``seconds`` are over, or kill ``server`` after ``most`` answers."""
    found = Posted([], [], [], 0.0)
    sessions = [aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) for _ in codes]
    tokens = []
    for place, (session, code) in enumerate(zip(sessions, codes, strict=True)):
        tokens.append(await come_in(session, address, code, f"client {place}"))
    form = {"csrfmiddlewaretoken": tokens[0], "uuid": str(uuid.uuid4()), "language": "fil", "context": "Tag-ulan."}
    answer = await sessions[0].post(f"{address}/p/load/situations/new/", data=form)
    assert answer.status == 200, await answer.text()
    began = time.perf_counter()
    over = asyncio.Event()

    async def person(session: aiohttp.ClientSession, token: str) -> None:
        while not over.is_set() and time.perf_counter() - began < seconds:
            own = str(uuid.uuid4())
            form = {"csrfmiddlewaretoken": token, "uuid": own, "text": f"Sa amin ay iba. {own}"}
            sent = time.perf_counter()
            try:
                url = f"{address}/p/load/situations/1/discuss/"
                async with session.post(url, data=form, allow_redirects=False) as answer:
                    status = answer.status
            except (aiohttp.ClientError, ConnectionError) as error:
                if not over.is_set():
                    found.errors.append(repr(error))
                return
            if status != 302:
                found.errors.append(f"status {status}")
                continue
            found.seconds.append(time.perf_counter() - sent)
            found.ids.append(own)
            if most is not None and len(found.ids) >= most and not over.is_set():
                over.set()
                server.send_signal(signal.SIGKILL)

    await asyncio.gather(*(person(*pair) for pair in zip(sessions, tokens, strict=True)))
    wall = time.perf_counter() - began
    await asyncio.gather(*(session.close() for session in sessions))
    return found._replace(wall=wall)


def processor_seconds(pid: int) -> float:
    """Return the processor time that a running process took, NaN where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return math.nan
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
    folder: Path, *, clients: int, seconds: float, kill: int | None = None, database: str | None = None
) -> dict[str, Any]:
    """Make a studio in ``folder``, load it, and return the figures."""
    options = ("--database", database) if database else ()
    run("new", "load", "--language", "fil", *options, cwd=folder)
    printed = run("invite", "load", "--role", "writer", "--count", str(clients), *options, cwd=folder)
    codes = re.findall(r"^\d{4}-\d{4}-\d{4}", printed, re.MULTILINE)
    server, address = serve(folder, *options)
    try:
        found = asyncio.run(load(address, codes, seconds=seconds, most=kill, server=server))
    finally:
        spent = processor_seconds(server.pid)
        server.kill()
        server.wait()
    events = kept(folder / "kapwa-studio", database)
    run("check", *options, cwd=folder)
    times = np.array(found.seconds)
    return {
        "clients": clients,
        "writes": len(found.ids),
        "writes_per_second": round(len(found.ids) / found.wall, 1),
        # Starting and letting people in included. What else the machine does changes the speed, but not this.
        "server_cpu_ms_per_write": round(1000 * spent / len(found.ids), 2) if kill is None else None,
        "p50_s": round(float(np.quantile(times, 0.5)), 4),
        "p99_s": round(float(np.quantile(times, 0.99)), 4),
        "longest_s": round(float(times.max()), 4),
        "errors": len(found.errors),
        "first_errors": found.errors[:3],
        "lost": len(set(found.ids) - set(events)),
        "twice": len(events) - len(set(events)),
    }


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--kill", type=int, help="kill the server after this many answers")
    parser.add_argument("--database", help="a postgresql:// URL; default: SQLite")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="studio-load-") as folder:
        print(json.dumps(measure(Path(folder), **vars(given)), indent=2))


if __name__ == "__main__":
    main()
