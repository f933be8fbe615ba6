"""Exports of Kapwa's own that somebody changed: refused by file and field, or harmless, never a traceback."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inspect_ai.log import read_eval_log, write_eval_log

from kapwa import api
from kapwa.errors import DataError
from kapwa.runs.directory import Run


@pytest.fixture(scope="module")
def exported(scored: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an export in lm-eval's form."""
    folder = tmp_path_factory.mktemp("exported")
    api.export_run(scored, folder, "lm-eval")
    return folder


def changed(exported: Path, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    shutil.copytree(exported, folder)
    (file,) = folder.glob("results_*.json")
    told = json.loads(file.read_text("utf-8"))
    change(told["kapwa"])
    file.write_text(json.dumps(told), "utf-8")
    return file


CHANGES: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "format": ("manifest.format", lambda v: v["manifest"].update(format="")),
    "seed": ("manifest.seed", lambda v: v["manifest"].update(seed="abc")),
    "groups": ("manifest.groups", lambda v: v["manifest"].update(groups=5)),
    "group": ("manifest.groups.0", lambda v: v["manifest"].update(groups=["weather"])),
    "notes": ("manifest.notes", lambda v: v["manifest"].update(notes=5)),
    "headline": ("manifest.headline", lambda v: v["manifest"].update(headline=5)),
    "low": ("manifest.metrics.mc1.low", lambda v: v["manifest"]["metrics"]["mc1"].update(low="x")),
    "ends": ("manifest.metrics.mc1.high", lambda v: v["manifest"]["metrics"]["mc1"].pop("high")),
    "metrics": ("manifest.metrics", lambda v: v["manifest"]["metrics"].pop("mc1")),
    "counts": ("manifest.counts.failed", lambda v: v["manifest"]["counts"].update(failed=-1)),
    "status": ("manifest.status", lambda v: v["manifest"].update(status="running")),
    "floor": ("floors.0.value", lambda v: v["floors"][0].update(value="much")),
    "manifest": ("manifest", lambda v: v.update(manifest=[])),
    "floors": ("floors", lambda v: v.pop("floors")),
}


@pytest.mark.parametrize("name", list(CHANGES))
@pytest.mark.parametrize("form", ["lm-eval", "inspect"])
def test_a_damaged_field_is_named(scored: Run, exported: Path, tmp_path: Path, name: str, form: str) -> None:
    field, change = CHANGES[name]
    if form == "lm-eval":
        file = changed(exported, tmp_path / "lm", change)
    else:
        (path,) = api.export_run(scored, tmp_path / "logs", "inspect")
        log = read_eval_log(path)
        change((log.eval.metadata or {})["kapwa"])
        file = tmp_path / "changed.json"
        write_eval_log(log, file)
    with pytest.raises(DataError, match="is not as Kapwa wrote it: ") as raised:
        api.import_result(file, form, out=tmp_path / "runs")
    assert f"column 'kapwa.{field}'" in str(raised.value)
    assert file.name in str(raised.value)
    assert raised.value.hint
    assert not (tmp_path / "runs").exists()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*path, key)
        yield from places(one, (*path, key))


ANYTHING = st.sampled_from([None, True, -1, 7, 0.5, "", "x", [], [3], ["x"], {}, {"x": 1}])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_change_is_refused_or_harmless(
    exported: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("any")

    def change(kept: dict[str, Any]) -> None:
        *before, last = data.draw(st.sampled_from(list(places(copy.deepcopy(kept)))))
        inside: Any = kept
        for step in before:
            inside = inside[step]
        inside[last] = data.draw(ANYTHING)

    try:
        (made,) = api.import_result(changed(exported, folder / "lm", change), "lm-eval", out=folder / "runs")
    except DataError:
        assert not (folder / "runs").exists()
    else:
        assert not Run(made).estimates.is_empty()
    shutil.rmtree(folder)


def test_damaged_scores_of_a_sample_are_refused(exported: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(exported, tmp_path / "lm")
    file = next(folder.glob("samples_*.jsonl"))
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    lines[0]["kapwa"]["scores"][0][2] = "much"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with pytest.raises(DataError, match="samples that are not as Kapwa wrote them"):
        api.import_result(folder, "lm-eval", out=tmp_path / "runs")
