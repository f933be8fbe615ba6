"""An analysis on a cluster that loses a process and a node on the way: the numbers of one machine, nothing twice."""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("ray")

import kapwa
from kapwa.analysis import distances, summing
from kapwa.errors import MissingDependencyError, UsageError
from kapwa.parallel.base import Ray
from kapwa.runs.progress import Snapshot

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "parallel")]
import corpus_samples as texts  # noqa: E402
from three_nodes import Nodes, three_nodes  # noqa: E402

CONCEPTS = 15
_COMPARING = "comparing texts"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with three_nodes() as found:
        yield found


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Three times the five concepts, each some tenths of a second's work."""
    many = [texts.rows(seed=k, samples=45).with_columns(pl.col("concept") + f" {k}") for k in range(CONCEPTS // 5)]
    return texts.write(tmp_path / "answers.parquet", pl.concat(many))


@pytest.mark.slow(50)
def test_a_lost_process_and_a_lost_node_change_no_number(
    nodes: Nodes, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    survey = texts.write_values(tmp_path / "survey.csv")
    asked: dict[str, Any] = {"values": survey, "controls": "geography", "permutations": 199}
    written: Counter[Path] = Counter()
    lost: list[str] = []
    real = distances.write_result

    def counts(path: Path, part: bytes) -> None:
        written[path] += 1
        real(path, part)

    def befalls(stand: Snapshot) -> None:
        if stand.label == _COMPARING and stand.done >= 2 and not lost:
            lost.extend(["process"] * nodes.kill_worker("_run_task"))
        if stand.label == _COMPARING and stand.done >= 5 and len(lost) == 1:
            lost.extend(["node"] * nodes.lose_node_at("_run_task"))

    summed: list[str] = []
    make = summing._with_results

    def sends(job: summing.TopicJob | summing.CorpusJob) -> object:
        summed.append(str(job))
        return make(job)

    monkeypatch.setattr(distances, "write_result", counts)
    monkeypatch.setattr(summing, "_FEW", {"ray": CONCEPTS})
    monkeypatch.setattr(summing, "_with_results", sends)
    engine = Ray(address=nodes.address)
    found = kapwa.analyze(corpus, **asked, out=tmp_path / "ray", progress=befalls, engine=engine)
    monkeypatch.undo()
    assert lost == ["process", "node"]
    assert "lost its worker" in caplog.text
    assert found.manifest["engine"] == "ray"
    assert found.manifest["parts"] == {"kept": 0, "computed": CONCEPTS}
    assert set(written.values()) == {1}
    assert [job.partition(" of ")[0] for job in summed] == ["The topic morals", "The topic places", "The tables"]
    local = kapwa.analyze(corpus, **asked, out=tmp_path / "local", workers=1, progress=False)
    assert local.manifest["engine"] == "local"
    assert parts(tmp_path / "ray") == parts(tmp_path / "local")
    assert len(parts(tmp_path / "ray")) == CONCEPTS == len(written)
    for name in found.tables:
        assert (found.path / f"{name}.parquet").read_bytes() == (local.path / f"{name}.parquet").read_bytes(), name
    assert found.path.name == local.path.name
    again = kapwa.analyze(corpus, **asked, out=tmp_path / "ray", progress=False, engine=Ray(address="127.0.0.1:9"))
    assert again.manifest["parts"] == {"kept": CONCEPTS, "computed": 0}  # and no cluster is looked for


def parts(folder: Path) -> dict[str, bytes]:
    """The parts of an analysis by their names."""
    return {path.name: path.read_bytes() for path in (folder / "parts").glob("*/*.npz")}


@pytest.mark.parametrize("setting", [{"replicas": 2}, {"cpus_per_replica": 2}, {"gpus_per_replica": 1}])
def test_replicas_of_no_model_are_refused(corpus: Path, tmp_path: Path, setting: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="has no model, so it has no replicas"):
        kapwa.analyze(corpus, out=tmp_path / "out", engine=Ray(**setting), progress=False)
    assert not (tmp_path / "out").exists()


def test_a_missing_ray_is_told_before_anything_is_read_or_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match="Ray engine"):
        kapwa.analyze(tmp_path / "none.parquet", out=tmp_path / "out", engine=Ray(), progress=False)
    assert not (tmp_path / "out").exists()
