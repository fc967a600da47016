"""Under which conditions figures were taken."""

import os
import platform
import sqlite3
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

_PACKAGES = ("apsw", "sqlite-vec", "numpy", "onnxruntime", "tokenizers", "msgpack", "watchdog", "torch")
_ROOT = Path(__file__).resolve().parent.parent


def conditions() -> dict[str, str]:
    """Machine, versions, load, moment and commit, by name."""
    import apsw

    return {
        "cpu": _cpu(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "sqlite": f"{apsw.sqlite_lib_version()} (apsw), {sqlite3.sqlite_version} (stdlib)",
        "packages": ", ".join(f"{name} {_version(name)}" for name in _PACKAGES),
        "load": load(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
    }


def load() -> str:
    """The load averages of 1, 5 and 15 minutes."""
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "absent"


def _commit() -> str:
    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    commit = git("rev-parse", "--short", "HEAD") or "none yet"
    return f"{commit}, with changes" if git("status", "--porcelain") else commit
