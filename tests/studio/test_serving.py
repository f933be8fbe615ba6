"""Ways to serve a studio: files for a server, a container and a laptop; backups, and what a studio lacks."""

import os
import re
import shlex
import shutil
import socket
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import pytest
from django.conf import settings
from studio_people import People

import warm
from kapwa import studio
from kapwa.cli.studio_home import network_of
from kapwa.studio import doctor
from kapwa.studio.settings import _MAIL as settings_of_mail
from kapwa.studio.settings import ADDRESS_NAME
from ports import free_port

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

HOST = "studio.example.org"
CADDY, DOCKER, SYSTEMD = (shutil.which(name) for name in ("caddy", "docker", "systemd-analyze"))


def kapwa(*words: str, cwd: Path, rc: int = 0) -> subprocess.CompletedProcess[str]:
    done = warm.kapwa(*words, cwd=cwd)
    assert done.returncode == rc, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deployed")
    kapwa("studio", "deploy", "server", "--host", HOST, cwd=folder)
    return folder / "server"


def test_the_files_of_a_server_hold_its_name_and_a_password_of_their_own(server: Path, tmp_path: Path) -> None:
    files = {path.relative_to(server).as_posix(): path for path in server.rglob("*") if path.is_file()}
    assert {"compose.yaml", "Caddyfile", "Dockerfile", "start.sh", "backup.sh", ".env"} <= files.keys()
    for name, path in files.items():
        assert not re.search(r"(?<!\$)\{(host|version|password)\}", path.read_text()), name
    services = yaml.safe_load(files["compose.yaml"].read_text())["services"]
    assert services["studio"]["environment"]["KAPWA_ADDRESS"] == f"https://{HOST}"
    assert "ports" not in services["studio"]  # nothing but Caddy reaches it
    assert "ports" not in services["database"]
    of_mail = {f"KAPWA_{name}" for name in settings_of_mail if name not in ("EMAIL_BACKEND", "EMAIL_FILE_PATH")}
    assert of_mail <= services["studio"]["environment"].keys()  # what .env says of it reaches the studio
    assert stat.S_IMODE(files[".env"].stat().st_mode) == 0o600
    kapwa("studio", "deploy", "other", "--host", HOST, cwd=tmp_path)
    passwords = {
        re.findall("PASSWORD=(.*)", path.read_text())[0] for path in (files[".env"], tmp_path / "other" / ".env")
    }
    assert len(passwords) == 2
    assert min(map(len, passwords)) == 48


def test_files_that_are_there_and_names_that_are_none_are_refused(server: Path, tmp_path: Path) -> None:
    before = (server / ".env").read_text()
    assert "already exists" in kapwa("studio", "deploy", str(server), "--host", HOST, cwd=tmp_path, rc=2).stderr
    assert (server / ".env").read_text() == before
    for name in ("https://studio.example.org", "studio", "a b.org", "-a.org", "x.org\nadmin off", "{$HOME}.org"):
        done = kapwa("studio", "deploy", "new", "--host", name, cwd=tmp_path, rc=2)
        assert "is not the name of a server" in done.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(CADDY is None, reason="no caddy on this machine")
def test_caddy_takes_its_file(server: Path, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    command = [str(CADDY), "validate", "--adapter", "caddyfile", "--config", str(server / "Caddyfile")]
    done = subprocess.run(command, env={**os.environ, **home}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Valid configuration" in done.stdout + done.stderr
    formatted = subprocess.run(
        [str(CADDY), "fmt", str(server / "Caddyfile")], capture_output=True, text=True, check=False
    )
    assert formatted.stdout == (server / "Caddyfile").read_text()


@pytest.mark.skipif(SYSTEMD is None, reason="no systemd on this machine")
def test_systemd_takes_its_units(server: Path, tmp_path: Path) -> None:
    for path in (server / "systemd").iterdir():
        text = path.read_text().replace("/srv/venv/bin/kapwa", "/bin/true")  # which it looks for
        (tmp_path / path.name).write_text(text)
    units = sorted(str(path) for path in tmp_path.iterdir())
    done = subprocess.run([str(SYSTEMD), "verify", *units], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "kapwa" in line]) == (0, [])


@pytest.mark.skipif(DOCKER is None, reason="no docker on this machine")
def test_compose_takes_its_file(server: Path) -> None:
    if subprocess.run([str(DOCKER), "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("no docker compose on this machine")
    done = subprocess.run(
        [str(DOCKER), "compose", "config", "--quiet"], cwd=server, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_commands_of_the_units_and_scripts_are_ones_that_kapwa_has(server: Path) -> None:
    """With their options, as the real command line reads them."""
    texts = [path.read_text() for path in server.rglob("*") if path.is_file()]
    called = {line for text in texts for line in re.findall(r"kapwa studio (.+)", text)}
    assert len(called) >= 6
    for line in called:
        verb, *words = line.split()
        offered = kapwa("studio", verb, "--help", cwd=server).stdout
        assert all(word in offered for word in words if word.startswith("--")), line


def started(folder: Path, command: list[str], variables: dict[str, str]) -> subprocess.Popen[str]:
    """A program that goes on; what it says is in the file "printed"."""
    path = os.pathsep.join([str(warm.programs()), os.environ["PATH"]])
    how: dict[str, Any] = {"cwd": folder, "env": {**os.environ, **variables, "PATH": path}, "text": True}
    with (folder / "printed").open("w") as said:
        return subprocess.Popen(command, **how, stdin=subprocess.DEVNULL, stderr=said, start_new_session=True)


def page_of(port: int, headers: dict[str, str], process: subprocess.Popen[str]) -> Any:
    """The answer of the page for codes, once there is one."""
    end = time.monotonic() + 240
    while True:
        try:
            return urlopen(Request(f"http://127.0.0.1:{port}/enter/", headers=headers), timeout=60)
        except (URLError, ConnectionError):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.2)


def stop(process: subprocess.Popen[str], port: int | None = None) -> None:
    """End what was started here, and what it started; of one that has ended itself the number may be another's.

    With a ``port``, wait until nobody answers there: the next to start must not be taken for this one.
    """
    if process.poll() is None:
        os.killpg(process.pid, 9)
        process.wait()
    end = time.monotonic() + 60
    while port is not None:
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)):
                return
        assert time.monotonic() < end
        time.sleep(0.05)


def at_a_port(home: Path, port: int) -> None:
    """Install a ``kapwa`` of which ``studio serve`` takes this port where people install it: 8000 may be taken here."""
    installed = home / ".local" / "bin" / "kapwa"
    installed.parent.mkdir(parents=True)
    installed.write_text(f'#!/bin/sh\nexec "{warm.programs() / "kapwa"}" "$@" --port {port}\n')
    installed.chmod(0o755)


def test_the_steps_of_the_container_without_a_container(server: Path, tmp_path: Path) -> None:
    """start.sh in a folder that lasts, three times, with one secret from outside; before the last the project is there,
    and what tells of it is not, as after a start that was cut off."""
    secret, port = "s" * 40, free_port()
    variables = {"PORT": str(port), "KAPWA_STUDIO_SECRET": secret, "KAPWA_LANGUAGE": "fil"}
    seen = {"Host": HOST, "X-Forwarded-Proto": "https"}  # as the host's proxy sends it
    codes = []
    home = tmp_path / "kapwa-studio"
    for start in range(3):
        if start == 2:
            (home / "begun").unlink()
        process = started(tmp_path, ["sh", str(server / "start.sh")], variables)
        try:
            answer = page_of(port, seen, process)
            assert "max-age" in answer.headers["Strict-Transport-Security"]
            assert all("Secure" in cookie for cookie in answer.headers.get_all("Set-Cookie"))
        finally:
            stop(process, port)
        codes.append((home / "first-code.txt").read_text())
    assert (home / "secret.key").read_text().strip() == secret
    assert stat.S_IMODE((home / "secret.key").stat().st_mode) == 0o600
    assert (home / "address.txt").read_text().strip() == f"https://{HOST}"
    assert codes[0] == codes[1]  # the project is made once
    assert re.search(r"\d{4}-\d{4}", codes[2])
    assert codes[2] != codes[0]
    assert f"https://{HOST}/join/" in codes[2]  # no address of the container's own
    assert (home / "begun").is_file()
    assert "1 project," in kapwa("studio", "check", cwd=tmp_path).stderr


def test_of_starts_at_the_same_moment_one_makes_the_project(tmp_path: Path) -> None:
    """The others are told that it is there, as start.sh and a second click need it."""
    with ThreadPoolExecutor(4) as starts:
        done = list(starts.map(lambda _start: warm.kapwa("studio", "new", "baryo", cwd=tmp_path), range(4)))
    assert sorted(one.returncode for one in done) == [0, 2, 2, 2]
    assert [one.stderr for one in done if one.returncode == 2 and "already exists" not in one.stderr] == []
    assert "1 project," in kapwa("studio", "check", cwd=tmp_path).stderr


BROWSER = f"{sys.executable} -c \"import sys; open('opened', 'w').write(sys.argv[1])\" %s"


def opened_by(folder: Path, process: subprocess.Popen[str]) -> str:
    """What the browser was asked to open, once it was."""
    end = time.monotonic() + 240
    while not ((folder / "opened").is_file() and (folder / "opened").read_text()):
        assert process.poll() is None, (folder / "printed").read_text()
        assert time.monotonic() < end
        time.sleep(0.2)
    address = (folder / "opened").read_text()
    (folder / "opened").unlink()
    return address


def test_the_starter_of_a_laptop_opens_an_empty_folder_in_the_browser_and_shares_it(tmp_path: Path) -> None:
    """Twice: the second time it opens what the first made, and no code is in the address that the browser keeps."""
    kapwa("studio", "deploy", ".", cwd=tmp_path)
    home, leads, port = tmp_path / "kapwa-studio", "", free_port()
    at_a_port(tmp_path, port)
    variables = {"BROWSER": BROWSER, "HOME": str(tmp_path), "KAPWA_WINDOW": "1"}
    for begun in (False, True):
        process = started(tmp_path, ["sh", str(tmp_path / "start-studio.command")], variables)
        try:
            address = opened_by(tmp_path, process)
            if not begun:  # the words of the browser's process name a page, which alone holds the code
                assert address == (home / "open.html").as_uri()
                leads = (home / "open.html").read_text()
        finally:
            stop(process, port)
        assert (home / "open.html").is_file() is not begun  # the next start removes what a killed one left
        link = re.search(rf"http://127.0.0.1:{port}/join/[-\d]{{19}}/", leads)
        assert link
        assert begun or f"To create a project, open {link[0]} (" in (tmp_path / "printed").read_text()
        kapwa("studio", "new", f"baryo-{begun:d}", cwd=tmp_path)
    assert address == f"http://127.0.0.1:{port}"
    assert ("127.0.0.1" in (home / "address.txt").read_text()) is not bool(network_of("0.0.0.0")[0])


def test_a_second_double_click_opens_the_studio_that_runs(tmp_path: Path) -> None:
    """By the entry that file managers of Linux start, in a folder whose name has spaces and signs."""
    folder = tmp_path / 'Ang $aming "kultura" 2'
    folder.mkdir()
    kapwa("studio", "deploy", ".", cwd=folder)
    kapwa("studio", "new", "baryo", cwd=folder)
    port = free_port()
    at_a_port(tmp_path, port)
    variables = {"BROWSER": BROWSER, "HOME": str(tmp_path), "KAPWA_WINDOW": "1"}
    entry = folder / "start-studio.desktop"
    assert os.access(entry, os.X_OK)
    # As the specification reads it: "\\\\" is a backslash, and quotes are those of a shell.
    line = re.search(r"^Exec=(.*)$", entry.read_text(), re.MULTILINE)
    assert line
    words = line[1].replace("\\\\", "\\").replace("%k", shlex.quote(str(entry)))
    first = started(folder, ["sh", "-c", f"exec {words}"], variables)
    try:
        assert opened_by(folder, first) == f"http://127.0.0.1:{port}"
        (folder / "printed").rename(folder / "printed-first")
        second = started(folder, ["sh", str(folder / "start-studio.sh")], variables)
        assert second.wait(240) == 0, (folder / "printed").read_text()
        assert (folder / "opened").read_text() == f"http://127.0.0.1:{port}"
        assert "runs already" in (folder / "printed").read_text()
        assert first.poll() is None
        assert page_of(port, {}, first).status == 200
    finally:
        stop(first)


@pytest.mark.parametrize("starter", ["start-studio.command", "start-studio.sh"])
def test_without_a_network_a_starter_says_so_and_waits(tmp_path: Path, starter: str) -> None:
    """Where nothing is installed yet; once the network is there, it goes on."""
    kapwa("studio", "deploy", ".", cwd=tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("sh", "dirname", "basename", "cat", "rm"):
        (tools / name).symlink_to(shutil.which(name) or name)
    network = tmp_path / "network"
    called = tmp_path / "called"
    for name, does in {
        "curl": f"test -e {network}",
        "uv": f'echo "uv $*" >> {called}; exit 1',
        "sleep": f": > {network}",  # while it sleeps, the network comes
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{does}\n")
        (tools / name).chmod(0o755)
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "KAPWA_WINDOW": "1"}
    command = ["sh", str(tmp_path / starter)]
    done = subprocess.run(command, env=environment, input="\n", capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stdout.count("There is no internet connection") == 1
    assert called.read_text() == "uv tool install --python 3.12 kapwa[studio]\n"


def test_share_takes_an_address_that_is_given(tmp_path: Path) -> None:
    """One of this machine is the one that phones open; this machine alone is none that they could."""
    reachable, _ = network_of("0.0.0.0")
    if not reachable:
        pytest.skip("this machine is in no network")
    kapwa("studio", "new", "baryo", "--language", "fil", cwd=tmp_path)
    told = tmp_path / "kapwa-studio" / "address.txt"
    for host in ("::1", reachable[0]):
        command = ["kapwa", "studio", "serve", "--share", "--host", host, "--port", str(free_port())]
        told.unlink(missing_ok=True)
        process = started(tmp_path, command, {})
        try:
            end = time.monotonic() + 240
            while not told.is_file():
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.2)
        finally:
            stop(process)
        assert reachable[0] in told.read_text()


@pytest.mark.skipif(not shutil.which("unshare"), reason="this machine makes no networks of its own")
def test_a_laptop_that_is_a_hotspot_itself_is_reached_by_its_phones() -> None:
    """Without a way to the Internet there is no address towards it, but one towards the phones."""
    said = "from kapwa.cli.studio_home import network_of; print(network_of('0.0.0.0')[0])"
    steps = f'ip link set lo up && ip address add 10.42.0.1/24 dev lo && exec {sys.executable} -c "{said}"'
    done = subprocess.run(["unshare", "-rn", "sh", "-c", steps], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this machine makes no networks of its own")
    assert done.stdout.strip() == "['10.42.0.1']"


def test_the_starter_of_windows_says_what_the_other_says(tmp_path: Path) -> None:
    """It cannot run here; its commands of Kapwa and uv are those of the one that can."""
    kapwa("studio", "deploy", ".", cwd=tmp_path)
    texts = [(tmp_path / f"start-studio.{kind}").read_bytes() for kind in ("bat", "command", "sh")]
    lines = texts[0].split(b"\n")
    assert all(line.endswith(b"\r") and line.count(b"\r") == 1 for line in lines[:-1])
    assert b"\r" not in texts[1] + texts[2]
    template = Path(studio.__file__).parent / "deploy" / "laptop" / "start-studio.bat"
    assert template.read_bytes() == texts[0]  # people download it as it lies there

    def commands(text: bytes) -> list[str]:
        lines = re.findall(r"(?:kapwa studio|uv tool) .*", text.decode().replace("\r", ""))
        return [re.sub(r'"[%$](\w+)%?"', r"<\1>", line.split(" ||")[0].rstrip("'")) for line in lines]

    assert commands(texts[0]) == commands(texts[1]) == commands(texts[2]) != []


def test_doctor_says_what_lacks_and_backup_is_one_of_it(tmp_path: Path) -> None:
    made = kapwa("studio", "new", "baryo", "--language", "fil", cwd=tmp_path)
    lacks = kapwa("studio", "doctor", cwd=tmp_path, rc=1).stdout
    assert "none was made" in lacks
    assert "this machine alone" in " ".join(lacks.split())
    kapwa("studio", "backup", cwd=tmp_path)
    kapwa("studio", "backup", "--output", "elsewhere", cwd=tmp_path)
    (archive,) = (tmp_path / "elsewhere").glob("baryo-????-??-??.zip")
    old = tmp_path / "elsewhere" / "baryo-2020-01-01.zip"
    old.write_bytes(b"")
    (tmp_path / "elsewhere" / "baryo-notes.zip").write_bytes(b"")  # somebody's own
    kapwa("studio", "backup", "--output", "elsewhere", "--keep", "7", cwd=tmp_path)
    assert not old.exists()
    assert sorted(path.name for path in archive.parent.iterdir()) == [archive.name, "baryo-notes.zip", "secrets"]
    assert "none was made" not in kapwa("studio", "doctor", cwd=tmp_path, rc=1).stdout
    # It comes back whole, by the code that its coordinator has.
    kapwa("studio", "import", "again", str(archive), "--home", "restored", cwd=tmp_path)
    assert made.stdout.strip()


def test_doctor_finds_each_fault_and_nothing_where_nothing_is(
    project: Any, people: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    people["berto"].act("topics/", {"name": "pista"})

    def lacking(*addresses: str) -> dict[str, str]:
        return {finding.name: finding.state for finding in doctor.examine(addresses) if finding.remedy}

    served = free_port()
    (tmp_path / ADDRESS_NAME).write_text(f"http://10.0.0.7:{served}\n")
    monkeypatch.setattr(doctor, "_answer", lambda url: doctor.Diagnosis("server", url))
    assert lacking("10.0.0.7").keys() <= {"backup", "fonts"}
    assert "no address of this machine now" in lacking("10.0.0.8")["address"]
    monkeypatch.undo()
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    (tmp_path / ADDRESS_NAME).write_text(f"http://127.0.0.1:{served}\n")
    assert "does not answer" in lacking()["server"]
    (tmp_path / ADDRESS_NAME).write_text(f"http://{HOST}\n")
    monkeypatch.setattr(doctor, "_answer", lambda url: doctor.Diagnosis("server", url))
    assert "reads what is sent" in lacking()["certificate"]
    (tmp_path / doctor.BACKED_UP).write_text("/backups\n")
    assert "backup" not in lacking()
    yesterday = time.time() - 25 * 3600
    os.utime(tmp_path / doctor.BACKED_UP, (yesterday, yesterday))
    assert lacking()["backup"].startswith("25 hours old")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**12, 10**12, 10**8))
    assert lacking()["disk"] == "0.1 GB free"

    class Before(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(UTC) - timedelta(days=400)

    monkeypatch.setattr(doctor, "datetime", Before)
    assert "is before the newest entry" in lacking()["clock"]


def test_links_name_the_address_that_phones_reach(
    project: Any, people: People, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the coordinator sits at the laptop that serves, whose browser says 127.0.0.1."""
    monkeypatch.setattr(settings, "KAPWA_HOME", tmp_path)
    (tmp_path / ADDRESS_NAME).write_text("http://10.0.0.7:8000\n")
    asked = {"action": "invite", "roles": ["writer"], "count": "1"}
    ana = people["ana"]
    for host, shown in (
        ("127.0.0.1:8000", "10.0.0.7:8000"),
        ("localhost", "10.0.0.7:8000"),
        ("testserver", "testserver"),
    ):
        page = ana.client.post(ana.full("people/"), asked, headers={"host": host}).content.decode()
        assert re.findall(r"http://([^/]+)/join/\d", page) == [shown]
