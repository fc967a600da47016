"""Reranking 20 candidates against the bare model on the same 20 pairs, in turns, with nothing remembered.

One model has the shape of a small real cross-encoder and random weights, so that its time is real; the known one is
measured where it is installed.
"""

import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from benchmarks.figures import interval_of_ratio, ms, spread, turned
from benchmarks.search import Bench, bench
from benchmarks.table import ABSENT, Report, Row, at_most
from benchmarks.world import World, say, tempfile_folder
from groove_daemon.config.settings import ModelSettings
from groove_daemon.domain.ranking import Candidate
from groove_daemon.errors import ModelUnavailable
from groove_daemon.models import create_scorer
from groove_daemon.models.base import PairScorer
from groove_daemon.models.catalog import EMBEDDERS, SCORERS, locate
from groove_daemon.retrieval.compile import compile_query
from groove_daemon.retrieval.rerank import Rerank, Reranking, ScoreCache, pair_text
from groove_daemon.retrieval.trace import Trace
from groove_daemon.search import SearchCall

BAR = 1.1
CANDIDATES, QUESTIONS = 20, 10

# Six layers of 384 numbers, as the small ones that people use.
_MAKER = """
import sys, torch
from transformers import BertConfig, BertForSequenceClassification
torch.manual_seed(3)
config = BertConfig(vocab_size=30522, hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                    intermediate_size=1536, max_position_embeddings=512, num_labels=1)
BertForSequenceClassification(config).eval().save_pretrained(sys.argv[1])
"""
_TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json")


def measure(world: World, *, rounds: int) -> Report:
    """Every question once a round with both; each counts with its median."""
    passes = max(2, rounds // 3)
    rows: list[Row] = []
    details: list[str] = []
    figures: dict[str, object] = {}
    with tempfile_folder() as work, bench(world) as made:
        for name, model in {
            "random weights": str(_random_model(work)),
            **{name: name for name in SCORERS.known},
        }.items():
            what = f"rerank {CANDIDATES} candidates / the bare model on the same pairs, {name}"
            scorer = create_scorer(ModelSettings(reranker=model), cache_dir=work)
            if scorer is None:
                raise SystemExit(f"no reranker for {model}")
            try:
                scorer.warm_up()
            except ModelUnavailable as error:
                rows.append(Row(what, f"not installed: {error}", f"<= {BAR}x", ABSENT))
                continue
            say(f"rerank: {name} ...")
            stage, bare = _taken(world, made, scorer, passes)
            scorer.release()
            ratio = median(stage) / median(bare)
            low, high = interval_of_ratio(stage, bare)
            measured = f"{ratio:.2f}x ({ms(median(stage))} / {ms(median(bare))})"
            rows.append(Row(what, measured, f"<= {BAR}x", at_most(ratio, BAR)))
            details += [
                f"{name}: ratio {ratio:.3f} (95 % {low:.3f} to {high:.3f}), {len(stage)} queries, median of {passes}",
                f"  stage {spread(stage)}",
                f"  bare  {spread(bare)}",
            ]
            figures[name] = {"ratio": ratio, "stage_s": stage, "bare_s": bare}
    return Report(tuple(rows), tuple(details), figures)


def _random_model(work: Path) -> Path:
    folder = work / "cross-encoder"
    subprocess.run([sys.executable, "-c", _MAKER, str(folder)], check=True, capture_output=True)
    source = locate("all-MiniLM-L6-v2", EMBEDDERS).folder
    for name in _TOKENIZER:
        shutil.copy(source / name, folder / name)
    return folder


def _taken(world: World, made: Bench, scorer: PairScorer, passes: int) -> tuple[list[float], list[float]]:
    stage: list[float] = []
    bare: list[float] = []
    for place, text in enumerate(world.questions(QUESTIONS, seed=29)):
        took = _of_one(made, scorer, text, passes, place)
        stage.append(median(took["stage"]))
        bare.append(median(took["bare"]))
    return stage, bare


def _of_one(made: Bench, scorer: PairScorer, text: str, passes: int, place: int) -> dict[str, list[float]]:
    """Seconds of both for one question, whose candidates the search itself found."""
    hits = made.service.search(SearchCall(text, limit=CANDIDATES, freshness="none"), lambda: False).hits
    query, reader = compile_query(text, limit=CANDIDATES), made.index.reader()
    texts = [pair_text(hit.chunk, query) for hit in hits]
    ranking = tuple(Candidate(hit.chunk.chunk_id, hit.score) for hit in hits)
    took: dict[str, list[float]] = {"stage": [], "bare": []}
    scorer.score(text, texts)
    for number in range(passes):
        for side in turned(("stage", "bare"), place + number):
            rerank = Rerank(Reranking(scorer), reader.chunks, ScoreCache())
            began = time.perf_counter()
            if side == "stage":
                with reader.snapshot():
                    rerank.refine(query, ranking, Trace())
            else:
                scorer.score(query.positive_text, texts)
            took[side].append(time.perf_counter() - began)
    return took
