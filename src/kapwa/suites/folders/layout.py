"""Which form a folder is of, and which tasks it has data for: by the names of its files and their columns."""

from __future__ import annotations

from pathlib import Path

from kapwa.suites.folders.mapping import find_mapping, read_mapping


def tasks_in(folder: Path, mapping: Path | None = None) -> dict[str, tuple[str, ...]]:
    """Return the tasks that ``folder`` has data for, by form; {} for a folder of no form.

    With a mapping it is what the mapping says. Raises DataError where that cannot be read.
    """
    found = mapping or find_mapping(folder)
    if found is not None:
        form, _, task = read_mapping(found).form.partition("/")
        return {form: (task,) if task else ("mc", "open")}
    from kapwa.suites.blend.data import is_question_data
    from kapwa.suites.blend.mcq_data import is_choice_data
    from kapwa.suites.eecc.data import task_folders
    from kapwa.suites.kalahi.data import is_situation_data

    if not folder.is_dir():
        return {}
    blend = (("saq",) if is_question_data(folder) else ()) + (("mcq",) if is_choice_data(folder) else ())
    every = {
        "kalahi": ("mc", "open") if is_situation_data(folder) else (),
        "blend": blend,
        "eecc": tuple(task.partition("/")[2] for task, _ in task_folders(folder)),
    }
    return {form: tasks for form, tasks in every.items() if tasks}
