"""Commands in forks of one process that has loaded Kapwa, its libraries and the embedded model already.

Loading them takes ten seconds of a processor, more than most commands take. Otherwise commands run as in a process of
their own: in their folder, with their words, environment and open files; who kills the program that asked kills the
fork. What is tested of loading itself, of other signals and of how long a command lives takes real processes.
"""

import atexit
import gc
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

# Sends words, folder, environment and open files to the process that waits at the address, and ends as the fork does.
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asks:
    asks.connect({address!r})
    socket.send_fds(asks, [b"."], [0, 1, 2])
    asks.sendall(json.dumps([{program!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode() + b"\\n")
    code = int(asks.recv(16) or 1)
    os._exit(code) if code >= 0 else os.kill(os.getpid(), -code)
"""
# A variable that names the folder of a process that several test processes share; a pipe there ends with the last.
SHARED, ALIVE = "KAPWA_TEST_WARM", "alive"
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "_RJEM_MALLOC_CONF": "background_thread:false",  # of Polars
}
# Languages of the sample packs.
SAMPLED = ("am", "ar", "en", "es", "fil", "ko")
# None that starts a thread, which a fork would lose.
LIBRARIES = (
    *("scipy.stats", "numba", "transformers", "torch", "rouge_score.rouge_scorer", "sacrebleu", "tqdm", "pydantic"),
    *("rapidfuzz", "sqlite3", "statistics", "polib", "segno", "openpyxl", "lxml.etree", "py3langid"),
    *("django.core.management.commands.migrate", "django.core.handlers.wsgi", "django.db.models"),
    *("django.forms.models", "django.template.defaulttags", "django.template.loader_tags"),
    *("django.contrib.auth.hashers", "django.test"),
)
# Kapwa's modules that are loaded by the command itself: the studio's need its settings, others load another harness.
LEFT_OUT = ("kapwa.studio", "kapwa.__main__", "kapwa.exchange.inspect_", "kapwa.exchange.lm_eval_tasks")
# Polars starts it when it is loaded, and asks it only for tables that are larger than the memory.
IDLE_THREADS = {"polars-ooc-clea"}


def kapwa(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``kapwa`` with these words in a folder, with more variables in its environment."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "120", **variables}
    command = [str(programs() / "kapwa"), *words]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


@cache
def programs() -> Path:
    """Start the process whose forks run commands; return the folder of its programs, ``kapwa`` and ``python``."""
    if not hasattr(os, "fork"):
        return Path(sys.executable).parent
    if SHARED not in os.environ:
        folder = Path(tempfile.mkdtemp(prefix="kapwa"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        atexit.register(start(folder, subprocess.PIPE).communicate)
        return folder
    import fcntl

    folder = Path(os.environ[SHARED])
    with (folder / "lock").open("w") as lock, (folder / ALIVE).open("rb") as alive:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "kapwa").exists():
            start(folder, alive)
    return folder


@contextmanager
def shared() -> Iterator[None]:
    """Let test processes that are started meanwhile share one such process, which the first that needs it starts."""
    with tempfile.TemporaryDirectory(prefix="kapwa", ignore_cleanup_errors=True) as folder:
        alive = os.path.join(folder, ALIVE)
        os.mkfifo(alive)
        held = os.open(alive, os.O_RDWR)
        os.environ[SHARED] = folder
        yield
        del os.environ[SHARED]
        os.close(held)


def start(folder: Path, alive: Any) -> subprocess.Popen[bytes]:
    """Start the process, and write its programs; it ends when its input ``alive`` does."""
    address = str(folder / "socket")
    process = subprocess.Popen(
        [sys.executable, __file__, address],
        env=os.environ | SETTINGS,
        stdin=alive,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    for program in ("python", "kapwa"):
        path = folder / program
        path.write_text(CLIENT.format(python=sys.executable, address=address, program=program), encoding="utf-8")
        path.chmod(0o755)
    return process


def serve(address: str) -> None:
    """Run each command that comes in a fork, until the input ends."""
    load_libraries()
    gc.freeze()  # forks neither look through what was loaded nor copy it
    signal.signal(signal.SIGCHLD, reap)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        print("ready", flush=True)
        while select.select([listener, 0], [], [])[0] == [listener]:
            asker, _ = listener.accept()
            _, files, _, _ = socket.recv_fds(asker, 1, 3)
            with asker.makefile("rb") as message:
                line = message.readline()
            if line.endswith(b"\n"):  # else who asked was killed meanwhile
                command = json.loads(line)
                if asks_embedded(*command[1:3]):
                    keep_embedded()
                assert len(threads()) <= 1, f"a fork would lose a thread: {threads()}"
                if not os.fork():
                    listener.close()
                    answer(asker, *command, files)
            for file in files:
                os.close(file)
            asker.close()


def reap(*_signal: Any) -> None:
    """Let go of every fork that has ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def threads() -> list[str]:
    """The names of this process's threads, where the system tells, but for those that a fork may lose."""
    names = [path.read_text(encoding="utf-8").strip() for path in Path("/proc/self/task").glob("*/comm")]
    return [name for name in names if name not in IDLE_THREADS]


def load_libraries() -> None:
    """Load what commands need: modules of Kapwa load theirs when they are called."""
    import kapwa
    from kapwa.cli.main import VERBS, loaded
    from kapwa.languages.base import lemma

    for verb in VERBS:
        loaded(verb)
    sys.modules["pyarrow"] = None  # type: ignore[assignment] - it starts threads, and pandas does without
    import_all(LIBRARIES)
    del sys.modules["pyarrow"]
    modules = [module.name for module in pkgutil.walk_packages(kapwa.__path__, "kapwa.")]
    import_all([name for name in modules if not name.startswith(LEFT_OUT)])
    for language in ("ar", "en", "es", "tl"):  # reading the dictionaries of the sample packs takes a second
        lemma("a", language)
    read_once()
    if "tqdm" in sys.modules:
        sys.modules["tqdm"].tqdm.monitor_interval = 0  # else it starts a thread


def read_once() -> None:
    """Read what most commands read first and keep: templates, lists of words and countries, versions of packages."""
    from importlib.metadata import version

    from kapwa.languages.fallback import language_for
    from kapwa.languages.identify import identify
    from kapwa.languages.phrases import is_refusal, reply_words
    from kapwa.languages.places import shared_names
    from kapwa.metrics.matching import Matcher
    from kapwa.report.charts.drawing import environment

    templates = environment()
    for name in templates.list_templates(extensions=["j2"]):
        templates.get_template(name)
    reply_words()
    is_refusal("no")
    identify("which language this is")
    shared_names([["Egypt"], ["EG"]])
    for language in SAMPLED:  # compiling its patterns takes a tenth of a second
        Matcher(language_for(language))
    version("kapwa")


def import_all(names: Iterable[str]) -> None:
    for name in names:
        try:
            import_module(name)
        except ImportError:  # an extra that is not installed
            continue


def asks_embedded(words: list[str], folder: str) -> bool:
    """Whether a command's words name the embedded model, or a run file among them does."""
    files = [Path(folder, word) for word in words if word.endswith((".yaml", ".yml"))]
    texts = [file.read_text(encoding="utf-8", errors="ignore") for file in files if file.is_file()]
    return any("smollm2" in text for text in (*words, *texts))


@cache
def keep_embedded() -> None:
    """Load the embedded model, for each fork to find in memory: weights, tokenizer, and by which method it scores.

    Where it cannot be loaded, each command says so itself.
    """
    from kapwa.catalog.weights_wheel import weights_file
    from kapwa.errors import KapwaError
    from kapwa.models import scoring, weights
    from kapwa.models.base import ModelOptions
    from kapwa.models.transformers import TransformersModel

    load, choose, tokenizer_at_hand = weights.load, scoring.choose, weights.tokenizer_at_hand
    plain = ModelOptions()
    try:
        source = weights.locate(str(weights_file()))
        kept = load(source, plain)
    except KapwaError:
        return
    model = TransformersModel("smollm2", kept, plain)
    chosen, template = model.scoring, model.template.digest
    handed_out: list[Any] = []

    def weights_from_memory(wanted: Any, options: ModelOptions) -> Any:
        if (wanted, options.dtype, options.device) != (source, plain.dtype, plain.device):
            return load(wanted, options)
        handed_out.append(same_tensors(kept.model))
        return replace(kept, model=handed_out[-1])

    def choice_from_memory(network: Any, encoder: Any, wanted: str) -> Any:
        known = any(network.model is each for each in handed_out)
        if known and (wanted, encoder.template.digest) == (plain.scoring, template):
            return chosen
        return choose(network, encoder, wanted)

    def tokenizer_from_memory(wanted: Any, options: ModelOptions) -> Any:
        return kept.tokenizer if wanted == source else tokenizer_at_hand(wanted, options)

    weights.load = weights_from_memory
    scoring.choose = choice_from_memory
    weights.tokenizer_at_hand = tokenizer_from_memory


def same_tensors(model: Any) -> Any:
    """Copy a network without its numbers: who closes the copy leaves the others theirs."""
    from torch.nn import Parameter

    kept = {id(each): Parameter(each.data, requires_grad=False) for each in model.parameters()}
    return deepcopy(model, kept)


def answer(asker: socket.socket, *command: Any) -> NoReturn:
    """Run a command in a fork of this fork, and send its exit code to who asked; it ends where the asker is killed."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    running, held = os.pipe()  # it ends with the command, which holds its other side
    child = os.fork()
    if not child:
        asker.close()
        become(*command)
    os.close(held)
    if running not in select.select([running, asker], [], [])[0]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(OSError):
        asker.sendall(str(code).encode())
    os._exit(0)


def become(program: str, words: list[str], folder: str, environment: dict[str, str], files: list[int]) -> NoReturn:
    """Run a command as if this process had been started for it."""
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    encoding = environment.get("PYTHONIOENCODING")
    for number, (name, mode, buffering) in enumerate((("stdin", "r", -1), ("stdout", "w", -1), ("stderr", "w", 1))):
        setattr(sys, name, os.fdopen(number, mode, buffering, encoding, closefd=False))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    if "HF_ENDPOINT" in environment:  # the hub's library reads addresses and folders when it is loaded
        for name in [name for name in sys.modules if name.partition(".")[0] == "huggingface_hub"]:
            del sys.modules[name]
    atexit._clear()
    code: Any = 0
    try:
        if program == "python" and words[0] != "-m":
            run_code(*words)
        elif program == "python" and words[1] != "kapwa":  # what ties a command to whoever started it
            sys.argv = [*words[1:], *shared_answers(words[words.index("kapwa") + 1 :])]
            import_module(words[1]).main()
        else:
            words = words[2:] if program == "python" else words
            sys.argv = ["kapwa", *words, *shared_answers(words)]
            import_module("kapwa.cli.main").run()
    except SystemExit as stop:
        code = stop.code
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def shared_answers(words: list[str]) -> list[str]:
    """Words that let a command take what the embedded model answered to an earlier one, where a test wants that."""
    asks = words[:1] in (["run"], ["judge"]) and "smollm2" in words
    plain = not {"--cache", "--dry-run", "--engine"}.intersection(words)
    return ["--cache", os.environ["WARM_ANSWERS"]] if asks and plain and "WARM_ANSWERS" in os.environ else []


def run_code(option: str, code: str, *words: str) -> None:
    """Do what ``python -c CODE`` does; ``python -m kapwa`` is ``kapwa``."""
    assert option == "-c"
    sys.argv = [option, *words]
    sys.path.insert(0, "")
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    serve(sys.argv[1])
