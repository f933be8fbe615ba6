"""Replies that list many answers, joined as each language joins them: planted from the released annotations."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from kapwa.languages.codes import canonical
from kapwa.suites.blend.questions import Question, is_valid_code

# By language: "and" and "or" between words, forms that are written on the word before or after, and the words of prose.
WORDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
BETWEEN, GLUED, COMMAS, AND = (WORDS[name] for name in ("between", "glued", "commas", "and"))
# Long answers, and short ones with signs in them: one answer, or at most three.
SINGLE: list[tuple[str, str]] = [(language, text) for language, text in WORDS["single"]]
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


def joined_otherwise(members: Sequence[str], language: str, random: Random, *, known: bool) -> tuple[str, str]:
    """As :func:`joined`, in ways that the reader was first measured on before it knew them."""
    del known
    comma = COMMAS.get(language, ", ")
    a = AND[language]
    f = WORDS["first"][language]
    ways = {
        "framed": lambda: WORDS["frame"][language].format(comma.join(members[:-1]) + f" {a} {members[-1]}"),
        "framed and": lambda: WORDS["frame"][language].format(f" {a} ".join(members)),
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


def joined_third(members: Sequence[str], language: str, random: Random, *, known: bool) -> tuple[str, str]:
    """As :func:`joined`, in ways planted after the rules for the two others were whole."""
    del known
    comma, a, also = COMMAS.get(language, ", "), AND[language], WORDS["also"][language]
    count = range(1, len(members) + 1)
    digits = str.maketrans("0123456789", WORDS["native_digits"].get(language, "0123456789"))
    numerals = WORDS["native_numerals"].get(language, "123456")
    letters = WORDS["native_letters"].get(language, "ABCDEF")
    last = members[-1]
    ways = {
        "also at the end": lambda: comma.join(members[:-1]) + f"{comma}{also[0]} {last}",
        "besides": lambda: f"{members[0]} {a} {members[1]}. {also[1]} " + f" {a} ".join(members[2:]) + ".",
        "and in pairs": lambda: f"{members[0]} {a} {members[1]}{comma}" + f" {a} ".join(members[2:]),
        "as well as": lambda: f" {a} ".join(members[:-1]) + f" {also[2]} {last}",
        "ordinals": lambda: ", ".join(f"{o} {m}" for o, m in zip(WORDS["ordinals"][language], members, strict=False)),
        "ordinal lines": lambda: "\n".join(
            f"{o}: {m}" for o, m in zip(WORDS["ordinals"][language], members, strict=False)
        ),
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
        "one of": lambda: WORDS["frame"][language].format(comma.join(members)),
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


def joined_fourth(members: Sequence[str], language: str, random: Random, *, known: bool) -> tuple[str, str]:
    """As :func:`joined`, in ways planted after the rules for the third were whole."""
    del known
    comma, a, (opening, then, maybe) = COMMAS.get(language, ", "), AND[language], WORDS["opening"][language]
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
