"""Ask a model about a draft: which response it finds likeliest, and what it would say. A help, never a filter."""

from __future__ import annotations

import threading
from functools import cache

from django.conf import settings
from django.utils.translation import gettext as _

from kapwa.errors import ModelError, UsageError
from kapwa.loading import load_model
from kapwa.models.base import Model
from kapwa.records import Message, Params, Request, Response
from kapwa.studio.situations.fields import GROUPS, Fields, best_response, prompts
from kapwa.value_types import JsonObject

LONGEST_ANSWER = 96  # tokens
_BUSY = threading.Lock()


def model_name() -> str:
    """Return the model that the studio was served with, "" for none."""
    return str(getattr(settings, "KAPWA_MODEL", ""))


@cache
def _model() -> Model:
    return load_model(model_name())


def ask(fields: Fields) -> JsonObject:
    """Return what the model makes of a whole situation: ``model``, ``asked``, ``fails``, ``likelihoods``, ``answer``.

    ``asked``: the model as the studio was told it; ``fails``: whether an irrelevant response is likelier than the best
    (or as likely), with ``likelihoods``, the log-probability per byte of each by its field, of a model that can score;
    ``answer``: its own words, of one that can write. Raises UsageError where no model is configured or it is busy,
    ModelError where it fails.
    """
    if not model_name():
        hint = _("Whoever runs the studio can choose one: kapwa studio serve --model smollm2")
        raise UsageError(_("No model is configured."), hint=hint)
    if not _BUSY.acquire(blocking=False):  # whoever waited would hold a thread of the studio
        raise UsageError(_("The model is answering somebody else."), hint=_("Try again in a minute."))
    try:
        model = _model()
        verdict: JsonObject = {"model": model.id, "asked": model_name(), "fails": None, "answer": None}
        message = (Message("user", prompts(fields)["full"]),)
        if "score" in model.capabilities:
            verdict |= _likelihoods(model, fields, message)
        if "generate" in model.capabilities:
            limit = Params(max_new_tokens=LONGEST_ANSWER)
            request = Request("draft", "full", "generate", message, params=limit, key="generate")
            verdict["answer"] = _answered(next(iter(model.generate([request])))).text
        return verdict
    finally:
        _BUSY.release()


def _likelihoods(model: Model, fields: Fields, message: tuple[Message, ...]) -> JsonObject:
    filled = [name for names in GROUPS.values() for name in names if fields.get(name)]
    texts = tuple(dict.fromkeys(fields[name] for name in filled))
    request = Request("draft", "full", "score", message, texts, key="score")
    scores = _answered(next(iter(model.score([request])))).logprobs or ()
    per_byte = {text: score.logprob_sum / score.n_bytes for text, score in zip(texts, scores, strict=True)}
    likelihoods = {name: round(per_byte[fields[name]], 4) for name in filled}
    wrong = max(per_byte[fields[name]] for name in filled if name in GROUPS["irrelevant"])
    return {"fails": wrong >= per_byte[best_response(fields)], "likelihoods": likelihoods}


def _answered(response: Response) -> Response:
    if response.failed:
        message = _("The model gave no answer: %(reason)s.") % {"reason": response.error}
        raise ModelError(message, hint=_("Try again later."))
    return response
