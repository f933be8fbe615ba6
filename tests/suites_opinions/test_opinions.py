"""Survey answers: distances and noise by definition, replies read, floors, persistence, coverage, bad tables."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.simulations import opinions as planted
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import binom
from typer.testing import CliRunner

import kapwa
from kapwa.cli.main import app
from kapwa.errors import DataError, KapwaError, ModelError, UsageError
from kapwa.models.gate import gate
from kapwa.records import Answer, ContinuationScore, Item, Response
from kapwa.stats.pooled import pooled_mean
from kapwa.suites.base import Selection, Task
from kapwa.suites.choices.reader import read_choice
from kapwa.suites.choices.shares import read_percentages
from kapwa.suites.folders.opening import open_with_mapping
from kapwa.suites.opinions import suite
from kapwa.suites.opinions.between import correlation_words, persistence_words
from kapwa.suites.opinions.judging import floors
from kapwa.suites.opinions.shares import distances, people_of
from published_tables import MAPPINGS

OPTIONS = ("Yes", "No", "It depends")
HEADER = "question_id,culture,language,question,options,counts,shares,people\n"


def survey(data: Path | None = None, variants: tuple[str, ...] | None = None, **options: Any) -> Task:
    return open_with_mapping(suite, "opinions/survey", data, Selection(variants), options)


def written(folder: Path, rows: str, header: str = HEADER) -> Path:
    (folder / "opinions.csv").write_text(header + rows, encoding="utf-8")
    return folder


def item(question: str, culture: str, counts: tuple[float, ...], variant: str = "person", people: int = 0) -> Item:
    fields = {"numbers": counts, "options": OPTIONS[: len(counts)], "people": people, "names_culture": True}
    return Item(f"{question}/{culture}", "opinions", culture, "en", "", "", variant, question, fields)


# --- distances --------------------------------------------------------------------------------------------------


def plain_distances(p: list[float], q: list[float]) -> tuple[float, float]:
    """Total variation and Jensen–Shannon distance (base 2), sum by sum."""
    variation, divergence = 0.0, 0.0
    for a, b in zip(p, q, strict=True):
        variation += abs(a - b) / 2
        middle = (a + b) / 2
        for side in (a, b):
            divergence += side * math.log2(side / middle) / 2 if side > 0 else 0.0
    return variation, math.sqrt(max(divergence, 0.0))


@given(st.integers(2, 20).flatmap(lambda k: st.tuples(*[st.lists(st.integers(0, 50), min_size=k, max_size=k)] * 2)))
@settings(max_examples=60, deadline=None)
def test_distances_are_those_of_their_definitions(counts: tuple[list[int], list[int]]) -> None:
    p, q = ([(number + (place == 0)) / (sum(side) + 1) for place, number in enumerate(side)] for side in counts)
    values = {name: float(value) for name, value in distances(np.array(p), np.array(q)).items()}
    variation, distance = plain_distances(p, q)
    assert values["tv_distance"] == pytest.approx(variation, abs=1e-12)
    assert values["js_distance"] == pytest.approx(distance, abs=1e-7)
    assert values["tv_overlap"] == pytest.approx(sum(map(min, p, q)), abs=1e-12)
    assert values["js_similarity"] == pytest.approx(1 - distance, abs=1e-7)
    library = jensenshannon(p, q, base=2)
    assert math.isnan(library) or values["js_distance"] == pytest.approx(library, abs=1e-7)
    assert all(0 <= value <= 1 for value in values.values())


# --- what the model answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "place"),
    [
        ("B", 1),
        (" b. No", 1),
        ("**C**", 2),
        ("(A)", 0),
        ("Answer: C\n\nBecause it depends.", 2),
        ("It depends.", 2),
        ("A person there would say B", None),
        ("A, B or C", None),
        ("A. Yes\nB. No", None),
        ("D", None),
        ("I do not know", None),
        ("", None),
    ],
)
def test_a_choice_is_read_where_it_is_one(reply: str, place: int | None) -> None:
    assert read_choice(reply, OPTIONS).letter == (None if place is None else "ABC"[place])


@pytest.mark.parametrize(
    ("reply", "shares"),
    [
        ("A: 20%\nB: 50%\nC: 30%", (0.2, 0.5, 0.3)),
        ("Here they are:\n- **C**: 30 %\n- **A. Yes**: 20.0%\n- **B**: 50%.", (0.2, 0.5, 0.3)),
        ("A: 33%\nB: 33%\nC: 33%", (1 / 3, 1 / 3, 1 / 3)),
        ("A: 20%\nB: 50%", None),
        ("A: 20%\nB: 50%\nB: 30%", None),
        ("A: 20%\nB: 50%\nC: 20%\nD: 10%", None),
        ("A: 20%\nB: 50%\nC: 60%", None),
        ("A: 0.2\nB: 0.5\nC: 0.3", None),
        ("A: 0%\nB: 0%\nC: 0%", None),
    ],
)
def test_percentages_are_read_strictly(reply: str, shares: tuple[float, ...] | None) -> None:
    read = read_percentages(reply, OPTIONS)
    assert (None if read is None else tuple(read)) == (None if shares is None else pytest.approx(shares))


def answers(task: Task, reply: Any) -> list[Answer]:
    made = []
    for request in task.requests(task.items()):
        text = reply(request)
        if request.kind == "generate":
            made.append(
                Answer(request, gate(Response(request.key, text=text, error=None if text is not None else "lost")))
            )
        else:
            logs = tuple(ContinuationScore(math.log(share), 1, 1, 1) for share in text)
            made.append(Answer(request, gate(Response(request.key, logprobs=logs))))
    return made


def value_of(task: Task, made: list[Answer], metric: str, item_id: str) -> Any:
    rows = task.score(task.items(), made).scores.rows(named=True)
    (row,) = [row for row in rows if (row["metric"], row["item_id"]) == (metric, item_id)]
    return row["value"], row["outcome"]


def test_likelihoods_of_letters_are_shares(tmp_path: Path) -> None:
    task = survey(written(tmp_path, "q,Kenya,en,Rain?,Yes;No,60;40,,\nq,Peru,en,Rain?,Yes;No,,25;75,\n"))
    assert [request.continuations for request in task.requests(task.items())] == [("A", "B")] * 2
    assert "Kenya" in next(iter(task.requests(task.items()))).messages[0].content
    made = answers(task, lambda _request: (0.1, 0.3))  # a quarter and three quarters of what letters have
    assert value_of(task, made, "tv_distance", "q/Kenya") == (pytest.approx(0.35), "scored")
    assert value_of(task, made, "tv_distance", "q/Peru") == (pytest.approx(0.0), "scored")
    assert value_of(task, made[:1], "js_distance", "q/Peru") == (None, "failed")
    judged = task.score(task.items(), made)
    assert judged.tables["opinions"]["model"].to_list() == [pytest.approx([0.25, 0.75])] * 2
    assert judged.tables["cases"]["got"][0] == "Yes 25%; No 75%"


def test_samples_are_shares_of_the_replies_that_name_an_option(tmp_path: Path) -> None:
    task = survey(written(tmp_path, "q,Kenya,en,Rain?,Yes;No,60;40,,\n"), how="samples", samples=5)
    made = answers(task, lambda request: ["A", "No", "b", "I cannot say", None][request.sample])
    assert [request.params.temperature for request, _ in made] == [1.0] * 5
    assert value_of(task, made, "tv_distance", "q/Kenya") == (pytest.approx(0.6 - 1 / 3), "scored")
    assert value_of(task, made, "unreadable", "q/Kenya") == (pytest.approx(1 / 4), "scored")
    assert task.score(task.items(), made).notes == ["1 of 4 replies name no option as asked; they count for none."]
    none = answers(task, lambda _request: "I cannot say")
    assert value_of(task, none, "tv_overlap", "q/Kenya") == (None, "unparsed")
    (ceiling,) = [f.value for f in task.floors(task.items()) if (f.name, f.metric) == ("perfect model", "tv_overlap")]
    # Both the five replies and the hundred people are draws.
    apart = sum(
        binom.pmf(k, 5, 0.6) * binom.pmf(n, 100, 0.6) * abs(k / 5 - n / 100) for k in range(6) for n in range(101)
    )
    assert ceiling == pytest.approx(1 - apart, abs=0.04)


def test_a_file_of_replies_is_scored_with_as_many_as_it_holds(tmp_path: Path) -> None:
    folder = written(tmp_path, "q,Kenya,en,Rain?,Yes;No,60;40,,\n")
    replies = ['{"item_id": "q/Kenya", "text": "A"}\n', '{"item_id": "q/Kenya", "text": "B", "sample": 1}\n']
    for number in (1, 2):
        file = tmp_path / f"replies{number}.jsonl"
        file.write_text("".join(replies[:number]), encoding="utf-8")
        words = ["score", "opinions/survey", "--how", "samples", "--data", str(folder), "--responses", str(file)]
        scored = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "runs"), "--json"], catch_exceptions=False)
        assert scored.exit_code == 0
        assert json.loads(scored.stdout)["manifest"]["counts"]["answered"] == number
    one = kapwa.load_model(f"replay:{tmp_path / 'replies1.jsonl'}")
    with pytest.raises(ModelError, match="it holds one answer to each prompt") as refused:
        kapwa.evaluate(survey(folder, how="samples"), one, out=tmp_path / "runs", progress=False)
    assert "--samples 1" in str(refused.value.hint)


def test_options_of_another_way_are_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, "q,Kenya,en,Rain?,Yes;No,60;40,,\n")
    with pytest.raises(UsageError, match="samples is not an option of how='likelihood'"):
        survey(folder, samples=3)
    with pytest.raises(UsageError, match="There is no way 'guess'"):
        survey(folder, how="guess")
    stated = survey(folder, ("plain",), how="stated")
    assert [request.params.max_new_tokens for request in stated.requests(stated.items())] == [200]


def test_prompts_of_the_data_are_asked_in_their_language(tmp_path: Path) -> None:
    folder = written(tmp_path, "q,Kenya,sw,Mvua?,Ndiyo;Hapana,6;4,,\nq,Peru,es-PE,¿Lluvia {culture}?,Sí;No,6;4,,\n")
    prompts = "id,language,text\nmtu,sw,{culture}: {question} {options}\nmtu,es,¡{culture}! {question} {options}\n"
    (folder / "prompts.csv").write_text(prompts, encoding="utf-8")
    texts = [request.messages[0].content for request in survey(folder).requests(survey(folder).items())]
    assert texts == ["Kenya: Mvua? A. Ndiyo\nB. Hapana", "¡Peru! ¿Lluvia {culture}? A. Sí\nB. No"]
    with pytest.raises(UsageError, match="asks for percentages in no language that serves questions in 'sw'"):
        survey(folder, how="stated")


# --- floors and ceilings ----------------------------------------------------------------------------------------


def plain_apart(shares: Sequence[float], n: int) -> float:
    """Mean total variation between shares and those of ``n`` people drawn from them: of each option binomial."""
    return sum(binom.pmf(k, n, p) * abs(k / n - p) / 2 for p in shares for k in range(n + 1))


def test_a_perfect_model_scores_what_the_population_would_against_its_sample() -> None:
    """The slow twin: of draws of people, what their population and their own shares score; twice one less the other."""
    counts, n = (31, 13, 6), 50
    items = [item(f"q{number}", "Kenya", counts, people=n) for number in range(30)]
    marks = {floor.name: floor for floor in floors(items) if floor.metric == "tv_overlap"}
    shares = [count / n for count in counts]
    again = np.random.default_rng(2).multinomial(n, shares, 100) / n
    twice = np.mean([plain_apart(drawn.tolist(), n) for drawn in again])
    assert marks["perfect model"].value == pytest.approx(1 - (2 * plain_apart(shares, n) - twice), abs=0.004)
    assert marks["perfect model"].kind == "ceiling"
    at = [floor.name for floor in floors(items)].index("perfect model")
    assert floors(items)[at].by_item == floors(items[:1] + items[1:])[at].by_item  # seeded by the item alone


def test_a_perfect_model_is_seldom_called_above_perfect_models_and_a_blind_one_better_than_blind_answers() -> None:
    """Against half of the people and the other half, and other cultures one by one, both were always called so."""
    random, design = np.random.default_rng(4), (4, 40, 100, 0.3)
    above, _ = planted.wrongly(random, 4, "perfect", design, 0)
    assert above <= 25
    assert planted.wrongly(random, 2, "mean", design, 0) == (0, 0)
    assert planted.wrongly(random, 2, "median", design, 20) == (0, 0)


def test_floors_are_those_of_no_preference_and_of_one_answer_for_all() -> None:
    items = [
        item("q", "Kenya", (3, 1)),
        item("q", "Peru", (1, 3)),
        item("q", "Fiji", (4, 0)),
        item("r", "Fiji", (1, 1)),
    ]
    marks = {(floor.name, floor.note): floor for floor in floors(items) if floor.metric == "tv_overlap"}
    # Nobody says how many people.
    assert {name for name, _ in marks} == {"no preference", "mean of all cultures", "median of all cultures"}
    assert marks["no preference", "Fiji"].by_item == [0.5, 1.0]
    mean = marks["mean of all cultures", ""].by_item
    assert mean is not None
    assert list(mean[:3]) == pytest.approx([1 - 1 / 12, 1 - 5 / 12, 1 - 1 / 3])
    assert math.isnan(mean[3])
    middle = marks["median of all cultures", ""].by_item
    assert middle is not None
    assert list(middle[:3]) == pytest.approx([1.0, 0.5, 0.75])


def test_where_no_option_is_chosen_by_most_cultures_the_median_is_the_mean() -> None:
    items = [item("q", name, shares) for name, shares in zip("abc", ((1, 0, 0), (0, 1, 0), (0, 0, 1)), strict=True)]
    marks = {floor.name: floor for floor in floors(items) if (floor.metric, floor.note) == ("tv_overlap", "")}
    assert marks["median of all cultures"].by_item == marks["mean of all cultures"].by_item


# --- persistence, and how often intervals hold ------------------------------------------------------------------


def numbers_in(sentence: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+\.\d+", sentence)]


def test_persistence_is_the_ratio_of_both_shifts() -> None:
    generator = np.random.default_rng(27)
    items = [
        item(f"q{q}", f"c{c}", tuple(generator.integers(1, 9, 3)), f"w{w}")
        for q in range(5)
        for c in range(3)
        for w in range(2)
    ]
    model = {(made.id, made.variant): generator.dirichlet((1, 1, 1)) for made in items}
    across, between = [], []
    for a, b in combinations(items, 2):
        apart = plain_distances(list(model[a.id, a.variant]), list(model[b.id, b.variant]))[0]
        if a.cluster == b.cluster and a.variant == b.variant:
            across.append(apart)
        elif a.id == b.id:
            between.append(apart)
    (sentence,) = persistence_words(items, model)
    ratio, low, high, cultures, wordings, _ = numbers_in(sentence.replace("95%", ""))
    assert cultures == pytest.approx(np.mean(across), abs=5e-4)
    assert wordings == pytest.approx(np.mean(between), abs=5e-4)
    assert ratio == pytest.approx(np.mean(across) / np.mean(between), abs=0.006)
    assert low < ratio < high
    assert persistence_words([made for made in items if made.variant == "w0"], model) == []
    assert persistence_words([made for made in items if made.culture == "c0"], model) == []


def test_noise_of_replies_brings_persistence_nearer_to_1_and_is_told() -> None:
    generator = np.random.default_rng(7)
    items, model, noisy = [], {}, {}
    for question in range(300):
        base, of_culture, of_wording = generator.uniform(0.3, 0.5), generator.gamma(2, 0.03), generator.gamma(2, 0.02)
        for culture, wording in product(range(2), range(2)):
            made = item(f"q{question}", f"c{culture}", (1, 1), f"w{wording}")
            share = min(base + culture * of_culture + wording * of_wording, 1.0)
            items.append(made)
            model[made.id, made.variant] = np.array([share, 1 - share])
            drawn = generator.binomial(10, share) / 10
            noisy[made.id, made.variant] = np.array([drawn, 1 - drawn])
    (plain,), (told,) = persistence_words(items, model), persistence_words(items, noisy, sampled=True)
    assert "noise" not in plain
    assert told.endswith("Sampling noise of replies brings persistence nearer to 1.")
    assert numbers_in(plain)[0] > 1.3
    assert 0.9 < numbers_in(told)[0] < 1.15


def test_an_interval_of_persistence_does_not_fall_below_0() -> None:
    items, model = [], {}
    for question, culture, wording in product(range(2), range(2), range(2)):
        made = item(f"q{question}", f"c{culture}", (1, 1), f"w{wording}")
        share = 0.5 + (0.3 * question * culture) + 0.2 * wording
        items.append(made)
        model[made.id, made.variant] = np.array([share, 1 - share])
    (sentence,) = persistence_words(items, model)
    assert "95% interval 0.00 to" in sentence  # two questions: Student's would begin at -8.78


def test_intervals_of_persistence_hold() -> None:
    """150 surveys of 20 questions, seed 5; the truth is the ratio of the shifts' means over many questions."""
    generator = np.random.default_rng(5)

    def drawn() -> list[float]:
        items, model = [], {}
        for question in range(20):
            base = generator.uniform(0.3, 0.5)
            moves = generator.gamma(2, 0.03), generator.gamma(2, 0.02)
            for culture in range(2):
                for wording in range(2):
                    made = item(f"q{question}", f"c{culture}", (1, 1), f"w{wording}")
                    share = min(base + culture * moves[0] + wording * moves[1], 1.0)
                    items.append(made)
                    model[made.id, made.variant] = np.array([share, 1 - share])
        return numbers_in(persistence_words(items, model)[0].replace("95%", ""))

    surveys = [drawn() for _ in range(150)]
    held = sum(low <= 1.5 <= high for _, low, high, *_ in surveys)
    assert 0.89 <= held / 150 <= 0.99


NATIONS = ("Kenya", "Peru", "Fiji", "Japan", "Norway", "Egypt", "India", "Mexico")


def nations(generator: np.random.Generator, likeness: float) -> tuple[list[Item], dict[tuple[str, str], Any]]:
    """Eight cultures that answer 12 questions; the model's shares are ``likeness`` theirs and the rest by chance."""
    items, model = [], {}
    places = generator.normal(size=8)
    for question in range(12):
        for culture, place in zip(NATIONS, places, strict=True):
            share = 1 / (1 + np.exp(-place - generator.normal()))
            made = item(f"q{question}", culture, (100 * share, 100 - 100 * share))
            answered = likeness * share + (1 - likeness) * generator.random()
            items.append(made)
            model[made.id, made.variant] = np.array([answered, 1 - answered])
    return items, model


def test_distances_between_cultures_are_correlated_as_their_definition_says() -> None:
    items, model = nations(np.random.default_rng(4), 0.8)
    ours, theirs = [], []
    for first, second in combinations(NATIONS, 2):
        pairs = [(f"q{q}/{first}", f"q{q}/{second}") for q in range(12)]
        people = {made.id: people_of(made) for made in items}
        ours.append(np.mean([plain_distances(*(list(model[k, "person"]) for k in pair))[0] for pair in pairs]))
        theirs.append(np.mean([plain_distances(*(list(people[k]) for k in pair))[0] for pair in pairs]))
    (sentence,) = correlation_words(items, model)
    r, p = numbers_in(sentence)
    assert r == pytest.approx(np.corrcoef(ours, theirs)[0, 1], abs=0.006)
    assert p < 0.05
    assert "8 cultures and 12 questions" in sentence
    few = [made for made in items if made.culture in NATIONS[:3]]
    assert correlation_words(few, model) == []
    alike = {key: np.array([0.5, 0.5]) for key in model}
    assert correlation_words(items, alike) == []
    # Of cultures that are no places, or the same one, nobody knows which maps would be as smooth.
    named = [replace(made, culture=f"c{made.culture}") for made in items]
    assert correlation_words(named, model) == []
    same = [replace(made, culture="Kenyan") if made.culture == "Peru" else made for made in items]
    assert correlation_words(same, model) == []


def test_blocks_of_regions_in_both_are_seldom_a_correlation() -> None:
    """By shuffled names alone all ten of such surveys had one."""
    assert planted.correlated(np.random.default_rng(3), 6, "region", 30) <= 34


def test_a_model_that_tells_no_cultures_apart_seldom_correlates_with_people() -> None:
    """12 surveys of a model that answers by chance, seed 6: p is below .05 in 5 %, in four or more in 1 of 450."""
    generator = np.random.default_rng(6)
    below = sum(numbers_in(correlation_words(*nations(generator, 0.0))[0])[1] <= 0.05 for _ in range(12))
    assert below <= 3


def test_intervals_of_overlap_hold() -> None:
    """300 surveys of 30 questions in three cultures, seed 3; the truth is the mean over 20,000 other questions."""
    generator = np.random.default_rng(3)

    def overlaps(questions: int) -> Any:
        truth = generator.dirichlet((2, 2, 2, 2), questions)[:, None, :] * np.ones((1, 3, 1))
        of_culture = 0.7 * truth + 0.3 * generator.dirichlet((1, 1, 1, 1), (questions, 3))
        people = generator.multinomial(60, of_culture) / 60
        return distances(0.5 * truth + 0.125, people)["tv_overlap"]

    true = overlaps(20_000).mean()
    cultures, clusters = ["a", "b", "c"] * 30, [f"q{number}" for number in range(30) for _ in range(3)]
    held = 0
    for _ in range(300):
        estimate = pooled_mean(overlaps(30).ravel(), cultures, clusters)
        held += estimate.low <= true <= estimate.high
    assert 0.92 <= held / 300 <= 0.98


# --- tables -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ("q,Kenya,en,Rain?,Yes,60,,", "options", "has 1 options, not 2 to 20"),
        ("q,Kenya,en,Rain?,Yes;yes,60;40,,", "options", "names an option twice"),
        ("q,Kenya,en,Rain?,Yes;No,60;40,1;2,", "counts", "is filled, and so is 'shares'"),
        ("q,Kenya,en,Rain?,Yes;No,,,", "counts", "is empty, and so is 'shares'"),
        ("q,Kenya,en,Rain?,Yes;No,60.5;40,,", "counts", "'60.5' is not a whole number of people"),
        ("q,Kenya,en,Rain?,Yes;No,-1;40,,", "counts", "'-1' is not a whole number of people"),
        ("q,Kenya,en,Rain?,Yes;No,,nan;1,", "shares", "'nan' is not a share"),
        ("q,Kenya,en,Rain?,Yes;No,60;40;3,,", "counts", "has 3 numbers for 2 options"),
        ("q,Kenya,en,Rain?,Yes;No,0;0,,", "counts", "says that nobody chose any option"),
        ("q,Kenya,en,Rain?,Yes;No,60;40,,90", "people", "is 90, but the counts add up to 100"),
        ("q,Kenya,en,Rain?,Yes;No,,0.4;0.6,0", "people", "'0' is not a whole number from 1"),
        ("p,Kenya,en,Rain?,Yes;No;Snow,1;2;3,,", "options", "has 3 options; row 2 asks the same question with 2"),
        (
            "p,Fiji,en,Rain?,Yes;No,1;2,,",
            "question_id",
            "'p' is already the question_id of row 2, which has the same culture",
        ),
    ],
)
def test_bad_tables_name_row_and_column(row: str, column: str, message: str, tmp_path: Path) -> None:
    folder = written(tmp_path, f"p,Fiji,en,Rain?,Yes;No,1;2,,\n{row}\n")
    with pytest.raises(DataError) as error:
        survey(folder)
    assert (error.value.row, error.value.column) == (3, column)
    assert message in error.value.message
    report = suite.check(folder)
    assert report is not None
    assert [finding.row for finding in report.findings if finding.severity == "error"] == [3]


def test_the_check_says_what_is_odd_and_counts(tmp_path: Path) -> None:
    folder = written(tmp_path, "q,Kenya,en,Rain?,Yes;No,,0.4;0.3,\nq,Peru,en,Rain?,Yes;No,60;40,,\n")
    report = suite.check(folder)
    assert report is not None
    assert report.counts["questions"] == 1
    messages = [finding.message for finding in report.findings]
    assert any("add up to 0.7" in message for message in messages)
    assert any("1 row does not say how many people answered" in message for message in messages)
    assert suite.check(tmp_path / "elsewhere") is None


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ('"options": ["Yes", NaN], "counts": [6, 4]', "options"),
        ('"options": [NaN, NaN], "counts": [6, 4]', "options"),
        ('"options": NaN, "counts": [6, 4]', "options"),
        ('"options": ["Yes", "No"], "counts": [6, NaN]', "counts"),
        ('"options": ["Yes", "No"], "counts": NaN', "counts"),
        ('"options": ["Yes", "No"], "shares": [0.5, Infinity]', "shares"),
    ],
)
def test_nan_is_an_empty_cell_and_no_text(cells: str, column: str, tmp_path: Path) -> None:
    row = '{"question_id": "q", "culture": "Fiji", "language": "en", "question": "Rain?", "topic": NaN, '
    (tmp_path / "opinions.jsonl").write_text(row + '"options": ["Yes", "No"], "counts": [6, 4]}', encoding="utf-8")
    assert survey(tmp_path).items()[0].topic == ""
    (tmp_path / "opinions.jsonl").write_text(f"{row}{cells}}}", encoding="utf-8")
    with pytest.raises(DataError) as error:
        survey(tmp_path)
    assert (error.value.row, error.value.column) == (1, column)


def test_numbers_of_json_are_counts_and_shares(tmp_path: Path) -> None:
    rows = '{"question_id": "q", "culture": "Kenya", "language": "en", "question": "Rain?", "options": ["Yes", "No"]'
    (tmp_path / "opinions.jsonl").write_text(f'{rows}, "shares": [0.25, 0.75], "people": 100}}\n', encoding="utf-8")
    assert survey(tmp_path).items()[0].fields["numbers"] == (0.25, 0.75)
    written(tmp_path, "q,Kenya,en,Rain?,Yes;No,60;40,,\n")
    with pytest.raises(DataError, match=r"holds opinions.csv and opinions.jsonl\."):  # which is meant, nobody knows
        survey(tmp_path)


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        ("id,text\nbare,{question}\n", r"has no {options}"),
        ("id,text\nmy own,{question} {options}\n", "'my own' is not a plain name"),
        ("id,language,text\nmine,Swahili,{question} {options}\n", "'Swahili' is not a BCP-47 language tag"),
        ("id,language,text\nmine,sw,{question} {options}\n", "is written in no language that serves questions in 'en'"),
    ],
)
def test_what_a_prompt_lacks_is_found_by_the_check_and_stops_a_run(prompts: str, message: str, tmp_path: Path) -> None:
    folder = written(tmp_path, "q,Kenya,en,Rain?,Yes;No,60;40,,\n")
    (folder / "prompts.csv").write_text(prompts, encoding="utf-8")
    report = suite.check(folder)
    assert report is not None
    (error,) = [finding for finding in report.findings if finding.severity == "error"]
    assert message in error.message
    assert Path(error.path) == folder / "prompts.csv"
    with pytest.raises(KapwaError, match=re.escape(message)):
        survey(folder)


def test_a_dictionary_of_countries_becomes_rows(tmp_path: Path) -> None:
    task = survey(MAPPINGS / "globalopinionqa")
    items = task.items()
    assert (len(items), len({each.cluster for each in items}), len({each.culture for each in items})) == (73, 20, 4)
    assert items[0].fields["numbers"] == (0.62, 0.06, 0.25, 0.07)
    assert people_of(items[0]).sum() == pytest.approx(1)
    table = (MAPPINGS / "globalopinionqa" / "global_opinions.csv").read_text(encoding="utf-8")
    (tmp_path / "mapping.yaml").write_bytes((MAPPINGS / "globalopinionqa" / "mapping.yaml").read_bytes())
    for old, new, message in (
        ("'Ghana': [0.62,", "'Ghana': [-0.62,", "'-0.62' is not a share"),
        ("{'Ghana': [0.62, 0.06, 0.25, 0.07],", "{'Ghana': 3,", "holds no list of numbers for each culture"),
        ("defaultdict(", "os.system(", "holds no list of numbers for each culture"),
    ):
        (tmp_path / "t.csv").write_text(table.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(KapwaError) as error:
            survey(tmp_path)
        assert isinstance(error.value, DataError)
        assert (error.value.row, error.value.column) == (2, "selections")
        assert message in error.value.message


PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "opinions.md"


def on_the_page(folder: Path, *names: str) -> Path:
    """Write the page's blocks, in their order, as files of these names; "" leaves one out."""
    for name, block in zip(
        names, re.findall(r"```(?:csv|yaml)\n(.*?)```", PAGE.read_text("utf-8"), re.S), strict=False
    ):
        if name:
            (folder / name).write_text(block, encoding="utf-8")
    return folder


def numbers_of(task: Task) -> dict[str, Any]:
    return {made.id: (made.fields["numbers"], made.fields["people"]) for made in task.items()}


def test_a_row_for_each_person_is_counted_and_weighted(tmp_path: Path) -> None:
    folder = on_the_page(tmp_path, "people.csv", "codes.csv", "mapping.yaml")
    task = survey(folder)
    assert numbers_of(task) == {
        "Q1/Kenya": ((1, 1), 2),
        "Q2/Kenya": ((1, 1), 2),
        "Q1/Peru": ((0, 2), 2),
        "Q2/Peru": ((0, 1), 1),
    }
    assert task.items()[0].fields["options"] == ("Very important", "Not important")
    mapping = folder / "mapping.yaml"
    mapping.write_text(mapping.read_text("utf-8").replace("culture: country", "culture: country, weight: weight"))
    weighted = numbers_of(survey(folder))
    assert weighted["Q1/Kenya"] == ((0.55, 0.45), 1)  # Kish: 2² / (1.1² + 0.9²) = 1.98
    assert weighted["Q1/Peru"] == ((0, 1), 2)
    (folder / "people.csv").write_text("country,weight,Q1,Q2\nKenya,1,1,7\n")
    with pytest.raises(DataError, match=r"people\.csv.*row 2.*no row of codes\.csv has 'Q2 7'"):
        survey(folder)
    (folder / "people.csv").write_text("country,weight,Q1\nKenya,1,1\n")
    with pytest.raises(DataError, match=r"people\.csv.*column 'Q2'.*is missing"):
        survey(folder)


def test_a_code_without_words_costs_that_answer_alone(tmp_path: Path) -> None:
    folder = on_the_page(tmp_path, "people.csv", "codes.csv", "mapping.yaml")
    mapping = folder / "mapping.yaml"
    mapping.write_text(mapping.read_text("utf-8").replace("form:", "skip_bad_rows: true\nform:"), encoding="utf-8")
    people = folder / "people.csv"
    people.write_text(people.read_text("utf-8").replace("0.9,2,1", "0.9,2,7").replace("Q1,Q2", "q1,Q2"))
    assert numbers_of(survey(folder)) == {
        "Q1/Kenya": ((1, 1), 2),
        "Q2/Kenya": ((0, 1), 1),
        "Q1/Peru": ((0, 2), 2),
        "Q2/Peru": ((0, 1), 1),
    }


ROWS = "id,language,question,options,option,culture,share\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("q,en,Rain?,Yes;No,Yes,Fiji,.4\nq,en,Rain?,Yes;No,Yes,Fiji,.6\n", "'Yes' has a share already"),
        ("q,en,Rain?,Yes;No,Maybe,Fiji,.4\n", "'Maybe' is not one of the question's options"),
        ("q,en,Rain?,Yes;No,Yes,Fiji,most\n", "'most' is not a number of people, or a share"),
        ("q,en,Rain?,,Yes,Fiji,.4\nq,es,¿Lluvia?,,Sí,Peru,.4\n", "'q' is in several languages"),
    ],
)
def test_rows_of_one_option_that_do_not_go_together(rows: str, message: str, tmp_path: Path) -> None:
    columns = "question_id: id, language: language, question: question, option: option, culture: culture, share: share"
    named = "" if ",," in rows else ", options: options"
    (tmp_path / "mapping.yaml").write_text(f"form: opinions/survey\ntable: t.csv\ncolumns: {{{columns}{named}}}\n")
    (tmp_path / "t.csv").write_text(ROWS + rows, encoding="utf-8")
    with pytest.raises(DataError, match=re.escape(message)):
        survey(tmp_path)


def test_a_share_that_stands_twice_is_left_out_where_the_mapping_says_so(tmp_path: Path) -> None:
    folder = on_the_page(tmp_path, "", "", "", "shares.csv", "mapping.yaml")
    mapping, table = folder / "mapping.yaml", folder / "shares.csv"
    mapping.write_text(f"skip_bad_rows: true\n{mapping.read_text('utf-8')}", encoding="utf-8")
    table.write_text(f"{table.read_text('utf-8')}q1,Is it good to talk with strangers?,No,1,1\n", encoding="utf-8")
    assert numbers_of(survey(folder)) == {"q1/Kenya": ((62, 38), None), "q1/Peru": ((40, 60), None)}


def test_each_culture_has_its_options_in_its_language(tmp_path: Path) -> None:
    rows = "q,en,Rain?,Yes;No,Yes,Fiji,.4\nq,en,Rain?,Yes;No,No,Fiji,.6\n"
    rows += "q,es,¿Lluvia?,Sí;No,No,Peru,30\nq,es,¿Lluvia?,Sí;No,Sí,Peru,70\n"
    columns = "question_id: id, language: language, question: question, options: options, option: option"
    columns += ", culture: culture, share: share"
    (tmp_path / "mapping.yaml").write_text(f"form: opinions/survey\ntable: t.csv\ncolumns: {{{columns}}}\n")
    (tmp_path / "t.csv").write_text(ROWS + rows, encoding="utf-8")
    task = survey(tmp_path)
    assert [made.fields["options"] for made in task.items()] == [("Yes", "No"), ("Sí", "No")]
    assert numbers_of(task) == {"q/Fiji": ((0.4, 0.6), None), "q/Peru": ((70, 30), None)}


def test_a_column_for_each_culture_becomes_rows(tmp_path: Path) -> None:
    folder = on_the_page(tmp_path, "", "", "", "shares.csv", "mapping.yaml")
    assert numbers_of(survey(folder)) == {"q1/Kenya": ((62, 38), None), "q1/Peru": ((40, 60), None)}
    table = folder / "shares.csv"
    table.write_text(table.read_text("utf-8").replace("62", "most"), encoding="utf-8")
    with pytest.raises(DataError, match=r"row 2.*column 'Kenya'.*'most' is not a number of people, or a share"):
        survey(folder)


def test_a_prompt_of_the_data_is_named_as_a_variant(tmp_path: Path) -> None:
    (tmp_path / "opinions.csv").write_text(
        "question_id,culture,language,question,options,counts\nq,Egypt,en,Tea?,yes;no,3;1\n", encoding="utf-8"
    )
    (tmp_path / "prompts.csv").write_text(
        "id,text\nmine,{culture}: {question} {options}\nours,{question} {options}\n", encoding="utf-8"
    )
    task = kapwa.load_task("opinions/survey", data=tmp_path, variant="ours")
    assert [item.variant for item in task.items()] == ["ours"]
    with pytest.raises(UsageError, match="no variant 'person'"):
        kapwa.load_task("opinions/survey", data=tmp_path, variant="person")
