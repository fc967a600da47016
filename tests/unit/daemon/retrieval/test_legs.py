"""The legs over chunks and documents, on a corpus in memory."""

import pytest

from groove_daemon.domain.query import Filters
from groove_daemon.errors import ModelLoading, StoreCorrupt
from groove_daemon.retrieval.dense import DenseRetriever
from groove_daemon.retrieval.depth import Depths
from groove_daemon.retrieval.documents import DocumentWordsRetriever, MeanRetriever, TitleRetriever
from groove_daemon.retrieval.probe import Probe
from groove_daemon.retrieval.short_terms import ShortTermsRetriever
from groove_daemon.retrieval.sparse import (
    AllWordsRetriever,
    ChunkWordsRetriever,
    ExactTermsRetriever,
    TrigramRetriever,
    split_common,
    unexcluded,
)
from groove_daemon.retrieval.trace import StageFailed, StageSkipped, Trace
from support.retrieval import FixedEmbedder, MemoryCorpus, Note, Passage, ids, make_query, note

EMBEDDER = FixedEmbedder({"owls": (1.0, 0.0), "owls -barn": (1.0, 0.0), "gulls": (0.0, 1.0)})


def probe(corpus: MemoryCorpus, text: str = "owls", *, limit: int = 5, embedder=None, **filters: object) -> Probe:
    query = make_query(text, limit=limit, filters=Filters(**filters))
    return Probe(query, reader=corpus, vectors=corpus, embedder=lambda: embedder)


def run(kind, shared: Probe, trace: Trace | None = None, **options: object):
    return kind(shared, depths=Depths(), **options).retrieve(shared.query, trace or Trace())


def test_trigram_finds_substrings_and_turns_bm25_round() -> None:
    corpus = MemoryCorpus(note("a", "an owl", "owls, owls"), note("b", "a gull"))

    ranking = run(TrigramRetriever, probe(corpus, "owls"))

    assert ids(ranking) == [2]
    assert ranking[0].score == 2.0


def test_trigram_passes_exclusions_on() -> None:
    corpus = MemoryCorpus(note("a", "barn owls", "owls"))

    assert ids(run(TrigramRetriever, probe(corpus, "owls -barn"))) == [2]


def test_trigram_weighs_columns() -> None:
    corpus = MemoryCorpus(Note("a", (Passage("gull", heading="owls"), Passage("owls"))))

    assert ids(run(TrigramRetriever, probe(corpus, "owls"), weights=(2.0, 1.0, 1.0))) == [1, 2]
    assert ids(run(TrigramRetriever, probe(corpus, "owls"), weights=(0.5, 1.0, 1.0))) == [2, 1]


@pytest.mark.parametrize("text", ["ab", "a -excluded"])
def test_trigram_is_skipped_without_a_phrase(text: str) -> None:
    with pytest.raises(StageSkipped, match="three characters"):
        run(TrigramRetriever, probe(MemoryCorpus(note("a", "ab")), text))


def test_trigram_leaves_common_phrases_out_and_its_step_says_so() -> None:
    corpus = MemoryCorpus(note("a", "bird owl"), note("b", "bird"), note("c", "bird"), note("d", "x"))
    trace = Trace()

    assert ids(run(TrigramRetriever, probe(corpus, "bird owl"), trace)) == [1]
    trace.record("trigram", "ran", "", 0.0)
    assert trace.steps[0].reason == "without what most chunks hold: bird"


def test_all_words_finds_chunks_that_hold_every_word() -> None:
    corpus = MemoryCorpus(note("a", "red owl"), note("b", "owl"), note("c", "a red and a brown owl"))

    assert ids(run(AllWordsRetriever, probe(corpus, "the red owl"))) == [1, 3]


def test_all_words_is_silent_for_a_long_question() -> None:
    question = "how many red brown barn tawny eagle snowy owl feathers"

    with pytest.raises(StageSkipped, match="more than 8 words"):
        run(AllWordsRetriever, probe(MemoryCorpus(note("a", question)), question))


def test_all_words_keeps_exclusions() -> None:
    corpus = MemoryCorpus(note("a", "red owl"), note("b", "red owl barn"))

    assert ids(run(AllWordsRetriever, probe(corpus, "red owl -barn"))) == [1]


def test_trigram_beside_words_looks_for_what_is_no_word_of_the_index() -> None:
    corpus = MemoryCorpus(note("a", "an owlet"), note("b", "the barn"), note("c", "gulls"))
    trace = Trace()

    assert ids(run(TrigramRetriever, probe(corpus, "the owl barn"), trace, beside_words=True)) == [1]
    trace.record("trigram", "ran", "", 0.0)
    assert trace.steps[0].reason == "left to the legs over words: the, barn"


def test_trigram_beside_words_is_skipped_when_every_word_is_known() -> None:
    corpus = MemoryCorpus(note("a", "a barn owl"), note("b", "barn-owls"))

    for text in ("barn owl", "Barn", "barn-owls"):
        with pytest.raises(StageSkipped, match="know every word"):
            run(TrigramRetriever, probe(corpus, text), beside_words=True)


def test_trigram_beside_words_keeps_quoted_text_literal() -> None:
    corpus = MemoryCorpus(note("a", "a barn owl"), note("b", "barn, owl"))

    assert ids(run(TrigramRetriever, probe(corpus, '"barn owl"'), beside_words=True)) == [1]


def test_trigram_beside_words_knows_the_words_where_the_query_may_look() -> None:
    corpus = MemoryCorpus(note("a", "an owl", collection="birds"), note("b", "owlets", collection="young"))

    assert ids(run(TrigramRetriever, probe(corpus, "owl", collections=("young",)), beside_words=True)) == [2]
    with pytest.raises(StageSkipped, match="know every word"):
        run(TrigramRetriever, probe(corpus, "owl", collections=("birds",)), beside_words=True)


def test_trigram_keeps_common_phrases_when_told_to() -> None:
    corpus = MemoryCorpus(note("a", "bird owl"), note("b", "bird"), note("c", "bird"), note("d", "x"))
    trace = Trace()

    assert ids(run(TrigramRetriever, probe(corpus, "bird owl"), trace, drop_common=False)) == [1, 2, 3]
    assert trace.notes == ()


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"a": 0.51, "b": 0.5}, (("b",), ("a",))),
        ({"a": 0.9, "b": 0.8}, (("a", "b"), ())),
        ({"b": 0.1}, (("a", "b"), ())),
    ],
)
def test_split_common_keeps_all_when_none_is_rare(shares: dict[str, float], expected: object) -> None:
    assert split_common(("a", "b"), shares.get) == expected


def test_chunk_words_finds_short_words_and_puts_more_of_them_first() -> None:
    corpus = MemoryCorpus(note("a", "quick only"), note("b", "ok quick"), note("c", "okay"))

    assert ids(run(ChunkWordsRetriever, probe(corpus, "quick ok"))) == [2, 1]


def test_chunk_words_ignores_function_words() -> None:
    corpus = MemoryCorpus(note("a", "how is the"), note("b", "notice"))

    assert ids(run(ChunkWordsRetriever, probe(corpus, "how is the notice"))) == [2]


def test_chunk_words_drops_what_the_exclusions_drop_and_still_fills_its_depth() -> None:
    corpus = MemoryCorpus(*(note(f"x{number}", "owl owl barns") for number in range(60)), note("good", "owl"))

    assert ids(run(ChunkWordsRetriever, probe(corpus, "owl -barn"))) == [61]


def test_exact_terms_find_a_version_token_for_token() -> None:
    corpus = MemoryCorpus(note("a", "release 2026.4.10"), note("b", "release 2026.4.1"), note("c", "2026 4 x 1"))

    assert ids(run(ExactTermsRetriever, probe(corpus, "release 2026.4.1"))) == [2]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ChunkWordsRetriever, "***"),
        (ExactTermsRetriever, "owls"),
        (DocumentWordsRetriever, "???"),
        (ShortTermsRetriever, "owls"),
    ],
)
def test_word_legs_are_skipped_without_a_word(kind, text: str) -> None:
    with pytest.raises(StageSkipped):
        run(kind, probe(MemoryCorpus(note("a", "owls")), text))


def test_short_terms_find_two_characters_inside_an_unspaced_run() -> None:
    corpus = MemoryCorpus(note("a", "观察鸟类记录"), note("b", "日本鸟类"), note("c", "望远镜"))

    assert ids(run(ShortTermsRetriever, probe(corpus, "日本 鸟类"))) == [2, 1]


def test_short_terms_keep_filters_and_exclusions() -> None:
    corpus = MemoryCorpus(note("a", "鸟类", topic="x"), note("b", "鸟类 owls", topic="y"), note("c", "鸟类", topic="y"))

    assert ids(run(ShortTermsRetriever, probe(corpus, "鸟类 -owls", topic="y"))) == [3]


def test_dense_ranks_by_cosine_and_keeps_exclusions() -> None:
    corpus = MemoryCorpus(
        Note("a", (Passage("barn", (1.0, 0.0)), Passage("x", (0.6, 0.8)), Passage("y", (0.8, 0.6)), Passage("z")))
    )
    shared = probe(corpus, "owls -barn", embedder=FixedEmbedder({"owls": (1.0, 0.0)}))

    ranking = run(DenseRetriever, shared)

    assert ids(ranking) == [3, 2]
    assert ranking[0].score == pytest.approx(0.8)


def test_title_represents_a_document_by_its_nearest_chunk() -> None:
    corpus = MemoryCorpus(
        Note("far", (Passage("a", (1.0, 0.0)),), title_vector=(0.0, 1.0)),
        Note("near", (Passage("b", (0.0, 1.0)), Passage("c", (0.6, 0.8))), title_vector=(1.0, 0.0)),
    )

    ranking = run(TitleRetriever, probe(corpus, embedder=EMBEDDER))

    assert ids(ranking) == [3, 1]
    assert [candidate.score for candidate in ranking] == pytest.approx([1.0, 0.0])


def test_document_words_find_words_spread_over_a_document() -> None:
    corpus = MemoryCorpus(
        Note("a", (Passage("gulls", (0.0, 1.0)), Passage("food", (1.0, 0.0)))),
        Note("b", (Passage("gulls", (1.0, 0.0)),)),
    )
    shared = probe(corpus, "gulls food", embedder=FixedEmbedder({"gulls food": (1.0, 0.0)}))

    assert ids(run(DocumentWordsRetriever, shared)) == [2, 3]


def test_document_words_choose_the_chunk_by_words_without_vectors() -> None:
    corpus = MemoryCorpus(note("a", "intro", "gulls eat food"), note("gulls", "first", "second"))

    assert ids(run(DocumentWordsRetriever, probe(corpus, "gulls"))) == [2, 3]


def test_document_words_leave_out_a_document_of_which_nothing_remains() -> None:
    corpus = MemoryCorpus(note("a", "gulls barn"), note("b", "gulls"))

    assert ids(run(DocumentWordsRetriever, probe(corpus, "gulls -barn"))) == [2]


def test_a_failing_statement_fails_its_leg_alone() -> None:
    class Damaged(MemoryCorpus):
        def trigram(self, *args: object, **kwargs: object):
            raise StoreCorrupt("full text is damaged")

    with pytest.raises(StageFailed, match="damaged"):
        run(TrigramRetriever, probe(Damaged(note("a", "owls"))))


def test_unexcluded_asks_deeper_until_the_limit_is_filled() -> None:
    rows = [(number, float(number)) for number in range(20)]
    asked: list[int] = []

    def fetch(depth: int):
        asked.append(depth)
        return rows[:depth]

    assert unexcluded(fetch, limit=2, excluded=frozenset(range(7))) == [(7, 7.0), (8, 8.0)]
    assert asked == [2, 8, 32]


def test_probe_embeds_once_for_all_legs() -> None:
    corpus = MemoryCorpus(Note("a", (Passage("x", (1.0, 0.0)),), title_vector=(1.0, 0.0)))
    embedder = FixedEmbedder({"owls": (1.0, 0.0)})
    shared = probe(corpus, embedder=embedder)

    run(DenseRetriever, shared)
    run(TitleRetriever, shared)

    assert embedder.asked == 1
    assert corpus.calls.count("scan") == 1
    assert shared.mode == "hybrid"


def test_probe_says_off_without_an_embedder() -> None:
    shared = probe(MemoryCorpus(note("a", "x")))

    with pytest.raises(StageSkipped, match="off") as skip:
        run(DenseRetriever, shared)

    assert not isinstance(skip.value, StageFailed)
    assert shared.mode == "fts_only"


def test_probe_reports_a_model_that_is_loading() -> None:
    def loading():
        raise ModelLoading("the model is being loaded")

    corpus = MemoryCorpus(note("a", "x"))
    shared = Probe(make_query("owls"), reader=corpus, vectors=corpus, embedder=loading)

    with pytest.raises(StageFailed, match="being loaded"):
        run(DenseRetriever, shared)

    assert shared.mode == "fts_only"


def test_vectors_are_not_asked_for_while_there_are_none() -> None:
    embedder = FixedEmbedder({"owls": (1.0, 0.0)})
    shared = probe(MemoryCorpus(note("a", "x")), embedder=embedder)

    with pytest.raises(StageSkipped, match="no vectors yet"):
        run(DenseRetriever, shared)

    assert (shared.mode, embedder.asked) == ("fts_only", 0)


WITH_VECTOR = Note("a", (Passage("x", (1.0, 0.0)),))


@pytest.mark.parametrize("vector", [(0.0, 0.0), (float("nan"), 1.0)])
def test_probe_falls_back_when_the_query_cannot_be_embedded(vector: tuple[float, float]) -> None:
    shared = probe(MemoryCorpus(WITH_VECTOR), embedder=FixedEmbedder({"owls": vector}))

    for kind in (DenseRetriever, TitleRetriever):
        with pytest.raises(StageFailed, match="could not be embedded"):
            run(kind, shared)

    assert shared.mode == "embedding_fallback"


def test_probe_asks_a_failing_model_once() -> None:
    embedder = FixedEmbedder({"other": (1.0, 0.0)})
    shared = probe(MemoryCorpus(WITH_VECTOR), embedder=embedder)

    for _ in range(2):
        with pytest.raises(StageFailed):
            shared.similarities()

    assert embedder.asked == 1


def test_no_leg_answers_when_the_exclusions_could_not_be_worked_out() -> None:
    class Damaged(MemoryCorpus):
        def excluded_chunks(self, exclusions: object):
            raise StoreCorrupt("full text is damaged")

    corpus = Damaged(Note("a", (Passage("owls", (1.0, 0.0)),)))
    shared = probe(corpus, "owls -barn", embedder=FixedEmbedder({"owls": (1.0, 0.0)}))

    for kind in (DenseRetriever, ChunkWordsRetriever, DocumentWordsRetriever):
        with pytest.raises(StageFailed, match="damaged"):
            run(kind, shared)


def test_mean_ranks_documents_by_all_their_vectors_and_shows_the_nearest_chunk() -> None:
    corpus = MemoryCorpus(
        Note("spread", (Passage("far", (0.0, 1.0)), Passage("near", (1.0, 0.0)))),
        Note("even", (Passage("one", (0.8, 0.6)), Passage("two", (0.8, 0.6)))),
        note("waiting", "no vector yet"),
    )
    shared = probe(corpus, embedder=FixedEmbedder({"owls": (1.0, 0.0)}))

    ranking = run(MeanRetriever, shared)

    # The mean of (0, 1) and (1, 0) lies at 45 degrees.
    assert ids(ranking) == [3, 2]
    assert [candidate.score for candidate in ranking] == pytest.approx([0.8, 0.5**0.5])
