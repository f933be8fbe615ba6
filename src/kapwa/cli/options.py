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
    from kapwa.engines.settings import Ray

RUNS = Path("runs")

Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DATA",
        help="Folder, file or hub id of the data \\[default: the sample packs, which are illustrative].",
        show_default=False,
    ),
]
Variant = Annotated[
    str | None,
    typer.Option(
        "--variant",
        metavar="NAMES",
        help="Prompt variants, comma-separated, or 'all' \\[default: the suite's first].",
        show_default=False,
    ),
]
Country = Annotated[
    str | None,
    typer.Option(
        "--country",
        metavar="NAMES",
        help="Only these cultures, comma-separated, as the data spells them, or 'all'.",
        show_default=False,
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language",
        metavar="NAMES",
        help="Languages to ask in: local, en, or both, comma-separated.",
        rich_help_panel="Everyday knowledge",
        show_default=False,
    ),
]
Prompt = Annotated[
    str | None,
    typer.Option(
        "--prompt",
        metavar="NAMES",
        help="Prompts to ask with, comma-separated, e.g. inst-4,pers-3.",
        rich_help_panel="Everyday knowledge",
        show_default=False,
    ),
]
Matcher = Annotated[
    str,
    typer.Option(
        "--matcher",
        metavar="WAY",
        help="lexical, or judge: a model says besides whether a reply means one of the answers.",
        rich_help_panel="Everyday knowledge",
    ),
]
Judge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="MODEL",
        help="The model that judges, written as for --model.",
        rich_help_panel="Everyday knowledge",
        show_default=False,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", metavar="N", help="Only the first N items of each culture and variant.", min=1, show_default=False
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="COLUMN=VALUE",
        help="Only items with this value, e.g. topic=friendship; repeatable.",
        show_default=False,
    ),
]
_TEXTS = "How text changes with culture (eecc)"
Concepts = Annotated[
    str | None,
    typer.Option(
        "--concepts",
        metavar="NAMES",
        help="Only these concepts, comma-separated, as the data spells them, or a file with one a line. Default: all.",
        rich_help_panel=_TEXTS,
        show_default=False,
    ),
]
Identities = Annotated[
    str | None,
    typer.Option(
        "--nationalities",
        "--identities",
        metavar="NAMES",
        help="For whom: names from the data, comma-separated, 'all', or a file that lists them: one a line, or a table "
        "with a column named after the attribute. Religions, languages, cities and personas go the same way. "
        "Default: all.",
        rich_help_panel=_TEXTS,
        show_default=False,
    ),
]
Samples = Annotated[
    int | None,
    typer.Option(
        "--samples",
        metavar="N",
        help="Texts of each prompt. Default: 5.",
        min=1,
        rich_help_panel=_TEXTS,
        show_default=False,
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        metavar="T",
        help="Temperature the texts are drawn at. Default: 0.3; other tasks answer greedily.",
        min=0.0,
        rich_help_panel=_TEXTS,
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Folder that holds the run folders.")]
Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="FOLDER",
        help="Share answers between runs: take those that the folder holds, add the new ones. Made if need be.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON to stdout.")]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="NAMES",
        help="Similarities of open tasks, comma-separated, such as chrf,bertscore \\[default: all without a model].",
        rich_help_panel="Open tasks",
        show_default=False,
    ),
]
BertScore = Annotated[
    str | None,
    typer.Option(
        "--bertscore-model",
        metavar="MODEL",
        help="Encoder for BERTScore (hub id or folder).",
        rich_help_panel="Open tasks",
        show_default=False,
    ),
]
Bleurt = Annotated[
    str | None,
    typer.Option(
        "--bleurt-model",
        metavar="MODEL",
        help="BLEURT checkpoint (hub id or folder).",
        rich_help_panel="Open tasks",
        show_default=False,
    ),
]
Validators = Annotated[
    Path | None,
    typer.Option(
        "--validators",
        metavar="FILE",
        help="Validators' choices: their accuracy becomes the human ceiling.",
        show_default=False,
    ),
]
Key = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="The key file written with the validators' form.", show_default=False),
]
_WHERE = "Where it runs"
Engine = Annotated[
    str,
    typer.Option("--engine", metavar="NAME", help="local (this process), or ray.", rich_help_panel=_WHERE),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="ADDRESS",
        help="Cluster to join: auto, or HOST:PORT \\[default: RAY_ADDRESS, else this machine alone].",
        rich_help_panel=_WHERE,
        show_default=False,
    ),
]
Replicas = Annotated[
    int | None,
    typer.Option(
        "--replicas",
        metavar="N",
        help="Copies of the model \\[default: one a machine, or as many as --gpus-per-replica leaves room for].",
        min=1,
        rich_help_panel=_WHERE,
        show_default=False,
    ),
]
CpusPerReplica = Annotated[
    float | None,
    typer.Option(
        "--cpus-per-replica",
        metavar="N",
        help="Processors each copy reserves, and threads it computes with \\[default: an even share].",
        min=0.001,
        rich_help_panel=_WHERE,
        show_default=False,
    ),
]
GpusPerReplica = Annotated[
    float | None,
    typer.Option(
        "--gpus-per-replica",
        metavar="N",
        help="GPUs each copy reserves \\[default: 0].",
        min=0.0,
        rich_help_panel=_WHERE,
        show_default=False,
    ),
]


def open_engine(
    engine: str,
    address: str | None = None,
    replicas: int | None = None,
    cpus_per_replica: float | None = None,
    gpus_per_replica: float | None = None,
) -> Ray | None:
    """Return what the options of the engine mean; None is the local engine. Raises UsageError for those it ignores."""
    from kapwa.engines.settings import Ray
    from kapwa.errors import UsageError, nearest

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
    suite = registry.load("suites", name)
    return seed if (suite.form or suite.name) == "eecc" else None


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
    return None if judge is None else api.load_judge(judge, out / "judge-verdicts.jsonl")
