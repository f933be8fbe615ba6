"""What is missing, in words: bounds beside a score, the first sentence, verdicts that are not decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kapwa.models.base import is_recording
from kapwa.records import MISSING
from kapwa.report import wording
from kapwa.report.view.reference_scores import SHOW_BOUNDS_ABOVE, is_first_items_only, share_of
from kapwa.report.view.tasks import TaskView
from kapwa.report.wording import isolate, label_text
from kapwa.runs.thoughts import TABLE as THOUGHTS
from kapwa.stats.families import missing_share
from kapwa.suites.base import MetricInfo
from kapwa.value_types import JsonMapping, Row

# Over this share of missing answers a sentence says so before all others.
FIRST = 0.05
# Why answers are missing, for one answer and for several.
_WORDS: Mapping[str, tuple[str, str]] = {
    "failed": ("never came", "never came"),
    "filtered": ("was kept back by the provider’s filter", "were kept back by the provider’s filter"),
    "unfinished": ("ended at {limit}", "ended at {limit}"),
}
_LEAST_BUDGET = 4096
MOST_TOLD = 4


def unranked_words(row: Row, info: MetricInfo) -> str:
    """Why a score is no headline, for a place beside others."""
    return "ended early, in the order of the data" if is_first_items_only(row) else missing_words(row, info)


def between_words(row: Row, info: MetricInfo, digits: int = 1) -> str:
    """Say between what a score lies, in a sentence: "between 35.8% and 100.0%"; "" where that is not known."""
    ends = row.get("least"), row.get("most")
    if not all(map(wording.known, ends)):
        return ""
    return "between " + " and ".join(wording.amount(end, info, digits) for end in ends)


def missing_words(row: Row, info: MetricInfo) -> str:
    """The note on a score with more than one missing answer in a hundred; else ""."""
    share, least, most = share_of(row), row.get("least"), row.get("most")
    if share <= SHOW_BOUNDS_ABOVE:
        return ""
    # Scores other than of right and wrong have no bounds.
    has_bounds = wording.known(least) and wording.known(most)
    bounds = f": {wording.interval(least, most, info)}" if has_bounds else ""
    return f"{wording.tidy_share(share)} missing{bounds}"


def undecided_words(row: Mapping[str, object]) -> str:
    """The verdict on a difference that missing answers keep open."""
    return f"not decided: {wording.tidy_share(missing_share(row))} of answers are missing"


def whose_missing(row: Row) -> str:
    """Say of each side of a comparison which share of its answers is missing: "24% of the answers of A"."""
    sides = ((row.get(f"missing_{side}") or 0.0, row[side]) for side in ("a", "b"))
    return " and ".join(f"{wording.tidy_share(share)} of the answers of {name}" for share, name in sides if share)


def first_sentence(view: TaskView, run: int) -> str:
    """Say what is missing and why, and what to do; "" where no culture lacks more than five answers in a hundred."""
    rows = [row for subject in view.subjects if (row := view.estimate(run, subject, view.main_metric)) is not None]
    if not any(share_of(row) > FIRST for row in rows):
        return ""
    label = f"{isolate(view.labels[run])}: " if len(view.runs) > 1 else ""
    words = lost_words(view, run)
    return f"{label}{words}." if words else ""


def unanswered_sentence(view: TaskView, run: int) -> str:
    """Say that no score follows from a run, since nothing of what was asked was answered; "" of any other run."""
    counts = view.runs[run].manifest.get("counts", {})
    if not counts.get("failed") or counts.get("answered"):
        return ""
    return f"{isolate(view.labels[run])} answered nothing, so it has no score: {lost_words(view, run)}."


def first_sentences(views: Sequence[TaskView]) -> list[str]:
    """What is missing in each run of several tasks (:func:`first_sentence`); only the first of very many."""
    sentences = [words for view in views for run in range(len(view.runs)) if (words := first_sentence(view, run))]
    more = len(sentences) - MOST_TOLD
    return (
        sentences
        if more < 2
        else [*sentences[:MOST_TOLD], f"In {more} more runs, more than 5% of the answers are missing, too."]
    )


def lost_words(view: TaskView, run: int) -> str:
    """Count a run's missing answers by what became of them, each with its remedy; "" where none is missing."""
    rows = [row for subject in view.subjects if (row := view.estimate(run, subject, view.main_metric)) is not None]
    manifest = view.runs[run].manifest
    totals = {name: sum(int(row.get(name) or 0) for row in rows) for name in ("asked", *MISSING)}
    clauses = []
    for name in MISSING:
        if totals[name]:
            lead = f"{totals[name]:,} of {wording.count(totals['asked'], 'answer')}"
            words = _WORDS[name][totals[name] > 1].format(limit=_limit_words(manifest))
            clauses.append(f"{lead} {words}: {_remedy(name, manifest)}")
    return "; ".join(clauses)


def thinks(manifest: JsonMapping) -> bool:
    """Whether a run's answers came after thoughts, by what was found of the model, by what was asked, else by them.

    A stray thought of a model that was asked not to think does not make it one that thinks.
    """
    model = manifest.get("model", {})
    if "budget" in model.get("description", {}).get("thinking_found", {}):
        return True
    setting = model.get("fingerprint", {}).get("thinking")
    return THOUGHTS in manifest.get("tables", ()) if setting is None else setting not in ("off", "own:off", "no")


def _limit(manifest: JsonMapping) -> int | None:
    """The most tokens that a thought and its answer may have had; None where nobody but another program knows it."""
    if is_recorded(manifest):
        return None
    options = manifest.get("options", {})
    limits = [options.get("max_new_tokens"), _thinking_budget(manifest)]
    known = [limit for limit in limits if isinstance(limit, int)]
    return sum(known) if known else None


def _thinking_budget(manifest: JsonMapping) -> int | None:
    """The room for a thought beside the answer's: what was found to be sent, or what was asked."""
    model = manifest.get("model", {})
    found_budget = model.get("description", {}).get("thinking_found", {}).get("budget")
    asked = model.get("fingerprint", {}).get("thinking_tokens")
    return next((budget for budget in (found_budget, asked) if isinstance(budget, int)), None)


def again_words(manifest: Mapping[str, object]) -> str:
    """What to do about answers that never came."""
    return "add them to the file of answers" if is_recorded(manifest) else "the same command asks for them again"


def is_recorded(manifest: JsonMapping) -> bool:
    """Whether the answers came from a file, so that this program can ask for no others."""
    return is_recording(manifest.get("model", {}).get("fingerprint", {}))


def _limit_words(manifest: Mapping[str, object]) -> str:
    limit = _limit(manifest)
    return "the limit of tokens" if limit is None else f"the limit of {limit:,} tokens"


def _remedy(name: str, manifest: JsonMapping) -> str:
    """What to do about answers that are missing for this reason."""
    if name == "unfinished":
        if is_recorded(manifest):
            return "let the model write more tokens, and score its answers again"
        budget = max(_LEAST_BUDGET, 2 * (_limit(manifest) or 0))
        return f"run again with --thinking-tokens {budget}"
    if name == "filtered":
        return "ask a provider without that filter, or report what the filter keeps back"
    reasons = manifest.get("failures") or []
    most = f" (most often: {label_text(reasons[0]['reason'])[:160].rstrip('.')})" if reasons else ""
    return f"{again_words(manifest)}{most}"
