"""Hausa: hooked letters, glottal marks and tones folded; the linker and the possessive endings stripped.

Standard spelling writes ɓ ɗ ƙ and 'y, everyday typing b d k y; tones and vowel length are not written (Newman, *The
Hausa Language*, 2000). A noun before its possessor, or with "the", takes the linker -n (masculine, plural) or
-r (feminine), and pronouns are written on to it: -nsa -rsa "his", -nta -rta "her", -nsu -rsu "their". Double
consonants of loans are often written single. The stem must keep three letters, or "son of"
(ɗan) would be "and" (da).
"""

from __future__ import annotations

import re

from kapwa.languages.base import MIDDAY, Denials, Language, ReplyWords, Words, counted
from kapwa.languages.folding import Folding, unaccented

_ENDING = re.compile(r"(?<=..[aeiou])[nr](?:sa|ta|su|ka|ki|ku|mu)?$")
_DOUBLED = re.compile(r"([^aeiou])\1")


def _variants(token: str) -> set[str]:
    word = unaccented(token).replace("'", "")
    found = {word, _ENDING.sub("", word)}
    return found | {_DOUBLED.sub(r"\1", form) for form in found}


FOLDING = Folding(after=str.maketrans("ɓɗƙƴ", "bdky"))
_UNITS = counted(FOLDING("sifili/sifiri ɗaya biyu uku huɗu biyar shida bakwai takwas tara goma"))
_NUMBERS = (
    _UNITS
    | {f"{ten} {word}": value + 10 for word, value in _UNITS.items() if 0 < value < 10 for ten in ("goma sha", "sha")}
    | counted(FOLDING("ashirin talatin arba'in hamsin sittin saba'in tamanin casa'in/tis'in ɗari"), 20, 10)
    | {"dubu": 1000}
)
_MONTHS = counted("janairu fabrairu/fabarairu maris afrilu mayu yuni yuli agusta satumba oktoba nuwamba disamba", 1)
language = Language(
    code="ha",
    name="Hausa",
    resource="low",
    rules="3",
    variants=_variants,
    folding=FOLDING,
    words=Words(
        numbers=_NUMBERS,
        months=_MONTHS,
        morning=frozenset({"safe", "safiya", "asuba", "am"}),
        afternoon=frozenset({"yamma", "maraice", "pm"}),
        hour=frozenset(FOLDING("ƙarfe").split()),
        night=frozenset({"dare"}),
        parts={"rana": MIDDAY},
        more=r"(?:fiye da|sama da|akalla|a kalla|ya wuce|sun wuce|ya fi|sun fi|bai gaza)(?: [a-z]+){0,2} {n}"
        r"|{n}(?: [a-z]+)? (?:ko fiye|ko sama)",
        less=r"(?:kasa da|bai kai|ba su kai|bai wuce|iyaka|akasarin|a kalla bai kai)(?: [a-z]+){0,2} {n}"
        r"|{n}(?: [a-z]+)? ko kasa",
        either="ko",
        clock={
            "{h} da rabi": 30,
            "{h} da kwata": 15,
            "{h} (?:saura|ba|babu) kwata": -15,
            "{h} da minti {plus}": 0,
            "{h} saura minti {minus}": 0,
        },
    ),
    replies=ReplyWords(
        answer="amsoshi|amsar|amsa",
        question="tambaya",
        opener="tabbas|hakika",
        unknown="ban sani ba|ban san ba",
        non_answers="babu amsa|ban sani ba|babu|ban san ba|bai shafi ba",
        conjunction="da|ko|kuma|ko kuma",
    ),
    denials=Denials(
        before=r"ba|babu|banda|ban da|maimakon|shakkar?|shakku|da wuya|in ban da|sai dai|ban (?:ga|yarda)|kada|bai"
        r"|bata",
        after=r"(?:ba|bai)(?: [\w']+){1,6} ba|ba [tysa]\w* [\w']+|ba ne|ba ce",
        harmless=r"ban (?:sani|san|tabbata|tuna)(?: [\w']+){0,2} ba|(?:ba|babu|ba tare da|ba wani) (?:shakka|tantama)"
        r"|ba tare da [\w']+(?: ba)?|ba(?: [\w']+){1,3} (?:kawai|kadai|kadai) ba|ba laifi|ba dole ba",
        turn="amma|sai dai|saboda|domin|don haka|har da|illa|sai",
        compounds=r"(?<=kwallon )(?:kafa|hannu|kwando|raga|tebur)|ruwan sama|(?<=jirgin )(?:sama|kasa|ruwa)"
        r"|gidan(?= (?:abinci|sauro|waya|yari|kallo|wanka))|tauraron (?:ruwa|dan adam)|bakin teku|hot ?dog",
    ),
    function_words="ni kai ke shi ita mu ku su na ka ki ya ta sun mun an nasu namu nata nasa mini masa mata mana mai "
    "masu ne ce akwai babu ɗaya",
    notes=(
        "First draft, not reviewed by a native speaker. Covers hooked letters, glottal marks, tone marks, the linker "
        "and possessive endings, doubled consonants. Not covered: plurals (many patterns), verb grades, Hausa in "
        "Arabic letters (ajami)."
    ),
)
