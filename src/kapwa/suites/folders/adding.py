"""Start a folder of data from a form, check it as a whole, and give it a name under which its tasks can be run."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kapwa import registry
from kapwa.catalog.entries import Benchmark
from kapwa.catalog.hub import matching
from kapwa.datasets.card import CARD_NAME, Card
from kapwa.datasets.findings import CheckReport, Finding
from kapwa.datasets.packs import SAMPLE, odd_names
from kapwa.datasets.publishable import publishing_findings
from kapwa.datasets.yaml_models import read_model
from kapwa.errors import DataError, UsageError, nearest, raise_first
from kapwa.files import filling
from kapwa.suites.base import Selection, Suite
from kapwa.suites.folders.mapping import read_mapping
from kapwa.suites.folders.named import NamedData, named_data
from kapwa.suites.folders.opening import MAPPING_NAME, find_mapping, tasks_in
from kapwa.suites.folders.reading import layout_problems
from kapwa.tables import TABLE_SUFFIXES, peek_header, read_records
from kapwa.user_suites import Registered, check_name, fitting_name, register, registered, unregister

# Bytes of a benchmark that are read when it was fetched; more would take a minute.
_READ_AS_A_WHOLE = 50_000_000
# Example rows begin their notes with this word, so that a check can say which are still there.
EXAMPLE = "EXAMPLE"


def forms() -> dict[str, Suite]:
    """Return the installed suites of which a folder can be started, by name."""
    suites = {name: registry.load("suites", name) for name in registry.installed("suites")}
    return {name: suite for name, suite in suites.items() if suite.tables}


def _start() -> str:
    return f"Start one with: kapwa suite new {'|'.join(forms())} FOLDER"


def new_suite(form: str, folder: str | Path) -> list[Path]:
    """Write the files of a new folder of ``form`` (one of :func:`forms`) and return them.

    Raises UsageError for an unknown form, and for a folder that holds anything already.
    """
    known = forms()
    if form not in known:
        raise UsageError(f"There is no form {form!r}.", hint=nearest(form, known))
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file.", hint="Name a folder that does not exist yet.")
    if path.is_dir() and any(path.iterdir()):
        raise UsageError(f"{path} is not empty.", hint="Name a folder that is empty or does not exist yet.")
    sources = sorted(known[form].scaffold.iterdir())
    with filling(path) as fresh:
        for source in sources:
            (fresh / source.name).write_bytes(source.read_bytes())
    return [path / source.name for source in sources]


def next_commands(folder: str | Path) -> tuple[str, str]:
    """Return the commands that check and add ``folder``, for a shell; its name is given where the folder's cannot be.

    A suite is called after its folder unless ``--name`` says otherwise; see :func:`kapwa.user_suites.check_name`.
    """
    folder_name = Path(folder).resolve().name.lower()
    name = fitting_name(folder_name)
    if name in registry.installed("suites"):
        name = f"my-{name}"
    quoted = shlex.quote(str(folder))
    return f"kapwa data check {quoted}", f"kapwa suite add {quoted}" + (
        "" if name == folder_name else f" --name {name}"
    )


class Checked(NamedTuple):
    """What a folder is: its form, the tasks it has data of, and everything odd about it."""

    form: str
    tasks: tuple[str, ...]
    report: CheckReport

    @property
    def errors(self) -> list[Finding]:
        """What would stop a run."""
        return [finding for finding in self.report.findings if finding.severity == "error"]


def check_folder(folder: str | Path, mapping: str | Path | None = None) -> Checked:
    """Say which form a folder is of and list every oddity, with file, row and column.

    ``mapping``: a mapping file; None takes the folder's own ``mapping.yaml``, if it has one. Raises DataError for a
    folder that is not there or of no form, or a mapping that is none; UsageError for a folder of two forms.
    """
    path = Path(folder)
    if not path.is_dir():
        message = "is a file, but a folder is needed." if path.exists() else "no such folder."
        raise DataError(message, path=path, hint=_start())
    mapping_path = Path(mapping) if mapping is not None else find_mapping(path)
    tasks = tasks_in(path, mapping_path)
    if not tasks:
        raise no_form(path)
    if len(tasks) > 1:
        hint = "Give each form a folder of its own."
        raise UsageError(f"{path} holds data of several forms: {', '.join(tasks)}.", hint=hint)
    form, of_form = next(iter(tasks.items()))
    report = _mapped_report(form, path, mapping_path) if mapping_path else _report(form, path)
    return Checked(form, of_form, report if mapping_path else _with_examples(report, path))


def no_form(path: Path) -> DataError:
    """Return the error for data of no form; where a file's name or kind is the reason, it says so."""
    tables = {name: suite.tables for name, suite in forms().items()}
    stems = re.findall(r"(\w+)\.csv", " ".join(tables.values()))
    odd = odd_names(path, stems, TABLE_SUFFIXES) if path.is_dir() else None
    see = "See docs/reference/forms.md."
    *others, last = [f"{files} ({name})" for name, files in tables.items()]
    draft = f"tables with other columns need a {MAPPING_NAME}, which 'kapwa suite guess TABLE -o FILE' drafts"
    holds = f"A folder holds {', '.join(others)} or {last}; {draft}."
    return DataError(
        "is not data of a known form.", path=path, hint=f"{odd} {see}" if odd else f"{holds} {see} {_start()}"
    )


def _report(form: str, data: Path) -> CheckReport:
    suite: Suite = registry.load("suites", form)
    return suite.check(data) or CheckReport(form, str(data), {}, [])


def _mapped_report(form: str, folder: Path, mapping: Path) -> CheckReport:
    from kapwa.suites.folders.layout import laid_out

    with laid_out(folder, mapping) as laid_out_folder:
        converted = laid_out_folder.converted
        report = CheckReport(form, str(folder), {}, [])
        if converted.tables:
            report = laid_out_folder.translated_report(_report(form, laid_out_folder.data))
    findings = [Finding.of(problem, folder) for problem in converted.problems]
    findings += [_left_out(problem, folder) for problem in converted.left_out]
    findings += [*converted.oddities, *report.findings]
    counts: dict[str, int | float | str] = {"rows": converted.rows}
    if converted.left_out:
        counts["rows left out"] = converted.rows_left_out
    # A row of one table may be several of the form, with one and the same fault.
    return CheckReport(form, str(folder), {**counts, **report.counts}, list(dict.fromkeys(findings)))


def _left_out(problem: DataError, folder: Path) -> Finding:
    finding = Finding.of(problem, folder)
    return dataclasses.replace(finding, severity="warning", message=f"the row is left out: {finding.message}")


def _with_examples(report: CheckReport, path: Path) -> CheckReport:
    """Return the report with the rows of the folder, or file, that still are those a new folder began with."""
    return _with(report, _examples(path))


def _with(report: CheckReport, findings: Iterable[Finding]) -> CheckReport:
    return dataclasses.replace(report, findings=[*report.findings, *findings])


def _examples(path: Path) -> Iterator[Finding]:
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    for file in (file for file in files if file.suffix.lower() in TABLE_SUFFIXES):
        with suppress(DataError):  # of a file that cannot be read, the report of its form tells why
            yield from _example_rows(file)


def _example_rows(file: Path) -> Iterator[Finding]:
    if "notes" not in peek_header(file):
        return
    for record in read_records(file).records:
        if str(record.cells.get("notes", "")).startswith(EXAMPLE):
            message = "is an example row: replace it with your own, or delete it"
            yield Finding("warning", str(file), message, record.row, "notes")


def check_benchmark(entry: Benchmark, folder: Path) -> None:
    """Raise DataError where data in ``folder`` are laid out otherwise than the catalog says of a benchmark.

    Of mapped tables files and columns are looked at. Data in a form's own layout are read as that form reads them; of
    large ones it is only looked whether the form has them.
    """
    if entry.holds == "answers":
        return
    if entry.mapping is not None:
        raise_first(layout_problems(read_mapping(entry.path), folder))
        return
    if entry.task.partition("/")[2] not in tasks_in(folder).get(entry.form, ()):
        message = f"is not laid out as data of {entry.task} are."
        raise DataError(message, path=folder, hint=f"Looked for: {', '.join(entry.source.files)}.")
    files = matching((path.relative_to(folder).as_posix() for path in folder.rglob("*")), entry.source.files)
    if sum((folder / name).stat().st_size for name in files) <= _READ_AS_A_WHOLE:
        suite: Suite = registry.load("suites", entry.form)
        suite.open_task(entry.task, folder, Selection(limit=1), {})


def check_named(data: str | Path) -> CheckReport:
    """Check whatever ``--data`` may name (:func:`kapwa.suites.folders.named.named_data`), by the form that it has.

    Notes say what publishing the data would still need. Raises what that does, and DataError for data of no form.
    """
    named = named_data(data)
    report = _named_report(data, named)
    if str(data).partition(":")[0] == SAMPLE:
        report = dataclasses.replace(report, path=str(data))
    return _with(report, publishing_findings(named.path, report.findings))


def _named_report(data: str | Path, named: NamedData) -> CheckReport:
    place = named.path if named.path.is_dir() else named.path.parent
    if named.mapping is not None or str(data) in registered():
        return check_folder(place, named.mapping).report
    if named.form:
        return _with_examples(_report(named.form, named.path), named.path)
    for name in sorted(registry.installed("suites")):
        suite: Suite = registry.load("suites", name)
        report = suite.check(named.path)
        if report is not None:
            return _with_examples(report, named.path)
    raise no_form(named.path)


def add_suite(
    folder: str | Path,
    name: str | None = None,
    *,
    mapping: str | Path | None = None,
    replace: bool = False,
    checked: Checked | None = None,
) -> Registered:
    """Check a folder and give it a name, so that ``NAME/TASK`` is a task wherever tasks are named.

    ``name``: None takes the folder's. ``replace``: the name may belong to another folder. ``checked``: what
    :func:`check_folder` said of it, where it was asked. The user's list of names is ``suites.json`` in
    :func:`kapwa.user_suites.config_folder`. Raises what :func:`check_folder` does, the first error of the data with how
    many more there are, and UsageError for a name that cannot be or is taken.
    """
    checked = checked or check_folder(folder, mapping)
    if checked.errors:
        first, others = checked.errors[0], len(checked.errors) - 1
        more = f" ({others} more: 'kapwa data check' lists them all.)" if others else ""
        raise DataError(f"{first.message}{more}", path=first.path, row=first.row, column=first.column)
    from kapwa.suites.folders.layout import file_of

    resolved = Path(folder).resolve()
    chosen = name if name is not None else resolved.name.lower()
    check_name(chosen)
    if chosen in registry.installed("suites"):
        value = registry.installed("suites")[chosen].value
        raise UsageError(f"{chosen!r} is the name of an installed suite ({value}).", hint="Choose another with --name.")
    mapping_path = Path(mapping).resolve() if mapping is not None else None
    path = file_of(mapping_path or resolved / MAPPING_NAME, resolved, CARD_NAME)
    card = read_model(path, Card)[0] if path else None
    entry = Registered(chosen, checked.form, resolved, checked.tasks, card.title if card else "", mapping_path)
    register(entry, replace=replace)
    return entry


def remove_suite(name: str) -> Registered:
    """Forget a suite's name; its folder and its runs stay. Raises UsageError where no such name was added."""
    if name in registry.installed("suites") and name not in registered():
        raise UsageError(f"{name!r} comes with Kapwa and cannot be removed.")
    return unregister(name)
