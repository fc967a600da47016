"""Where this daemon keeps its things; paths only, nothing is made here."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from groove_daemon.errors import ConfigError
from groove_wire import paths


@dataclass(frozen=True, slots=True)
class Places:
    """Absolute paths of one instance.

    `config` is the configuration file, which need not exist unless it `is_config_named` by the user.
    """

    instance: str
    config: Path
    is_config_named: bool
    data: Path
    state: Path
    cache: Path
    socket: str

    @property
    def index(self) -> Path:
        """The index file."""
        return self.data / "index.db"

    @property
    def snapshots(self) -> Path:
        """The folder of copies of the index."""
        return self.data / "snapshots"

    @property
    def config_to_read(self) -> Path | None:
        """The configuration file if there is one to read; a named one must exist."""
        return self.config if self.is_config_named or self.config.exists() else None


def find_places(
    *,
    instance: str | None = None,
    config: str | None = None,
    socket: str | None = None,
    env: Mapping[str, str] = os.environ,
) -> Places:
    """Work out all paths from flags and environment.

    Raises:
        ConfigError: the instance's name cannot be part of a file name.
    """
    name = instance or env.get("GROOVE_INSTANCE") or "default"
    named = config or env.get("GROOVE_CONFIG")
    try:
        return Places(
            instance=paths.check_instance(name),
            config=Path(os.path.abspath(os.path.expanduser(named))) if named else Path(paths.config_file(env)),
            is_config_named=bool(named),
            data=Path(paths.data_dir(name, env)),
            state=Path(paths.state_dir(name, env)),
            cache=Path(paths.cache_dir(env)),
            socket=paths.fit_socket_path(os.path.abspath(socket)) if socket else paths.socket_path(name, env),
        )
    except ValueError as error:
        raise ConfigError(str(error)) from error
