"""Replies that list many answers, joined as each language joins them: planted from the released annotations."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import yaml

from kapwa.languages.codes import canonical
from kapwa.suites.blend.questions import CountryQuestion, is_valid_code

# By language: "and" and "or" between words, forms that are written on the word before or after, and the words of prose.
WORDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
BETWEEN, GLUED, COMMAS, AND, PLAIN = (WORDS[name] for name in ("between", "glued", "commas", "and", "plain"))
# Long answers, and short ones with signs in them: one answer, or at most three.
SINGLE: list[tuple[str, str]] = [(language, text) for language, text in WORDS["single"]]
NUMBERED = ("{n}. {x}", "{n}) {x}", "({n}) {x}", "{n}- {x}", "{n}: {x}", "{n} {x}", "#{n} {x}", "{n}.{x}")


Join = Callable[..., tuple[str, str]]


class Listed(NamedTuple):
    """A planted reply: to which question, how its members are joined, the reply, and its first member."""

    question: CountryQuestion
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


def joined_in(ways: str) -> Join:
    """Return a twin of :func:`joined` for other ways, each set written once the rules for those before it were whole.

    The reader was first measured on them before it knew them.
    """

    def join(members: Sequence[str], language: str, random: Random, *, known: bool) -> tuple[str, str]:
        every = WORDS["ways"][ways]
        name = random.choice([name for name, way in every.items() if known or not way.get("known")])
        return name, _laid_out(WORDS["ways"][ways][name], members, language)

    return join


def _laid_out(way: Mapping[str, Any], members: Sequence[str], language: str) -> str:
    """Lay members out as a row of "ways" says."""
    words = {name: WORDS[name][language] for name in ("and", "or", "etc", "first", "also", "opening", "particle")}
    words |= {"comma": COMMAS.get(language, ", "), "head": members[0], "either": WORDS["either"].get(language, "")}
    words |= {"semicolon": WORDS["semicolon"].get(language, "; "), "quotes": WORDS["quotes"].get(language, "«»")}
    digits = str.maketrans("0123456789", WORDS["native_digits"].get(language, "0123456789"))
    series = {**WORDS["series"], "ordinals": WORDS["ordinals"][language]}
    series |= {"native_numerals": WORDS["native_numerals"].get(language, "123456")}
    series |= {"native_letters": WORDS["native_letters"].get(language, "ABCDEF")}
    parts = [way.get("sep", " ")] * len(members)
    for name, place in {"open": 0, "second": 1, "third": 2, "last": -1}.items():
        parts[place] = way.get(name, "" if name == "open" else parts[place])
    text = ""
    for place, (part, member) in enumerate(zip(parts, members, strict=True)):
        signs = {name: row[place] for name, row in series.items()}
        counted = {"m": member, "n": place + 1, "n0": place, "digit": str(place + 1).translate(digits)}
        each = way.get("each", "{m}").format(**signs, **counted, **words, tag=member.replace(" ", "_"))
        text += part.format(**words) + each
    text += way.get("close", "").format(**words)
    return WORDS["frame"][language].format(text) if way.get("framed") else text


def planted(questions: Sequence[CountryQuestion], country: str, count: int, join: Join = joined) -> Iterator[Listed]:
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
