"""The board of a report: ranks of systems by paired tests of every two, Holm over all pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from benchmarks.simulations import Cell
from benchmarks.simulations.comparisons import answers, places

from kapwa.report.board.ranks import ranks
from kapwa.stats.every_pair import every_pair

SUBJECT = "the board: ranks of systems"
DESIGNS = {
    "16 cultures × 40 shared questions": (16, 40, "shared"),
    "4 cultures × 30 questions of their own": (4, 30, "own"),
}
SIXTY = 60
GAP = 0.05


def compared(random: np.random.Generator, design: tuple[int, int, str], shares: np.ndarray) -> pl.DataFrame:
    """Every two systems of one simulated board; ``shares``: how much each knows of every culture."""
    cultures, questions = places(random, design)
    scores = answers(random, cultures, questions, np.repeat(shares[:, None], design[0], axis=1))
    items = pl.DataFrame({"culture": cultures.astype(str), "language": "en", "cluster": questions.astype(str)})
    items = items.with_columns(item_id=pl.col("culture") + "-" + pl.col("cluster"))
    values = list(map(pl.Series, scores))
    tables = [items.with_columns(value=one, least=one, most=one, asked=1, missing=0) for one in values]
    return every_pair(tables, names(shares), "m", "v", binary=True)


def names(shares: np.ndarray) -> list[str]:
    """What the systems of a board are called."""
    return [f"s{place}" for place in range(len(shares))]


def ranked(random: np.random.Generator, design: tuple[int, int, str], shares: np.ndarray) -> dict[str, tuple[int, int]]:
    """Interval of the rank of each system."""
    return ranks(names(shares), compared(random, design, shares).to_dicts())


def erring(random: np.random.Generator, design: tuple[int, int, str], systems: int, repeats: int) -> float:
    """In how many of 100 boards of equal systems any is set below another."""
    equal = [ranked(random, design, np.full(systems, 0.5)) for _ in range(repeats)]
    return 100 * float(np.mean([any(rank != (1, systems) for rank in board.values()) for board in equal]))


def cells(random: np.random.Generator, repeats: int) -> Iterator[Cell]:
    """Six and sixty equal systems; three of two levels; one that is better by what the board says it would find."""
    below = "any system set below another"
    for name, design in DESIGNS.items():
        yield Cell(SUBJECT, below, f"{name}, six equal systems", erring(random, design, 6, repeats), repeats, 0, 6)
        shares = np.array([0.6, 0.6, 0.6, 0.5, 0.5, 0.5])
        levels = [ranked(random, design, shares) for _ in range(repeats)]
        high, low = names(shares)[:3], names(shares)[3:]
        wrong = [any(board[k][0] > 1 for k in high) or any(board[k][1] < 6 for k in low) for board in levels]
        setting = f"{name}, three systems 10 points above three"
        yield Cell(SUBJECT, "a rank that is not in its interval", setting, 100 * float(np.mean(wrong)), repeats, 0, 6)
        lower = 100 * float(np.mean([board[high[0]][0] == 1 and board[low[0]][0] > 1 for board in levels]))
        yield Cell(SUBJECT, "a lower system is set below some higher one", setting, lower, repeats, 0, 100)
    shared = DESIGNS["16 cultures × 40 shared questions"]
    setting = "16 cultures × 40 shared questions, sixty equal systems"
    yield Cell(SUBJECT, below, setting, erring(random, shared, SIXTY, repeats), repeats, 0, 6)
    yield planted(random, max(repeats // 5, 1))


def planted(random: np.random.Generator, repeats: int) -> Cell:
    """One system 5 points above 59 equal ones, on as many questions as the board says find that four times in five."""
    shares = np.full(SIXTY, 0.5)
    shares[0] += GAP
    leader = pl.col("a") == names(shares)[0]
    pilot = compared(random, (16, 200, "shared"), shares).filter(leader)
    questions = round(200 * (float(pilot["mde"].mean()) / GAP) ** 2)
    boards = [compared(random, (16, questions, "shared"), shares).filter(leader) for _ in range(repeats)]
    seen = float(np.mean([((board["p_holm"] < 0.05) & (board["low"] > 0)).mean() for board in boards]))
    setting = f"16 cultures × {questions} shared questions, one of sixty systems 5 points above the others"
    return Cell(SUBJECT, "the gap is found, planned for 80", setting, 100 * seen, repeats, 75, 85)
