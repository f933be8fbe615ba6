"""The texts of a Kapwa run: from its journal, concept by concept. Needs neither the model nor the data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kapwa.analysis.corpus.rows import Asked, ConceptKey, CorpusName, Found
from kapwa.errors import RunError, UsageError
from kapwa.records import Item
from kapwa.runs.answers import RunAnswers, read_answers
from kapwa.runs.directory import Run
from kapwa.runs.manifest import NAME
from kapwa.runs.runner import JOURNAL
from kapwa.suites.base import DataSource, Selection

if TYPE_CHECKING:
    from kapwa.suites.eecc.task import EeccTask

SUITE = "eecc"
_KEY_BYTES = 16


def is_run(path: Path) -> bool:
    """Whether a folder is a run's, finished or not."""
    return path.is_dir() and ((path / NAME).is_file() or (path / JOURNAL).is_file())


def holds_texts(path: Path) -> bool:
    """Whether a run's folder may hold texts to compare: all but those that say they are of another suite."""
    try:
        manifest = json.loads((path / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return True  # what is wrong with it is said when it is opened
    return not isinstance(manifest, dict) or manifest.get("suite", SUITE) == SUITE


class RunTexts:
    """The answers of one run of the suite ``eecc``.

    Kept of it: 16 bytes for each request. Raises RunError for an unfinished or damaged run, UsageError for a run of
    another suite.
    """

    def __init__(self, path: Path, asked: Asked) -> None:
        self.path = path
        self._asked, self._run = asked, Run(path)
        self._keys = bytearray()
        if self._run.manifest["suite"] != SUITE:
            task = self._run.manifest["task"]
            raise UsageError(
                f"{path} is a run of {task}: it has no texts of one concept for several identities.",
                hint="Name runs of eecc/qa or eecc/stories.",
            )

    def answers(self) -> Iterator[Found]:
        """Yield every answer, numbered from 1 in the order asked."""
        task = eecc_task_of(self._run)
        items = {(item.id, item.variant): item for item in task.selected}
        names = {item.id: (ConceptKey(item.category, item.topic), item.culture) for item in task.selected}
        for place, (request, response) in enumerate(RunAnswers(self._run, task)):
            self._keys += bytes.fromhex(request.key)
            item = items[request.item_id, request.variant]
            key, identity = names[item.id]
            name = self._name(task, item)
            yield Found(name, key, identity, request.sample, response.text, place, place + 1)

    def _name(self, task: EeccTask, item: Item) -> CorpusName:
        return CorpusName(
            task=task.name,
            model=self._asked.label or str(self._run.manifest["model"]["id"]),
            temperature=task.settings.temperature,
            run=self.path.name,
            variant=item.variant,
            language=item.language,
            attribute=task.attribute,
        )

    def texts(self, places: Sequence[int], samples: Sequence[int]) -> list[str]:  # noqa: ARG002 - a place is a sample
        """Read the answers from the journal."""
        keys = [self._keys[place * _KEY_BYTES : (place + 1) * _KEY_BYTES].hex() for place in places]
        found = read_answers(self.path / JOURNAL, keys)
        if any(response.text is None for response in found):
            raise RunError(f"{self.path} changed while it was read.", hint="Let the run end, then begin anew.")
        return [response.text or "" for response in found]


def eecc_task_of(run: Run) -> EeccTask:
    """Return the task of ``run`` as its manifest and its table of items tell: it asks the same requests again."""
    from kapwa.suites.eecc.options import EeccOptions
    from kapwa.suites.eecc.task import EeccTask

    manifest = run.manifest
    options = manifest["options"]
    counted = ("concepts", "identities")  # counts in a manifest, names in the options
    settings = EeccOptions(**{n: options[n] for n in EeccOptions.names() if n in options and n not in counted})
    named = ("culture", "language", "category", "topic", "variant", "cluster")
    items = tuple(
        Item(id=row["item_id"], suite="eecc", fields={"prompt": row["prompt"]}, **{name: row[name] for name in named})
        for row in run.items.iter_rows(named=True)
    )
    return EeccTask(
        name=manifest["task"],
        data=DataSource(manifest["data"]["name"], None, manifest["data"]["digest"]),
        selection=Selection(),
        selected=items,
        settings=settings,
        attribute=options["attribute"],
    )
