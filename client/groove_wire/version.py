"""The package version and the protocol version, with the rule that ties them to compatibility.

Both distributions read `VERSION` from here.  `PROTOCOL_VERSION` is `(major, minor)`: the minor number
rises with every addition, the major one with a break; two sides understand each other exactly when their
major numbers are equal.
"""

VERSION = "0.1.0"
PROTOCOL_VERSION = (1, 0)
