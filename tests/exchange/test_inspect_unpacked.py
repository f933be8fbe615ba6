"""Logs of Inspect that declare other sizes than they unpack to are refused, whichever way they are packed."""

from __future__ import annotations

import re
import struct
import tracemalloc
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import pytest
import zipfile_zstd  # noqa: F401 - teaches ZipFile the method 93
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, Solver, TaskState, solver

from kapwa import api
from kapwa.errors import DataError
from kapwa.exchange.inspect_unpacked import first_beyond_declared, members

ZSTD = 93
METHODS = {"stored": ZIP_STORED, "deflate": ZIP_DEFLATED, "zstd": ZSTD}


@solver
def says() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("mockllm/model", "yes")
        return state

    return solve


def declaring(path: Path, name: str, size: int) -> None:
    """Change the size that the list of members states for ``name``."""
    raw = bytearray(path.read_bytes())
    for match in re.finditer(re.escape(b"PK\x01\x02"), bytes(raw)):
        at = match.start()
        length = struct.unpack_from("<H", raw, at + 28)[0]
        if raw[at + 46 : at + 46 + length] == name.encode():
            struct.pack_into("<I", raw, at + 24, size)
    path.write_bytes(bytes(raw))


def archive(path: Path, method: int, **held: bytes) -> Path:
    with ZipFile(path, "w", compression=method) as new:
        for name, data in held.items():
            new.writestr(name, data)
    return path


def beyond(path: Path) -> str | None:
    return first_beyond_declared(path, members(path))


@pytest.mark.parametrize("method", list(METHODS))
def test_a_member_that_declares_less_than_it_holds_is_found(tmp_path: Path, method: str) -> None:
    path = archive(tmp_path / "log.eval", METHODS[method], honest=b"a" * 1000, other=b"b" * 200_000)
    assert beyond(path) is None
    declaring(path, "other", 199_999)
    assert beyond(path) == "other"


@given(data=st.binary(max_size=300), times=st.integers(1, 2000), method=st.sampled_from(list(METHODS.values())))
def test_honest_members_of_any_size_pass_and_one_byte_less_does_not(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, times: int, method: int
) -> None:
    path = archive(tmp_path_factory.mktemp("any") / "log.eval", method, one=data * times)
    assert beyond(path) is None
    if data:
        declaring(path, "one", len(data) * times - 1)
        assert beyond(path) == "one"


def test_counting_holds_little_and_ends_early(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", ZIP_DEFLATED, bomb=b"\0" * 50_000_000)
    declaring(path, "bomb", 100)
    assert path.stat().st_size < 60_000
    tracemalloc.start()
    assert beyond(path) == "bomb"
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("method", ["deflate", "zstd"])
def test_a_log_that_declares_less_than_it_unpacks_to_is_not_read(tmp_path: Path, method: str) -> None:
    dataset = MemoryDataset([Sample(id=n, input="Q?", target="yes") for n in (1, 2)])
    task = Task(dataset=dataset, solver=says(), scorer=includes())
    (log,) = eval(task, model="mockllm/model", display="none", log_dir=str(tmp_path / "logs"))
    with ZipFile(log.location.removeprefix("file://")) as old:
        held = {name: old.read(name) for name in old.namelist()}
    name = "samples/2_epoch_1.json"
    held[name] = held[name][:-1] + b" " * 3_000_000 + b"}"
    path = archive(tmp_path / "changed.eval", METHODS[method], **held)
    assert len(api.import_result(path, "inspect", out=tmp_path / "honest")) == 1
    declaring(path, name, 100)
    with pytest.raises(DataError, match=r"'samples/2_epoch_1.json', which unpacks to more than it declares") as raised:
        api.import_result(path, "inspect", out=tmp_path / "runs")
    assert raised.value.hint
    assert not (tmp_path / "runs").exists()
