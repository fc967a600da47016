"""How systemd reads the lines of a unit file, after its manual: to check that what goes in comes out again."""

import re

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}


def assignments(text: str, key: str) -> list[str]:
    """Return the values of a key in the order of the file; comments and sections are passed over."""
    return [line[len(key) + 1 :] for line in text.split("\n") if line.startswith(f"{key}=")]


def words(value: str) -> list[str]:
    """Split a value at blanks outside quotes, take off quotes, and resolve escapes and `%%`."""
    found: list[str] = []
    for match in re.finditer(r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+))(?:\s+|$)""", value):
        text = next(group for group in match.groups() if group is not None)
        found.append(_specifiers(re.sub(r"\\(.)", lambda escape: _ESCAPES[escape[1]], text)))
    return found


def _specifiers(text: str) -> str:
    assert not re.search(r"(?<!%)(?:%%)*%(?!%)", text), f"a lone % in {text!r} starts a specifier"
    return text.replace("%%", "%")


def arguments(value: str) -> list[str]:
    """Return what a program gets from `ExecStart=`: in all but its path, `$$` is a `$` and `$` starts a variable."""
    program, *rest = words(value)
    for argument in rest:
        assert not re.search(r"(?<!\$)(?:\$\$)*\$(?!\$)", argument), f"a lone $ in {argument!r} starts a variable"
    return [program, *(argument.replace("$$", "$") for argument in rest)]
