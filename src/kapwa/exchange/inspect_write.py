"""Inspect's own writer, fed with samples as they are made. Import only where Inspect is installed.

``write_eval_log`` holds every sample until the end, and looks through all of them for each one it adds: 20,000 took
it longer than six minutes here. Beneath it lies the recorder with which Inspect writes the logs of running evaluations,
which can let go of samples on the way. It is no part of Inspect's public interface; Kapwa names the one version of
Inspect that it was tested with.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from inspect_ai._util._async import run_coroutine
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.log._recorders.eval import EvalRecorder

_HELD = 500  # samples: a few tens of MB


def write_streamed(log: EvalLog, samples: Iterable[EvalSample], path: Path) -> None:
    """Write ``log`` with ``samples`` to ``path`` in the form ``.eval``, whatever the path's suffix."""
    run_coroutine(_write(log, samples, path))


async def _write(log: EvalLog, samples: Iterable[EvalSample], path: Path) -> None:
    recorder = EvalRecorder(str(path.parent))
    await recorder.log_init(log.eval, str(path), clean=True)
    await recorder.log_start(log.eval, log.plan)
    for place, sample in enumerate(samples, start=1):
        await recorder.log_sample(log.eval, sample)
        if place % _HELD == 0:
            await recorder.flush(log.eval)
    await recorder.log_finish(log.eval, log.status, log.stats, log.results, log.reductions, log.error)
