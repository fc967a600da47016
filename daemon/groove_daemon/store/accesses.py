"""Which passages were returned, how often and when last."""

from collections.abc import Sequence

from groove_daemon.domain.document import ChunkId
from groove_daemon.store.connection import int_array
from groove_daemon.store.state import WriteSide

_COUNT = """
    INSERT INTO accesses
    SELECT embed_key, count(*), ?1 FROM chunks WHERE chunk_id IN (SELECT value FROM carray(?2)) GROUP BY embed_key
    ON CONFLICT (embed_key) DO UPDATE SET count = count + excluded.count, last_at = max(last_at, excluded.last_at)
"""


class AccessWriter(WriteSide):
    """The use of passages."""

    def record_accesses(self, chunk_ids: Sequence[ChunkId], *, now: float) -> None:
        """Count that these chunks were returned; chunks that are gone by now are passed over.

        Args:
            chunk_ids: each once.
            now: seconds since the epoch.
        """
        with self._write(is_visible=False):
            self.database.run(_COUNT, (now, int_array(chunk_ids)))
