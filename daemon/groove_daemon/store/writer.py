"""The write side of the index: all its parts on one connection."""

from groove_daemon.store.accesses import AccessWriter
from groove_daemon.store.documents import DocumentWriter
from groove_daemon.store.embeddings import EmbeddingWriter
from groove_daemon.store.failures import FailureWriter
from groove_daemon.store.maintenance import MaintenanceWriter
from groove_daemon.store.state import CollectionWriter


class Writer(CollectionWriter, DocumentWriter, EmbeddingWriter, FailureWriter, AccessWriter, MaintenanceWriter):
    """Everything that changes the index.  One thread at a time; a second one waits."""
