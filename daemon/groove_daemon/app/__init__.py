"""The composition root: from a configuration to a running daemon, and back to nothing.

The only package that knows all others.  `run.py` starts and stops the process, `late.py` the parts that may come after
the socket is served, `daemon.py` is what the clients' requests work on.
"""
