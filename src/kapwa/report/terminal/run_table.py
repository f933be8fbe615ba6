"""Several runs that were made together, for the command line: a row a run, and what a reader must know, said once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapwa.report.sentences import missing, notes
from kapwa.report.tables.forms import plain
from kapwa.report.terminal.run_list import headline_words
from kapwa.report.view.tasks import arrange
from kapwa.report.wording import label_text
from kapwa.runs.finished_run import Run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Group


def render_runs(runs: Sequence[Run]) -> Group:
    """Return runs for the terminal: what is missing, each run's headline score, and the warnings of all."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    views = arrange(runs)
    table = Table(box=None, padding=(0, 2, 0, 0))
    several_data = len({run.manifest["data"]["name"] for run in runs}) > 1
    for name in ("task", *(["data"] if several_data else []), "model", "score, 95% interval"):
        table.add_column(name, overflow="fold")
    tasks = list(dict.fromkeys(run.manifest["task"] for run in runs))
    for run in sorted(runs, key=lambda run: tasks.index(run.manifest["task"])):
        data = [label_text(run.manifest["data"]["name"])] if several_data else []
        score = plain(str(headline_words(run)["score"]))
        table.add_row(*map(Text, (run.manifest["task"], *data, label_text(run.label), score)))
    shown = [Text(plain(line), style="bold yellow") for line in missing.first_sentences(views)]
    warnings = dict.fromkeys(line for view in views for line in notes.warnings(view, several=len(views) > 1))
    return Group(*shown, Text(""), table, Text(""), *(Text(plain(line), style="yellow") for line in warnings))
