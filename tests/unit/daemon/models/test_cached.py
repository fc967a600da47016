import numpy as np
import pytest

from groove_daemon.models.cached import CachedEmbedder
from support.models import StandInEmbedder


def test_same_query_is_embedded_once() -> None:
    inner = StandInEmbedder()
    cached = CachedEmbedder(inner, capacity=10)

    first, second = cached.embed_query("ab"), cached.embed_query("ab")

    assert inner.texts == ["ab"]
    np.testing.assert_array_equal(first, second)


def test_least_recently_used_query_goes_first() -> None:
    inner = StandInEmbedder()
    cached = CachedEmbedder(inner, capacity=2)

    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed_query(text)

    assert inner.texts == ["a", "b", "c", "b"]


def test_capacity_zero_remembers_nothing() -> None:
    inner = StandInEmbedder()
    cached = CachedEmbedder(inner, capacity=0)

    cached.embed_query("a")
    cached.embed_query("a")

    assert inner.texts == ["a", "a"]


def test_vectors_of_another_space_are_not_given_out() -> None:
    inner = StandInEmbedder()
    cached = CachedEmbedder(inner, capacity=10)
    cached.embed_query("a")

    inner.fingerprint = "stand-in/other"
    cached.embed_query("a")

    assert inner.texts == ["a", "a"]


def test_remembered_vector_cannot_be_written_to() -> None:
    vector = CachedEmbedder(StandInEmbedder(), capacity=1).embed_query("a")

    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 0.0


def test_passages_are_not_remembered() -> None:
    inner = StandInEmbedder()
    cached = CachedEmbedder(inner, capacity=10)

    cached.embed_passages(["a"])
    cached.embed_passages(["a"])

    assert inner.texts == [("a",), ("a",)]
