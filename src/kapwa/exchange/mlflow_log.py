"""Log scores of checkpoints to MLflow: ``--to mlflow:FILE.db``, a database, or ``--to mlflow:FOLDER``, old files."""

from __future__ import annotations

import os
from pathlib import Path

from kapwa.errors import UsageError
from kapwa.exchange.trackers import PROJECT, LoggedSeries, tracker_package
from kapwa.value_types import Untyped

_KEY = "kapwa.series"
_MARK = "kapwa_step"


def log(destination: str, scores: LoggedSeries) -> int:
    """Add the steps of this series that ``destination`` does not have yet; it is one run of the experiment "kapwa"."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    path = Path(destination).absolute()
    if path.suffix != ".db":
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
    tracking = tracker_package("mlflow.tracking", "mlflow")
    errors = tracker_package("mlflow.exceptions", "mlflow")
    address = f"sqlite:///{path}" if path.suffix == ".db" else path.as_uri()
    try:
        client = tracking.MlflowClient(tracking_uri=address)
        return _added(client, scores)
    except (errors.MlflowException, OSError, ImportError) as error:
        hint = "Name a folder, or a file that ends in .db (for which the whole package mlflow is needed)."
        raise UsageError(f"MLflow cannot log to {destination}: {str(error).splitlines()[0]}", hint=hint) from error


def _added(client: Untyped, scores: LoggedSeries) -> int:
    """Log the new points, with an additional metric that marks the steps that are there."""
    kapwa_experiment = client.get_experiment_by_name(PROJECT)
    experiment = client.create_experiment(PROJECT) if kapwa_experiment is None else kapwa_experiment.experiment_id
    runs = client.search_runs([experiment], f"tags.`{_KEY}` = '{scores.key}'")
    if runs:
        run = runs[0].info.run_id
    else:
        tags = {_KEY: scores.key, **scores.facts}
        run = client.create_run(experiment, run_name=scores.name, tags=tags).info.run_id
    known = {metric.step for metric in client.get_metric_history(run, _MARK)}
    new = [point for point in scores.points if point.step not in known]
    for point in new:
        for name, value in point.values.items():
            client.log_metric(run, name, value, step=point.step)
        client.log_metric(run, _MARK, float(point.step), step=point.step)
        client.set_tag(run, f"step {point.step}", point.checkpoint)
    client.set_terminated(run)
    return len(new)
