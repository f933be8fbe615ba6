"""Options and arguments that several verbs have in common: each a type with its spelling, limits and help.

A verb uses one as the type of a parameter and gives the default: ``data: opt.Data = None``. An option of a single verb
is declared in that verb's signature.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

RUNS = Path("runs")

# Headings under which help lists options.
EVERYDAY = "Everyday knowledge"
LOCAL = "Local models"
SERVED = "Served models"
THINKING = "Thinking"
COST = "Cost"
STOPPING = "Stopping early"
ENGINE = "Engine"

# Output.
Json = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]
AllFindings = Annotated[bool, typer.Option("--all", help="List every finding on its own line, not one line per kind.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that an earlier command wrote.")]
PageFile = Annotated[
    Path | None, typer.Option("-o", "--output", metavar="FILE", help="Also write an HTML page to this file.")
]
TablesFolder = Annotated[
    Path | None, typer.Option("--csv", metavar="FOLDER", help="Also write every table as CSV to this folder.")
]
RunsFolder = Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the run folders.")]
Label = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Name of this run in reports and lists.", show_default="the model's name"),
]

TrainedOn = Annotated[
    Literal["yes", "no"] | None,
    typer.Option(
        metavar="yes|no",
        help="Whether the model was trained on these questions, if whoever trained it says so; the board shows it.",
        show_default="unknown",
    ),
]

# Random numbers.
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Random seed; it is recorded.")]
BootstrapSeed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the bootstrap intervals.")]

# Which items, and how they are put to the model.
Data = Annotated[
    str | None,
    typer.Option(
        metavar="DATA",
        help="Folder, file or Hugging Face id of the data.",
        show_default="the sample packs, which are illustrative",
    ),
]
Variant = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Prompt variants, comma-separated, or 'all'.", show_default="the suite's first variant"
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=VALUE",
        help="Only items with this value (topic=friendship) or without it (topic=!food); repeatable.",
    ),
]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="Only N items of each culture and variant.")]
Subset = Annotated[
    Literal["first", "random"],
    typer.Option(
        metavar="WAY", help="Which items --limit takes: first, or random (drawn with --seed, in whole clusters)."
    ),
]
Country = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES", help="Only these cultures, comma-separated, spelled as in the data; '!Japan' leaves one out."
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        rich_help_panel=EVERYDAY,
        help="Languages of the questions: local, en, or both, comma-separated.",
    ),
]
Prompt = Annotated[
    str | None,
    typer.Option(metavar="NAMES", rich_help_panel=EVERYDAY, help="Prompts, comma-separated, e.g. inst-4,pers-3."),
]
Samples = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Answers to sample for each prompt (see --temperature).",
        show_default="1; 5 texts for eecc, 20 replies for opinions",
    ),
]
Wordings = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Also ask in these wordings (table: id, text); each text contains {prompt}."),
]
Errata = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Leave out the items confirmed as faulty in this table (kapwa items proposes one)."
    ),
]
SystemMessage = Annotated[
    str | None,
    typer.Option("--system", metavar="TEXT", help="System message before every prompt; @FILE reads it from a file."),
]

# How answers are judged.
Matcher = Annotated[
    str,
    typer.Option(
        metavar="WAY",
        rich_help_panel=EVERYDAY,
        help="lexical, or judge: a model also decides whether a reply means one of the answers.",
    ),
]
MatchingJudge = Annotated[
    str | None,
    typer.Option("--judge", metavar="MODEL", rich_help_panel=EVERYDAY, help="Judging model, written as for --model."),
]
JudgeOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=JSON",
        rich_help_panel=EVERYDAY,
        help="Setting of the judging model, as for any model (timeout=30, concurrency=4, revision=v2, attempts=3); "
        "repeatable.",
    ),
]
Key = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", help="Key file that was written with the forms, or a folder that contains it; repeatable."
    ),
]
EqualWithin = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Also test whether two runs are equal within this margin, as a share: 0.02 is 2 percentage points.",
    ),
]

# How a model is loaded or reached.
Dtype = Annotated[
    str,
    typer.Option(metavar="TYPE", rich_help_panel=LOCAL, help="Data type of the weights: float32, bfloat16, float16."),
]
Device = Annotated[
    str, typer.Option(metavar="DEVICE", rich_help_panel=LOCAL, help="Device: auto, cpu, cuda, cuda:1, mps.")
]
Template = Annotated[
    Literal["auto", "chat", "plain"],
    typer.Option(
        metavar="TEMPLATE",
        rich_help_panel=LOCAL,
        help="Chat template: chat (the tokenizer's own), plain (for base models), or auto.",
    ),
]
Scoring = Annotated[
    Literal["auto", "tree", "prefix", "plain"],
    typer.Option(
        metavar="METHOD",
        rich_help_panel=LOCAL,
        help="How log-likelihoods are computed: tree, prefix, plain, or auto (the fastest method that agrees).",
    ),
]
BatchTokens = Annotated[
    int, typer.Option(min=1, metavar="N", rich_help_panel=LOCAL, help="Maximum tokens in a batch, padding included.")
]
Thinking = Annotated[
    str | None,
    typer.Option(
        metavar="HOW",
        rich_help_panel=THINKING,
        help="Thinking: off, on, low, medium, high, or a limit in tokens.",
        show_default="the model's own",
    ),
]
ThinkingTokens = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        rich_help_panel=THINKING,
        help="Tokens allowed for thinking, in addition to the answer's --max-new-tokens.",
        show_default="8192 if the model thinks",
    ),
]
Revision = Annotated[
    str | None,
    typer.Option(
        metavar="REVISION",
        rich_help_panel=LOCAL,
        help="Commit, tag or branch of a Hub model; for a served model, any name of its version.",
    ),
]
TrustRemoteCode = Annotated[
    bool, typer.Option("--trust-remote-code", rich_help_panel=LOCAL, help="Run code from the model's repository.")
]
BaseUrl = Annotated[
    str | None, typer.Option(metavar="URL", rich_help_panel=SERVED, help="Address of an OpenAI-compatible server.")
]
KeyVariable = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        rich_help_panel=SERVED,
        help="Environment variable that holds the server's key; '' sends none.",
        show_default="OPENAI_API_KEY, or the provider's",
    ),
]
Concurrency = Annotated[
    int, typer.Option(min=1, metavar="N", rich_help_panel=SERVED, help="Maximum number of open requests.")
]
Timeout = Annotated[
    float, typer.Option(min=0.1, metavar="SECONDS", rich_help_panel=SERVED, help="Seconds to wait for an answer.")
]
Extra = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=JSON",
        rich_help_panel=SERVED,
        help='Setting that only the backend knows, e.g. body={"temperature": null}; repeatable.',
    ),
]

# What asking would cost.
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the first prompts and count requests and tokens; ask and write nothing.")
]
PriceIn = Annotated[
    float | None,
    typer.Option(
        min=0, metavar="PRICE", rich_help_panel=COST, help="Price of a million input tokens. Needs --price-out."
    ),
]
PriceOut = Annotated[
    float | None,
    typer.Option(
        min=0, metavar="PRICE", rich_help_panel=COST, help="Price of a million output tokens. Needs --price-in."
    ),
]
Prices = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=COST,
        help="Prices by model (table: model, price_in, price_out and, for input read from the server's cache, "
        "price_cached).",
    ),
]

# What was planned beforehand.
Plan = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        metavar="FILE",
        help="Plan that was frozen before (kapwa plan TASK --freeze FILE); its hash is checked.",
    ),
]

# When enough is known.
Until = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        rich_help_panel=STOPPING,
        help="Stop when the score on these items is known: 0.05 (each culture to ±5 points), 0.02:mean (the mean over "
        "cultures), or decided:RUN (with --margin).",
    ),
]
Margin = Annotated[
    float | None,
    typer.Option(
        metavar="LOSS",
        rich_help_panel=STOPPING,
        help="With --until decided:RUN: stop when a loss above this, compared with that run, is shown or excluded.",
    ),
]
Control = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN",
        rich_help_panel=STOPPING,
        help="With --until: an earlier run on the same items; if its answers are similar, fewer items are needed.",
    ),
]
LookEvery = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel=STOPPING,
        help="With --until: items of a culture to ask before the score is estimated again.",
        show_default="10; 32 for local models; 100 through a provider's batch interface",
    ),
]

# Where the work is done.
Engine = Annotated[
    str, typer.Option(metavar="NAME", rich_help_panel=ENGINE, help="local (this machine, without Ray) or ray.")
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        rich_help_panel=ENGINE,
        help="Ray cluster to join: auto, or HOST:PORT.",
        show_default="RAY_ADDRESS if set, else this machine alone",
    ),
]
Replicas = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel=ENGINE,
        help="Copies of the model.",
        show_default="one per machine, or as many as --gpus-per-replica allows",
    ),
]
CpusPerReplica = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        metavar="N",
        rich_help_panel=ENGINE,
        help="CPUs that each copy reserves, and threads it computes with.",
        show_default="an equal share",
    ),
]
GpusPerReplica = Annotated[
    float | None,
    typer.Option(min=0, metavar="N", rich_help_panel=ENGINE, help="GPUs that each copy reserves.", show_default="0"),
]

# What an audit is about.
AuditedRuns = Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs of one task on the same data.")]
AuditedMetric = Annotated[
    str | None,
    typer.Option("--metric", metavar="NAME", help="The metric to audit.", show_default="the task's first metric"),
]
AuditedVariant = Annotated[
    str | None,
    typer.Option(
        "--variant",
        metavar="NAMES",
        help="Prompt variants, comma-separated, or 'all'.",
        show_default="the runs' first variant",
    ),
]

# Kapwa Studio.
Project = Annotated[str, typer.Argument(metavar="NAME", help="The project.")]
Home = Annotated[Path, typer.Option("--home", metavar="FOLDER", help="The studio's folder.")]
Database = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Database, as postgresql://user@host/name.",
        show_default="a SQLite file in the studio's folder",
        envvar="KAPWA_STUDIO_DATABASE",
    ),
]
