"""A hub id: names, pinned revisions, errors, and a real download from a hub that this test serves on loopback."""

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest
from packwriter import CARD, RELEASED, released, write_csv, write_pack

from kapwa.datasets.packs import HubId, hub_id
from kapwa.suites.kalahi.data import HUB_ID, read_situations

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OLDER = "fedcba9876543210fedcba9876543210fedcba98"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("aisingapore/kalahi", HubId("aisingapore/kalahi", None)),
        ("aisingapore/kalahi@v1.0", HubId("aisingapore/kalahi", "v1.0")),
        ("hub:someone/else", HubId("someone/else", None)),
        ("hub:someone/else@refs/pr/1", HubId("someone/else", "refs/pr/1")),
        ("someone/else", None),
        ("hub:nonsense", None),
        ("data/kalahi", None),
        ("hub:a/b/c", None),
    ],
)
def test_hub_ids(text: str, expected: HubId | None) -> None:
    assert hub_id(text, HUB_ID) == expected


class _Hub(BaseHTTPRequestHandler):
    """The four calls that a snapshot download makes of a hub."""

    files: dict[str, dict[str, bytes]]
    asked: list[str]

    def log_message(self, *args: Any) -> None:
        """Keep the test's output clean."""

    def do_HEAD(self) -> None:
        path = unquote(self.path.split("?")[0])
        self.asked.append(path)
        status, raw, headers = self._found(path)
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(raw)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(raw)

    do_GET = do_HEAD

    def _found(self, path: str) -> tuple[int, bytes, dict[str, str]]:
        head, place = "/api/datasets/aisingapore/kalahi", "/datasets/aisingapore/kalahi/resolve/"
        if path.startswith(f"{head}/revision/"):
            commit = {"main": COMMIT, "v0": OLDER}.get(path.rsplit("/", 1)[1])
            if commit is None:
                return 404, b'{"error":"Invalid rev id"}', {"X-Error-Code": "RevisionNotFound"}
            siblings = [{"rfilename": name} for name in self.files[commit]]
            return 200, json.dumps({"id": "aisingapore/kalahi", "sha": commit, "siblings": siblings}).encode(), {}
        if path.startswith(f"{head}/tree/"):
            files = self.files[path.removeprefix(f"{head}/tree/")]
            tree = [{"type": "file", "path": n, "size": len(raw), "oid": _oid(raw)} for n, raw in files.items()]
            return 200, json.dumps(tree).encode(), {}
        if path.startswith(place):
            commit, name = path.removeprefix(place).split("/", 1)
            raw = self.files[commit][name]
            return 200, raw, {"ETag": f'"{_oid(raw)}"', "X-Repo-Commit": commit}
        return 404, b'{"error":"Repository not found"}', {"X-Error-Code": "RepoNotFound"}


def _oid(raw: bytes) -> str:
    return hashlib.sha1(raw).hexdigest()


@contextlib.contextmanager
def _serving(files: dict[str, dict[str, bytes]]) -> Iterator[tuple[str, list[str]]]:
    handler = type("Hub", (_Hub,), {"files": files, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", handler.asked
        server.shutdown()


READ = """
import json, sys
from kapwa.errors import KapwaError
from kapwa.suites.kalahi.data import read_situations
for data in sys.argv[1:]:
    try:
        items, source = read_situations(data)
    except KapwaError as error:
        print(json.dumps({"error": type(error).__name__, "text": str(error)}))
    else:
        print(json.dumps({"name": source.name, "digest": source.digest, "culture": source.card.get("culture"),
                          "items": [[i.id, i.variant, i.culture, i.fields["relevant"]] for i in items]}))
"""


def _read(endpoint: str, home: Path, *data: str, **env: str) -> list[dict[str, Any]]:
    """Read data sets in a fresh process: the hub's address is settled when its library is first imported."""
    proxies = {name: "" for name in os.environ if name.lower().endswith("_proxy")}
    given = os.environ | proxies | {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_OFFLINE": "0"} | env
    given |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    command = [sys.executable, "-c", READ, *data]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def csv_files(tmp_path: Path) -> dict[str, bytes]:
    full = write_csv(tmp_path / "full.csv", [RELEASED]).read_bytes()
    partial = write_csv(tmp_path / "partial.csv", [released(prompt="The pot is hot.\nWhat do I do?")]).read_bytes()
    return {
        "README.md": b"# hello",
        "data/filipino.csv": full,
        "data/filipino_partially_enriched.csv": partial,
        "model.bin": b"\0" * 10,
    }


def test_download_of_tables_at_a_named_commit_then_offline(tmp_path: Path, csv_files: dict[str, bytes]) -> None:
    older = {"data/train-00000-of-00001.parquet": _parquet(tmp_path)}
    home = tmp_path / "home"
    with _serving({COMMIT: csv_files, OLDER: older}) as (endpoint, asked):
        names = ("aisingapore/kalahi", "aisingapore/kalahi@v0", "aisingapore/kalahi@v9", "hub:someone/else")
        newest, pinned, *refused = _read(endpoint, home, *names)
        assert newest["name"] == f"aisingapore/kalahi@{COMMIT[:12]}"
        assert [item[:3] for item in newest["items"]] == [["0001", "full", "Filipino"], ["0001", "partial", "Filipino"]]
        assert newest["culture"] == "Filipino"
        assert not any(name in path for path in asked for name in ("README", "model.bin"))
        assert pinned["name"] == f"aisingapore/kalahi@{OLDER[:12]}"
        assert pinned["items"] == [["0001", "full", "Filipino", ["Wait a while.", "Use a cloth.", "Ask for help"]]]
        for answer, says in zip(refused, ("no revision 'v9'", "not on the hub"), strict=True):
            assert answer["error"] == "UsageError"
            assert says in answer["text"]
    # The hub is gone: what was fetched is still there.
    assert _read(endpoint, home, "aisingapore/kalahi") == [newest]
    assert _read(endpoint, home, "aisingapore/kalahi", HF_HUB_OFFLINE="1") == [newest]


def _parquet(folder: Path) -> bytes:
    lists = {k: v.split(";") if k in ("relevant_answers", "irrelevant_answers") else v for k, v in RELEASED.items()}
    pl.DataFrame([lists]).write_parquet(folder / "train.parquet")
    return (folder / "train.parquet").read_bytes()


def test_a_pack_on_the_hub_and_files_that_are_no_situations(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "pack")
    files = {name: (pack / name).read_bytes() for name in ("card.yaml", "situations.csv")}
    with _serving({COMMIT: files, OLDER: {"other.csv": b"a,b\n1,2\n"}}) as (endpoint, _):
        pack_read, other = _read(endpoint, tmp_path / "home", "aisingapore/kalahi", "aisingapore/kalahi@v0")
        assert pack_read["culture"] == CARD.split("\n")[0].removeprefix("culture: ")
        assert len(pack_read["items"]) == 8
        assert other["error"] == "DataError"
        assert "holds no situations" in other["text"]


def test_offline_says_what_to_do(tmp_path: Path) -> None:
    (refused,) = _read("http://127.0.0.1:9", tmp_path / "home", "aisingapore/kalahi")
    assert refused["error"] == "UsageError"
    assert "give their folder" in refused["text"]
    assert "Traceback" not in refused["text"]


def test_a_folder_of_that_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pack(tmp_path / "aisingapore" / "kalahi")
    monkeypatch.chdir(tmp_path)
    assert read_situations("aisingapore/kalahi")[1].name == "kalahi"
