"""An exported log in ``inspect view``, in a real browser: its samples' texts and scores are on the page.

The page works with database and workers of the browser, which virtual time (``--virtual-time-budget``, with which other
pages are tested) does not wait for. So the browser is asked over its debugging protocol until the page is there.
"""

import asyncio
import json
import re
import socket
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

import kapwa

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from browsing import BROWSER, QUIET

PATIENCE = 400.0
ATTACK = "<img src=x onerror=document.title='owned'>"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (apt-get install chromium)"),
]


@contextmanager
def viewing(logs: Path) -> Iterator[str]:
    """Serve ``logs`` with ``inspect view``; yield the address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ["--log-dir", str(logs), "--host", "127.0.0.1", "--port", str(port)]
    server = subprocess.Popen([sys.executable, "-m", "inspect_ai", "view", "start", *where], stdout=subprocess.DEVNULL)
    until, listens = time.monotonic() + PATIENCE, False
    try:
        while not listens:
            assert server.poll() is None, "inspect view ended"
            assert time.monotonic() < until, "inspect view does not answer"
            time.sleep(0.2)
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 5).close()
                listens = True
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(timeout=120)


class Page:
    """One page of a browser, over its debugging protocol."""

    def __init__(self, socket_: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._calls = socket_, 0

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._calls += 1
        await self._socket.send_json({"id": self._calls, "method": method, "params": params})
        while True:
            told = await self._socket.receive_json(timeout=PATIENCE)
            if told.get("id") == self._calls:
                found: dict[str, Any] = told["result"]
                return found

    async def text(self, address: str, *wanted: str) -> str:
        """Open ``address`` and return the page's text once all of ``wanted`` is in it."""
        await self.call("Page.navigate", url="about:blank")
        await self.call("Page.navigate", url=address)
        until, missing = time.monotonic() + PATIENCE, list(wanted)
        while missing:
            found = await self.call("Runtime.evaluate", expression="document.body.innerText", returnByValue=True)
            shown = str(found["result"].get("value") or "")
            missing = [part for part in wanted if part not in shown]
            assert not missing or time.monotonic() < until, f"{missing} never came; there was: {shown[:2000]}"
            await asyncio.sleep(0.2)
        return shown


async def browse(profile: Path, look: Callable[[Page], Awaitable[None]]) -> None:
    assert BROWSER is not None
    port = "--remote-debugging-port=0"
    flags = [*QUIET, port, f"--user-data-dir={profile}", "--window-size=1600,1200", "about:blank"]
    process = await asyncio.create_subprocess_exec(BROWSER, *flags, stderr=asyncio.subprocess.PIPE)
    try:
        assert process.stderr is not None
        found = None
        while found is None:
            line = await asyncio.wait_for(process.stderr.readline(), PATIENCE)
            assert line, "the browser ended"
            found = re.search(rb"DevTools listening on ws://([^/]+)/", line)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://{found[1].decode()}/json/list") as reply:
                pages = [one for one in await reply.json() if one["type"] == "page"]
            async with session.ws_connect(pages[0]["webSocketDebuggerUrl"], max_msg_size=0) as opened:
                await look(Page(opened))
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 30)


def test_texts_and_scores_are_on_the_page(tmp_path: Path) -> None:
    task = kapwa.load_task("blend/saq", limit=2)
    rows = [
        {"item_id": item.id, "variant": item.variant, "text": f"«{item.culture}» {ATTACK}"} for item in task.items()
    ]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "utf-8")
    run = kapwa.evaluate(task, kapwa.load_model(f"replay:{answers}"), out=tmp_path / "runs", progress=False)
    (log,) = kapwa.export_run(run, tmp_path / "logs", "inspect")
    first = run.items.filter(culture="Egypt", language="ar").row(0, named=True)
    item = run.items.filter(language="ko").row(0, named=True)
    name = f"{item['item_id']}@{item['variant']}"

    async def look(page: Page) -> None:
        await page.text(address, "blend/saq", str(run.manifest["model"]["id"]))
        inside = f"{address}#/tasks/{urllib.parse.quote(log.name)}"
        shown = await page.text(inside, first["item_id"], first["prompt"].splitlines()[0], "SEM_B", "Egypt")
        assert re.search(r"sem_b\s+0\.0\s+0\.\d+", shown), "no mean with its error beside the name"
        sample = f"{inside}/samples/sample/{urllib.parse.quote(name, safe='')}/1/"
        await page.text(sample, item["prompt"].splitlines()[-1], item["answers"], "«South_Korea»", "sem_b")
        shown = await page.text(f"{sample}scoring", "Outcome: wrong", "Expected: ", "(“")
        assert ATTACK in shown, "a text of the model's stands as it is"
        title = await page.call("Runtime.evaluate", expression="document.title", returnByValue=True)
        assert "owned" not in title["result"]["value"]

    with viewing(tmp_path / "logs") as address:
        asyncio.run(browse(tmp_path / "profile", look))
