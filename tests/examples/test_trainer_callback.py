"""The callback for transformers' Trainer, in a real training of a tiny model for a few steps."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

import kapwa

CALLBACK = Path(__file__).resolve().parents[2] / "examples" / "trainer_callback.py"


sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))


def train(folder: Path, callback: dict[str, Any] | None = None, **chosen: Any) -> Any:
    """A trainer after four steps with two evaluations; with ``chosen`` settings it has the callback.

    ``callback``: what this takes besides.
    """
    from tiny_models import build, train_tokenizer
    from transformers import Trainer, TrainingArguments

    tokenizer = train_tokenizer()
    model = build("llama", vocab_size=len(tokenizer), max_position_embeddings=2048).requires_grad_(True)
    texts = [tokenizer(text)["input_ids"] for text in ("Mabuti naman po.", "Kumusta ikaw po?")] * 8
    rows = [{"input_ids": text, "labels": text} for text in texts]
    settings: dict[str, Any] = {"per_device_train_batch_size": 1, "per_device_eval_batch_size": 1, "report_to": []}
    settings |= {"eval_strategy": "steps", "eval_steps": 2, "save_strategy": "steps", "save_steps": 2}
    settings |= {"max_steps": 4, "learning_rate": 0.1, "logging_steps": 1, "use_cpu": True, "disable_tqdm": True}
    arguments = TrainingArguments(output_dir=str(folder), **settings, **chosen)
    trainer = Trainer(model, arguments, train_dataset=rows, eval_dataset=rows[:1], processing_class=tokenizer)
    if chosen:
        spec = importlib.util.spec_from_file_location("trainer_callback", CALLBACK)
        assert spec is not None
        assert spec.loader is not None
        example = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(example)
        task = kapwa.load_task("kalahi/mc", limit=3)
        trainer.add_callback(example.KapwaCallback(trainer, task, **(callback or {})))
    trainer.train()
    return trainer


@pytest.fixture(scope="module")
def trained(needs_torch: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    """A trainer that was trained with the callback, and its folder."""
    pytest.importorskip("accelerate", reason="transformers' Trainer needs accelerate")
    folder = tmp_path_factory.mktemp("trained")
    best = {"metric_for_best_model": "eval_kapwa_mc1", "greater_is_better": True, "load_best_model_at_end": True}
    return train(folder, **best), folder


def test_scores_and_their_intervals_are_logged_at_each_evaluation(trained: tuple[Any, Path]) -> None:
    trainer, folder = trained
    logged = [row for row in trainer.state.log_history if "eval_kapwa_mc1" in row]
    assert [row["step"] for row in logged] == [2, 4]
    for row in logged:
        assert row["eval_kapwa_mc1_low"] <= row["eval_kapwa_mc1"] <= row["eval_kapwa_mc1_high"]
        cultures = [row[f"eval_kapwa_mc1_{culture}"] for culture in ("Filipino", "Egyptian")]
        assert row["eval_kapwa_mc1"] == pytest.approx(sum(cultures) / 2)
    runs = sorted((folder / "kapwa").iterdir())
    assert [run.name.rpartition("-")[0] for run in runs] == ["step-2", "step-4"]


def test_each_evaluation_is_a_run_of_the_weights_of_that_step(trained: tuple[Any, Path]) -> None:
    runs = [kapwa.open_run(path) for path in sorted((trained[1] / "kapwa").iterdir())]
    assert runs[0].manifest["model"]["revision"] != runs[1].manifest["model"]["revision"]
    assert not runs[0].scores["value"].equals(runs[1].scores["value"])  # it learned something in between
    assert kapwa.compare(*runs)["n"].max() == 6


def test_the_best_checkpoint_is_chosen_by_the_score(trained: tuple[Any, Path]) -> None:
    trainer, _ = trained
    scores = [row["eval_kapwa_mc1"] for row in trainer.state.log_history if "eval_kapwa_mc1" in row]
    assert trainer.state.best_metric == max(scores)


def test_training_goes_on_as_without_it(trained: tuple[Any, Path], tmp_path: Path) -> None:
    losses = [
        [row["loss"] for row in trainer.state.log_history if "loss" in row] for trainer in (trained[0], train(tmp_path))
    ]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 4
    assert not (tmp_path / "kapwa").exists()
    assert trained[0].model.generation_config.eos_token_id == [trained[0].processing_class.eos_token_id]


def test_each_evaluation_stops_by_the_rule_with_the_run_that_is_named_as_control(
    trained: tuple[Any, Path], tmp_path: Path
) -> None:
    first = min((trained[1] / "kapwa").iterdir())
    train(tmp_path, {"until": 0.3, "control": first}, save_total_limit=1)
    runs = [kapwa.open_run(path) for path in sorted((tmp_path / "kapwa").iterdir())]
    assert [run.manifest["until"]["rule"] for run in runs] == ["0.3", "0.3"]
    assert {run.manifest["until"]["control"] for run in runs} == {first.name}
    (series,) = kapwa.track(tmp_path / "kapwa")
    assert [step.point.step for step in series.steps] == [2, 4]
