"""Filipino: simplemma lemmas for Tagalog, the linker -ng/-g taken off; accents (written in dictionaries) optional."""

from __future__ import annotations

from kapwa.languages.base import MIDDAY, Denials, Language, ReplyWords, Words, counted, lemma, simplemma_tool
from kapwa.languages.folding import unaccented

_VOWELS = "aeiou"
_NUMBERS = counted("sero isa/isang/uno dalawa/dalawang/dos tatlo/tatlong/tres apat/kuwatro/kwatro lima/limang/singko")
_NUMBERS |= counted("anim/sais pito/pitong/siyete walo/walong/otso siyam/nuwebe sampu/sampung/diyes", 6)
_NUMBERS |= counted("labing-isa labindalawa labintatlo labing-apat labinlima labing-anim labimpito labingwalo", 11)
_NUMBERS |= counted("labing-isang labindalawang labintatlong labing-apat labinlimang labing-anim", 11)
_NUMBERS |= {"labimpitong": 17, "labingwalong": 18}
_NUMBERS |= counted("onse dose trese katorse kinse", 11) | {"labinsiyam": 19, "dalawampu": 20, "dalawampung": 20}
_NUMBERS |= {"tatlumpu": 30, "tatlumpung": 30, "dosena": 12, "isang dosena": 12}
_MONTHS = counted(
    "enero/january pebrero/february marso/march abril/april mayo/may hunyo/june hulyo/july agosto/august "
    "setyembre/september oktubre/october nobyembre/november disyembre/december",
    1,
)

_HELP = (
    r"(?:tulong|tulungan|sagot|sagutin|masagot|magbigay|maibibigay|maibigay|makapagbigay|makapagbibigay|"
    r"makakapagbigay|makatutulong|makakatulong|makatulong|matulungan|matutulungan|matugunan|matutugunan|"
    r"makakasagot|makasasagot|masasagot|magagawa|tugunan)"
)


def _variants(token: str) -> set[str]:
    bare = unaccented(token)
    found = {bare, lemma(bare, "tl")}
    if len(bare) > 4 and bare.endswith("ng") and bare[-3] in _VOWELS:
        found |= {bare[:-2], bare[:-1], lemma(bare[:-2], "tl")}
    return found


language = Language(
    code="fil",
    name="Filipino",
    resource="mid",
    tools=(simplemma_tool,),
    rules="3",
    variants=_variants,
    words=Words(
        numbers=_NUMBERS,
        months=_MONTHS,
        morning=frozenset({"umaga", "am", "madaling-araw"}),
        afternoon=frozenset({"hapon", "pm"}),
        hour=frozenset({"alas", "ala", "ika"}),
        night=frozenset({"gabi"}),
        parts={"tanghali": MIDDAY},
        more=r"(?:higit(?: pa)? sa|mahigit(?: sa)?|lampas(?: sa)?|hindi bababa sa|di bababa sa|kahit|kulang-kulang"
        r"|mas (?:marami|mataas|mahaba) (?:pa )?(?:sa|kaysa sa)|at least) {n}|{n}(?: \w+)? (?:o higit pa|pataas)",
        less=r"(?:mas (?:mababa|kaunti|konti|kulang|maikli) (?:pa )?(?:sa|kaysa sa)|kulang sa|hindi hihigit sa"
        r"|hindi lalampas sa|hanggang) {n}|{n}(?: \w+)? pababa",
        either="o",
        clock={
            "{h} y medya": 30,
            "{h} (?:i|at) (?:medya|kalahati)": 30,
            "{h} y (?:kuwarto|kwarto)": 15,
            "menos (?:kuwarto|kwarto)(?: para)?(?: (?:alas|ala|sa|ika))?[ -]{h}": -15,
            "{h} menos (?:kuwarto|kwarto)": -15,
        },
    ),
    replies=ReplyWords(
        answer="mga sagot|sagot",
        question="tanong",
        opener="oo naman",
        unknown="hindi ko alam",
        non_answers="walang sagot|hindi ko alam|wala|hindi alam|hindi naaangkop",
        conjunction="at|o",
        refusal=(
            rf"(?:paumanhin|pasensya|patawad|sorry|ikinalulungkot|humihingi ako ng).{{0,80}}\b(?:hindi|di)\b.{{0,12}}"
            rf"\b(?:ko|ako)\b.{{0,30}}{_HELP}",
            r"^\W*hindi (?:po )?(?:ko|ako) (?:po )?(?:kayang |maaaring |pwedeng |puwedeng |makaka|makapag){0,2}\w*? ?"
            + _HELP,
            r"bilang (?:isang )?(?:ai\b|artificial intelligence|(?:large )?language model|modelo ng wika).{0,100}"
            r"\b(?:hindi|wala)\b",
        ),
    ),
    denials=Denials(
        before=r"hindi|di|wala|walang|huwag|maliban(?: sa)?|bukod sa|sa halip(?: na| ng)?|imbes(?: na| ng)?"
        r"|kaysa(?: sa)?|duda|malabo(?:ng)?|imposible(?:ng)?|bihira(?:ng)?",
        after=r"(?:ay )?hindi|(?:ay )?di|bihira",
        harmless=r"(?:hindi|di)(?: po)? (?:ko|ako|namin|kami)(?: po)? (?:\w+ )?(?:alam|sigurado|tiyak|matandaan)"
        r"|(?:hindi|di) (?:lang|lamang|basta)|wala(?:ng| akong)? (?:duda|alinlangan|pag-?aalinlangan)|(?:hindi"
        r"|di) (?:bababa|hihigit|lalampas)|na (?:hindi|di)|hindi mawawala|wala\w*(?: \w+){0,3} kundi"
        r"|hindi(?: \w+){1,6} (?:kung )?wala\w*|bukod sa(?: \w+){1,3}(?:, | )\w+ din",
        turn="pero|ngunit|subalit|kundi|dahil|kasi|kaya|bagama't|kung",
        compounds=r"bahay[- ]?(?:bata|ampunan)|anak[- ]?pawis|balat[- ]sibuyas|(?:bituing|kabayong)[- ]dagat"
        r"|hampas-?lupa|kapit-?bahay|basag-?ulo|taingang[- ]daga|patay-?gutom|matang[- ]lawin|hot ?dog|silid-?aklatan"
        r"|ngiping[- ]aso",
    ),
    function_words="ako ka ikaw siya kami tayo kayo sila ko mo niya namin natin ninyo nila akin iyo ito iyan iyon ang "
    "ng mga sa si ni ay na po may isa isang",
)
