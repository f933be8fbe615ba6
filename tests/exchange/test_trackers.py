"""Scores of checkpoints in the files of real trackers, with nothing sent over a network."""

import json
import os
import socket
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kapwa
from kapwa import registry
from kapwa.errors import UsageError
from kapwa.exchange.trackers import find_tracker, log_series
from kapwa.runs.checkpoints import scores_to_log, series_of


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Two checkpoints whose answers were recorded: the second answers more questions rightly."""
    folder = tmp_path_factory.mktemp("checkpoints")
    settings: Any = {"data": "sample:us", "variant": "en/inst-4", "limit": 12}
    items = kapwa.load_task("blend/saq", **settings).items()
    found = []
    for step, known in ((500, 4), (1000, 9)):
        file = folder / f"answers-{step}.jsonl"
        texts = [item.fields["answers"][0].en[0] if k < known else "no idea" for k, item in enumerate(items)]
        lines = [{"item_id": item.id, "text": text} for item, text in zip(items, texts, strict=True)]
        file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        task = kapwa.load_task("blend/saq", **settings)
        found.append(kapwa.evaluate(task, f"replay:{file}", out=folder / "runs", label=f"step {step}", progress=False))
    return found


@pytest.fixture(autouse=True)
def nothing_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Refuse every connection to another computer."""
    connect: Callable[..., Any] = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in ("127.0.0.1", "::1"):
            raise AssertionError(f"connects to {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.chdir(tmp_path)


def needs(module: str, tracker: str) -> Any:
    """The package of a tracker, or a skipped test."""
    found = pytest.importorskip(module, reason=f"the tracker {module} is not installed (pip install {module})")
    if tracker not in registry.installed("trackers"):
        pytest.skip("Kapwa was installed before it had trackers (pip install -e .)")
    return found


def headlines(runs: list[Any]) -> list[tuple[int, float]]:
    """The steps of the checkpoints and their scores."""
    return [(step, run.headline["value"]) for step, run in zip((500, 1000), runs, strict=True)]


def test_what_is_logged_is_the_headline_with_its_interval(runs: list[Any]) -> None:
    for run in runs:
        logged = dict(scores_to_log(run, "blend/saq/"))
        leading = run.headline
        metric = leading["metric"]
        assert logged[f"blend/saq/{metric}"] == leading["value"]
        assert logged[f"blend/saq/{metric}_low"] == leading["low"]
        assert logged[f"blend/saq/{metric}_high"] == leading["high"]
        assert {f"blend/saq/{metric}_{culture}" for culture in run.items["culture"]} <= set(logged)


def test_mlflow_keeps_each_checkpoint_once(runs: list[Any], tmp_path: Path) -> None:
    needs("mlflow", "mlflow")
    from mlflow.tracking import MlflowClient

    place = f"mlflow:{tmp_path / 'mlruns'}"
    assert log_series(series_of(runs[:1]), place) == 1
    assert log_series(series_of(runs), place) == 1  # the second alone is new
    assert log_series(series_of(runs), place) == 0
    client = MlflowClient(tracking_uri=(tmp_path / "mlruns").as_uri())
    (experiment,) = [each for each in client.search_experiments() if each.name == "kapwa"]
    (run,) = client.search_runs([experiment.experiment_id])
    metric = runs[0].headline["metric"]
    history = client.get_metric_history(run.info.run_id, f"blend/saq/{metric}")
    assert [(point.step, point.value) for point in history] == headlines(runs)
    assert run.data.tags["step 500"] == "step 500"
    assert run.info.status == "FINISHED"


def test_mlflow_keeps_them_in_a_database_too(runs: list[Any], tmp_path: Path) -> None:
    needs("mlflow", "mlflow")
    pytest.importorskip("sqlalchemy", reason="MLflow's database needs the whole package mlflow")
    assert log_series(series_of(runs), f"mlflow:{tmp_path / 'm.db'}") == 2
    with sqlite3.connect(tmp_path / "m.db") as database:
        steps = database.execute("SELECT DISTINCT step FROM metrics ORDER BY step").fetchall()
    assert steps == [(500,), (1000,)]


def test_trackio_keeps_each_checkpoint_once(runs: list[Any], tmp_path: Path) -> None:
    needs("trackio", "trackio")
    folder = tmp_path / "trackio"  # which Trackio takes from the environment when it is imported
    environment = {**os.environ, "TRACKIO_DIR": str(folder)}
    for several, rows in ((runs[:1], 1), (runs, 2), (runs, 2)):
        command = ["track", *(str(run.path) for run in several), "--to", "trackio:cultures", "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "kapwa", *command], env=environment, capture_output=True, text=True, check=True
        )
        assert len(json.loads(done.stdout)[0]["checkpoints"]) == len(several)  # nothing else on standard output
        with sqlite3.connect(folder / "cultures.db") as database:
            logged = database.execute("SELECT step, metrics FROM metrics ORDER BY step").fetchall()
        assert len(logged) == rows
    metric = f"blend/saq/{runs[0].headline['metric']}"
    assert [(step, json.loads(metrics)[metric]) for step, metrics in logged] == headlines(runs)


def test_wandb_files_hold_the_whole_series(runs: list[Any], tmp_path: Path) -> None:
    wandb = needs("wandb", "wandb")
    from wandb.proto import wandb_internal_pb2

    assert log_series(series_of(runs), f"wandb:{tmp_path / 'offline'}") == 2
    wandb.teardown()  # it writes in a process of its own, which this waits for
    (file,) = (tmp_path / "offline").rglob("run-*.wandb")
    steps = []
    for data in records_of(file.read_bytes()):
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") == "history":
            row = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            steps.append((record.history.step.num, row[f"blend/saq/{runs[0].headline['metric']}"]))
    assert steps == headlines(runs)


def records_of(data: bytes) -> Iterator[bytes]:
    """Yield the records of a file in LevelDB's log format, which W&B writes; here none spans two blocks."""
    place = 7
    while place + 7 <= min(len(data), 32768):
        _, length, kind = struct.unpack("<IHB", data[place : place + 7])
        assert kind == 1
        yield data[place + 7 : place + 7 + length]
        place += 7 + length


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("mlflow", "not of the form TRACKER:PLACE"),
        (":place", "not of the form TRACKER:PLACE"),
        ("mlflow:http://server:5000", "names a server"),
        ("nowhere:place", "no tracker named 'nowhere'"),
    ],
)
def test_what_is_no_tracker_is_refused_before_anything_is_read(to: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        find_tracker(to)
    with pytest.raises(UsageError, match=said):
        kapwa.track("no such folder", to=[to])


def test_a_tracker_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from kapwa.exchange.trackers import tracker_package

    with pytest.raises(UsageError, match="needs the package 'mlflow'") as absent:
        tracker_package("kapwa.no_such_module", "mlflow")
    assert absent.value.hint == "pip install mlflow"


@pytest.mark.parametrize("name", ["trackio", "mlflow", "wandb"])
def test_a_missing_package_of_a_tracker_is_told_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for module in (name, "mlflow.tracking"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=f"needs the package '{name}'") as absent:
        kapwa.track("no such folder", to=[f"{name}:place"])
    assert absent.value.hint == f"pip install {name}"
