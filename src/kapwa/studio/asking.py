"""Ask a model about a draft: which response it finds likeliest, and what it would say. A help, never a filter."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kapwa.errors import ModelError, UsageError
from kapwa.loading import load_model
from kapwa.models.base import Model
from kapwa.records import Answer, Message, Params, Request, Response
from kapwa.studio.fields import SLOTS, Fields, as_item
from kapwa.suites.kalahi.form import RESPONSES
from kapwa.suites.kalahi.mc import judge_mc, mc_requests

LONGEST_ANSWER = 96  # tokens
NO_MODEL = gettext_lazy("Whoever runs the studio names one: kapwa studio serve --model smollm2")
_BUSY = threading.Lock()


def model_name() -> str:
    """Return the model that the studio was served with, "" for none."""
    return str(getattr(settings, "KAPWA_MODEL", ""))


@cache
def _model() -> Model:
    return load_model(model_name())


def ask(fields: Fields) -> dict[str, Any]:
    """Return what the model makes of a whole situation: ``model``, ``asked``, ``fails``, ``likelihoods``, ``answer``.

    ``asked``: the model as the studio was told it; ``likelihoods``: the log-probability per byte of each response, by
    its field; ``fails``: whether an irrelevant one is likelier than the best (or as likely), None for a model that
    cannot score; ``answer``: its own words, None for one that cannot write. Raises UsageError where no model is
    configured or it is busy, ModelError where it fails.
    """
    if not model_name():
        raise UsageError(_("No model is configured."), hint=str(NO_MODEL))
    if not _BUSY.acquire(timeout=30):
        raise UsageError(_("The model answers somebody else."), hint=_("Try again in a minute."))
    try:
        model = _model()
        item = as_item(fields, "draft", "draft", "")
        found: dict[str, Any] = {
            "model": model.id,
            "asked": model_name(),
            "fails": None,
            "likelihoods": {},
            "answer": None,
        }
        if "score" in model.capabilities:
            request = replace(next(iter(mc_requests([item]))), key="score")
            answer = Answer(request, _answered(next(iter(model.score([request])))))
            judged = judge_mc([item], [answer])
            right = judged.scores.filter(judged.scores["metric"] == "mc1")["value"][0]
            rows = judged.tables["continuations"].iter_rows(named=True)
            names = [f"{group}_{slot}" for group in RESPONSES for slot in range(1, SLOTS + 1)]
            filled = [name for name in names if fields.get(name)]
            per_byte = {name: row["logprob_sum"] / row["n_bytes"] for name, row in zip(filled, rows, strict=True)}
            found |= {"fails": not right, "likelihoods": {name: round(value, 4) for name, value in per_byte.items()}}
        if "generate" in model.capabilities:
            message, limit = (Message("user", item.fields["prompt"]),), Params(max_new_tokens=LONGEST_ANSWER)
            request = Request("draft", "full", "generate", message, params=limit, key="generate")
            found["answer"] = _answered(next(iter(model.generate([request])))).text
        return found
    finally:
        _BUSY.release()


def _answered(response: Response) -> Response:
    if response.failed:
        raise ModelError(
            _("The model gave no answer: %(reason)s.") % {"reason": response.error}, hint=_("Try again later.")
        )
    return response
