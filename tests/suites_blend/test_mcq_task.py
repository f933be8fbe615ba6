"""The task ``blend/mcq``: items, requests, judging by generation and by likelihood, floors, options."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import polars as pl
import pytest
from releasewriter import write_rows as write_csv
from sklearn.metrics import cohen_kappa_score
from test_mcq_data import PROMPT, built_row, released_row

from kapwa.errors import DataError, UsageError
from kapwa.labels.choices.sheets import options_of
from kapwa.models.gate import gate
from kapwa.records import SCORE_COLUMNS, Answer, ContinuationScore, Request, Response
from kapwa.suites.base import Selection, Task
from kapwa.suites.blend.mcq_judging import (
    GENERATE_METRICS,
    LIKELIHOOD_METRICS,
    generate_prompt,
    letter_prompt,
    paper_prompt,
    text_prompt,
)
from kapwa.suites.blend.mcq_task import open_mcq_task
from kapwa.suites.blend.variants import MCQ_VARIANTS


@pytest.fixture
def built(tmp_path: Path) -> Path:
    rows = [
        built_row(),
        built_row(id="Testland/q-2/1", question_id="q-2", answer="A", option_A="A very long coffee"),
        built_row(id="Otherland/q-1/1", country="Otherland", answer="B", option_B="Abricot"),
        built_row(id="Otherland/q-2/1", country="Otherland", question_id="q-2", answer="D"),
    ]
    write_csv(tmp_path / "mcq.csv", rows)
    return tmp_path


def opened(data: Path, **options: object) -> Task:
    return open_mcq_task(data, Selection(), options)


def replies(task: Task, texts: Sequence[str | None]) -> list[Answer]:
    requests = list(task.requests(task.items()))
    return [
        Answer(request, gate(Response("k", text=text)) if text is not None else gate(Response("k", error="timed out")))
        for request, text in zip(requests, texts, strict=True)
    ]


def logprobs(request: Request, values: Sequence[float]) -> Answer:
    scores = tuple(
        ContinuationScore(value, max(len(text) // 4, 1), len(text.encode()), len(text))
        for value, text in zip(values, request.continuations, strict=True)
    )
    return Answer(request, gate(Response("k", logprobs=scores)))


def column(frame: pl.DataFrame, metric: str, name: str) -> list[object]:
    return frame.filter(pl.col("metric") == metric)[name].to_list()


def test_it_is_a_task_and_its_items_say_who_and_what(built: Path) -> None:
    task: Task = opened(built)
    item = task.items()[0]
    assert (item.id, item.culture, item.cluster, item.variant, item.language) == (
        "Testland/q-1/1",
        "Testland",
        "q-1",
        "generate",
        "en",
    )
    assert (item.suite, item.category, item.topic) == ("blend", "Food", "Food")
    assert task.options == {"how": "generate", "max_new_tokens": 128, "reader": 10}
    assert task.needs == {"generate"}
    assert task.headline == ("mcq_acc",)
    assert set(task.headline) <= set(task.metrics)


def test_the_way_of_asking_is_an_option_or_a_variant(built: Path) -> None:
    assert open_mcq_task(built, Selection(variants=("likelihood",)), {}).options["how"] == "likelihood"
    task = opened(built, how="likelihood")
    assert task.needs == {"score"}
    assert task.options == {"how": "likelihood"}
    assert {item.variant for item in task.items()} == {"likelihood"}
    with pytest.raises(UsageError, match="do not fit together"):
        open_mcq_task(built, Selection(variants=("generate", "likelihood")), {})
    with pytest.raises(UsageError, match="do not fit together"):
        open_mcq_task(built, Selection(variants=("generate",)), {"how": "likelihood"})
    with pytest.raises(UsageError, match="likelihoods are another measurement"):
        open_mcq_task(built, Selection(variants=MCQ_VARIANTS), {})
    with pytest.raises(UsageError, match="no way 'guess'"):
        opened(built, how="guess")
    with pytest.raises(UsageError, match="max_new_tokens is 0"):
        opened(built, max_new_tokens=0)
    with pytest.raises(UsageError, match="needs its questions"):
        open_mcq_task(None, Selection(), {})


def test_prompts_show_every_option_with_its_letter(built: Path) -> None:
    task = opened(built)
    (request, *_) = task.requests(task.items())
    prompt = request.messages[0].content
    assert prompt == generate_prompt("What do people drink?", ("Coffee", "=Juice", "Tea", "Water"))
    assert all(line in prompt for line in ("A. Coffee\n", "B. =Juice\n", "C. Tea\n", "D. Water\n", '"answer_choice"'))
    assert (request.kind, request.params.temperature, request.params.max_new_tokens) == ("generate", 0.0, 128)


def test_a_released_prompt_is_asked_as_it_is(tmp_path: Path) -> None:
    write_csv(tmp_path / "mc_questions_file.csv", [released_row()])
    task = opened(tmp_path)
    (request,) = task.requests(task.items())
    assert request.messages[0].content == PROMPT
    (text, letters) = opened(tmp_path, how="likelihood").requests(opened(tmp_path, how="likelihood").items())
    assert text.messages[0].content == text_prompt("What do people drink in Testland?")
    assert "coffee" not in text.messages[0].content
    assert letters.messages[0].content == letter_prompt(
        "What do people drink in Testland?", ("coffee", "juice", "tea", "water")
    )
    assert (text.continuations, letters.continuations) == (("coffee", "juice", "tea", "water"), tuple("ABCD"))


def test_the_paper_s_prompt_is_that_of_the_released_questions(built: Path, tmp_path: Path) -> None:
    assert paper_prompt("What do people drink in Testland?", ("coffee", "juice", "tea", "water")) == PROMPT
    task = opened(built, how="paper")
    (request, *_) = task.requests(task.items())
    assert request.messages[0].content == paper_prompt("What do people drink?", ("Coffee", "=Juice", "Tea", "Water"))
    assert (task.headline, task.options["how"]) == (("mcq_acc",), "paper")
    write_csv(tmp_path / "released" / "mc_questions_file.csv", [released_row()])
    asked = open_mcq_task(tmp_path / "released", Selection(variants=("generate", "paper")), {})
    assert {request.messages[0].content for request in asked.requests(asked.items())} == {PROMPT}


def test_both_wordings_are_asked_and_judged_in_one_run(built: Path) -> None:
    task = open_mcq_task(built, Selection(variants=("generate", "paper")), {})
    items = task.items()
    assert [item.variant for item in items] == ["generate"] * (len(items) // 2) + ["paper"] * (len(items) // 2)
    assert "how" not in task.options
    answers = replies(task, ['{"answer_choice":"' + item.fields["answer"] + '"}' for item in items])
    scores = task.score(items, answers).scores.filter(pl.col("metric") == "mcq_acc")
    assert scores.group_by("variant").agg(pl.col("value").mean()).sort("variant").rows() == [
        ("generate", 1.0),
        ("paper", 1.0),
    ]
    chance = [floor for floor in task.floors(items) if (floor.name, floor.note) == ("chance", "")]
    assert {(floor.variant, floor.value) for floor in chance if floor.metric == "mcq_acc"} == {
        ("generate", 0.25),
        ("paper", 0.25),
    }


def test_judging_replies(built: Path) -> None:
    task = opened(built)
    answers = replies(task, ['{"answer_choice": "C"}', "The answer is B.", "I am not able to help with that.", None])
    judged = task.score(task.items(), answers)
    scores = judged.scores
    assert scores.columns == list(SCORE_COLUMNS)
    assert column(scores, "mcq_acc", "value") == [1.0, 0.0, 0.0, None]
    assert column(scores, "mcq_acc", "outcome") == ["right", "wrong", "refused", "failed"]
    assert column(scores, "mcq_acc_parsed", "value") == [1.0, 0.0, None, None]
    # Released: the first capital letter of prose, T and I.
    assert column(scores, "mcq_acc_reference", "value") == [1.0, 0.0, 0.0, None]
    assert set(scores["metric"]) == set(GENERATE_METRICS)
    table = judged.tables["answers"]
    assert table["letter"].to_list() == ["C", "B", None, None]
    assert table["chosen_culture"].to_list() == ["Land C", "Land B", None, None]
    assert table["read_as"].to_list() == ["json", "stated", "none", None]
    assert table["letter_reference"].to_list() == ["C", "T", "I", None]
    assert table["error"].to_list() == [None, None, None, "timed out"]
    cases = judged.tables["cases"]
    assert cases["item_id"].to_list() == ["Testland/q-2/1", "Otherland/q-1/1", "Testland/q-1/1"]
    assert cases["got"].to_list() == ["=Juice", "I am not able to help with that.", "Tea"]


@pytest.mark.parametrize(
    ("text", "outcome"), [("", "empty"), ("  ", "empty"), ("Hard to say.", "unparsed"), ("A or B", "unparsed")]
)
def test_what_cannot_be_read_is_said(built: Path, text: str, outcome: str) -> None:
    task = open_mcq_task(built, Selection(where={"id": ("Testland/q-1/1",)}), {})
    scores = task.score(task.items(), replies(task, [text])).scores
    assert column(scores, "mcq_acc", "outcome") == [outcome]
    assert column(scores, "mcq_acc", "value") == [0.0]
    assert column(scores, "mcq_acc_parsed", "value") == [None]


def test_samples_are_kept_apart_and_repeats_refused(built: Path) -> None:
    task = open_mcq_task(built, Selection(where={"id": ("Testland/q-1/1",)}), {})
    (request,) = task.requests(task.items())
    second = Request(request.item_id, request.variant, "generate", request.messages, sample=1)
    answers = [Answer(second, gate(Response("j", text="A"))), Answer(request, gate(Response("k", text="C")))]
    scores = task.score(task.items(), answers).scores
    assert column(scores, "mcq_acc", "sample") == [0, 1]
    assert column(scores, "mcq_acc", "value") == [1.0, 0.0]
    with pytest.raises(UsageError, match="two answers to item 'Testland/q-1/1'"):
        task.score(task.items(), [answers[1], answers[1]])
    with pytest.raises(UsageError, match=r"\(variant 'generate'\), sample 1, which is not among"):
        task.score([], answers)


def test_judging_log_probabilities(built: Path) -> None:
    task = opened(built, how="likelihood")
    requests = list(task.requests(task.items()))
    assert [request.kind for request in requests] == ["score"] * 8
    answers = [
        logprobs(requests[0], (-9.0, -9.0, -1.0, -9.0)),  # the right text, C
        logprobs(requests[1], (-1.0, -2.0, -3.0, -4.0)),  # the wrong letter
        logprobs(requests[2], (-6.0, -5.0, -5.0, -5.0)),  # long text: wrong summed, right per byte
        logprobs(requests[3], (-1.0, -1.0, -3.0, -4.0)),  # a tie
        Answer(requests[4], gate(Response("k", error="timed out"))),
        logprobs(requests[5], (-9.0, -1.0, -9.0, -9.0)),
    ]
    judged = task.score(task.items(), answers)
    scores = judged.scores
    assert set(scores["metric"]) == set(LIKELIHOOD_METRICS)
    assert column(scores, "mcq_text", "value") == [1.0, 1.0, None, None]
    assert column(scores, "mcq_text_sum", "outcome") == ["right", "wrong", "failed", "failed"]
    assert column(scores, "mcq_letter", "outcome") == ["wrong", "tie", "right", "failed"]
    assert column(scores, "mcq_letter", "value") == [0.0, 0.0, 1.0, None]
    options = judged.tables["options"]
    assert options.filter(pl.col("item_id") == "Testland/q-1/1")["logprob_text"].to_list() == [-9.0, -9.0, -1.0, -9.0]
    assert options.filter(pl.col("right"))["letter"].to_list() == ["C", "A", "B"]
    assert judged.tables["cases"]["got"].to_list() == ["A very long coffee", "Tea"]
    assert judged.tables["cases"]["margin"].is_sorted()


def test_options_that_are_letters_are_told_from_the_letters_of_options(tmp_path: Path) -> None:
    texts = dict(zip(("option_A", "option_B", "option_C", "option_D"), "ABCD", strict=True))
    write_csv(tmp_path / "mcq.csv", [built_row(**texts, answer="C")])
    task = opened(tmp_path, how="likelihood")
    asked_texts, asked_letters = task.requests(task.items())
    answers = [logprobs(asked_texts, (-9, -9, -1, -9)), logprobs(asked_letters, (-1, -9, -9, -9))]
    for in_order in (answers, answers[::-1]):
        scores = task.score(task.items(), in_order).scores
        assert (column(scores, "mcq_text", "value"), column(scores, "mcq_letter", "value")) == ([1.0], [0.0])


def test_an_item_table_for_readers(built: Path) -> None:
    task = opened(built)
    table = task.item_table(task.items())
    assert table["options"].to_list()[0] == ["Coffee", "=Juice", "Tea", "Water"]
    assert table["answer"].to_list() == ["C", "A", "B", "D"]
    assert table["option_cultures"].to_list()[0] == ["Land A", "Land B", "Land C", "Land D"]
    assert task.item_table([]).columns == table.columns


def test_floors(built: Path) -> None:
    task = opened(built)
    found = {(f.metric, f.name, f.note): f.value for f in task.floors(task.items())}
    assert {metric for metric, _, _ in found} == set(GENERATE_METRICS)
    floors = {name: value for (metric, name, note), value in found.items() if metric == "mcq_acc" and not note}
    # Right: Tea (C), "A very long coffee" (A), Abricot (B; 7 letters), Water (D).
    assert floors == {
        "chance": 0.25,
        "always A": 0.25,
        "always B": 0.25,
        "always C": 0.25,
        "always D": 0.25,
        "longest": 0.5,
        "shortest": 0.25,
        # "=Juice" comes before every letter; only where it is gone is the right option, Abricot, the first.
        "alphabetical first": 0.25,
    }
    assert found["mcq_acc", "always C", "Testland"] == 0.5
    assert {note for _, _, note in found} == {"", "Testland", "Otherland"}
    likelihood = opened(built, how="likelihood")
    assert {f.metric for f in likelihood.floors(likelihood.items())} == set(LIKELIHOOD_METRICS)
    assert task.floors([]) == []


def test_ties_of_length_are_shared(tmp_path: Path) -> None:
    texts = {"option_A": "abcd", "option_B": "efgh", "option_C": "ijkl", "option_D": "mno"}
    write_csv(tmp_path / "mcq.csv", [built_row(**texts, answer="A")])
    task = opened(tmp_path)
    floors = {f.name: f.value for f in task.floors(task.items()) if f.metric == "mcq_acc"}
    assert floors["longest"] == pytest.approx(1 / 3)
    assert floors["shortest"] == 0.0
    assert floors["alphabetical first"] == 1.0


SCALE = Path(__file__).parents[1] / "exchange" / "scale_choices"


def test_several_right_options_are_each_right(tmp_path: Path) -> None:
    rows = [built_row(answer="D; A"), built_row(id="Testland/q-2/1", question_id="q-2", answer="C")]
    write_csv(tmp_path / "mcq.csv", rows)
    task = opened(tmp_path)
    assert [item.fields["answer"] for item in task.items()] == ["A,D", "C"]
    assert "One or more of the options below are right." in task.items()[1].fields["prompt"]
    for text, value in (("A", 1.0), ("D", 1.0), ("B", 0.0), ("A and D", 0.0)):
        assert column(task.score(task.items()[:1], replies(task, [text, ""])[:1]).scores, "mcq_acc", "value") == [value]
    floors = {f.name: f.value for f in task.floors(task.items()) if f.metric == "mcq_acc"}
    assert (floors["chance"], floors["always A"], floors["always C"]) == (3 / 8, 1 / 2, 1 / 2)
    with pytest.raises(UsageError, match="several right options"):
        options_of(task.items()[0])
    likelihood = opened(tmp_path, how="likelihood")
    texts, letters = list(likelihood.requests(likelihood.items()))[:2]
    assert letters.messages[0].content.endswith("Reply with the letter of a right option.\n\nAnswer:")
    scored = [logprobs(texts, (-9, -8, -7, -1)), logprobs(letters, (-2, -1, -5, -2))]
    judged = likelihood.score(likelihood.items()[:1], scored)
    assert column(judged.scores, "mcq_text_sum", "value") == [1.0]
    assert column(judged.scores, "mcq_letter", "outcome") == ["wrong"]
    assert judged.tables["options"]["right"].to_list() == [True, False, False, True]
    assert set(judged.tables["cases"]["expected"]) == {"Coffee / Water"}


@pytest.mark.parametrize(
    ("answer", "words"), [("A,F", "'F' is not"), ("B,B", "twice"), ("A,B,C,D", "every option right")]
)
def test_impossible_right_options(tmp_path: Path, answer: str, words: str) -> None:
    write_csv(tmp_path / "mcq.csv", [built_row(answer=answer)])
    with pytest.raises(DataError, match=words):
        opened(tmp_path)


def test_a_drawn_order_follows_from_the_seed_and_moves_the_key_with_its_option(tmp_path: Path) -> None:
    rows = [built_row(id=f"{land}/q-{n}", question_id=f"q-{n}", country=land) for land in "XY" for n in range(60)]
    write_csv(tmp_path / "mcq.csv", rows)
    task, plain = opened(tmp_path, shuffle=7), opened(tmp_path)
    assert (task.options["shuffle"], "shuffle" in plain.options) == (7, False)
    drawn = task.items()
    assert drawn == opened(tmp_path, shuffle=7).items() != opened(tmp_path, shuffle=8).items()
    for before, after in zip(plain.items(), drawn, strict=True):
        whose = dict(zip(after.fields["options"], after.fields["cultures"], strict=True))
        assert whose == dict(zip(before.fields["options"], before.fields["cultures"], strict=True))
        assert after.fields["options"][after.fields["letters"].index(after.fields["answer"])] == "Tea"
    orders = [item.fields["options"] for item in drawn]
    assert orders[:60] != orders[60:], "each culture has orders of its own"
    counts = Counter(item.fields["answer"] for item in drawn)
    assert all(16 <= counts[letter] <= 44 for letter in "ABCD"), counts


def test_prompts_that_show_their_options_keep_their_order(tmp_path: Path) -> None:
    write_csv(tmp_path / "mc_questions_file.csv", [released_row()])
    with pytest.raises(UsageError, match="shows its options"):
        opened(tmp_path, shuffle=1)


@pytest.mark.parametrize("shuffle", [None, 5])
def test_labels_chosen_on_an_ordered_scale(shuffle: int | None) -> None:
    """Against the definition, by the labels alone, in whatever order they are shown."""
    labels = [["Kamwe", "Mara chache", "Mara nyingi", "Daima"], ["Never", "Seldom", "Often", "Always"]]
    right = [{0}, {1, 2}, {3}, {2}, {0, 1}, {1}, {3}, {2}]
    said = [0, 0, 1, 2, 3, 3, None, 1]
    task = opened(SCALE, shuffle=shuffle)
    scale = [labels[item.language == "en"] for item in task.items()]
    texts = ["?" if place is None else names[place] for place, names in zip(said, scale, strict=True)]
    judged = task.score(task.items(), replies(task, texts))
    steps = [None if at is None else float(min(abs(at - r) for r in key)) for at, key in zip(said, right, strict=True)]
    assert column(judged.scores, "ordinal_distance", "value") == steps
    table = judged.tables["scale"]
    assert table.filter(culture="Kenya").select("right", "chosen", "n", "of").rows() == [
        ("Kamwe", "Kamwe", 1, 1),
        ("Mara nyingi", "Mara chache", 1, 1),
        ("Daima", "Mara chache", 1, 1),
    ]
    assert table.filter(pl.col("chosen").is_null())["right"].to_list() == ["Always"]
    pairs = [(min(key), at) for key, at in zip(right, said, strict=True) if len(key) == 1 and at is not None]
    kappa = cohen_kappa_score(*zip(*pairs, strict=True), weights="quadratic", labels=range(4))
    over_all = judged.tables["scale_agreement"].filter(culture="").row(0, named=True)
    assert (over_all["kappa"], over_all["n"]) == (pytest.approx(kappa), len(pairs))
    floors = {f.name: f.value for f in task.floors(task.items()) if f.metric == "ordinal_distance" and not f.note}
    chance = fmean([fmean([min(abs(at - r) for r in key) for at in range(4)]) for key in right])
    assert floors["chance"] == pytest.approx(chance)
    if shuffle is None:
        assert floors["always A"] == pytest.approx(fmean([min(key) for key in right]))
