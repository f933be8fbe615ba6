"""Replies that list many answers, joined as each language joins them: planted from the released annotations."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple

from kapwa.languages.codes import canonical
from kapwa.suites.blend.questions import Question, is_valid_code

# "And" and "or" between words; those that are written on the word before or after, "~" for the word.
BETWEEN = {
    "am": ("እና", "ወይም"),
    "ar": ("و", "أو", "وأيضا", "ثم"),
    "as": ("আৰু", "বা", "নাইবা", "লগতে"),
    "az": ("və", "və ya", "ya da", "yaxud", "həm də"),
    "el": ("και", "ή", "είτε", "καθώς και"),
    "en": ("and", "or", "and also", "plus", "&", "as well as"),
    "es": ("y", "o", "o bien", "además de", "también"),
    "fa": ("و", "یا", "و یا", "همچنین"),
    "ha": ("da", "ko", "kuma", "tare da", "sai"),
    "id": ("dan", "atau", "serta", "ataupun", "dan juga"),
    "ko": ("그리고", "또는", "혹은", "및", "아니면"),
    "su": ("jeung", "sareng", "atawa", "sarta", "jeung ogé"),
    "zh": (),
}
GLUED = {
    "ar": ("{0} و{1}",),
    "am": ("{0}ና {1}", "{0}፣ {1}ም"),
    "fa": ("{0} و {1}",),
    "ko": ("{0}와 {1}", "{0}과 {1}", "{0}하고 {1}", "{0}랑 {1}", "{0}이랑 {1}", "{0}이나 {1}", "{0}나 {1}"),
    "zh": ("{0}和{1}", "{0}或{1}", "{0}与{1}", "{0}、{1}", "{0}跟{1}", "{0}或者{1}"),
}
COMMAS = {"ar": "، ", "fa": "، ", "zh": "、", "am": "፣ "}
# How members stand without a word between them.
PLAIN = {
    "comma": ", ",
    "semicolon": "; ",
    "slash": " / ",
    "slash, no spaces": "/",
    "bar": " | ",
    "plus": " + ",
    "dash": " - ",
    "long dash": " – ",
    "middle dot": " · ",
    "full stop": ". ",
    "line": "\n",
    "empty line": "\n\n",
    "many spaces": "   ",
    "tab": "\t",
    "ampersand": " & ",
    "arrow": " → ",
}
NUMBERED = ("{n}. {x}", "{n}) {x}", "({n}) {x}", "{n}- {x}", "{n}: {x}", "{n} {x}", "#{n} {x}", "{n}.{x}")


Join = Callable[..., tuple[str, str]]


class Listed(NamedTuple):
    """A planted reply: to which question, how its members are joined, the reply, and its first member."""

    question: Question
    how: str
    text: str
    first: str


def joined(members: Sequence[str], language: str, random: Random, *, known: bool) -> tuple[str, str]:
    """Join members in one way of a language, and name the way; nothing stands between those that are known alone."""
    ways = ["plain", "numbered", "numbered line", "bullet", "between", "last", "glued"]
    way = random.choice([*ways, "spaces"] if known else ways)
    comma = COMMAS.get(language, ", ")
    words = BETWEEN[language] or BETWEEN["en"]
    if way == "plain" or (way == "glued" and language not in GLUED):
        name = random.choice(list(PLAIN))
        return name, PLAIN[name].join(members)
    if way in ("numbered", "numbered line"):
        form = random.choice(NUMBERED)
        lines = [form.format(n=n, x=member) for n, member in enumerate(members, 1)]
        return f"{way} {form}", ("\n" if way.endswith("line") else " ").join(lines)
    if way == "bullet":
        sign = random.choice("-*•–▪·")
        return f"bullet {sign}", "\n".join(f"{sign} {member}" for member in members)
    if way == "between":
        word = random.choice(words)
        return f"between {word}", f" {word} ".join(members)
    if way == "last":
        word = random.choice(words)
        return f"last {word}", comma.join(members[:-1]) + f" {word} {members[-1]}"
    if way == "glued":
        form = random.choice(GLUED[language])
        text = members[0]
        for member in members[1:]:
            text = form.format(text, member)
        return f"glued {form}", text
    return "spaces", " ".join(members)


ROMAN = ["i", "ii", "iii", "iv", "v", "vi"]
AND = {
    "am": "እና",
    "ar": "و",
    "as": "আৰু",
    "az": "və",
    "el": "και",
    "en": "and",
    "es": "y",
    "fa": "و",
    "ha": "da",
    "id": "dan",
    "ko": "그리고",
    "su": "jeung",
    "zh": "和",
}
FIRST = {
    "en": ("First", "then", "finally"),
    "ko": ("첫째", "둘째로", "마지막으로"),
    "zh": ("首先", "其次", "最后"),
    "es": ("Primero", "luego", "por último"),
    "id": ("Pertama", "lalu", "terakhir"),
    "su": ("Kahiji", "terus", "pamungkas"),
    "ar": ("أولا", "ثم", "وأخيرا"),
    "fa": ("اول", "سپس", "در آخر"),
    "am": ("መጀመሪያ", "ከዚያ", "በመጨረሻ"),
    "as": ("প্ৰথমে", "তাৰপিছত", "শেষত"),
    "az": ("Əvvəlcə", "sonra", "nəhayət"),
    "el": ("Πρώτα", "μετά", "τέλος"),
    "ha": ("Na farko", "sannan", "daga ƙarshe"),
}
FRAME = {
    "en": "People there mention {}.",
    "ko": "사람들은 {} 등을 말합니다.",
    "zh": "人们会说{}等。",
    "es": "La gente menciona {}.",
    "id": "Orang menyebut {}.",
    "su": "Jalma nyebut {}.",
    "ar": "يذكر الناس {}.",
    "fa": "مردم {} را می‌گویند.",
    "am": "ሰዎች {} ይላሉ።",
    "as": "মানুহে {} কয়।",
    "az": "İnsanlar {} deyirlər.",
    "el": "Ο κόσμος λέει {}.",
    "ha": "Mutane suna cewa {}.",
}


def joined_otherwise(members: Sequence[str], language: str, random: Random, *, known: bool) -> tuple[str, str]:
    """As :func:`joined`, in ways that the reader was first measured on before it knew them."""
    del known
    comma = COMMAS.get(language, ", ")
    a = AND[language]
    f = FIRST[language]
    ways = {
        "framed": lambda: FRAME[language].format(comma.join(members[:-1]) + f" {a} {members[-1]}"),
        "framed and": lambda: FRAME[language].format(f" {a} ".join(members)),
        "first then": lambda: (
            f"{f[0]} {members[0]}" + "".join(f", {f[1]} {m}" for m in members[1:-1]) + f", {f[2]} {members[-1]}."
        ),
        "lettered line": lambda: " ".join(f"{x}) {m}" for x, m in zip("abcdef", members, strict=False)),
        "roman": lambda: " ".join(f"{x}) {m}" for x, m in zip(ROMAN, members, strict=False)),
        "roman lines": lambda: "\n".join(f"{x}. {m}" for x, m in zip(ROMAN, members, strict=False)),
        "emoji lines": lambda: "\n".join(f"✅ {m}" for m in members),
        "keycap": lambda: " ".join(f"{n}️⃣ {m}" for n, m in enumerate(members, 1)),
        "json": lambda: "[" + ", ".join(f'"{m}"' for m in members) + "]",
        "table": lambda: "| " + " | ".join(members) + " |",
        "double slash": lambda: " // ".join(members),
        "tilde": lambda: " ~ ".join(members),
        "quotes": lambda: " ".join(f'"{m}"' for m in members),
        "bold": lambda: " ".join(f"**{m}**" for m in members),
        "comma and each": lambda: members[0] + "".join(f"{comma}{a} {m}" for m in members[1:]),
        "comma space before": lambda: " ,".join(members),
        "br": lambda: "<br>".join(members),
        "li": lambda: "<ul>" + "".join(f"<li>{m}</li>" for m in members) + "</ul>",
        "either": lambda: {"en": "either ", "es": "o "}.get(language, "") + f" {a} ".join(members),
        "ellipsis": lambda: "... ".join(members),
        "circled": lambda: " ".join(f"{'①②③④⑤⑥'[n]} {m}" for n, m in enumerate(members)),
        "bracketed": lambda: f"{members[0]} (" + comma.join(members[1:]) + ")",
        "colon list": lambda: "There are several:\n" + "\n".join(f"- **{m}**: common" for m in members),
        "asterisk inline": lambda: "* " + " * ".join(members),
        "checkbox": lambda: "\n".join(f"- [ ] {m}" for m in members),
        "two groups": lambda: f"{members[0]} {a} {members[1]}\n" + f" {a} ".join(members[2:]),
        "backslash n": lambda: "\\n".join(members),
        "thousand dots": lambda: "・".join(members),
        "equals or": lambda: " = ".join(members),
        "num native": lambda: " ".join(f"{n}º {m}" for n, m in enumerate(members, 1)),
    }
    way = random.choice(list(ways))
    return way, ways[way]()


# "Also", "besides", "some ... others" and ordinals, as lists in prose have them.
ALSO = {
    "en": ("also", "besides", "as well as"),
    "ko": ("또", "그 외에도", "뿐만 아니라"),
    "zh": ("也有", "另外", "此外还有"),
    "es": ("también", "además", "incluso"),
    "id": ("juga", "selain itu", "bahkan"),
    "su": ("ogé", "salian ti éta", "malah"),
    "ar": ("أيضا", "بالإضافة إلى", "وكذلك"),
    "fa": ("همچنین", "به علاوه", "و نیز"),
    "am": ("በተጨማሪም", "እንዲሁም", "ደግሞ"),
    "as": ("লগতে", "তদুপৰি", "আকৌ"),
    "az": ("həmçinin", "bundan başqa", "hətta"),
    "el": ("επίσης", "ακόμη", "καθώς και"),
    "ha": ("haka kuma", "da kuma", "bugu da ƙari"),
}
ORDINALS = {
    "en": ("first", "second", "third", "fourth", "fifth", "sixth"),
    "ko": ("첫째", "둘째", "셋째", "넷째", "다섯째", "여섯째"),
    "zh": ("第一", "第二", "第三", "第四", "第五", "第六"),
    "es": ("primero", "segundo", "tercero", "cuarto", "quinto", "sexto"),
    "id": ("pertama", "kedua", "ketiga", "keempat", "kelima", "keenam"),
    "su": ("kahiji", "kadua", "katilu", "kaopat", "kalima", "kagenep"),
    "ar": ("أولا", "ثانيا", "ثالثا", "رابعا", "خامسا", "سادسا"),
    "fa": ("اول", "دوم", "سوم", "چهارم", "پنجم", "ششم"),
    "am": ("አንደኛ", "ሁለተኛ", "ሦስተኛ", "አራተኛ", "አምስተኛ", "ስድስተኛ"),
    "as": ("প্ৰথম", "দ্বিতীয়", "তৃতীয়", "চতুৰ্থ", "পঞ্চম", "ষষ্ঠ"),
    "az": ("birinci", "ikinci", "üçüncü", "dördüncü", "beşinci", "altıncı"),
    "el": ("πρώτον", "δεύτερον", "τρίτον", "τέταρτον", "πέμπτον", "έκτον"),
    "ha": ("na farko", "na biyu", "na uku", "na huɗu", "na biyar", "na shida"),
}
NATIVE_DIGITS = {"ar": "٠١٢٣٤٥٦٧٨٩", "fa": "۰۱۲۳۴۵۶۷۸۹", "as": "০১২৩৪৫৬৭৮৯"}
NATIVE_NUMERALS = {"zh": "一二三四五六", "ko": "일이삼사오육", "am": "፩፪፫፬፭፮"}
NATIVE_LETTERS = {
    "ko": "가나다라마바",
    "ar": "أبجدهو",
    "fa": ("الف", "ب", "پ", "ت", "ث", "ج"),
    "el": "αβγδεζ",
    "as": "কখগঘঙচ",
    "am": "ሀለሐመሠረ",
    "zh": "甲乙丙丁戊己",
}


def joined_third(members: Sequence[str], language: str, random: Random, *, known: bool) -> tuple[str, str]:
    """As :func:`joined`, in ways planted after the rules for the two others were whole."""
    del known
    comma, a, also = COMMAS.get(language, ", "), AND[language], ALSO[language]
    count = range(1, len(members) + 1)
    digits = str.maketrans("0123456789", NATIVE_DIGITS.get(language, "0123456789"))
    numerals = NATIVE_NUMERALS.get(language, "123456")
    letters = NATIVE_LETTERS.get(language, "ABCDEF")
    last = members[-1]
    ways = {
        "also at the end": lambda: comma.join(members[:-1]) + f"{comma}{also[0]} {last}",
        "besides": lambda: f"{members[0]} {a} {members[1]}. {also[1]} " + f" {a} ".join(members[2:]) + ".",
        "and in pairs": lambda: f"{members[0]} {a} {members[1]}{comma}" + f" {a} ".join(members[2:]),
        "as well as": lambda: f" {a} ".join(members[:-1]) + f" {also[2]} {last}",
        "ordinals": lambda: ", ".join(f"{o} {m}" for o, m in zip(ORDINALS[language], members, strict=False)),
        "ordinal lines": lambda: "\n".join(f"{o}: {m}" for o, m in zip(ORDINALS[language], members, strict=False)),
        "native digits": lambda: " ".join(f"{n}. {m}".translate(digits) for n, m in zip(count, members, strict=True)),
        "native digit lines": lambda: "\n".join(
            f"{n}) {m}".translate(digits) for n, m in zip(count, members, strict=True)
        ),
        "native numerals": lambda: " ".join(f"{n}. {m}" for n, m in zip(numerals, members, strict=False)),
        "native numeral lines": lambda: "\n".join(f"{n}、{m}" for n, m in zip(numerals, members, strict=False)),
        "native letters": lambda: " ".join(f"{x}) {m}" for x, m in zip(letters, members, strict=False)),
        "native letter lines": lambda: "\n".join(f"{x}. {m}" for x, m in zip(letters, members, strict=False)),
        "plus signs": lambda: "+".join(members),
        "greater": lambda: " > ".join(members),
        "brackets each": lambda: " ".join(f"[{m}]" for m in members),
        "round brackets each": lambda: " ".join(f"({m})" for m in members),
        "hashtags": lambda: " ".join("#" + m.replace(" ", "_") for m in members),
        "underlined": lambda: "_" + "_, _".join(members) + "_",
        "emoji": lambda: " ".join(f"🍽️ {m}" for m in members),
        "stars": lambda: " ★ ".join(members),
        "bullets in line": lambda: "• " + " • ".join(members),
        "triangles": lambda: "\n".join(f"▸ {m}" for m in members),
        "arrows in lines": lambda: "\n".join(f"→ {m}" for m in members),
        "json object": lambda: "{" + ", ".join(f'"{n}": "{m}"' for n, m in zip(count, members, strict=True)) + "}",
        "json answers": lambda: '{"answers": [' + ", ".join(f'"{m}"' for m in members) + "]}",
        "python tuple": lambda: "(" + ", ".join(f"'{m}'" for m in members) + ")",
        "table rows": lambda: (
            "| # | x |\n|---|---|\n" + "\n".join(f"| {n} | {m} |" for n, m in zip(count, members, strict=True))
        ),
        "xml": lambda: "".join(f"<item>{m}</item>" for m in members),
        "yaml": lambda: "answers:\n" + "\n".join(f"  - {m}" for m in members),
        "bold lines": lambda: "\n".join(f"**{n}. {m}**" for n, m in zip(count, members, strict=True)),
        "number after": lambda: " ".join(f"{m} ({n})" for n, m in zip(count, members, strict=True)),
        "shares": lambda: ", ".join(f"{m} {p}%" for m, p in zip(members, (40, 25, 15, 10, 6, 4), strict=False)),
        "line and comment": lambda: "\n".join(f"{m} - ok" for m in members),
        "one of": lambda: FRAME[language].format(comma.join(members)),
        "vertical dots": lambda: " ⋮ ".join(members),
        "full-width comma": lambda: "，".join(members),
        "full-width bar": lambda: "｜".join(members),
        "long vowel line": lambda: "—".join(members),
        "semicolon, native": lambda: {"ar": "؛ ", "fa": "؛ ", "zh": "；", "am": "፤ ", "el": "· "}.get(
            language, "; "
        ).join(members),
        "colon": lambda: " : ".join(members),
        "double space": lambda: "  ".join(members),
        "no-break spaces": lambda: "\u00a0\u00a0".join(members),
        "quotes, native": lambda: " ".join(f"«{m}»" if language not in ("zh", "ko") else f"「{m}」" for m in members),
    }
    way = random.choice(list(ways))
    return way, ways[way]()


# How a chatty reply opens, and what it calls a thing that people have beside another.
OPENING = {
    "en": ("Here are some:", "and then there is", "or maybe"),
    "ko": ("다음과 같습니다:", "그다음에는", "아니면"),
    "zh": ("如下：", "还有", "或是"),
    "es": ("Aquí van algunas:", "y luego", "o quizás"),
    "id": ("Berikut beberapa:", "lalu ada", "atau mungkin"),
    "su": ("Ieu di antarana:", "terus aya", "atawa meureun"),
    "ar": ("إليك بعضها:", "ثم", "أو ربما"),
    "fa": ("چند مورد:", "سپس", "یا شاید"),
    "am": ("ጥቂቶቹ፦", "ከዚያም", "ወይም ምናልባት"),
    "as": ("কেইটামান:", "তাৰ পিছত", "বা হয়তো"),
    "az": ("Bir neçəsi:", "daha sonra", "və ya bəlkə"),
    "el": ("Μερικά είναι:", "έπειτα", "ή ίσως"),
    "ha": ("Ga wasu:", "sannan akwai", "ko watakila"),
}


def joined_fourth(members: Sequence[str], language: str, random: Random, *, known: bool) -> tuple[str, str]:
    """As :func:`joined`, in ways planted after the rules for the third were whole."""
    del known
    comma, a, (opening, then, maybe) = COMMAS.get(language, ", "), AND[language], OPENING[language]
    count = range(1, len(members) + 1)
    ways = {
        "opened": lambda: f"{opening} " + comma.join(members),
        "opened, lines": lambda: f"{opening}\n" + "\n".join(members),
        "opened, numbered": lambda: (
            f"{opening}\n\n" + "\n".join(f"{n}. **{m}**" for n, m in zip(count, members, strict=True))
        ),
        "then": lambda: f" {then} ".join(members),
        "comma then": lambda: f"{comma}{then} ".join(members),
        "or maybe": lambda: f" {maybe} ".join(members),
        "comma or maybe": lambda: f"{comma}{maybe} ".join(members),
        "maybe with marks": lambda: "? ".join(members) + "?",
        "exclamations": lambda: "! ".join(members) + "!",
        "lines with commas": lambda: ",\n".join(members),
        "lines with and": lambda: "\n".join(members[:-1]) + f"\n{a} {members[-1]}",
        "lines, numbers bare": lambda: "\n".join(f"{n} {m}" for n, m in zip(count, members, strict=True)),
        "step": lambda: "\n".join(f"#{n}: {m}" for n, m in zip(count, members, strict=True)),
        "double colon": lambda: " :: ".join(members),
        "vs": lambda: " <> ".join(members),
        "asterisks": lambda: " ** ".join(members),
        "pipes no spaces": lambda: "|".join(members),
        "backslashes": lambda: " \\ ".join(members),
        "hearts": lambda: "❤️".join(members),
        "numbers in brackets": lambda: " ".join(f"[{n}] {m}" for n, m in zip(count, members, strict=True)),
        "numbers with slash": lambda: " ".join(f"{n}/ {m}" for n, m in zip(count, members, strict=True)),
        "numbers with dash": lambda: " ".join(f"{n} - {m}" for n, m in zip(count, members, strict=True)),
        "numbers from 0": lambda: " ".join(f"{n - 1}. {m}" for n, m in zip(count, members, strict=True)),
        "capital letters": lambda: " ".join(f"{x}. {m}" for x, m in zip("ABCDEF", members, strict=False)),
        "letters bare": lambda: " ".join(f"({x}) {m}" for x, m in zip("abcdef", members, strict=False)),
        "circled letters": lambda: " ".join(f"{x} {m}" for x, m in zip("ⒶⒷⒸⒹⒺⒻ", members, strict=False)),
        "json of objects": lambda: "[" + ", ".join(f'{{"answer": "{m}"}}' for m in members) + "]",
        "json with spaces": lambda: '{"answer": "' + comma.join(members) + '"}',
        "fenced": lambda: "```\n" + "\n".join(members) + "\n```",
        "csv line": lambda: ",".join(f'"{m}"' for m in members),
        "heading": lambda: "\n".join(f"## {m}" for m in members),
        "quote lines": lambda: "\n".join(f"> {m}" for m in members),
        "three dots": lambda: "…".join(members),
        "et al": lambda: comma.join(members) + f"{comma}…",
        "dashes, no spaces": lambda: "–".join(members),
        "first bold": lambda: f"**{members[0]}**{comma}" + comma.join(members[1:]),
        "repeated label": lambda: "\n".join(f"Answer {n}: {m}" for n, m in zip(count, members, strict=True)),
        "thought": lambda: f"<think>{members[0]}?</think>" + comma.join(members),
    }
    way = random.choice(list(ways))
    return way, ways[way]()


def planted(questions: Sequence[Question], country: str, count: int, join: Join = joined) -> Iterator[Listed]:
    """Yield lists of four to six answers, in a seeded order: all to one question, or every other one to another.

    Members are answers of at most three words that hold no sign which parts a list.
    """
    random = Random(f"lists {country}")
    asked = [one for one in questions if one.country == country and one.kind == "text" and is_valid_code(one)]
    while count:
        question, size, mixed = random.choice(asked), random.choice((4, 5, 6)), random.random() < 0.5
        sources = [question] * size
        if mixed:
            sources[::2] = random.sample(asked, len(sources[::2]))
        groups = [random.choice(one.groups) for one in sources]
        members = list(dict.fromkeys(random.choice(group.local) for group in groups if group.local))
        if len(members) < size or not all(map(_sole, members)):
            continue
        how, text = join(members, canonical(question.language), random, known=not mixed)
        yield Listed(question, how, text, members[0])
        count -= 1


def _sole(answer: str) -> bool:
    return answer.strip() != "" and len(answer.split()) <= 3 and not set(answer) & set(",،、;/|(\n-–·.:+&→")


# Long answers, and short ones with signs in them: one answer, or at most three.
SINGLE = (
    ("en", "Most people there eat a bowl of rice with beans before they leave for work"),
    ("en", "Rock 'n' roll"),
    ("en", "A sandwich made with bread, cheese and ham"),
    ("en", "They go to the beach on Saturday morning and stay there until the evening"),
    ("en", "C++ and C#"),
    ("en", "Salt + vinegar + pepper crisps"),
    ("en", "New Year's Eve (31 December) – fireworks at midnight"),
    ("en", "around $5 – $10 per person"),
    ("en", "the people of the north eat the bread of the south"),
    ("en", "2 + 2 = 4 is taught first"),
    ("en", "7 a.m. to 3 p.m., Monday – Friday"),
    ("en", "first they pray, then they eat"),
    ("en", 'It\'s a game called "Snakes & Ladders" (board game)'),
    ("en", "Bread & butter pudding with custard"),
    ("en", "rice... maybe"),
    ("en", "Spider-Man: No Way Home"),
    ("es", "Comen pan con tomate y aceite de oliva por la mañana"),
    ("es", "El Día de los Muertos (1 y 2 de noviembre)"),
    ("es", "primero van a misa y luego comen con la familia"),
    ("es", "arroz con pollo y plátano frito"),
    ("ko", "친구들과 함께 노래방에 가서 노래를 부르고 떡볶이를 먹어요"),
    ("ko", "김치와 밥과 국을 함께 먹는 것이 일반적입니다"),
    ("ko", "삼겹살을 상추와 마늘에 싸서 먹습니다"),
    ("ko", "일요일에 교회에 가고 나서 외식을 합니다"),
    ("zh", "和家人一起吃年夜饭，然后看春节联欢晚会"),
    ("zh", "人们通常在公园里跳广场舞或者打太极拳"),
    ("zh", "先去庙里烧香，然后回家吃饭"),
    ("ar", "يذهب الناس إلى المسجد لصلاة الجمعة ثم يتناولون الغداء مع العائلة"),
    ("ar", "الكسكس باللحم والخضار"),
    ("ar", "يشربون الشاي والحليب في الصباح"),
    ("fa", "مردم معمولا نان و پنیر و چای برای صبحانه می‌خورند"),
    ("fa", "بعد از کار به خانه می‌روند و با خانواده شام می‌خورند"),
    ("am", "ሰዎች ብዙውን ጊዜ ጠዋት እንጀራ በወጥ ይበላሉ"),
    ("am", "ከቤተሰብ ጋር ቡና ይጠጣሉ ከዚያም ወደ ቤተክርስቲያን ይሄዳሉ"),
    ("as", "মানুহে ৰাতিপুৱা চাহ আৰু ৰুটি খায়"),
    ("az", "İşdən sonra ailəsi ilə birlikdə evdə şam yeməyi yeyir"),
    ("az", "məktəbdən sonra futbol oynayırlar"),
    ("el", "Πηγαίνουν στην εκκλησία και μετά τρώνε με την οικογένεια"),
    ("el", "ψωμί με τυρί, ελιές και ντομάτα"),
    ("ha", "Mutane suna cin tuwo da miyar kuka da safe"),
    ("ha", "bayan sallah sai a ci abinci tare da iyali"),
    ("id", "Setelah pulang kerja lalu makan malam bersama keluarga di rumah"),
    ("id", "nasi goreng dengan telur dan kerupuk"),
    ("su", "Sabada solat terus dahar jeung kulawarga di imah"),
    ("su", "sangu jeung lauk asin sareng sambel"),
    ("en", "They take the bus, then the train, then walk"),
    ("en", "1. Rice is what most families eat at dinner"),
    ("en", "B. Rice"),
    ("en", "Rice 🍚"),
    ("en", "⭐⭐⭐⭐⭐ Rice"),
    ("en", "Rice!!! 🎉🎉🎉"),
    ("en", "Rice (white rice) [steamed]"),
    ("en", "**Rice** – eaten daily – with *everything*"),
    ("en", "KFC > McDonald's"),
    ("en", "Tom & Jerry"),
    ("en", "I ❤ NY T-shirts"),
    ("en", "100 m × 4 relay"),
    ("en", "4×100 m relay – athletics"),
    ("en", "Monday–Friday, 9–5"),
    ("ko", "일. 월요일"),
    ("en", "A. C. Milan"),
)
