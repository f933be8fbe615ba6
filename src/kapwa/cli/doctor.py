"""``kapwa doctor``: what is installed; whether a run's answers are whole; what logs and labels allow."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import typer

from kapwa.cli.output import show_json, show_table, tell

_PLACE, _WIDTHS = ("Culture, language, variant",), ("± 10", "± 5")


def doctor(path: Path | None = None, salvage: bool = False, json: bool = False) -> None:
    """Check this installation, the answers of a run, or what a log or labels allow and how many labels are missing.

    Every answer of a run is compared with its checksum; exit code 1 when the journal is damaged. With --salvage, a
    damaged journal is kept under another name, and the command that made the run asks for what was lost.
    """
    from kapwa.datasets.sheets import DRAW
    from kapwa.errors import UsageError

    is_run = path is not None and path.is_dir() and not (path / DRAW).is_file() and _log_form(path) is None
    if salvage and not is_run:
        what = "" if path is None else f"{path} has no journal: "
        raise UsageError(f"{what}--salvage needs a run's folder.", hint="kapwa doctor RUN --salvage")
    if path is None:
        _installation(json)
    elif is_run:
        _journal(path, salvage, json)
    elif (path / DRAW).is_file():
        _draw(path, json)
    elif form := _log_form(path):
        _log(path, form, json)
    else:
        _labels(path, json)


def _log_form(path: Path) -> str | None:
    """Which tool's log a file is, or a folder holds; None: none that is known."""
    if (path / "run.json").is_file():
        return None
    if path.is_dir():
        holds = {"lm-eval": "results_*.json", "inspect": "*.eval"}
        return next((form for form, pattern in holds.items() if next(path.rglob(pattern), None)), None)
    if path.suffix == ".eval":
        return "inspect"
    if path.name.startswith(("results_", "samples_")) and path.suffix in (".json", ".jsonl"):
        return "lm-eval"
    if path.suffix == ".json" and path.is_file():
        with path.open("rb") as file:
            begins = file.read(4096).lstrip()
        return "inspect" if begins.startswith(b"{") and b'"eval"' in begins else None
    return None


def _log(path: Path, form: str, json: bool) -> None:
    """Say what the runs that can be made of a log allow, and how many labels correct their scores."""
    from tempfile import TemporaryDirectory

    from kapwa.audits import audits_possible
    from kapwa.judging.draws import STRATUM
    from kapwa.judging.plan import LABELS_FOR

    if path.name.startswith("samples_"):  # lm-eval's results beside them say what they are
        path = path.with_name(f"results_{path.stem.rpartition('_')[2]}.json")
    with TemporaryDirectory() as folder:
        facts = audits_possible(path, form, Path(folder))
    if json:
        show_json(facts)
        return
    for run in facts:
        tell(f"{run['task']}, {run['model']}: {run['items']:,} items; metrics: {', '.join(run['metrics'])}.")
        if run["why_not"]:
            tell(f"Its scores cannot be corrected by labels: {run['why_not']}")
            continue
        if run["unknown"]:
            options = " and ".join(f"--{name} or --{name}-from" for name in run["unknown"])
            tell(f"The log does not tell the {' and '.join(run['unknown'])} of its items: import it with {options}.")
        rows = []
        for place in run["strata"]:
            needed = ["too few" if place[name] is None else f"{place[name]:,}" for name in LABELS_FOR]
            rows.append((" / ".join(place[name] for name in STRATUM), f"{place['questions']:,}", *needed))
        show_table((*_PLACE, "Questions", *(f"Labels for {width}" for width in _WIDTHS)), rows)
        tell(f"So many labels if people and {run['audited']} judge 85 % alike.")
    tell(f"Next: kapwa import {shlex.quote(str(path))} --format {form}")


def _labels(path: Path, json: bool) -> None:
    """Say what a file of labels holds, and how far it goes by itself."""
    from kapwa.exchange.labels import labels_summary
    from kapwa.judging.plan import MISSING
    from kapwa.report.wording import count

    facts = labels_summary(path)
    if json:
        show_json({"path": str(path), **facts})
        return
    tell(f"{path} holds {facts['form']}: {count(facts['labels'], 'label')} of {count(facts['labelled'], 'answer')}.")
    tell(f"By: {', '.join(facts['raters']) or 'nobody yet'}; “cannot assess”: {facts['cannot_assess']:,}.")
    if facts["half_width"] is not None:
        tell(f"If all are of one culture, they tell people's share there to ± {100 * facts['half_width']:.1f} points.")
    missing = [f"{facts[name]:,} for {width}" for name, width in zip(MISSING, _WIDTHS, strict=True)]
    tell(f"Missing labels, of each culture: {', '.join(missing)}, if people alone are asked; a scorer may save some.")
    draws = ", ".join(facts["draws"]) or "no draw is named in it"
    tell(f"They correct scores together with the folder of their draw ({draws}):")
    tell(f"kapwa audit apply RUN... --labels DRAW --labels {shlex.quote(str(path))}")


def _installation(json: bool) -> None:
    from kapwa.inventory import checks

    results = list(checks())
    if json:
        show_json([check._asdict() for check in results])
        return
    rows = []
    for check in results:
        remedy = f"\n{check.remedy}" if check.remedy and check.status != "ok" else ""
        rows.append((check.status, check.name, check.detail + remedy))
    show_table(("", "", ""), rows)


def _draw(folder: Path, json: bool) -> None:
    """Say of each culture of a draw how many labels are missing, and what those that are there allow."""
    from kapwa.exchange.labels import label_counts
    from kapwa.judging.draws import STRATUM
    from kapwa.judging.plan import MISSING

    counts = label_counts(folder)
    if json:
        show_json(counts.to_dicts())
        return
    rows = []
    for row in counts.iter_rows(named=True):
        surely = "–" if row["half_width"] is None else f"± {100 * row['half_width']:.1f}"
        left = row["questions"] - row["labelled"]
        more = ["too few" if row[name] > left else f"{row[name]:,}" for name in MISSING]
        allows = _allowed(row["questions"], row["labelled"], row["missing"])
        where = " / ".join(row[name] for name in STRATUM)
        rows.append((where, f"{row['labelled']} of {row['drawn']}", surely, *more, allows))
    missing = (f"For {width}" for width in _WIDTHS)
    show_table((*_PLACE, "Labelled", "Points", *missing, "What this allows"), rows)
    tell("Points: so surely do the labels alone tell people's share (95 %).")
    tell("For ± 10, ± 5: how many more it takes; a scorer may save some of them.")


def _allowed(questions: int, labelled: int, missing: int) -> str:
    """What labels of so many of a culture's questions allow, and how many of those drawn or not yet drawn lack."""
    from kapwa.stats.corrected import FEW_LABELS

    lacking = FEW_LABELS - labelled
    if lacking <= 0:
        return "a corrected score"
    if questions < FEW_LABELS:
        return f"people's share alone: a corrected score takes {FEW_LABELS} questions, more than the {questions} asked"
    larger = "" if lacking <= missing else ", from a larger draw (kapwa audit sample --n)"
    return f"people's share alone; a corrected score takes {lacking} more{larger}"


def _journal(run: Path, save: bool, json: bool) -> None:
    from kapwa.runs.doctor import examine, salvage

    examined = examine(run)
    facts: dict[str, Any] = examined._asdict()
    text = f"{run}: {examined.answers:,} answers and {examined.errors:,} errors, all as they were written."
    if save and examined.damage is not None:
        saved = salvage(run)
        facts = {**saved._asdict(), "kept": str(saved.kept)}
        text = f"{run}: {saved.answers:,} answers and {saved.errors:,} errors saved.\n"
        text += f"The damaged journal is now {saved.kept}. Run again with the same command to ask for what is missing."
    elif save:
        facts = {"answers": examined.answers, "errors": examined.errors, "kept": None}
        text += " There is nothing to save: the journal stays as it is."
    elif examined.damage is not None:
        again = f"kapwa doctor {shlex.quote(str(run))} --salvage"
        text = f"{examined.damage}\nSave every answer that can be read with: {again}"
    if json:
        show_json({"run": str(run), **facts})
    else:
        tell(text)
    if examined.damage is not None and not save:
        raise typer.Exit(1)
