"""Where the templates of units and property lists are: in the source tree, or in the shared data of an installation."""

import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from groove_daemon.errors import GrooveError


def read_template(folder: str, name: str) -> str:
    """Return the text of a template, for example `("systemd", "groove.service.in")`.

    Raises:
        GrooveError: it is nowhere; the installation is incomplete.
    """
    places = [place / folder / name for place in _places()]
    for path in places:
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise GrooveError(
        f"there is no {name} in {', '.join(str(path.parent) for path in places)}", hint="reinstall groove"
    )


def _places() -> Iterator[Path]:
    # The tree first: the copy that an editable install makes does not follow later changes.
    yield Path(__file__).resolve().parents[3]
    for scheme in (sysconfig.get_default_scheme(), f"{os.name}_user"):
        yield Path(sysconfig.get_path("data", scheme)) / "share" / "groove"
