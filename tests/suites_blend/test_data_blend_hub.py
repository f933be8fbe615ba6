"""The hub: what is asked for, and what is said when it cannot be had."""

from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError
from releasewriter import write_release

from kapwa.errors import DataError, UsageError
from kapwa.suites.blend.data import ANSWER_FILES, BLEND_ID, CHOICE_FILES, hub_files, read_data
from kapwa.suites.blend.mcq_data import read_mcq


def test_blend_is_read_from_the_files_of_two_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def snapshot(repo: str, **options: Any) -> str:
        asked.update(options, repo=repo)
        return str(write_release(tmp_path / "0123456789abcdef", hub=True))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    data = read_data("nayeon212/BLEnD@v1")
    assert len(data.questions) == 6
    assert data.source.name == "nayeon212/BLEnD@0123456789ab"
    assert (asked["repo"], asked["revision"], asked["repo_type"]) == (BLEND_ID, "v1", "dataset")
    assert asked["allow_patterns"] == ["data/annotations_hf/*", "data/questions_hf/*"]
    with pytest.raises(UsageError, match="no prompt 'inst-4' in Korean"):
        data.prompts.template("South_Korea", "local", "inst-4")
    with pytest.raises(DataError, match="holds no multiple-choice questions"):
        read_mcq(BLEND_ID)
    assert asked["allow_patterns"] == list(CHOICE_FILES)
    assert "*.csv" in hub_files("hub:owner/name", ANSWER_FILES)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (LocalEntryNotFoundError("offline"), "cannot be fetched"),
        (OSError("disk"), r"cannot be fetched \(disk\)"),
        (RepositoryNotFoundError, "is not on the hub"),
        (GatedRepoError, "is gated"),
    ],
)
def test_what_cannot_be_had(monkeypatch: pytest.MonkeyPatch, error: Any, said: str) -> None:
    def snapshot(repo: str, **options: Any) -> str:
        # The hub's errors want a response of the client it uses; what is read of them is their class.
        raise error.__new__(error) if isinstance(error, type) else error

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    with pytest.raises(UsageError, match=said):
        read_data(BLEND_ID)
