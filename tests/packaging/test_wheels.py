"""Both distributions: what is in them, what they need, and that the client's stands alone."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import msgpack
import pytest

from support.answers import make_answer, make_hit
from support.fake_daemon import FakeDaemon

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"groove_client": "client", "groove_wire": "client", "groove_daemon": "daemon"}


def _run(*words, **options):
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=True, timeout=300, **options
    )


def _wheel(source: Path, target: Path) -> Path:
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", target, source)
    (wheel,) = target.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def full(tmp_path_factory) -> Path:
    return _wheel(ROOT, tmp_path_factory.mktemp("full"))


@pytest.fixture(scope="module")
def thin(tmp_path_factory) -> Path:
    return _wheel(ROOT / "client", tmp_path_factory.mktemp("thin"))


@pytest.fixture(scope="module")
def installed(thin, tmp_path_factory) -> Path:
    """The client's wheel in an environment of its own, with msgpack and nothing else beside it; its `bin` folder."""
    place = tmp_path_factory.mktemp("venv")
    _run(sys.executable, "-m", "venv", "--without-pip", place)
    python = place / "bin" / "python"
    _run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", thin)
    (library,) = place.glob("lib/python*/site-packages")
    (library / "msgpack").symlink_to(Path(msgpack.__file__).parent)
    return place / "bin"


def _names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def _text(wheel: Path, ending: str) -> str:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(ending))
        return archive.read(name).decode()


def _sources(*packages: str) -> set[str]:
    found = set()
    for package in packages:
        root = ROOT / PACKAGES[package]
        files = (path for path in (root / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        found |= {path.relative_to(root).as_posix() for path in files}
    return found


def test_full_distribution_holds_everything(full):
    names = _names(full)
    shared = {name.partition(".data/data/")[2] for name in names if ".data/data/" in name}

    assert {name for name in names if name.split("/")[0] in PACKAGES} == _sources(*PACKAGES)
    assert {path.name for path in (ROOT / "systemd").iterdir()} <= {Path(name).name for name in shared}
    assert {path.name for path in (ROOT / "launchd").iterdir()} <= {Path(name).name for name in shared}
    assert all(name.startswith("share/groove/") for name in shared)


def test_client_distribution_holds_the_client_and_the_wire(thin):
    names = _names(thin)

    assert {name for name in names if ".dist-info/" not in name} == _sources("groove_client", "groove_wire")


def test_client_distribution_needs_msgpack_alone(thin):
    metadata = _text(thin, "METADATA").splitlines()

    assert [line for line in metadata if line.startswith("Requires-Dist")] == ["Requires-Dist: msgpack>=1.1"]
    assert "Requires-Python: >=3.11" in metadata


def test_commands_are_those_of_the_table(full, thin):
    assert "groovectl = groove_client.cli:main" in _text(thin, "entry_points.txt")
    assert "grooved" not in _text(thin, "entry_points.txt")
    assert "groovectl = groove_client.cli:main" in _text(full, "entry_points.txt")
    assert "grooved = groove_daemon.cli:main" in _text(full, "entry_points.txt")


def test_both_distributions_have_the_version_of_the_wire(full, thin):
    version = _run(sys.executable, "-c", "from groove_wire.version import VERSION; print(VERSION)").stdout.strip()

    assert f"\nVersion: {version}\n" in _text(full, "METADATA")
    assert f"\nVersion: {version}\n" in _text(thin, "METADATA")


_PRINT_FOREIGN = """
import sys
foreign = {name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names)
print(*foreign, file=sys.stderr)
"""
_SEARCH = "import sys; from groove_client.cli import main; main(sys.argv[1:])"


def _foreign(report: str) -> set[str]:
    """The packages in a report, without the program itself, the machine's hooks and what Cython adds to msgpack."""
    hooks = {"__main__", "sitecustomize", "usercustomize"}
    return {name for name in report.split() if name not in hooks and not name.lstrip("_").startswith("cython")}


def test_command_alone_loads_the_standard_library_and_msgpack(installed, tmp_path, socket_path):
    env = {"HOME": str(tmp_path), "GROOVE_SOCKET": socket_path}
    with FakeDaemon(socket_path, {"search": make_answer(make_hit())}):
        done = _run(installed / "python", "-c", _SEARCH + _PRINT_FOREIGN, "search", "x", env=env)

    assert _foreign(done.stderr) == {"groove_client", "groove_wire", "msgpack"}
    assert "1  Async 1" in done.stdout


@pytest.mark.parametrize("module", ["groove_client.client", "groove_client.aio", "groove_client.service"])
def test_importing_the_library_loads_the_standard_library_alone(installed, module):
    done = _run(installed / "python", "-c", f"import {module}{_PRINT_FOREIGN}", env={})

    assert _foreign(done.stderr) == {"groove_client", "groove_wire"}


def test_client_alone_says_that_no_daemon_is_installed(installed, tmp_path):
    done = subprocess.run(
        [installed / "groovectl", "search", "x"],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "PATH": os.fspath(tmp_path), "GROOVE_SOCKET": str(tmp_path / "d.sock")},
        timeout=60,
        check=False,
    )

    assert done.returncode == 3
    assert "grooved is not installed here" in done.stderr
