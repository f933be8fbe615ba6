"""Tasks as ``kapwa run`` and ``kapwa score`` open them, with the options that installed suites declare."""

from __future__ import annotations

import inspect
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from kapwa.cli.parsing import judge_settings, parse_list
from kapwa.errors import UsageError, check_known

if TYPE_CHECKING:
    from kapwa.suites.base import Setting
    from kapwa.suites.blend.judge import Judge


def load_matching_judge(
    matcher: str, judge: str | None, pairs: list[str] | None, out: Path, concurrency: int | None = None
) -> Judge | None:
    """Return the model that decides whether a reply means one of the answers; None without ``--judge``.

    ``pairs``: its ``--judge-option``. ``out``: the folder in which its answers are stored. ``concurrency``: maximum
    number of open requests unless ``pairs`` set another. Raises UsageError for options that do not go together.
    """
    from kapwa.loading import load_judge

    check_known(matcher, ("lexical", "judge"), f"There is no matcher {matcher!r}.")
    if (matcher == "judge") != (judge is not None):
        raise UsageError("A judge needs both options: --matcher judge --judge MODEL.")
    if judge is None:
        if pairs:
            raise UsageError("--judge-option needs a judging model.", hint="Add: --judge MODEL")
        return None
    served = judge.startswith(("openai:", "inspect:"))
    defaults = {"concurrency": concurrency} if served and concurrency is not None else {}
    return load_judge(judge, out / "judge-answers.sqlite", **judge_settings(pairs, **defaults))


class JudgingCommand(TyperCommand):
    """A verb that also takes the options that installed suites declare for judging answers.

    Their values are ``context.obj``: by name, those that were not given None.
    """

    asks = False  # whether the verb asks a model, and so takes options that change what is asked

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        names = {parameter.name for parameter in self.params}
        self._declared = [each for each in declared_settings(asks=self.asks) if each.name not in names]
        self.params += _parameters(self._declared)

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Call the verb with its own options, those of suites in ``ctx.obj``."""
        ctx.obj = {}
        for setting in self._declared:
            value = ctx.params.pop(setting.name)
            is_list = setting.kind == "names" and value is not None
            ctx.obj[setting.name] = parse_list(value) if is_list else value
        return super().invoke(ctx)


class AskingCommand(JudgingCommand):
    """A verb that takes all options that installed suites declare for their tasks."""

    asks = True


def declared_settings(*, asks: bool) -> list[Setting]:
    """Return the settings that suites declare for the command line, by the first suite that declares each name.

    ``asks``: include those that change what is asked.
    """
    from kapwa.registry import installed

    declared: dict[str, Setting] = {}
    for _, suite in sorted(installed("suites").items()):
        try:
            tasks = suite.load().options.values()
        except Exception:  # noqa: BLE001, S112 - a suite that cannot be loaded must not take the verb away
            continue
        for setting in chain.from_iterable(tasks):
            if setting.metavar and (asks or not setting.asks):
                declared.setdefault(setting.name, setting)
    return list(declared.values())


def _parameters(settings: list[Setting]) -> list[Any]:
    """Let typer make the parameters of a command for ``settings``."""
    parameters = []
    for setting in settings:
        option = typer.Option(
            *setting.spelled.split(),
            metavar=setting.metavar,
            help=setting.help,
            rich_help_panel=setting.panel,
            min=1 if setting.kind == "number" else None,
        )
        annotation: Any = Annotated[int | None, option] if setting.kind == "number" else Annotated[str | None, option]
        parameters.append(
            inspect.Parameter(setting.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        )

    def takes_settings() -> None:
        """Has the parameters made above."""

    takes_settings.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    takes_settings.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(takes_settings)
    return list(typer.main.get_command(app).params)
