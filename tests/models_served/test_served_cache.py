"""A served model with a shared cache: asked once where it says its version, always where it does not."""

from pathlib import Path

import kapwa


def chats(server) -> int:
    return sum(entry["path"] == "/v1/chat/completions" for entry in server.arrivals())


def evaluate(model, folder: Path):
    task = kapwa.load_task("kalahi/open", data="sample:filipino", limit=5, metrics=("chrf",))
    return kapwa.evaluate(task, model, out=folder, progress=False, cache=folder.parent / "team")


def test_a_named_version_is_asked_once_and_another_anew(stub, connect, tmp_path: Path) -> None:
    server = stub()
    first, second = (evaluate(connect(server.url, revision="2026-01"), tmp_path / name) for name in ("a", "b"))
    assert chats(server) == 5
    assert second.manifest["cache"]["answers"] == 5
    assert first.scores.equals(second.scores)
    later = evaluate(connect(server.url, revision="2026-02"), tmp_path / "c")
    assert chats(server) == 10
    assert later.manifest["cache"]["answers"] == 0


def test_a_name_alone_is_asked_each_time(stub, connect, tmp_path: Path) -> None:
    server = stub()
    runs = [evaluate(connect(server.url), tmp_path / name) for name in ("a", "b")]
    assert chats(server) == 10
    assert "--revision" in runs[1].manifest["notes"][0]
