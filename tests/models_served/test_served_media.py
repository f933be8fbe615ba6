"""Pictures and recordings in requests to servers: the body holds their very bytes; servers of texts refuse them."""

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kapwa.errors import DataError, ModelError
from kapwa.models.base import check_capabilities
from kapwa.models.openai import OpenAIModel
from kapwa.records import Media, Message, Params, Request

BYTES = bytes(range(256))


def test_a_picture_and_a_recording_are_in_the_body(
    stub: Callable[..., Any], connect: Callable[..., OpenAIModel], tmp_path: Path
) -> None:
    server = stub()
    model = connect(server.url)
    assert model.can("media")
    for name in ("loaf.jpg", "call.mp3"):
        (tmp_path / name).write_bytes(BYTES)
    loaf, call = (
        Media(name, "words", hashlib.sha256(BYTES).hexdigest(), file=str(tmp_path / name))
        for name in ("loaf.jpg", "call.mp3")
    )
    messages = (Message("user", "What is this?", (loaf, call)), Message("assistant", "Bread."), Message("user", "Why?"))
    request = Request("1", "full", "generate", messages, params=Params(), key="1")
    (response,) = model.generate([request])
    assert response.text
    held = base64.b64encode(BYTES).decode()
    (arrival,) = server.arrivals()
    assert arrival["asked"]["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{held}"}},
                {"type": "input_audio", "input_audio": {"data": held, "format": "mp3"}},
                {"type": "text", "text": "What is this?"},
            ],
        },
        {"role": "assistant", "content": "Bread."},
        {"role": "user", "content": "Why?"},
    ]
    (tmp_path / "loaf.jpg").write_bytes(b"another picture")
    with pytest.raises(DataError, match="was changed after the data were read"):
        list(model.generate([request]))
    (tmp_path / "loaf.jpg").unlink()
    with pytest.raises(DataError, match="cannot be read"):
        list(model.generate([request]))
    plain = connect(server.url, template="plain")
    with pytest.raises(ModelError, match="needs a model that can see pictures"):
        check_capabilities(plain, frozenset({"generate", "media"}), "blend/saq")
    assert len(server.arrivals()) == 1
