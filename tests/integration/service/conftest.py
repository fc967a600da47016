"""A private service manager of a user, and a service in it."""

import os
import pwd
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.service import Installation
from support.systemd import UserManager, user_manager, why_no_manager


@pytest.fixture(params=["root", "nobody"])
def installation(request: pytest.FixtureRequest) -> Iterator[Installation]:
    """A manager of root's, which may do everything, and one of an ordinary user's, which may not."""
    yield from _installation(request.param)


@pytest.fixture
def root_installation() -> Iterator[Installation]:
    yield from _installation("root")


def _installation(user: str) -> Iterator[Installation]:
    missing = why_no_manager()
    if missing:
        pytest.skip(missing)
    # Not below tmp_path, whose folder is closed to other users.
    home = Path(tempfile.mkdtemp(prefix="groove service "))
    try:
        state = home / 'My "Notes" 100% $HOME'
        state.mkdir()
        for path in (home, state):
            os.chown(path, pwd.getpwnam(user).pw_uid, -1)
        with user_manager(home, user=user) as manager:
            yield Installation(manager, state, _interpreter(manager))
    finally:
        shutil.rmtree(home)


def _interpreter(manager: UserManager) -> str:
    """One that the manager's user may run: the tests' own may lie in root's home."""
    for path in (sys.executable, "/usr/bin/python3"):
        # By the shell, because setpriv still has root's rights when it starts a program.
        if manager.run(["/bin/sh", "-c", '"$0" -c ""', path]).code == 0:
            return path
    return pytest.skip(f"needs a Python that {manager.user} may run")
