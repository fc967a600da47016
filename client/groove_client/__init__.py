"""The client of Groove: a library, and the command `groovectl`.

    from groove_client import Client

    with Client.connect() as groove:
        for hit in groove.search("how do gulls find food").results:
            ...

Names are loaded at first use, because the command imports this package and must start at once.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from groove_client.aio import AsyncClient
    from groove_client.client import Client
    from groove_client.errors import (
        ClientError,
        DaemonIncompatible,
        DaemonNotResponding,
        DaemonNotRunning,
        RequestFailed,
    )

__all__ = [
    "AsyncClient",
    "Client",
    "ClientError",
    "DaemonIncompatible",
    "DaemonNotResponding",
    "DaemonNotRunning",
    "RequestFailed",
]


def __getattr__(name: str) -> object:
    if name == "Client":
        from groove_client.client import Client

        return Client
    if name == "AsyncClient":
        from groove_client.aio import AsyncClient

        return AsyncClient
    if name in __all__:
        from groove_client import errors

        return vars(errors)[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
