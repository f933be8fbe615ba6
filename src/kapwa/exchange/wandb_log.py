"""Log scores of checkpoints to Weights & Biases: ``--to wandb:FOLDER``, as offline files for ``wandb sync``."""

from __future__ import annotations

import os
from pathlib import Path

from kapwa.errors import UsageError
from kapwa.exchange.trackers import PROJECT, LoggedSeries, tracker_package


def log(destination: str, scores: LoggedSeries) -> int:
    """Write the whole series as one offline run, always with the same id, since offline files cannot be extended."""
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    wandb = tracker_package("wandb", "wandb")
    folder = Path(destination)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        settings = wandb.Settings(
            silent=True,
            console="off",
            x_disable_stats=True,
            x_disable_meta=True,
            disable_git=True,
            disable_code=True,
        )
        facts = {"mode": "offline", "project": PROJECT, "dir": str(folder), "resume": "allow"}
        config = dict(scores.facts)
        with wandb.init(id=scores.key, name=scores.name, config=config, settings=settings, **facts) as run:
            for point in scores.points:
                run.log({**point.values, "checkpoint": point.checkpoint}, step=point.step)
    except (wandb.Error, OSError) as error:
        raise UsageError(
            f"W&B cannot write its files in {destination}: {error}", hint="Name another folder."
        ) from error
    return len(scores.points)
