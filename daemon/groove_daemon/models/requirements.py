"""Which packages are installed, found out without importing them."""

import importlib.util

from groove_daemon.errors import ModelUnavailable

_INSTALL = {"torch": "torch", "sentence_transformers": "sentence-transformers", "onnx": "onnx"}


def require(*packages: str) -> None:
    """Check that packages could be imported.

    Raises:
        ModelUnavailable: one is missing; the hint says how to install all that are.
    """
    importlib.invalidate_caches()
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        names = " ".join(_INSTALL[package] for package in missing)
        raise ModelUnavailable(
            f"the model needs {' and '.join(missing)} here, and {'it is' if len(missing) == 1 else 'they are'} "
            "not installed",
            hint=f"run: pip install {names}",
            missing=missing,
        )


def installed_versions(*distributions: str) -> dict[str, str]:
    """The versions of distributions; an empty text for one that is not installed."""
    return {name: _version(name) for name in distributions}


def _version(distribution: str) -> str:
    # Imported late: it costs as much as all other models' code, and the start of the daemon never asks.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""
