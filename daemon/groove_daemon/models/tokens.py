"""Tokenizers: the model's own, read from `tokenizer.json`, and a plain one for when there is no model.

Both are cheap to make and safe to use from several threads.  Nothing here pads, and only `SubwordTokenizer.encode`
cuts off.  Knows nothing about vectors.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Encoding, normalizers
from tokenizers import Tokenizer as Subwords

from groove_daemon.errors import ModelUnavailable

_MODEL_TYPES = frozenset({"BPE", "Unigram", "WordLevel", "WordPiece"})


class SubwordTokenizer:
    """The tokenizer of a model folder.

    Args:
        file: `tokenizer.json`.
        max_length: how many tokens the model reads, special tokens and prompt included.
        prompt: what the model wants in front of each passage; its tokens take room from the text.
        lower_case: lower-case the text first, as some model folders ask for beside the tokenizer's own rules.

    Raises:
        ModelUnavailable: the file is missing or damaged.
    """

    def __init__(self, file: Path, *, max_length: int, prompt: str = "", lower_case: bool = False) -> None:
        content = _read(file)
        self._subwords = _parse(file, content)
        self._max_length = max_length
        if lower_case:
            own = [self._subwords.normalizer] if self._subwords.normalizer is not None else []
            self._subwords.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
        special = self._subwords.num_special_tokens_to_add(is_pair=False)
        self._max_tokens = max(1, max_length - special - len(self.offsets(prompt)))
        digest = hashlib.sha256(content).hexdigest()[:16]
        self._name = f"subwords-{digest}-{self._max_tokens}{'-lower' if lower_case else ''}"

    @property
    def name(self) -> str:
        """Identity: a hash of the file, and the limit."""
        return self._name

    @property
    def max_tokens(self) -> int:
        """Tokens of text that the model reads, without special tokens and prompt."""
        return self._max_tokens

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character ranges of all tokens of `text`, in order, never cut off."""
        return list(self._plain(text).offsets)

    def encode(self, text: str) -> Encoding:
        """What the model reads for one text: cut to the model's length, special tokens added."""
        encoding = self._plain(text)
        encoding.truncate(self._max_length - self._subwords.num_special_tokens_to_add(is_pair=False))
        return self._subwords.post_process(encoding)

    def encode_pair(self, first: str, second: str) -> Encoding:
        """What the model reads for a pair: the first text keeps up to half of the room, the second one the rest."""
        room = self._max_length - self._subwords.num_special_tokens_to_add(is_pair=True)
        head, tail = self._plain(first), self._plain(second)
        head.truncate(room // 2)
        tail.truncate(room - len(head.ids))
        return self._subwords.post_process(head, tail)

    def _plain(self, text: str) -> Encoding:
        return self._subwords.encode(without_surrogates(text), add_special_tokens=False)


class PlainTokenizer:
    """A tokenizer without a model: pieces of words of at most three characters, single characters elsewhere.

    It counts more tokens than subword tokenizers do, so that a chunk which was measured with it is not longer than a
    model reads that arrives later.
    """

    _PIECE = re.compile(r"[A-Za-z0-9]{1,3}|\S")

    def __init__(self, max_tokens: int = 254) -> None:
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """Identity."""
        return f"plain-1-{self._max_tokens}"

    @property
    def max_tokens(self) -> int:
        """The limit that was given."""
        return self._max_tokens

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Character ranges of all pieces, in order."""
        return [match.span() for match in self._PIECE.finditer(text)]


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ModelUnavailable(
            f"the tokenizer {file} cannot be read ({error.strerror})",
            hint="install the model again, or save it with its fast tokenizer",
            file=str(file),
        ) from error


def _parse(file: Path, content: bytes) -> Subwords:
    # The library raises bare `Exception` for a damaged file, so the damage is looked for first.
    try:
        kind = json.loads(content)["model"]["type"]
        damage = "" if kind in _MODEL_TYPES else f"its type {kind} is unknown"
    except (ValueError, KeyError, TypeError) as error:
        damage = f"{type(error).__name__}: {error}"
    if damage:
        raise ModelUnavailable(
            f"the tokenizer {file} is damaged ({damage})", hint="install the model again", file=str(file)
        )
    subwords = Subwords.from_str(content.decode())
    # Files on the hub often ask for padding to a fixed length and for a shorter cut than the model allows.
    subwords.no_padding()
    subwords.no_truncation()
    return subwords


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which the library refuses, one character for one, so that offsets stay right."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text
