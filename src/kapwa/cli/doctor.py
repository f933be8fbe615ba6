"""``kapwa doctor``: what is installed; whether a run's answers are intact; what logs and labels allow."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from kapwa.cli import shared_options as opt
from kapwa.cli.output import show_json, show_table, show_text
from kapwa.value_types import JsonObject

_STRATUM = "Culture, language, variant"
_WIDTHS = ("± 10", "± 5")


def doctor(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RUN|FILE|FOLDER]",
            help="A run folder, whose journal is checked; an audit's sample; an Inspect or lm-eval log; or a file "
            "of labels.",
        ),
    ] = None,
    salvage: Annotated[
        bool, typer.Option("--salvage", help="Replace RUN's damaged journal by a new one with every readable answer.")
    ] = False,
    json: opt.Json = False,
) -> None:
    """Check this installation, a run's answers, or an imported log or label file.

    For a run, every answer is compared with its checksum; the exit code is 1 if the journal is damaged. With --salvage,
    the damaged journal is kept under another name, and the command that made the run then asks again for what was lost.
    For a log or labels: what they allow, and how many labels are missing.
    """
    from kapwa.datasets.sheets import DRAW
    from kapwa.errors import UsageError

    is_run = path is not None and path.is_dir() and not (path / DRAW).is_file() and _log_form(path) is None
    if salvage and not is_run:
        what = "" if path is None else f"{path} has no journal: "
        raise UsageError(f"{what}--salvage needs a run folder.", hint="Use: kapwa doctor RUN --salvage")
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
    """Return which tool wrote the log that a file is, or a folder contains; None for no known tool."""
    if (path / "run.json").is_file():
        return None
    if path.is_dir():
        patterns = {"lm-eval": "results_*.json", "inspect": "*.eval"}
        return next((form for form, pattern in patterns.items() if next(path.rglob(pattern), None)), None)
    if path.suffix == ".eval":
        return "inspect"
    if path.name.startswith(("results_", "samples_")) and path.suffix in (".json", ".jsonl"):
        return "lm-eval"
    if path.suffix == ".json" and path.is_file():
        with path.open("rb") as file:
            start = file.read(4096).lstrip()
        return "inspect" if start.startswith(b"{") and b'"eval"' in start else None
    return None


def _log(path: Path, form: str, json: bool) -> None:
    """Show what the runs in a log allow, and how many labels would correct their scores."""
    from tempfile import TemporaryDirectory

    from kapwa.exchange.labels import audits_possible
    from kapwa.labels.audits.draws import STRATUM
    from kapwa.labels.audits.planning import LABELS_FOR

    if path.name.startswith("samples_"):  # lm-eval's results file describes them
        path = path.with_name(f"results_{path.stem.rpartition('_')[2]}.json")
    with TemporaryDirectory() as folder:
        facts = audits_possible(path, form, Path(folder))
    if json:
        show_json(facts)
        return
    for run in facts:
        show_text(f"{run['task']}, {run['model']}: {run['items']:,} items; metrics: {', '.join(run['metrics'])}.")
        if run["why_not"]:
            show_text(f"Labels cannot correct its scores: {run['why_not']}")
            continue
        if run["unknown"]:
            options = " and ".join(f"--{name} or --{name}-from" for name in run["unknown"])
            show_text(
                f"The log does not state the {' and '.join(run['unknown'])} of its items: import it with {options}."
            )
        rows = []
        for stratum in run["strata"]:
            needed = ["too few" if stratum[name] is None else f"{stratum[name]:,}" for name in LABELS_FOR]
            rows.append((" / ".join(stratum[name] for name in STRATUM), f"{stratum['questions']:,}", *needed))
        show_table((_STRATUM, "Questions", *(f"Labels for {width}" for width in _WIDTHS)), rows)
        show_text(f"Labels needed if people and {run['audited']} agree on 85 % of answers.")
    show_text(f"Next: kapwa import {shlex.quote(str(path))} --format {form}")


def _labels(path: Path, json: bool) -> None:
    """Show what a label file contains, and what it allows by itself."""
    from kapwa.labels.audits.audit import labels_summary
    from kapwa.labels.audits.planning import MISSING
    from kapwa.report.wording import count

    facts = labels_summary(path)
    if json:
        show_json({"path": str(path), **facts})
        return
    show_text(
        f"{path} contains {facts['form']}: {count(facts['labels'], 'label')} of {count(facts['labelled'], 'answer')}."
    )
    show_text(f"Raters: {', '.join(facts['raters']) or 'none yet'}; “cannot assess”: {facts['cannot_assess']:,}.")
    if facts["half_width"] is not None:
        show_text(
            f"If all are of one culture, people's share there is known to ± {100 * facts['half_width']:.1f} points."
        )
    missing = [f"{facts[name]:,} for {width}" for name, width in zip(MISSING, _WIDTHS, strict=True)]
    show_text(f"Labels missing per culture: {', '.join(missing)}, without a scorer; a scorer may reduce the number.")
    draws = ", ".join(facts["draws"]) or "not named in the file"
    show_text(f"To correct scores, use them with the folder of their sample ({draws}):")
    show_text(f"kapwa label apply RUN... --labels SAMPLE --labels {shlex.quote(str(path))}")


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
    """Show for each culture of a sample how many labels are missing, and what the present ones allow."""
    from kapwa.labels.audits.audit import label_counts
    from kapwa.labels.audits.draws import STRATUM
    from kapwa.labels.audits.planning import MISSING

    counts = label_counts(folder)
    if json:
        show_json(counts.to_dicts())
        return
    rows = []
    for row in counts.iter_rows(named=True):
        half_width = "–" if row["half_width"] is None else f"± {100 * row['half_width']:.1f}"
        left = row["questions"] - row["labelled"]
        more = ["too few" if row[name] > left else f"{row[name]:,}" for name in MISSING]
        allows = _allowed(row["questions"], row["labelled"], row["missing"])
        where = " / ".join(row[name] for name in STRATUM)
        rows.append((where, f"{row['labelled']} of {row['drawn']}", half_width, *more, allows))
    missing = (f"For {width}" for width in _WIDTHS)
    show_table((_STRATUM, "Labelled", "Points", *missing, "Allows"), rows)
    show_text("Points: half-width of the 95 % interval of people's share, from the labels alone.")
    show_text("For ± 10, ± 5: labels still missing; a scorer may reduce the number.")


def _allowed(questions: int, labelled: int, missing: int) -> str:
    """Return what labels of ``labelled`` questions of a culture allow, and how many more a corrected score needs."""
    from kapwa.stats.corrected import FEW_LABELS

    lacking = FEW_LABELS - labelled
    if lacking <= 0:
        return "a corrected score"
    if questions < FEW_LABELS:
        return f"people's share only: a corrected score needs {FEW_LABELS} questions, but only {questions} were asked"
    larger = "" if lacking <= missing else ", from a larger sample (kapwa label sample --n)"
    return f"people's share only; a corrected score needs {lacking} more{larger}"


def _journal(run: Path, save: bool, json: bool) -> None:
    from kapwa.runs.doctor import examine, salvage

    examined = examine(run)
    facts: JsonObject = examined._asdict()
    text = f"{run}: {examined.answers:,} answers and {examined.errors:,} errors, all intact."
    if save and examined.damage is not None:
        saved = salvage(run)
        facts = {**saved._asdict(), "kept": str(saved.kept)}
        text = f"{run}: {saved.answers:,} answers and {saved.errors:,} errors recovered.\n"
        text += f"The damaged journal is now {saved.kept}. Run the same command again to ask for what is missing."
    elif save:
        facts = {"answers": examined.answers, "errors": examined.errors, "kept": None}
        text += " There is nothing to recover; the journal was not changed."
    elif examined.damage is not None:
        again = f"kapwa doctor {shlex.quote(str(run))} --salvage"
        text = f"{examined.damage}\nRecover every readable answer with: {again}"
    if json:
        show_json({"run": str(run), **facts})
    else:
        show_text(text)
    if examined.damage is not None and not save:
        raise typer.Exit(1)
