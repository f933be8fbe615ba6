"""Short situations for the report's tests, in six scripts: ``situations.yaml``."""

from pathlib import Path
from typing import NamedTuple

import yaml


class Situation(NamedTuple):
    """A prompt with its expected and its rival answer, and their English glosses."""

    topic: str
    category: str
    prompt: str
    gloss: str
    expected: str
    expected_gloss: str
    got: str
    got_gloss: str


_FILE = Path(__file__).with_name("situations.yaml")
TEXTS: dict[str, tuple[str, list[Situation]]] = {
    culture: (one["language"], [Situation(**situation) for situation in one["situations"]])
    for culture, one in yaml.safe_load(_FILE.read_text(encoding="utf-8")).items()
}
