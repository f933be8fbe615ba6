"""EECC as the hub has it: tables that begin with their task's name, answers in folders beside them."""

import shutil
from pathlib import Path

import huggingface_hub
import pytest
from promptpack import write_release

import kapwa
from kapwa.analysis.corpus import open_corpora
from kapwa.suites.eecc.data import EECC_ID, PROMPT_FILES
from kapwa.suites.folders.adding import check_folder

STORY = "Write a story about {concept} for {vowel} {identity} kid."


def write_hub(folder: Path, *, headers: bool = False, answers: bool = True) -> Path:
    """Write the hub's layout; ``headers``: with the scripts' own; ``answers``: of two models, in both tasks."""
    tables = {
        "identities.tsv": ("granularity\tidentity", "country\tUgandan\ncountry\tIrish\n"),
        "qa/qa_concepts.tsv": ("topic\tconcept", "maths\tsets\nart\tjazz\nmaths\tsets\n"),
        "qa/qa_templates.tsv": ("_\t_\ttemplate", "_\t_\tExplain {concept} to {vowel} {identity} person."),
        "stories/story_concepts.tsv": ("topic\tconcept", "moral_values\thonesty\nsettings\tdesert\n"),
        "stories/story_templates.tsv": ("_\t_\ttemplate", f"_\t_\t{STORY}"),
    }
    for name, (header, rows) in tables.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{header}\n{rows}" if headers else rows, encoding="utf-8")
    for task, topic, concept in (("qa", "art", "jazz"), ("stories", "settings", "desert")) if answers else ():
        for model in ("tiny_0.3", "large"):
            write_answers(folder / task / "responses" / f"{model}.tsv", topic, concept, headers=headers)
    return folder


def write_answers(path: Path, topic: str, concept: str, *, headers: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ["_\t_\ttopic\tconcept\tidentity\tprompt\tr0\tr1"] if headers else []
    for who in ("Ugandan", "Irish"):
        kind = "" if headers else "country\t"
        template = "" if headers else f"{STORY}\t"
        prompt = f"About {concept} for {who} kids."
        lines.append(f"_\t_\t{template}{topic}\t{concept}\t{kind}{who}\t{prompt}\tOnce a {who}~| sat.\tAnother {who}.")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("headers", [False, True])
@pytest.mark.parametrize(("task", "prompts"), [("eecc/qa", 4), ("eecc/stories", 4)])
def test_the_hub_s_tables_give_the_prompts_of_the_released_ones(
    task: str, prompts: int, headers: bool, tmp_path: Path
) -> None:
    opened = kapwa.load_task(task, data=write_hub(tmp_path / "hub", headers=headers))
    asked = {item.fields["prompt"] for item in opened.items()}
    assert len(opened.items()) == len(asked) == prompts
    assert {item.culture for item in opened.items()} == {"Ugandan", "Irish"}
    if task == "eecc/qa":
        assert "Explain jazz to an Irish person." in asked
        released = kapwa.load_task(task, data=write_release(tmp_path / "released"))
        assert asked == {item.fields["prompt"] for item in released.items()}
    assert opened.data.card["title"].startswith("EECC")


def test_a_copy_is_data_of_the_form(tmp_path: Path) -> None:
    checked = check_folder(write_hub(tmp_path / "eecc"))
    assert (checked.form, sorted(checked.tasks)) == ("eecc", ["qa", "stories"])
    assert not checked.errors


def test_the_hub_s_name_fetches_the_prompts_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, object] = {}

    def snapshot(repo: str, **options: object) -> str:
        asked.update(options, repo=repo)
        return str(write_hub(tmp_path / "0123456789abcdef", answers=False))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    task = kapwa.load_task("eecc/stories", data=EECC_ID)
    assert task.data.name == "shaily99/eecc@0123456789ab"
    assert (asked["repo"], asked["allow_patterns"]) == (EECC_ID, list(PROMPT_FILES))


@pytest.mark.parametrize("headers", [False, True])
def test_its_answers_are_analysed_as_they_are(headers: bool, tmp_path: Path) -> None:
    folder = write_hub(tmp_path / "hub", headers=headers)
    corpora = open_corpora([folder])
    found = {(corpus.task, corpus.label): corpus.n_texts for corpus in corpora}
    assert found == {(task, model): 4 for task in ("eecc/qa", "eecc/stories") for model in ("tiny_0.3", "large")}
    assert {corpus.identities for corpus in corpora} == {("Irish", "Ugandan")}
    shutil.rmtree(folder / "qa")
    (alone, *_) = open_corpora([folder / "stories" / "responses" / "large.tsv"])
    assert alone.task == "eecc/stories"
    texts = alone.texts(next(iter(alone.concepts))).texts
    assert "Once a Irish\nsat." in texts
