"""How editors are told to open a file at a line.

What always holds: an editor that is not known here gets the file alone, which every editor understands.
"""

import os
import shlex

_VI_LIKE = ("vi", "vim", "nvim", "gvim", "view", "vim.tiny", "vim.basic", "vim.nox", "kak", "ne")
_EMACS_LIKE = ("emacs", "emacsclient", "emacs-nox", "mg", "jed", "joe")
_PLUS_LINE = frozenset((*_VI_LIKE, *_EMACS_LIKE, "nano", "pico", "micro", "gedit"))
_COLON_LINE = frozenset(("hx", "helix", "subl", "sublime_text", "zed", "zeditor"))
_GOTO = frozenset(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"))


def command(editor: str, path: str, line: int) -> list[str]:
    """Return the arguments that make `editor` open `path` at `line`.

    Args:
        editor: a command line as `$EDITOR` holds it, arguments included.
        path: absolute path, so that it cannot look like an option.
        line: from 1.

    Raises:
        ValueError: quotes in `editor` are not closed, or it is empty.
    """
    words = shlex.split(editor)
    if not words:
        raise ValueError("it is empty")
    name = os.path.basename(words[0])
    if name in _PLUS_LINE:
        return [*words, f"+{line}", path]
    if name in _COLON_LINE:
        return [*words, f"{path}:{line}"]
    if name in _GOTO:
        return [*words, "--goto", f"{path}:{line}"]
    return [*words, path]
