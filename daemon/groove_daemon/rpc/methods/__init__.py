"""The table of handlers: method name to function and lane.

What always holds: it has exactly the methods of `groove_wire.methods`.
"""

from collections.abc import Mapping

from groove_daemon.rpc.methods import admin, best_practice, index, search, similar, status
from groove_daemon.rpc.methods.base import Handler, Lane

HANDLERS: Mapping[str, Handler] = {
    "hello": Handler(status.hello, Lane.LOOP),
    "ping": Handler(status.ping, Lane.LOOP),
    "search": Handler(search.search, Lane.READER),
    "get_document": Handler(search.get_document, Lane.READER),
    "get_chunk": Handler(search.get_chunk, Lane.READER),
    "similar": Handler(similar.similar, Lane.READER),
    "get_best_practice": Handler(best_practice.get_best_practice, Lane.READER),
    "list_documents": Handler(search.list_documents, Lane.READER),
    "list_topics": Handler(index.list_topics, Lane.READER),
    "status": Handler(status.status, Lane.CONTROL),
    "failures": Handler(index.failures, Lane.CONTROL),
    "reindex": Handler(index.reindex, Lane.WAITING),
    "calibrate": Handler(index.calibrate, Lane.WAITING),
    "wait_fresh": Handler(index.wait_fresh, Lane.WAITING),
    "subscribe": Handler(status.subscribe, Lane.LOOP),
    "unsubscribe": Handler(status.unsubscribe, Lane.LOOP),
    "config": Handler(admin.config, Lane.CONTROL),
    "collections": Handler(admin.collections, Lane.CONTROL),
    "add_collection": Handler(admin.add_collection, Lane.CONTROL),
    "remove_collection": Handler(admin.remove_collection, Lane.WAITING),
    "shutdown": Handler(admin.shutdown, Lane.LOOP),
}
