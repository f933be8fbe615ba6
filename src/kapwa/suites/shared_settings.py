"""Options that several tasks have, each declared once."""

from __future__ import annotations

from kapwa.suites.base import Setting

MAX_NEW_TOKENS = Setting(
    "max_new_tokens",
    "Maximum length of an answer in tokens. Default: the task's own.",
    metavar="N",
    kind="number",
    asks=True,
)
# The similarities that ``kalahi/open`` computes unless others are named; none of them needs a model.
OPEN_METRICS = ("chrfpp", "chrf", "bleu", "rouge1", "rouge2", "rougeL", "meteor")
# Of the two tasks whose replies are compared with reference texts.
SIMILARITY = (
    Setting(
        "metrics",
        "Similarity metrics, comma-separated, such as chrf,sentence. "
        f"Default: {','.join(OPEN_METRICS)} for kalahi/open, none for blend/saq.",
        metavar="NAMES",
        kind="names",
        panel="Open tasks",
    ),
    Setting("bertscore_model", "Encoder for BERTScore (Hub id or folder).", metavar="MODEL", panel="Open tasks"),
    Setting("bertscore_layer", "The layer of that encoder to use.", kind="number"),
    Setting("bleurt_model", "BLEURT checkpoint (Hub id or folder).", metavar="MODEL", panel="Open tasks"),
    Setting(
        "sentence_model",
        "Encoder for the metric sentence (Hub id, id@revision or folder). Default: LaBSE.",
        metavar="MODEL",
        panel="Open tasks",
    ),
    Setting("device", "Device of the encoders: auto, cpu, cuda, mps."),
)
SEED = Setting("seed", "Seed of the samples, combined with the number of the sample and the prompt.", kind="number")
# Of the tasks that draw several texts for each prompt.
SAMPLING = (
    Setting("samples", "Texts sampled for each prompt. Default: 5.", kind="number"),
    Setting("temperature", "Sampling temperature of the texts; 0 is greedy. Default: 0.3.", kind="number"),
    SEED,
)
