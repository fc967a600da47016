"""Pool sizes of the modes."""

import pytest

from groove_daemon.retrieval.depth import Depths, pool


@pytest.mark.parametrize(("size", "expected"), [(0, 50), (5, 50), (10, 50), (11, 55), (1000, 5000)])
def test_pool_is_five_times_the_size_and_fifty_at_least(size: int, expected: int) -> None:
    assert pool(size) == expected


@pytest.mark.parametrize(
    ("depths", "fused", "leg"),
    [
        (Depths(), 5, 50),
        (Depths(reranking=True), 50, 250),
        (Depths(diversifying=True), None, 50),
        (Depths(reranking=True, diversifying=True), None, 50),
    ],
)
def test_depths_follow_the_later_stages_for_limit_five(depths: Depths, fused: int | None, leg: int) -> None:
    assert (depths.fused(5), depths.leg(5)) == (fused, leg)
