"""Indonesian: PySastrawi roots and simplemma lemmas."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from kapwa.languages.base import Language, ReplyWords, Words, counted, installed, lemma, simplemma_tool
from kapwa.languages.folding import unaccented

_UNITS = ["nol", "satu", "dua", "tiga", "empat", "lima", "enam", "tujuh", "delapan", "sembilan"]
_NUMBERS = counted(" ".join(_UNITS)) | {"sepuluh": 10, "sebelas": 11, "seratus": 100, "seribu": 1000, "ribu": 1000}
_NUMBERS |= {f"{unit} belas": value + 10 for value, unit in enumerate(_UNITS) if value > 1}
_NUMBERS |= {f"{unit} puluh": value * 10 for value, unit in enumerate(_UNITS) if value > 1}
_NUMBERS |= {"ratus": 100, "juta": 1_000_000}
_MONTHS = counted(
    "januari februari/pebruari maret april mei juni juli agustus september oktober november/nopember desember", 1
)


@cache
def _stemmer() -> Any:
    """PySastrawi, which stems after Nazief and Adriani."""
    from Sastrawi.Stemmer.StemmerFactory import StemmerFactory  # type: ignore[import-untyped, unused-ignore]

    return StemmerFactory().create_stemmer()


def _variants(token: str) -> set[str]:
    bare = unaccented(token)
    return {bare, lemma(bare, "id"), str(_stemmer().stem(bare))}


language = Language(
    code="id",
    name="Indonesian",
    resource="mid",
    tools=(partial(installed, "PySastrawi", "MIT"), simplemma_tool),
    rules="1",
    variants=_variants,
    words=Words(
        numbers=_NUMBERS,
        months=_MONTHS,
        morning=frozenset({"pagi", "subuh", "am", "dini hari"}),
        afternoon=frozenset({"siang", "sore", "malam", "petang", "pm"}),
        hour=frozenset({"jam", "pukul"}),
    ),
    replies=ReplyWords(
        answer="jawaban(?:nya)?|jawab",
        question="pertanyaan|soal",
        opener="tentu(?: saja)?|baik",
        unknown="tidak (?:tahu|ada jawaban)",
        non_answers="tidak ada jawaban|tidak tahu|tidak ada|tidak berlaku|tidak diketahui",
        conjunction="dan|atau|serta",
        and_so_on="dll|dsb|dan lain-lain",
        refusal=(
            r"\bmaaf\b.{0,60}\b(?:tidak|tak) (?:dapat|bisa|boleh|mampu)\b.{0,40}"
            r"(?:bantu|jawab|beri|penuhi|sedia|lanjut)",
            r"\bsebagai (?:sebuah )?(?:model bahasa|ai\b|kecerdasan buatan).{0,80}\b(?:tidak|tak)\b",
        ),
        choice="jawaban(?:nya|ana)?|pilihan(?:nya)? (?:yang )?(?:benar|tepat)|saya (?:memilih|pilih)",
        correct="adalah (?:jawaban|pilihan)(?: yang)?",
        negation=r"\bbukan\b",
        denial=r"\bbukan\b|\bsalah\b|\btidak\b|\bkeliru\b",
        hedge="mungkin|barangkali",
        correction=r"\btunggu|\bmaaf|\bkoreksi|\bralat",
        conclusion=r"\bjadi\b|\boleh karena itu|\bmaka\b|\bdengan demikian|\bakhir",
        contrast=r"\bsebaliknya|\bsedangkan|\bsementara",
        option="pilihan",
        connector="karena|adalah",
    ),
    function_words="saya aku kamu anda dia ia kami kita mereka ini itu yang adalah ialah sebuah seorang suatu satu di "
    "ke dari",
)
