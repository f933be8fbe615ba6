"""Indonesian: PySastrawi roots and simplemma lemmas."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from kapwa.languages.base import MIDDAY, Denials, Language, ReplyWords, Words, counted, installed, lemma, simplemma_tool
from kapwa.languages.folding import unaccented

_UNITS = ["nol", "satu", "dua", "tiga", "empat", "lima", "enam", "tujuh", "delapan", "sembilan"]
_NUMBERS = counted(" ".join(_UNITS)) | {"sepuluh": 10, "sebelas": 11, "seratus": 100, "seribu": 1000, "ribu": 1000}
_NUMBERS |= {f"{unit} belas": value + 10 for value, unit in enumerate(_UNITS) if value > 1}
_NUMBERS |= {f"{unit} puluh": value * 10 for value, unit in enumerate(_UNITS) if value > 1}
_NUMBERS |= {"ratus": 100, "juta": 1_000_000, "lusin": 12, "selusin": 12, "setengah lusin": 6}
_MONTHS = counted(
    "januari/jan februari/pebruari/feb maret/mar april/apr mei juni/jun juli/jul agustus/agt/agu september/sep "
    "oktober/okt november/nopember/nov desember/des",
    1,
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
    rules="2",
    variants=_variants,
    words=Words(
        numbers=_NUMBERS,
        months=_MONTHS,
        morning=frozenset({"pagi", "subuh", "am", "dini hari"}),
        afternoon=frozenset({"sore", "petang", "pm"}),
        hour=frozenset({"jam", "pukul"}),
        parts={"siang": MIDDAY},
        night=frozenset({"malam"}),
        more=r"(?:lebih dari|di atas|melebihi|(?:paling|se)(?: sedikit|tidaknya|kurang-kurangnya)|paling tidak|minimal"
        r"|minimum|tidak kurang dari|setidaknya|sekurang-kurangnya) {n}|{n}(?: \w+)? (?:atau|ke) (?:lebih|atas)"
        r"|{n}(?: \w+)? lebih",
        less=r"(?:kurang dari|di bawah|paling (?:banyak|lama)|maksimal|maksimum|tidak lebih dari|hingga|sampai) {n}"
        r"|{n}(?: \w+)? (?:atau|ke) (?:kurang|bawah)",
        either="atau",
        clock={
            "setengah {h}": -30,
            "{h} (?:lewat|lebih) (?:seperempat|1/4)": 15,
            "{h} kurang (?:seperempat|1/4)": -15,
            "{h} (?:lewat|lebih) {plus}": 0,
            "{h} kurang {minus}": 0,
        },
    ),
    replies=ReplyWords(
        answer="jawaban(?:nya)?|jawab",
        question="pertanyaan|soal",
        opener="tentu(?: saja)?|baik",
        unknown="tidak (?:tahu|ada jawaban)",
        non_answers="tidak ada jawaban|tidak tahu|tidak ada|tidak berlaku|tidak diketahui",
        conjunction="dan|atau|serta",
        refusal=(
            r"\bmaaf\b.{0,60}\b(?:tidak|tak) (?:dapat|bisa|boleh|mampu)\b.{0,40}"
            r"(?:bantu|jawab|beri|penuhi|sedia|lanjut)",
            r"\bsebagai (?:sebuah )?(?:model bahasa|ai\b|kecerdasan buatan).{0,80}\b(?:tidak|tak)\b",
        ),
    ),
    denials=Denials(
        before=r"bukan(?:lah|nya)?|tidak|tak|nggak|enggak|belum|jangan|tanpa|kecuali|selain|daripada|alih-alih"
        r"|ragu(?: (?:kalau|apakah|bahwa))?|mustahil|kecil kemungkinan|jarang|tiada",
        after=r"bukan(?:lah)?|tidak|tak|nggak|enggak|jarang|kurang (?:populer|umum|lazim)",
        harmless=r"(?:tidak|tak|kurang|nggak|belum) (?:\w+ )?(?:tahu|yakin|pasti|ingat)|(?:tidak|bukan"
        r"|tak)(?:lah)? (?:hanya|cuma|saja|sekadar)|(?:tidak|tak|tanpa) (?:di)?ragu\w*|tidak salah(?: lagi)?"
        r"|yang (?:tidak|bukan|belum)|selain(?: \w+){1,3},?(?: \w+){0,2} juga|mau tidak mau|(?:tidak|tak"
        r"|belum)(?: \w+){1,6} tanpa|tidak (?:jarang|asing|ketinggalan)|dengan ?(?:/|atau) ?tanpa|tidak lain",
        turn="tapi|tetapi|melainkan|namun|karena|sehingga|jadi|meskipun|walaupun|kalau|sedangkan",
        compounds=r"rumah sakit|mata (?:kaki|air|uang|hari|sapi)|matahari|kaki lima|buah (?:hati|bibir|tangan|dada)"
        r"|kambing hitam|meja hijau|kunci inggris|anak (?:buah|tangga)|orang tua|air mata|bulu (?:mata|tangkis)"
        r"|kuda laut|bintang laut|tenis meja|sepak takraw|jambu (?:mete|monyet)|ular tangga|ibu (?:kota|jari)|hot ?dog"
        r"|es krim",
    ),
    function_words="saya aku kamu anda dia ia kami kita mereka ini itu yang adalah ialah sebuah seorang suatu satu di "
    "ke dari",
)
