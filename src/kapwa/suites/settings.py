"""What may be set for a task: each suite declares its own, for ``kapwa.load_task`` and for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of a task: a keyword of :func:`kapwa.load_task`, and of the command line where it has a ``metavar``.

    ``kind``: "names" is a list parted by commas, or a file of them. ``panel``: under which heading help shows it.
    ``spelled``: its spellings on the command line, where they are not its name. ``asks``: it bears on what is asked,
    so that ``kapwa score`` has no use for it.
    """

    name: str
    help: str
    metavar: str = ""
    kind: Literal["text", "number", "names"] = "text"
    panel: str | None = None
    spelled: str = ""
    asks: bool = False


_OPEN = "Open tasks"
MAX_NEW_TOKENS = Setting(
    "max_new_tokens", "Longest answer in tokens \\[default: the task's own].", "N", "number", asks=True
)
SIMILARITIES: Sequence[Setting] = (
    Setting(
        "metrics",
        "Similarities of open tasks, comma-separated, such as chrf,sentence \\[default: all without a model].",
        "NAMES",
        "names",
        _OPEN,
    ),
    Setting("bertscore_model", "Encoder for BERTScore (hub id or folder).", "MODEL", panel=_OPEN),
    Setting("bertscore_layer", "The layer of that encoder that is compared.", kind="number"),
    Setting("bleurt_model", "BLEURT checkpoint (hub id or folder).", "MODEL", panel=_OPEN),
    Setting(
        "sentence_model",
        "Encoder for the metric sentence (hub id, id@revision or folder). Default: LaBSE.",
        "MODEL",
        panel=_OPEN,
    ),
    Setting("device", "Where encoders compute: auto, cpu, cuda, mps."),
)
