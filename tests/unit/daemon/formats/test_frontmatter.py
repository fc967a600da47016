import pytest
from hypothesis import given
from hypothesis import strategies as st

from groove_daemon.domain.document import Metadata
from groove_daemon.formats.frontmatter import read_frontmatter


def metadata(block: str) -> Metadata:
    return read_frontmatter(f"---\n{block}\n---\nbody").metadata


def body(text: str) -> str:
    return text[read_frontmatter(text).end :]


def test_frontmatter_is_read_and_left_out_of_the_body() -> None:
    text = "---\ntitle: Moorhen\ntopic: water\ntags: [a, b/c]\naliases:\n- Coot\ndate: 2026-05-18\nother: 1\n---\nbody"

    assert read_frontmatter(text).metadata == Metadata(
        title="Moorhen", date="2026-05-18", topic="water", tags=("a", "b/c"), aliases=("Coot",)
    )
    assert body(text) == "body"


@pytest.mark.parametrize(
    "text",
    [
        "---\n# Goosander\n\nmerganser\n\n---\nanother",
        "---\n# only a comment\n---\ntext",
        "---\n- a\n- b\n---\ntext",
        "---\nplain words\n---\ntext",
        "---\ntitle: never closed\n",
        "---",
        " ---\na: b\n---\n",
        "text\n---\na: b\n---\n",
        "----\na: b\n----\n",
        "---\nShe said: no: never\nand left for good\n---\ntext",
    ],
)
def test_anything_but_a_closed_mapping_is_body(text: str) -> None:
    assert body(text) == text


@pytest.mark.parametrize("text", ["---\n---\nx", "---\n\n---\nx", "---  \na: b\n---\t\nx", "---\na: b\n...\nx"])
def test_empty_blocks_and_other_closings_are_frontmatter(text: str) -> None:
    assert body(text) == "x"


def test_bad_yaml_is_left_out_with_line_and_column() -> None:
    text = "---\ntitle: Re: budget talk\ntags: [a, b]\n---\nouzel"
    found = read_frontmatter(text)

    assert text[found.end :] == "ouzel"
    assert found.metadata.title is None
    assert found.metadata.problems[0].startswith("frontmatter not understood at line 2, column 10: ")


def test_a_forbidden_character_is_found_by_line_and_column() -> None:
    assert metadata("a: b\nc: \x07").problems[0].startswith("frontmatter not understood at line 3, column 4: ")


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2026-05-18", "2026-05-18"),
        ("'2026-05-18'", "2026-05-18"),
        ("2026-5-8", "2026-05-08"),
        ("2026/05/18", "2026-05-18"),
        ("2026-05-18 10:00:00", "2026-05-18T10:00:00"),
        ("2026-05-18 7:05:00 +2", "2026-05-18T07:05:00+02:00"),
        ("2026-05-18T10:00:00Z", "2026-05-18T10:00:00+00:00"),
        ("2026-05", "2026-05"),
        ("2026", "2026"),
    ],
)
def test_dates_become_iso_text(written: str, iso: str) -> None:
    assert metadata(f"date: {written}").date == iso
    assert metadata(f"created: {written}").date == iso


@pytest.mark.parametrize("written", ["soon", "2026-13-01", "2026-02-30", "18.5.2026"])
def test_a_date_that_is_none_is_a_problem_and_no_date(written: str) -> None:
    found = metadata(f"date: {written}")

    assert found.date is None
    assert found.problems == (f"frontmatter date not understood: {written}",)


@pytest.mark.parametrize(
    ("block", "title"),
    [
        ("title: 2024", "2024"),
        ("title: yes", "yes"),
        ("title: 1.50", "1.50"),
        ("title: ~", None),
        ("title:", None),
        ("title: ''", None),
        ("title: '~'", "~"),
        ("title: [[Some note]]", "Some note"),
        ("title: {a: b}", None),
        ("Title: |\n  two\n  lines", "two lines"),
        ("title: !!python/object:os.system x", "x"),
        ("title: a\ntitle: b", "b"),
    ],
)
def test_titles_are_taken_as_they_are_written(block: str, title: str | None) -> None:
    assert metadata(block).title == title


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        ("tags: one", ("one",)),
        ("tags: one two", ("one", "two")),
        ("tags: one, two words", ("one", "two words")),
        ("tags: ['#one', 2, One, '', ~]", ("one", "2")),
        ("tags:\n- two words\n- x", ("two words", "x")),
        ("tag: x", ("x",)),
        ("tags:", ()),
        ("tags: {a: b}", ()),
    ],
)
def test_tags_come_in_many_forms(block: str, tags: tuple[str, ...]) -> None:
    assert metadata(block).tags == tags


def test_aliases_are_not_followed() -> None:
    bomb = "a: &a [x, x]\n" + "\n".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}]" for a, b in zip("abcdefg", "bcdefgh", strict=True)
    )

    assert metadata(f"{bomb}\ntags: *h\ntitle: Bomb").title == "Bomb"
    assert metadata(f"{bomb}\ntags: *h").tags == ()


def test_deep_nesting_is_a_problem_and_no_crash() -> None:
    assert "nested too deeply" in metadata("a: " + "[" * 500 + "]" * 500).problems[0]


@given(st.text(st.sampled_from("ab:-#[]{}&*!|>'\"%@`~ \n\t\x07é"), max_size=60))
def test_frontmatter_never_raises_and_never_reaches_past_its_closing(block: str) -> None:
    text = f"---\n{block}\n---\nbody"
    found = read_frontmatter(text)

    assert found.end == 0 or text[: found.end].rstrip().endswith(("---", "..."))
    assert text[found.end :].endswith("body")
