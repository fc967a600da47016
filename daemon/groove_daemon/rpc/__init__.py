"""The daemon's side of the wire: the socket, the connections, the dispatch of requests, the handlers.

The only package of the daemon that knows messages; everything below it takes and gives values of the domain.
"""
