"""Options that several verbs share, each written once.

Where work runs (``kapwa run``, ``kapwa analyze``): declare ``Engine`` and ``Address``, and ``Replicas``,
``CpusPerReplica`` and ``GpusPerReplica`` where a model is loaded; :func:`open_engine` makes of them what
``load_model(engine=...)`` and ``analyze(engine=...)`` take.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from kapwa.parallel.base import Ray

RUNS = Path("runs")


def option(name: str, metavar: str, help: str, *, panel: str | None = None, **settings: Any) -> Any:
    """Return a typer option whose default is not shown, as its help says what happens without it.

    ``name``: one or more spellings, parted by a space ("-o --output"). ``settings`` go to ``typer.Option``.
    """
    shown = {"show_default": False} | settings
    return typer.Option(*name.split(), metavar=metavar, help=help, rich_help_panel=panel, **shown)


_DATA_HELP = "Folder, file or hub id of the data \\[default: the sample packs, which are illustrative]."
Data = Annotated[str | None, option("--data", "DATA", _DATA_HELP)]
Variant = Annotated[
    str | None,
    option("--variant", "NAMES", "Prompt variants, comma-separated, or 'all' \\[default: the suite's first]."),
]
Country = Annotated[
    str | None, option("--country", "NAMES", "Only these cultures, comma-separated, as the data spells them, or 'all'.")
]
Limit = Annotated[int | None, option("--limit", "N", "Only the first N items of each culture and variant.", min=1)]
Where = Annotated[
    list[str] | None,
    option("--where", "COLUMN=VALUE", "Only items with this value, e.g. topic=friendship; repeatable."),
]
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder that holds the run folders.")]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON to stdout.")]
Cache = Annotated[
    Path | None,
    option(
        "--cache",
        "FOLDER",
        "Share answers between runs: take those that the folder holds, add the new ones. Made if need be.",
    ),
]
Validators = Annotated[
    Path | None, option("--validators", "FILE", "Validators' choices: their accuracy becomes the human ceiling.")
]
Key = Annotated[Path | None, option("--key", "FILE", "The key file written with the validators' form.")]

_EVERYDAY = "Everyday knowledge"
Language = Annotated[
    str | None,
    option("--language", "NAMES", "Languages to ask in: local, en, or both, comma-separated.", panel=_EVERYDAY),
]
Prompt = Annotated[
    str | None,
    option("--prompt", "NAMES", "Prompts to ask with, comma-separated, e.g. inst-4,pers-3.", panel=_EVERYDAY),
]
Matcher = Annotated[
    str,
    option(
        "--matcher",
        "WAY",
        "lexical, or judge: a model says besides whether a reply means one of the answers.",
        panel=_EVERYDAY,
        show_default=True,
    ),
]
Judge = Annotated[
    str | None, option("--judge", "MODEL", "The model that judges, written as for --model.", panel=_EVERYDAY)
]

_TEXTS = "How text changes with culture (eecc)"
Concepts = Annotated[
    str | None,
    option(
        "--concepts",
        "NAMES",
        "Only these concepts, comma-separated, as the data spells them, or a file with one a line. Default: all.",
        panel=_TEXTS,
    ),
]
Identities = Annotated[
    str | None,
    option(
        "--nationalities --identities",
        "NAMES",
        "For whom: names from the data, comma-separated, 'all', or a file that lists them: one a line, or a table "
        "with a column named after the attribute. Religions, languages, cities and personas go the same way. "
        "Default: all.",
        panel=_TEXTS,
    ),
]
Samples = Annotated[int | None, option("--samples", "N", "Texts of each prompt. Default: 5.", panel=_TEXTS, min=1)]
Temperature = Annotated[
    float | None,
    option(
        "--temperature",
        "T",
        "Temperature the texts are drawn at. Default: 0.3; other tasks answer greedily.",
        panel=_TEXTS,
        min=0.0,
    ),
]

_OPEN = "Open tasks"
Metrics = Annotated[
    str | None,
    option(
        "--metrics",
        "NAMES",
        "Similarities of open tasks, comma-separated, such as chrf,bertscore \\[default: all without a model].",
        panel=_OPEN,
    ),
]
BertScore = Annotated[
    str | None, option("--bertscore-model", "MODEL", "Encoder for BERTScore (hub id or folder).", panel=_OPEN)
]
Bleurt = Annotated[str | None, option("--bleurt-model", "MODEL", "BLEURT checkpoint (hub id or folder).", panel=_OPEN)]

_WHERE = "Where it runs"
Engine = Annotated[str, option("--engine", "NAME", "local (this process), or ray.", panel=_WHERE, show_default=True)]
Address = Annotated[
    str | None,
    option(
        "--address",
        "ADDRESS",
        "Cluster to join: auto, or HOST:PORT \\[default: RAY_ADDRESS, else this machine alone].",
        panel=_WHERE,
    ),
]
Replicas = Annotated[
    int | None,
    option(
        "--replicas",
        "N",
        "Copies of the model \\[default: one a machine, or as many as --gpus-per-replica leaves room for].",
        panel=_WHERE,
        min=1,
    ),
]
CpusPerReplica = Annotated[
    float | None,
    option(
        "--cpus-per-replica",
        "N",
        "Processors each copy reserves, and threads it computes with \\[default: an even share].",
        panel=_WHERE,
        min=0.001,
    ),
]
GpusPerReplica = Annotated[
    float | None, option("--gpus-per-replica", "N", "GPUs each copy reserves \\[default: 0].", panel=_WHERE, min=0.0)
]


def open_engine(
    engine: str,
    address: str | None = None,
    replicas: int | None = None,
    cpus_per_replica: float | None = None,
    gpus_per_replica: float | None = None,
) -> Ray | None:
    """Return what the options of the engine mean; None is the local engine. Raises UsageError for those it ignores."""
    from kapwa.errors import UsageError, nearest
    from kapwa.parallel.base import Ray

    if engine not in ("local", "ray"):
        raise UsageError(f"There is no engine {engine!r}.", hint=nearest(engine, ("local", "ray")))
    if engine == "ray":
        return Ray(address, replicas, cpus_per_replica, gpus_per_replica or 0.0)
    given = {
        "--address": address,
        "--replicas": replicas,
        "--cpus-per-replica": cpus_per_replica,
        "--gpus-per-replica": gpus_per_replica,
    }
    for name, value in given.items():
        if value is not None:
            raise UsageError(f"{name} says how Ray is used, and this does not use it.", hint="Add: --engine ray")
    return None


def parse_where(pairs: list[str] | None, country: str | None = None) -> dict[str, tuple[str, ...]]:
    """Turn ``column=value`` options into a selection; the same column may come several times.

    ``country`` is the short way to select by culture; "all" selects nothing away.
    """
    from kapwa.errors import UsageError

    chosen: dict[str, tuple[str, ...]] = {}
    cultures = parse_list(country)
    if cultures and cultures != ("all",):
        chosen["culture"] = cultures
    for pair in pairs or ():
        column, _, value = pair.partition("=")
        if not column or not value:
            raise UsageError(
                f"--where {pair!r} is not of the form column=value.", hint="For example: --where topic=friendship"
            )
        chosen[column] = (*chosen.get(column, ()), value)
    return chosen


def sampling_seed(task: str, seed: int) -> int | None:
    """Return the seed as an option of tasks that draw samples; None for tasks that draw nothing."""
    from kapwa import registry

    name = task.partition("/")[0]
    if name not in registry.available("suites"):
        return None
    return seed if registry.load("suites", name).draws_samples else None


def parse_list(text: str | None) -> tuple[str, ...] | None:
    """Split a comma-separated option; None stays None."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def parse_extra(pairs: list[str] | None) -> dict[str, Any]:
    """Turn ``name=JSON`` options into values; a word that is no JSON is taken as text."""
    from kapwa.errors import UsageError

    settings: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise UsageError(f"--extra {pair!r} is not of the form name=JSON.", hint="For example: --extra attempts=3")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            if value.lstrip().startswith(("{", "[", '"')):
                raise UsageError(f"--extra {name}: {value!r} is not valid JSON.") from None
            settings[name] = value
    return settings


def open_judge(matcher: str, judge: str | None, out: Path) -> Any:
    """Load the judging model where one is asked for; its verdicts are kept beside the runs."""
    from kapwa import api
    from kapwa.errors import UsageError, nearest

    if matcher not in ("lexical", "judge"):
        raise UsageError(f"There is no matcher {matcher!r}.", hint=nearest(matcher, ("lexical", "judge")))
    if (matcher == "judge") != (judge is not None):
        raise UsageError("A judge needs both: --matcher judge --judge MODEL.")
    return None if judge is None else api.load_judge(judge, out / "judge-answers.sqlite")
