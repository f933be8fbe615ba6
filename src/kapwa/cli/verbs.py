"""The verbs of the command line: where each is, under which heading, and what it does in one line.

A verb's module is imported when the verb is called; the list of verbs needs none of them.
"""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from itertools import groupby
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.main import get_command

from kapwa.errors import nearest


class Verb(NamedTuple):
    """A verb: the "module:attribute" of :mod:`kapwa.cli` that holds it, its heading, and what the list says of it."""

    target: str
    heading: str
    line: str


_EVALUATE = "Evaluate a model"
_TEXTS = "Compare texts across cultures"
_BENCHMARK = "Make a benchmark"
_PEOPLE = "Ask people"
_OTHERS = "Work with other tools"
_HERE = "See what there is"
VERBS = {
    "run": Verb("run:run", _EVALUATE, "Ask a model and judge its answers."),
    "score": Verb("run:score", _EVALUATE, "Judge answers you already have."),
    "report": Verb("report:report", _EVALUATE, "Write one HTML page about runs, or about an analysis."),
    "compare": Verb("report:compare", _EVALUATE, "Compare two runs, paired item by item."),
    "plan": Verb("plan:plan", _EVALUATE, "Plan a study: how many items it takes to tell two models apart."),
    "runs": Verb("lists:runs", _EVALUATE, "List the runs in a folder, the newest first."),
    "analyze": Verb("analyze:app", _TEXTS, "Compare many texts with each other, and with survey values."),
    "words": Verb("texts:words", _TEXTS, "List the words that mark the texts about each identity."),
    "values": Verb("texts:values", _TEXTS, "Check tables of cultural values."),
    "suite": Verb("suite:app", _BENCHMARK, "Make your own data a suite."),
    "data": Verb("benchmark:data", _BENCHMARK, "List sample packs, or check data."),
    "build": Verb("benchmark:build", _BENCHMARK, "Make questions from what people answered."),
    "card": Verb("benchmark:card", _BENCHMARK, "Write documents that travel with a dataset."),
    "studio": Verb("studio:app", _PEOPLE, "Write and review a benchmark with your community, in the browser."),
    "forms": Verb("people:forms", _PEOPLE, "Write blinded sheets for people to fill in."),
    "agreement": Verb("people:agreement", _PEOPLE, "Analyse which responses people chose."),
    "ratings": Verb("people:ratings", _PEOPLE, "Analyse how people judged answers."),
    "export": Verb("exchange:export", _OTHERS, "Write a run in the form of another tool."),
    "import": Verb("exchange:import_", _OTHERS, "Make runs from another tool's results: one for each task."),
    "lm-eval-path": Verb("exchange:lm_eval_path", _OTHERS, "Print the folder of Kapwa's tasks for lm-eval."),
    "suites": Verb("lists:suites", _HERE, "List what can be measured."),
    "models": Verb("lists:models", _HERE, "List who can answer."),
    "languages": Verb("languages:app", _HERE, "List languages and what is known of them."),
    "cache": Verb("cache:app", _HERE, "See or shrink a folder of answers that runs share (kapwa run --cache)."),
    "doctor": Verb("doctor:doctor", _HERE, "Check this installation, or the answers of a run."),
}


class Verbs(TyperGroup):
    """The group of all verbs; one is loaded when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the verb that is called; of a misspelt one, say the nearest."""
        name = args[0]
        if name not in VERBS and not name.startswith("-"):
            ctx.fail(f"There is no verb {name!r}. {nearest(name, VERBS)}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - Typer's signature
        """Return the names of the verbs, in the order of their headings."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - Typer's signature
        """Return a verb; None where there is none of that name."""
        return loaded(cmd_name) if cmd_name in VERBS else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help as plain lines: rich takes longer to load than all the rest."""
        markup, self.rich_markup_mode = self.rich_markup_mode, None
        super().format_help(ctx, formatter)
        self.rich_markup_mode = markup

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer's signature
        """Write a list of verbs under each heading, loading none of them."""
        for heading, verbs in groupby(VERBS.items(), key=lambda pair: pair[1].heading):
            with formatter.section(heading):
                formatter.write_dl([(name, verb.line) for name, verb in verbs], col_max=16)


@cache
def loaded(name: str) -> Any:
    """Import the verb ``name`` and return its command."""
    module, _, attribute = VERBS[name].target.partition(":")
    found = getattr(import_module(f"kapwa.cli.{module}"), attribute)
    app = found
    if not isinstance(found, typer.Typer):
        app = typer.Typer()
        app.command(name)(found)
    app.pretty_exceptions_enable = False
    app._add_completion = False
    _let_help_flow(app)
    command = get_command(app)
    command.name = name
    return command


def _let_help_flow(verbs: typer.Typer) -> None:
    """Take the line breaks of the source out of the paragraphs of the verbs' help, which Typer would keep."""
    for command in verbs.registered_commands:
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for group in verbs.registered_groups:
        if group.typer_instance is not None:
            _let_help_flow(group.typer_instance)
