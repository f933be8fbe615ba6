"""Runs to export: one that scored continuations, one that wrote texts; and what lm-eval 0.4.13 wrote."""

import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kapwa
from kapwa.runs.finished_run import Run

sys.path += [str(Path(__file__).resolve().parents[1] / room) for room in ("models", "runs")]
from tiny_suite import TinyModel

# Cells that a spreadsheet would run, that break lines and CSV, and that are no ASCII.
SAID = ["=HYPERLINK(1)", 'a "quoted"\nline, and a comma', "Ñandú, 맛있다, السلام"]


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of kalahi/mc on three items, whose log-probabilities follow from the texts."""
    task = kapwa.load_task("kalahi/mc", data="sample:filipino", limit=3)
    return kapwa.evaluate(task, TinyModel(), out=tmp_path_factory.mktemp("scored"), progress=False)


@pytest.fixture(scope="session")
def local(needs_torch: None, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A network of random weights as the local backend runs it: its answers depend on their batches."""
    from tiny_models import save_model

    return kapwa.load_model(f"hf:{save_model(tmp_path_factory.mktemp('local'), max_position_embeddings=4096)}")


@pytest.fixture(scope="session")
def smollm2_in_lm_eval(smollm2: Any) -> Any:
    """The embedded model's weights, computed and asked by lm-eval."""
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=smollm2._network.model, tokenizer=smollm2._tokenizer, device="cpu", batch_size=2)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of kalahi/open in two variants, answered from a file, one answer missing."""
    folder = tmp_path_factory.mktemp("written")
    task = kapwa.load_task("kalahi/open", data="sample:filipino", limit=3, variant="all")
    items = task.items()
    rows = [{"item_id": item.id, "variant": item.variant, "text": SAID[i % 3]} for i, item in enumerate(items[:-1])]
    pl.DataFrame(rows).write_csv(folder / "answers.csv")
    model = kapwa.load_model(f"replay:{folder / 'answers.csv'}")
    return kapwa.evaluate(task, model, out=folder / "runs", progress=False)


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """Multiple-choice questions, the first after a conversation, the second after none."""
    turns = [{"role": "user", "content": "What do we eat?"}, {"role": "assistant", "content": "Bread."}]
    about = {"country": "Egypt", "topic": "Food", "option_A": "rice", "option_B": "snow", "answer": "A", "variant": "0"}
    rows: list[dict[str, Any]] = [
        {"id": f"Egypt/{n}/0", "question_id": str(n), "question": f"And {when}?", "messages": before, **about}
        for n, when, before in ((1, "on Fridays", turns), (2, "in winter", []))
    ]
    (folder := tmp_path / "talks").mkdir()
    (folder / "mcq.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest.fixture(params=["scored", "written"])
def run(request: pytest.FixtureRequest) -> Run:
    """Each of the runs."""
    return request.getfixturevalue(request.param)


@pytest.fixture
def lm_eval_folder() -> Path:
    """What lm-eval 0.4.13 wrote of two small tasks, asked of its dummy model with --log_samples."""
    return Path(__file__).parent / "lm_eval_0_4_13"
