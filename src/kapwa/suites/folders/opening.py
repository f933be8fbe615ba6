"""Make a suite of a folder of data: the tasks of a form, over these data, under a name of their own."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kapwa import registry
from kapwa.catalog import entries
from kapwa.catalog.entries import Benchmark
from kapwa.catalog.fetching import known_to_work
from kapwa.catalog.lookup import Fetched, fetched_benchmark
from kapwa.errors import DataError, UsageError, raise_first
from kapwa.suites.base import OpenTask, Selection, Suite, Task
from kapwa.user_suites import FILE_NAME, Registered, config_folder

if TYPE_CHECKING:
    from kapwa.suites.folders.convert import Converted

log = logging.getLogger(__name__)
MAPPING_NAME = "mapping.yaml"


def folder_suite(
    name: str,
    form: str,
    folder: str | Path,
    *,
    tasks: Sequence[str] | None = None,
    mapping: str | Path | None = None,
    title: str = "",
) -> Suite:
    """Return a suite whose data are in ``folder``; nothing of it is read before a task is opened.

    ``form``: an installed suite, such as "kalahi". ``tasks``: those it has data of, such as ("saq",); None looks which
    there are. ``mapping``: a mapping that does not lie in the folder. Raises UsageError for an unknown form.
    """
    base: Suite = registry.load("suites", form)
    path, own_mapping = Path(folder), None if mapping is None else Path(mapping)
    chosen = tuple(tasks) if tasks is not None else tasks_in(path, own_mapping).get(form, ())
    return dataclasses.replace(
        base,
        name=name,
        title=title or name,
        tasks={f"{name}/{task}": base.tasks[f"{form}/{task}"] for task in chosen if f"{form}/{task}" in base.tasks},
        packs=path,
        open_task=_Opener(base, name, path, own_mapping),
        check=lambda _path: None,  # the suite whose form it has checks it, and says what its folders hold
        tasks_of=lambda _folder: (),
        tables="",
        mapped={},
        folder=path,
        form=form,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Opener:
    """Opens the form's tasks over one folder, under the suite's own name."""

    base: Suite
    suite: str
    folder: Path
    mapping: Path | None

    def __call__(self, name: str, data: str | Path | None, selection: Selection, options: Mapping[str, object]) -> Task:
        of_form = f"{self.base.name}/{name.partition('/')[2]}"
        if data is not None:
            hint = f"For other data of this form: {of_form} --data …"
            raise UsageError(f"The suite {self.suite} brings its own data.", hint=hint)
        if not self.folder.is_dir():
            hint = f"Put it back, add it again from where it is now, or: kapwa suite remove {self.suite}"
            message = f"the folder of the suite {self.suite} no longer exists."
            raise DataError(message, path=self.folder, hint=hint)
        opened = open_with_mapping(self.base, of_form, self.folder, selection, options, mapping=self.mapping)
        return _with_source(opened, name=self.suite)


def registered_suite(entry: Registered) -> Suite:
    """Return the suite that the user gave a name to."""
    try:
        return folder_suite(
            entry.name, entry.form, entry.folder, tasks=entry.tasks, mapping=entry.mapping, title=entry.title
        )
    except UsageError as error:
        message = f"says that the suite {entry.name} has the form {entry.form!r}, but there is no form of that name."
        raise DataError(message, path=config_folder() / FILE_NAME, hint=error.hint) from None


def benchmark_suite(name: str) -> Suite:
    """Return a benchmark of the catalog that was fetched as a suite of its name; its mapping is the catalog's.

    Raises UsageError with the command that fetches it where its data are not here.
    """
    entry, fetched = entries.entry(name), fetched_benchmark(name)
    mapping = entry.path
    tasks = tasks_in(fetched.folder, mapping).get(entry.form, ())
    suite = folder_suite(name, entry.form, fetched.folder, tasks=tasks, mapping=mapping, title=entry.title)
    return dataclasses.replace(suite, open_task=_BenchmarkOpener(suite.open_task, entry, fetched))


@contextmanager
def _naming_what_works(entry: Benchmark, fetched: Fetched) -> Iterator[None]:
    """Say what of a benchmark was not checked, and with an error of its data which revision of them works."""
    if entry.unverified:
        log.warning("%s: not checked with its owners: %s", entry.name, entry.unverified)
    try:
        yield
    except DataError as error:
        hint = f"{error.hint or ''} {known_to_work(entry, fetched.revision, fetched)}".strip()
        raise DataError(error.message, path=error.path, row=error.row, column=error.column, hint=hint) from None


@dataclasses.dataclass(frozen=True, slots=True)
class _BenchmarkOpener:
    """Opens a benchmark's tasks, with its options and its origin; says which revision works where this one does not."""

    opener: OpenTask
    entry: Benchmark
    fetched: Fetched

    def __call__(self, name: str, data: str | Path | None, selection: Selection, options: Mapping[str, object]) -> Task:
        with _naming_what_works(self.entry, self.fetched):
            task = self.opener(name, data, selection, {**self.entry.options, **options})
        limits = [*self.entry.card["limits"], *task.data.card.get("limits", ())]
        card = {**self.entry.card, "licence": self.fetched.licence or self.entry.licence, "limits": limits}
        return _with_source(task, name=f"{self.entry.name}@{self.fetched.revision[:12]}", card=card)


def open_with_mapping(
    suite: Suite,
    task: str,
    data: str | Path | None,
    selection: Selection,
    options: Mapping[str, object],
    *,
    mapping: Path | None = None,
) -> Task:
    """Open ``task`` of ``suite`` over ``data``, reading somebody else's table through a mapping where there is one.

    The mapping is ``mapping``, else the ``mapping.yaml`` of the folder ``data``; ``data`` may also be a benchmark of
    the catalog, which brings its own. Raises what the suite raises; errors about mapped data name the file, row and
    column that they came from.
    """
    name = str(data)
    if mapping is None and name in entries.names() and not Path(name).exists():
        if entries.entry(name).mapping is not None:
            return benchmark_suite(name).open_task(f"{name}/{task.partition('/')[2]}", None, selection, options)
        with _naming_what_works(entries.entry(name), fetched_benchmark(name)):
            return suite.open_task(task, data, selection, options)
    mapping_path = mapping or find_mapping(data)
    if mapping_path is None or data is None:
        return suite.open_task(task, data, selection, options)
    from kapwa.suites.folders.layout import uncollected

    with uncollected():
        return _open_mapped(suite, task, Path(data), mapping_path, selection, options)


def _open_mapped(
    suite: Suite, task: str, path: Path, mapping_path: Path, selection: Selection, options: Mapping[str, object]
) -> Task:
    """Open a task over mapped tables; errors about them name the places that the user knows."""
    from kapwa.suites.folders.layout import laid_out

    folder = path if path.is_dir() else path.parent
    with laid_out(folder, mapping_path) as laid_out_folder:
        raise_first(laid_out_folder.converted.problems)
        try:
            opened = suite.open_task(task, laid_out_folder.data, selection, options)
        except DataError as error:
            raise laid_out_folder.translated(error) from None
        remark = _left_out(laid_out_folder.converted)
    return _with_source(opened, remark, name=path.resolve().name, path=path)


def _left_out(converted: Converted) -> str:
    """Return how many rows were left out and why the first was, as the card's limits say it; "" where none was."""
    if not converted.left_out:
        return ""
    first = converted.left_out[0]
    row_name = f"row {first.row} of {Path(first.path or '').name}"
    column = f", column {first.column!r}" if first.column else ""
    return (
        f"Rows left out because something is wrong with them: {converted.rows_left_out} (the first is {row_name}"
        f"{column}: {first.message.rstrip('.')}). 'kapwa data check' lists them all."
    )


def _with_source(task: Task, limit: str = "", **changes: Any) -> Task:
    """The same task whose source has another name or path; ``limit`` is one more of those that its card says."""
    if limit:
        changes["card"] = {**task.data.card, "limits": [*task.data.card.get("limits", ()), limit]}
    return dataclasses.replace(task, data=dataclasses.replace(task.data, **changes))


def tasks_in(folder: Path, mapping: Path | None = None) -> dict[str, tuple[str, ...]]:
    """Return the tasks that ``folder`` has data for, by form; {} for a folder of no form.

    With a mapping it is what the mapping says. Raises DataError where that cannot be read.
    """
    mapping_path = mapping or find_mapping(folder)
    if mapping_path is not None:
        from kapwa.suites.folders.forms import tasks_of_form
        from kapwa.suites.folders.mapping import read_mapping

        form = read_mapping(mapping_path).form
        return {form.partition("/")[0]: tasks_of_form(form)}
    if not folder.is_dir():
        return {}
    every: dict[str, tuple[str, ...]] = {
        form: registry.load("suites", form).tasks_of(folder) for form in registry.installed("suites")
    }
    return {form: tasks for form, tasks in every.items() if tasks}


def find_mapping(data: str | Path | None) -> Path | None:
    """Return the mapping in the folder ``data``, or ``data`` itself where it is one; else None."""
    if data is None:
        return None
    try:
        path = Path(data)
        file = path if path.name == MAPPING_NAME else path / MAPPING_NAME
        return file if file.is_file() else None
    except (OSError, ValueError):  # no path at all: a name too long, or with a NUL
        return None
