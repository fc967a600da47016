"""Words to put in front of a command so that it runs where something is missing: the network, space, a right.

They need root, or user namespaces; a test that cannot have them here is skipped with that reason.
"""

import functools
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

NOBODY = 65534


def without_network() -> list[str]:
    """A network of its own with nothing in it, not even the loopback."""
    return _usable(["unshare", "--net"])


def read_only(folder: Path) -> list[str]:
    """A folder that cannot be written, by root neither."""
    return _with_mount('mount --bind "$0" "$0" && mount -o remount,ro,bind "$0"', folder)


def small(folder: Path, size: str) -> list[str]:
    """A folder on a file system of its own of that size, empty."""
    return _with_mount(f'mount -t tmpfs -o size={size},mode=700 tmpfs "$0"', folder)


def as_nobody() -> list[str]:
    """Another user without any right."""
    return _usable(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"])


def inside(pid: int, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command among the mounts of a process."""
    return subprocess.run(
        ["nsenter", f"--target={pid}", "--mount", *words], capture_output=True, text=True, check=False, timeout=30
    )


def _with_mount(commands: str, folder: Path) -> list[str]:
    _usable(["unshare", "--mount"])
    return ["unshare", "--mount", "sh", "-c", f'{commands} && exec "$@"', str(folder)]


def _usable(words: list[str]) -> list[str]:
    if not _works(tuple(words)):
        pytest.skip(f"{' '.join(words)} is not allowed here")
    return words


@functools.cache
def _works(words: Sequence[str]) -> bool:
    if sys.platform != "linux":
        return False
    try:
        return subprocess.run([*words, "true"], capture_output=True, check=False, timeout=30).returncode == 0
    except FileNotFoundError:
        return False
