"""A hub on loopback, as the hub's library asks one, whose faults are those of real ones; and commands that use it."""

import base64
import hashlib
import json
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from made_tables import TINY

import warm

LATER = "fedcba9876543210fedcba9876543210fedcba98"
Answer = tuple[int, bytes, dict[str, str]]


@dataclass
class Repository:
    """The files of a data set or model by commit, what its branch means, and its licence."""

    commits: dict[str, dict[str, bytes]]
    main: str = TINY
    licence: str = "cc-by-4.0"
    kind: str = "datasets"
    private: bool = False


@dataclass
class Hub:
    """What is served. ``fault`` may answer a path in the hub's place; ``cut``: files that end after so many bytes.

    A file in ``cut`` breaks off once. ``asked``: every path, in order. ``says``: what its model answers to everything.
    """

    repositories: dict[str, Repository]
    fault: Callable[[str], Answer | None] = lambda _path: None
    cut: dict[str, int] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    address: str = ""
    says: str = "True"
    tokens: set[str] = field(default_factory=set)


def error(status: int, code: str = "", **headers: str) -> Answer:
    return status, b'{"error":"made up"}', {**({"X-Error-Code": code} if code else {}), **headers}


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.0"  # a connection an answer, so that a cut one ends

    def log_message(self, *_: Any) -> None:
        """Keep the test's output clean."""

    def do_HEAD(self) -> None:
        path = unquote(self.path.split("?")[0])
        self.hub.asked.append(path)
        status, raw, headers = self.hub.fault(path) or self._answer(path)
        begin = self._begin(headers)
        if begin:
            status = 206
            headers["Content-Range"] = f"bytes {begin}-{len(raw) - 1}/{len(raw)}"
        self.send_response(status)
        sent = {"Content-Type": "application/json", "Content-Length": str(len(raw) - begin), **headers}
        for name, value in sent.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            end = self.hub.cut.pop(path.rpartition("/")[2], None) if "ETag" in headers else None
            self.wfile.write(raw[begin:end])

    do_GET = do_HEAD

    def do_POST(self) -> None:
        """Answer as a served model does that says the same to everything."""
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path.startswith("/api/"):
            self._written(unquote(self.path), body)
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": self.hub.says}, "finish_reason": "stop"}
        self._send(200, {"id": "1", "model": "stub", "choices": [choice]})

    def _written(self, path: str, body: bytes) -> None:
        """Take what is uploaded, as the hub does: a repository, how files are to be sent, a commit of them."""
        self.hub.asked.append(path)
        self.hub.tokens.add(self.headers.get("Authorization", ""))
        if not self.headers.get("Authorization"):
            self._send(401, {"error": "who are you"})
        elif path == "/api/repos/create":
            about = json.loads(body)
            name = f"{about['organization']}/{about['name']}"
            private = about.get("private", False) or about.get("visibility") == "private"
            self.hub.repositories[name] = Repository({TINY: {}}, private=private)
            self._send(200, {"url": f"{self.hub.address}/datasets/{name}", "name": name, "id": name})
        elif path == "/api/validate-yaml":
            self._send(200, {"errors": [], "warnings": []})
        elif "/preupload/" in path:
            files = [{"path": each["path"], "uploadMode": "regular"} for each in json.loads(body)["files"]]
            self._send(200, {"files": [{**each, "shouldIgnore": False} for each in files]})
        elif "/commit/" in path:
            name = path.removeprefix("/api/datasets/").partition("/commit/")[0]
            lines = [json.loads(line) for line in body.splitlines()]
            files = {
                each["value"]["path"]: base64.b64decode(each["value"]["content"])
                for each in lines
                if each["key"] == "file"
            }
            self.hub.repositories[name].commits[TINY] |= files
            page = f"{self.hub.address}/datasets/{name}/commit/{TINY}"
            self._send(200, {"commitUrl": page, "commitOid": TINY, "success": True})
        else:
            self._send(404, {"error": "made up"})

    def _send(self, status: int, content: object) -> None:
        raw = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _begin(self, headers: dict[str, str]) -> int:
        wanted = self.headers.get("Range", "")
        if not wanted.startswith("bytes=") or "ETag" not in headers or self.command != "GET":
            return 0
        self.hub.ranges.append(wanted)
        return int(wanted.removeprefix("bytes=").partition("-")[0])

    def _answer(self, path: str) -> Answer:
        for name, repository in self.hub.repositories.items():
            api = f"/api/{repository.kind}/{name}"
            resolve = f"/datasets/{name}/resolve/" if repository.kind == "datasets" else f"/{name}/resolve/"
            if path == api:
                return _info(name, repository, "main")
            if path.startswith(f"{api}/revision/"):
                return _info(name, repository, path.removeprefix(f"{api}/revision/"))
            if path.startswith(f"{api}/tree/"):
                return _tree(repository.commits[path.removeprefix(f"{api}/tree/").partition("/")[0]])
            if path.startswith(resolve):
                return _file(repository, path.removeprefix(resolve))
            if path.startswith(f"/{name}/"):  # as GitHub serves files at a commit
                return _file(repository, path.removeprefix(f"/{name}/"))
        return error(404, "RepoNotFound")


def _commit(repository: Repository, revision: str) -> str | None:
    return repository.main if revision == "main" else revision if revision in repository.commits else None


def _info(name: str, repository: Repository, revision: str) -> Answer:
    commit = _commit(repository, revision)
    if commit is None:
        return error(404, "RevisionNotFound")
    siblings = [
        {"rfilename": path, "size": len(raw), "lfs": {"sha256": _sha256(raw), "size": len(raw), "pointerSize": 1}}
        for path, raw in repository.commits[commit].items()
    ]
    about = {"id": name, "sha": commit, "siblings": siblings, "cardData": {"license": repository.licence}}
    about["private"] = repository.private
    return 200, json.dumps(about).encode(), {}


def _tree(files: dict[str, bytes]) -> Answer:
    tree = [{"type": "file", "path": path, "size": len(raw), "oid": _oid(raw)} for path, raw in files.items()]
    return 200, json.dumps(tree).encode(), {}


def _file(repository: Repository, place: str) -> Answer:
    revision, _, name = place.partition("/")
    commit = _commit(repository, revision)
    raw = repository.commits.get(commit or "", {}).get(name)
    if raw is None:
        return error(404, "EntryNotFound")
    return 200, raw, {"ETag": f'"{_oid(raw)}"', "X-Repo-Commit": str(commit), "Accept-Ranges": "bytes"}


def _oid(raw: bytes) -> str:
    return hashlib.sha1(raw).hexdigest()


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        hub.address = f"http://127.0.0.1:{server.server_port}"
        yield hub
        server.shutdown()


@dataclass
class Person:
    """Somebody with an empty home folder, who types commands."""

    home: Path
    hub: Hub | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def types(self, *words: str, most_bytes: int | None = None) -> subprocess.CompletedProcess[str]:
        """Run ``kapwa`` with these words; ``most_bytes``: no file can be larger, as on a disk that is full."""
        proxies = {name: "" for name in os.environ if name.lower().endswith("_proxy")}
        gone = ("HF_HOME", "HF_HUB_CACHE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "KAPWA_CONFIG", "KAPWA_CACHE")
        own = {name: value for name, value in os.environ.items() if name not in gone}
        own |= {**proxies, "HOME": str(self.home), "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        own |= {"HF_ENDPOINT": self.hub.address if self.hub else "http://127.0.0.1:9"}
        own |= {"KAPWA_GITHUB_ENDPOINT": own["HF_ENDPOINT"]}
        own |= {"HF_HUB_OFFLINE": "0" if self.hub else "1", **self.environment}
        start = "import sys; from kapwa.cli.main import run; run()"
        if most_bytes is not None:
            start = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({most_bytes},) * 2); {start}"
        command = [warm.programs() / "python", "-c", start, *words]
        where = self.home / "work"
        where.mkdir(parents=True, exist_ok=True)
        return subprocess.run(command, env=own, cwd=where, capture_output=True, text=True, timeout=600, check=False)
