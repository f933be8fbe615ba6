"""The whole trial: from an empty folder to the report of a model by buttons alone, on phones that lose the network.

All of it over HTTP; over HTTPS, behind a proxy, what is written at the desks. Seeded; KAPWA_CUTS=200 cuts the network
as often, two thirds of it over HTTP.
"""

import os
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from studio_browser import CHROMIUM, PATIENCE, PHONE, api, kapwa, launched
from studio_cuts import Person
from studio_people import a_situation, accepted, enter
from studio_trial import Made, Studio, Trial

from kapwa import studio as package
from kapwa.studio import commands
from kapwa.studio.core.freeze import freeze
from kapwa.studio.models import Event
from kapwa.suites.kalahi.form import TOPICS
from ports import free_port

CADDY, CERTUTIL = shutil.which("caddy"), shutil.which("certutil")
pytestmark = [pytest.mark.slow(100), pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
CADDYFILE = Path(package.__file__).parent / "deploy" / "server" / "Caddyfile"
CUTS = int(os.environ.get("KAPWA_CUTS", "12"))
SECURE = CUTS // 3  # of them over HTTPS
SITUATIONS = Made(
    *("ang-buhay-natin", "Ang buhay natin", "Filipino", "Filipino, Cebuano", "Situations from people's lives"),
    {"writer": 2, "reviewer": 2},
)


def begin(trial: Trial) -> Person:
    """Let the coordinator begin the project by the form, which is refused once, and twice the studio starts anew."""
    ana = Person(trial.browser.new_context(viewport=PHONE), trial.studio)
    page = ana.page
    page.goto(trial.studio.address + trial.studio.link)
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("Title").fill(SITUATIONS.title)
    ana.look("begin")
    trial.fill_in(page)
    page.get_by_label("Languages people write in").fill("Klingonish!")
    page.get_by_role("button", name="Begin").click()
    assert "is not the tag of a language" in page.locator("#wrong-languages").inner_text()
    trial.restart()
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("Code").first.wait_for()  # the visit ended with that start, whose link may be anybody's by now
    page.goto(trial.studio.address + trial.studio.link)
    page.get_by_role("button", name="Continue").click()
    trial.fill_in(page)
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("A name that others will see").fill("Ana")
    trial.restart()
    trial.come_in(ana)
    return ana


def come(trial: Trial, **names: tuple[str, ...]) -> tuple[Person, list[Person]]:
    """Begin a project and let people in by their roles, of whom two add a topic; the coordinator first."""
    trial.studio.start()
    ana = begin(trial)
    people = [trial.phone(role, name) for role, named in names.items() for name in named]
    for who in people[:2]:
        page = trial.type(who, trial.path("topics/"), "#topic-name", trial.text("paksa"))
        # With the first topic of its own a project takes over the paper's.
        taken_over = len(TOPICS) if who is people[0] else 0
        trial.send(who, page.get_by_role("button", name="Add", exact=True), acts=1 + taken_over)
    return ana, people


def write(trial: Trial, who: Person, place: int) -> None:
    """Write a situation at the desk, and send it to review."""
    topic = trial.typed[place % 2]
    fields = a_situation(f"Liza {place}", context=trial.text("Nakita ko"), topic=topic)
    page = trial.type(who, trial.path("situations/new/"), "#context", fields["context"])
    for name in ("language", "topic", "category"):
        page.locator(f"#{name}").select_option(fields[name])
    for name, text in fields.items():
        if name not in ("language", "topic", "category", "context", "best"):
            page.locator(f"#{name}").fill(text)
    page.get_by_label(f"Response {fields['best']} is the best").check()
    trial.send(who, page.get_by_role("button", name="Save", exact=True))
    page = who.open(trial.path(f"situations/{place + 1}/"))
    trial.send(who, page.get_by_role("button", name="Send to review"))


def review(trial: Trial, number: int, ana: Person, voters: list[Person]) -> None:
    """Let two people vote, reveal their votes, talk about them, and accept the situation."""
    path = trial.path(f"situations/{number}/")
    for who in voters:
        page = trial.type(who, path, "#remark", trial.text("sang-ayon"))
        page.locator("input[name=best]").first.check()
        trial.send(who, page.get_by_role("button", name="Accept as it is", exact=True))
    trial.send(ana, ana.open(path).get_by_role("button", name="Reveal the votes"))
    page = trial.type(voters[0], path, "#say", trial.text("usapan"))
    trial.send(voters[0], page.get_by_role("button", name="Send", exact=True))
    trial.send(ana, ana.open(path).get_by_role("button", name="Accept", exact=True))


def evaluated(trial: Trial, ana: Person) -> None:
    """Let the studio's computer evaluate the release; it dies with the studio, and goes on when it is asked for."""
    path = trial.path("releases/1.0.0/evaluation/")
    page = ana.open(path)
    page.get_by_role("button", name="Evaluate smollm2 on kalahi/mc").click()
    page.get_by_text("running", exact=True).wait_for()
    trial.restart()
    page = ana.open(path)
    page.get_by_text("stopped", exact=True).wait_for()
    page.get_by_role("button", name="Evaluate smollm2 on kalahi/mc").click()
    end = time.monotonic() + 2 * PATIENCE / 1000  # a model is loaded and asked meanwhile
    while not ana.open(path).get_by_text("finished", exact=True).count():
        assert time.monotonic() < end, page.locator("main").inner_text()
        page.wait_for_timeout(1000)


def walk(studio: Studio, browser: Any) -> tuple[Trial, Person, Person]:
    """Go from an empty folder to a release; returns the trial, its coordinator and a writer."""
    cuts = CUTS - SECURE
    situations = 2 + 2 * (cuts // 25)
    trial = Trial(studio, browser, SITUATIONS, acts=4 + 11 * situations, cuts=cuts)
    ana, (berto, carla, dina, edo) = come(trial, writer=("Berto", "Carla"), reviewer=("Dina", "Edo"))
    for place in range(situations):
        write(trial, (berto, carla)[place % 2], place)
        review(trial, place + 1, ana, [dina, edo])
    page = ana.open(trial.path("releases/"))
    page.get_by_label("Version").fill("1.0.0")
    trial.restart()
    page.get_by_role("button", name="Make a release").click()
    page.get_by_role("heading", name="How a model does on release 1.0.0").wait_for()
    return trial, ana, berto


def hold_against_what_was_typed(trial: Trial) -> None:
    """Nothing typed is lost or there twice."""
    trial.studio.kill()
    bodies = trial.studio.bodies()
    typed = trial.typed[2:]  # situations name the topics, too
    assert [sum(text in body for body in bodies) for text in typed] == [1] * len(typed)
    assert "all tables match their events" in kapwa("studio", "check", cwd=trial.studio.folder).stderr


def hold_against_one_without_cuts(trial: Trial) -> None:
    """No act is there twice, and the release is that of a studio where nothing failed."""
    folder = trial.studio.folder
    kapwa("studio", "freeze", SITUATIONS.slug, "--release", "1.0.0", cwd=folder)
    about = {"title": SITUATIONS.title, "culture": SITUATIONS.culture, "language": "fil", "languages": ["ceb"]}
    project = commands.new_project(SITUATIONS.slug, **about)
    roles = {"dina": "coordinator", "berto": "writer", "carla": "writer", "edo": "reviewer", "fe": "reviewer"}
    people = {name: enter(project, name, role) for name, role in roles.items()}
    topics, contexts = trial.typed[:2], [text for text in trial.typed if text.startswith("Nakita ko")]
    for name, topic in zip(("berto", "carla"), topics, strict=True):
        people[name].act("topics/", {"name": topic, "origin": "seed", "usual": "keep"})
    for place, context in enumerate(contexts):
        who = people[("berto", "carla")[place % 2]]
        who.act("situations/new/", a_situation(f"Liza {place}", context=context, topic=topics[place % 2]))
        who.act(f"situations/{place + 1}/submit/")
        accepted(people, place + 1, "edo", "fe")
        people["edo"].act(f"situations/{place + 1}/discuss/", {"text": "usapan"})
    people["dina"].act("releases/", {"version": "1.0.0"})
    made = freeze(project, "1.0.0", folder / "without").folder
    texts = [place / "situations.jsonl" for place in (made, folder / "releases" / made.name)]
    assert texts[0].read_bytes() == texts[1].read_bytes()
    uncut = Counter(Event.objects.values_list("kind", flat=True))
    kinds = Counter(kind for kind, _body in trial.studio.events())
    del kinds["release.evaluated"], kinds["member.invited"]  # there, the command invited them
    assert kinds == uncut


def test_a_trial_over_http_ends_with_a_report(tmp_path: Path, studio: Path) -> None:
    served = Studio(tmp_path)
    with api.sync_playwright() as started:
        try:
            browser = launched(started.chromium)
            trial, ana, berto = walk(served, browser)
            assert ana.page.evaluate("window.isSecureContext") is False
            evaluated(trial, ana)
            for name in ("backup", "results", "releases", "log"):
                ana.open(trial.path(f"{name}/"))
                ana.look(name)
            page = berto.open(trial.path())
            for link in (page.locator("a[href*=evaluation]").first, page.get_by_role("link", name="Show the report")):
                with page.expect_navigation():
                    link.click()
            page.locator("h1").first.wait_for()
            assert SITUATIONS.title in page.content()
        finally:
            served.kill()
    hold_against_what_was_typed(trial)
    hold_against_one_without_cuts(trial)


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def caddy(folder: Path, served: Studio) -> Iterator[dict[str, str]]:
    """Put a proxy with HTTPS before a studio; gives the environment of a browser that trusts it."""
    outside = free_port()
    served.address, served.options = f"https://localhost:{outside}", ("--open", "--behind-proxy")
    config = folder / "Caddyfile"
    site = CADDYFILE.read_text(encoding="utf-8").replace("127.0.0.1:8000", f"127.0.0.1:{served.network.port}")
    site = site.replace("{host} {", f"{served.address} {{\n\ttls internal")
    config.write_text("{\n  admin off\n  skip_install_trust\n  auto_https disable_redirects\n}\n" + site)
    here = {**os.environ, "HOME": str(folder / "home"), "XDG_DATA_HOME": str(folder / "data")}
    proxy = subprocess.Popen([str(CADDY), "run", "--config", config], env=here, stderr=subprocess.DEVNULL)
    try:
        root = folder / "data" / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        end = time.monotonic() + 240
        while not (root.is_file() and listens(outside)):
            assert time.monotonic() < end
            time.sleep(0.2)
        database = folder / "home" / ".pki" / "nssdb"
        database.mkdir(parents=True)
        for arguments in (["-N", "--empty-password"], ["-A", "-t", "C,,", "-n", "caddy", "-i", str(root)]):
            subprocess.run([str(CERTUTIL), "-d", f"sql:{database}", *arguments], check=True)
        yield here
    finally:
        proxy.terminate()
        proxy.wait(timeout=120)


@pytest.mark.skipif(CADDY is None or CERTUTIL is None, reason="no caddy or certutil on this machine")
def test_a_trial_over_https_behind_a_proxy(tmp_path: Path) -> None:
    """As docs/how-to/deploy-the-studio.md has it; no certificate is taken on trust."""
    served = Studio(tmp_path)
    with caddy(tmp_path, served) as here, api.sync_playwright() as started:
        try:
            browser = launched(started.chromium, env=here)
            situations = SECURE // 3
            trial = Trial(served, browser, SITUATIONS, acts=4 + 3 * situations, cuts=SECURE)
            ana, writers = come(trial, writer=("Berto", "Carla"))
            for place in range(situations):
                write(trial, writers[place % 2], place)
            page = ana.open(trial.path("people/"))
            page.get_by_label("writer").first.check()
            page.get_by_role("button", name="Make codes").click()
            page.get_by_text(f"{served.address}/join/").first.wait_for()
            cookies = {cookie["name"]: cookie for cookie in ana.context.cookies()}
            assert all(cookies[name]["secure"] for name in ("sessionid", "csrftoken", "kapwa_here"))
            answer = page.goto(served.address + trial.path("phone/"))
            assert "max-age" in answer.headers["strict-transport-security"]
            assert page.evaluate("window.isSecureContext && 'serviceWorker' in navigator")
            # What brings no token of the studio's own form is refused, though the proxy stands between.
            status = page.evaluate(
                "async (address) => (await fetch(address, {method: 'POST', body: new URLSearchParams()})).status",
                served.address + trial.path("topics/"),
            )
            assert status == 403
        finally:
            served.kill()
    hold_against_what_was_typed(trial)
