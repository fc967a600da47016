import pytest

from groove_daemon.formats.markdown import heading_text
from support.documents import parse


def sections(text: str) -> list[tuple[str | None, str]]:
    document = parse(text)
    return [(section.heading, document.text[section.start : section.end].strip()) for section in document.sections]


def test_sections_are_cut_at_headings_of_every_level() -> None:
    text = "top\n\n# One\na\n#### Deep\nb\n\nTwo\n---\nc\n"

    assert sections(text) == [(None, "top"), ("One", "a"), ("Deep", "b"), ("Two", "c")]


def test_sections_know_their_ancestors() -> None:
    document = parse("# A\n### B\n## C\n### D\n# E\n")

    assert [section.ancestors for section in document.sections] == [(), ("A",), ("A",), ("A", "C"), ()]
    assert [section.level for section in document.sections] == [1, 3, 2, 3, 1]


def test_a_fence_stays_whole_under_its_heading() -> None:
    fence = "```sh\n# install first\ntern go\n```"

    assert sections(f"# Setup\n\n{fence}\n\n## After\nx") == [("Setup", fence), ("After", "x")]


def test_a_text_without_headings_is_one_section() -> None:
    assert sections("one\ntwo\nauk") == [(None, "one\ntwo\nauk")]


@pytest.mark.parametrize("text", ["", "---\ntitle: x\n---\n"])
def test_a_text_without_body_has_no_section(text: str) -> None:
    assert parse(text).sections == ()


def test_sections_and_heading_lines_cover_everything_after_the_frontmatter() -> None:
    text = "---\na: b\n---\nx\n# H\ny\nZ\n=\n"
    document = parse(text)
    ends = [section.end for section in document.sections]

    assert [section.heading_start for section in document.sections] == [13, *ends[:-1]]
    assert ends[-1] == len(document.text)


def test_a_rule_on_the_first_line_swallows_nothing() -> None:
    text = "---\n# Goosander\n\nmerganser\n\n---\n\nanother\n"

    assert sections(text) == [(None, "---"), ("Goosander", "merganser\n\n---\n\nanother")]


def test_a_byte_order_mark_hides_neither_frontmatter_nor_heading() -> None:
    note = "---\ntitle: Moorhen\ntags: [water]\n---\n# Coot\ntext\n"
    with_mark, without = parse(b"\xef\xbb\xbf" + note.encode()), parse(note)

    assert with_mark.metadata == without.metadata
    assert with_mark.sections == without.sections
    assert with_mark.byte_offset(0) == 3


def test_crlf_gives_the_same_sections_as_lf() -> None:
    note = "---\na: b\n---\n\n# H\n\nx\n- y\n"
    crlf = parse(note.replace("\n", "\r\n"))

    assert crlf.text == note
    assert crlf.sections == parse(note).sections


def test_an_overlong_heading_is_text() -> None:
    line = "# " + "w" * 300

    assert sections(f"{line}\nx") == [(None, f"{line}\nx")]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("Plain", "Plain"),
        ("**Bold** and *thin* and `code`", "Bold and thin and code"),
        ("snake_case_name and __strong__", "snake_case_name and strong"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("[[fruit/yellow|Bittern Guide]]", "Bittern Guide"),
        ("![[Diving Log]]", "Diving Log"),
        ("[text](http://x/y) and ![img](a.png)", "text and img"),
        ("[![badge](a.svg)](http://x)", "badge"),
        ("[ref][1]", "ref"),
        ('<a name="x"></a>Anchor', "Anchor"),
        ("List<String>", "List<String>"),
        ("Title {#id .cls}", "Title"),
        ("A \\# B \\* C", "A # B * C"),
        ("R&amp;D", "R&D"),
        ("`**not bold**`", "not bold"),
    ],
)
def test_heading_text_is_what_a_reader_sees(raw: str, text: str) -> None:
    assert heading_text(raw) == text


def test_tags_of_the_text_follow_those_of_the_frontmatter() -> None:
    head = "---\ntags: [one]\n---\n# H #no\n"
    note = head + "#two and (#three/x) a#no ##no #12 #One `#no` [a](#no)\n[b]: #no\n\n```\n#no\n```\n"

    assert parse(note).metadata.tags == ("one", "two", "three/x")


def test_links_embeds_and_tasks_stay_text() -> None:
    note = "[[fruit/yellow|Bittern Guide]] ![[Diving Log]]\n\n- [ ] task[^1]\n\n[^1]: foot\n"

    assert sections(note) == [(None, note.strip())]


def test_problems_name_what_was_not_understood() -> None:
    problems = parse(b"---\nx: y: z\n---\ncaf\xe9").metadata.problems

    assert len(problems) == 2
    assert "line 4" in problems[0]
    assert "line 2, column 5" in problems[1]
