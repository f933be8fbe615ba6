"""The pages of the docs whose commands take longest are run here, page by page, as test_docs runs the others."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import test_docs


@pytest.mark.slow(60)
@pytest.mark.parametrize("page", test_docs.ALONE, ids=test_docs.page_id)
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    test_docs.run(page, tmp_path, str(tmp_path / ".answers"), request)
