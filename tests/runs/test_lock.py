import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kapwa.cli.main import app
from kapwa.errors import RunError
from kapwa.runs.result_folder import run_lock

HOLD = textwrap.dedent(
    """
    import sys, time
    from pathlib import Path
    from kapwa.runs.result_folder import run_lock
    with run_lock(Path(sys.argv[1])):
        print("held", flush=True)
        time.sleep(60)
    """
)


def test_another_process_is_refused_by_name_until_the_holder_dies(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            with (
                pytest.raises(RunError, match=rf"is in use by another run \(process {holder.pid} on .+\)"),
                run_lock(tmp_path),
            ):
                pass
        finally:
            holder.kill()
        holder.wait()
        with run_lock(tmp_path):
            pass


def test_another_thread_is_refused(tmp_path: Path) -> None:
    seen: list[str] = []

    def second() -> None:
        try:
            with run_lock(tmp_path):
                seen.append("entered")
        except RunError as error:
            seen.append(str(error.message))

    with run_lock(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert len(seen) == 1
    assert f"process {os.getpid()}" in seen[0]


def test_the_lock_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside"), run_lock(tmp_path):
        raise ValueError("inside")
    with run_lock(tmp_path):
        pass


def test_a_stale_or_damaged_note_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / ".lock-holder").write_text("{broken")
    with run_lock(tmp_path):
        pass
    assert not (tmp_path / ".lock-holder").exists()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be locked"), run_lock(tmp_path / "file"):
        pass


@pytest.mark.parametrize("opening", ["load_model", "load_task"])
@pytest.mark.parametrize("engine", ["local", "ray"])
def test_ctrl_c_before_the_first_question_is_answered_in_words(
    opening: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pressed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(f"kapwa.loading.{opening}", pressed)
    asked = ["run", "kalahi/mc", "--model", "smollm2", "--engine", engine, "--out", str(tmp_path / "runs")]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 130
    assert done.stderr == "Stopped before anything was asked.\n"
    assert done.stdout == ""
    assert not (tmp_path / "runs").exists()
