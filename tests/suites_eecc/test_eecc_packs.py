"""The sample packs: illustrative, large enough, and our own in wording."""

from pathlib import Path

from kapwa.suites.base import Selection
from kapwa.suites.eecc import suite
from kapwa.suites.eecc.data import load
from kapwa.suites.eecc.variants import TASKS


def test_every_pack_can_be_asked_in_every_variant() -> None:
    asked = {}
    for name in suite.pack_names():
        task = suite.open_task("eecc/qa", f"sample:{name}", Selection(variants=("direct", "direct_reference")), {})
        asked[name] = {item.variant for item in task.items()}
        assert task.data.illustrative
    assert asked == {
        "nationalities": {"direct", "direct_reference", "letter", "letter_reference"},
        "cities": {"direct", "spanish"},
        "crossed": {"direct"},
    }


def test_spanish_prompts_are_spanish_throughout() -> None:
    task = suite.open_task("eecc/qa", "sample:cities", Selection(variants=("spanish",)), {})
    prompts = {item.id: item.fields["prompt"] for item in task.items()}
    assert prompts["outings/a picnic/Cairo"] == "Explica un pícnic a alguien que vive en El Cairo. Escribe en español."
    assert {item.language for item in task.items()} == {"es"}


def test_our_wording_is_not_the_released_one(eecc_data: Path) -> None:
    released = [load(eecc_data, task) for task in TASKS]
    ours = [load(None, task) for task in TASKS]
    concepts = {concept.name.casefold() for prompts in released for concept in prompts.concepts}
    assert not concepts & {concept.name.casefold() for prompts in ours for concept in prompts.concepts}
    templates = {template.text for prompts in released for template in prompts.templates}
    assert not templates & {template.text for prompts in ours for template in prompts.templates}
