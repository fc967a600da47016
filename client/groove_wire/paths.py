"""Where the socket, the configuration, the index, the log and the cache are, on Linux and macOS.

Daemon and clients call the same functions, so they meet even when one of them was started without a login session's
variables.  Nothing here creates or opens a file.  An XDG variable that is empty or relative counts as not set.
This module is part of the command's start time: it imports `os` and `sys` and nothing else.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFAULT_INSTANCE = "default"
MAX_INSTANCE_LENGTH = 64
MAX_SOCKET_PATH = {"linux": 107, "darwin": 103}

_INSTANCE_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
# The key of the user's temporary folder in confstr(3) of macOS; Python has no name for it.
_DARWIN_USER_TEMP_DIR = 65537


def check_instance(instance: str) -> str:
    """Return the name of an instance if it can be part of a file name.

    Raises:
        ValueError: empty, longer than 64 characters, or with anything but ASCII letters, digits, `_` and `-`.
    """
    if not instance or len(instance) > MAX_INSTANCE_LENGTH or not _INSTANCE_CHARACTERS.issuperset(instance):
        text = f"instance {instance!a}: a name has 1 to {MAX_INSTANCE_LENGTH} letters, digits, '_' or '-'"
        raise ValueError(text)
    return instance


def socket_path(
    instance: str = DEFAULT_INSTANCE,
    env: Mapping[str, str] = os.environ,
    *,
    platform: str = sys.platform,
    is_folder: Callable[[str], bool] = os.path.isdir,
) -> str:
    """Where the daemon listens: the first of `socket_candidates`."""
    return socket_candidates(instance, env, platform=platform, is_folder=is_folder)[0]


def socket_candidates(
    instance: str = DEFAULT_INSTANCE,
    env: Mapping[str, str] = os.environ,
    *,
    platform: str = sys.platform,
    is_folder: Callable[[str], bool] = os.path.isdir,
) -> tuple[str, ...]:
    """Every place where a daemon of this user may listen, best first, at least one.

    A daemon binds the first.  A client tries them in order, because a daemon that was started in another environment
    may have had fewer to choose from.  `$GROOVE_SOCKET` leaves no other choice.

    Raises:
        ValueError: bad name of the instance.
    """
    check_instance(instance)
    chosen = env.get("GROOVE_SOCKET", "")
    if chosen:
        return (fit_socket_path(os.path.abspath(chosen), platform=platform),)
    folders = _runtime_folders(env, platform, is_folder)
    paths = [fit_socket_path(os.path.join(folder, f"{instance}.sock"), platform=platform) for folder in folders]
    return tuple(dict.fromkeys(paths))


def _runtime_folders(env: Mapping[str, str], platform: str, is_folder: Callable[[str], bool]) -> list[str]:
    last = _fallback_folder()
    if platform == "darwin":
        temporary = _darwin_temporary_folder(env)
        return [os.path.join(temporary, "groove"), last] if temporary and is_folder(temporary) else [last]
    parents = (_absolute(env, "XDG_RUNTIME_DIR"), f"/run/user/{os.getuid()}")
    return [os.path.join(parent, "groove") for parent in parents if parent and is_folder(parent)] + [last]


def _fallback_folder() -> str:
    # Not $TMPDIR: it differs between a session and a service, and then the two sides would not meet.
    return f"/tmp/groove-{os.getuid()}"


def _darwin_temporary_folder(env: Mapping[str, str]) -> str:
    try:
        return os.confstr(_DARWIN_USER_TEMP_DIR) or ""
    except (ValueError, OSError):
        return _absolute(env, "TMPDIR")


def fit_socket_path(path: str, *, platform: str = sys.platform) -> str:
    """Return `path`, or a short path made from its hash when it is too long for a socket address.

    The short one lies in the user's own folder under `/tmp`, whose name is always short enough.
    """
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH.get(platform, MAX_SOCKET_PATH["darwin"]):
        return path
    import hashlib  # rare, and too costly for the start of the command

    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:20]
    return os.path.join(_fallback_folder(), f"{name}.sock")


def why_not_private(folder: str, *, uid: int | None = None) -> str | None:
    """Why this folder cannot be trusted to hold the socket; None when it can.

    It must be a real folder, not a link, belong to the user, and be closed to everybody else.

    Raises:
        OSError: it cannot be looked at, for example because it does not exist.
    """
    status = os.lstat(folder)
    if status.st_mode & 0o170000 != 0o040000:
        return "is not a folder"
    if status.st_uid != (os.getuid() if uid is None else uid):
        return f"belongs to user {status.st_uid}"
    if status.st_mode & 0o077:
        return f"is open to other users (mode {status.st_mode & 0o777:04o})"
    return None


def config_file(env: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> str:
    """The configuration file: `groove/config.toml` in the user's folder for configuration."""
    return os.path.join(_base(env, "XDG_CONFIG_HOME", ".config", "Application Support", platform), "config.toml")


def data_dir(
    instance: str = DEFAULT_INSTANCE, env: Mapping[str, str] = os.environ, *, platform: str = sys.platform
) -> str:
    """The folder of an instance's index.  Raises ValueError for a bad name."""
    base = _base(env, "XDG_DATA_HOME", os.path.join(".local", "share"), "Application Support", platform)
    return os.path.join(base, check_instance(instance))


def state_dir(
    instance: str = DEFAULT_INSTANCE, env: Mapping[str, str] = os.environ, *, platform: str = sys.platform
) -> str:
    """The folder for logs and other state of an instance that can be lost.  Raises ValueError for a bad name."""
    base = _base(env, "XDG_STATE_HOME", os.path.join(".local", "state"), "Logs", platform)
    return os.path.join(base, check_instance(instance))


def cache_dir(env: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> str:
    """The folder for what can be made again, such as exported models; all instances share it."""
    return _base(env, "XDG_CACHE_HOME", ".cache", "Caches", platform)


def _base(env: Mapping[str, str], variable: str, below_home: str, in_library: str, platform: str) -> str:
    chosen = _absolute(env, variable)
    if chosen:
        return os.path.join(chosen, "groove")
    if platform == "darwin":
        return os.path.join(_home(env), "Library", in_library, "groove")
    return os.path.join(_home(env), below_home, "groove")


def _home(env: Mapping[str, str]) -> str:
    home = _absolute(env, "HOME")
    if home:
        return home
    import pwd  # only when the environment says nothing

    return pwd.getpwuid(os.getuid()).pw_dir


def _absolute(env: Mapping[str, str], variable: str) -> str:
    value = env.get(variable, "")
    return value if os.path.isabs(value) else ""
