"""Resident memory of a daemon that has indexed everything itself and answered a thousand queries since."""

import time

from benchmarks.figures import ms
from benchmarks.table import Report, Row, at_most
from benchmarks.world import SECTIONS, Daemon, World, say, tempfile_folder

BAR_MB = 300
QUERIES = 1_000


def measure(world: World, *, rounds: int) -> Report:  # noqa: ARG001 (the signature of every part)
    """One life of a daemon: full index, then the queries; its index is kept for the other parts."""
    with tempfile_folder() as home, Daemon(home, {"notes": world.notes}, cache=world.cache) as daemon:
        say("memory: indexing ...")
        began = time.perf_counter()
        daemon.start()
        ready = daemon.memory()
        daemon.wait_indexed()
        took = time.perf_counter() - began
        indexed = daemon.memory()
        say("memory: asking ...")
        modes: dict[str, int] = {}
        with daemon.client() as client:
            for question in world.questions(QUERIES):
                mode = client.search(question, limit=10).mode
                modes[mode] = modes.get(mode, 0) + 1
            chunks = client.status().index.chunks
        asked = daemon.memory()
        daemon.stop()
        world.keep(daemon.index)
    mb = asked["VmRSS"] / 1e6
    details = (
        f"{SECTIONS} sections became {chunks} chunks; start to last vector {took:.0f} s ({ms(took / chunks)} a chunk)",
        f"resident MB: model ready {ready['VmRSS'] / 1e6:.0f}, after the index {indexed['VmRSS'] / 1e6:.0f},"
        f" after the queries {mb:.0f} (anonymous {asked['RssAnon'] / 1e6:.0f}, files {asked['RssFile'] / 1e6:.0f}),"
        f" highest ever {asked['VmHWM'] / 1e6:.0f}",
        f"modes of the answers: {modes}",
    )
    row = Row(
        f"memory, default model, {chunks} chunks, full index and {QUERIES} queries",
        f"{mb:.0f} MB",
        f"<= {BAR_MB} MB",
        at_most(mb, BAR_MB),
    )
    return Report((row,), details, {"ready": ready, "indexed": indexed, "asked": asked, "chunks": chunks, "s": took})
