"""Small random networks and tokenizers, built in a moment, for testing the local backend."""

from pathlib import Path
from typing import Any

import transformers
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from tokenizers import decoders as token_decoders

from kapwa.models import network

VOCABULARY = 97
WINDOW = 12

CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

_SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "bos_token_id": None,
    "eos_token_id": None,
    "pad_token_id": None,
}

ARCHITECTURES: dict[str, tuple[type, dict[str, Any]]] = {
    "llama": (transformers.LlamaConfig, _SIZES),
    "qwen2": (transformers.Qwen2Config, _SIZES),
    "gpt2": (
        transformers.GPT2Config,
        {"vocab_size": VOCABULARY, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
        | {"bos_token_id": None, "eos_token_id": None},
    ),
    "gemma2": (transformers.Gemma2Config, _SIZES | {"sliding_window": WINDOW}),
    "gemma3": (
        transformers.Gemma3TextConfig,
        _SIZES | {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]},
    ),
    "mistral": (transformers.MistralConfig, _SIZES | {"sliding_window": WINDOW}),
    "mamba": (
        transformers.MambaConfig,
        {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 4}
        | {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None},
    ),
}


def build(name: str, seed: int = 0, **changes: Any) -> Any:
    """Build a random network whose weights are large enough that its log-probabilities are far from uniform."""
    import torch  # here: the tokenizers need none

    configuration, sizes = ARCHITECTURES[name]
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(configuration(**(sizes | changes))).float().eval()
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if parameter.dim() == 2 and "A_log" not in parameter_name:
                parameter.normal_(0.0, 0.35)
    return model.requires_grad_(False)


def wrapped(name: str, seed: int = 0, **changes: Any) -> network.Network:
    return network.wrap(build(name, seed, **changes))


def train_tokenizer(*, crossing: bool = True, bos: bool = False, chat: bool = True) -> Any:
    """Train a byte-level BPE tokenizer; with ``crossing`` its tokens span spaces and lines, so merges cross joins."""
    from tokenizers import trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not crossing)
    tokenizer.decoder = token_decoders.ByteLevel()
    corpus = [f"{end}\n{start}" for end in "akop.?!" for start in ("Ma", "Sa")]  # tokens across line breaks
    corpus += ["ab ab abc. abd abe. xy xyz", "naman po. salamat po! ikaw po?", "Mabuti Kumusta Salamat"]
    special = [AddedToken(text, special=True) for text in ("<|im_start|>", "<|im_end|>", "<s>", "</s>")]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=special,
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus * 4, trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", bos_token="<s>" if bos else None, pad_token="<|im_end|>"
    )
    if bos:
        from tokenizers.processors import TemplateProcessing

        start, end = fast.convert_tokens_to_ids("<s>"), fast.convert_tokens_to_ids("</s>")
        fast.backend_tokenizer.post_processor = TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", start), ("</s>", end)]
        )
    if chat:
        fast.chat_template = CHAT_TEMPLATE
    return fast


def save_model(folder: Path, name: str = "llama", *, chat: bool = True, bos: bool = False, **changes: Any) -> Path:
    """Write a loadable model folder whose vocabulary fits :func:`train_tokenizer`."""
    tokenizer = train_tokenizer(chat=chat, bos=bos)
    model = build(name, vocab_size=len(tokenizer), eos_token_id=tokenizer.eos_token_id, **changes)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
