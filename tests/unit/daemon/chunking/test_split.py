from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.chunking.split import Splitter
from groove_daemon.domain.passage import passage
from support.documents import PieceTokenizer, notes


def cut(text: str, *, limit: int = 16, overlap: int = 0, context: str | None = None) -> list[str]:
    splitter = Splitter(PieceTokenizer(limit), limit=0, overlap=overlap)
    return [text[piece.start : piece.end] for piece in splitter.pieces(text, 0, len(text), context=context)]


def test_a_text_that_fits_is_one_piece() -> None:
    assert cut("\n\n  a b\nc \n\n") == ["  a b\nc"]


def test_white_space_is_no_piece() -> None:
    assert cut(" \n\t\u3000\n") == []


def test_cuts_fall_between_paragraphs_first() -> None:
    text = "a b c d e\nf g h i j\n\nk l m n\no p q r\ns t u v"

    assert cut(text, limit=16) == ["a b c d e\nf g h i j", "k l m n\no p q r\ns t u v"]


def test_cuts_fall_between_lines_where_there_is_no_paragraph() -> None:
    assert cut("a b c d e f\ng h i j k l\nm n o p q r", limit=16) == ["a b c d e f\ng h i j k l", "m n o p q r"]


def test_cuts_fall_between_sentences_then_words_then_tokens() -> None:
    assert cut("a b c d e. f g h i j. k l m n o p") == ["a b c d e. f g h i j.", "k l m n o p"]
    assert cut("日一日一日一。日一日一日一。日一日一日", limit=4)[0] == "日一日一日一。"
    assert cut("aaaa " * 20) == [("aaaa " * 16).strip(), ("aaaa " * 4).strip()]
    assert cut("a" * 100, limit=16) == ["a" * 64, "a" * 36]


def test_neighbours_share_the_overlap_from_the_start_of_a_word() -> None:
    words = [f"w{number:03}" for number in range(40)]
    first, second, third = cut(" ".join(words), limit=20, overlap=4)

    assert first.split() == words[:20]
    assert second.split() == words[16:36]
    assert third.split() == words[32:]


def test_a_long_context_leaves_half_of_the_limit_to_the_content() -> None:
    splitter = Splitter(PieceTokenizer(16), limit=0, overlap=0)

    assert splitter.shorten("a b c d e f g h i j k") == "a b c d e f g h"
    assert splitter.shorten("a b") == "a b"
    assert splitter.shorten(None) is None


def test_the_limit_is_never_more_than_the_embedder_reads() -> None:
    assert Splitter(PieceTokenizer(100), limit=200, overlap=0).limit == 100
    assert Splitter(PieceTokenizer(100), limit=50, overlap=0).limit == 50
    assert Splitter(PieceTokenizer(100), limit=1, overlap=0).limit == 16


def test_a_long_text_is_tokenised_in_proportion_to_its_length() -> None:
    tokenizer = PieceTokenizer(64)
    text = "word " * 100_000
    pieces = Splitter(tokenizer, limit=0, overlap=8).pieces(text, 0, len(text), context="T")

    assert len(pieces) > 1500
    assert tokenizer.characters < 3 * len(text)


def test_characters_without_tokens_do_not_make_a_piece_endless() -> None:
    splitter = Splitter(PieceTokenizer(16), limit=0, overlap=4)
    text = "a" + "\u0301" * 10 + " " * 5000 + "b" * 10
    pieces = splitter.pieces(text, 0, len(text), context=None)

    assert all(piece.end - piece.start <= splitter.max_chars for piece in pieces)


@given(notes(), st.integers(2, 40), st.integers(0, 12), st.sampled_from((None, "T", "Title > of a note")))
def test_pieces_cover_the_text_and_keep_the_limit(text: str, limit: int, overlap: int, context: str | None) -> None:
    tokenizer = PieceTokenizer(limit)
    splitter = Splitter(tokenizer, limit=0, overlap=overlap)
    context = splitter.shorten(context)
    pieces = splitter.pieces(text, 0, len(text), context=context)
    covered = set()
    for piece in pieces:
        content = text[piece.start : piece.end]
        covered.update(range(piece.start, piece.end))
        assert content.strip()
        assert piece.tokens == len(tokenizer.offsets(passage(context, content))) <= limit
        assert len(content) <= splitter.max_chars

    assert all(text[index].isspace() for index in range(len(text)) if index not in covered)
    assert [piece.start for piece in pieces] == sorted({piece.start for piece in pieces})
    assert [piece.end for piece in pieces] == sorted({piece.end for piece in pieces})
