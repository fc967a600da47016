import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.errors import Unparseable
from groove_daemon.formats.encoding import decode


def normalised(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        ("süß".encode(), "süß", "utf-8"),
        (b"\xef\xbb\xbf# Coot", "# Coot", "utf-8-bom"),
        (b"\xef\xbb\xbf\xef\xbb\xbfx", "x", "utf-8-bom"),
        ("\ufeffé\r\nx".encode("utf-16-le"), "é\nx", "utf-16-le"),
        ("\ufeffé".encode("utf-16-be"), "é", "utf-16-be"),
        (b"caf\xe9 lark\n", "café lark\n", "windows-1252"),
        (b"\x80 \x81", "€ \x81", "windows-1252"),
        (b"", "", "utf-8"),
    ],
)
def test_decode_reads_each_encoding(content: bytes, text: str, encoding: str) -> None:
    decoded = decode(content)

    assert (decoded.text, decoded.encoding) == (text, encoding)


def test_decode_spoils_nothing_but_the_stray_byte_of_a_utf_8_note() -> None:
    decoded = decode("日本\n語".encode() + b"\xe9" + "の文".encode())

    assert decoded.text == "日本\n語éの文"
    assert decoded.encoding == "utf-8"
    assert decoded.problems == ("1 bytes are not UTF-8 and were read as Windows-1252, the first on line 2",)


def test_decode_puts_a_space_for_a_nul_and_for_an_inner_byte_order_mark() -> None:
    assert decode(b"red\x00throated").text == "red throated"
    assert decode("a\ufeffb".encode()).text == "a b"


def test_decode_replaces_a_lone_surrogate() -> None:
    assert decode(b"\xff\xfe" + b"\x41\x00\x80\xdc").text == "A\ufffd"


def test_decode_leaves_out_half_a_character_and_says_so() -> None:
    decoded = decode(b"\xff\xfeA\x00B")

    assert decoded.text == "A"
    assert len(decoded.problems) == 1


def test_decode_refuses_what_is_not_text() -> None:
    with pytest.raises(Unparseable):
        decode(bytes(range(256)) * 8)


def test_byte_offset_counts_bytes_of_the_file_when_ends_are_crlf() -> None:
    content = "\ufeffé\r\nb\rc\n".encode()
    decoded = decode(content)

    assert decoded.text == "é\nb\nc\n"
    assert [decoded.byte_offset(offset) for offset in range(7)] == [3, 5, 7, 8, 9, 10, 11]


def test_byte_offset_is_exact_over_many_blocks() -> None:
    line = "日本 line\r\n"
    decoded = decode((line * 5000).encode())

    assert decoded.byte_offset(8 * 4321) == len(line.encode()) * 4321
    assert decoded.byte_offset(len(decoded.text)) == len(line.encode()) * 5000


text_of_files = st.text(st.sampled_from("aé日😀 \r\n\t\0\ufeff"), max_size=60).filter(lambda text: "\0" not in text)


@given(text_of_files, st.sampled_from(("utf-8", "utf-8-sig", "utf-16")), st.data())
def test_a_slice_of_the_text_is_the_slice_of_the_bytes(text: str, codec: str, data: st.DataObject) -> None:
    content = text.encode(codec)
    decoded = decode(content)
    start = data.draw(st.integers(0, len(decoded.text)))
    end = data.draw(st.integers(start, len(decoded.text)))

    raw = content[decoded.byte_offset(start) : decoded.byte_offset(end)]

    name = "utf-8" if codec.startswith("utf-8") else "utf-16-le"
    assert normalised(raw.decode(name)).replace("\ufeff", " ") == decoded.text[start:end]


@given(st.binary(max_size=200))
def test_decode_never_leaves_what_no_store_takes(content: bytes) -> None:
    try:
        decoded = decode(content)
    except Unparseable:
        return

    decoded.text.encode()
    assert not set(decoded.text) & set("\0\r\ufeff")
    assert decoded.byte_offset(len(decoded.text)) in (len(content), len(content) - 1)
    offsets = [decoded.byte_offset(offset) for offset in range(len(decoded.text) + 1)]
    assert offsets == sorted(offsets)
