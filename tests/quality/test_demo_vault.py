"""Floors of search quality on the notes of the demo: paraphrased questions that avoid the titles' own words.

The floors are well under what the product reaches, so that a small change does not fail here, while a leg that has
died does.  Quality itself is measured on judged collections in `benchmarks/`.
"""

import shutil
from pathlib import Path

import pytest

from groove_daemon.evaluation.measures import documents_at_best_hit, reciprocal_rank
from support.daemon import DaemonProcess
from support.models import exported_model_cache

VAULT = Path(__file__).parents[2] / "docs" / "demo" / "notes"

QUESTIONS = {
    "my computer gets hot while it reads everything": "models/Memory and processor.md",
    "does anything get sent to the internet": "daemon/Privacy.md",
    "I pulled the plug, is my data broken": "when things go wrong/After a crash.md",
    "keep drafts from being found": "folders/Leave files out.md",
    "jump to the second result in vim": "commands/Open a hit.md",
    "how do I know the answer reflects what I just wrote": "search/Freshness.md",
    "watch another directory": "commands/Add and remove folders.md",
    "begin automatically when I sign in": "daemon/Run at login.md",
    "how is a long text cut into pieces": "internals/Chunks.md",
    "number returned to the shell when nothing could be done": "commands/Exit codes.md",
    "no space left on device": "when things go wrong/The disk is full.md",
    "inotify max_user_watches": "when things go wrong/Too many folders to watch.md",
    "rrf reciprocal rank": "search/How search works.md",
    "stop a query that is still running": "internals/Cancel a request.md",
    "changes made on a shared drive by another machine": "folders/Network drives.md",
    "which settings are in force and where they come from": "daemon/Configuration file.md",
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    (cache / "groove").symlink_to(exported_model_cache())
    with DaemonProcess.temporary(embedder="all-MiniLM-L6-v2", cache=cache) as made:
        shutil.copytree(VAULT, made.notes, dirs_exist_ok=True)
        made.start()
        made.wait_fresh(vectors=True, within=60)
        yield made


def rank_of_answers(daemon: DaemonProcess, **options: object) -> list[float]:
    with daemon.client() as client:
        found = {
            question: [hit.path for hit in client.search(question, limit=30, **options).results]
            for question in QUESTIONS
        }
    return [
        reciprocal_rank(documents_at_best_hit(paths), {QUESTIONS[question]: 1.0}) for question, paths in found.items()
    ]


@pytest.mark.model
def test_paraphrased_questions_find_their_note(daemon):
    ranks = rank_of_answers(daemon)

    assert sum(rank >= 1 / 3 for rank in ranks) >= 13
    assert sum(ranks) / len(ranks) >= 0.65
