from groove_daemon.domain.change import Change, ChangeKind
from groove_daemon.indexing.text_queue import TextQueue, Work


def work(path: str, *, collection: str = "notes", force: bool = False) -> Work:
    return Work(Change(collection, path, ChangeKind.ADDED), force=force)


def drain(queue: TextQueue) -> list[object]:
    taken = []
    while (item := queue.peek()) is not None:
        taken.append(item.change.path if isinstance(item, Work) else item)
        queue.done()
    return taken


def test_queue_gives_urgent_work_first_and_fences_in_their_place() -> None:
    queue = TextQueue()
    queue.add_bulk([work("bulk.md")])
    queue.add_urgent([work("a.md"), work("b.md")])
    queue.add_fence("fence")
    queue.add_urgent([work("c.md")])

    assert len(queue) == 4
    assert drain(queue) == ["a.md", "b.md", "fence", "c.md", "bulk.md"]
    assert len(queue) == 0


def test_queue_counts_the_differences_of_each_collection() -> None:
    queue = TextQueue()
    queue.add_bulk([work("a.md"), work("b.md", force=True), work("c.md", collection="other")])

    assert (queue.behind("notes"), queue.behind("other"), queue.behind("unknown")) == (1, 1, 0)

    drain(queue)

    assert queue.behind("notes") == 0


def test_queue_drops_what_is_not_wanted_and_keeps_fences() -> None:
    queue = TextQueue()
    queue.add_urgent([work("a.md"), work("b.md", collection="other")])
    queue.add_fence("fence")
    queue.add_bulk([work("c.md", collection="other")])
    dropped = queue.drop(lambda one: one.change.collection == "other")

    assert [one.change.path for one in dropped] == ["b.md", "c.md"]
    assert queue.behind("other") == 0
    assert drain(queue) == ["a.md", "fence"]
