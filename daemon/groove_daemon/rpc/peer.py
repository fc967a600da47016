"""Who is at the other end of a Unix socket, as the kernel tells it."""

import socket
import struct
import sys

_SOL_LOCAL = 0
_LOCAL_PEERCRED = 1
# struct xucred of macOS: version, user, number of groups, sixteen groups.
_XUCRED = struct.Struct("IIh2x16I")
_UCRED = struct.Struct("3i")


def peer_uid(sock: socket.socket) -> int:
    """User id of the process that connected.

    Raises:
        OSError: the kernel cannot tell.
    """
    if sys.platform == "darwin":
        data = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size)
        return int(_XUCRED.unpack(data)[1])
    return int(_UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[1])


def peer_pid(sock: socket.socket) -> int | None:
    """Process id of the other end, where the kernel tells it."""
    if sys.platform == "darwin":
        return None
    return int(_UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))[0]) or None
