"""Whether the defaults are right: one setting at a time is another one, and the same questions are asked again.

What people judged and questions made of passages (`benchmarks/passages.py`), nDCG@5 of both; each variant against the
default, as the paired difference with its 95 % interval.  The choices are in `benchmarks/choices.py`.  A reranker is
measured when the environment variable `BENCH_RERANKER` names the folder of a cross-encoder or a known one is installed.
"""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from benchmarks.asking import Asker, Change, Questions
from benchmarks.choices import INDEX_TIME, QUERY_TIME, RERANKING, same
from benchmarks.comparison import Comparison, Values
from benchmarks.first_index import index_fully, ready_model, working
from benchmarks.judged import COLLECTIONS, Judged
from benchmarks.lookups import all_chunks
from benchmarks.passages import SENTENCE, draw
from benchmarks.table import ABSENT, Report, Row
from benchmarks.world import World, say, tempfile_folder
from groove_daemon.config.settings import CollectionSettings, IndexSettings, ModelSettings, Settings
from groove_daemon.errors import ModelUnavailable
from groove_daemon.models import create_scorer
from groove_daemon.models.base import PairScorer
from groove_daemon.models.catalog import SCORERS
from groove_daemon.models.host import ModelHost
from groove_daemon.store.index import Index
from groove_daemon.workers import Workers

PASSAGES, RERANKED = 150, 40
LONGEST_INDEX_S = 60.0
RERANKER = "BENCH_RERANKER"
_DEFAULT = "default"
_FAVOURED = (
    "Passages are chunks of the default index, which favours it where words are drawn from all of one;"
    " their sentences do not depend on how it is cut."
)

Findings = dict[str, dict[str, dict[str, Sequence[float]]]]
"""What each choice gave under each of its variants, the default among them."""


def measure(world: World, *, rounds: int) -> Report:  # noqa: ARG001 (the signature of every part)
    """Ask every collection that is there under each variant."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    host, _ = ready_model(world)
    workers = Workers("legs", threads=4, max_waiting=4)
    scorer, told = _reranker(world.cache)
    findings: Findings = {}
    notes: list[str] = [told]
    names: list[str] = []
    try:
        with tempfile_folder() as work:
            for name, read in COLLECTIONS.items():
                judged = read(work)
                if judged is None:
                    notes.append(f"{name}: the data is not there")
                    continue
                notes.append(_Collection(judged, host, workers, scorer, findings).ask())
                names.append(name)
    finally:
        workers.close()
        host.close()
        if scorer is not None:
            scorer.release()
    if not names:
        return Report((Row("defaults", "no judged collection is there", "", ABSENT),))
    return _report(findings, names, notes)


def _reranker(cache: Path) -> tuple[PairScorer | None, str]:
    """A cross-encoder that works, or None; and a line about it."""
    reasons = []
    for name in filter(None, (os.environ.get(RERANKER), *SCORERS.known)):
        scorer = create_scorer(ModelSettings(reranker=name), cache_dir=cache)
        if scorer is None:
            continue
        try:
            scorer.warm_up()
        except ModelUnavailable as error:
            reasons.append(str(error))
        else:
            return scorer, f"reranker: {name}, at most {RERANKED} of each set of questions"
    return None, f"reranker: left out ({'; '.join(reasons)}); {RERANKER} may name the folder of one"


@dataclass(frozen=True, slots=True)
class _Collection:
    """One collection, asked under all variants; adds to the findings."""

    judged: Judged
    host: ModelHost
    workers: Workers
    scorer: PairScorer | None
    findings: Findings

    def ask(self) -> str:
        """Do all of it; returns a line on what was asked and what was left out."""
        name = self.judged.name
        with self._indexed(IndexSettings()) as (index, index_s):
            asker = Asker(index, self.host.embedder, self.workers, self.scorer)
            questions = Questions(name, self.judged.queries, draw(all_chunks(index), count=PASSAGES))
            began = time.monotonic()
            self._vary(QUERY_TIME, asker, questions)
            query_s = time.monotonic() - began
            if self.scorer is not None:
                self._vary(RERANKING, asker, questions.some(RERANKED))
            default = asker.values(questions, same)
        told = f"{index_s:.0f} s to index, {query_s:.0f} s for choices at query time"
        if index_s > LONGEST_INDEX_S:
            told += "; too large for choices at index time, left out there"
        else:
            began = time.monotonic()
            self._vary_index(questions, default)
            told += f", {time.monotonic() - began:.0f} s for choices at index time"
        made = sum(len(passage.questions) for passage in questions.passages)
        asked = f"{len(questions.judged)} judged queries, {made} questions made of {len(questions.passages)} passages"
        return f"{name}: {asked}; {told}"

    def _vary(self, choices: Mapping[str, Mapping[str, Change]], asker: Asker, questions: Questions) -> None:
        for choice, variants in choices.items():
            say(f"defaults: {self.judged.name}: {choice} ...")
            for variant, change in {_DEFAULT: same, **variants}.items():
                self._add(choice, variant, asker.values(questions, change))

    def _vary_index(self, questions: Questions, default: Values) -> None:
        for choice, variants in INDEX_TIME.items():
            say(f"defaults: {self.judged.name}: {choice} ...")
            self._add(choice, _DEFAULT, default)
            for variant, change in variants.items():
                with self._indexed(change(IndexSettings())) as (index, _):
                    asker = Asker(index, self.host.embedder, self.workers)
                    self._add(choice, variant, asker.values(questions, same))

    def _add(self, choice: str, variant: str, values: Values) -> None:
        self.findings.setdefault(choice, {}).setdefault(variant, {}).update(values)

    @contextmanager
    def _indexed(self, settings: IndexSettings) -> Iterator[tuple[Index, float]]:
        """An index of the collection, and the seconds that it took."""
        collection = CollectionSettings(name="notes", path=str(self.judged.notes))
        with working(Settings(collections=(collection,), index=settings), self.host) as (index, late):
            yield index, index_fully(late)["all"]


def _report(findings: Findings, names: Sequence[str], notes: Sequence[str]) -> Report:
    rows: list[Row] = []
    details = list(notes)
    figures: dict[str, object] = {}
    count = clear = 0
    for choice, variants in findings.items():
        default = variants[_DEFAULT]
        made = Comparison.of(choice, default, {name: one for name, one in variants.items() if name != _DEFAULT})
        columns = [name for name in _columns(choice, names) if name in default]
        differences = [sets[name] for sets in made.differences.values() for name in columns]
        count += sum(any(difference) for difference in differences)
        clear += sum(difference.is_clear for difference in differences)
        better, worse = (made.clear(columns, sign) for sign in (1, -1))
        told = f"of {len(made.means)} variants better somewhere {len(better)}, worse somewhere {len(worse)}"
        rows.append(Row(choice, told))
        details += ["", f"{choice[0].upper()}{choice[1:]}:", "", *made.table(columns), ""]
        details += [f"Clearly better: {_told(better)}.", f"Clearly worse: {_told(worse)}."]
        if choice in INDEX_TIME:
            details.append(_FAVOURED)
        figures[choice] = {"default": made.default, "means": made.means, "differences": made.differences}
    chance = f"{clear} of {count}; about {count / 20:.0f} would be by chance alone"
    rows.append(Row("differences from a default whose 95 % interval leaves 0 out (bold below)", chance))
    return Report(tuple(rows), tuple(details), figures)


def _columns(choice: str, names: Sequence[str]) -> list[str]:
    """The sets of questions that a choice's table shows."""
    passages = [f"passages: {name}" for name in names]
    # How long chunks are decides whether one holds several words, so sentences are told apart.
    sentences = [f"{name}, {SENTENCE}" for name in passages] if choice in INDEX_TIME else []
    return [*names, *passages, *sentences]


def _told(variants: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{variant} ({', '.join(names)})" for variant, names in variants.items()) or "none"
