"""The line that says how a number came about."""

from typing import Any

from kapwa.runs.manifest import signature

MANIFEST: dict[str, Any] = {
    "task": "kalahi/mc",
    "kapwa": "0.1.0",
    "seed": 3,
    "options": {"metrics": ["chrf", "bleu"], "length": 256, "none": None},
    "selection": {"variants": ["full", "partial"], "items": {"full": 150, "partial": 149}},
    "data": {"name": "filipino", "digest": "1a2b3c4d5e6f7a8b"},
    "model": {
        "id": "smollm2",
        "revision": "abc123abc123abc123",
        "fingerprint": {"dtype": "float32", "template": "chat:0011223344556677", "id": "x", "scoring": "tree"},
    },
}


def test_a_signature_says_how_a_number_came_about() -> None:
    assert signature(MANIFEST, "mc1", "full") == (
        "kalahi/mc|metric:mc1|data:filipino@1a2b3c|variant:full|n:150|model:smollm2@abc123|dtype:float32"
        "|template:chat:001122|scoring:tree|options:length=256,metrics=chrf+bleu|seed:3|kapwa:0.1.0"
    )


def test_the_signature_of_a_whole_run_covers_its_variants() -> None:
    assert signature(MANIFEST).startswith("kalahi/mc|data:filipino@1a2b3c|variant:full+partial|n:299|model:")


def test_a_model_without_revision_and_a_template_written_out() -> None:
    model = {"id": "openai:a|b c", "revision": "", "fingerprint": {"template": "{% for m in messages %}" * 9}}
    fields = dict(part.split(":", 1) for part in signature({**MANIFEST, "model": model}, "mc1").split("|")[1:])
    assert fields["model"] == "openai:a%7c;b%20;c"
    assert len(fields["template"]) == 6
