"""One run of the daemon, from the first line of the log to the last.

Read from top to bottom it is the life of the process: become the one owner of the socket, open the index, serve, begin
to watch and index, wait, and take everything down in the reverse order.  Clients that come before the socket is served
wait in its queue, so nobody is refused in between.
"""

import gc
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack

import structlog

from groove_daemon.app.daemon import EarlyParts, GrooveDaemon, configure_logs, read_config_of
from groove_daemon.app.places import Places
from groove_daemon.app.stopping import Stopping
from groove_daemon.config.settings import Settings
from groove_daemon.errors import GrooveError
from groove_daemon.models.host import ModelHost, ScorerHost
from groove_daemon.rpc.dispatch import Dispatcher, Pools
from groove_daemon.rpc.listener import Listener, listen
from groove_daemon.rpc.server import Server, ServerLimits, ServerThread
from groove_daemon.service.notify import Notifier
from groove_daemon.store.index import Index
from groove_daemon.workers import Workers

log = structlog.get_logger()

# Together they stay under the five seconds that a stop may take.
_DRAIN_S, _LATE_STOP_S = 1.5, 2.5
# How long a thread that computes may keep others waiting.  A search takes turns with full text some ten times, and with
# the usual five milliseconds it would wait for an indexing thread at each of them.
_SWITCH_S = 0.0005
# After so long the loop that serves all clients counts as hanging; its turns take milliseconds.
_LONGEST_TURN_S = 5.0
CRASHED = 1


def run(places: Places, *, flags: Mapping[str, str], env: Mapping[str, str] = os.environ) -> int:
    """Run a daemon until it is told to stop; returns the exit code.

    Raises:
        ConfigError: the configuration or the socket's place is wrong.
        AlreadyRunning: another daemon serves this instance.
        StoreError: the index cannot be opened.
    """
    started_at = time.time()
    sys.setswitchinterval(_SWITCH_S)
    loaded = read_config_of(places, env, flags)
    configure_logs(loaded.settings.log)
    for warning in loaded.warnings:
        log.warning("config.warning", text=warning)
    notifier = Notifier(env)
    with ExitStack() as stack:
        stopping = Stopping()
        stack.callback(stopping.close)
        stopping.listen_to_signals()
        listener = listen(places.socket)
        stack.callback(listener.release)
        parts = _open(loaded.settings, places, stack)
        daemon = GrooveDaemon(
            loaded,
            read_config=lambda: read_config_of(places, env, flags),
            places=places,
            parts=parts,
            stop=stopping.request,
            started_at=started_at,
        )
        server = _serve(daemon, loaded.settings, listener, stack)
        log.info("daemon.serving", pid=os.getpid(), socket=listener.path, took_ms=_ms_since(started_at))
        notifier.ready("serving")
        gc.freeze()
        gc.enable()
        late = threading.Thread(target=_start_late, args=(daemon, parts.models, stopping), name="start", daemon=True)
        late.start()
        stopping.wait(notifier, reload=lambda: _reload(daemon), is_serving=lambda: server.is_turning(_LONGEST_TURN_S))
        notifier.stopping()
        log.info("daemon.stopping")
        daemon.begin_stop()
        server.stop(_DRAIN_S)
        late.join(_LATE_STOP_S)
        daemon.end_late(_LATE_STOP_S)
    log.info("daemon.stopped")
    return stopping.exit_code


def _open(settings: Settings, places: Places, stack: ExitStack) -> EarlyParts:
    """What must be there before the first answer: the index, and the models' hosts, which load nothing yet."""
    index = Index.open(places.index, resident=settings.vectors.resident)
    stack.callback(index.close)
    models = ModelHost(settings.models, cache_dir=places.cache)
    stack.callback(models.close)
    scorers = ScorerHost(settings.models, cache_dir=places.cache)
    stack.callback(scorers.close)
    legs = Workers("legs", threads=settings.limits.readers, max_waiting=settings.limits.readers)
    stack.callback(legs.close)
    return EarlyParts(index, models, scorers, legs)


def _serve(daemon: GrooveDaemon, settings: Settings, listener: Listener, stack: ExitStack) -> ServerThread:
    """Begin to answer requests."""
    limits = ServerLimits(connections=settings.limits.connections, in_flight=settings.limits.in_flight)
    waiting = limits.connections * limits.in_flight
    pools = Pools(
        readers=Workers("reader", threads=settings.limits.readers, max_waiting=waiting),
        control=Workers("control", threads=2, max_waiting=waiting),
        waiting=Workers("waiting", threads=8, max_waiting=waiting),
    )
    for pool in (pools.readers, pools.control, pools.waiting):
        stack.callback(pool.close)

    def make() -> Server:
        dispatcher = Dispatcher(
            daemon, pools=pools, limits=limits.to_wire(), request_timeout_s=settings.limits.request_timeout
        )
        daemon.tell(dispatcher.publish)
        return Server(dispatcher, listener=listener, limits=limits)

    server = ServerThread(make)
    server.start()
    return server


def _start_late(daemon: GrooveDaemon, models: ModelHost, stopping: Stopping) -> None:
    """What may come after the first answer, one after the other, so that little competes with that answer."""
    is_known = False
    try:
        daemon.start_late()
        is_known = True
    except GrooveError as error:
        log.error("daemon.no_indexing", reason=str(error))
        daemon.could_not_start(str(error))
        is_known = True
    finally:
        # A daemon that answers and never indexes is worse than none, which the service manager starts again.
        if not is_known:
            stopping.request(exit_code=CRASHED)
    # Loading the library of the models keeps all other threads from running for a tenth of a second.
    models.start()


def _reload(daemon: GrooveDaemon) -> None:
    try:
        daemon.reload_config()
    except GrooveError as error:
        log.error("config.not_reloaded", reason=str(error))


def _ms_since(moment: float) -> float:
    return round((time.time() - moment) * 1000, 1)
