"""A folder of notes on the real disk, and a way to wait for what other threads do without sleeping for a fixed time."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from groove_daemon.config.settings import CollectionSettings

LONG_AGO = 1_600_000_000


class Library:
    """A collection's folder.

    Files get an old modification time unless they are written as `fresh`, so that they count as settled.
    """

    def __init__(self, root: Path, *, name: str = "notes") -> None:
        self.root = root
        self.name = name
        root.mkdir(parents=True, exist_ok=True)

    def settings(self, **changes: object) -> CollectionSettings:
        return CollectionSettings(path=str(self.root), name=self.name, **changes)  # type: ignore[arg-type]

    def write(self, path: str, text: str = "", *, at: int = LONG_AGO, fresh: bool = False) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        if not fresh:
            os.utime(file, (at, at))
        return file

    def save_by_rename(self, path: str, text: str) -> None:
        """As careful editors do: a temporary file beside the note, then a rename over it."""
        target = self.root / path
        temporary = target.with_name(f".{target.name}.tmp")
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, target)

    def append(self, path: str, text: str) -> None:
        with (self.root / path).open("a", encoding="utf-8") as file:
            file.write(text)

    def move(self, source: str, target: str) -> None:
        (self.root / target).parent.mkdir(parents=True, exist_ok=True)
        os.rename(self.root / source, self.root / target)

    def remove(self, path: str) -> None:
        target = self.root / path
        if target.is_dir():
            shutil.rmtree(target)
        else:
            target.unlink()


def wait_until(condition: Callable[[], object], *, within: float = 10.0, what: str = "") -> None:
    """Poll until `condition` holds; fails after `within` seconds."""
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {what or condition}")
        time.sleep(0.005)
