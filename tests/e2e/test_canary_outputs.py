"""Secrets of the environment are in nothing that is made of a run: analyses, words, cards, exports, forms, repairs.

A recorded file answers with every secret, in every form it may travel in; what tests/models_served/test_canary.py does
with a server for one key is done here for all kinds of secrets and all kinds of outputs.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

from kapwa.exchange import formats

PASSWORD = "proxy/canary+never-show"
SECRETS = {
    "OPENAI_API_KEY": "sk-canary-openai-never-show",
    "ANTHROPIC_API_KEY": "sk-ant-canary-never-show",
    "HF_TOKEN": "hf_canary_never_show_this",
    "AWS_SECRET_ACCESS_KEY": "aws/canary+never/show",
    "AWS_BEARER_TOKEN_BEDROCK": "bedrock-canary-never-show",
    "AZURE_STORAGE_CONNECTION_STRING": "AccountName=a;AccountKey=canary-never-show==",
}
ADDRESSES = {"HTTPS_PROXY": f"http://maria:{quote(PASSWORD, safe='')}@127.0.0.1:9", "NO_PROXY": "*"}


def hidden() -> list[bytes]:
    """What must not appear: each secret as it is, and as JSON, addresses, headers and Windows programs write it."""
    plain = [*SECRETS.values(), PASSWORD]
    forms = [form for text in plain for form in (text, json.dumps(text)[1:-1], quote(text, safe=""))]
    header = base64.b64encode(f"maria:{PASSWORD}".encode()).decode().rstrip("=")
    return [form.encode() for form in (*forms, header)] + [text.encode("utf-16-le") for text in plain]


def contents(folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for path in (path for path in folder.rglob("*") if path.is_file()):
        name = str(path.relative_to(folder))
        found[name] = path.read_bytes() + name.encode()
        if path.suffix == ".parquet":
            found[f"{name}, read"] = str(pl.read_parquet(path).rows()).encode()
        elif zipfile.is_zipfile(path):
            importlib.import_module("zipfile_zstd")  # Inspect's logs: it comes with Inspect, and teaches zipfile
            with zipfile.ZipFile(path) as archive:
                found[f"{name}, unpacked"] = b"".join(map(archive.read, archive.namelist()))
    return found


def leaks(folder: Path) -> list[str]:
    return [name for name, content in contents(folder).items() if any(form in content for form in hidden())]


NEEDED = {"eee": ("--organization", "Us"), "hf-eval-results": ("--dataset", "a/b", "--task-id", "t")}


class Desk:
    """A folder for outputs, and ``kapwa`` with secrets in its environment; what it prints is an output too."""

    def __init__(self, folder: Path) -> None:
        self.out, self.inputs, self._n = folder / "out", folder / "inputs", 0
        self.out.mkdir()
        self.inputs.mkdir()

    def kapwa(self, *arguments: str, ends: tuple[int, ...] = (0,)) -> str:
        command = [sys.executable, "-m", "kapwa.cli.main", "--verbose", *arguments]
        env = {**os.environ, **SECRETS, **ADDRESSES, "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(command, cwd=self.out, env=env, capture_output=True, text=True, check=False)
        assert done.returncode in ends, f"{arguments}: {done.stderr}"
        self._n += 1
        (self.out / f"said{self._n}.txt").write_text(done.stdout + done.stderr, encoding="utf-8")
        return done.stdout

    def answers(self, task: str, **options: int) -> Path:
        """A file of answers to ``task`` that each hold all the secrets."""
        import kapwa

        opened = kapwa.load_task(task, **options)
        every = " ".join([*SECRETS.values(), PASSWORD, quote(PASSWORD, safe="")])
        file = self.inputs / f"{task.replace('/', '-')}.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for request in opened.requests(opened.items()):
                row = {"item_id": request.item_id, "variant": request.variant, "sample": request.sample}
                lines.write(json.dumps({**row, "text": f"Kumusta {request.item_id}: {every}"}) + "\n")
        return file


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_finder_that_finds_nothing_proves_nothing(desk: Desk) -> None:
    for i, form in enumerate(hidden()):
        (desk.out / f"{i}.txt").write_bytes(b"x" + form)
    with zipfile.ZipFile(desk.out / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", SECRETS["HF_TOKEN"] * 3)
    pl.DataFrame({"a": [f"x{PASSWORD}"]}).write_parquet(desk.out / "t.parquet")
    assert {f"{i}.txt" for i in range(len(hidden()))} | {"log.eval, unpacked", "t.parquet, read"} <= set(
        leaks(desk.out)
    )


@pytest.mark.slow
def test_no_secret_is_in_a_run_nor_in_any_form_it_is_exported_to(desk: Desk) -> None:
    answers = desk.answers("kalahi/open", limit=3)
    desk.kapwa("run", "kalahi/open", "--limit", "3", "--metrics", "bleu", "--model", f"replay:{answers}")
    (run,) = (desk.out / "runs").iterdir()
    for form in formats.FORMATS:
        desk.kapwa("export", str(run), "--format", form, "-o", f"as-{form}", *NEEDED.get(form, ()))
    desk.kapwa("report", str(run), "-o", "page.html", "--figures", "figures", "--csv", "tables")
    desk.kapwa("card", "datasheet", str(run), "-o", "card.md")
    desk.kapwa("forms", "kalahi", "--run", str(run), "--out", "forms", ends=(0, 2))
    (run / "journal.sqlite").write_bytes(bytes(4096) + (run / "journal.sqlite").read_bytes()[4096:])
    desk.kapwa("doctor", str(run), ends=(1,))
    desk.kapwa("doctor", str(run), "--salvage")
    assert leaks(desk.out) == []
    assert b"[hidden]" in contents(desk.out)[f"runs/{run.name}/answers.parquet, read"], "the answers did hold secrets"


@pytest.mark.slow
def test_no_secret_is_in_an_analysis_of_texts(desk: Desk) -> None:
    answers = desk.answers("eecc/stories", samples=2)
    desk.kapwa("run", "eecc/stories", "--samples", "2", "--model", f"replay:{answers}")
    (run,) = (desk.out / "runs").iterdir()
    desk.kapwa("analyze", "eecc", str(run), "--permutations", "19", "-o", "analysis.html", "--workers", "1")
    desk.kapwa("words", str(run), "--json")
    assert leaks(desk.out) == []


def test_no_secret_is_in_errors(desk: Desk) -> None:
    """Names of things that are not there are repeated in messages; a secret pasted in a wrong place is not."""
    address = f"http://maria:{PASSWORD}@127.0.0.1:9/v1"
    desk.kapwa("run", "kalahi/open", "--model", "openai:m", "--base-url", address, ends=(2,))
    desk.kapwa(
        "run", "kalahi/open", "--limit", "1", "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1",
        "--extra", "attempts=1", ends=(2,),
    )  # fmt: skip
    desk.kapwa("run", "kalahi/mc", "--model", "hf:kapwa-tests/no-such-model", ends=(2,))
    desk.kapwa("run", "kalahi/mc", "--data", "hub:kapwa-tests/none", "--model", "smollm2", ends=(2,))
    assert leaks(desk.out) == []
