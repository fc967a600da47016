import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from groove_daemon.domain.query import Filters
from groove_daemon.errors import GrooveError
from groove_daemon.store.index import Index
from support.store import allowed, embed_pending, make_document_draft, make_vector, open_index, put


def search(index: Index) -> None:
    reader = index.reader()
    admitted = allowed(index, Filters(path_globs=("*.md",), min_quality=0.2))
    similar = index.vectors.scan(make_vector("bird 1"))
    near = similar.top_chunks(5, allowed=admitted)
    similar.best_chunks([hit[0] for hit in similar.top_titles(5, allowed=admitted)], allowed=admitted)
    index.vectors.vectors_of([hit[0] for hit in near])
    assert all(-1.001 <= score <= 1.001 for _, score in near)
    with reader.snapshot():
        hits = reader.trigram(["bird"], ["zebra"], limit=5, allowed=admitted)
        assert len(reader.chunks([hit[0] for hit in hits])) == len(hits)


def test_searches_go_on_while_the_index_changes(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db")
    stopped = threading.Event()

    def search_until_stopped() -> int:
        searches = 0
        while not stopped.is_set():
            search(index)
            searches += 1
        return searches

    pool = ThreadPoolExecutor(3)
    running = [pool.submit(search_until_stopped) for _ in range(3)]
    for number in range(120):
        put(index, make_document_draft(f"{number % 10}.md", *[f"bird {number} {part}" for part in range(number % 6)]))
        embed_pending(index)
        if number % 20 == 19:
            index.writer.delete_documents([next(iter(index.writer.known_documents("notes").values())).document_id])
            index.writer.prune_embeddings(orphaned_before=1e12)
            index.writer.checkpoint()
    stopped.set()

    assert all(one.result(30) > 0 for one in running)
    assert index.reader().disagreements() == []
    pool.shutdown()
    index.close()


def test_closing_ends_the_searches_of_other_threads(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index.db")
    put(index, make_document_draft("a.md", "bird"))
    started, ended = threading.Event(), threading.Event()

    def endless() -> None:
        try:
            while True:
                search(index)
                started.set()
        except GrooveError:
            ended.set()

    thread = threading.Thread(target=endless)
    thread.start()
    assert started.wait(10)
    index.close()
    thread.join(10)

    assert ended.is_set()
    open_index(tmp_path / "index.db").close()
