"""The ratio of best to mean score."""

import pytest

from groove_daemon.retrieval.confidence import low_confidence


@pytest.mark.parametrize(
    ("scores", "ratio", "expected"),
    [
        ([0.03, 0.02, 0.01], 1.5, False),
        ([0.03, 0.03, 0.01], 1.5, True),
        ([0.01, 0.03, 0.02], 1.51, True),
        ([0.03], 1.5, False),
        ([], 1.5, False),
        ([0.02, 0.02], 0.0, False),
        ([-4.0, -5.0], 1.5, False),
        ([1.0, -1.0], 1.5, False),
    ],
)
def test_low_confidence_compares_best_and_mean(scores: list[float], ratio: float, expected: bool) -> None:
    assert low_confidence(scores, ratio=ratio) is expected
