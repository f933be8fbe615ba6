"""Clusters that ask for a token, and clusters that do not, beside a token that an earlier Ray left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kapwa.engines import ray_cluster, ray_tokens
from kapwa.engines.deaths import no_process

pytest.importorskip("ray")

TOKEN = "0123456789abcdef" * 4

# One process that starts the head of a cluster, says where it is, and lives as long as its input is open.
HEAD = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 96 * 2**20})
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""

# Joins each address in turn; a worker must answer, for those of a cluster that disagrees about tokens die.
JOIN = """
import json, os, sys
import ray
from kapwa.engines.ray_cluster import connected
from kapwa.engines.settings import Ray
from kapwa.errors import KapwaError

@ray.remote(num_cpus=0)
class Worker:
    def here(self):
        return True

told = []
for address in sys.argv[1:]:
    try:
        with connected(Ray(address)):
            worker = Worker.remote()
            told.append(ray.get(worker.here.remote(), timeout=60))
    except KapwaError as error:
        told.append([error.message, error.hint])
told.append(os.environ.get("RAY_AUTH_MODE"))
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Home folders: with a token, with another, and with none."""
    found = {name: tmp_path_factory.mktemp(name) for name in ("token", "other", "none")}
    for name, token in (("token", TOKEN), ("other", TOKEN[::-1])):
        (found[name] / ".ray").mkdir()
        (found[name] / ".ray" / "auth_token").write_text(token, encoding="utf-8")
    return found


def around(home: Path, mode: str | None) -> dict[str, str]:
    names = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS")
    kept = {name: value for name, value in os.environ.items() if name not in names}
    return {**kept, "HOME": str(home), "RAY_USAGE_STATS_ENABLED": "0", **({"RAY_AUTH_MODE": mode} if mode else {})}


@pytest.fixture(scope="module")
def clusters(homes: dict[str, Path]) -> Iterator[dict[str, str]]:
    """The addresses of a cluster that asks for the token, and of one that asks for none."""
    heads = {
        mode: subprocess.Popen(
            [sys.executable, "-c", HEAD],
            env=around(homes["token"], mode),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for mode in ("token", "disabled")
    }
    try:
        yield {mode: str(head.stdout.readline()).strip() for mode, head in heads.items() if head.stdout}
    finally:
        for head in heads.values():
            head.communicate(timeout=60)


def joined(home: Path, mode: str | None, *addresses: str) -> tuple[list[Any], str]:
    done = subprocess.run(
        [sys.executable, "-c", JOIN, *addresses],
        env=around(home, mode),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.mark.slow
def test_a_cluster_gets_the_token_it_asks_for_and_no_other_does(homes: dict[str, Path], clusters: Any) -> None:
    addresses = [clusters[mode] for mode in ("token", "disabled", "token")]
    told, stderr = joined(homes["token"], None, *addresses)
    assert told == [True, True, True, None]
    assert "InvalidAuthToken" not in stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("home", "mode", "said", "hint"),
    [
        ("none", None, "asks for a token, and there is none here", "Copy ~/.ray/auth_token"),
        ("other", None, "does not take this machine's token", "Copy ~/.ray/auth_token"),
        ("token", "disabled", "RAY_AUTH_MODE=disabled says to send none", "Unset RAY_AUTH_MODE"),
        ("none", "token", "there is none here", "Copy ~/.ray/auth_token"),
    ],
)
def test_who_has_not_the_token_of_a_cluster_is_told_so_and_of_that_alone(
    homes: dict[str, Path], clusters: Any, home: str, mode: str | None, said: str, hint: str
) -> None:
    (told, after), stderr = joined(homes[home], mode, clusters["token"])
    assert said in told[0]
    assert clusters["token"] in told[0]
    assert hint in told[1]
    assert "ray start" not in told[1]
    assert "InvalidAuthToken" not in stderr
    assert after == mode


def test_what_ray_says_of_tokens_is_no_missing_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.exceptions import AuthenticationError

    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setattr(ray_tokens, "_has_token", lambda: True)
    for error in (
        AuthenticationError("Token authentication is enabled but no authentication token was found"),
        RuntimeError("Unauthenticated: RPC error: InvalidAuthToken: Authentication token is missing or incorrect"),
    ):
        found = ray_cluster._not_joined("10.0.0.5:6379", error)
        assert found.message == "The Ray cluster at '10.0.0.5:6379' does not take this machine's token."
        assert "RAY_AUTH_MODE" in str(no_process(error).hint)
    assert "There is no Ray cluster" in ray_cluster._not_joined("10.0.0.5:6379", RuntimeError("gone")).message
    assert "too little memory" in str(no_process(RuntimeError("The actor died.")).hint)
