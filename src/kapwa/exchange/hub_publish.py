"""Put a data set, or the numbers of runs, on the Hugging Face Hub: first a plan of the files, then the upload.

A data set is a folder with a card, such as a release of the studio. For runs, only numbers are published, not the texts
of items and answers, which belong to others. The hub's library reads the token and the address (HF_TOKEN, HF_ENDPOINT).
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from kapwa import registry
from kapwa.catalog.hub import endpoint, publish_files
from kapwa.datasets.canary import COLUMN, is_private
from kapwa.datasets.card import CARD_NAME, Card
from kapwa.datasets.publishable import read_card_to_publish
from kapwa.errors import DataError, UsageError, raise_first
from kapwa.runs.finished_run import Run, open_runs
from kapwa.suites.folders.opening import tasks_in
from kapwa.tables import read_records
from kapwa.value_types import JsonMapping

RELEASE = "release.json"
README = "README.md"
# The file by which the hub's boards know a benchmark, its tasks and their items.
BOARD = "eval.yaml"
_SUFFIXES = frozenset((".csv", ".json", ".jsonl", ".md", ".parquet", ".tsv", ".ods", ".txt", ".xlsx", ".yaml", ".yml"))
_TABLES = (".csv", ".jsonl")
_COMPRESSED = (".ods", ".parquet", ".xlsx")
# The tables of a run with numbers only: no text of an item or an answer.
_OF_RUNS = ("estimates", "floors", "comparisons", "scores")


@dataclass(frozen=True, slots=True)
class Publication:
    """The planned content of a data set repository of the hub: its files by their paths there.

    ``private``: only its owners see it. ``left_out``: files that are not published. ``notes``: warnings for the user.
    """

    repository: str
    private: bool
    licence: str
    files: Mapping[str, bytes] = field(repr=False)
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def address(self) -> str:
        """The address of its page."""
        return f"{endpoint()}/datasets/{self.repository}"

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return sum(map(len, self.files.values()))


def plan_publication(sources: Sequence[str | Path], repository: str, *, public: bool = False) -> Publication:
    """Return what would be published of ``sources`` (one data set folder, or several runs) in ``repository``.

    ``repository``: "owner/name". Nothing is requested or sent. Raises DataError and UsageError for what must not be
    published: private parts, data without a licence or a card, a release that was changed.
    """
    owner, slash, name = repository.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise UsageError(f"{repository!r} is not a repository.", hint="Name its owner, too: --repo OWNER/NAME")
    paths = [Path(source) for source in sources]
    cards = [path for path in paths if (path / CARD_NAME).is_file()]
    if cards and len(paths) > 1:
        raise UsageError(f"{cards[0]} is a data set, which needs its own repository.", hint="Name it without others.")
    for path in paths if not cards else ():
        if path.is_dir() and tasks_in(path):
            hint = "Add the card: who wrote the data, and under which licence (docs/reference/kalahi-form.md)."
            raise DataError(f"is a data set without its {CARD_NAME}.", path=path, hint=hint)
    return _of_data(cards[0], repository, public) if cards else _of_runs(open_runs(list(paths)), repository, public)


def publish(publication: Publication) -> str:
    """Send a publication to the hub, and create its repository if there is none; return the repository's address.

    Raises UsageError where the repository is public and the publication is not, and for what the hub refuses.
    """
    return publish_files(publication.repository, publication.files, private=publication.private)


def _of_data(folder: Path, repository: str, public: bool) -> Publication:
    card, problems = read_card_to_publish(folder)
    raise_first(problems)
    assert card is not None
    files, left_out = _release_files(folder) if (folder / RELEASE).is_file() else _folder_files(folder)
    for name, content in files.items():
        if is_private(content.decode(errors="replace")) or _holds_private_rows(folder / name):
            hint = "Publish the public part: the folder without '-private'."
            raise DataError(
                "holds the mark of a private part, which is not to be published.", path=folder / name, hint=hint
            )
    notes = ["Illustrative: its card says that it measures nothing."] if card.illustrative else []
    if not card.reviewed_by_native_speakers:
        notes.append("Its card says that no native speaker reviewed it.")
    tasks = _board_tasks(folder, files)
    if README not in files:
        files[README] = _data_page(card, files)
    if tasks and BOARD not in files:
        files[BOARD] = _board_page(card, tasks)
    return Publication(repository, not public, card.licence, files, left_out, notes)


def _holds_private_rows(file: Path) -> bool:
    """Whether a table whose bytes are compressed has rows of a private part."""
    if file.suffix.lower() not in _COMPRESSED:
        return False
    return any(is_private(str(cells.get(COLUMN, ""))) for _row, cells in read_records(file).records)


def _release_files(folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """Return the files that a release names; raise DataError where one is missing or was changed after freezing."""
    try:
        known = dict(json.loads((folder / RELEASE).read_text(encoding="utf-8"))["sha256"])
    except (ValueError, KeyError, TypeError):
        raise DataError("is damaged.", path=folder / RELEASE, hint="Write the release again.") from None
    files: dict[str, bytes] = {}
    for name, digest in known.items():
        file = folder / name
        if Path(name).name != name or file.is_symlink() or not file.is_file():
            raise DataError("is named by the release and is not there.", path=file, hint="Write the release again.")
        files[name] = file.read_bytes()
        if hashlib.sha256(files[name]).hexdigest() != digest:
            hint = "Write the release again: a change belongs into a new version."
            raise DataError("was changed after the release was frozen.", path=file, hint=hint)
    files[RELEASE] = (folder / RELEASE).read_bytes()
    return files, sorted({entry.name for entry in folder.iterdir()} - files.keys())


def _folder_files(folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """Return the tables and pages of a data folder, and the names of other files, which are not published."""
    files: dict[str, bytes] = {}
    left_out: list[str] = []
    for entry in sorted(folder.iterdir()):
        is_sent = entry.suffix.lower() in _SUFFIXES and not entry.name.startswith(".")
        if is_sent and entry.is_file() and not entry.is_symlink():
            files[entry.name] = entry.read_bytes()
        else:
            left_out.append(entry.name)
    return files, left_out


def _of_runs(runs: Sequence[Run], repository: str, public: bool) -> Publication:
    files: dict[str, bytes] = {}
    for run in runs:
        if is_private(json.dumps(run.manifest, ensure_ascii=False)):
            hint = "You may report its scores, but scores of single items reveal the private part."
            raise UsageError(f"{run.path} is a run on a private part of a data set.", hint=hint)
        files |= {f"{run.path.name}/{name}": content for name, content in _run_files(run)}
    files[README] = _runs_page(runs)
    licences = sorted({_licence_of(run) for run in runs})
    left_out = ["texts of items and answers", "reports", "journals"]
    return Publication(repository, not public, ", ".join(licences), files, left_out)


def _run_files(run: Run) -> Iterator[tuple[str, bytes]]:
    yield "run.json", (run.path / "run.json").read_bytes()
    with tempfile.TemporaryDirectory(prefix="kapwa-") as folder:
        for name in _OF_RUNS:
            file = Path(folder) / f"{name}.parquet"
            run.table(name).write_parquet(file)
            yield file.name, file.read_bytes()


def _licence_of(run: Run) -> str:
    cards: Sequence[JsonMapping] = run.manifest["data"].get("cards") or [run.manifest["data"].get("card") or {}]
    return ", ".join(dict.fromkeys(str(card["licence"]) for card in cards if card.get("licence"))) or "not stated"


def _head(head: Mapping[str, object]) -> str:
    return f"---\n{yaml.safe_dump(dict(head), allow_unicode=True, sort_keys=False)}---\n"


def _board_tasks(folder: Path, files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the tasks for which the folder has data, such as "kalahi-mc", and the table that each reads."""
    tables = [name for name in files if name.endswith(_TABLES)]
    board_tasks: dict[str, str] = {}
    for form, tasks in tasks_in(folder).items():
        of_form = [name for name in re.findall(r"\w+\.csv", registry.load("suites", form).tables) if name in tables]
        for table in (of_form or tables)[:1]:
            board_tasks |= {f"{form}-{task}": table for task in tasks}
    return board_tasks


def _board_page(card: Card, tasks: Mapping[str, str]) -> bytes:
    """Return the file that registers a benchmark on the hub (https://huggingface.co/docs/hub/eval-results).

    It names no evaluation framework, like other benchmarks with their own scoring.
    """
    entries = [{"id": name, "config": Path(table).stem, "split": "train"} for name, table in tasks.items()]
    page = {"name": card.title, "description": " ".join(card.limits[0].split()), "tasks": entries}
    return yaml.safe_dump(page, allow_unicode=True, sort_keys=False, width=1000).encode()


def _data_page(card: Card, files: Mapping[str, bytes]) -> bytes:
    tables = [name for name in files if name.endswith(_TABLES)]
    configs = [{"config_name": Path(table).stem, "data_files": table} for table in tables]
    limits = "".join(f"- {' '.join(limit.split())}\n" for limit in card.limits)
    head = _head({"pretty_name": card.title, "configs": configs})
    return f"{head}\n# {card.title}, {card.version}\n\n{limits}\nLicence, consent and authors: {CARD_NAME}.\n".encode()


def _runs_page(runs: Sequence[Run]) -> bytes:
    rows = []
    for run in runs:
        lead = run.headline
        score = "no headline" if lead is None or lead["value"] is None else f"{lead['value']:.3f}"
        interval = "" if lead is None or lead["low"] is None else f"{lead['low']:.3f} to {lead['high']:.3f}"
        cells = (run.label, run.manifest["task"], score, interval, f"`{(lead or run.manifest)['signature']}`")
        rows.append(" | ".join(str(cell).replace("|", r"\|").replace("\n", " ") for cell in cells))
    table = "".join(f"| {row} |\n" for row in rows)
    return (
        f"{_head({'pretty_name': 'Results of Kapwa'})}\n# Results\n\n"
        "Scores with their 95 % intervals; `floors` in each folder says what guessing and tricks score.\n\n"
        f"| model | task | score | 95 % interval | signature |\n|---|---|---|---|---|\n{table}"
    ).encode()
