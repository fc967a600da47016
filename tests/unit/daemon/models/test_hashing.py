import numpy as np
import pytest

from groove_daemon.errors import ModelError
from groove_daemon.models.hashing import HashingEmbedder


def test_vectors_never_change() -> None:
    """Indexes and recorded answers of tests depend on them."""
    vector = HashingEmbedder(8).embed_query("Key")

    third = 1 / 3**0.5
    np.testing.assert_allclose(vector, [-third, 0, 0, third, 0, 0, 0, -third], atol=1e-6)


def test_similar_texts_are_nearer_than_different_ones() -> None:
    embedder = HashingEmbedder()
    key, keys, soup = embedder.embed_passages(["the spare key", "spare keys here", "lentil soup with vinegar"])

    assert key @ keys > 0.4
    assert key @ keys > key @ soup + 0.3


def test_case_does_not_matter() -> None:
    embedder = HashingEmbedder()

    np.testing.assert_array_equal(embedder.embed_query("Spare KEY"), embedder.embed_query("spare key"))


def test_word_weighs_one_and_each_trigram_half() -> None:
    """The word `ab` has the features `ab`, `# ab` and `#ab `: 1, 0.5 and 0.5 before normalising."""
    vector = HashingEmbedder(100_003).embed_query("ab")

    weights = sorted(np.abs(vector[vector != 0]).tolist())
    assert weights == pytest.approx([0.5 / 1.5**0.5, 0.5 / 1.5**0.5, 1 / 1.5**0.5])


def test_text_without_letters_has_no_vector() -> None:
    embedder = HashingEmbedder()

    rows = embedder.embed_passages(["", "...", "word"])

    assert np.isnan(rows[:2]).all()
    assert np.isfinite(rows[2]).all()
    with pytest.raises(ModelError):
        embedder.embed_query(" - ")


def test_dimension_is_part_of_the_fingerprint() -> None:
    assert HashingEmbedder(128).fingerprint != HashingEmbedder(256).fingerprint
