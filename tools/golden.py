"""Write the tables of a dozen fixed runs, so that a change of the code can be held against what was before.

Usage: python tools/golden.py FOLDER [--released ../shared/data]

Each run gives a subfolder with its score, estimate and floor tables; the multiple-choice build gives its table, the
analysis all of its tables. ``tests/golden`` holds what they were; ``tests/golden/test_golden.py`` compares. Who answers
is :class:`Planted`: replies from ``tests/golden/replies`` and log-probabilities made of a hash of the text, so that no
model's arithmetic is in the numbers. With ``--released`` the full released data are judged besides; what comes of them
is not committed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import kapwa
from kapwa.models.base import Model
from kapwa.records import ContinuationScore, Request, Response

REPLIES = Path(__file__).parents[1] / "tests" / "golden" / "replies"
TABLES = ("scores", "estimates", "floors")
WORDS = [
    "river",
    "market",
    "bread",
    "elder",
    "school",
    "winter",
    "coin",
    "song",
    "law",
    "garden",
    "bridge",
    "debt",
    "council",
    "seed",
    "storm",
    "vote",
    "neighbour",
    "history",
    "trade",
    "mountain",
    "feast",
    "letter",
    "harvest",
    "uncle",
    "road",
    "tax",
    "drum",
    "village",
    "promise",
    "festival",
    "lamp",
    "boat",
]
SURVEY_QUESTIONS = 8


def draw(*parts: object) -> int:
    """Return a fixed number below 2**64 for ``parts``."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


class Planted(Model):
    """A model that answers at once: texts from a file (else made of a fixed list of words), scores from a hash."""

    id = "planted"
    revision = "1"
    capabilities = frozenset({"score", "generate", "n_samples"})

    def __init__(self, replies: Path | None = None) -> None:
        """Read ``replies``, JSON lines with item_id, variant, sample and text."""
        rows = [json.loads(line) for line in replies.read_text(encoding="utf-8").splitlines()] if replies else []
        self._texts = {(row["item_id"], row["variant"], row["sample"]): row["text"] for row in rows}

    @property
    def fingerprint(self) -> Mapping[str, Any]:
        """By item, as equal prompts may have different replies."""
        return {"backend": "planted", "by_item": True}

    def generate(self, batch: Sequence[Request]) -> Iterator[Response]:
        """Yield the planted texts."""
        for request in batch:
            text = self._texts.get((request.item_id, request.variant, request.sample))
            yield Response(request.key, text=made_up(request) if text is None else text, finish_reason="stop")

    def score(self, batch: Sequence[Request]) -> Iterator[Response]:
        """Yield log-probabilities between -1 and 0 for each byte, fixed by item and text."""
        for request in batch:
            yield Response(request.key, logprobs=tuple(_scored(request, text) for text in request.continuations))


def _scored(request: Request, text: str) -> ContinuationScore:
    size = len(text.encode())
    total = -size * (draw(request.item_id, request.variant, text) % 1000 + 1) / 1000
    tokens = len(text.split()) or 1
    return ContinuationScore(
        logprob_sum=total,
        n_tokens=tokens,
        n_bytes=size,
        n_chars=len(text),
        logprob_sum_reference=total - 0.25 if request.params.closing else None,
        token_logprobs=tuple([total / tokens] * tokens),
    )


def made_up(request: Request) -> str:
    """Return twelve words of a fixed list; a fifth of the texts also name the item's last part."""
    words = [WORDS[draw(request.item_id, request.sample, i) % len(WORDS)] for i in range(12)]
    if draw(request.item_id, request.sample, "named") % 5 == 0:
        words[3] = request.item_id.rsplit("/", 1)[-1]
    return " ".join(words).capitalize() + "."


def run(out: Path, name: str, task: str, *, replies: str | None = None, **options: Any) -> Path:
    """Evaluate ``task`` and write its tables to ``out/name``; return the run's folder."""
    opened = kapwa.load_task(task, **options)
    folder = out / "runs" / name
    evaluated = kapwa.evaluate(opened, Planted(REPLIES / replies if replies else None), path=folder, progress=False)
    target = out / name
    target.mkdir(parents=True)
    for table in TABLES:
        pl.read_parquet(folder / f"{table}.parquet").write_parquet(target / f"{table}.parquet", compression="zstd")
    del evaluated
    return folder


def survey(path: Path, runs: Sequence[Path]) -> Path:
    """Write a made-up survey: one row a country, a few answers missing."""
    items = pl.concat(pl.read_parquet(folder / "items.parquet") for folder in runs)
    countries = sorted(set(items.get_column("country")))
    lines = ["country," + ",".join(f"Q{n}" for n in range(1, SURVEY_QUESTIONS + 1))]
    for country in countries:
        cells = [draw(country, n) % 1000 / 100 for n in range(SURVEY_QUESTIONS)]
        lines.append(
            f"{country},"
            + ",".join("" if draw(country, n, "gap") % 9 == 0 else f"{c:.2f}" for n, c in enumerate(cells))
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def sample_runs(out: Path) -> None:
    """Every task over the sample packs, one analysis, one multiple-choice build."""
    run(out, "kalahi-mc", "kalahi/mc", variant="all")
    run(out, "kalahi-mc-filipino", "kalahi/mc", data="sample:filipino", variant="full", limit=4)
    run(out, "kalahi-open", "kalahi/open", variant="all", replies="kalahi-open.jsonl")
    run(out, "blend-saq", "blend/saq", language="local,en", prompt="inst-4,pers-3", replies="blend-saq.jsonl")
    run(out, "blend-saq-one", "blend/saq", data="sample:south-korea", replies="blend-saq.jsonl")
    built = out / "runs" / "mcq"
    kapwa.build_mcq(None, built, seed=3)
    (out / "mcq-build").mkdir()
    for name in ("mcq.csv", "skipped.csv", "verdicts.csv"):
        table = pl.read_csv(built / name, infer_schema=False)
        table.write_parquet(out / "mcq-build" / f"{Path(name).stem}.parquet", compression="zstd")
    run(out, "blend-mcq-generate", "blend/mcq", data=built, replies="blend-mcq.jsonl")
    run(out, "blend-mcq-likelihood", "blend/mcq", data=built, how="likelihood")
    told = [run(out, "eecc-qa", "eecc/qa", samples=3), run(out, "eecc-stories", "eecc/stories", samples=2, limit=40)]
    analyse(out, "analysis", told)


def analyse(out: Path, name: str, runs: Sequence[Path]) -> None:
    """Analyse ``runs`` with a made-up survey; write every table."""
    values = survey(out / "runs" / f"{name}.csv", runs)
    done = kapwa.analyze(
        [str(folder) for folder in runs],
        values=[str(values)],
        controls=["geography"],
        path=out / "runs" / name,
        permutations=99,
        workers=1,
        seed=5,
        progress=False,
    )
    (out / name).mkdir()
    for path in sorted(Path(done.path).glob("*.parquet")):
        pl.read_parquet(path).write_parquet(out / name / path.name, compression="zstd")


def released_runs(out: Path, data: Path) -> None:
    """The released data with made-up or planted replies."""
    for variant in ("full", "partial", "unenriched"):
        run(out, f"released-kalahi-mc-{variant}", "kalahi/mc", data=data / "kalahi", variant=variant)
    run(
        out, "released-kalahi-open", "kalahi/open", data=data / "kalahi", replies="released-kalahi-open.jsonl", limit=40
    )
    run(out, "released-blend-saq", "blend/saq", data=data / "blend", replies="released-blend-saq.jsonl")


def main() -> None:
    """Write all tables into a new folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--released", type=Path, help="folder of the released data")
    given = parser.parse_args()
    if given.released:
        released_runs(given.folder, given.released)
    else:
        sample_runs(given.folder)


if __name__ == "__main__":
    main()
