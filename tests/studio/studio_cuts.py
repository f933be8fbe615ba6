"""A network that fails at chosen moments: it stands between browsers, or their proxy, and a studio."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

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
