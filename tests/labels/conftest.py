"""Situations for forms; two runs of blend/saq with known right and wrong answers, and a judge of known noise."""

import sys
from pathlib import Path

import polars as pl
import pytest
from form_filling import OPTIONS, make_item

import kapwa
from kapwa.records import Item

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models_served"))

from served_tools import stub  # noqa: F401 - a fixture
from stub_judge import MARK, chance

VARIANTS = "local/inst-4,en/inst-4"


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def judged_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Runs of two systems; the first is right on 60 % of the questions, the second on 40 %; each answer is another."""
    folder = tmp_path_factory.mktemp("runs")
    task = kapwa.load_task("blend/saq", variant=VARIANTS)
    runs = []
    for name, rate in (("better", 0.6), ("worse", 0.4)):
        rows = [
            {
                "item_id": item.id,
                "variant": item.variant,
                "text": f"{MARK if chance(name, item.id) < rate else 'zzq'} {name} {item.id} {item.variant}",
            }
            for item in task.items()
        ]
        replies = folder / f"{name}.csv"
        pl.DataFrame(rows).write_csv(replies)
        with_replies = kapwa.load_model(f"replay:{replies}")
        runs.append(kapwa.evaluate(task, with_replies, path=folder / name, label=name, progress=False).path)
    return runs


@pytest.fixture
def items() -> list[Item]:
    """Seven situations: formula-like texts, Arabic, Amharic, Korean, line breaks, numerals."""
    return [make_item(item_id, options) for item_id, options in OPTIONS.items()]


@pytest.fixture
def plain_items() -> list[Item]:
    """Forty situations with four options each."""
    return [make_item(f"{n:04}", tuple(f"{n}-{i} advice" for i in range(4))) for n in range(1, 41)]
