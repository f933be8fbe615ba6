"""What a user says about Ray, what is made of it, and the recipes for clusters; no Ray is started."""

import os
import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kapwa.cli.main import loaded
from kapwa.errors import KapwaError, MissingDependencyError, RunError, UsageError
from kapwa.loading import load_model
from kapwa.parallel import ray_cluster
from kapwa.parallel.base import Ray, open_engine
from kapwa.parallel.ray_cluster import Node, connected
from kapwa.parallel.replica import ReplicaFacts, check_same, lay_out, needed_variables

LAPTOP, WORKER, HEAD = Node(8, 0), Node(64, 8), Node(0, 0)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"replicas": 0}, "replicas is 0; it must be a whole number of at least 1."),
        ({"replicas": 1.5}, "replicas is 1.5"),
        ({"replicas": True}, "replicas is True"),
        ({"cpus_per_replica": 0}, "cpus_per_replica is 0; it must be a number of at least 0.001."),
        ({"gpus_per_replica": -1}, "gpus_per_replica is -1"),
        ({"gpus_per_replica": float("nan")}, "gpus_per_replica is nan"),
        ({"start_timeout": "soon"}, "start_timeout is 'soon'"),
        ({"address": " "}, "The address of the Ray cluster is empty."),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        Ray(**settings)
    assert caught.value.message.startswith(said)


def test_the_options_of_an_engine_that_is_not_used_are_refused() -> None:
    assert open_engine("local") is None
    assert open_engine("ray", address="auto", replicas=8, gpus_per_replica=1.0) == Ray("auto", 8, None, 1.0)
    options = {"address": "auto", "replicas": 2, "cpus_per_replica": 1.0, "gpus_per_replica": 0.0}
    for name, value in options.items():
        with pytest.raises(UsageError, match=f"'{name}' is an option of the Ray engine") as caught:
            open_engine("local", **{name: value})
        assert caught.value.hint == "Add: --engine ray"
    with pytest.raises(UsageError, match="no engine 'rai'") as wrong:
        open_engine("rai")
    assert "Did you mean 'ray'?" in str(wrong.value.hint)


@pytest.mark.parametrize(
    ("settings", "nodes", "layout"),
    [
        # One replica with the machine to itself, and with the threads it would have without Ray.
        (Ray(), [LAPTOP], (1, 8, 0, None)),
        (Ray(), [Node(1, 0)] * 3, (3, 1, 0, None)),
        (Ray(replicas=2), [LAPTOP], (2, 4, 0, 4)),
        (Ray(replicas=3), [LAPTOP, LAPTOP], (3, 4, 0, 4)),
        # Machines that differ would have different threads, so that they are named.
        (Ray(), [LAPTOP, Node(6, 0)], (2, 6, 0, 6)),
        (Ray(), [HEAD, WORKER], (1, 64, 0, None)),
        (Ray(cpus_per_replica=2), [LAPTOP, Node(3, 0)], (5, 2, 0, 2)),
        (Ray(cpus_per_replica=0.5, replicas=4), [Node(1, 0)], (4, 0.5, 0, 1)),
        (Ray(gpus_per_replica=1), [HEAD, WORKER, WORKER], (16, 1, 1, 8)),
        (Ray(gpus_per_replica=8), [WORKER, LAPTOP], (1, 1, 8, None)),
        (Ray(gpus_per_replica=0.5, replicas=3, cpus_per_replica=4), [WORKER], (3, 4, 0.5, 4)),
        (Ray(replicas=2, gpus_per_replica=1), [LAPTOP], (2, 1, 1, None)),  # refused when asked for room
        (Ray(), [], (1, 1, 0, None)),  # a cluster that has yet to grow
    ],
)
def test_what_is_left_open_is_filled_in(settings: Ray, nodes: list[Node], layout: tuple[Any, ...]) -> None:
    assert tuple(lay_out(settings, nodes)) == layout


def test_less_than_a_processor_must_be_asked_for() -> None:
    with pytest.raises(UsageError, match=r"9 replicas of at least one processor do not fit: the Ray cluster has 8\."):
        lay_out(Ray(replicas=9), [LAPTOP])


@given(st.lists(st.integers(0, 9), max_size=4), st.integers(1, 12))
def test_replicas_that_are_laid_out_have_room(cpus: list[int], replicas: int) -> None:
    nodes = [Node(n, 0) for n in cpus]
    if not any(cpus):
        return
    try:
        found = lay_out(Ray(replicas=replicas), nodes)
    except UsageError:
        assert sum(cpus) < replicas
        return
    assert sum(node.room(found.cpus) for node in nodes) >= replicas
    assert sum(node.room(found.cpus + 1) for node in nodes) < replicas


def test_a_model_gets_the_keys_and_addresses_it_may_need_and_nothing_else() -> None:
    needed = {
        "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "AZURE_OPENAI_ENDPOINT", "AWS_SECRET_ACCESS_KEY",
        "AWS_REGION", "HF_TOKEN", "HF_HUB_OFFLINE", "https_proxy", "NO_PROXY", "GOOGLE_CLOUD_PROJECT",
    }  # fmt: skip
    other = {
        "PATH", "HOME", "HF_HOME", "OMP_NUM_THREADS", "GITHUB_TOKEN", "DATABASE_PASSWORD", "PYTHONPATH",
        "GOOGLE_APPLICATION_CREDENTIALS", "AWS_SHARED_CREDENTIALS_FILE", "RAY_ADDRESS",
    }  # fmt: skip
    assert set(needed_variables(dict.fromkeys(needed | other, "x"))) == needed


def test_what_is_wrong_is_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="There is no model 'smollm3'"):
        load_model("smollm3", engine=Ray())
    pytest.importorskip("ray")
    with pytest.raises(RunError, match=r"There is no Ray cluster at '127\.0\.0\.1:1': Connection refused") as none:
        load_model("smollm2", engine=Ray("127.0.0.1:1"))
    assert "ray start --head" in str(none.value.hint)
    with pytest.raises(UsageError, match="for Ray's client") as client:
        load_model("smollm2", engine=Ray("ray://127.0.0.1:10001"))
    assert "ray job submit" in str(client.value.hint)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError) as missing, connected(Ray()):
        pass
    assert missing.value.hint == "Install it with: pip install 'kapwa[ray]'"


def facts(**changes: Any) -> ReplicaFacts:
    environment = {"device": "cpu", "threads": 2, "torch": "2.13.0", "processor": "a processor"}
    told: dict[str, Any] = {
        "id": "m", "revision": "r", "capabilities": frozenset(), "atomic_batches": True, "block": 32,
        "fingerprint": {"id": "m"}, "description": {}, "environment": environment | {"kapwa": version("kapwa")},
    }  # fmt: skip
    return ReplicaFacts(**(told | changes))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"fingerprint": {"id": "m", "template": "plain"}}, "differ: template None and 'plain'"),
        ({"revision": "s"}, "differ: revision 'r' and 's'"),
        ({"environment": facts().environment | {"threads": 4}}, "differ: threads 2 and 4"),
        ({"environment": facts().environment | {"batch_tokens": 8}}, "differ: batch_tokens None and 8"),
        ({"environment": {"kapwa": "0.0.1"}}, "has kapwa 0.0.1, this process"),
    ],
)
def test_replicas_must_be_the_same_model(other: dict[str, Any], said: str) -> None:
    same = facts(environment=facts().environment | {"processor": "another"}, description={"batching": {"batches": 3}})
    check_same(facts(), same)
    with pytest.raises(KapwaError, match=said):
        check_same(facts(), facts(**other))


def test_what_ray_says_becomes_what_we_say(monkeypatch: pytest.MonkeyPatch) -> None:
    known = pytest.importorskip("ray").exceptions
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    address = "10.0.0.5:6379"
    for error, where, said, hint in (
        (RuntimeError("Version mismatch:\n    Ray: 2.40.0"), address, "cannot be joined: Version", "same versions"),
        (OSError("no space"), "local", "cannot be started on this machine: no space", "/tmp/ray"),
        (
            ConnectionError("Failed to connect"),
            address,
            "cannot be joined: Failed",
            "Set RAY_AUTH_MODE, which is token",
        ),
    ):
        found = ray_cluster._not_connected(where, error)
        assert said in found.message
        assert hint in str(found.hint)
    for failure in (known.RpcError("closed"), ConnectionError("closed"), known.RuntimeEnvSetupError("closed")):
        with pytest.raises(RunError, match=r"The Ray cluster failed: .*closed"), ray_cluster.ray_errors():
            raise failure
    with pytest.raises(known.OutOfMemoryError), ray_cluster.ray_errors():
        raise known.OutOfMemoryError("node 1")


@pytest.mark.parametrize(
    ("address", "problem", "times"),
    [
        ("local", "The current node timed out during startup.", 2),
        ("local", "no space", 1),
        ("10.0.0.5:6379", "gone", 1),
    ],
)
def test_ray_is_started_here_once_more_where_it_took_too_long(address: str, problem: str, times: int) -> None:
    calls: list[str] = []

    class SlowRay:
        @staticmethod
        def init(address: str, **_: Any) -> None:
            calls.append(address)
            raise RuntimeError(problem)

        @staticmethod
        def shutdown() -> None:
            pass

    with pytest.raises(RunError, match=problem):
        ray_cluster._connect(SlowRay, address)
    assert calls == [address] * times


PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "run-on-a-cluster.md"
STUBS = {
    "scontrol": 'printf "n7\\nn8\\n"',
    "getent": 'echo "10.0.0.7 STREAM n7"; echo "10.0.0.7 DGRAM"',
    "srun": 'printf "%s\\n" "$@"',
}


JOB = {"SLURM_JOB_NODELIST": "n[7-8]", "SLURM_JOB_NUM_NODES": "2", "SLURM_CPUS_PER_TASK": "16"}


def block(kind: str) -> str:
    """The page's only block of this kind."""
    (found,) = re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return str(found)


def parsed(words: list[str]) -> dict[str, Any]:
    """The options of a command line that starts ``kapwa run``; fails where Kapwa would refuse it."""
    assert words[:2] == ["kapwa", "run"]
    return loaded("run").make_context("run", words[2:]).params


def test_the_job_of_kubernetes_fits_its_machines_and_its_volume_and_runs_again_after_a_failure() -> None:
    job = yaml.safe_load(block("yaml"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    job = job["spec"]
    cluster, options = job["rayClusterSpec"], parsed(shlex.split(job["entrypoint"]))
    (group,) = cluster["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    assert options["engine"] == "ray"
    assert options["gpus_per_replica"] == container["resources"]["limits"]["nvidia.com/gpu"]
    assert options["replicas"] == group["replicas"] == group["minReplicas"] == group["maxReplicas"]
    head = cluster["headGroupSpec"]["template"]["spec"]
    assert str(options["out"]) in {mount["mountPath"] for one in head["containers"] for mount in one["volumeMounts"]}
    # With resources of its own, Ray would start the command on any machine; without, on the head, which has the volume.
    assert not [name for name in job if name.startswith("entrypoint") and name != "entrypoint"]
    assert job["backoffLimit"] > 0
    assert job["shutdownAfterJobFinishes"] is True
    texts = [
        cluster["rayVersion"],
        *cluster["headGroupSpec"]["rayStartParams"].values(),
        *group["rayStartParams"].values(),
    ]
    assert all(isinstance(text, str) for text in texts)


@pytest.mark.parametrize("gpus", [None, "4"], ids=["no GPUs", "GPUs"])
def test_the_script_for_slurm_starts_ray_on_every_machine_and_kapwa_on_it(tmp_path: Path, gpus: str | None) -> None:
    for name, code in STUBS.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{code}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    own = {**JOB, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SLURM_SUBMIT_DIR": str(tmp_path)}
    own |= {"SLURM_GPUS_ON_NODE": gpus} if gpus else {}
    command = ["bash", "-eu", "-c", block("sh")]
    done = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    words = done.stdout.splitlines()
    middle = words.index("--")
    ray, options = words[:middle], parsed(words[middle + 1 :])
    assert [ray[ray.index(name) + 1] for name in ("--address", "--min-nodes", "--num-cpus", "--num-gpus")] == [
        "10.0.0.7:6379",
        "2",
        "16",
        gpus or "0",
    ]
    assert "--cpus-per-task=16" in ray[: ray.index("ray")]  # srun does not take it over from sbatch
    assert (options["engine"], options["address"]) == ("ray", "auto")
    assert options["out"] == tmp_path / "runs"
