"""The verbs of the command line: what ``kapwa --help`` lists, and where each is."""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """A verb, and the "module:attribute" of :mod:`kapwa.cli` that holds it: a function or a ``typer.Typer``.

    ``line``: what the list of verbs says of it; the help of the verb itself begins with the same words.
    """

    name: str
    target: str
    line: str


HEADINGS = {
    "Evaluate a model": (
        Verb("run", "run:run_app", "Ask a model and judge its answers."),
        Verb("score", "run:score_app", "Judge answers you already have."),
        Verb("report", "report:report", "Write an HTML page about runs, or about an analysis."),
        Verb("compare", "report:compare", "Compare two runs, paired item by item."),
        Verb("link", "link:link", "Put scores on two releases of a benchmark on one scale."),
        Verb("track", "track:track", "Show the scores of a model's checkpoints in order."),
        Verb(
            "contamination", "contamination:contamination", "Compare a model's scores on published and private items."
        ),
        Verb("judge", "judge:judge", "Let a model grade answers with a rubric."),
        Verb("plan", "plan:plan", "Plan a study: how many items are needed to tell two models apart."),
        Verb("runs", "lists:runs", "List the runs in a folder, newest first."),
        Verb("fetch", "fetch:fetch", "Download published benchmarks and models."),
    ),
    "Compare texts across cultures": (
        Verb("analyze", "analyze:app", "Compare many texts with each other and with survey values."),
        Verb("words", "texts:words", "List the words typical of each identity's texts."),
        Verb("values", "texts:values", "Check tables of cultural values (Hofstede, World Values Survey, your own)."),
    ),
    "Make a benchmark": (
        Verb("suite", "suite:app", "Turn your own data into a suite."),
        Verb("data", "benchmark:data", "List available data, or check a data file."),
        Verb("build", "benchmark:build", "Build questions from people's answers."),
        Verb("card", "benchmark:card", "Write a dataset card or datasheet."),
    ),
    "Ask people": (
        Verb("studio", "studio:app", "Write and review a benchmark with your community, in the browser."),
        Verb("label", "label:app", "Have people choose, rate or label answers, and correct scores with their labels."),
        Verb("items", "items:items", "Audit the items of a task with the answers of runs and people."),
    ),
    "Work with other tools": (
        Verb("export", "exchange:export", "Write a run in another tool's format."),
        Verb("import", "exchange:import_", "Turn another tool's results into runs, one per task."),
        Verb("copy", "copying:copy", "Copy results to another disk, a bucket or a server, or back."),
        Verb("publish", "publish:publish", "Put a data set or the numbers of runs on the Hugging Face Hub."),
        Verb("lm-eval-path", "exchange:lm_eval_path", "Print the folder of Kapwa's tasks for lm-eval."),
    ),
    "Look things up": (
        Verb("shown", "shown:shown", "List which items were shown to which models, where and when."),
        Verb("suites", "lists:suites", "List the tasks that can be measured."),
        Verb("rubrics", "judge:rubrics", "List the rubrics for people and judging models, or show one."),
        Verb("models", "lists:models", "List the kinds of models that can be asked."),
        Verb("languages", "languages:app", "List languages and what Kapwa knows of them."),
        Verb("cache", "cache:app", "Show or shrink a folder of answers that runs share (kapwa run --cache)."),
        Verb("doctor", "doctor:doctor", "Check this installation, a run's answers, or an imported log or label file."),
        Verb("skill", "lists:skill", "Print instructions for coding agents."),
    ),
}
# What a verb of earlier versions is called now.
RENAMED = {
    "forms": "'kapwa label sheets'",
    "ratings": "'kapwa label read'",
    "agreement": "'kapwa label agree'",
    "audit": "'kapwa label' (audits of items: 'kapwa items')",
}
VERBS = {verb.name: verb for verbs in HEADINGS.values() for verb in verbs}
