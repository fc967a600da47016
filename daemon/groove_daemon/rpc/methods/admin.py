"""Configuration, collections, and the end of the daemon."""

import os

from groove_daemon.rpc.context import NewCollection
from groove_daemon.rpc.methods.base import Call
from groove_daemon.rpc.methods.status import collection_fields
from groove_wire import messages as m


def config(call: Call, request: m.ConfigRequest) -> m.ConfigResponse:
    """Return the configuration in effect, after reading the file again if asked to."""
    view = call.daemon.reload_config() if request.reload else call.daemon.config()
    values = tuple(m.ConfigValue(value.key, value.value, value.origin) for value in view.values)
    return m.ConfigResponse(values, view.file, view.changed, view.needs_restart)


def collections(call: Call, _request: m.CollectionsRequest) -> m.CollectionsResponse:
    """List the collections."""
    return m.CollectionsResponse(tuple(collection_fields(state) for state in call.daemon.collections()))


def add_collection(call: Call, request: m.AddCollectionRequest) -> m.AddCollectionResponse:
    """Watch one more folder."""
    new = NewCollection(request.path, request.name, request.source, request.ignore)
    added = call.daemon.add_collection(new)
    return m.AddCollectionResponse(added.name, added.root)


def remove_collection(call: Call, request: m.RemoveCollectionRequest) -> m.RemoveCollectionResponse:
    """Forget a folder."""
    return m.RemoveCollectionResponse(request.name, call.daemon.remove_collection(request.name))


def shutdown(call: Call, _request: m.ShutdownRequest) -> m.ShutdownResponse:
    """Begin to stop; the response is on its way before the socket closes."""
    call.daemon.request_shutdown()
    return m.ShutdownResponse(os.getpid())
