"""From a template and values to the text of a unit or a property list: pure, and the only place that escapes.

What always holds: a value comes out of the supervisor's own parser as it went in, or it is refused with the name of
its field.  A template has `@NAME@` for a value, and `@from 254@` or `@before 254@` in front of a line that only some
versions of systemd understand.
"""

import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from groove_daemon.errors import ConfigError

_PLACEHOLDER = re.compile(r"@([A-Z][A-Z_]*)@")
_CONDITION = re.compile(r"@(from|before) (\d+)@ ")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NEEDS_NO_QUOTES = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_REFUSED_IN_PROGRAM = re.compile(r"[\"'\\]")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace each `@NAME@`; a value is not looked into again.

    Raises:
        KeyError: a name without a value.
    """
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def for_version(template: str, version: int) -> str:
    """Keep the lines that this version of systemd understands, without their conditions."""
    kept = []
    for line in template.split("\n"):
        condition = _CONDITION.match(line)
        if condition is None:
            kept.append(line)
        elif (version >= int(condition[2])) == (condition[1] == "from"):
            kept.append(line[condition.end() :])
    return "\n".join(kept)


def unit_command(arguments: Sequence[str], *, field: str) -> str:
    """Return the arguments as the value of `ExecStart=`.

    In a command `$` starts a variable and `%` a specifier, so both are doubled; in the program's own path, which is the
    first argument, systemd puts in no variables, and a doubled `$` would stay so.  It refuses a program whose path has
    a quote or a backslash, so the shell starts that one; it replaces itself, and the process stays the same.

    Raises:
        ConfigError: no absolute program, or characters that a unit cannot hold.
    """
    if not arguments or not arguments[0].startswith("/"):
        raise ConfigError(f"service: {field}: the program must be an absolute path")
    if _REFUSED_IN_PROGRAM.search(arguments[0]):
        arguments = ("/bin/sh", "-c", 'exec "$0" "$@"', *arguments)
    program, *rest = (_checked(argument, field).replace("%", "%%") for argument in arguments)
    return " ".join([_quoted(program), *(_quoted(argument.replace("$", "$$")) for argument in rest)])


def unit_environment(environment: Mapping[str, str]) -> str:
    """Return lines `Environment=...`, sorted by name.

    Raises:
        ConfigError: a name that is none, or characters that a unit cannot hold.
    """
    lines = []
    for name, value in sorted(environment.items()):
        if not _VARIABLE.fullmatch(name):
            raise ConfigError(f"service: environment: {name!a} is no name of a variable")
        pair = f"{name}={_checked(value, f'environment {name}')}".replace("%", "%%")
        lines.append(f"Environment={_quoted(pair)}")
    return "\n".join(lines)


def unit_path(path: str, *, field: str) -> str:
    """Return a path as a whole value that systemd takes without quotes, such as `ListenStream=`.

    Raises:
        ConfigError: not absolute, or with blanks at its end, a backslash there, or control characters.
    """
    text = _checked(path, field)
    if not text.startswith("/") or text != text.strip() or text.endswith("\\"):
        raise ConfigError(f"service: {field}: {path!a} must be absolute and must not end in a blank or a backslash")
    return text.replace("%", "%%")


def plist_strings(values: Sequence[str], *, field: str) -> str:
    """Return one `<string>` element a line.

    Raises:
        ConfigError: characters that XML cannot hold.
    """
    return "\n".join(f"        <string>{plist_text(value, field=field)}</string>" for value in values)


def plist_entries(values: Mapping[str, str], *, field: str) -> str:
    """Return `<key>` and `<string>` for each entry, sorted by key.

    Raises:
        ConfigError: characters that XML cannot hold.
    """
    lines = []
    for key, value in sorted(values.items()):
        lines.append(f"        <key>{plist_text(key, field=field)}</key>")
        lines.append(f"        <string>{plist_text(value, field=f'{field} {key}')}</string>")
    return "\n".join(lines)


def plist_text(value: str, *, field: str) -> str:
    """Return a text as it stands between two tags.

    Raises:
        ConfigError: characters that XML cannot hold.
    """
    if "\ufffe" in value or "\uffff" in value:
        raise ConfigError(f"service: {field}: {value!a} has a character that XML cannot hold")
    return escape(_checked(value, field))


def _quoted(text: str) -> str:
    if _NEEDS_NO_QUOTES.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _checked(text: str, field: str) -> str:
    control = _CONTROL.search(text)
    if control:
        what = "a line break" if control[0] in "\r\n" else f"the control character {control[0]!a}"
        raise ConfigError(f"service: {field}: {text!a} contains {what}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ConfigError(f"service: {field}: {text!a} is not valid UTF-8") from None
    return text
