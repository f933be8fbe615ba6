"""Facts of responses that lie in files: corpora, what they hold and what is wanting."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kapwa.analysis.corpus import Corpus, open_corpora
from kapwa.analysis.datasheet.facts import Facts, TextCounts, count, flat, listed

_READ = "read from the files"


def responses_facts(path: Path, attribute: str | None) -> Facts:
    """Return what is recorded of a file or folder of responses; raise DataError as ``open_corpora`` does."""
    corpora = open_corpora([path], attribute=attribute)
    facts = Facts(path.resolve().name, "Texts that models wrote, each for one concept and one reader.")
    tell_corpora(facts, corpora, _READ)
    named = [corpus.model for corpus in corpora if corpus.model != corpus.source.stem]
    if named:
        facts.tell("collection.acquired", f"Written by: {listed(list(dict.fromkeys(named)))}", _READ)
    temperatures = sorted({corpus.temperature for corpus in corpora if corpus.temperature is not None})
    if temperatures:
        facts.tell("collection.mechanism", f"Temperature: {listed(temperatures)}", _READ)
    return facts


def tell_corpora(facts: Facts, corpora: Sequence[Corpus], source: str) -> None:
    """Tell what corpora hold: counts, groups, what is missing, copies, digests."""
    attribute = corpora[0].attribute
    facts.about += [f"Texts of {flat(c.label)}, {flat(c.task)}: digest {c.digest}" for c in corpora]
    facts.tell("composition.instances", f"One instance is one text, of one concept and one {attribute}.", source)
    header = ["corpus", "task", "concepts", f"values of {attribute}", "texts", "samples of each", "failed"]
    rows = [[c.label, c.task, len(c.concepts), len(c.identities), c.n_texts, c.samples, c.failed] for c in corpora]
    facts.tell("composition.count", f"{count(sum(c.n_texts for c in corpora), 'text')} in all", "counted", settled=True)
    facts.table("composition.count", header, rows)
    topics = dict.fromkeys(key.topic for corpus in corpora for key in corpus.concepts)
    facts.tell("composition.content", f"Topics: {listed(list(topics))}", source)
    facts.tell("composition.content", f"A text, its topic, its concept, its {attribute}, its sample number", source)
    for corpus in corpora:
        for note in corpus.notes() or ["Nothing is missing: every value has every sample of every concept."]:
            facts.tell("composition.missing", f"{corpus.label}, {corpus.task}: {note}", "counted")
    facts.tell(
        "composition.relations",
        f"Columns tie texts together: topic, concept, {attribute}, and the number of the sample.",
        source,
    )
    who = dict.fromkeys(identity for corpus in corpora for identity in corpus.identities)
    facts.tell("composition.subpopulations", f"Values of {attribute}: {listed(list(who))}", source)
    facts.tell("composition.sensitive", f"Every text is tied to a {attribute}.", source)
    counts = TextCounts()
    for corpus in corpora:
        for key in corpus.concepts:
            texts = corpus.texts(key)
            counts.add(texts.texts, texts.groups.tolist())
    counts.tell(facts, group="concept", owner=attribute)
