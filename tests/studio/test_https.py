"""The studio behind a proxy with HTTPS, as docs/how-to/deploy-the-studio.md has it, and a browser that trusts it."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("django", reason="the extra 'studio' is not installed")
pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
from studio_browser import CHROMIUM, PATIENCE, api, invited, kapwa

import warm

CADDY, CERTUTIL = shutil.which("caddy"), shutil.which("certutil")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CADDY is None or CERTUTIL is None, reason="no caddy or certutil on this machine"),
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine"),
]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def behind_caddy(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The studio's address by HTTPS, and the folder of a browser's own certificates that trusts Caddy's authority."""
    kapwa("studio", "new", "baryo", "--language", "fil", cwd=tmp_path)
    inside, outside = free_port(), free_port()
    url = f"https://localhost:{outside}"
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "XDG_DATA_HOME": str(tmp_path / "data")}
    command = [str(warm.programs() / "kapwa"), "studio", "serve", "--port", str(inside), "--url", url, "--behind-proxy"]
    config = tmp_path / "Caddyfile"
    config.write_text(
        "{\n  admin off\n  skip_install_trust\n  auto_https disable_redirects\n}\n"
        f"{url} {{\n  tls internal\n  reverse_proxy 127.0.0.1:{inside}\n}}\n"
    )
    assert CADDY is not None
    assert CERTUTIL is not None
    started = [
        subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL),
        subprocess.Popen([CADDY, "run", "--config", config], env=environment, stderr=subprocess.DEVNULL),
    ]
    try:
        root = tmp_path / "data" / "caddy" / "pki" / "authorities" / "local" / "root.crt"
        end = time.monotonic() + 60
        while not (root.is_file() and listens(inside) and listens(outside)):
            assert time.monotonic() < end
            time.sleep(0.2)
        database = tmp_path / "home" / ".pki" / "nssdb"
        database.mkdir(parents=True)
        for arguments in (["-N", "--empty-password"], ["-A", "-t", "C,,", "-n", "caddy", "-i", str(root)]):
            subprocess.run([CERTUTIL, "-d", f"sql:{database}", *arguments], check=True)
        yield url, tmp_path
    finally:
        for one in reversed(started):
            one.terminate()
            one.wait(timeout=120)


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def test_people_come_in_and_write_behind_a_proxy_with_https(behind_caddy: tuple[str, Path]) -> None:
    url, folder = behind_caddy
    (code,) = invited(folder, "baryo", "coordinator")
    with api.sync_playwright() as playwright:
        environment = {**os.environ, "HOME": str(folder / "home")}
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], env=environment)
        context = browser.new_context()
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.goto(url)  # no certificate is taken on trust: an authority that the browser does not know ends here
        page.get_by_label("Code").fill(code)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("A name that others will see").fill("Ana")
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("link", name="I have saved it, continue").click()
        page.get_by_label("I have read this and want to take part.").check()
        with page.expect_navigation():
            page.get_by_role("button", name="Continue").click()
        page.goto(f"{url}/p/baryo/people/")
        page.get_by_label("writer").first.check()
        with page.expect_navigation():
            page.get_by_role("button", name="Make codes").click()
        assert f"{url}/join/" in page.content()
        cookies = {one["name"]: one for one in context.cookies()}
        assert all(cookies[name]["secure"] for name in ("sessionid", "csrftoken", "kapwa_here"))
        answer = page.goto(f"{url}/p/baryo/phone/")
        assert answer is not None
        assert "max-age" in answer.headers["strict-transport-security"]
        assert page.evaluate("window.isSecureContext && 'serviceWorker' in navigator")
        # What brings no token of the studio's own form is refused, though the proxy stands between.
        status = page.evaluate(
            "async (address) => (await fetch(address, {method: 'POST', body: new URLSearchParams()})).status",
            f"{url}/p/baryo/topics/",
        )
        assert status == 403
        browser.close()
