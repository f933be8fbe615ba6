"""A run on a Ray of its own, in a process of its own, to be interrupted: ``python interrupted_run.py FOLDER``."""

import signal
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "runs")]
from ray_models import make  # noqa: E402
from tiny_suite import TinyTask, run_task  # noqa: E402

from kapwa.parallel.base import Ray  # noqa: E402
from kapwa.parallel.ray_model import RayModel  # noqa: E402
from kapwa.runs.asking import RunInterrupted  # noqa: E402


def main(folder: str) -> None:
    import ray

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it

    told = []

    def tell(snapshot: Any) -> None:
        if snapshot.done >= 6 and not told:
            told.append(True)
            print("session", ray._private.worker._global_node.get_session_dir_path(), flush=True)

    model = RayModel(Ray("local", replicas=2, cpus_per_replica=1), make, ("TinyModel", {"delay": 0.2}))
    try:
        run_task(TinyTask(n=400, shared=False), model, path=folder, progress=tell)
    except RunInterrupted as stop:
        print(stop, flush=True)
    finally:
        model.close()
    print("closed", ray.is_initialized(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
