"""The Kubernetes file and the Slurm script in the docs: they say what Kapwa takes, and what they say fits together."""

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from kapwa.cli.main import app

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
    return get_command(app).commands["run"].make_context("run", words[2:]).params


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    found = yaml.safe_load(block("yaml"))
    assert (found["apiVersion"], found["kind"]) == ("ray.io/v1", "RayJob")
    return dict(found["spec"])


def test_the_job_of_kubernetes_asks_for_as_many_replicas_as_its_machines_hold(job: dict[str, Any]) -> None:
    options = parsed(shlex.split(job["entrypoint"]))
    (group,) = job["rayClusterSpec"]["workerGroupSpecs"]
    (container,) = group["template"]["spec"]["containers"]
    gpus = container["resources"]["limits"]["nvidia.com/gpu"]
    assert options["engine"] == "ray"
    assert options["gpus_per_replica"] == gpus
    assert options["replicas"] == group["replicas"] == group["minReplicas"] == group["maxReplicas"]


def test_the_job_of_kubernetes_runs_where_its_volume_is_and_again_after_a_failure(job: dict[str, Any]) -> None:
    head = job["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    mounts = {mount["mountPath"] for container in head["containers"] for mount in container["volumeMounts"]}
    assert str(parsed(shlex.split(job["entrypoint"]))["out"]) in mounts
    # With resources of its own, Ray would start the command on any machine; without, on the head, which has the volume.
    assert not [name for name in job if name.startswith("entrypoint") and name != "entrypoint"]
    assert job["backoffLimit"] > 0
    assert job["shutdownAfterJobFinishes"] is True


def test_what_ray_starts_with_is_text_on_kubernetes(job: dict[str, Any]) -> None:
    cluster = job["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    assert all(isinstance(value, str) for group in groups for value in group["rayStartParams"].values())
    assert isinstance(cluster["rayVersion"], str)


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
