"""What the page needs of an analysis; ``kapwa.analysis.result.Analysis`` offers it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import polars as pl


class AnalysisLike(Protocol):
    """An analysis of many texts: its manifest and its tables (columns: ``kapwa.analysis.schemas``)."""

    @property
    def path(self) -> Path:
        """The analysis folder."""
        ...

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Everything needed to repeat it."""
        ...

    @property
    def corpora(self) -> pl.DataFrame:
        """One row per corpus."""
        ...

    @property
    def variance(self) -> pl.DataFrame:
        """Lexical variance within and across identities, by concept."""
        ...

    @property
    def tests(self) -> pl.DataFrame:
        """Tests of across against within."""
        ...

    @property
    def concept_taus(self) -> pl.DataFrame:
        """Mean τ over anchors, by concept."""
        ...

    @property
    def anchors(self) -> pl.DataFrame:
        """Mean τ over concepts, by country."""
        ...

    @property
    def correlations(self) -> pl.DataFrame:
        """Mean τ and Mantel tests, with what shuffled names give."""
        ...

    @property
    def similarity(self) -> pl.DataFrame:
        """Mean WED and BLEU of every two identities."""
        ...

    @property
    def identities(self) -> pl.DataFrame:
        """One row per identity."""
        ...

    @property
    def words(self) -> pl.DataFrame:
        """The words that mark an identity."""
        ...

    @property
    def texts(self) -> pl.DataFrame:
        """A bounded choice of texts."""
        ...

    @property
    def values(self) -> pl.DataFrame:
        """Who has values in which table."""
        ...

    @property
    def notes(self) -> pl.DataFrame:
        """What a reader should know."""
        ...
