"""Log scores of checkpoints to Trackio: ``--to trackio:PROJECT``, in the folder that ``TRACKIO_DIR`` names."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

from kapwa.errors import UsageError
from kapwa.exchange.trackers import LoggedSeries, tracker_package


def log(destination: str, scores: LoggedSeries) -> int:
    """Add the steps that the project ``destination`` does not have yet of this series; it is one run there."""
    trackio = tracker_package("trackio", "trackio")
    name = f"{scores.name} {scores.key}"
    try:
        known = {row.get("step") for row in trackio.SQLiteStorage.get_logs(destination, name)}
        new = [point for point in scores.points if point.step not in known]
        if not new:
            return 0
        with redirect_stdout(sys.stderr):  # Trackio writes messages to standard output
            options = {"embed": False, "auto_log_gpu": False, "auto_log_cpu": False}
            run = trackio.init(destination, name=name, config=dict(scores.facts), resume="allow", **options)
            for point in new:
                run.log(dict(point.values), step=point.step)
            trackio.finish()
    except (ValueError, OSError) as error:
        raise UsageError(
            f"Trackio cannot log to the project {destination!r}: {error}", hint="Name another project."
        ) from error
    return len(new)
