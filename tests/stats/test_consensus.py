"""The consensus model against its closed form, a slow twin, and the published table of how many people it takes."""

from collections import Counter
from math import comb, inf

import numpy as np
import pytest
from scipy.optimize import minimize

from kapwa.errors import UsageError
from kapwa.stats.consensus import MISSING, answer_key, competences, consensus, corrected_matches


def study(
    random: np.random.Generator, knows: list[float], items: int = 60, options: int = 4, key: int = 0
) -> np.ndarray:
    """Answers of people who know such shares of the key, and else guess."""
    known = random.random((len(knows), items)) < np.array(knows)[:, None]
    return np.where(known, key, random.integers(0, options, known.shape))


def test_matches_are_corrected_as_published() -> None:
    """(L M − 1) / (L − 1), pair by pair, counted by hand: a and b agree on 3 of 4 items, a and c on 1 of 3."""
    codes = [[0, 1, 0, 1], [0, 1, 0, 0], [0, 0, 1, MISSING]]
    two = corrected_matches(codes, [2] * 4)
    assert two[0, 1] == pytest.approx(2 * 3 / 4 - 1)
    assert two[0, 2] == pytest.approx(2 * 1 / 3 - 1)
    assert corrected_matches(codes, [4] * 4)[0, 1] == pytest.approx((4 * 3 / 4 - 1) / 3)
    assert corrected_matches(codes, [inf] * 4)[0, 1] == 3 / 4
    assert np.isnan(two[0, 0])
    assert np.isnan(corrected_matches([[0, MISSING], [MISSING, 1]], [2, 2])[0, 1])


def test_three_people_have_a_closed_form() -> None:
    matches = np.array([[np.nan, 0.42, 0.30], [0.42, np.nan, 0.35], [0.30, 0.35, np.nan]])
    first = np.sqrt(0.42 * 0.30 / 0.35)
    assert competences(matches) == pytest.approx([first, 0.42 / first, 0.30 / first], abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_competences_are_the_least_residuals_of_a_general_minimiser(seed: int) -> None:
    random = np.random.default_rng(seed)
    codes = study(random, list(random.uniform(0.2, 0.9, 7)), items=40)
    codes[random.random(codes.shape) < 0.1] = MISSING
    matches = corrected_matches(codes, [4] * 40)
    upper = np.triu_indices(7, 1)

    def residuals(d: np.ndarray) -> float:
        return float(np.nansum((matches[upper] - np.outer(d, d)[upper]) ** 2))

    best = min(
        (minimize(residuals, np.full(7, start), tol=1e-14) for start in (0.3, 0.6, 0.9)), key=lambda fit: fit.fun
    )
    slow = best.x if best.x.sum() > 0 else -best.x
    assert residuals(competences(matches)) <= best.fun + 1e-12
    assert competences(matches) == pytest.approx(slow, abs=1e-4)


def test_the_key_is_bayes_by_hand() -> None:
    """Two people who know 0.8 and 0.5, one who knows 0.6, on four options; then in free words (three alternatives)."""
    d = [0.8, 0.5, 0.6]

    def likelihood(alternatives: int, right: int) -> float:
        product = 1.0
        for knows, answer in zip(d, (0, 0, 1), strict=True):
            product *= knows + (1 - knows) / alternatives if answer == right else (1 - knows) / alternatives
        return product

    for options, alternatives in ((4.0, 4), (inf, 3)):
        keyed = answer_key([[0], [0], [1]], [options], d)[0]
        each = [likelihood(alternatives, right) for right in range(alternatives)]
        assert keyed.answer == 0
        assert keyed.confidence == pytest.approx(each[0] / sum(each), rel=1e-12)
        assert (keyed.votes, keyed.people) == (2, 3)
    empty = answer_key([[MISSING]], [4], [0.5])[0]
    assert empty.answer == MISSING
    assert np.isnan(empty.confidence)
    assert answer_key([[1], [0]], [2], [-0.4, 0.2])[0].answer == 0, "who knows nothing weighs nothing"


# Romney, Weller and Batchelder's table of the fewest people who classify such a share of true/false questions at
# confidence 0.95, by their mean competence (.5, .6, .7, .8).
FEWEST = {0.80: (9, 7, 4, 4), 0.85: (11, 7, 4, 4), 0.90: (13, 9, 6, 4), 0.99: (29, 19, 10, 8)}


@pytest.mark.parametrize("share", FEWEST)
def test_the_published_numbers_of_people_classify_as_many_questions(share: float) -> None:
    """By our posterior: k of n agree on the right answer with a binomial chance, and are enough at 0.95."""
    for competence, people in zip((0.5, 0.6, 0.7, 0.8), FEWEST[share], strict=True):
        right = (1 + competence) / 2
        classified = 0.0
        for k in range(people + 1):
            codes = [[0]] * k + [[1]] * (people - k)
            keyed = answer_key(codes, [2], [competence] * people)[0]
            if keyed.answer == 0 and keyed.confidence >= 0.95:
                classified += comb(people, k) * right**k * (1 - right) ** (people - k)
        assert classified >= share - 0.005, (competence, people)


def test_one_culture_two_cultures_and_somebody_against_all() -> None:
    random = np.random.default_rng(7)
    one = consensus(study(random, [0.9, 0.7, 0.6, 0.8, 0.3]), [4] * 60)
    assert one.verdict == "one culture"
    assert one.ratio >= 3
    assert one.competence == pytest.approx([0.9, 0.7, 0.6, 0.8, 0.3], abs=0.2)
    other = study(random, [0.8, 0.8, 0.8], key=1)
    two = consensus(np.vstack([study(random, [0.8, 0.8, 0.8]), other]), [4] * 60)
    assert two.verdict == "several cultures"
    assert two.p_one < 0.05
    assert two.second_side.tolist() in ([False] * 3 + [True] * 3, [True] * 3 + [False] * 3)
    pairs = consensus(np.vstack([study(random, [0.9] * 2), study(random, [0.9] * 2, key=1)]), [4] * 60)
    assert pairs.p_guess < 0.05, "two camps that contradict each other agree within"
    assert pairs.verdict == "several cultures"
    contrary = study(random, [0.9, 0.9, 0.9, 0.9], options=2)
    against = np.vstack([contrary, 1 - contrary[:1]])
    assert consensus(against, [2] * 60).competence[-1] < -0.5


def judged(studies: list[np.ndarray]) -> Counter[str]:
    return Counter(consensus(study, [4] * study.shape[1], replicates=60).verdict for study in studies)


def test_a_side_that_shares_most_of_the_key_is_not_called_one_culture() -> None:
    """By the ratio alone it was, mostly: 2 of 6 people have other answers to a third of the items."""
    random = np.random.default_rng(3)
    studies = []
    for _ in range(8):
        knows = list(random.uniform(0.5, 0.9, 6))
        codes = study(random, knows, items=42)
        codes[:2, :14] = study(random, knows[:2], items=14, key=1)
        studies.append(codes)
    assert sum(consensus(codes, [4] * 42, replicates=1).ratio >= 3 for codes in studies) >= 4
    assert judged(studies)["one culture"] <= 1
    alike = judged([study(random, list(random.uniform(0.5, 0.9, 6)), items=42) for _ in range(8)])
    assert alike["one culture"] >= 2
    assert alike["several cultures"] <= 1


def test_a_popular_option_is_not_called_a_culture() -> None:
    """Who names the popular of four options in six of ten cases knows nothing, and yet all agree."""
    random = np.random.default_rng(4)
    studies = [np.where(random.random((6, 40)) < 0.6, 0, random.integers(1, 4, (6, 40))) for _ in range(8)]
    assert sum(consensus(codes, [4] * 40, replicates=1).ratio >= 3 for codes in studies) >= 6
    assert judged(studies)["one culture"] <= 1


def test_who_shares_no_item_with_one_side_stands_with_the_other() -> None:
    """The fifth mostly answers as the first does, to other items than the second was asked."""
    first, second = [0] * 20, [1] * 10 + [MISSING] * 10
    fifth = [MISSING] * 10 + [0] * 8 + [2] * 2
    said = consensus([first, second, second, first, fifth], [4] * 20, replicates=1).second_side.tolist()
    assert said[4] == said[0] == said[3] != said[1]


def test_guesses_are_not_called_a_culture() -> None:
    """By the ratio alone they would be, nine times in ten."""
    random = np.random.default_rng(1)
    guesses = [consensus(study(random, [0.0] * 4, items=12), [4] * 12, replicates=39) for _ in range(10)]
    assert sum(guess.ratio >= 3 for guess in guesses) > 5
    assert sum(guess.verdict == "no agreement beyond guessing" for guess in guesses) >= 8


def test_what_nothing_can_be_told_of() -> None:
    with pytest.raises(UsageError, match="3 people share 60 items: too few"):
        consensus(study(np.random.default_rng(0), [0.9] * 3), [4] * 60)
    with pytest.raises(UsageError, match="4 people share 9 items: too few"):
        consensus(study(np.random.default_rng(0), [0.9] * 4, items=9), [4] * 9)
    with pytest.raises(UsageError, match="two options or more"):
        consensus(study(np.random.default_rng(0), [0.9] * 4), [1] * 60)
