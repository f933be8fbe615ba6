"""Chinese: words by rjieba, light syllables taken off; hits inside words count from two characters on.

Traditional characters are folded into simplified ones by OpenCC's tables: two scripts of one language.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import regex  # type: ignore[import-untyped, unused-ignore]

from kapwa.languages.base import MIDDAY, Denials, Language, ReplyWords, Words, counted, installed
from kapwa.languages.folding import Folding, spaced_tokens

_HAN = regex.compile(r"\p{Han}+")
_WEEK = regex.compile("星期|礼拜")
# Syllables that fill a word up to two without changing what is named: 梨子 a pear, 红色 red, 家里 at home, 猪肉 pork.
_ENDINGS = frozenset("子儿头色里类肉果咪点饼")
_NUMERALS = (*"一二三四五六七八九十", "十一", "十二")


@cache
def _converter() -> Callable[[str], str]:
    from opencc import OpenCC  # type: ignore[import-untyped, unused-ignore]

    convert: Callable[[str], str] = OpenCC("t2s").convert
    return convert


def _simplified(text: str) -> str:
    """The text in simplified characters, word by word: 乾 is 干 in 饼干, and stays in 乾隆."""
    return text if text.isascii() else _converter()(text)


def _cut(folded: str) -> tuple[str, ...]:
    """Cut at white space, punctuation and script borders, and runs of Han characters into rjieba's words."""
    import rjieba

    words: list[str] = []
    for token in spaced_tokens(folded):
        at = 0
        for run in _HAN.finditer(token):
            words += filter(None, (token[at : run.start()],))
            words += rjieba.cut(run.group())
            at = run.end()
        words += filter(None, (token[at:],))
    return tuple(words)


def _variants(token: str) -> set[str]:
    """The word without its last or first light syllable; one syllable said twice, once; Sunday and its like."""
    found = {_WEEK.sub("周", token).replace("周天", "周日")}
    if len(token) == 2 and token[0] == token[1]:
        found.add(token[0])
    if len(token) > 1 and token[-1] in _ENDINGS:
        found.add(token[:-1])
    return found


language = Language(
    code="zh",
    name="Chinese",
    resource="high",
    tools=(partial(installed, "rjieba", "MIT"), partial(installed, "opencc-python-reimplemented", "Apache-2.0")),
    folding=Folding(last=_simplified),
    rules="3",
    variants=_variants,
    cut=_cut,
    words=Words(
        numbers=counted("零 一 二/两 三 四 五 六 七 八 九 十") | {"千": 1000, "万": 10_000},
        months={f"{numeral}月": month for month, numeral in enumerate(_NUMERALS, 1)},
        morning=frozenset({"上午", "早上", "凌晨", "清晨", "早晨", "am"}),
        afternoon=frozenset({"下午", "傍晚", "pm"}),
        hour=frozenset({"点", "时", "点钟"}),
        night=frozenset({"晚上", "夜里"}),
        parts={"中午": MIDDAY},
        more="(?:超过|多于|大于|不少于|至少|最少|起码|高于|不低于){n}|{n}[^0-9，。]{0,3}(?:以上|[多几余]|及以上|或以上"
        "|或更多)",
        less="(?:少于|不到|不足|低于|小于|不超过|最多|至多|未满|不满){n}|{n}[^0-9，。]{0,3}(?:以下|以内|之内|或更少)",
        either="或|或者|还是|或是",
        clock={
            "{h}[点时]1刻": 15,
            "{h}[点时]3刻": 45,
            "差1刻钟?(?:到)?{h}[点时]": -15,
            "{h}[点时]差1刻": -15,
            "差{minus}分钟?(?:到)?{h}[点时]": 0,
        },
    ),
    replies=ReplyWords(
        answer="答案|回答|答",
        question="问题|問題|题目",
        opener="当然(?:可以)?|好的",
        unknown="不知道|不清楚|无法确定",
        non_answers="没有答案|不知道|无|沒有答案|无答案|不适用|不適用|不清楚|没有|沒有",
        # Without spaces only words of two characters part a list safely.
        conjunction="以及|或者|还有|還有",
        refusal=(
            r"(?:抱歉|对不起|對不起|很遗憾|很遺憾).{0,20}(?:无法|不能|無法|没办法|沒辦法|不便)",
            r"(?:作为|作為).{0,8}(?:ai|人工智能|人工智慧|语言模型|語言模型).{0,30}(?:无法|不能|無法|没有|沒有)",
        ),
        letters=counted("甲 乙 丙 丁"),
    ),
    denials=Denials(
        before="不是|不|没有?|非|无|别|除了?|从不|从来不|怀疑|而不是|代替",
        after="不是|并不|不太|不流行|不受|不算|不会|不可能|不对|不常|没人|很少|除外",
        whole="除了?[^，。,.]{1,12}[以之]?外",
        harmless="不[仅只光但单]|不清楚|不知道|不确定|不太(?:清楚|确定|了解|知道)|不晓得|不记得|不一定|不用说|不得不"
        "|不错|不同|不少|不过|不断|不久|不管|不论|毫不|毫无|无疑|无论|毋庸|没错|没问题|没准|没关系|差不多|对不起"
        "|了不起|不锈钢|非常|非洲|别的|离不[开了]|少不了|不可或缺|必不可少|不可缺少|没有[^，。]{1,8}不|不外乎|无非"
        "|除[夕草]|除了?[^，。]{1,12}，?[^，。]{0,6}[也还]",
        turn="但是?|而是|却|因为|所以|不过|可是|就是|反而",
        compounds="(?:[一-鿿]国|日本|印度|朝鲜|俄罗斯|加拿大|墨西哥|上海|北京|广东|四川|台湾|香港)(?:人|话|语)"
        "|上海(?=青)|北京(?=烤?鸭)|面包[车店]|热狗|[足篮排网]球[鞋场]|咖啡[馆厅店]|电影院|图书馆|飞机场|火车站|汽车站"
        "|茶叶蛋|太阳[花能镜]|花生油|水果[刀店]|啤酒肚|牛油果|狗尾[草巴]|猫头鹰|米老鼠|河马|海马|马铃薯",
    ),
    function_words="我 你 您 他 她 它 我们 你们 他们 她们 它们 这 那 这个 那个 这些 那些 "
    "的 了 是 在 有 很 也 都 一个 一种 一些",
    scripts=("Han",),
    inside=2,
    notes="Not reviewed by a native speaker. Words that differ between regions (软件, 軟體) stay different.",
)
