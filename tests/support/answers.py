"""Answers of the daemon as they travel, for tests of what clients make of them."""

from typing import Any

CONTENT = "Rust has tasks.\nThe async runtime cancels a task.\nThen nothing."


def make_hit(number: int = 1, **fields: Any) -> dict[str, Any]:
    """A hit whose second line matches `async`."""
    path = fields.get("path", f"rust/note {number}.md")
    hit = {
        "id": number,
        "score": 0.0325,
        "collection": "notes",
        "path": path,
        "absolute_path": f"/home/ada/notes/{path}",
        "title": f"Async {number}",
        "heading": "Cancelling",
        "heading_path": [f"Async {number}", "Tasks", "Cancelling"],
        "tags": ["rust"],
        "format": "md",
        "line_start": 10,
        "line_end": 12,
        "content": CONTENT,
        "match_spans": [{"start": 20, "end": 25}],
        "match_lines": [11],
        "uri": f"file:///home/ada/notes/rust/note%20{number}.md",
    }
    return hit | fields


def make_answer(*hits: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The answer of a search without anything to remark on."""
    answer = {
        "results": list(hits),
        "low_confidence": False,
        "filter_applied": {},
        "mode": "hybrid",
        "degraded": [],
        "warnings": [],
        "generation": 7,
        "fresh": True,
        "pending_vectors": 0,
        "profile": "notes",
        "took_ms": 4.2,
    }
    return answer | fields


def make_status(**fields: Any) -> dict[str, Any]:
    """The status of a daemon that has nothing to do."""
    collection = {
        "name": "notes",
        "root": "/home/ada/notes",
        "source": "workspace",
        "documents": 12,
        "chunks": 80,
        "pending": 0,
        "failed": 0,
        "skipped": 2,
        "is_watched": True,
        "unwatched_folders": [],
        "problems": [],
    }
    status = {
        "state": "ready",
        "version": "0.1.0",
        "pid": 4711,
        "instance": "default",
        "started_at": "2026-03-01T12:00:00+00:00",
        "uptime_s": 11520.0,
        "index": {
            "path": "/home/ada/.local/share/groove/default/index.db",
            "generation": 7,
            "documents": 12,
            "chunks": 80,
            "vectors": 79,
            "pending_vectors": 0,
            "unembeddable": 1,
            "size_bytes": 1572864,
        },
        "progress": {"phase": "idle", "done": 0, "total": 0},
        "collections": [collection],
        "models": [{"role": "embedder", "name": "mini", "state": "ready", "runtime": "onnx", "loaded_in_s": 0.4}],
        "connections": 1,
        "counters": {"search": 3},
        "latency": {"request.search": {"count": 3, "p50_ms": 8.0, "p95_ms": 12.5, "p99_ms": 13.0}},
        "problems": [],
        "memory_bytes": 262144000,
        "socket": "/run/user/1000/groove/default.sock",
    }
    return status | fields
