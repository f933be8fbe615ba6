"""A Kapwa task as a task of lm-evaluation-harness 0.4.13; the YAML files in ``lm_eval_yaml`` name this class.

Documents come from Kapwa's readers, prompts from Kapwa's requests, and values from Kapwa's scorers: there is no second
way to score. lm-eval sends the requests in its own way, with three visible differences from Kapwa:

- It moves white space at the end of a prompt into the scored text, so that the sum includes the newline with which a
  chat template opens an answer. That newline is scored once by itself and subtracted
  (:func:`kapwa.exchange.lm_eval_answers.responses_of`).
- It does not log token counts, so metrics per token are left out; and its chat templates do not render the end of a
  turn, so the metrics as released (``_reference``) of tasks by likelihood are left out.
- Its standard errors assume independent items; Kapwa's are clustered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version

from lm_eval.api.instance import Instance
from lm_eval.api.metrics import mean
from lm_eval.api.task import Task, TaskConfig
from lm_eval.filters import build_filter_ensemble

from kapwa.errors import UsageError
from kapwa.exchange import lm_eval_answers
from kapwa.exchange.base import expected, means
from kapwa.models.gate import gated
from kapwa.records import Answer, Item, Request
from kapwa.value_types import Cells, Json, JsonMapping, JsonObject


class KapwaTask(Task):  # type: ignore[misc]
    """One Kapwa task over one data source, as lm-eval's task; built by lm-eval from a YAML file."""

    VERSION = 1.0

    def __init__(self, config: JsonMapping) -> None:
        # Not super().__init__(): it would download a dataset from the hub.
        settings = {key: value for key, value in config.items() if key != "class"}
        metadata = settings.get("metadata") or {}
        self.kapwa = lm_eval_answers.task_of(settings["task"], metadata)
        items = self.kapwa.items()
        if "generate" in self.kapwa.needs:
            first = next(iter(self.kapwa.requests(items[:1])))
            settings["generation_kwargs"] = lm_eval_answers.generation_settings(first.params)
        # lm-eval writes this into its results, so that an import knows which data were used.
        source = {**metadata["kapwa"], "digest": self.kapwa.data.digest, "version": version("kapwa")}
        self._config = TaskConfig(**{**settings, "metadata": {**metadata, "kapwa": source}})
        self.OUTPUT_TYPE = self._config.output_type
        self._items = {(item.id, item.variant): item for item in items}
        self._docs: list[Cells] = self.kapwa.item_table(items).to_dicts()
        # Verdicts of people or a judging model are added after an import; lm-eval has no field for them.
        judged_here = [name for name, info in self.kapwa.metrics.items() if info.judged_by != "verdicts"]
        self._metrics = [name for name in judged_here if lm_eval_answers.is_available(name, self.kapwa)]
        self._training_docs = self._fewshot_docs = self._instances = None
        self._filters = [build_filter_ensemble("none", [["take_first", None]])]
        self.fewshot_rnd = None

    def has_training_docs(self) -> bool:
        """No: Kapwa's prompts have no examples."""
        return False

    def has_validation_docs(self) -> bool:
        """No."""
        return False

    def has_test_docs(self) -> bool:
        """Yes: every item."""
        return True

    def test_docs(self) -> list[Cells]:
        """Return the items as rows of plain values, in Kapwa's order."""
        return self._docs

    def doc_to_text(self, doc: Mapping[str, object]) -> str:
        """Return the prompt."""
        return str(doc["prompt"])

    def doc_to_target(self, doc: Mapping[str, object]) -> str:
        """Return the right answer for lm-eval's logs."""
        return str(expected(doc))

    def aggregation(self) -> dict[str, Callable[[Sequence[float]], float]]:
        """Return the mean for every metric."""
        return dict.fromkeys(self._metrics, mean)

    def higher_is_better(self) -> dict[str, bool]:
        """Return the direction of each metric; higher where it has none, which lm-eval cannot express."""
        return {name: self.kapwa.metrics[name].higher_is_better is not False for name in self._metrics}

    def fewshot_context(self, doc: JsonMapping, num_fewshot: int, **settings: Json) -> list[str]:
        """Return one rendered prompt for each of Kapwa's requests about the item.

        ``settings``: lm-eval's ``system_instruction``, ``apply_chat_template``, ``chat_template``. Without a chat
        template the prompt is Kapwa's plain one: the text and a newline. Raises UsageError for worked examples.
        """
        if num_fewshot:
            raise UsageError(f"{self.kapwa.name} is asked without examples.", hint="Leave out --num_fewshot.")
        chat = settings.get("chat_template") if settings.get("apply_chat_template") else None
        system = settings.get("system_instruction")
        prompts = []
        for request in self._requests(doc):
            messages = [{"role": message.role, "content": message.content} for message in request.messages]
            if system:
                messages.insert(0, {"role": "system", "content": system})
            prompts.append(chat(messages) if chat else "".join(f"{message['content']}\n" for message in messages))
        return prompts

    def construct_requests(self, doc: JsonObject, ctx: Sequence[str], **settings: object) -> list[Instance]:
        """Return lm-eval's requests about one item: one text, or one likelihood for each continuation."""
        arguments: list[tuple[str, tuple[Json, ...]]] = []
        for request, prompt in zip(self._requests(doc), ctx, strict=True):
            if request.kind == "generate":
                arguments.append(("generate_until", (prompt, {**(self._config.generation_kwargs or {})})))
            else:
                pairs = lm_eval_answers.likelihood_arguments(prompt, request.continuations)
                arguments += [("loglikelihood", pair) for pair in pairs]
        metadata = settings["metadata"]
        return [
            Instance(request_type=kind, doc=doc, arguments=pair, idx=i, metadata=metadata)
            for i, (kind, pair) in enumerate(arguments)
        ]

    def process_results(self, doc: Mapping[str, object], results: Sequence[object]) -> dict[str, float]:
        """Judge one item as Kapwa does; metrics without a value for it are absent."""
        requests = self._requests(doc)
        answers = list(map(Answer, requests, gated(lm_eval_answers.responses_of(requests, results))))
        values = means(self.kapwa.score([self._item(doc)], answers).scores)
        return {metric: value for metric, value in values.items() if metric in self._metrics}

    def _item(self, doc: JsonMapping) -> Item:
        return self._items[doc["item_id"], doc["variant"]]

    def _requests(self, doc: Mapping[str, object]) -> list[Request]:
        return list(self.kapwa.requests([self._item(doc)]))
