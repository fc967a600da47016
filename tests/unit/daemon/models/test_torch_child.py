import numpy as np
import pytest

from groove_daemon.models.canaries import CANARIES
from groove_daemon.models.torch_child import Server, compare


def unit(angles: list[float]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return np.array([[np.cos(angle), np.sin(angle)] for angle in np.radians(angles)], dtype=np.float32)


def test_equal_vectors_agree_fully() -> None:
    vectors = unit([float(angle) for angle in range(0, 60, 4)])

    assert compare(vectors, vectors) == pytest.approx({"mean_cosine": 1.0, "min_cosine": 1.0, "overlap": 1.0})


def test_cosines_are_between_the_two_vectors_of_each_text() -> None:
    fidelity = compare(unit([0.0, 0.0]), unit([0.0, 60.0]))

    assert fidelity["mean_cosine"] == pytest.approx(0.75)
    assert fidelity["min_cosine"] == pytest.approx(0.5)


def test_overlap_is_the_share_of_the_ten_nearest() -> None:
    """Eleven others: the original leaves out the farthest, the twelfth; the other one leaves out the second."""
    original = unit([0.0, *range(10, 120, 10)])
    moved = original.copy()
    moved[1], moved[11] = original[11], original[1]

    first_row = compare(original, moved)["overlap"]

    assert 0.8 < first_row < 1.0


def test_vector_that_is_not_a_number_counts_as_nothing() -> None:
    other = unit([0.0, 0.0])
    other[1] = np.nan

    assert compare(unit([0.0, 0.0]), other)["mean_cosine"] == pytest.approx(0.5)


def test_canaries_are_many_different_and_of_all_lengths() -> None:
    assert len(set(CANARIES)) == len(CANARIES) >= 60
    assert min(map(len, CANARIES)) < 20
    assert max(map(len, CANARIES)) > 500


def test_work_without_a_model_is_a_defect_of_the_caller() -> None:
    with pytest.raises(RuntimeError, match="no model is loaded"):
        Server().answer({"op": "embed", "texts": ["a"], "threads": 1})
