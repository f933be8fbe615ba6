"""Codes of languages: how each is spelled, which belong together, their English names and their scripts.

Languages written in Latin letters alone are left out of the scripts: a text in them cannot be told from English by its
letters. Scripts are those in common use by CLDR 46 (supplemental language data); a language with several has each.
"""

from __future__ import annotations

from functools import cache

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa import registry

# Codes the identifier, users and data sets write differently for one language.
_ALIASES = {"tl": "fil", "tgl": "fil", "in": "id", "iw": "he", "ji": "yi", "mo": "ro", "uzs": "uz"}
_ALIASES |= {"eng": "en", "ind": "id", "zsm": "ms", "msa": "ms", "cmn": "zh", "zho": "zh", "arb": "ar", "ara": "ar"}
_ALIASES |= {"spa": "es", "fas": "fa", "pes": "fa", "prs": "fa", "kor": "ko", "ell": "el", "hau": "ha", "aze": "az"}
_ALIASES |= {"azj": "az", "azb": "az", "amh": "am", "asm": "as", "sun": "su", "jav": "jv", "tha": "th", "mya": "my"}
_ALIASES |= {"vie": "vi", "jpn": "ja", "fra": "fr", "deu": "de", "por": "pt", "rus": "ru", "hin": "hi", "tam": "ta"}
# ISO 639-3 macrolanguages, by the codes that occur here.
_MACRO = {
    **dict.fromkeys(("ar", "arz", "ary", "apc", "ajp", "aeb", "acm", "arq"), "ara"),
    **dict.fromkeys(("zh", "yue", "wuu", "nan", "hak", "lzh"), "zho"),
    **dict.fromkeys(("id", "ms", "min", "bjn"), "msa"),
    **dict.fromkeys(("no", "nb", "nn"), "nor"),
    **dict.fromkeys(("sr", "hr", "bs", "sh"), "hbs"),
    **dict.fromkeys(("ku", "sdh", "ckb", "kmr"), "kur"),
    **dict.fromkeys(("lv", "ltg"), "lav"),
}
# Unicode script names (the property Script), as the module regex knows them.
_SCRIPTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("am", "ti", "tig", "gez", "byn", "wal"), ("Ethiopic",)),
    **dict.fromkeys(("ar", "fa", "ur", "ps", "ug", "ckb", "arz", "ary", "apc", "sdh", "bal"), ("Arabic",)),
    **dict.fromkeys(("as", "bn", "mni"), ("Bengali",)),
    **dict.fromkeys(("hi", "mr", "ne", "sa", "mai", "bho", "doi", "brx", "kok", "new"), ("Devanagari",)),
    **dict.fromkeys(("ks", "sd"), ("Arabic", "Devanagari")),
    **dict.fromkeys(("ru", "uk", "be", "bg", "mk", "ky", "tg", "ba", "tt", "cv", "os"), ("Cyrillic",)),
    **{"pa": ("Gurmukhi", "Arabic"), "mn": ("Cyrillic", "Mongolian"), "sat": ("Ol_Chiki", "Devanagari", "Bengali")},
    **{"gu": ("Gujarati",), "or": ("Oriya",), "ta": ("Tamil",), "te": ("Telugu",), "kn": ("Kannada",)},
    **{"ml": ("Malayalam",), "si": ("Sinhala",), "dv": ("Thaana",), "th": ("Thai",), "lo": ("Lao",)},
    **{"my": ("Myanmar",), "shn": ("Myanmar",), "km": ("Khmer",), "bo": ("Tibetan",), "dz": ("Tibetan",)},
    **{"ka": ("Georgian",), "hy": ("Armenian",), "el": ("Greek",), "he": ("Hebrew",), "yi": ("Hebrew",)},
    **{"zh": ("Han",), "yue": ("Han",), "ja": ("Han", "Hiragana", "Katakana"), "ko": ("Hangul", "Han")},
    **{"zgh": ("Tifinagh",), "nqo": ("Nko",), "chr": ("Cherokee",), "iu": ("Canadian_Aboriginal",)},
}
# A script that a tag names itself goes before the language's ("pa-Arab", "ru-Latn"); "" is not looked at.
_NAMED = {
    **{"arab": "Arabic", "beng": "Bengali", "cyrl": "Cyrillic", "deva": "Devanagari", "ethi": "Ethiopic"},
    **{"grek": "Greek", "guru": "Gurmukhi", "hans": "Han", "hant": "Han", "hebr": "Hebrew", "tfng": "Tifinagh"},
    **{"armn": "Armenian", "geor": "Georgian", "mong": "Mongolian", "nkoo": "Nko", "olck": "Ol_Chiki"},
}
# Beside the languages whose replies Kapwa can match, which bring their own names.
_NAMES = {
    **{"tigrinya": "ti", "oromo": "om", "somali": "so", "swahili": "sw", "yoruba": "yo", "igbo": "ig", "zulu": "zu"},
    **{"xhosa": "xh", "shona": "sn", "kinyarwanda": "rw", "luganda": "lg", "wolof": "wo", "afrikaans": "af"},
    **{"urdu": "ur", "pashto": "ps", "kurdish": "ku", "uyghur": "ug", "hindi": "hi", "bengali": "bn", "bangla": "bn"},
    **{"marathi": "mr", "nepali": "ne", "punjabi": "pa", "gujarati": "gu", "odia": "or", "tamil": "ta", "telugu": "te"},
    **{"kannada": "kn", "malayalam": "ml", "sinhala": "si", "thai": "th", "lao": "lo", "burmese": "my", "khmer": "km"},
    **{"tibetan": "bo", "mongolian": "mn", "kazakh": "kk", "kyrgyz": "ky", "uzbek": "uz", "tajik": "tg", "tatar": "tt"},
    **{"georgian": "ka", "armenian": "hy", "hebrew": "he", "turkish": "tr", "russian": "ru", "ukrainian": "uk"},
    **{"polish": "pl", "czech": "cs", "german": "de", "french": "fr", "italian": "it", "portuguese": "pt"},
    **{"dutch": "nl", "swedish": "sv", "danish": "da", "norwegian": "no", "finnish": "fi", "hungarian": "hu"},
    **{"romanian": "ro", "bulgarian": "bg", "serbian": "sr", "croatian": "hr", "basque": "eu", "catalan": "ca"},
    **{"irish": "ga", "welsh": "cy", "japanese": "ja", "cantonese": "yue", "mandarin": "zh", "vietnamese": "vi"},
    **{"malay": "ms", "javanese": "jv", "tagalog": "fil", "cebuano": "ceb", "ilocano": "ilo", "maori": "mi"},
    **{"quechua": "qu", "guarani": "gn", "nahuatl": "nah", "farsi": "fa"},
}


@cache
def canonical(code: str) -> str:
    """Return the primary subtag of a BCP-47 code in Kapwa's spelling: ``tl`` and ``fil-PH`` give ``fil``."""
    primary = code.strip().replace("_", "-").split("-")[0].lower()
    return _ALIASES.get(primary, primary)


@cache
def family(code: str) -> str:
    """Return the ISO 639-3 macrolanguage of a code ("msa" for Indonesian), itself where it is in none."""
    known = canonical(code)
    return _MACRO.get(known, known)


def same_language(a: str, b: str) -> bool:
    """Whether two BCP-47 codes name one language, or languages of one ISO 639-3 macrolanguage.

    Script and region are ignored (zh-Hans = zh-Hant). Filipino and Tagalog are one language. Indonesian
    and Malay, the Arabics, the Chineses, the Norwegians and Serbo-Croatian count as same each.
    """
    return family(a) == family(b)


def scripts_of(language: str) -> tuple[str, ...]:
    """Return the Unicode scripts of a BCP-47 tag's language; () where it is Latin, unknown, or the tag says another."""
    named = next((part for part in language.lower().split("-")[1:] if len(part) == 4 and part.isalpha()), "")
    if named:
        return (_NAMED[named],) if named in _NAMED else ()
    return _SCRIPTS.get(canonical(language), ())


def has_script(text: str, scripts: tuple[str, ...]) -> bool:
    """Whether ``text`` holds a letter (or sign) of one of ``scripts``."""
    return _pattern(scripts).search(text) is not None


@cache
def _pattern(scripts: tuple[str, ...]) -> regex.Pattern[str]:
    return regex.compile("[" + "".join(rf"\p{{Script={name}}}" for name in scripts) + "]")


def code_named(name: str) -> str:
    """Return the code of the language called ``name`` in English ("am" for "Amharic"); "" where none is known."""
    folded = name.strip().casefold()
    if folded in _NAMES:
        return _NAMES[folded]
    for code in registry.installed("languages"):
        if str(registry.load("languages", code).name).casefold() == folded:
            return code
    return ""
