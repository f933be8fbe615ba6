"""Ratings of texts across cultures (EECC) by files, from the run to the figures, in groups of people."""

import csv
import json
from pathlib import Path

import pytest
from form_filling import fill_form

import kapwa
from kapwa.errors import UsageError
from kapwa.labels.judges.panel import plan_judging
from kapwa.labels.ratings.analysis import human_ratings
from kapwa.tables import read_sheet


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two samples, of which one answer failed."""
    place = tmp_path_factory.mktemp("texts")
    task = kapwa.load_task("eecc/qa", samples=2, identities=["Filipino", "Irish"], limit=16, seed=0)
    path = place / "secretive-1b.jsonl"
    rows = [
        {"item_id": item.id, "variant": item.variant, "sample": sample, "text": f"{item.id}, text {sample}"}
        for item in task.items()
        for sample in range(2)
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = kapwa.load_model(f"replay:{path}")
    return kapwa.evaluate(task, model, out=place / "runs", progress=False, label="secretive-1b").path


def test_texts_are_rated_by_two_groups_and_read_back(run: Path, tmp_path: Path) -> None:
    (form,) = kapwa.write_forms(
        "eecc", tmp_path, answers=[run], where={"culture": "Filipino"}, groups=2, people=3, items_n=None
    )
    n = kapwa.open_run(run).items.filter(culture="Filipino").height
    assert (form.items, form.people) == (n, 6)
    text = form.instructions.read_text(encoding="utf-8")
    assert "a yes can be praise or blame" in text
    assert "situation" not in text
    sheets = [sheet for sheet in form.sheets if sheet.suffix == ".csv"]
    shares = [{row.cells["response"] for row in read_sheet(sheet)} for sheet in sheets]
    assert shares[0] == shares[1] == shares[2]
    assert shares[0].isdisjoint(shares[3])  # whole texts to a group
    assert all(response.endswith("text 0") for share in shares for response in share)  # the first sample
    with sheets[0].open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.DictReader(file).fieldnames or ())[2:] == ["prompt", "response", "Acc", "Wan", "Str", "remark"]
    assert "secretive" not in sheets[0].read_text(encoding="utf-8-sig")
    for place, sheet in enumerate(sheets):
        fill_form(sheet, lambda row, place=place: {"Acc": "oo", "Wan": "yes" if place % 3 else "no", "Str": "hindi"})
    judged = human_ratings(sheets, key=form.key)
    shown = {row["criterion"]: (row["agreed"], row["n"]) for row in judged.shares.iter_rows(named=True)}
    assert shown == {"Acc": (n, n), "Wan": (n, n), "Str": (0, n)}
    assert judged.rubric == "eecc-adaptation"
    assert set(judged.shares["system"]) == {"secretive-1b"}


def test_texts_are_rated_by_a_rubric_of_ones_choice_and_longer_sheets_are_asked_for(run: Path, tmp_path: Path) -> None:
    chosen = {"where": {"culture": "Irish"}, "answers": [run], "people": 1, "rubric": "depicted", "items_n": 2}
    (form,) = kapwa.write_forms("eecc", tmp_path / "forms", **chosen)
    told = form.instructions.read_text(encoding="utf-8")
    assert "Guess nothing from a name" in told
    assert "{" not in told
    sheets = [sheet for sheet in form.sheets if sheet.suffix == ".csv"]
    fill_form(sheets[0], lambda row: {"Wom": "yes", "Min": "no"})
    judged = human_ratings(sheets, key=form.key, rubric="depicted")
    shown = {row["criterion"]: row["agreed"] for row in judged.shares.iter_rows(named=True) if row["n"]}
    assert (shown["Wom"], shown["Min"]) == (2, 0)
    with pytest.raises(UsageError, match="answered with yes or no"):
        kapwa.write_forms("eecc", tmp_path, **{**chosen, "rubric": "tone"})
    with pytest.raises(UsageError, match="A rubric is for ratings"):
        kapwa.write_forms("kalahi", tmp_path, rubric="depicted")


def test_no_judging_model_is_asked_what_is_for_people_alone(run: Path) -> None:
    judging = plan_judging([kapwa.open_run(run)], "depicted")
    asked = [prompt.request.messages[-1].content for prompt in judging.prompts()]
    assert asked
    assert all("woman or a girl" in text and "mind to be shown" not in text and '"Min"' not in text for text in asked)


def test_a_form_is_for_people_of_one_culture_and_has_no_wrong_answers(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="2 cultures"):
        kapwa.write_forms("eecc", tmp_path, answers=[run])
    with pytest.raises(UsageError, match="no answers to rate"):
        kapwa.write_forms("eecc", tmp_path, answers=[run], per_country=3)
    with pytest.raises(UsageError, match="People cannot choose the right option in eecc"):
        kapwa.write_forms("eecc", tmp_path)
