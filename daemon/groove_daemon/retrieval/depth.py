"""How many candidates each stage looks at, from the limit that the caller asked for.

A leg must look deeper than the answer is long, or fusion has nothing to agree on; a reranker and a diversity stage need
more than the answer to choose from.
"""

from dataclasses import dataclass


def pool(size: int) -> int:
    """Candidates to have for `size` results: five times as many, 50 at least."""
    return max(5 * size, 50)


@dataclass(frozen=True, slots=True)
class Depths:
    """Which later stages are on, and what that means for legs and fusion.

    `collapsing`: copies are left out after fusion; `capping`: hits of one document are limited.
    """

    reranking: bool = False
    diversifying: bool = False
    collapsing: bool = False
    capping: bool = False

    def fused(self, limit: int) -> int | None:
        """Length of the fused ranking; None for all of it."""
        return None if self.collapsing else self.distinct(limit)

    def distinct(self, limit: int) -> int | None:
        """Length of the ranking without copies; None for all of it."""
        if self.diversifying or self.capping:
            return None
        return pool(limit) if self.reranking else limit

    def leg(self, limit: int) -> int:
        """Candidates of each leg."""
        if self.reranking and not self.diversifying:
            return pool(pool(limit))
        return pool(limit)
