"""Passages to vectors, with the bad ones found: what to send to the embedder next and what to make of its answer.

A passage that makes the embedder fail is separated from its batch and tried again after growing delays; when the
embedder fails for any text at all, the fault is the model's and no passage is blamed.  Knows no thread and no database.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from groove_daemon.errors import ModelError, ModelLoading, ModelUnavailable
from groove_daemon.models.base import Matrix, Vector, as_vector
from groove_daemon.store.records import PendingPassage

FIRST_DELAY = 30.0
LONGEST_DELAY = 3600.0
_PROBE = ("one two three",)
_MOST_ATTEMPTS = 5

Attempt = Callable[[Sequence[str]], Matrix | Exception]


@dataclass(frozen=True, slots=True)
class NoVector:
    """Why a passage has no vector; `is_final` when trying again cannot help."""

    reason: str
    is_final: bool


@dataclass(frozen=True, slots=True)
class ModelDown:
    """The embedder fails for every text."""

    reason: str


def delay_after(attempts: int) -> float:
    """Seconds until the next try after so many failed ones: 30, doubling, an hour at most."""
    return min(FIRST_DELAY * 2.0 ** min(attempts - 1, 16), LONGEST_DELAY)


def embed_each(attempt: Attempt, texts: Sequence[str], dimension: int) -> list[Vector | NoVector] | ModelDown:
    """A vector, or the reason against it, for each text.

    Args:
        attempt: embeds texts, or returns what was raised.
        texts: the passages.
        dimension: length of a vector.
    """
    answer = attempt(texts)
    if not isinstance(answer, Exception):
        return [_checked(row, dimension) for row in answer]
    if isinstance(answer, (ModelLoading, ModelUnavailable)):
        return ModelDown(str(answer))
    if isinstance(attempt(_PROBE), Exception):
        return ModelDown(f"{type(answer).__name__}: {answer}")
    return _separate(attempt, texts, dimension, answer)


def _separate(
    attempt: Attempt, texts: Sequence[str], dimension: int, error: Exception
) -> list[Vector | NoVector] | ModelDown:
    """Halve a batch that failed until the texts that fail stand alone."""
    if len(texts) == 1:
        return [NoVector(f"{type(error).__name__}: {error}", is_final=False)]
    found: list[Vector | NoVector] = []
    middle = len(texts) // 2
    for half in (texts[:middle], texts[middle:]):
        answer = attempt(half)
        if isinstance(answer, (ModelLoading, ModelUnavailable)):
            return ModelDown(str(answer))
        if not isinstance(answer, Exception):
            found += [_checked(row, dimension) for row in answer]
            continue
        below = _separate(attempt, half, dimension, answer)
        if isinstance(below, ModelDown):
            return below
        found += below
    return found


def _checked(row: object, dimension: int) -> Vector | NoVector:
    try:
        return as_vector(row, dimension)
    except ModelError as error:
        return NoVector(error.message, is_final=True)


@dataclass(slots=True)
class _Held:
    attempts: int
    next_try_at: float
    reason: str


@dataclass(slots=True)
class Quarantine:
    """Passages that made the embedder fail, each with its next try; times are monotonic seconds."""

    _held: dict[bytes, _Held] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._held)

    def holds_back(self, key: bytes, now: float) -> bool:
        """Whether the passage is to be left alone for now."""
        held = self._held.get(key)
        return held is not None and held.next_try_at > now

    def is_due(self, now: float) -> bool:
        """Whether one of them is to be tried again."""
        return any(held.next_try_at <= now for held in self._held.values())

    def next_try_at(self) -> float | None:
        """When the first of them is due, None when there is none."""
        return min((held.next_try_at for held in self._held.values()), default=None)

    def failed(self, key: bytes, reason: str, now: float) -> bool:
        """Note a failure; True when the passage has had its last try and is held no longer."""
        attempts = self._held[key].attempts + 1 if key in self._held else 1
        if attempts >= _MOST_ATTEMPTS:
            self.release((key,))
            return True
        self._held[key] = _Held(attempts, now + delay_after(attempts), reason)
        return False

    def release(self, keys: Iterable[bytes]) -> None:
        """Forget passages that have a vector now, or are gone."""
        for key in keys:
            self._held.pop(key, None)


def cut_batch(
    passages: Iterable[PendingPassage], *, most_tokens: int, without: Collection[bytes] = ()
) -> list[PendingPassage]:
    """The first passages whose tokens together fit into one batch; one at least, if there is any."""
    batch: list[PendingPassage] = []
    tokens = 0
    for passage in passages:
        if passage.embed_key in without:
            continue
        if batch and tokens + passage.token_count > most_tokens:
            break
        batch.append(passage)
        tokens += passage.token_count
    return batch
