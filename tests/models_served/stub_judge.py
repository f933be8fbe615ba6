"""A judge of known noise: it knows which answers are right by a mark in them, and errs and is swayed as it is told.

Keys of its configuration: ``noise``: the share of answers on which it errs, always the same ones; ``restless``: the
share of replies that are the opposite; ``long``, ``itself``, ``english``: the share of answers that it calls right
because neutral words follow, because it is said to have written them (``name``), because it is asked in English alone;
``first``: the share of pairs in which it takes what stands first; ``prose``, ``half``, ``empty``: shares of replies
that are prose, half a JSON, nothing; ``cannot``: the share of answers that it cannot assess; ``mark``: what stands in
the first paragraph of right answers.
"""

import contextlib
import hashlib
import json
import re
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

MARK = "RIGHT"
FORM = re.compile(r"of the form (\{.*?\}), where")
ANSWER = re.compile(r"(?:The answer to judge|Answer [12])([^\n]*):\n(`{3,})\n(.*?)\n\2", re.DOTALL)


def chance(*parts: Any) -> float:
    """A number from 0 to 1 that follows from ``parts`` alone."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=6).digest(), "big") / 2**48


def reply(config: dict[str, Any], text: str, number: int) -> str:
    """What the judge says to a prompt; ``number``: which call of the server it is."""
    asked = FORM.search(text)
    if asked is None:  # a replica on Ray asks first what the server can do
        return "I judge answers."
    answers = [(author, body.split("\n\n")[0], "\n\n" in body) for author, _, body in ANSWER.findall(text)]
    words = json.loads(asked[1])
    key = tuple(sorted(body for _, body, _ in answers))
    for kind, broken in (("prose", "I think it is right."), ("half", '{"right": "ye'), ("empty", " ")):
        if chance(kind, key) < config.get(kind, 0):
            return broken
    if chance("cannot", key) < config.get("cannot", 0):
        return json.dumps(dict.fromkeys(words, "cannot assess"))
    said = {code: verdict(config, text, answers, code, number) for code in words}
    return f"```json\n{json.dumps(said)}\n```" if number % 2 else json.dumps(said)


def verdict(config: dict[str, Any], text: str, answers: list[Any], code: str, number: int) -> str:
    if len(answers) == 2:
        pair = tuple(sorted(body for _, body, _ in answers))
        if chance("first", pair) < config.get("first", 0):
            return "1"
        right = [MARK in body for _, body, _ in answers]
        return "tie" if right[0] == right[1] else str(1 + right.index(True))
    author, body, long = answers[0]
    right = (config.get("mark", MARK) in body) != (chance("noise", body, code) < config.get("noise", 0))
    right = right != (chance("restless", number) < config.get("restless", 0))
    right = right or (long and chance("long", body) < config.get("long", 0))
    right = right or (config.get("name", "-") in author and chance("itself", body) < config.get("itself", 0))
    right = right or ("(In English:" not in text and chance("english", body) < config.get("english", 0))
    return "yes" if right else "no"


def durable_replies(folder: Path) -> int:
    """How many replies of a judging run are durable, read from a copy: who writes keeps the file to itself."""
    with tempfile.TemporaryDirectory() as aside:
        for file in (folder / "judged").glob("judge-answers.sqlite*"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(file, Path(aside, file.name))
        with contextlib.closing(sqlite3.connect(Path(aside, "judge-answers.sqlite"))) as store:
            try:
                return int(store.execute("SELECT count(*) FROM responses WHERE NOT failed").fetchone()[0])
            except sqlite3.DatabaseError:  # killed while the file was made, or copied while it was written
                return 0
