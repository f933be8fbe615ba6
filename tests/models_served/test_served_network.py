"""Proxies, TLS, redirects and hostile replies on the way to a server: every failure named with its remedy."""

import asyncio
import base64
import gzip
import logging
import traceback
from collections.abc import Callable, Iterator

import pytest
import stub_server
from loopback import Authority, Loopback, Proxy, answering
from served_tools import ask

from kapwa.errors import ModelError, UsageError
from kapwa.models import openai_client
from kapwa.models.openai import OpenAIModel
from kapwa.models.openai_chat import ServerDialect
from kapwa.models.openai_client import Client, find_proxy

PASSWORD = "canary/proxy never+show"
QUOTED = "canary%2Fproxy%20never%2Bshow"
SENT = base64.b64encode(f"me:{PASSWORD}".encode()).decode()


@pytest.fixture
def serving() -> Iterator[Callable[..., int]]:
    """Serve in a thread; return the port. All are ended after the test."""
    running: list[Loopback] = []

    def start(*arguments) -> int:
        running.append(Loopback(*arguments))
        return running[-1].port

    yield start
    for server in running:
        server.stop()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def answers(model: OpenAIModel, n: int = 3) -> bool:
    return all(response.text for response in model.generate([ask(i) for i in range(n)]))


def replying(status: int, body: bytes, **headers: str) -> Callable:
    """Serve 404 for the list of models and this reply for everything else."""

    async def serve(reader, writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET"):
            await stub_server.send(writer, 404, {}, {"Connection": "close"})
        else:
            await reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))
            await stub_server.send_bytes(writer, status, body, {"Connection": "close", **headers})
        writer.close()

    return serve


def test_plain_http_goes_through_the_proxy_that_the_environment_names(serving, stub, connect, monkeypatch):
    proxy = Proxy()
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{serving(proxy.serve)}")
    server = stub()
    assert answers(connect(server.url))
    assert proxy.asked[0] == f"GET {server.url}/models HTTP/1.1"
    assert f"POST {server.url}/chat/completions HTTP/1.1" in proxy.asked
    asked = len(proxy.asked)
    monkeypatch.setenv("NO_PROXY", "example.org,127.0.0.1")
    assert answers(connect(server.url))
    assert len(proxy.asked) == asked


def test_https_goes_through_a_tunnel(serving, authority, connect, monkeypatch):
    proxy = Proxy(wants=SENT)
    port = serving(answering(), authority.server("IP:127.0.0.1"))
    monkeypatch.setenv("ALL_PROXY", f"http://me:{QUOTED}@127.0.0.1:{serving(proxy.serve)}")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert answers(connect(f"https://127.0.0.1:{port}/v1"))
    assert set(proxy.asked) == {f"CONNECT 127.0.0.1:{port} HTTP/1.1"}


@pytest.mark.parametrize("value", ["socks5://127.0.0.1:1080", "http://host:notaport", "http://", f"x://u:{QUOTED}@h"])
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(monkeypatch, value):
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(UsageError, match=r"a proxy for https (?s:.)*Example: HTTPS_PROXY") as caught:
        find_proxy("https://api.example.org/v1")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("refuses", "scheme", "said"),
    [
        (407, "http", "HTTP 407(?s:.)*USER:PASSWORD"),
        (407, "https", "proxy http://127.0.0.1:{port}.* refused with HTTP 407(?s:.)*USER:PASSWORD"),
        (403, "https", "refused with HTTP 403(?s:.)*NO_PROXY"),
        (500, "http", "HTTP 500"),
        (0, "http", "cannot connect to the proxy http://127.0.0.1:9(?s:.)*HTTP_PROXY"),
    ],
)
def test_a_proxy_that_refuses_is_named_and_its_password_never_shown(
    serving, connect, monkeypatch, caplog, refuses, scheme, said
):
    caplog.set_level(logging.DEBUG)
    port = serving(Proxy(refuses=refuses).serve) if refuses else 9  # it quotes what it was sent
    monkeypatch.setenv(f"{scheme.upper()}_PROXY", f"http://me:{QUOTED}@127.0.0.1:{port}")
    with pytest.raises(ModelError, match=said.format(port=port)) as caught:
        connect(f"{scheme}://api.example.org/v1", extra={"attempts": 1})
    shown = [str(caught.value), "".join(traceback.format_exception(caught.value))]
    shown += [record.getMessage() for record in caplog.records]
    for text in shown:
        assert not any(secret in text for secret in (PASSWORD, QUOTED, SENT, "canary"))


def test_a_certificate_of_an_own_authority_works_with_ssl_cert_file(serving, authority, connect, monkeypatch):
    url = f"https://127.0.0.1:{serving(answering(), authority.server('IP:127.0.0.1'))}/v1"
    with pytest.raises(ModelError, match=r"certificate verify failed.*local issuer(?s:.)*SSL_CERT_FILE"):
        connect(url)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert answers(connect(url))


@pytest.mark.parametrize(
    ("name", "dates", "message"),
    [
        ("IP:127.0.0.1", "-startdate 20200101000000Z -enddate 20200201000000Z", "expired(?s:.)*clock"),
        ("DNS:api.example.org", "-days 30", "mismatch(?s:.)*'base_url'"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_said(serving, authority, connect, monkeypatch, name, dates, message):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    port = serving(answering(), authority.server(name, dates=dates))
    with pytest.raises(ModelError, match=message):
        connect(f"https://127.0.0.1:{port}/v1")


def test_plain_http_spoken_to_as_https_is_named(stub, connect):
    with pytest.raises(ModelError, match=r"TLS failed(?s:.)*http://"):
        connect(stub().url.replace("http:", "https:"))


def test_redirects_are_not_followed(serving, connect, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-never-sent-on")
    seen = []

    async def elsewhere(reader, writer) -> None:
        seen.append(await reader.read(1000))
        writer.close()

    target = f"http://127.0.0.1:{serving(elsewhere)}/v1/models"

    async def moved(reader, writer) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 307 Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()

    with pytest.raises(ModelError, match=f"HTTP 307 to {target}(?s:.)*the key goes nowhere else"):
        connect(f"http://127.0.0.1:{serving(moved)}/v1")
    assert seen == []


def test_a_server_that_closes_after_each_answer_is_asked_anew(serving, connect):
    async def once(reader, writer) -> None:
        await stub_server.Stub({}).exchange(reader, writer)
        writer.close()

    model = connect(f"http://127.0.0.1:{serving(once)}/v1", concurrency=1, extra={"attempts": 3})
    assert answers(model, 6)


def test_a_host_name_that_is_not_known_is_named(connect):
    with pytest.raises(ModelError, match=r"cannot connect(?s:.)*'base_url'"):
        connect("http://nowhere.invalid/v1")


def test_a_server_that_speaks_something_else_is_named(serving, connect):
    async def ssh(_reader, writer) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
        await writer.drain()

    with pytest.raises(ModelError, match="not valid HTTP"):
        connect(f"http://127.0.0.1:{serving(ssh)}/v1")


@pytest.mark.parametrize(("key", "sent"), [("", None), ("sk-1", "Bearer sk-1")])
def test_without_a_key_none_is_sent(stub, connect, monkeypatch, key, sent):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    server = stub()
    assert answers(connect(server.url))
    assert server.report()["seen_auth"] == [sent or ""]


def test_whose_account_pays_is_told_to_openai_only(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-2\n")
    own = Client("https://eu.api.openai.com/v1", timeout=1)._headers
    other = Client("https://notopenai.com/v1", timeout=1)._headers
    assert own == {**other, "OpenAI-Organization": "org-1", "OpenAI-Project": "proj-2"}
    assert other["Authorization"] == "Bearer k"
    assert ServerDialect("m", "https://notopenai.com/v1").length_key == "max_tokens"
    assert ServerDialect("m", "https://api.openai.com/v1").length_key == "max_completion_tokens"
    monkeypatch.setenv("OPENAI_ORG_ID", "org\r\nEvil: 1")
    with pytest.raises(ModelError, match="OPENAI_ORG_ID holds"):
        Client("https://api.openai.com/v1", timeout=1)


ANSWER = b'{"choices": [{"message": {"content": "%s"}}]}'


@pytest.mark.parametrize(
    ("body", "headers", "said"),
    [
        (gzip.compress(ANSWER % b"good"), {"Content-Encoding": "gzip"}, None),
        (gzip.compress(ANSWER % (b"a" * (3 << 20))), {"Content-Encoding": "gzip"}, "the answer is too long"),
        (ANSWER % (b"a" * (3 << 20)), {}, "the answer is too long"),
        (gzip.compress(ANSWER % b"good")[:20], {"Content-Encoding": "gzip"}, "the answer is not valid JSON"),
        (b"no gzip", {"Content-Encoding": "gzip"}, "the connection was cut"),
        (b"<html>Welcome to the hotel</html>", {"content-type": "text/html"}, "the answer is not valid JSON"),
        (b"", {}, "the answer is not valid JSON"),
        (b"[" * 100_000, {}, "the answer is not valid JSON"),
        (b"\xff\xfe{", {}, "the answer is not valid JSON"),
    ],
    ids=["good", "bomb", "huge", "half a gzip", "no gzip", "html", "nothing", "deep", "no text"],
)
def test_a_reply_that_is_no_answer_fails_its_item_alone(serving, connect, monkeypatch, body, headers, said):
    monkeypatch.setattr(openai_client, "LONGEST_REPLY", 1 << 20)
    model = connect(f"http://127.0.0.1:{serving(replying(200, body, **headers))}/v1", extra={"attempts": 1})
    (response,) = model.generate([ask(1)])
    if said is None:
        assert response.text == "good"
    else:
        assert said in response.error


def test_a_server_that_hangs_up_when_reached_is_no_time_out(serving, connect):
    async def hang_up(_reader, writer) -> None:
        writer.transport.abort()

    with pytest.raises(ModelError, match="connection was cut"):
        connect(f"http://127.0.0.1:{serving(hang_up)}/v1")


def test_a_server_that_accepts_and_says_nothing_is_a_time_out(serving, connect):
    async def silent(reader, _writer) -> None:
        await asyncio.sleep(30)

    with pytest.raises(ModelError, match=r"no answer within 0\.3 s"):
        connect(f"http://127.0.0.1:{serving(silent)}/v1", timeout=0.3)
