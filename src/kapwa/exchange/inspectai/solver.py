"""The solver of Kapwa's tasks: ask what Kapwa asks about the item, keep every answer in the sample's output."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from inspect_ai.model import GenerateConfig, Model, ModelOutput, get_model
from inspect_ai.model._providers.none import NoModel
from inspect_ai.solver import Generate, Solver, TaskState, solver

from kapwa.errors import ModelError
from kapwa.exchange.inspectai.exchanged import joined
from kapwa.exchange.inspectai.opened import METADATA, find, plainly
from kapwa.exchange.inspectai.provider import KapwaAPI
from kapwa.models.inspect import chat
from kapwa.records import Request


@solver
def ask() -> Solver:
    """Ask each of Kapwa's requests about the sample's item: one text, several samples of one, or likelihoods."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = get_model()
        with plainly():
            found = find(state.metadata)
            requests = found.opened.requests(found.item)
            if requests[0].kind == "score":
                check_scores(model, found.opened.name)
        # Each epoch is a further set of draws.
        first = (state.epoch - 1) * len(requests)
        drawn = [replace(request, sample=first + request.sample) for request in requests]
        settings = [_settings(state, model, request, i) for i, request in enumerate(drawn)]
        if len(requests) == 1 and requests[0].kind == "generate":
            return await generate(state, tool_calls="none", **settings[0])
        outputs: list[ModelOutput] = []
        for request, own in zip(requests, settings, strict=True):
            messages = list(state.messages) if len(requests) == 1 else chat(request.messages)
            outputs.append(await model.generate(messages, config=GenerateConfig(**own)))
        state.output = joined(outputs)
        state.messages.extend(choice.message for choice in state.output.choices)
        return state

    return solve


def _settings(state: TaskState, model: Model, request: Request, index: int) -> dict[str, Any]:
    """Return what this request has of its own: the seed of its sample and, for Kapwa's provider, which it is."""
    settings: dict[str, Any] = {}
    if request.params.seed is not None:
        # With one seed for all, samples of a prompt would be copies of each other.
        settings["seed"] = request.params.seed + request.sample
    if isinstance(model.api, KapwaAPI):
        settings["extra_body"] = {METADATA: {**state.metadata[METADATA], "request": index, "sample": request.sample}}
    return settings


def check_scores(model: Model, task: str) -> None:
    """Raise ModelError for a model that cannot say how likely it finds a given text; "none" asks for nothing."""
    if not isinstance(model.api, KapwaAPI | NoModel):
        raise ModelError(
            f"{task} compares how likely the model finds given texts; {model} tells no log-probability of a given text "
            "through Inspect.",
            hint="Use --model kapwa/smollm2, kapwa/hf:<id or folder>, or kapwa/openai:<name> with a server that tells "
            "them (vLLM, SGLang); or ask for texts: kapwa/kalahi_open, or kapwa/blend_mcq without how=likelihood.",
        )
