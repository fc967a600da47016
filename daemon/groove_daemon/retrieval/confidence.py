"""Whether the best score stands out from the rest: a warning sign, not a probability.  Pure."""

from collections.abc import Sequence


def low_confidence(scores: Sequence[float], *, ratio: float) -> bool:
    """Whether the highest score is less than `ratio` times the mean.

    False when it cannot be judged: fewer than two scores, a ratio of 0 (off), or a mean that is not positive, as with
    the raw output of a reranker.

    >>> low_confidence([0.03, 0.02, 0.02], ratio=1.5), low_confidence([0.06, 0.02, 0.02], ratio=1.5)
    (True, False)
    """
    if len(scores) < 2 or ratio == 0:
        return False
    mean = sum(scores) / len(scores)
    return mean > 0 and max(scores) / mean < ratio
