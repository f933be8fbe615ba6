"""Many people at once, and a server that is killed: what was answered is there, once."""

import importlib.util
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import warm
from kapwa.studio.settings import static_address

ROOT = Path(__file__).resolve().parents[2]
ICON = f"{static_address()}studio/icon.svg"


@pytest.fixture(scope="module")
def bench() -> Any:
    spec = importlib.util.spec_from_file_location("studio_load", ROOT / "benchmarks" / "studio_load.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.run = lambda *words, cwd: warm.kapwa("studio", *words, cwd=cwd).stdout
    return module


@pytest.fixture(scope="module")
def host_and_port(bench: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """Where a studio of one project is served."""
    home = tmp_path_factory.mktemp("load")
    bench.run("new", "load", cwd=home)
    server, address = bench.serve(home)
    try:
        host, port = address.removeprefix("http://").rstrip("/").split(":")
        yield host, int(port)
    finally:
        server.kill()
        server.wait()


def test_many_people_write_at_once(bench: Any, tmp_path: Path) -> None:
    """Speed is measured by the benchmark, on a machine of its own; here nothing may fail or be lost.

    At the desk there are fewer questions than people, so that some of them must wait for others. What phones send is
    counted where the server is killed, below, and on PostgreSQL.
    """
    found = bench.measure(tmp_path, clients=6, seconds=600, most=18, through="desk", questions=4)
    assert (found["errors"], found["lost"], found["twice"]) == (0, 0, 0), found["first_errors"]
    assert found["writes"] >= 18


def test_what_was_answered_outlives_the_servers_death(bench: Any, tmp_path: Path) -> None:
    found = bench.measure(tmp_path, clients=5, seconds=600, kill=30, through="sync", questions=20)
    assert found["writes"] >= 30
    assert (found["lost"], found["twice"]) == (0, 0)


def test_more_browsers_than_a_hundred_may_keep_their_connections(host_and_port: tuple[str, int]) -> None:
    """A browser keeps its connection open for minutes; whoever comes next must not wait for that."""
    host, port = host_and_port
    kept = []
    try:
        for _ in range(130):
            kept.append(socket.create_connection((host, port), timeout=120))
            kept[-1].sendall(f"GET {ICON} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert kept[-1].recv(12) == b"HTTP/1.1 200"
    finally:
        for connection in kept:
            connection.close()


def test_head_then_get_on_the_same_connection(host_and_port: tuple[str, int]) -> None:
    """By a real server: a body after HEAD would be read as the beginning of the next answer."""
    host, port = host_and_port

    def ask(path: str) -> tuple[str, str]:
        """Return the head of the answer to HEAD, and all that comes after it when the page is got, too."""
        with socket.create_connection((host, port), timeout=120) as connection, connection.makefile("rb") as answer:
            connection.sendall(f"HEAD {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            head = b"".join(iter(answer.readline, b"\r\n"))
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            return head.decode(), answer.read().decode()

    for path in (
        "/",
        "/enter/",
        "/join/1234/",
        "/p/load/",
        "/p/none/",
        "/none",
        "/leave/",
        ICON,
    ):
        head, after = ask(path)
        line, length = head.split("\r\n", 1)[0], re.search(r"Content-Length: (\d+)", head)
        again, body = after.split("\r\n\r\n", 1)
        assert again.split("\r\n", 1)[0] == line, (path, after[:60])
        # The form's token differs from page to page, not in length.
        assert length is None or int(length[1]) == len(body.encode()), path
        assert length is not None or body == "", path
