import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def nobody(tmp_path: Path) -> Iterator[None]:
    """Drop root's right to write everywhere; pytest's own folders, closed to all but their owner, open to readers."""
    if os.name != "posix":
        pytest.skip("needs POSIX permissions")
    # Up to pytest's own root: test, worker (where tests run side by side), session, user.
    for place in (tmp_path, *tmp_path.parents[:3]):
        if place.stat().st_mode & 0o055 != 0o055:
            place.chmod(place.stat().st_mode | 0o055)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    yield
    if root:
        os.seteuid(0)
