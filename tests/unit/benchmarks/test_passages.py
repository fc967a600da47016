import math
from dataclasses import replace

import pytest
from benchmarks.passages import SENTENCE, Lines, draw, gain

from groove_daemon.domain.document import ChunkId, DocumentId, FileStat, StoredChunk, StoredDocument

DOCUMENT = StoredDocument(
    document_id=DocumentId(1), collection="notes", path="a.md", title="A", topic=None, category=None, date=None,
    tags=(), format="md", stat=FileStat(1, 1), indexed_at=0.0, chunk_count=1,
)  # fmt: skip
OUZEL = "The ouzel builds its nest behind falling water near mountain streams every spring."
HERON = "A heron stands motionless along shallow river edges until fish swim under its shadow."


def chunk(number: int, content: str, path: str = "a.md") -> StoredChunk:
    return StoredChunk(
        chunk_id=ChunkId(number), document=replace(DOCUMENT, path=path), position=0, heading=None, level=None,
        heading_path=(), context=None, content=content, line_start=number, line_end=number + 1, byte_start=0,
        byte_end=len(content), token_count=None, quality=1.0, created_at=0.0, has_vector=True,
    )  # fmt: skip


def chunks(*made: StoredChunk) -> dict[ChunkId, StoredChunk]:
    return {each.chunk_id: each for each in made}


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (Lines("a.md", 1, 4), True),
        (Lines("a.md", 6, 9), True),
        (Lines("a.md", 5, 5), True),
        (Lines("a.md", 1, 3), False),
        (Lines("a.md", 7, 9), False),
        (Lines("b.md", 4, 6), False),
    ],
)
def test_ranges_share_a_line_in_the_same_document(lines, expected):
    assert lines.shares_a_line(Lines("a.md", 4, 6)) is expected
    assert Lines("a.md", 4, 6).shares_a_line(lines) is expected


def test_gain_falls_with_the_rank_of_the_first_right_hit():
    wanted, right, wrong = Lines("a.md", 4, 6), Lines("a.md", 6, 8), Lines("a.md", 7, 8)

    assert gain(wanted, [right, wrong], k=5) == 1.0
    assert gain(wanted, [wrong, right, right], k=5) == pytest.approx(1 / math.log2(3))
    assert gain(wanted, [wrong] * 3 + [right], k=4) == pytest.approx(1 / math.log2(5))
    assert gain(wanted, [wrong] * 4 + [right], k=4) == 0.0
    assert gain(wanted, [], k=5) == 0.0


def test_questions_are_made_of_the_chunk():
    (passage,) = draw(chunks(chunk(3, OUZEL)), count=5)

    assert passage.lines == Lines("a.md", 3, 4)
    assert passage.questions[SENTENCE] == "ouzel builds behind falling near mountain every spring"
    assert passage.questions["one rare word"] in OUZEL
    assert len(passage.questions["a rare word and two"].split()) == 3
    assert set(passage.questions) == {SENTENCE, "one rare word", "a rare word and two"}


def test_chunks_without_questions_and_texts_that_stand_twice_are_left_out():
    drawn = draw(chunks(chunk(1, "Short."), chunk(2, HERON), chunk(3, HERON, "b.md"), chunk(4, OUZEL)), count=5)

    assert [passage.lines.first for passage in drawn] == [4]


def test_the_same_passages_come_whatever_numbers_chunks_have():
    texts = {
        "a.md": OUZEL,
        "b.md": HERON,
        "c.md": "A wren sings long and loud songs while hidden deep inside ivy walls.",
    }
    one = {ChunkId(place): replace(chunk(1, text, path), chunk_id=ChunkId(place))
           for place, (path, text) in enumerate(texts.items())}  # fmt: skip
    other = {ChunkId(9 - int(number)): replace(each, chunk_id=ChunkId(9 - int(number))) for number, each in one.items()}

    assert draw(one, count=2) == draw(other, count=2)
    assert len(draw(one, count=2)) == 2
