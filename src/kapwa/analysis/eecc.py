"""The whole analysis: texts of many identities, how they differ, and whether they differ as values do.

Two stages. First every concept becomes a part (all pairs of texts; minutes to hours, kept on disk, resumed after any
end). Then the parts are summed up and held against survey values (seconds to minutes, made anew each time), so that
another survey, control or number of words never compares two texts again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from kapwa.analysis.corpus import open_corpora
from kapwa.analysis.distances import compute_parts, prepare
from kapwa.analysis.inputs import check_surveys, read_surveys
from kapwa.analysis.parts import clear_unfinished
from kapwa.analysis.record import Times, code_of, manifest, write_analysis
from kapwa.analysis.result import Analysis
from kapwa.analysis.settings import Settings
from kapwa.analysis.tables import make_tables
from kapwa.errors import RunError, UsageError
from kapwa.parallel.base import Ray
from kapwa.parallel.local import open_executor
from kapwa.runs.directory import run_lock
from kapwa.runs.progress import Progress, showing

PARTS = "parts"


def analyze(
    sources: Sequence[str | Path],
    *,
    values: Sequence[str | Path] = (),
    controls: Sequence[str | Path] = (),
    out: str | Path = "analyses",
    path: str | Path | None = None,
    progress: Progress = None,
    settings: Settings | None = None,
    engine: Ray | None = None,
) -> Analysis:
    """Analyze ``sources`` (see :func:`kapwa.analysis.corpus.open_corpora`) and return the analysis.

    ``values``: survey tables. ``controls``: "geography", "region", "language" or tables of distances between
    countries, held fixed in partial Mantel tests. The tables lie in ``path``, or in a folder of ``out`` named after
    what was analyzed; parts lie in ``out``/parts and are shared. The same call after any end goes on where it
    stopped. ``engine``: compare texts and sum up on Ray instead of in processes of this machine.
    Raises MissingDependencyError where Ray is asked for and not installed, before anything is read; DataError and
    UsageError for what cannot be read, RunError for folders in use or unwritable.
    """
    asked = settings or Settings()
    _check_engine(engine)
    began = datetime.now(UTC)
    store = Path(out) / PARTS
    surveys = read_surveys(values, controls, asked)
    with showing(progress) as show:
        corpora = open_corpora(sources, attribute=asked.attribute, task=asked.task, label=asked.label)
        check_surveys(surveys, corpora)
        prepared = [prepare(corpus, surveys, store, asked) for corpus in corpora]
        folder = Path(path) if path is not None else Path(out) / f"eecc-{code_of(prepared, surveys, asked)[:8]}"
        _make(folder, store)
        executor = open_executor(engine, processes=asked.processes, tasks_at_once=asked.workers)
        with run_lock(folder), executor:
            counted = compute_parts(prepared, show, executor)
            compared = datetime.now(UTC)
            tables = make_tables(prepared, asked, show, executor)
            times = Times(began, compared, datetime.now(UTC))
            write_analysis(folder, tables, manifest(prepared, surveys, asked, counted, times))
    return Analysis(folder)


def _check_engine(engine: Ray | None) -> None:
    """Refuse what an analysis has no use for: it copies no model, and every task takes one processor."""
    if engine is None:
        return
    if engine != Ray(engine.address, start_timeout=engine.start_timeout):
        raise UsageError(
            "An analysis has no model, so it has no replicas to share processors or GPUs among.",
            hint="Leave replicas, cpus_per_replica and gpus_per_replica out; workers limits the tasks at a time.",
        )
    from kapwa.parallel.ray_cluster import require_ray

    require_ray()


def _make(folder: Path, store: Path) -> None:
    for wanted in (folder, store):
        try:
            wanted.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{wanted} cannot be made: {error.strerror or error}.", hint="Choose a writable folder with --out."
            ) from error
    clear_unfinished(store)
