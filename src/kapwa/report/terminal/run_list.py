"""The runs of a folder, a line each: what was asked of whom, how far it came, and the headline score."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from kapwa.errors import KapwaError, RunError, UnfinishedRunError
from kapwa.report import wording
from kapwa.report.sentences import missing
from kapwa.report.view.means import scores_by_system
from kapwa.report.view.reference_scores import is_first_items_only, is_unranked
from kapwa.report.view.tasks import arrange
from kapwa.runs.finished_run import Run, brief_model
from kapwa.runs.schema import NAME, RUN
from kapwa.runs.store import JOURNAL, AnswerStore
from kapwa.value_types import Cells, JsonObject

_NO_SCORE = {"metric": None, "value": None, "low": None, "high": None, "cultures": 0, "score": ""}


def list_runs(folder: Path) -> list[Cells]:
    """Return every run in ``folder``, the newest first; raise RunError where there is no such folder.

    Of each: path, task, model, label, state ("complete", "failed", "stopped", "unfinished", "damaged"), ``detail``
    of it in words, date (UTC), and the first headline metric of the first variant with its 95 % interval: of the one
    culture, or the mean of ``cultures``, each counting alike; ``score`` says it in words. A run that cannot be read
    stands there with the reason.
    """
    if not folder.is_dir():
        raise RunError(f"{folder} is not a folder.", hint="Name the folder that holds the run folders.")
    folders = {file.parent for name in (NAME, JOURNAL) for file in folder.glob(f"*/{name}")}
    rows = [_row(run_folder) for run_folder in sorted(folders)]
    return sorted(rows, key=lambda row: row["date"] or "", reverse=True)


def _row(folder: Path) -> Cells:
    try:
        run = Run(folder)
        state, detail = ("complete", "") if run.complete else ("failed", f"{run.failed} without an answer")
        if run.stopped:
            state, detail = "stopped", f"{run.manifest['counts']['not_asked']} not asked"
        score, manifest = headline_words(run), dict(run.manifest)
    except KapwaError as error:
        manifest = RUN.peek(folder) or {}
        state, detail, score = "damaged", error.summary, _NO_SCORE
        if isinstance(error, UnfinishedRunError):
            state, detail = "unfinished", _answer_count(folder)
    model = manifest.get("model")
    name = str(model.get("id", "")) if isinstance(model, dict) else ""
    return {
        "path": str(folder),
        "task": str(manifest.get("task", "")),
        "model": name,
        "label": str(manifest.get("label") or brief_model(name)),
        "state": state,
        "detail": detail,
        "date": finished if isinstance(finished := manifest.get("finished"), str) else _changed(folder),
        **score,
    }


def headline_words(run: Run) -> JsonObject:
    """Return the first headline metric of the first variant of a run, as :func:`list_runs` has it."""
    view = arrange([run])[0]
    cultures = sum(view.estimate(0, subject, view.main_metric) is not None for subject in view.subjects)
    ((row,),) = scores_by_system([(view, view.main_metric)]).values()
    info, estimate = view.metrics[view.main_metric], row or {}
    value, low, high = (estimate.get(name) for name in ("value", "low", "high"))
    gone = missing.missing_words(estimate, info)
    between = "; ".join(filter(None, [wording.interval(low, high, info), gone]))
    words = f"{view.main_metric} {wording.amount(value, info)} ({between})"
    unranked = is_unranked(estimate)
    if unranked:
        words = f"{view.main_metric}: no score, {missing.unranked_words(estimate, info)}"
    if missing.unanswered_sentence(view, 0):
        words = f"{view.main_metric}: no score, nothing was answered"
    if is_first_items_only(estimate):
        value = low = high = None
    words += f", mean of {cultures} cultures" if cultures > 1 and not unranked else ""
    if estimate.get("value") is None and info.judged_by == "verdicts":
        words = "waits for verdicts"
    return {"metric": view.main_metric, "value": value, "low": low, "high": high, "cultures": cultures, "score": words}


def _answer_count(folder: Path) -> str:
    try:
        with AnswerStore(folder / JOURNAL, mode="read") as store:
            return f"{wording.count(store.counts().answered, 'answer')} kept"
    except RunError as error:
        return error.summary


def _changed(folder: Path) -> str | None:
    """When a run that does not say it was last written to."""
    times = [file.stat().st_mtime for file in (folder / NAME, folder / JOURNAL) if file.exists()]
    return datetime.fromtimestamp(max(times), tz=UTC).isoformat(timespec="seconds") if times else None


def run_lines(rows: list[Cells]) -> list[str]:
    """Tell the rows of :func:`list_runs`, two lines each: the path, whole so that it can be copied, and the rest."""
    lines = []
    for row in rows:
        state = f"{row['state']}: {row['detail']}" if row["detail"] else row["state"]
        date = (row["date"] or "")[:16].replace("T", " ")
        fields = (row["task"], row["label"], state, row["score"], date and f"{date} UTC")
        lines += [row["path"], "  " + " · ".join(wording.label_text(field) for field in fields if field)]
    return lines
