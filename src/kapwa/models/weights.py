"""Finding and reading a local model's weights: a hub id, a folder, or a GGUF file.

Everything goes through transformers; this module only makes its failures clear, refuses weights that
would be partly random or unpickled, and says which bytes were read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import io
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kapwa.errors import MissingDependencyError, ModelError
from kapwa.models.base import ModelOptions
from kapwa.value_types import Keywords, Untyped

log = logging.getLogger(__name__)

DTYPES = ("float32", "bfloat16", "float16")
TAKEN = "batch_tokens device dtype revision scoring template thinking thinking_tokens trust_remote_code"
WEIGHT_PATTERNS = ("*.safetensors", "*.gguf", "*.bin", "*.json", "*.model", "*.jinja", "*.txt", "*.tiktoken", "*.py")
_AT_REVISION = re.compile(r"(?P<repo>\w[\w.-]*(?:/[\w.-]+)?)@(?P<revision>[\w./-]+)")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class WeightsSource:
    """Where weights come from. ``folder`` is a folder or hub id; ``gguf`` a file name in it.

    ``revision``: the branch, tag or commit named with a hub id.
    """

    id: str
    folder: str
    gguf: str | None
    local: bool
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """A loaded model and tokenizer, and the identity of the bytes they came from."""

    model: Untyped
    tokenizer: Untyped
    revision: str


def locate(name: str) -> WeightsSource:
    """Tell what ``name`` is: a ``.gguf`` file, a folder, else a hub id, or one @REVISION; raise ModelError if none."""
    if not name or name.strip() != name:
        raise ModelError(
            f"{name!r} is neither a hub id nor a path.", hint="Example: hf:aisingapore/Gemma-SEA-LION-v3-9B-IT."
        )
    path = Path(name).expanduser()
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise ModelError(
                f"{name} is a file, but not a .gguf file.",
                hint="Give a .gguf file, or the folder that holds config.json and *.safetensors.",
            )
        return WeightsSource(f"hf:{path.name}", str(path.parent), path.name, local=True)
    if path.is_dir():
        if not (path / "config.json").exists():
            gguf = min(path.glob("*.gguf"), default=None)
            hint = f"It holds GGUF files; name one: hf:{gguf}" if gguf else "It needs config.json and weights."
            raise ModelError(f"The folder {name} holds no model: config.json is missing.", hint=hint)
        return WeightsSource(f"hf:{path.resolve().name}", str(path), None, local=True)
    named = _AT_REVISION.fullmatch(name)
    if named is not None:
        return WeightsSource(f"hf:{named['repo']}", named["repo"], None, local=False, revision=named["revision"])
    if name.lower().endswith(".gguf") or name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name:
        near = sorted(p.name for p in path.parent.glob("*") if p.is_dir() or p.suffix == ".gguf")[:8]
        hint = f"{path.parent} holds: {', '.join(near)}" if near else "Check the path."
        raise ModelError(f"There is no file or folder {name}.", hint=hint)
    return WeightsSource(f"hf:{name}", name, None, local=False)


def load(source: WeightsSource, options: ModelOptions) -> Weights:
    """Load model and tokenizer; raise ModelError (what, why, remedy) or MissingDependencyError."""
    options.refuse_others("A local model", TAKEN, ("date", "pickle_weights", "template_arguments"))
    if options.dtype not in DTYPES:
        raise ModelError(f"There is no numeric type {options.dtype!r}.", hint=f"Available: {', '.join(DTYPES)}.")
    # transformers itself asks for accelerate when it unpacks a GGUF file.
    for package in ("torch", "transformers", *(("gguf", "accelerate") if source.gguf else ())):
        if importlib.util.find_spec(package) is None:
            raise MissingDependencyError(package, extra="local", purpose=f"Loading {source.id}")
    import torch
    import transformers

    auto: Untyped = transformers.AutoModelForCausalLM  # its annotation hides that loading info comes along
    device = _device(options.device)
    common: Keywords = {"trust_remote_code": options.trust_remote_code, "local_files_only": source.local}
    if not source.local:
        common["revision"] = commit = _commit(source, options)
    dense: Keywords = {}
    if source.gguf:
        common["gguf_file"] = source.gguf
        if hasattr(transformers, "GgufConfig"):
            # Where a package of kernels is installed, weights would stay packed, with arithmetic of their own.
            dense["quantization_config"] = transformers.GgufConfig(dequantize=True)
    safe_only = None if source.gguf or options.extra.get("pickle_weights") else True
    with _loading(transformers, source.gguf):
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(source.folder, **common)
            model, info = auto.from_pretrained(
                source.folder,
                dtype=getattr(torch, options.dtype),
                use_safetensors=safe_only,
                output_loading_info=True,
                **common,
                **dense,
            )
            model = model.to(device).eval().requires_grad_(False)
        except Exception as error:  # the loaders raise a dozen kinds, of four libraries
            raise _explained(error, source, options) from error
    if missing := sorted(info.get("missing_keys", ())):
        raise ModelError(  # transformers would fill them with random numbers
            f"The weights of {source.id} lack {len(missing)} parameters (for example {missing[0]}).",
            hint="They would be random. The folder may be incomplete, or hold another kind of model.",
        )
    revision = content_hash(source) if source.local else commit
    return Weights(model, tokenizer, revision)


def tokenizer_at_hand(source: WeightsSource, options: ModelOptions) -> Untyped:
    """Return a model's tokenizer, without its weights and without fetching it; None where it is not on this machine."""
    if importlib.util.find_spec("transformers") is None:
        return None
    import transformers

    common: Keywords = {"trust_remote_code": options.trust_remote_code, "local_files_only": True}
    if not source.local:
        common["revision"] = source.revision or options.revision
    if source.gguf:
        common["gguf_file"] = source.gguf
    with _loading(transformers, source.gguf):
        try:
            return transformers.AutoTokenizer.from_pretrained(source.folder, **common)
        except Exception as error:  # noqa: BLE001 - the loaders raise a dozen kinds, of four libraries
            log.info("The tokenizer of %s is not at hand: %s", source.id, error)
            return None


def _commit(source: WeightsSource, options: ModelOptions) -> str:
    """Return the commit that a hub model's revision means now, or meant when it was last fetched.

    Weights and tokenizer are then read at that commit, though the branch may move between the two.
    """
    from huggingface_hub import hf_hub_download

    if source.revision and options.revision and source.revision != options.revision:
        raise ModelError(
            f"{source.id}@{source.revision} and --revision {options.revision} name two revisions.", hint="Give one."
        )
    wanted = source.revision or options.revision
    try:
        # Online the hub tells; offline, or where the hub cannot be reached, the local cache's refs do.
        file = hf_hub_download(source.folder, "config.json", revision=wanted)
    except Exception as error:  # the loaders raise a dozen kinds, of three libraries
        raise _explained(error, source, options) from error
    commit = Path(file).parent.name
    if not _COMMIT.fullmatch(commit):
        raise ModelError(
            f"The hub's commit of {source.id} cannot be told, so a result could not be tied to its weights.",
            hint="Fetch the model (hf download <id>) and give its folder.",
        )
    return commit


def _device(wanted: str) -> Untyped:
    import torch

    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = " ".join(str(error).split())[:160]
        raise ModelError(f"The device {wanted!r} cannot be used: {reason}", hint="Try 'cpu', or 'auto'.") from None
    return device


@contextlib.contextmanager
def _loading(transformers: Untyped, gguf_file: str | None) -> Iterator[None]:
    """Keep progress bars and advice of the libraries off the terminal; parse a GGUF header once.

    transformers would parse it four times, and unpacks it with a bar that no setting turns off, so that stderr is kept
    back meanwhile.
    """
    logging_ = transformers.utils.logging
    with contextlib.ExitStack() as undo:
        undo.callback(logging_.set_verbosity, logging_.get_verbosity())
        if logging_.is_progress_bar_enabled():
            undo.callback(logging_.enable_progress_bar)
        logging_.set_verbosity_error()
        logging_.disable_progress_bar()
        if gguf_file is not None:
            import gguf

            for name, used in (("GGUFReader", _reader()), ("get_tensor_name_map", gguf.get_tensor_name_map)):
                undo.callback(setattr, gguf, name, getattr(gguf, name))
                setattr(gguf, name, functools.cache(used))
            undo.enter_context(contextlib.redirect_stderr(io.StringIO()))
        yield


def _reader() -> Untyped:
    """Return gguf's reader over a plain array: small parts of a memory map take four times as long to read."""
    import gguf
    import numpy as np

    class PlainReader(gguf.GGUFReader):
        def __setattr__(self, name: str, value: object) -> None:
            super().__setattr__(name, np.asarray(value) if name == "data" else value)

    return PlainReader


def _explained(error: Exception, source: WeightsSource, options: ModelOptions) -> Exception:
    """Turn what a loader raised into a message that says what to do."""
    from kapwa.models.network import out_of_memory

    text = " ".join(str(error).split())
    reason = f"{type(error).__name__}: {text[:300]}"
    if out_of_memory(error):
        return ModelError(
            f"{source.id} does not fit in memory.",
            hint="Use dtype='bfloat16' (half the memory), another device, or a smaller model.",
        )
    if "trust_remote_code" in text:
        return ModelError(
            f"{source.id} brings its own program code, which is not run unless you allow it.",
            hint="Read that code; if you trust it, load the model with trust_remote_code=True.",
        )
    if isinstance(error, ImportError):
        return ModelError(f"{source.id} needs a package that is not installed ({text[:200]}).")
    if source.gguf:
        return ModelError(
            f"{Path(source.folder) / source.gguf} cannot be read as a GGUF model ({reason})",
            hint="The file may be truncated (fetch it again), or its architecture unknown to transformers.",
        )
    if source.local:
        return ModelError(
            f"The folder {source.folder} cannot be loaded as a causal language model ({reason})",
            hint="It needs config.json, the tokenizer's files and *.safetensors weights (pickled .bin weights are not"
            " read unless extra={'pickle_weights': True}).",
        )
    wanted = source.revision or options.revision
    revision = f" --revision {wanted}" if wanted else ""
    return ModelError(
        f"{source.id} cannot be loaded from the Hugging Face hub ({reason})",
        hint=f"Check the id and the network; without network, fetch it elsewhere first (hf download <id>{revision}) and"
        " give its folder. For gated models accept the licence on the hub and set HF_TOKEN in the environment.",
    )


def content_hash(source: WeightsSource) -> str:
    """Hash a local model's files by name and content: 16 hex digits of BLAKE2b."""
    folder = Path(source.folder)
    if source.gguf:
        files = [folder / source.gguf]
    else:
        files = sorted({file for pattern in WEIGHT_PATTERNS for file in folder.glob(pattern) if file.is_file()})
    state = hashlib.blake2b(digest_size=8)
    for file in files:
        with file.open("rb") as stream:
            digest = hashlib.file_digest(stream, "blake2b").digest()
        # A GGUF file is the same model under any name.
        state.update((b"" if source.gguf else file.name.encode()) + b"\0" + digest)
    return state.hexdigest()
