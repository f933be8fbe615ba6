"""The released BLEnD data where it is present, and a small folder in its layout to break."""

from pathlib import Path

import pytest
from releasewriter import write_release

from kapwa.suites.blend.data import BlendData, read_data

SHARED = Path(__file__).resolve().parents[3] / "shared"


@pytest.fixture(scope="session")
def blend_data() -> Path:
    """The released folder; skips where it is absent."""
    folder = SHARED / "data" / "blend"
    if not folder.is_dir():
        pytest.skip("the released BLEnD data is not beside this checkout (../shared/data/blend)")
    return folder


@pytest.fixture(scope="session")
def blend(blend_data: Path) -> BlendData:
    """The released data, read once."""
    return read_data(blend_data)


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A sound folder in the released layout: two countries, three questions."""
    return write_release(tmp_path / "release")
