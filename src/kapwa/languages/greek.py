"""Greek: simplemma lemmas and Snowball stems, looked up with accents and compared without; final sigma folded."""

from __future__ import annotations

from kapwa.languages.base import Language, ReplyWords, Words, counted, lemma, simplemma_tool, stem, stemmer_tool
from kapwa.languages.folding import Folding, unaccented

_NUMBERS = counted(
    "μηδέν ένα/ένας/μία/μια δύο/δυο τρία/τρεις τέσσερα/τέσσερις πέντε έξι επτά/εφτά οκτώ/οχτώ εννέα/εννιά δέκα "
    "έντεκα/ένδεκα δώδεκα δεκατρία/δεκατρείς δεκατέσσερα/δεκατέσσερις δεκαπέντε δεκαέξι/δεκάξι δεκαεπτά/δεκαεφτά "
    "δεκαοκτώ/δεκαοχτώ δεκαεννέα/δεκαεννιά"
) | counted("είκοσι τριάντα σαράντα πενήντα εξήντα εβδομήντα ογδόντα ενενήντα εκατό/εκατόν", 20, 10)
_MONTHS = counted(
    "ιανουάριος/ιανουαρίου/ιανουάριο/γενάρης/γενάρη φεβρουάριος/φεβρουαρίου/φεβρουάριο/φλεβάρης/φλεβάρη "
    "μάρτιος/μαρτίου/μάρτιο/μάρτης/μάρτη απρίλιος/απριλίου/απρίλιο/απρίλης/απρίλη μάιος/μαΐου/μάιο/μάης/μάη "
    "ιούνιος/ιουνίου/ιούνιο/ιούνης/ιούνη ιούλιος/ιουλίου/ιούλιο/ιούλης/ιούλη αύγουστος/αυγούστου/αύγουστο "
    "σεπτέμβριος/σεπτεμβρίου/σεπτέμβριο/σεπτέμβρης/σεπτέμβρη οκτώβριος/οκτωβρίου/οκτώβριο/οκτώβρης/οκτώβρη "
    "νοέμβριος/νοεμβρίου/νοέμβριο/νοέμβρης/νοέμβρη δεκέμβριος/δεκεμβρίου/δεκέμβριο/δεκέμβρης/δεκέμβρη",
    1,
)
_FOLD = Folding()

_FUNCTION_WORDS = (
    "εγώ εσύ αυτός αυτή αυτό εμείς εσείς αυτοί μου σου του της μας σας τους με σε τον την το τα οι ο η ένας μια "
    "μία ένα είναι ήταν να που πως ότι"
)


def _final(word: str) -> str:
    """Return a folded word as dictionaries spell it: σ at the end is ς."""
    return word[:-1] + "ς" if word.endswith("σ") else word


def _folded(words: dict[str, int]) -> dict[str, int]:
    """Return a word table in folded spelling, with and without accents."""
    folded = {_FOLD(word): value for word, value in words.items()}
    return folded | {unaccented(word): value for word, value in folded.items()}


def _variants(token: str) -> set[str]:
    spelled = _final(token)
    found = {lemma(spelled, "el"), stem(spelled, "greek"), spelled}
    found.add(stem(lemma(spelled, "el"), "greek"))
    return {unaccented(_FOLD(key)) for key in found}


language = Language(
    code="el",
    name="Greek",
    resource="mid",
    tools=(simplemma_tool, stemmer_tool),
    rules="1",
    variants=_variants,
    words=Words(
        numbers=_folded(_NUMBERS) | {"χίλια": 1000, "χιλια": 1000, "χιλιάδεσ": 1000, "χιλιαδεσ": 1000},
        months=_folded(_MONTHS),
        morning=frozenset({"πμ", "am", "πρωί", "πρωι", "ξημερώματα", "ξημερωματα"}),
        afternoon=frozenset(
            {"μμ", "pm", "απόγευμα", "απογευμα", "βράδυ", "βραδυ", "μεσημέρι", "μεσημερι", "μεσημβρίαν"}
        ),
        hour=frozenset({"ώρα", "ωρα", "ώρεσ", "ωρεσ", "στισ", "στη", "στην"}),
    ),
    replies=ReplyWords(
        answer="απαντήσεις|απάντηση|απαντηση",
        question="ερώτηση|ερωτηση",
        opener="βεβαίως|φυσικά",
        unknown="δεν (?:το )?(?:ξέρω|γνωρίζω)",
        non_answers="καμία απάντηση|δεν ξέρω|κανένα|κανένας|καμία|δεν γνωρίζω|δεν ισχύει|δεν υπάρχει απάντηση",
        conjunction="και|κι|ή",
        and_so_on=r"κ\.?ά|κλπ|κ\.?λπ",
        choice="απ[αά]ντηση|σωστ[ήη] επιλογ[ήη]|επιλ[έε]γω",
        correct="είναι η? ?(?:σωστ|απ[αά]ντηση)",
        negation="δεν ",
        denial="δεν |λάθος|λανθασμέν",
        hedge="ίσως|πιθανώς|πιθανόν",
        correction="συγγνώμη|διόρθωση|μάλλον όχι|όχι,",
        conclusion="επομένως|άρα|συνεπώς|οπότε|τελική",
        contrast="αντίθετα|αντιθέτως|ενώ",
        option="επιλογή",
        article="η|το|ο",
        connector="γιατί|επειδή",
        letters=counted("Α/α Β/β Γ/γ Δ/δ"),
    ),
    function_words=f"{_FUNCTION_WORDS} {unaccented(_FUNCTION_WORDS)}",
    scripts=("Greek",),
)
