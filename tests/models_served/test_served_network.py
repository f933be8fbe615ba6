"""Proxies and TLS on the way to a server: used as the environment says, and every failure named with its remedy."""

from __future__ import annotations

import asyncio
import base64
import gzip
import logging
import os
import ssl
import time
import traceback
from collections.abc import Callable, Iterator

import pytest
import stub_server
from loopback import Authority, Loopback, Proxy, answering
from served_tools import ask

from kapwa.errors import ModelError, UsageError
from kapwa.models.openai import OpenAIModel
from kapwa.models.served_chat import Dialect
from kapwa.models.served_client import headers_for, longest
from kapwa.models.served_http import Transport, find_proxy, tls_context

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


def test_plain_http_goes_through_the_proxy_that_the_environment_names(serving, stub, connect, monkeypatch):
    proxy = Proxy()
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{serving(proxy.serve)}")
    server = stub()
    assert answers(connect(server.url))
    assert proxy.asked[0] == f"GET {server.url}/models HTTP/1.1"
    assert f"POST {server.url}/chat/completions HTTP/1.1" in proxy.asked
    assert len(server.arrivals()) == 3


def test_https_goes_through_a_tunnel(serving, authority, connect, monkeypatch):
    proxy = Proxy(wants=SENT)
    port = serving(answering(), authority.server("IP:127.0.0.1"))
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{QUOTED}@127.0.0.1:{serving(proxy.serve)}")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert answers(connect(f"https://127.0.0.1:{port}/v1"))
    assert set(proxy.asked) == {f"CONNECT 127.0.0.1:{port} HTTP/1.1"}


@pytest.mark.parametrize("excepted", ["127.0.0.1", "*", "example.org,127.0.0.1:{port}"])
def test_no_proxy_is_heeded(serving, stub, connect, monkeypatch, excepted):
    proxy, server = Proxy(), stub()
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{serving(proxy.serve)}")
    monkeypatch.setenv("NO_PROXY", excepted.format(port=server.url.split(":")[2].removesuffix("/v1")))
    assert answers(connect(server.url))
    assert proxy.asked == []


@pytest.mark.parametrize(
    ("listed", "url", "excepted"),
    [
        ("10.0.0.0/8", "http://10.1.2.3:8000/v1", True),
        ("192.168.0.0/16, 10.1.2.3/31", "https://10.1.2.2/v1", True),
        ("10.0.0.0/8", "http://11.1.2.3/v1", False),
        ("10.0.0.0/8", "http://10.example.org/v1", False),
        ("::1", "http://[::1]:8000/v1", True),
        ("[::1]", "http://[::1]:8000/v1", True),
        ("fd00::/8,localhost", "http://[fd00::5]/v1", True),
        ("::/0", "http://10.1.2.3/v1", False),
        (".example.org", "https://api.example.org/v1", True),
        ("example.org:80", "http://example.org:8000/v1", False),
    ],
)
def test_no_proxy_holds_names_addresses_and_networks(monkeypatch, listed, url, excepted):
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example.org:3128")
    monkeypatch.setenv("NO_PROXY", listed)
    assert (find_proxy(url) is None) is excepted


@pytest.mark.parametrize(
    ("variable", "url", "found"),
    [
        ("https_proxy", "https://api.example.org/v1", True),
        ("ALL_PROXY", "https://api.example.org/v1", True),
        ("HTTP_PROXY", "https://api.example.org/v1", False),
        ("HTTPS_PROXY", "http://api.example.org/v1", False),
    ],
)
def test_which_proxy_is_meant_depends_on_the_scheme(monkeypatch, variable, url, found):
    monkeypatch.setenv(variable, "proxy.example.org:3128")
    proxy = find_proxy(url)
    assert (proxy is not None) is found
    if proxy:
        assert proxy.address == "http://proxy.example.org:3128"


@pytest.mark.parametrize(
    "value",
    ["socks5://127.0.0.1:1080", "http://host:notaport", "http://", f"http://{'a' * 64}.org", f"x://u:{QUOTED}@h"],
)
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(connect, monkeypatch, value):
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(UsageError, match=r"HTTPS_PROXY (?s:.)*Example: http://proxy") as caught:
        connect("https://api.example.org/v1")
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_password_is_named_with_the_remedy(serving, connect, monkeypatch, scheme):
    port = serving(Proxy(wants="x").serve)
    monkeypatch.setenv(f"{scheme.upper()}_PROXY", f"http://127.0.0.1:{port}")
    with pytest.raises(ModelError, match=rf"the proxy http://127.0.0.1:{port} \(from HTTPS?_PROXY\)") as caught:
        connect(f"{scheme}://api.example.org/v1")
    assert "407" in str(caught.value)
    assert "USER:PASSWORD" in str(caught.value)


def test_a_proxy_that_forbids_the_host_is_named(serving, connect, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{serving(Proxy(refuses=403).serve)}")
    with pytest.raises(ModelError, match=r"refused with HTTP 403(?s:.)*NO_PROXY"):
        connect("https://api.example.org/v1")


def test_a_proxy_that_is_down_is_named(connect, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match=r"cannot connect to the proxy http://127.0.0.1:9 \(from HTTP_PROXY\)"):
        connect("http://api.example.org/v1")


@pytest.mark.parametrize("status", [400, 403, 407, 500])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_password_of_a_proxy_is_never_shown(serving, connect, monkeypatch, caplog, scheme, status):
    caplog.set_level(logging.DEBUG)
    port = serving(Proxy(refuses=status).serve)  # it quotes what it was sent
    monkeypatch.setenv(f"{scheme.upper()}_PROXY", f"http://me:{QUOTED}@127.0.0.1:{port}")
    proxy = find_proxy(f"{scheme}://api.example.org")
    with pytest.raises(ModelError) as caught:
        connect(f"{scheme}://api.example.org/v1", extra={"attempts": 1})
    shown = [str(caught.value), "".join(traceback.format_exception(caught.value)), repr(proxy)]
    shown += [record.getMessage() for record in caplog.records]
    assert str(status) in shown[0]
    for text in shown:
        assert not any(secret in text for secret in (PASSWORD, QUOTED, SENT, "canary"))


def test_a_certificate_of_an_own_authority_works_with_ssl_cert_file(serving, authority, connect, monkeypatch):
    url = f"https://127.0.0.1:{serving(answering(), authority.server('IP:127.0.0.1'))}/v1"
    with pytest.raises(ModelError, match=r"certificate is not trusted(?s:.)*SSL_CERT_FILE") as caught:
        connect(url)
    assert "unable to get local issuer" in str(caught.value)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert answers(connect(url))


def test_a_self_signed_certificate_is_named_and_works_with_ssl_cert_file(serving, authority, connect, monkeypatch):
    url = f"https://127.0.0.1:{serving(answering(), authority.self_signed())}/v1"
    with pytest.raises(ModelError, match=r"certificate is not trusted \(self.signed certificate\)(?s:.)*SSL_CERT_FILE"):
        connect(url)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.folder / "own.pem"))
    assert answers(connect(url))


@pytest.mark.parametrize(
    ("name", "dates", "message"),
    [
        ("IP:127.0.0.1", "-startdate 20200101000000Z -enddate 20200201000000Z", "has expired(?s:.)*renew"),
        ("IP:127.0.0.1", "-startdate 20990101000000Z -enddate 20990201000000Z", "not valid yet(?s:.)*clock"),
        ("DNS:api.example.org", "-days 30", "for another address(?s:.)*--base-url"),
    ],
)
def test_what_is_wrong_with_a_certificate_is_said(serving, authority, connect, monkeypatch, name, dates, message):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    port = serving(answering(), authority.server(name, dates=dates))
    with pytest.raises(ModelError, match=message):
        connect(f"https://127.0.0.1:{port}/v1")


def test_a_certificate_for_another_name_is_named(serving, authority, connect, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    port = serving(answering(), authority.server("DNS:api.example.org"))
    with pytest.raises(ModelError, match=r"is for another host \(Hostname mismatch.*'localhost'"):
        connect(f"https://localhost:{port}/v1")


def test_an_authority_that_strict_checks_refuse_is_told_from_an_unknown_one(serving, connect, monkeypatch, tmp_path):
    monkeypatch.setattr(ssl, "create_default_context", strict_context)  # as Python 3.13 does by itself
    authority = Authority(tmp_path, strict=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    port = serving(answering(), authority.server("IP:127.0.0.1"))
    with pytest.raises(ModelError, match=r"is not made as RFC 5280 demands \(CA cert(?s:.)*anew"):
        connect(f"https://127.0.0.1:{port}/v1")


def strict_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_an_ssl_cert_file_that_holds_none_is_refused(tmp_path, connect, monkeypatch, content):
    if content:
        (tmp_path / "ca.pem").write_text(content, encoding="utf-8")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with pytest.raises(UsageError, match="SSL_CERT_FILE names a file that"):
        connect("https://127.0.0.1:9/v1")


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

    with pytest.raises(ModelError, match=f"HTTP 307 to {target}"):
        connect(f"http://127.0.0.1:{serving(moved)}/v1")
    assert seen == []


def test_a_server_that_closes_idle_connections_without_a_word_costs_no_attempt(serving, connect):
    connections = []

    async def hasty(reader, writer) -> None:
        connections.append(writer)
        stub = stub_server.Stub({})
        await stub.exchange(reader, writer)
        await reader.readexactly(1)  # it hangs up when the next request has begun
        writer.transport.abort()

    model = connect(f"http://127.0.0.1:{serving(hasty)}/v1", concurrency=1, extra={"attempts": 1})
    assert answers(model, 4)
    assert len(connections) == 5


@pytest.mark.parametrize("tls", [False, True])
def test_a_server_that_closes_after_each_answer_is_asked_anew(serving, authority, connect, monkeypatch, tls):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    async def once(reader, writer) -> None:
        await stub_server.Stub({}).exchange(reader, writer)
        writer.close()

    port = serving(once, authority.server("IP:127.0.0.1") if tls else None)
    model = connect(f"http{'s' if tls else ''}://127.0.0.1:{port}/v1", concurrency=1, extra={"attempts": 1})
    for _ in range(3):
        assert answers(model, 2)
        time.sleep(0.05)


@pytest.mark.parametrize("tls", [False, True])
def test_a_server_that_hangs_up_when_reached_is_no_time_out(serving, authority, connect, monkeypatch, tls):
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))

    async def hang_up(_reader, writer) -> None:
        writer.transport.abort()

    port = serving(hang_up, authority.server("IP:127.0.0.1") if tls else None)
    with pytest.raises(ModelError, match="connection was cut"):
        connect(f"http{'s' if tls else ''}://127.0.0.1:{port}/v1")


@pytest.mark.parametrize("host", [f"{'a' * 64}.example.org", "example org", "exa\0mple.org", 'a"b'])
def test_a_host_name_that_cannot_exist_is_refused(connect, host):
    with pytest.raises(UsageError, match="cannot exist"):
        connect(f"http://{host}/v1")


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("http://Example.org:80/v1", b"example.org"),
        ("https://example.org:443/v1", b"example.org"),
        ("http://example.org:443/v1", b"example.org:443"),
        ("http://[::1]:8000/v1", b"[::1]:8000"),
        ("http://b\u00fccher.example/v1", b"xn--bcher-kva.example"),
    ],
)
def test_the_server_is_named_as_it_expects_it(url, named):
    assert b"\r\nHost: %b\r\n" % named in Transport(url, {}, None)._head("GET", "/models")


def test_more_requests_at_once_than_files_may_be_open_are_refused(connect, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    with pytest.raises(UsageError, match=r"1000 requests(?s:.)*1024 files(?s:.)*ulimit -n(?s:.)*--concurrency 960"):
        connect("http://127.0.0.1:9/v1", concurrency=1000)


def test_a_server_that_never_ends_its_greeting_is_not_called_absent(serving, connect, monkeypatch):
    connection = asyncio.BaseEventLoop.create_connection

    async def impatient(self, *arguments, **options):
        return await connection(self, *arguments, **options, ssl_handshake_timeout=0.2)

    async def silent(reader, _writer) -> None:
        await reader.read()

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", impatient)
    with pytest.raises(ModelError, match="TLS failed: the connection was cut during the greeting"):
        connect(f"https://127.0.0.1:{serving(silent)}/v1")


def test_too_many_open_files_end_the_call_with_the_remedy(stub, connect):
    resource = pytest.importorskip("resource")
    model = connect(stub(delay=0.2).url, concurrency=32)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + 5, before[1]))
    try:
        with pytest.raises(ModelError, match=r"too many files are open(?s:.)*ulimit -n"):
            list(model.generate(ask(i) for i in range(100)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_host_name_that_is_not_known_is_named(connect):
    with pytest.raises(ModelError, match="the host name is not known"):
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
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-2\n")
    assert headers_for("https://eu.api.openai.com/v1", "k") == {
        "Authorization": "Bearer k",
        "OpenAI-Organization": "org-1",
        "OpenAI-Project": "proj-2",
    }
    assert headers_for("https://notopenai.com/v1", "k") == {"Authorization": "Bearer k"}
    assert Dialect("m", "https://notopenai.com/v1").length_key == "max_tokens"
    assert Dialect("m", "https://api.openai.com/v1").length_key == "max_completion_tokens"
    monkeypatch.setenv("OPENAI_ORG_ID", "org\r\nEvil: 1")
    with pytest.raises(ModelError, match="OPENAI_ORG_ID holds"):
        headers_for("https://api.openai.com/v1", "k")


def test_a_python_without_authorities_gets_those_of_certifi(monkeypatch):
    nowhere = ssl.DefaultVerifyPaths(None, None, "", "", "", "")
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: nowhere)
    monkeypatch.setattr(ssl, "create_default_context", lambda: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    assert tls_context().get_ca_certs()


@pytest.mark.parametrize("limit", [{}, {"max_new_tokens": 4000}])
def test_an_answer_inflated_far_beyond_the_tokens_asked_for_is_refused(serving, connect, limit):
    tokens = limit.get("max_new_tokens", 256)
    text = b"a" * longest({"max_tokens": tokens}, 1000)
    bomb = gzip.compress(b'{"choices": [{"message": {"content": "%s"}}]}' % text)

    async def serve(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"GET"):
            await stub_server.send(writer, 404, {}, {"Connection": "close"})
            writer.close()
            return
        await reader.readexactly(int(head.lower().split(b"content-length:")[1].split()[0]))
        await stub_server.send_bytes(writer, 200, bomb, {"Content-Encoding": "gzip", "Connection": "close"})
        writer.close()

    model = connect(f"http://127.0.0.1:{serving(serve)}/v1", extra={"attempts": 1})
    (refused,) = model.generate([ask(1, **limit)])
    assert "MB, far more than the tokens asked for" in refused.error
    (allowed,) = model.generate([ask(1, max_new_tokens=2 * tokens)])
    assert allowed.text


def test_a_reply_may_hold_what_was_asked_for():
    assert longest({}, 0) < longest({"max_tokens": 100_000}, 0) == longest({"max_completion_tokens": 100_000}, 0)
    assert longest({"max_tokens": 64}, 0) < 2**23 < longest({"max_tokens": 64, "n": 32}, 0)
    assert longest({"max_tokens": 1}, 1000) < longest({"max_tokens": 1}, 100_000)
    assert longest({"max_tokens": 10**400, "n": None}, 0) == 2**28
