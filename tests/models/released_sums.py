"""What the plain loop of the definition gives for every released continuation, recorded once.

One whole pass per continuation takes minutes, and gives the same numbers as long as weights and data are the same.

    python tests/models/released_sums.py ../shared/data/kalahi/filipino.csv
"""

import csv
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kapwa.models import embedded
from kapwa.models.base import ModelOptions
from kapwa.records import Message, Params, Request

RECORD = Path(__file__).with_suffix(".json")


def plain_sum(model: Any, ids: list[int], skip: int) -> float:
    """The definition: the whole text in one plain pass, summed over tokens ``skip`` and later."""
    import torch

    net = model._network
    with torch.inference_mode():
        logits = net.model(torch.tensor([ids], device=net.device)).logits[0, skip - 1 : -1].float()
    return float(logits.log_softmax(-1)[range(len(ids) - skip), ids[skip:]].double().sum())


def scoring_request(prompt: str, continuations: list[str]) -> Request:
    return Request("i", "full", "score", (Message("user", prompt),), tuple(continuations), Params(closing=True))


def released(data: Path) -> Iterator[Request]:
    """Each row's prompt and continuations, a final full stop added where it is missing, as released."""
    with data.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            cells = f"{row['relevant_answers']};{row['irrelevant_answers']}".split(";")
            texts = [text.strip() for text in cells if text.strip()]
            yield scoring_request(row["prompt"].strip(), [text if text.endswith(".") else f"{text}." for text in texts])


def plain_arguments(model: Any, request: Request, text: str) -> tuple[list[int], int]:
    """The tokens of the whole conversation, and how many of them are the prompt's."""
    prompt = model._tokenizer(model.template.prompt(request.messages), add_special_tokens=False).input_ids
    whole = model.template.conversation(request.messages, text)
    return model._tokenizer(whole, add_special_tokens=False).input_ids, len(prompt)


def sources(model: Any, data: Path) -> dict[str, str]:
    """What the recorded sums depend on: the weights and the data."""
    return {"weights": model.fingerprint["revision"], "data": hashlib.sha256(data.read_bytes()).hexdigest()}


def main(data: Path) -> None:
    model = embedded.load("", ModelOptions())
    sums = [
        round(plain_sum(model, *plain_arguments(model, request, text)), 5)
        for request in released(data)
        for text in request.continuations
    ]
    RECORD.write_text(json.dumps({**sources(model, data), "sums": sums}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
