"""Copies: who represents, what is left out, how deep it is looked, and where else a passage is said to stand."""

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.config.settings import SearchSettings
from groove_daemon.domain.hit import Place
from groove_daemon.domain.query import Filters, Query
from groove_daemon.domain.ranking import Ranking
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.duplicates import Distinctly, Duplicates
from groove_daemon.retrieval.pipeline import Parts, build_pipeline
from groove_daemon.retrieval.present import MAX_PLACES, present, with_copies
from groove_daemon.retrieval.probe import Probe
from groove_daemon.retrieval.trace import Trace
from support.retrieval import MemoryCorpus, Note, Passage, ids, make_query, make_ranking, note

PASSAGES = {1: 100, 2: 200, 3: 100, 4: 300, 5: 200}


def passages_of(chunk_ids):
    return {chunk_id: PASSAGES[chunk_id] for chunk_id in chunk_ids if chunk_id in PASSAGES}


def search(corpus: MemoryCorpus, text: str, *, limit: int = 5, filters: Filters | None = None, **settings: object):
    query = make_query(text, limit=limit, filters=filters)
    probe = Probe(query, reader=corpus, vectors=corpus, embedder=lambda: None)
    trace = Trace()
    made = Parts(replace(SearchSettings(), **settings), probe)
    ranking = build_pipeline("notes", made).retrieve(query, trace)
    roots = {"notes": "/n", "work": "/w"}
    hits = present(ranking, query, reader=corpus, roots=roots)
    hits = with_copies(hits, reader=corpus, vectors=corpus, allowed=probe.allowed, roots=roots, known=made.copies)
    return hits, trace


def test_the_first_of_each_passage_represents_it() -> None:
    ranking = make_ranking((3, 0.9), (5, 0.8), (1, 0.7), (2, 0.6), (4, 0.5))

    kept = Duplicates(passages_of).refine(make_query(), ranking, Trace())

    assert ids(kept) == [3, 5, 4]
    assert kept == (ranking[0], ranking[1], ranking[4])


def test_chunks_without_a_known_passage_are_no_copies_of_each_other() -> None:
    # Chunk 100 is unknown; its number equals that of a passage and means nothing.
    ranking = make_ranking((100, 0.9), (1, 0.8), (99, 0.7))

    assert ids(Duplicates(passages_of).refine(make_query(), ranking, Trace())) == [100, 1, 99]


def test_the_cut_comes_after_the_copies() -> None:
    ranking = make_ranking((1, 0.9), (3, 0.8), (2, 0.7), (5, 0.6), (4, 0.5))

    assert ids(Duplicates(passages_of).refine(make_query(limit=2), ranking, Trace())) == [1, 2]
    assert ids(Duplicates(passages_of, Depths(reranking=True)).refine(make_query(limit=2), ranking, Trace())) == [
        1, 2, 4,
    ]  # fmt: skip


@given(st.lists(st.integers(1, 60), unique=True), st.integers(1, 7))
def test_each_passage_is_kept_exactly_once_in_the_order_of_the_ranking(chunk_ids: list[int], passages: int) -> None:
    ranking = make_ranking(*((chunk_id, -float(place)) for place, chunk_id in enumerate(chunk_ids)))
    stage = Duplicates(lambda wanted: {chunk_id: chunk_id % passages for chunk_id in wanted})

    kept = ids(stage.refine(make_query(limit=100), ranking, Trace()))

    assert [chunk_id % passages for chunk_id in kept] == list(dict.fromkeys(number % passages for number in chunk_ids))
    assert kept == [number for number in chunk_ids if number in set(kept)]


def test_a_page_is_not_filled_by_copies() -> None:
    copies = [note(f"copy {number}", "owls hunt mice") for number in range(8)]
    others = [note(f"other {number}", f"owls in valley {number}") for number in range(4)]

    hits, trace = search(MemoryCorpus(*copies, *others), "owls", limit=4)

    assert [hit.content for hit in hits].count("owls hunt mice") == 1
    assert len(hits) == 4
    step = next(step for step in trace.steps if step.stage == "duplicates")
    assert (step.status, step.reason, step.size_in, step.size_out) == ("ran", "7 copies left out", 12, 4)


def test_it_looks_deeper_when_copies_fill_every_leg() -> None:
    # Each leg looks at 50 chunks for a limit of 5, and the copies match better than anything else.
    copies = [note(f"copy {number}", "owls owls owls") for number in range(120)]
    others = [note(f"other {number}", f"owls in valley {number}") for number in range(6)]

    hits, trace = search(MemoryCorpus(*copies, *others), "owls", limit=5, legs="chunks")

    assert len({hit.content for hit in hits}) == len(hits) == 5
    assert [step.size_in for step in trace.steps if step.stage == "duplicates"] == [50, 100, 126]


def test_it_does_not_look_deeper_when_nothing_more_is_there() -> None:
    _, trace = search(MemoryCorpus(*(note(f"copy {number}", "owls") for number in range(3))), "owls", legs="chunks")

    assert [step.size_in for step in trace.steps if step.stage == "duplicates"] == [3]


def test_a_hit_names_the_other_places_of_its_passage() -> None:
    corpus = MemoryCorpus(
        note("a", "feathers", "owls hunt"), note("b", "owls hunt"), note("c", "owls hunt", collection="work")
    )

    (hit,), _ = search(corpus, "owls", limit=1)

    assert hit.chunk.document.path == "a.md"
    assert hit.also_in == (Place("notes", "b.md", 1), Place("work", "c.md", 1))
    assert hit.also_in_count == 2


def test_filters_decide_who_represents_and_which_places_are_named() -> None:
    corpus = MemoryCorpus(
        note("a", "owls hunt"),
        Note("b", note("b", "owls hunt").chunks, topic="birds"),
        Note("c", note("c", "owls hunt").chunks, topic="birds"),
    )

    (hit,), _ = search(corpus, "owls", filters=Filters(topic="birds"))

    assert hit.chunk.document.path == "b.md"
    assert hit.also_in == (Place("notes", "c.md", 1),)


def test_the_list_of_places_is_bounded_and_the_count_is_not() -> None:
    (hit,), _ = search(MemoryCorpus(*(note(f"copy {number:02}", "owls") for number in range(30))), "owls")

    assert hit.also_in_count == 29
    assert [place.path for place in hit.also_in] == [f"copy {number:02}.md" for number in range(1, MAX_PLACES + 1)]


def test_copies_stay_when_they_are_not_merged() -> None:
    corpus = MemoryCorpus(*(note(f"copy {number}", "owls") for number in range(3)))

    hits, trace = search(corpus, "owls", merge_duplicates=False)

    assert len(hits) == 3
    assert {step.stage: (step.status, step.reason) for step in trace.steps}["duplicates"] == ("skipped", "off")


def test_the_same_content_under_another_heading_is_a_copy_too() -> None:
    def under(title: str, heading: str) -> Note:
        return Note(title, (Passage("owls hunt mice", heading=heading),))

    corpus = MemoryCorpus(under("a", "Night"), under("b", "Dusk"), under("c", "Dusk"), note("d", "owls hunt"))

    (first, second), trace = search(corpus, "owls", legs="chunks")

    assert [hit.chunk.document.path for hit in (first, second)] == ["a.md", "d.md"]
    assert [place.path for place in first.also_in] == ["b.md", "c.md"]
    assert (first.also_in_count, second.also_in_count) == (2, 0)
    assert "2 copies left out" in [step.reason for step in trace.steps if step.stage == "duplicates"]


def test_texts_are_compared_as_far_down_as_a_page_takes() -> None:
    # Sixty headings over one content rank first; the first look at 50 texts leaves one.
    pasted = [Note(f"copy {number}", (Passage("owls owls owls", heading=f"owls {number}"),)) for number in range(60)]
    others = [note(f"other {number}", f"owls in valley {number}") for number in range(6)]

    hits, _ = search(MemoryCorpus(*pasted, *others), "owls", limit=4, legs="chunks")

    assert [hit.content for hit in hits] == ["owls owls owls", *(f"owls in valley {number}" for number in range(3))]
    assert hits[0].also_in_count == 59


def texts_of(contents: dict[int, str]):
    """Compares contents by chunk as the store does, and notes how many at a time."""
    asked: list[int] = []

    def compare(chunk_ids):
        asked.append(len(chunk_ids))
        first: dict[str, int] = {}
        firsts = {key: first.setdefault(contents.get(key, f"only {key}"), key) for key in chunk_ids}
        return {key: earlier for key, earlier in firsts.items() if earlier != key}

    return compare, asked


def test_contents_far_down_are_not_compared_before_diversity_has_chosen() -> None:
    compare, asked = texts_of({1: "same", 2: "same", 3: "same", 290: "same"})
    ranking = make_ranking(*((number, 1.0 / number) for number in range(1, 301)))
    stage = Duplicates(lambda _: {}, Depths(diversifying=True), compare)

    kept = ids(stage.refine(make_query(limit=5), ranking, Trace()))

    assert kept == [1, *range(4, 301)]
    assert stage.copies == {1: [2, 3]}
    # 5 * 5 would be too few, so 50.
    assert asked == [50]


def test_more_contents_are_compared_when_too_few_are_left_for_a_page() -> None:
    compare, asked = texts_of(dict.fromkeys(range(1, 48), "same"))
    ranking = make_ranking(*((number, 1.0 / number) for number in range(1, 301)))

    kept = ids(Duplicates(lambda _: {}, Depths(diversifying=True), compare).refine(make_query(), ranking, Trace()))

    assert kept == [1, *range(48, 301)]
    # Of the first 50 only four are left, and five are wanted.
    assert asked == [50, 100]


@dataclass(frozen=True)
class EverySecond:
    """Chooses the first, the third, the fifth and so on."""

    name: str = "every second"

    def refine(self, query: Query, ranking: Ranking, trace: Trace) -> Ranking:
        return ranking[::2][: query.limit]


def test_what_is_chosen_without_copies_stays() -> None:
    compare, asked = texts_of({1: "same", 2: "same"})
    stage = Distinctly(EverySecond(), compare)

    assert ids(stage.refine(make_query(), make_ranking((1, 0.9), (2, 0.8), (3, 0.7)), Trace())) == [1, 3]
    assert (stage.name, stage.copies, asked) == ("every second", {}, [2])


def test_it_is_chosen_again_without_copies_when_some_were_chosen() -> None:
    compare, asked = texts_of({1: "same", 3: "same", 4: "same"})
    stage = Distinctly(EverySecond(), compare, {1: [7]})
    ranking = make_ranking((1, 0.9), (2, 0.8), (3, 0.7), (4, 0.6), (5, 0.5), (6, 0.4))

    # First 1, 3, 5; of 1, 2, 5, 6 then 1 and 5.
    assert ids(stage.refine(make_query(), ranking, Trace())) == [1, 5]
    assert stage.copies == {1: [7, 3, 4]}
    assert asked == [3, 6]
