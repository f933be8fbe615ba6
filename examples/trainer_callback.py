"""A callback for transformers' Trainer: at each evaluation the model is asked what Kapwa asks, and scores are logged.

    trainer = Trainer(model, arguments, train_dataset=..., eval_dataset=..., processing_class=tokenizer)
    trainer.add_callback(KapwaCallback(trainer, kapwa.load_task("kalahi/mc", data="sample:filipino")))
    trainer.train()

Logged, and so in TensorBoard or wherever the Trainer reports to: the headline with its 95 % interval, as
``run.headline`` holds it (of several cultures the mean, each counting alike), and that of each culture:
``eval_kapwa_mc1``, ``eval_kapwa_mc1_low``, ``eval_kapwa_mc1_high``, ``eval_kapwa_mc1_Filipino``, ... Each evaluation is
a run in ``<output_dir>/kapwa``, which ``kapwa compare``, ``kapwa report`` and ``kapwa runs`` read as any other.

``metric_for_best_model="eval_kapwa_mc1"`` keeps the checkpoint that scores best. Chosen among many it looks better than
it is: before you publish its score, ask it other questions. Weights that are split among machines (FSDP, ZeRO-3) cannot
be asked here; ask the saved checkpoints.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback

import kapwa
from kapwa.models.base import ModelOptions
from kapwa.models.transformers import TransformersModel
from kapwa.models.weights import Weights
from kapwa.runs.checkpoints import scores_to_log
from kapwa.runs.settings import RunSettings


class KapwaCallback(TrainerCallback):
    """Asks the model in training what a task asks, at each evaluation.

    ``trainer``: it logs. ``task``: from :func:`kapwa.load_task`; take a small one, by ``limit`` or ``where``.
    ``options``: how the model is asked, such as ``template="plain"`` for a base model. ``prefix``: of what is logged.
    ``until``: stop asking once the score is known so well, such as "0.02:mean". ``control``: an earlier complete run on
    the same items, whose answers are then used (:class:`kapwa.runs.settings.RunSettings`); without one, the first
    evaluation asks everything and is the control of those that follow.
    """

    def __init__(
        self,
        trainer: Trainer,
        task: Any,
        options: ModelOptions | None = None,
        prefix: str = "eval_kapwa",
        until: str | float | None = None,
        control: str | Path | None = None,
    ) -> None:
        self.trainer, self.task, self.options, self.prefix = trainer, task, options or ModelOptions(), prefix
        self.until = until
        self.complete = None if control is None else Path(control)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:  # noqa: ARG002 - transformers'
        """Ask, log, and add the scores to what the Trainer chooses the best checkpoint by."""
        if not state.is_world_process_zero:
            return
        model, folder = kwargs["model"], Path(args.output_dir) / "kapwa"
        settings, training = model.generation_config, model.training
        model.eval()
        try:
            weights = Weights(model, kwargs["processing_class"], digest_of(model))
            path = folder / f"step-{state.global_step}-{weights.revision}"
            asked = TransformersModel(Path(args.output_dir).name, weights, self.options)
            settings_of_run = RunSettings(path=path, progress=False, label=f"step {state.global_step}")
            if self.complete is not None:
                settings_of_run = replace(settings_of_run, until=self.until, control=self.complete)
            run = kapwa.evaluate(self.task, asked, settings_of_run)
            if self.until is not None and run.complete:
                self.complete = run.path
        finally:
            model.generation_config = settings
            model.train(training)
        scores = dict(scores_to_log(run, f"{self.prefix}_"))
        self.trainer.log(dict(scores))
        kwargs["metrics"].update(scores)


def digest_of(model: torch.nn.Module) -> str:
    """A hash of the weights as they are now: they stand for the model in the run's signature."""
    state = hashlib.blake2b(digest_size=8)
    for name, tensor in model.state_dict().items():
        state.update(name.encode() + b"\0")
        state.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy())
    return state.hexdigest()
