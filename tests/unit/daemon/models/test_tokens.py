import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.errors import ModelUnavailable
from groove_daemon.models.catalog import EMBEDDERS, locate
from groove_daemon.models.tokens import PlainTokenizer, SubwordTokenizer
from support.models import write_tokenizer

MINILM = locate("all-MiniLM-L6-v2", EMBEDDERS).folder / "tokenizer.json"


@pytest.fixture(scope="module")
def minilm() -> SubwordTokenizer:
    return SubwordTokenizer(MINILM, max_length=256)


def test_offsets_are_the_character_ranges_of_the_tokens(minilm: SubwordTokenizer) -> None:
    text = "Boiler rooms, 日本"

    pieces = [text[start:end] for start, end in minilm.offsets(text)]

    assert pieces == ["Boiler", "rooms", ",", "日", "本"]


def test_offsets_are_not_cut_off_at_the_models_length(minilm: SubwordTokenizer) -> None:
    assert len(minilm.offsets("word " * 1000)) == 1000


def test_max_tokens_leaves_room_for_special_tokens_and_the_prompt() -> None:
    assert SubwordTokenizer(MINILM, max_length=256).max_tokens == 254
    assert SubwordTokenizer(MINILM, max_length=256, prompt="passage: ").max_tokens == 252


def test_encode_cuts_to_the_length_and_keeps_the_special_tokens(minilm: SubwordTokenizer) -> None:
    encoding = minilm.encode("word " * 1000)

    assert len(encoding.ids) == 256
    assert (encoding.tokens[0], encoding.tokens[-1]) == ("[CLS]", "[SEP]")


def test_encode_does_not_pad_although_the_file_asks_for_it(minilm: SubwordTokenizer) -> None:
    assert minilm.encode("one word").tokens == ["[CLS]", "one", "word", "[SEP]"]


def test_encode_pair_gives_the_query_half_and_the_passage_the_rest(tmp_path: Path) -> None:
    tokenizer = SubwordTokenizer(write_tokenizer(tmp_path, special=True), max_length=9)

    encoding = tokenizer.encode_pair("a " * 20, "b " * 20)

    assert encoding.tokens == ["[CLS]", "a", "a", "a", "[SEP]", "b", "b", "b", "[SEP]"]
    assert encoding.type_ids == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_encode_pair_leaves_the_room_of_a_short_query_to_the_passage(tmp_path: Path) -> None:
    tokenizer = SubwordTokenizer(write_tokenizer(tmp_path, special=True), max_length=9)

    assert tokenizer.encode_pair("a", "b " * 20).tokens.count("b") == 5


def test_lower_case_applies_before_the_files_own_rules(tmp_path: Path) -> None:
    file = write_tokenizer(tmp_path, words=("key",))

    assert SubwordTokenizer(file, max_length=8).encode("KEY").tokens == ["[UNK]"]
    assert SubwordTokenizer(file, max_length=8, lower_case=True).encode("KEY").tokens == ["key"]


def test_name_differs_with_file_length_and_case(tmp_path: Path) -> None:
    file = write_tokenizer(tmp_path)

    names = {
        SubwordTokenizer(MINILM, max_length=256).name,
        SubwordTokenizer(file, max_length=256).name,
        SubwordTokenizer(file, max_length=128).name,
        SubwordTokenizer(file, max_length=128, lower_case=True).name,
        PlainTokenizer(254).name,
        PlainTokenizer(100).name,
    }

    assert len(names) == 6


@given(text=st.text(alphabet=st.characters(exclude_categories=())))
def test_offsets_lie_within_the_text_in_order_for_any_text(text: str) -> None:
    for tokenizer in (SubwordTokenizer(MINILM, max_length=256), PlainTokenizer()):
        offsets = tokenizer.offsets(text)

        assert all(0 <= start <= end <= len(text) for start, end in offsets)
        assert [start for start, _ in offsets] == sorted(start for start, _ in offsets)


def test_offsets_are_the_same_from_many_threads(minilm: SubwordTokenizer) -> None:
    texts = [f"note number {number} about the garden" for number in range(50)]
    expected = [minilm.offsets(text) for text in texts]
    results: list[list[object]] = []

    threads = [
        threading.Thread(target=lambda: results.append([minilm.offsets(text) for text in texts])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [expected] * 4


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"model": {"type": "Odd"}}', '{"model": null}'])
def test_damaged_file_is_named_with_a_remedy(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(content)

    with pytest.raises(ModelUnavailable, match="damaged") as caught:
        SubwordTokenizer(file, max_length=8)

    assert str(file) in caught.value.message
    assert caught.value.hint


def test_file_cut_short_is_reported_as_damaged(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_bytes(MINILM.read_bytes()[:100_000])

    with pytest.raises(ModelUnavailable, match="damaged"):
        SubwordTokenizer(file, max_length=8)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match=r"tokenizer\.json"):
        SubwordTokenizer(tmp_path / "tokenizer.json", max_length=8)


def test_plain_tokenizer_cuts_words_into_pieces_of_three() -> None:
    text = "Gardening 日本!"

    pieces = [text[start:end] for start, end in PlainTokenizer().offsets(text)]

    assert pieces == ["Gar", "den", "ing", "日", "本", "!"]


@pytest.mark.parametrize(
    "text",
    [
        "The slugs came back after the rain, so the seedlings moved to the shelf.",
        "def mean(values: list[float]) -> float: return sum(values) / len(values)",
        "会議は来週の火曜日に延期されました。",
        json.dumps({"antidisestablishmentarianism": "pneumonoultramicroscopic"}),
    ],
)
def test_plain_tokenizer_counts_at_least_as_many_tokens_as_the_model(minilm: SubwordTokenizer, text: str) -> None:
    assert len(PlainTokenizer().offsets(text)) >= len(minilm.offsets(text))
