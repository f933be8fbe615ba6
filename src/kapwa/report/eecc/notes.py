"""What stands around the numbers: cautions, settings, versions, signatures, how to cite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kapwa.report.eecc.view import AnalysisView
from kapwa.report.text import clean, isolate, label_text

EMBEDDED = ("smollm2",)
LISTED_SEPARATELY = frozenset({"versions", "signatures", "signature", "digest", "corpora", "format", "notes"})
MOST_FACTS = 80
MOST_WARNINGS = 6
_PATHS = frozenset({"path", "source"})
_PAPER = (
    "Shaily Bhatt and Fernando Diaz (2024): Extrinsic Evaluation of Cultural Competence in Large Language Models. "
    "Findings of EMNLP 2024."
)


def cautions(view: AnalysisView) -> list[str]:
    """What a reader must know before any number: illustrative data, a tiny model, warnings of the analysis."""
    said = []
    if _holds(view.analysis.manifest, "illustrative"):
        said.append("These prompts are a sample that shows the form: its numbers measure nothing about a culture.")
    small = [corpus.label for corpus in view.corpora if _embedded(str(corpus.row["model"]))]
    if small:
        whole = len(small) == len(view.corpora)
        which = "The texts are by" if whole else "Some texts are by"
        said.append(
            f"{which} SmolLM2-135M, a model of 135 million parameters. It follows a nationality in a prompt loosely, "
            "repeats itself, and is often wrong. Its results show that the analysis works; they say nothing about what "
            "larger models do, nor about any culture."
        )
    return said + _warnings(view)[:MOST_WARNINGS]


def _warnings(view: AnalysisView) -> list[str]:
    rows = view.analysis.notes.iter_rows(named=True)
    return list(dict.fromkeys(label_text(row["text"]) for row in rows if row["severity"] == "warning"))


def remarks(view: AnalysisView) -> list[str]:
    """The notes of the analysis that do not stand at the top."""
    rows = view.analysis.notes.iter_rows(named=True)
    plain = list(dict.fromkeys(label_text(row["text"]) for row in rows if row["severity"] != "warning"))
    return _warnings(view)[MOST_WARNINGS:] + plain


def _embedded(model: str) -> bool:
    return any(name in model.casefold() for name in EMBEDDED)


def _holds(value: Any, key: str) -> bool:
    """Whether ``key`` is true anywhere in a manifest."""
    if isinstance(value, Mapping):
        return bool(value.get(key)) or any(_holds(one, key) for one in value.values())
    return isinstance(value, list) and any(_holds(one, key) for one in value)


def facts(value: Mapping[str, Any]) -> list[tuple[str, str]]:
    """A manifest as flat lines, "settings › seed: 0"; long lists are counted, not told."""
    found = [(name, text) for name, text in _flat(value, ()) if name.partition(" › ")[0] not in LISTED_SEPARATELY]
    return found[:MOST_FACTS]


def _flat(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            # Where files lay is nobody's business; what they were called is.
            named = Path(str(one)).name if key in _PATHS and isinstance(one, str) else one
            yield from _flat(named, (*path, label_text(key)))
    elif isinstance(value, list | tuple):
        if any(isinstance(one, Mapping | list | tuple) for one in value):
            for k, one in enumerate(value, start=1):
                yield from _flat(one, (*path, str(k)))
        else:
            shown = ", ".join(clean(one) for one in value[:12])
            yield " › ".join(path), shown + (f" and {len(value) - 12} more" if len(value) > 12 else "")
    elif value is not None and value != "":
        yield " › ".join(path), clean(value)


def versions(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Versions of what made the analysis."""
    every = {"kapwa": manifest.get("kapwa"), **dict(manifest.get("versions") or {})}
    return [(label_text(name), clean(value)) for name, value in every.items() if value is not None]


def signatures(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The signatures that tell how the numbers came about, by what they sign."""
    found: list[tuple[str, str]] = []
    for key in ("signature", "digest"):
        if manifest.get(key):
            found.append((f"analysis, {key}", clean(manifest[key])))
    named = manifest.get("signatures") or {}
    if isinstance(named, Mapping):
        found += [(label_text(name), clean(text)) for name, text in _flat(named, ())]
    for corpus in manifest.get("corpora") or ():
        if isinstance(corpus, Mapping):
            told = label_text(", ".join(str(corpus[key]) for key in ("corpus", "label", "task") if corpus.get(key)))
            how = "|".join(f"{key}:{text}" for key, text in _flat(corpus.get("computed_with") or {}, ()))
            for key, text in (
                ("signature", corpus.get("signature")),
                ("texts, digest", corpus.get("digest")),
                ("how", how),
            ):
                if text:
                    found.append((f"{isolate(told)}, {key}", clean(text)))
    return found


def citations(view: AnalysisView) -> Sequence[str]:
    """What to cite beside the numbers."""
    version = dict(versions(view.analysis.manifest)).get("kapwa", "")
    kapwa = f"Kapwa {version}".strip() + ", analysis " + isolate(clean(view.analysis.path.name))
    return [f"{kapwa}, with the signature of each number below.", _PAPER]
