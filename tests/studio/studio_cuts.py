"""A studio that is killed, a network that fails at chosen moments, and somebody with a phone who comes in again."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from studio_browser import ELSEWHERE, PATIENCE, look

import warm
from ports import free_port

HOST = ELSEWHERE[1]

# What happens to the next form: it does not arrive, half of it does, or it does and the answer is lost.
LOSSES = ("before", "middle", "answer")


class Network:
    """Passes bytes on between a port of its own and that of a studio."""

    def __init__(self, inside: int) -> None:
        self.inside = inside
        self.next = ""  # what waits for the next form: one of LOSSES
        self.then: Callable[[], None] | None = None  # what is called when the next form has been sent on
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self.door.getsockname()[1])
        threading.Thread(target=self._receive, daemon=True).start()

    def _receive(self) -> None:
        with suppress(OSError):
            while True:
                browser = self.door.accept()[0]
                threading.Thread(target=self._connect, args=[browser], daemon=True).start()

    def _connect(self, browser: socket.socket) -> None:
        lost = threading.Event()
        with suppress(OSError), browser, socket.create_connection(("127.0.0.1", self.inside)) as studio:
            answers = threading.Thread(target=_answer, args=[studio, browser, lost], daemon=True)
            answers.start()
            while part := browser.recv(1 << 20):
                # What htmx asks for while somebody types is no form.
                if part.startswith(b"POST ") and b"/check/" not in part.partition(b"\r\n")[0]:
                    loss, self.next = self.next, ""
                    then, self.then = self.then, None
                    if loss == "before":
                        break
                    if loss == "middle":
                        studio.sendall(part[: len(part) // 2])
                        break
                    if loss == "answer":
                        lost.set()
                    if then is not None:
                        then()
                studio.sendall(part)
            _end(studio, browser)
            answers.join()


def _answer(studio: socket.socket, browser: socket.socket, lost: threading.Event) -> None:
    with suppress(OSError):
        while (part := studio.recv(1 << 20)) and not lost.is_set():
            browser.sendall(part)
    _end(studio, browser)


def _end(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class Served:
    """A studio in a process of its own, which can be killed and started again at the same address."""

    options: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.address = f"http://{HOST}:{self.port}"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        command = [str(warm.programs() / "kapwa"), "studio", "serve", "--port", str(self.port), "--url", self.address]
        here = {**os.environ, "BROWSER": "true"}
        command += self.options
        self.process = subprocess.Popen(command, cwd=self.folder, env=here, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        assert self.address in self.process.stderr.readline()

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None
            while self.answers():  # what ran for it ends a moment later
                time.sleep(0.01)

    def answers(self) -> bool:
        with socket.socket() as asks:
            return asks.connect_ex(("127.0.0.1", self.port)) == 0

    def events(self) -> list[tuple[str, str]]:
        """What was recorded: the kind of each event, and its body."""
        with closing(sqlite3.connect(self.folder / "kapwa-studio" / "studio.sqlite")) as database:
            return database.execute("SELECT kind, body FROM studio_event ORDER BY seq").fetchall()

    def bodies(self, *, without: str = "") -> list[str]:
        """What was recorded, as JSON with its own letters; ``without``: a kind that quotes what others wrote."""
        kept = [body for kind, body in self.events() if kind != without]
        return [json.dumps(json.loads(body), ensure_ascii=False) for body in kept]


class Person:
    """Somebody with one phone, who comes in again where their visit has ended."""

    def __init__(self, context: Any, studio: Served) -> None:
        self.context, self.studio = context, studio
        context.set_default_timeout(PATIENCE)
        self.page = context.new_page()
        self.code = ""

    def arrive(self, code: str, name: str) -> None:
        self.page.goto(f"{self.studio.address}/enter/")
        self.page.get_by_label("Code").fill(code)
        self.page.get_by_role("button", name="Sign in").click()
        if not self.code:
            self.page.get_by_label("A name that others will see").fill(name)
        self.page.locator("main").get_by_role("button", name="Continue").click()
        if not self.code:
            self.code = self.page.locator(".code.shown").inner_text()
            self.page.get_by_role("link", name="I have saved it, continue").click()
        self.agree()

    def agree(self) -> None:
        """Agree to taking part and to publication, and come to the first page."""
        self.page.get_by_label("What I write may be published").check()
        self.page.get_by_label("I have read this and want to take part.").check()
        self.page.locator("main").get_by_role("button", name="Continue").click()
        self.page.locator("#keep").wait_for(state="attached")

    def sign_in(self, path: str) -> Any:
        """Come in again on a phone on which nobody is here, on the way to a page."""
        self.page.goto(self.studio.address + path)
        self.page.get_by_label("Code").fill(self.code)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator("html[data-keeps]").wait_for(state="attached")
        return self.page

    def look(self, label: str) -> None:
        look(self.page, f"kept-{label}")

    def open(self, path: str) -> Any:
        self.page.goto(self.studio.address + path)
        self.page.locator("html[data-keeps]").wait_for(state="attached")
        return self.page

    def anew(self) -> None:
        self.page.close()
        self.page = self.context.new_page()

    def end_visit(self) -> None:
        self.context.clear_cookies(name="sessionid")

    def come_again(self) -> None:
        self.page.get_by_role("link", name="Sign in").last.click()
        self.page.get_by_label("Code").fill(self.code)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator("html[data-keeps]").wait_for(state="attached")
