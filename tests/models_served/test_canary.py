"""An API key given through the environment is in nothing that a run prints or writes, whatever the server says."""

import base64
import json
import os
import subprocess
import urllib.parse
import zipfile
from pathlib import Path

import pytest
from loopback import Loopback, Proxy

import warm

CANARY = "sk-canary/8c1f+55aa-never-show"
OTHERS = {"HF_TOKEN": "hf_canary_never_show_either", "MY_SECRET": "canary-third-never-show"}
PASSWORD = "canary/proxy never+show"  # three bytes ("me:") before it, so that its base64 is whole in theirs


def forms(secret: str) -> list[bytes]:
    """The secret as it may be disguised: in a URL, in JSON, in base64."""
    return [
        secret.encode(),
        urllib.parse.quote(secret, safe="").encode(),
        json.dumps(secret)[1:-1].replace("/", "\\/").encode(),
        base64.b64encode(secret.encode()).rstrip(b"="),
        secret.encode("utf-16-le"),
    ]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder``, hidden ones too; tables as they are read, archives unpacked."""
    import polars as pl

    found: dict[str, bytes] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            name = str(path.relative_to(folder))
            found[name] = path.read_bytes() + name.encode()
            if path.suffix == ".parquet":
                found[f"{name}, read"] = str(pl.read_parquet(path).rows()).encode()
            elif zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    found[f"{name}, unpacked"] = b"".join(map(archive.read, archive.namelist()))
    return found


def leaks(found: dict[str, bytes]) -> list[str]:
    secrets = [form for secret in (CANARY, PASSWORD, *OTHERS.values()) for form in forms(secret)]
    return [name for name, content in found.items() if any(form in content for form in secrets)]


@pytest.fixture
def kapwa(tmp_path: Path):
    """Run ``kapwa`` in an empty folder with secrets in the environment; what it prints becomes a file there."""
    n = 0

    def run(*arguments: str, status: int | None = 0) -> str:
        nonlocal n
        n += 1
        variables = {"OPENAI_API_KEY": f" {CANARY}\n", **OTHERS, "COLUMNS": "120", "HF_HUB_OFFLINE": "1"}
        command = [str(warm.programs() / "kapwa"), "--verbose", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
        assert status is None or done.returncode == status, done.stderr
        (tmp_path / f"out{n}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
        return done.stdout

    return run


def the_run(*, more: tuple[str, ...] = ()) -> tuple[str, ...]:
    task = ("kalahi/open", "--data", "sample:filipino", "--limit", "6")
    return ("run", *task, "--model", "openai:stub", "--metrics", "chrf", *more)


def test_a_finder_that_finds_nothing_proves_nothing(tmp_path: Path) -> None:
    import polars as pl

    for i, form in enumerate(forms(CANARY)):
        (tmp_path / f"{i}.txt").write_bytes(b"x" + form)
    pl.DataFrame({"a": [f"x{CANARY}y"]}).write_parquet(tmp_path / "t.parquet", compression="zstd")
    with zipfile.ZipFile(tmp_path / "z.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", CANARY * 3)
    found = leaks(contents(tmp_path))
    assert {f"{i}.txt" for i in range(len(forms(CANARY)))} | {"t.parquet, read", "z.xlsx, unpacked"} <= set(found)


def test_the_key_is_in_no_file_and_no_output_of_a_run_and_what_is_made_of_it(stub, kapwa, tmp_path: Path) -> None:
    """Some requests fail and quote the key, others answer with it: run, cache, report, figures, tables, forms."""
    server = stub(echo_auth=True, echo_in_answer=True, faults={"500": 0.3}, retry_after=0.01)
    settings = ("--base-url", server.url, "--extra", "attempts=2", "--extra", "backoff=0.01", "--revision", "v1")
    kapwa(*the_run(more=(*settings, "--cache", "team", "--json")), status=None)
    (folder,) = (tmp_path / "runs").iterdir()
    arrivals = server.report()["seen_auth"]
    assert arrivals == [f"Bearer {CANARY}"], "the key was sent, so it could have leaked"
    run = f"runs/{folder.name}"
    kapwa("report", run, "-o", "page.html", "--figures", "figures", "--csv", "tables")
    kapwa("cache", "ls", "team", "--json")
    kapwa("label", "sheets", "kalahi", "--data", "sample:filipino", "--run", run, "--out", "forms", status=None)
    found = contents(tmp_path)
    assert leaks(found) == []
    answers = json.dumps([text.decode("utf-8", "replace") for name, text in found.items() if name.endswith(", read")])
    assert "[key removed]" in answers, "the server did echo the key"
    for name in ("journal.sqlite", "run.json", "report.html"):
        assert any(file.endswith(name) for file in found), name


@pytest.mark.usefixtures("needs_torch")
def test_the_key_is_in_nothing_that_encoders_and_analyses_of_foreign_texts_leave(stub, kapwa, tmp_path: Path) -> None:
    import transformers

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    transformers.BertModel(transformers.BertConfig(vocab_size=6, **sizes)).save_pretrained(tmp_path / "encoder")
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n", encoding="utf-8")
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "encoder")
    server = stub(echo_auth=True, echo_in_answer=True)
    encoder = ("--metrics", "bertscore", "--bertscore-model", "encoder", "--base-url", server.url)
    kapwa(*the_run(more=encoder))
    assert server.report()["seen_auth"] == [f"Bearer {CANARY}"], "the key was sent, so it could have leaked"
    rows = [f"{who},post,{what},{who} {what} goes" for who in ("Lima", "Oslo", "Cairo") for what in ("mail", "keys")]
    (tmp_path / "texts.csv").write_text("\n".join(["city,topic,concept,text", *rows]) + "\n", encoding="utf-8")
    texts = ("--responses", "texts.csv")
    kapwa("analyze", "eecc", *texts, "--permutations", "19", "--workers", "2", "--output", "page.html")
    kapwa("words", *texts, "--json")
    found = contents(tmp_path)
    assert leaks(found) == []
    for name in ("scores.parquet", "page.html", "analysis.json", "out3.txt"):
        assert any(file.endswith(name) for file in found), name


@pytest.mark.parametrize("status", [401, 403, 500])
def test_the_key_is_in_no_error_either(stub, kapwa, tmp_path: Path, status: int) -> None:
    server = stub(echo_auth=True, models_status=status)
    kapwa(*the_run(more=("--base-url", server.url, "--extra", "attempts=1")), status=2)
    found = contents(tmp_path)
    assert f"HTTP {status}".encode() in found["out1.txt"]
    assert leaks(found) == []


def test_the_password_of_a_proxy_is_in_no_file_and_no_output(stub, kapwa, tmp_path: Path, monkeypatch) -> None:
    """Some calls are refused by the proxy, which quotes what it was sent; the others go through."""
    sent = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    proxy = Proxy(wants=sent, refuses=500, every=2)
    running = Loopback(proxy.serve)
    monkeypatch.setenv("HTTP_PROXY", f"http://me:{urllib.parse.quote(PASSWORD, safe='')}@127.0.0.1:{running.port}")
    settings = ("--base-url", stub().url, "--extra", "attempts=1", "--revision", "v1", "--cache", "team", "--json")
    kapwa(*the_run(more=settings), status=None)
    running.stop()
    (folder,) = (tmp_path / "runs").iterdir()
    kapwa("report", f"runs/{folder.name}", "-o", "page.html", "--csv", "tables")
    found = contents(tmp_path)
    assert leaks(found) == []
    assert any(b"Proxy-Authorization: Basic [" in content for content in found.values()), "it was sent and quoted"


def test_a_key_that_is_a_word_changes_no_answer() -> None:
    """Servers of one's own are given keys such as "none": an answer that holds the word stays as it is."""
    from kapwa.models.openai_client import HIDDEN, hide, long_secrets, secret_forms

    for key in ("none", "test", "EMPTY", "ollama"):
        assert hide(f"{key}theless, {key}", long_secrets(secret_forms([key]))) == f"{key}theless, {key}"
        assert hide(f"401: bad key {key}", secret_forms([key])) == f"401: bad key {HIDDEN}"
    assert hide(f"You sent {CANARY}.", long_secrets(secret_forms([CANARY]))) == f"You sent {HIDDEN}."
