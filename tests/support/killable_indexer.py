"""A process that indexes a folder and embeds one batch for each line that it is sent; made to be killed in the middle.

It says `batch` on stdout each time it is about to embed.  Arguments: the folder of the index, the folder of the notes.
"""

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from groove_daemon.models.base import Matrix
from support.indexing import CountingEmbedder, Rig, StandInModels
from support.library import Library


class StepwiseEmbedder(CountingEmbedder):
    """The hashing embedder, which waits for a line before each batch."""

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        print("batch", flush=True)
        sys.stdin.readline()
        return super().embed_passages(texts)


class KillableIndexer:
    """The process, from outside; it ends by itself after a minute."""

    def __init__(self, state: Path, root: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.killable_indexer", str(state), str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=Path(__file__).parents[1],
        )
        self._last_moment = threading.Timer(60, self._process.kill)
        self._last_moment.start()

    def embed(self, batches: int) -> None:
        """Let it embed so many batches, and return when it is at work on one more."""
        assert self._process.stdin
        self._await_batch()
        for _ in range(batches):
            self._process.stdin.write("go on\n")
            self._process.stdin.flush()
            self._await_batch()

    def kill(self) -> None:
        """End it as a crash would."""
        self._last_moment.cancel()
        self._process.kill()
        self._process.communicate()

    def _await_batch(self) -> None:
        assert self._process.stdout
        while (line := self._process.stdout.readline()) != "batch\n":
            assert line, "it ended by itself"


def main(state: str, root: str) -> None:
    with Rig(Path(state), [Library(Path(root)).settings()], models=StandInModels(StepwiseEmbedder())):
        threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
