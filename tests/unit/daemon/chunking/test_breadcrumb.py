import pytest

from groove_daemon.chunking.breadcrumb import breadcrumb


@pytest.mark.parametrize(
    ("title", "headings", "expected"),
    [
        ("Note", (), "Note"),
        ("Note", ("A", "B"), "Note > A > B"),
        ("Note", (" Note ", "A", "", "  ", "A", "B", "A"), "Note > A > B > A"),
        ("", (), None),
        (" ", ("",), None),
        ("", ("A",), "A"),
        ("x" * 250, ("A",), "x" * 200),
        ("x" * 197, ("A",), "x" * 197 + " >"),
    ],
)
def test_breadcrumb_joins_title_and_headings(title: str, headings: tuple[str, ...], expected: str | None) -> None:
    assert breadcrumb(title, headings) == expected
