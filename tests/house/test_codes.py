"""The daemon's errors and the codes of the wire are one closed table."""

from groove_daemon import errors
from groove_daemon.rpc.listener import AlreadyRunning  # noqa: F401  (a subclass must not bring a code of its own)
from groove_wire.codes import ErrorCode


def all_errors(root=errors.GrooveError):
    yield root
    for child in root.__subclasses__():
        yield from all_errors(child)


def test_codes_of_the_daemon_equal_the_codes_of_the_wire():
    of_daemon = {error.code for error in all_errors()}

    assert of_daemon == {code.name_on_wire for code in ErrorCode}


def test_codes_keep_their_numbers():
    """A number that was once on the wire never changes its meaning."""
    numbers = {code.name_on_wire: int(code) for code in ErrorCode}
    known = {
        "internal": 1,
        "config.invalid": 100,
        "index.schema_too_new": 200,
        "index.corrupt": 201,
        "index.locked": 202,
        "index.embedder_mismatch": 203,
        "index.full": 204,
        "document.not_indexed": 300,
        "document.outside_roots": 301,
        "document.unsupported": 302,
        "document.unparseable": 303,
        "model.loading": 400,
        "model.unavailable": 401,
        "request.unknown_method": 500,
        "request.invalid_params": 501,
        "request.bad_query": 502,
        "request.too_large": 503,
        "request.cancelled": 504,
        "request.bad_frame": 505,
        "request.incompatible": 506,
        "request.forbidden": 507,
        "daemon.busy": 600,
        "daemon.deadline": 601,
        "daemon.shutting_down": 602,
    }

    assert known.items() <= numbers.items()
