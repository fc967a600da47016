"""Watches the collections' folders; the only module that imports watchdog.

What always holds: an event becomes a hint for every path it names and is not interpreted; no file is opened and none is
looked at on the way; a barrier never says that it is complete when a watcher is dead, deaf, or blind to a folder.
A folder is watched under its resolved path and named under the configured one.
"""

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog
from watchdog.events import (
    DirAttribEvent,
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileAttribEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers.api import BaseObserver, ObservedWatch

from groove_daemon.config.settings import CollectionSettings, WatchSettings
from groove_daemon.domain.change import PathHint
from groove_daemon.domain.clock import Clock, SystemClock
from groove_daemon.indexing.folder import collection_name, root_of
from groove_daemon.indexing.ignore import COOKIE_PREFIX
from groove_daemon.indexing.paths import spell
from groove_daemon.indexing.scan import RootIdentity, RootUnavailable, identify
from groove_daemon.watching.cookie import CookieJar

log = structlog.get_logger()

OnHint = Callable[[Sequence[PathHint]], None]

# Opens and reads are left out, so that our own reads, and anybody's, wake nothing.  A change of mode is asked for
# because it can make a file or folder readable.
_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent, FileModifiedEvent, FileClosedEvent, FileMovedEvent, FileDeletedEvent, FileAttribEvent,
    DirCreatedEvent, DirMovedEvent, DirDeletedEvent, DirAttribEvent,
]  # fmt: skip

_NOT_YET = "not watched yet"
_PROVE_EVERY_S = 300.0
_PROOF_WITHIN_S = 3.0


@dataclass(frozen=True, slots=True)
class BarrierReport:
    """Whether every change that was complete before the barrier has been hinted; `reason` says why not."""

    complete: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CollectionHealth:
    """How one collection is watched: `reason` says why not; `unwatched` has the folders that are not, each with why."""

    name: str
    root: str
    is_watched: bool
    reason: str
    unwatched: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class WatchHealth:
    """The watcher as a whole; `is_healthy` when every thread lives and every folder is watched."""

    is_healthy: bool
    reason: str
    collections: tuple[CollectionHealth, ...]


@dataclass(slots=True, eq=False)
class _Watch:
    """One collection as it is watched; `observed` is None while it is not."""

    name: str
    root: str
    jar: CookieJar
    identity: RootIdentity | None = None
    observed: ObservedWatch | None = None
    problem: str = _NOT_YET
    unwatched: dict[bytes, str] = field(default_factory=dict)

    @property
    def real(self) -> bytes:
        """The root with links resolved."""
        return os.fsencode(self.jar.folder)

    def relative(self, path: bytes | str) -> bytes | None:
        """A path of an event relative to the root; None for one outside."""
        raw = os.fsencode(path)
        if raw == self.real:
            return b""
        return raw[len(self.real) + 1 :] if raw.startswith(self.real + b"/") else None


class _Handler(FileSystemEventHandler):
    """Turns the events of one collection into hints, on watchdog's dispatching thread."""

    def __init__(self, watch: _Watch, on_hint: OnHint, clock: Clock) -> None:
        self._watch = watch
        self._on_hint = on_hint
        self._clock = clock

    def dispatch(self, event: FileSystemEvent) -> None:
        """One hint for each path that the event names; a cookie goes into its jar."""
        paths = [self._watch.relative(path) for path in (event.src_path, event.dest_path) if path]
        named = [path for path in paths if path is not None]
        if any(path.startswith(COOKIE_PREFIX.encode()) for path in named):
            if isinstance(event, FileCreatedEvent):
                self._watch.jar.arrived(os.fsdecode(named[0]))
            return
        now = self._clock.monotonic()
        self._on_hint([PathHint(self._watch.name, spell(path), now, subtree=event.is_directory) for path in named])


if sys.platform == "linux":
    import errno

    from watchdog.observers.inotify import InotifyEmitter
    from watchdog.observers.inotify_c import CallbackId, InotifyEvent, InotifyFD, Mask, WatchCallback, WatchDescriptor
    from watchdog.observers.inotify_move_event_grouper import InotifyMoveEventGrouper

    # A folder that leaves and comes back under another name keeps its watch; watchdog warns of that, at length.
    warnings.filterwarnings("ignore", message="Callback with id", category=RuntimeWarning)

    # Half of a move is held back, and all events behind it, in the hope that the other half follows.  The kernel writes
    # both halves together; half a second would delay each barrier after a file that left the folder by as much.
    InotifyMoveEventGrouper.delay = 0.01

    _SETTING = {
        errno.ENOSPC: "the limit of watches is reached; raise fs.inotify.max_user_watches",
        errno.EMFILE: "the limit of watchers is reached; raise fs.inotify.max_user_instances",
        errno.EACCES: "permission denied",
    }

    class _Inotify(InotifyFD):
        """The kernel's queue of events, with what watchdog itself keeps to itself: failed watches and lost events."""

        def __init__(self, on_unwatched: Callable[[bytes, str], None], on_lost: Callable[[], None]) -> None:
            super().__init__()
            self._on_unwatched = on_unwatched
            self._on_lost = on_lost

        def add_callback(self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId) -> WatchDescriptor:
            try:
                watch = super().add_callback(path, mask, callback, id_)
                if watch == -1:
                    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            except OSError as error:
                if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                    self._on_unwatched(path, _SETTING.get(error.errno or 0, error.strerror or "cannot be watched"))
                raise
            return watch

        def handle_event(self, event: InotifyEvent) -> None:
            super().handle_event(event)
            if event.is_queue_overflow:
                self._on_lost()

    class _Probe:
        """A callback that wants to know nothing but whether a watch can be had."""

        def on_event(self, event: InotifyEvent) -> None:
            """Nothing."""

        def on_watch_deleted(self, wd: WatchDescriptor) -> None:
            """Nothing."""

        def on_queue_overflow(self) -> None:
            """Nothing."""

    class _Backend:
        """watchdog on Linux: one queue of the kernel for all collections."""

        def __init__(self, on_unwatched: Callable[[bytes, str], None], on_lost: Callable[[], None]) -> None:
            self._inotify = _Inotify(on_unwatched, on_lost)
            self._inotify.start()
            self.observer = BaseObserver(InotifyEmitter, inotify_fd=self._inotify)
            self.observer.start()

        @property
        def is_alive(self) -> bool:
            """Whether its threads live."""
            return self._inotify.is_alive() and self.observer.is_alive()

        def can_watch(self, folder: bytes) -> bool:
            """Whether a watch that could not be had before can be had now."""
            probe = _Probe()
            key = CallbackId(id(probe))
            try:
                watch = InotifyFD.add_callback(self._inotify, folder, Mask(0x400), probe, key)
            except OSError:
                return False
            if watch == -1:
                return False
            self._inotify.remove_callbacks([(watch, key)])
            return True

        def stop(self) -> None:
            """End all threads."""
            self.observer.stop()
            self.observer.join()
            self._inotify.stop()
            self._inotify.join()

else:
    from watchdog.observers import Observer

    class _Backend:
        """watchdog elsewhere: the platform's own recursive watcher, which knows no limit of folders."""

        def __init__(self, on_unwatched: Callable[[bytes, str], None], on_lost: Callable[[], None]) -> None:
            del on_unwatched, on_lost
            self.observer: BaseObserver = Observer()
            self.observer.start()

        @property
        def is_alive(self) -> bool:
            """Whether its thread lives."""
            return self.observer.is_alive()

        def can_watch(self, folder: bytes) -> bool:
            """Whether a folder could be watched now."""
            return os.access(folder, os.R_OK | os.X_OK)

        def stop(self) -> None:
            """End all threads."""
            self.observer.stop()
            self.observer.join()


class Watcher:
    """Watches folders and hints at what happens in them.

    Args:
        settings: whether to watch, and what proves freshness.
        collections: the folders.
        on_hint: takes hints; called from several threads, has to be quick and must not raise.
        clock: time.
    """

    def __init__(
        self,
        settings: WatchSettings,
        collections: Sequence[CollectionSettings],
        *,
        on_hint: OnHint,
        clock: Clock | None = None,
    ) -> None:
        self._settings = settings
        self._on_hint = on_hint
        self._clock = clock or SystemClock()
        self._lock = threading.RLock()
        self._backend: _Backend | None = None
        self._reason = "watching is off" if not settings.enabled else "not started"
        self._is_stopped = False
        self._watches = self._make_watches(collections)

    def start(self) -> None:
        """Watch every collection; what cannot be watched is reported by `health` and tried again by `probe`."""
        for watch in self._watches.values():
            watch.jar.sweep_out()
        if self._settings.enabled:
            self.probe()

    def stop(self) -> None:
        """End watching."""
        with self._lock:
            self._is_stopped = True
            backend, self._backend = self._backend, None
            self._reason = "stopped"
        if backend:
            backend.stop()

    def set_collections(self, collections: Sequence[CollectionSettings]) -> None:
        """Change what is watched; call it before the index worker is told, so that its scan sees what follows."""
        with self._lock:
            wanted = self._make_watches(collections)
            for name, watch in self._watches.items():
                if name in wanted and wanted[name].root == watch.root:
                    wanted[name] = watch
                else:
                    self._unwatch(watch, "removed")
            self._watches = wanted
        if self._settings.enabled:
            self.probe()

    def barrier(self, collections: Iterable[str] = (), *, deadline: float) -> BarrierReport:
        """Wait until every change that was complete before this call has been hinted.

        Where cookies cannot serve, the folder itself is hinted, which makes the worker look at every file in it.

        Args:
            collections: which, all when empty.
            deadline: monotonic seconds of the watcher's clock.
        """
        if self._settings.barrier == "none":
            return BarrierReport(False, 'freshness is not made sure of (barrier = "none")')
        watches = dict(self._watches)
        reasons = []
        for name in tuple(collections) or tuple(watches):
            watch = watches.get(name)
            reason = self._pass_barrier(watch, deadline) if watch else f"there is no collection {name}"
            reasons += [reason] if reason else []
        return BarrierReport(not reasons, reasons[0] if reasons else "")

    def health(self) -> WatchHealth:
        """How it is, without waiting and without touching the disk."""
        found = []
        for watch in list(self._watches.values()):
            reason = self._blindness(watch)
            unwatched = {spell(watch.relative(path) or b""): why for path, why in list(watch.unwatched.items())}
            found.append(CollectionHealth(watch.name, watch.root, not reason, reason, unwatched))
        is_healthy = not self._reason and all(one.is_watched and not one.unwatched for one in found)
        return WatchHealth(is_healthy, self._reason, tuple(found))

    def probe(self) -> None:
        """Put right what is wrong: dead threads, roots that came back or were replaced, folders without a watch.

        To be called every few seconds; costs next to nothing when all is well.
        """
        with self._lock:
            if self._is_stopped or not self._settings.enabled or not self._ensure_backend():
                return
            watches = list(self._watches.values())
            for watch in watches:
                self._mend(watch)
        for watch in watches:
            self._prove(watch)

    # -- one collection ----------------------------------------------------------------------------------------------

    def _pass_barrier(self, watch: _Watch, deadline: float) -> str:
        """Why the barrier of one collection is not complete; empty when it is."""
        if self._settings.barrier == "sweep":
            self._hint_all(watch)
            return ""
        if reason := self._blindness(watch) or self._replaced(watch):
            self._hint_all(watch)
            return reason
        try:
            if not watch.jar.wait(deadline):
                return f"the watcher of {watch.name} has not caught up in time"
        except OSError:
            # The folder cannot be written: looking at every file proves the same.
            self._hint_all(watch)
            return ""
        if unwatched := dict(watch.unwatched):
            first = spell(watch.relative(min(unwatched)) or b"")
            self._hint(watch, [spell(watch.relative(path) or b"") for path in unwatched])
            return f"{len(unwatched)} folders of {watch.name} are not watched: {first} ({unwatched[min(unwatched)]})"
        return self._blindness(watch)

    def _blindness(self, watch: _Watch) -> str:
        """Why events of a collection do not come, as far as is known; empty when they do."""
        if self._reason:
            return self._reason
        backend, observed = self._backend, watch.observed
        if observed is None or backend is None:
            return f"{watch.name} is not watched: {watch.problem}"
        if not backend.is_alive or not _is_alive(backend.observer, observed):
            return f"the watcher of {watch.name} is dead and is being restarted"
        return ""

    def _replaced(self, watch: _Watch) -> str:
        try:
            is_same = identify(watch.root) == watch.identity
        except RootUnavailable as error:
            return error.message
        return "" if is_same else f"the folder of {watch.name} was replaced and is not watched yet"

    def _mend(self, watch: _Watch) -> None:
        try:
            identity = identify(watch.root)
        except RootUnavailable as error:
            if watch.observed or watch.problem != error.message:
                self._unwatch(watch, error.message)
                self._hint_all(watch)
            return
        if self._blindness(watch) or identity != watch.identity or self._can_watch_more(watch):
            self._rewatch(watch, identity)

    def _prove(self, watch: _Watch) -> None:
        """Send a cookie through a watcher that is suspected to be deaf, or was not proved for long."""
        if self._settings.barrier != "cookie" or self._blindness(watch):
            return
        since = self._clock.monotonic() - (watch.jar.arrived_at or 0.0)
        if not watch.jar.suspect and watch.jar.arrived_at is not None and since < _PROVE_EVERY_S:
            return
        try:
            is_deaf = not watch.jar.wait(self._clock.monotonic() + _PROOF_WITHIN_S)
        except OSError:
            return
        if is_deaf and watch.identity:
            log.warning("watching.deaf", collection=watch.name)
            with self._lock:
                if self._watches.get(watch.name) is watch and not self._is_stopped:
                    self._rewatch(watch, watch.identity)

    def _rewatch(self, watch: _Watch, identity: RootIdentity) -> None:
        """Watch a root from scratch, and then have it compared, because events may have been missed."""
        backend = self._backend
        if backend is None:
            return
        before = watch.problem
        self._unwatch(watch, "")
        watch.jar.folder = os.path.realpath(watch.root)
        handler = _Handler(watch, self._on_hint, self._clock)
        try:
            watch.observed = backend.observer.schedule(handler, watch.jar.folder, recursive=True, event_filter=_EVENTS)
        except OSError as error:
            watch.problem = watch.unwatched.get(watch.real) or error.strerror or "cannot be watched"
            watch.unwatched.clear()
            if watch.problem != before:
                log.warning("watching.failed", collection=watch.name, reason=watch.problem)
            return
        watch.identity = identity
        log.info("watching.started", collection=watch.name, unwatched=len(watch.unwatched))
        # The first time the worker scans by itself, after this.
        if before != _NOT_YET:
            self._hint_all(watch)

    def _unwatch(self, watch: _Watch, problem: str) -> None:
        backend, observed = self._backend, watch.observed
        watch.observed, watch.problem = None, problem
        watch.unwatched.clear()
        if backend and observed:
            backend.observer.unschedule(observed)

    def _can_watch_more(self, watch: _Watch) -> bool:
        """Whether a folder without a watch could have one now; those that are gone are forgotten."""
        backend = self._backend
        for path in list(watch.unwatched):
            if not os.path.isdir(path):
                watch.unwatched.pop(path, None)
        one_for_each_reason = {reason: path for path, reason in list(watch.unwatched.items())}
        return backend is not None and any(backend.can_watch(path) for path in one_for_each_reason.values())

    # -- all collections ---------------------------------------------------------------------------------------------

    def _ensure_backend(self) -> bool:
        """Have living threads; after a death every collection is watched anew."""
        if self._backend and self._backend.is_alive:
            return True
        if self._backend:
            log.error("watching.died")
            self._backend.stop()
        for watch in self._watches.values():
            watch.observed = None
        try:
            self._backend = _Backend(self._note_unwatched, self._note_lost)
        except OSError as error:
            self._backend = None
            self._reason = f"watching is not possible: {error.strerror}"
            log.error("watching.impossible", reason=self._reason)
            return False
        self._reason = ""
        return True

    def _note_unwatched(self, path: bytes, reason: str) -> None:
        for watch in list(self._watches.values()):
            if watch.relative(path) is not None:
                watch.unwatched[path] = reason
                log.warning("watching.folder_unwatched", collection=watch.name, path=ascii(path), reason=reason)

    def _note_lost(self) -> None:
        """The kernel dropped events: have everything compared, which also answers whoever waits for a cookie."""
        log.warning("watching.events_lost")
        for watch in list(self._watches.values()):
            self._hint_all(watch)
            watch.jar.release()

    def _hint_all(self, watch: _Watch) -> None:
        self._hint(watch, [""])

    def _hint(self, watch: _Watch, folders: Iterable[str]) -> None:
        now = self._clock.monotonic()
        self._on_hint([PathHint(watch.name, folder, now, subtree=True) for folder in folders])

    def _make_watches(self, collections: Sequence[CollectionSettings]) -> dict[str, _Watch]:
        watches = {}
        for settings in collections:
            root = root_of(settings)
            jar = CookieJar(os.path.realpath(root), self._clock)
            watches[collection_name(settings)] = _Watch(collection_name(settings), root, jar)
        return watches


def _is_alive(observer: BaseObserver, observed: ObservedWatch) -> bool:
    return any(emitter.watch == observed and emitter.is_alive() for emitter in observer.emitters.copy())
