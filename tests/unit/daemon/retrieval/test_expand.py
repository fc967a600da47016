from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.config.settings import ParentSettings
from groove_daemon.domain.document import ChunkId, DocumentId, FileStat, StoredChunk, StoredDocument
from groove_daemon.domain.hit import Expansion
from groove_daemon.retrieval.expand import Expanded, Expander
from groove_daemon.retrieval.spans import Segment

DOCUMENT = StoredDocument(
    DocumentId(1), "notes", "a.md", "A", None, None, None, (), "md", FileStat(100, 0), 0.0, chunk_count=3
)
SETTINGS = ParentSettings(enabled=True, whole_doc_threshold_tokens=100, max_expanded_tokens=2000)


def expand(hit: StoredChunk, document: list[StoredChunk], *, settings: ParentSettings) -> Expanded:
    return Expander(settings)(hit, document)


def chunk(position: int, *, tokens: int | None = 500, level: int | None = 2, content: str = "") -> StoredChunk:
    text = content or f"text {position}"
    start = position * 1000
    return StoredChunk(
        ChunkId(position + 1), DOCUMENT, position, f"H{position}", level, (f"H{position}",), None, text,
        position * 10 + 1, position * 10 + 5, start, start + len(text.encode()), tokens, 1.0, 0.0, has_vector=True,
    )  # fmt: skip


def document(*tokens: int | None, levels: tuple[int | None, ...] = ()) -> list[StoredChunk]:
    return [
        chunk(position, tokens=count, level=levels[position] if levels else 2) for position, count in enumerate(tokens)
    ]


def test_small_hit_shows_its_whole_document():
    chunks = document(300, 99, 300)

    shown = expand(chunks[1], chunks, settings=SETTINGS)

    assert shown.content == "text 0\n\ntext 1\n\ntext 2"
    assert shown.expansion == Expansion("whole_document", 0, 2, 3)
    assert (shown.line_start, shown.line_end) == (1, 25)


def test_hit_of_exactly_the_threshold_is_not_small():
    chunks = document(1500, 100, 1500)

    assert expand(chunks[1], chunks, settings=SETTINGS).expansion.kind == "siblings"


def test_small_hit_of_a_long_document_falls_back_to_siblings():
    chunks = document(1990, 5, 5, 5)

    assert expand(chunks[2], chunks, settings=SETTINGS).expansion == Expansion("siblings", 1, 3, 4)


def test_siblings_are_taken_before_and_after_in_turn_until_the_cap():
    chunks = document(500, 500, 500, 500, 500, 500)

    # 500 + before + after + before = 2000; the next one does not fit.
    assert expand(chunks[3], chunks, settings=SETTINGS).expansion == Expansion("siblings", 1, 4, 6)


def test_a_side_that_is_full_does_not_stop_the_other():
    chunks = document(1800, 500, 300, 300)

    assert expand(chunks[1], chunks, settings=SETTINGS).expansion == Expansion("siblings", 1, 3, 4)


def test_siblings_end_at_another_heading_level():
    chunks = document(200, 200, 200, 200, levels=(2, 2, 3, 2))

    assert expand(chunks[1], chunks, settings=SETTINGS).expansion == Expansion("siblings", 0, 1, 4)


def test_hit_that_fits_no_sibling_names_its_own_range():
    chunks = document(1900, 1900)

    shown = expand(chunks[0], chunks, settings=SETTINGS)

    assert shown.content == "text 0"
    assert shown.expansion == Expansion("siblings", 0, 0, 2)


def test_unknown_token_counts_are_estimated_from_bytes():
    long = chunk(1, tokens=None, content="x" * 8000)
    chunks = [chunk(0, tokens=100), long]

    assert expand(chunks[0], chunks, settings=SETTINGS).expansion == Expansion("siblings", 0, 0, 2)
    assert expand(chunks[0], [chunks[0], replace(long, content="x" * 7600)], settings=SETTINGS).expansion == Expansion(
        "siblings", 0, 1, 2
    )


def test_unknown_token_count_never_makes_a_hit_small():
    chunks = [chunk(0, tokens=None), chunk(1, tokens=10, level=3)]

    assert expand(chunks[0], chunks, settings=SETTINGS).expansion == Expansion("siblings", 0, 0, 2)


def test_shared_text_of_split_pieces_is_shown_once():
    first = replace(chunk(0), content="one two three", byte_start=0, byte_end=13)
    second = replace(chunk(1), content="three four", byte_start=8, byte_end=18)

    assert expand(first, [first, second], settings=SETTINGS).content == "one two three four"


def test_segments_say_where_each_chunk_begins_and_on_which_line():
    first = replace(chunk(0), content="one\ntwo", line_start=3, byte_end=7)
    second = replace(chunk(1), content="two\nthree", line_start=4, byte_start=4, byte_end=13)
    third = replace(chunk(2), content="four", line_start=9, byte_start=20, byte_end=24)

    shown = expand(first, [first, second, third], settings=SETTINGS)

    assert shown.content == "one\ntwo\nthree\n\nfour"
    assert shown.segments == (Segment(0, 3), Segment(4, 4), Segment(15, 9))


def test_a_chunk_begins_where_it_was_joined_and_not_where_its_text_stands_before():
    first, second = chunk(0, content="see owl\nand more"), chunk(1, content="owl")

    assert expand(first, [first, second], settings=SETTINGS).segments == (Segment(0, 1), Segment(18, 11))


def test_hits_that_grow_to_the_same_stretch_share_it():
    chunks = document(500, 500, 500)
    expander = Expander(SETTINGS)

    assert expander(chunks[0], chunks) is expander(chunks[2], chunks)
    assert expander(chunks[0], chunks) == expand(chunks[1], chunks, settings=SETTINGS)


def test_documents_do_not_share_a_stretch():
    other = replace(chunk(0, content="other"), document=replace(DOCUMENT, document_id=DocumentId(2)))
    expander = Expander(SETTINGS)

    assert expander(chunk(0), [chunk(0)]).content == "text 0"
    assert expander(other, [other]).content == "other"


@given(st.lists(st.integers(1, 900), min_size=1, max_size=12), st.data())
def test_expansion_holds_the_hit_and_keeps_the_cap(tokens, data):
    chunks = document(*tokens)
    at = data.draw(st.integers(0, len(chunks) - 1))

    expansion = expand(chunks[at], chunks, settings=SETTINGS).expansion

    assert expansion.from_position <= at <= expansion.to_position
    assert sum(tokens[expansion.from_position : expansion.to_position + 1]) <= 2000
