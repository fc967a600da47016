import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.domain.document import ChunkId, DocumentId
from groove_daemon.domain.query import Query
from groove_daemon.domain.ranking import Candidate
from groove_daemon.retrieval.diversity import Cosine, Diversity, Jaccard, min_max, pick
from groove_daemon.retrieval.trace import StageSkipped, Trace

IDENTITY = np.eye(3)


def query(limit: int) -> Query:
    return Query("q", "q", ("q",), (), limit)


def diversity(*, similarity=IDENTITY, documents=(1, 2, 3), known=(1, 2, 3), **settings) -> Diversity:
    settings = {"enabled": True, "lambda_": 0.7, "same_doc_penalty": 0.0} | settings
    return Diversity(
        similarity_of=lambda ids: ([i for i in ids if i in known], similarity),
        documents_of=lambda ids: {i: DocumentId(documents[i - 1]) for i in ids},
        **settings,
    )


def ranking(*scores: float) -> tuple[Candidate, ...]:
    return tuple(Candidate(ChunkId(number), score) for number, score in enumerate(scores, start=1))


def test_min_max_scales_to_the_unit_range():
    assert min_max([3.0, 1.0, 2.0]) == [1.0, 0.0, 0.5]


def test_min_max_is_zero_when_scores_hardly_differ():
    assert min_max([0.5, 0.5 + 1e-8]) == [0.0, 0.0]
    assert min_max([]) == []


def test_pick_prefers_a_different_chunk_over_a_near_duplicate():
    similarity = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])

    # After the first: 0.7 * 0.8 - 0.3 * 0.9 = 0.29 against 0.7 * 0.5 - 0 = 0.35.
    order = pick([1.0, 0.8, 0.5], similarity, [1, 2, 3], lambda_=0.7, same_doc_penalty=0.0, limit=3)

    assert order == [0, 2, 1]


def test_pick_takes_the_penalty_off_for_a_second_chunk_of_a_document():
    # After the first: 0.7 * 0.9 - 0.2 = 0.43 against 0.7 * 0.7 = 0.49.
    order = pick([1.0, 0.9, 0.7], IDENTITY, [1, 1, 2], lambda_=0.7, same_doc_penalty=0.2, limit=3)

    assert order == [0, 2, 1]


def test_pick_breaks_exact_ties_by_position():
    assert pick([0.5, 0.5, 0.5], IDENTITY, [1, 2, 3], lambda_=1.0, same_doc_penalty=0.0, limit=3) == [0, 1, 2]


def test_pick_counts_an_opposite_chunk_as_more_different_than_an_unrelated_one():
    similarity = np.array([[1.0, 0.0, -1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 1.0]])

    # After the first: 0.5 * 0.2 = 0.1 against 0.5 * 0 + 0.5 * 1 = 0.5.
    order = pick([1.0, 0.2, 0.0], similarity, [1, 2, 3], lambda_=0.5, same_doc_penalty=0.0, limit=2)

    assert order == [0, 2]


def test_cosine_is_zero_for_vectors_without_length_or_with_nan():
    similarity = Cosine([np.array([2.0, 0.0]), np.array([0.0, 0.0]), np.array([np.nan, 0.0]), np.array([1.0, 1.0])])

    assert similarity[0].tolist() == pytest.approx([1.0, 0.0, 0.0, 2**-0.5])


def test_cosine_of_unit_vectors_takes_them_as_they_are():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], dtype=np.float32)
    similarity = Cosine(vectors)

    assert similarity[2].tolist() == pytest.approx([0.6, 0.8, 1.0])
    assert similarity.among(np.array([2, 0]))[1].tolist() == pytest.approx([0.6, 1.0])


def test_jaccard_among_some_texts_counts_them_anew():
    among = Jaccard(["a b", "c", "b", "a"]).among(np.array([2, 0, 3]))

    assert among[1].tolist() == pytest.approx([0.5, 1.0, 0.5])
    assert among.among(np.array([1, 2]))[1].tolist() == pytest.approx([0.5, 1.0])


def test_jaccard_compares_lower_cased_words():
    similarity = Jaccard(["Red bird", "red, BLUE bird!", "", "..."])

    assert similarity[0].tolist() == pytest.approx([1.0, 2 / 3, 0.0, 0.0])
    assert similarity[2].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_underscores_belong_to_words():
    assert Jaccard(["snake_case", "snake case"])[0].tolist() == [1.0, 0.0]


@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=6).map(" ".join), min_size=1, max_size=8))
def test_jaccard_equals_the_overlap_of_sets(texts):
    sets = [set(text.split()) for text in texts]
    similarity = Jaccard(texts)

    for row, left in enumerate(sets):
        expected = [len(left & right) / len(left | right) if left | right else 1.0 for right in sets]
        assert similarity[row].tolist() == pytest.approx(expected)


def picked_one_by_one(relevance, rows, documents, *, lambda_, same_doc_penalty, limit):
    """What `pick` is meant to do, straight from its definition."""
    picked: list[int] = []
    while len(picked) < min(limit, len(relevance)):
        values = {
            position: lambda_ * relevance[position]
            - (1.0 - lambda_) * max((rows[other][position] for other in picked), default=0.0)
            - (same_doc_penalty if documents[position] in {documents[other] for other in picked} else 0.0)
            for position in range(len(relevance))
            if position not in picked
        }
        picked.append(max(values, key=lambda position: (values[position], -position)))
    return picked


@given(
    st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.sampled_from([0.0, 0.1]), st.integers(1, 12), st.integers(0, 2**32 - 1)
)
def test_pick_out_of_many_is_that_of_looking_at_all_each_time(lambda_, penalty, limit, state):
    generator = np.random.default_rng(state)
    count = int(generator.integers(1, 90))
    # Few different numbers, so that there are ties.
    relevance = (generator.integers(0, 5, size=count) / 4).tolist()
    vectors = np.eye(4, dtype=np.float32)[generator.integers(0, 4, size=count)] * generator.choice([-1, 1], (count, 1))
    documents = generator.integers(0, 6, size=count).tolist()
    similarity = Cosine(vectors)
    options = {"lambda_": lambda_, "same_doc_penalty": penalty, "limit": limit}

    expected = picked_one_by_one(relevance, [similarity[at] for at in range(count)], documents, **options)

    assert pick(relevance, similarity, documents, **options) == expected


def test_pick_reaches_far_down_when_difference_is_all_that_counts():
    # 40 of one direction before the only one of another; 3 * 2 candidates look promising at first, and it is not there.
    vectors = np.array([[1.0, 0.0]] * 40 + [[0.0, 1.0]], dtype=np.float32)
    relevance = [1.0 - place / 40 for place in range(41)]

    # After the first: 0.1 * 0.975 - 0.9 * 1 = -0.8025 against 0.1 * 0 - 0.9 * 0 = 0.
    assert pick(relevance, Cosine(vectors), [1] * 41, lambda_=0.1, same_doc_penalty=0.0, limit=2) == [0, 40]


def test_stage_asks_for_documents_only_when_they_count():
    def documents_of(ids):
        raise AssertionError("nobody needs them")

    stage = Diversity(True, 0.7, 0.0, lambda ids: (ids, IDENTITY), documents_of)

    assert [candidate.chunk_id for candidate in stage.refine(query(3), ranking(3.0, 2.0, 1.0), Trace())] == [1, 2, 3]


def test_stage_keeps_scores_and_reports_ranks_in_the_order_of_picking():
    similarity = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])

    refined = diversity(similarity=similarity).refine(query(3), ranking(1.0, 0.9, 0.0), Trace())

    # Relevance 1, 0.9, 0: 0.7 * 0.9 - 0.3 * 0.9 = 0.36 is still more than 0.
    assert [(c.chunk_id, c.score, c.evidence[-1].rank) for c in refined] == [(1, 1.0, 1), (2, 0.9, 2), (3, 0.0, 3)]


def test_stage_drops_candidates_without_a_vector():
    refined = diversity(similarity=np.eye(2), known=(1, 3)).refine(query(5), ranking(3.0, 2.0, 1.0), Trace())

    assert [candidate.chunk_id for candidate in refined] == [1, 3]


def test_lambda_is_brought_into_its_range():
    refined = diversity(lambda_=1.7).refine(query(3), ranking(3.0, 2.0, 1.0), Trace())

    assert [candidate.chunk_id for candidate in refined] == [1, 2, 3]


def test_stage_has_nothing_to_do_with_fewer_than_two_candidates():
    with pytest.raises(StageSkipped, match="fewer than two"):
        diversity().refine(query(2), ranking(1.0), Trace())


def test_stage_that_is_off_says_so():
    with pytest.raises(StageSkipped, match="off"):
        diversity(enabled=False).refine(query(2), ranking(2.0, 1.0), Trace())


def test_stage_warns_about_parameters_given_while_it_is_off():
    trace = Trace()

    with pytest.raises(StageSkipped):
        diversity(enabled=False, overridden=True).refine(query(2), ranking(2.0, 1.0), trace)

    assert trace.notes == ("mmr_lambda and mmr_same_doc_penalty have no effect while mmr is off",)


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 15),
    st.integers(0, 2**32 - 1),
)
def test_pick_is_a_repeatable_choice_of_distinct_positions(relevance, lambda_, penalty, limit, seed):
    generator = np.random.default_rng(seed)
    similarity = Cosine(list(generator.normal(size=(len(relevance), 4))))
    documents = generator.integers(0, 3, size=len(relevance)).tolist()

    order = pick(relevance, similarity, documents, lambda_=lambda_, same_doc_penalty=penalty, limit=limit)

    assert len(order) == min(limit, len(relevance)) == len(set(order))
    assert order == pick(relevance, similarity, documents, lambda_=lambda_, same_doc_penalty=penalty, limit=limit)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=12, unique=True))
def test_pick_with_lambda_one_is_the_order_of_relevance(numbers):
    relevance = [number / 1000 for number in numbers]

    order = pick(
        relevance, np.ones((len(numbers),) * 2), list(range(len(numbers))), lambda_=1.0, same_doc_penalty=0.0,
        limit=len(numbers),
    )  # fmt: skip

    assert [relevance[position] for position in order] == sorted(relevance, reverse=True)
