"""Runs a program of ours with a hashing embedder that cannot embed queries while a file is there.

`python failing_query.py FILE PROGRAM WORD...`: the stand-in for a model that breaks between indexing and searching.
"""

import sys
from pathlib import Path

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.base import Vector
from groove_daemon.models.hashing import HashingEmbedder

REASON = "the session of the model has gone away"


def break_while(flag: Path) -> None:
    """Let queries fail from now on whenever `flag` exists."""
    embed = HashingEmbedder.embed_query

    def embed_query(self: HashingEmbedder, text: str) -> Vector:
        if flag.exists():
            raise ModelUnavailable(REASON)
        return embed(self, text)

    HashingEmbedder.embed_query = embed_query


if __name__ == "__main__":
    from groove_daemon.cli import main

    break_while(Path(sys.argv[1]))
    sys.exit(main(sys.argv[3:]))
