"""Editors and how they take a line number."""

import pytest

from groove_client.editors import command


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("vim", ["vim", "+7", "/n/a b.md"]),
        ("/usr/bin/nvim -R", ["/usr/bin/nvim", "-R", "+7", "/n/a b.md"]),
        ("nano", ["nano", "+7", "/n/a b.md"]),
        ("emacsclient -nw", ["emacsclient", "-nw", "+7", "/n/a b.md"]),
        ("code --wait", ["code", "--wait", "--goto", "/n/a b.md:7"]),
        ("hx", ["hx", "/n/a b.md:7"]),
        ("subl -w", ["subl", "-w", "/n/a b.md:7"]),
        ("'/opt/My Editor/ed'", ["/opt/My Editor/ed", "/n/a b.md"]),
    ],
)
def test_editor_opens_file_at_line(editor, words):
    assert command(editor, "/n/a b.md", 7) == words


@pytest.mark.parametrize("editor", ["", "  ", "'vim"])
def test_editor_that_is_no_command_is_refused(editor):
    with pytest.raises(ValueError, match=r"."):
        command(editor, "/n", 1)
