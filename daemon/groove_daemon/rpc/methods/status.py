"""Who the daemon is and how it is; what a connection wants to hear."""

import os
import time
from collections.abc import Mapping

from groove_daemon.errors import Incompatible
from groove_daemon.rpc import moments
from groove_daemon.rpc.context import CollectionState, DaemonStatus, IndexState, Latency, ModelReport
from groove_daemon.rpc.methods.base import Call
from groove_daemon.rpc.methods.index import calibration_fields
from groove_wire import messages as m
from groove_wire.methods import METHODS
from groove_wire.version import PROTOCOL_VERSION, VERSION

FEATURES = ("freshness", "within_ms", "explain", "stream", "cancel", "progress")


def hello(call: Call, request: m.HelloRequest) -> m.HelloResponse:
    """Tell each other who we are; a client of another major version gets an error and little else from then on."""
    call.session.spoken_protocol = None
    if request.protocol and request.protocol[0] != PROTOCOL_VERSION[0]:
        call.session.spoken_protocol = request.protocol
        raise incompatible(request.protocol)
    return m.HelloResponse(
        server="grooved",
        version=VERSION,
        protocol=PROTOCOL_VERSION,
        pid=os.getpid(),
        instance=call.daemon.instance,
        started_at=moments.to_text(call.daemon.started_at),
        capabilities=m.Capabilities(tuple(METHODS), FEATURES, m.EVENTS),
        limits=call.limits,
    )


def incompatible(protocol: tuple[int, ...]) -> Incompatible:
    """The error for a client whose protocol has another major number."""
    theirs = ".".join(str(part) for part in protocol)
    ours = ".".join(str(part) for part in PROTOCOL_VERSION)
    return Incompatible(
        f"the client speaks protocol {theirs}, this daemon (version {VERSION}) speaks {ours}",
        hint="install client and daemon from one release, then restart the daemon with `groovectl restart`",
    )


def ping(_call: Call, request: m.PingRequest) -> m.PingResponse:
    """Return what was sent."""
    return m.PingResponse(request.payload)


def subscribe(call: Call, request: m.SubscribeRequest) -> m.SubscriptionResponse:
    """Send these events from now on."""
    call.session.events.update(request.events)
    return _subscription(call)


def unsubscribe(call: Call, request: m.UnsubscribeRequest) -> m.SubscriptionResponse:
    """Send these events no longer."""
    call.session.events.difference_update(request.events)
    return _subscription(call)


def _subscription(call: Call) -> m.SubscriptionResponse:
    return m.SubscriptionResponse(tuple(event for event in m.EVENTS if event in call.session.events))


def status(call: Call, _request: m.StatusRequest) -> m.StatusResponse:
    """Say how the daemon is."""
    state = call.daemon.status()
    progress = state.progress
    return m.StatusResponse(
        state=state.state,
        version=VERSION,
        pid=os.getpid(),
        instance=call.daemon.instance,
        started_at=moments.to_text(call.daemon.started_at),
        uptime_s=max(0.0, time.time() - call.daemon.started_at),
        index=_index_fields(state.index),
        progress=m.ProgressFields(
            progress.phase, progress.done, progress.total, progress.rate_per_s, progress.eta_s, progress.collection
        ),
        collections=tuple(collection_fields(collection) for collection in state.collections),
        models=tuple(_model_fields(model) for model in state.models),
        connections=call.connections,
        counters={**state.counters, **call.meter.counters()},
        latency=_latency_fields(state, call.meter.latencies()),
        problems=state.problems,
        calibration=None if state.calibration is None else calibration_fields(state.calibration),
        memory_bytes=state.memory_bytes,
        socket=state.socket,
        config_file=state.config_file,
    )


def _index_fields(index: IndexState) -> m.IndexFields:
    return m.IndexFields(
        path=index.path,
        generation=index.generation,
        documents=index.documents,
        chunks=index.chunks,
        vectors=index.vectors,
        pending_vectors=index.pending_vectors,
        unembeddable=index.unembeddable,
        size_bytes=index.size_bytes,
    )


def collection_fields(collection: CollectionState) -> m.CollectionFields:
    """A collection as it travels."""
    reconciled = collection.last_reconcile_at
    return m.CollectionFields(
        name=collection.name,
        root=collection.root,
        source=collection.source,
        documents=collection.documents,
        chunks=collection.chunks,
        pending=collection.pending,
        failed=collection.failed,
        skipped=collection.skipped,
        is_watched=collection.is_watched,
        unwatched_folders=collection.unwatched_folders,
        problems=collection.problems,
        last_reconcile_at=None if reconciled is None else moments.to_text(reconciled),
    )


def _model_fields(model: ModelReport) -> m.ModelFields:
    return m.ModelFields(
        role=model.role,
        name=model.name,
        state=model.state,
        reason=model.reason or None,
        runtime=model.runtime,
        fingerprint=model.fingerprint,
        dimension=model.dimension,
        loaded_in_s=model.loaded_in_s,
        next_try_in_s=model.next_try_in_s,
    )


def _latency_fields(state: DaemonStatus, of_requests: Mapping[str, Latency]) -> dict[str, m.LatencyFields]:
    every = {**state.latency, **of_requests}
    return {
        name: m.LatencyFields(latency.count, latency.p50_ms, latency.p95_ms, latency.p99_ms)
        for name, latency in sorted(every.items())
    }
