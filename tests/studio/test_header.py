"""The header in a real browser: one row on phones and desks, in English and from right to left; and what is printed."""

import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from studio_people import Someone, enter

pytest.importorskip("django", reason="the extra 'studio' is not installed")
from studio_browser import CHROMIUM, PICTURES, api, browsing, launched, violations

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
# The left and right ends of what stands in the bar, in the order of the page.
ENDS = """[...document.querySelector('.bar').children].map((part) => part.getBoundingClientRect())
    .filter((place) => place.width > 1).map((place) => [place.left, place.right, place.top, place.bottom])"""


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


@pytest.fixture
def address(studio: Path) -> Iterator[str]:
    """The studio of the test, served by a thread."""
    from django.core.handlers.wsgi import WSGIHandler

    with make_server("127.0.0.1", 0, WSGIHandler(), server_class=Server, handler_class=Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def signed_in(browser: Any, who: Someone, address: str, language: str) -> Any:
    """A browser's page of somebody who is signed in already."""
    context = browser.new_context()
    visit = {"sessionid": who.client.cookies["sessionid"].value, "django_language": language}
    context.add_cookies([{"name": name, "value": value, "url": address} for name, value in visit.items()])
    return context.new_page()


def keep_picture(page: Any, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


def test_the_header_is_one_row_and_paper_has_no_buttons(project: Any, food: Any, address: str) -> None:
    project.title = "Mga sitwasyon sa baryo at sa lungsod, ikalawang taon"
    project.save()
    gina = enter(project, "Gina Marie de la Cruz", "coordinator", "writer", "reviewer", "answerer")
    with browsing() as browser:
        for language in ("en", "ar", "fil"):
            page = signed_in(browser, gina, address, language)
            for width in (1280, 1100, 360):
                page.set_viewport_size({"width": width, "height": 740})
                page.goto(f"{address}/p/baryo/people/")
                assert violations(page, colours=width == 1280) == [], (language, width)
                assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (language, width)
                places = sorted(page.evaluate(ENDS))
                assert len(places) == 5, (
                    language,
                    width,
                )  # the project, links or "Menu", the bell, the person, the language
                assert all(one[1] <= other[0] for one, other in pairwise(places)), places
                assert max(place[3] for place in places) - min(place[2] for place in places) < 60, places
                current = page.locator(".bar nav [aria-current]")
                keep_picture(page, f"header-{language}-{width}")
                if width == 360:
                    assert not current.is_visible()
                    page.locator("#menu").focus()
                    page.keyboard.press("Space")
                    assert violations(page, colours=True) == [], language
                    keep_picture(page, f"header-{language}-menu")
                assert current.is_visible()
                assert current.get_attribute("href") == "/p/baryo/people/"
            page.locator("details.person summary").click()
            keep_picture(page, f"header-{language}-person")
            page.goto(f"{address}/p/baryo/work/food/")
            page.emulate_media(media="print")
            keep_picture(page, f"print-{language}-task")
            assert page.locator("button:visible").count() == 0
            assert page.locator(".top").is_hidden()
            assert page.locator(".task").is_visible()
            assert page.locator("textarea:visible").count() == 1


def test_a_link_for_many_is_copied_without_https(project: Any, address: str) -> None:
    """As on a laptop that phones reach by plain HTTP, where scripts have no clipboard."""
    ana = enter(project, "Ana", "coordinator")
    ana.post("people/link/", {"action": "open", "roles": ["writer"], "days": "7"})
    plain = address.replace("127.0.0.1", "testserver")
    with api.sync_playwright() as started:
        browser = launched(started, "--host-resolver-rules=MAP testserver 127.0.0.1")
        page = signed_in(browser, ana, plain, "en")
        page.goto(f"{plain}/p/baryo/people/link/")
        assert not page.evaluate("isSecureContext")
        page.get_by_role("button", name="Copy").click()
        page.get_by_text("Copied.").wait_for()
        page.evaluate("document.querySelector('main').append(document.createElement('textarea'))")
        page.locator("textarea").focus()
        page.keyboard.press("Control+V")
        assert page.locator("textarea").input_value() == page.locator("#address-1").input_value() != ""
        browser.close()
