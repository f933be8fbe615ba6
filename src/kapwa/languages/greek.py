"""Greek: simplemma lemmas and Snowball stems, looked up with accents and compared without; final sigma folded."""

from __future__ import annotations

from kapwa.languages.base import (
    MIDDAY,
    Denials,
    Language,
    ReplyWords,
    Words,
    counted,
    lemma,
    simplemma_tool,
    stem,
    stemmer_tool,
)
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
# Half past an hour in one word: εφτάμισι.
_HALVES = counted(
    "μια/μιά δυο/δυό τρεισή/τρει τέσσερ/τεσσερα/τεσσερισή πεντέ/πεντε εξή/εξι εφτά/επτά/εφτα/επτα", 1
) | counted("οχτώ/οκτώ εννιά/εννέα/εννια δεκά/δέκα/δεκα εντεκά/έντεκα/εντεκα δωδεκά/δώδεκα/δωδεκα", 8)

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
    rules="2",
    variants=_variants,
    words=Words(
        numbers=_folded(_NUMBERS)
        | {
            "ντουζίνα": 12,
            "μια ντουζίνα": 12,
            "μισή ντουζίνα": 6,
            "χίλια": 1000,
            "χιλια": 1000,
            "χιλιάδεσ": 1000,
            "χιλιαδεσ": 1000,
        },
        months=_folded(_MONTHS),
        morning=frozenset({"πμ", "am", "πρωί", "πρωι", "ξημερώματα", "ξημερωματα"}),
        afternoon=frozenset({"μμ", "pm", "απόγευμα", "απογευμα", "μεσημβρίαν"}),
        hour=frozenset({"ώρα", "ωρα", "ώρεσ", "ωρεσ", "στισ", "στη", "στην"}),
        night=frozenset({"βράδυ", "βραδυ"}),
        parts={"μεσημέρι": MIDDAY, "μεσημερι": MIDDAY},
        more=r"(?:περισσότερ\w+ από|πιο πολύ από|πάνω από|άνω των|τουλάχιστον|το λιγότερο|όχι λιγότερ\w+ από"
        r"|πλέον των) {n}|{n}(?: \w+)? (?:ή|και) (?:περισσότερ\w+|πάνω)|{n}(?: \w+)? τουλάχιστον",
        less=r"(?:λιγότερ\w+ από|κάτω από|κάτω των|το πολύ|μέχρι|έωσ|όχι περισσότερ\w+ από|όχι πάνω από) {n}"
        r"|{n}(?: \w+)? (?:ή|και) (?:λιγότερ\w+|κάτω)|{n}(?: \w+)? το πολύ",
        either="ή|η|είτε",
        clock={
            "{h} και (?:μισή|μιση|30)": 30,
            "{h} και (?:τέταρτο|τεταρτο)": 15,
            "{h} παρά (?:τέταρτο|τεταρτο)": -15,
            "{h} παρά {minus}": 0,
            "{h} και {plus}": 0,
        }
        | {f"{hour}μισι": 60 * value + 30 for hour, value in _HALVES.items()},
    ),
    replies=ReplyWords(
        answer="απαντήσεις|απάντηση|απαντηση",
        question="ερώτηση|ερωτηση",
        opener="βεβαίως|φυσικά",
        unknown="δεν (?:το )?(?:ξέρω|γνωρίζω)",
        non_answers="καμία απάντηση|δεν ξέρω|κανένα|κανένας|καμία|δεν γνωρίζω|δεν ισχύει|δεν υπάρχει απάντηση",
        conjunction="και|κι|ή",
        letters=counted("Α/α Β/β Γ/γ Δ/δ"),
    ),
    denials=Denials(
        before=r"όχι|οχι|δεν?|μην?|ούτε|χωρίσ|δίχωσ|ποτέ|καθόλου|κανένα[σν]?|κανείσ|εκτόσ(?: από)?|πλην|αντί(?: για)?"
        r"|αμφιβάλλω|απίθανο|αδύνατο|αποκλείεται|σπάνια",
        after=r"δεν?|όχι|οχι|ποτέ|σπάνια|(?:είναι )?(?:απίθανο|αδύνατο|λάθοσ)",
        harmless=r"δεν? (?:το )?(?:ξέρω|γνωρίζω|θυμάμαι)|δεν? είμαι (?:\w+ )?(?:σίγουρ\w+|βέβαι\w+)|όχι (?:μόνο|απλ\w+"
        r"|μονάχα|τόσο)|(?:χωρίσ|δίχωσ|δεν? υπάρχει|καμία|ουδεμία)(?: \w+)? αμφιβολία|που δεν?|γιατί όχι"
        r"|δεν? μπορ\w+ χωρίσ|χωρίσ εξαίρεση|δεν?(?: \w+){1,6} χωρίσ|δεν?(?: \w+){1,3} παρά|δεν? λείπ\w+|με ?(?:/"
        r"|ή) ?χωρίσ",
        turn="αλλά|μα|όμωσ|ωστόσο|γιατί|επειδή|οπότε|ενώ|αν|όταν",
        compounds=r"παιδικ\w+ χαρ\w+|ηλεκτρικ\w+ σκούπ\w+|γλυκ\w+ πατάτ\w+|μαλλί τησ γριάσ|επιτραπέζι\w+ αντισφαίριση"
        r"|χοτ ντογκ|φακο\w* επαφήσ|γάλα (?:αμυγδάλου|καρύδασ|βρώμησ|σόγιασ)|τυρί κρέμα",
    ),
    function_words=f"{_FUNCTION_WORDS} {unaccented(_FUNCTION_WORDS)}",
    scripts=("Greek",),
)
