"""What calibrated confidence is worth: false rates on questions that it was not learned from.

Each judged collection is calibrated as `groovectl calibrate` does it, from its own text alone.  Then its judged queries
count as answered, and those of the other collections, which it has nothing about, as unanswered.
"""

from collections.abc import Sequence
from statistics import median

import structlog

from benchmarks.first_index import index_fully, ready_model, working
from benchmarks.judged import COLLECTIONS, Judged
from benchmarks.table import ABSENT, Report, Row, columns
from benchmarks.world import World, say, tempfile_folder
from groove_daemon.config.settings import CollectionSettings, Settings
from groove_daemon.domain.query import Filters
from groove_daemon.models.host import ModelHost
from groove_daemon.retrieval.calibrating import calibrate
from groove_daemon.retrieval.calibration import Calibration, separation
from groove_daemon.store.index import Index

_QUESTIONS = 100
_COLUMNS = (
    "collection", "made of the notes", "about other things", "false accept", "false reject", "separation",
    "judged queries", "rejected", "foreign queries", "accepted", "separation", "median of both",
)  # fmt: skip


def measure(world: World, *, rounds: int) -> Report:  # noqa: ARG001 (the signature of every part)
    """Index, calibrate and judge every collection that is there."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    host, _ = ready_model(world)
    try:
        with tempfile_folder() as work:
            found = {name: read(work) for name, read in COLLECTIONS.items()}
            there = {name: judged for name, judged in found.items() if judged is not None}
            if len(there) < 2:
                return Report((Row("calibrated confidence", "fewer than two judged collections", "", ABSENT),))
            cells = [_judged(judged, list(there.values()), host) for judged in there.values()]
    finally:
        host.close()
    rows = tuple(
        Row(f"confidence on {cell[0]}: rejected of its own queries, accepted of foreign ones", f"{cell[7]}, {cell[9]}")
        for cell in cells
    )
    return Report(rows, tuple(columns([_COLUMNS, *cells])), {cell[0]: cell[1:] for cell in cells})


def _judged(judged: Judged, everything: Sequence[Judged], host: ModelHost) -> tuple[str, ...]:
    say(f"confidence: {judged.name} ...")
    settings = Settings(collections=(CollectionSettings(name="notes", path=str(judged.notes)),))
    with working(settings, host) as (index, late):
        index_fully(late)
        made = calibrate(
            index, host.embedder, questions=_QUESTIONS, now=0.0,
            is_cancelled=lambda: False, on_progress=lambda _done, _total: None,
        )  # fmt: skip
        own = [_nearest(index, host, query.text) for query in judged.queries]
        foreign = [
            _nearest(index, host, query.text) for other in everything if other is not judged for query in other.queries
        ]
    return _cells(judged.name, made, own, foreign)


def _nearest(index: Index, host: ModelHost, text: str) -> float:
    nearest = index.vectors.scan(host.embedder.embed_query(text)).top_chunks(
        1, allowed=index.reader().allowed(Filters()), excluded=frozenset()
    )
    return nearest[0][1]


def _cells(name: str, made: Calibration, own: Sequence[float], foreign: Sequence[float]) -> tuple[str, ...]:
    if made.curve is None or made.rates is None:
        raise SystemExit(f"{name} cannot be calibrated: {made.reason}")
    sure, unsure = ([made.curve.at(cosine) for cosine in cosines] for cosines in (own, foreign))
    rejected = sum(value < 0.5 for value in sure) / len(own)
    accepted = sum(value >= 0.5 for value in unsure) / len(foreign)
    return (
        name, str(made.answerable), str(made.unanswerable),
        f"{made.rates.false_accept:.3f}", f"{made.rates.false_reject:.3f}", f"{made.rates.separation:.3f}",
        str(len(own)), f"{rejected:.3f}", str(len(foreign)), f"{accepted:.3f}", f"{separation(own, foreign):.3f}",
        f"{median(sure):.2f} / {median(unsure):.2f}",
    )  # fmt: skip
